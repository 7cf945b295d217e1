//! The loop of one session: one task that owns everything the worker holds.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use clawhold_api::Code;
use clawhold_api::job::{Claim, ClaimedJob, Outcome, Settlement, Wanted};
use clawhold_api::session::Hold as HoldKey;
use tokio::sync::watch;
use tokio::task::{AbortHandle, Id, JoinError, JoinSet};

use super::leaving::Leaving;
use super::settle::{self, Answered, Verdict};
use super::{Summary, Worker};
use crate::clock::Clock;
use crate::error::ClientError;
use crate::job::Job;
use crate::retry::Backoff;
use crate::session::{DrainOrder, Session, SessionEnd};

/// Milliseconds for which one request waits for a job. A server that froze is left when they are
/// over.
const POLL_MS: u64 = 10_000;
/// Bytes of an error text.
const ERROR_BYTES_MAX: usize = 2_048;

/// How the loop ended.
#[derive(Debug)]
pub(super) enum Finish {
    /// The worker left in good order.
    Left,
    /// The session is over.
    SessionOver(SessionEnd),
    /// The server does not let the worker work.
    Refused(ClientError),
}

/// How one handler ended.
enum Ended {
    /// It returned.
    Returned(Outcome),
    /// It was told to stop, did not, and was dropped.
    Dropped,
}

/// One job that is held.
pub(super) struct Held {
    pub(super) job: Job,
    pub(super) stage: Stage,
}

/// Where a held job is.
pub(super) enum Stage {
    /// It waits for its handler.
    Ready,
    /// Its handler runs.
    Running(AbortHandle),
    /// How it ended is on its way to the server.
    Settling,
}

pub(super) struct Crew<'a> {
    worker: &'a Worker,
    pub(super) session: Session,
    pub(super) clock: Clock,
    pub(super) summary: &'a mut Summary,
    pub(super) held: BTreeMap<HoldKey, Held>,
    ready: VecDeque<HoldKey>,
    running: JoinSet<(HoldKey, Ended)>,
    tasks: HashMap<Id, HoldKey>,
    pub(super) pending: VecDeque<Settlement>,
    settling: JoinSet<Answered>,
    pub(super) claiming: JoinSet<Result<Vec<ClaimedJob>, ClientError>>,
    claim_failures: u32,
    /// What the handlers are told about the way out.
    pub(super) drain: watch::Sender<Option<DrainOrder>>,
    pub(super) leaving: Option<Leaving>,
    refused: Option<ClientError>,
}

impl<'a> Crew<'a> {
    pub(super) fn new(worker: &'a Worker, session: Session, summary: &'a mut Summary) -> Self {
        Self {
            worker,
            session,
            clock: Clock::default(),
            summary,
            held: BTreeMap::new(),
            ready: VecDeque::new(),
            running: JoinSet::new(),
            tasks: HashMap::new(),
            pending: VecDeque::new(),
            settling: JoinSet::new(),
            claiming: JoinSet::new(),
            claim_failures: 0,
            drain: watch::Sender::new(None),
            leaving: None,
            refused: None,
        }
    }

    /// Works until the worker has left or the session is over.
    pub(super) async fn work<S>(mut self, mut shutdown: Pin<&mut S>) -> Finish
    where
        S: Future<Output = ()>,
    {
        let session = self.session.clone();
        let mut ordered = session.drain();
        let mut is_shut_down = false;
        loop {
            self.start_handlers();
            self.start_settling();
            self.start_claiming();
            if self.has_left() {
                return self.close().await;
            }
            let next_step = self.next_step();
            tokio::select! {
                end = session.over() => return self.give_up(end).await,
                () = shutdown.as_mut(), if !is_shut_down => {
                    is_shut_down = true;
                    self.leave(self.worker.settings.drain, "the worker stops");
                }
                _ = ordered.changed() => {
                    let order = ordered.borrow_and_update().clone();
                    self.hear_order(order);
                }
                Some(ended) = self.running.join_next_with_id() => self.hear_handler(ended),
                Some(answered) = self.settling.join_next() => self.hear_settled(answered),
                Some(claimed) = self.claiming.join_next() => self.hear_claimed(claimed),
                noticed = Leaving::noticed(&mut self.leaving) => self.hear_noticed(noticed),
                () = tokio::time::sleep(next_step) => self.step_out(),
            }
        }
    }

    fn start_handlers(&mut self) {
        if self.leaving.is_some() {
            return;
        }
        let concurrency = usize::try_from(self.worker.settings.concurrency).unwrap_or(usize::MAX);
        while self.running.len() < concurrency
            && let Some(key) = self.ready.pop_front()
        {
            let Some(held) = self.held.get_mut(&key) else { continue };
            if held.job.stop_reason().is_some_and(|reason| reason.is_lost()) {
                self.lose(key);
                continue;
            }
            let job = held.job.clone();
            let handler = (self.worker.handler)(job.clone());
            let grace = self.worker.settings.stop_grace;
            let task = self.running.spawn(async move {
                let ended = tokio::select! {
                    biased;
                    outcome = handler => Ended::Returned(outcome),
                    () = outstay(&job, grace) => Ended::Dropped,
                };
                (key, ended)
            });
            self.tasks.insert(task.id(), key);
            held.stage = Stage::Running(task);
        }
    }

    fn start_settling(&mut self) {
        if !self.settling.is_empty() || self.pending.is_empty() {
            return;
        }
        let batch = settle::cut(&mut self.pending);
        // The server gives no more than there are slots, whatever is under way already.
        let next = self.leaving.is_none().then(|| self.wanted());
        self.settling.spawn(settle::settle(self.session.clone(), batch, next));
    }

    fn start_claiming(&mut self) {
        let slots = usize::try_from(self.worker.slots).unwrap_or(usize::MAX);
        let is_full = self.held.len() >= slots;
        if self.leaving.is_some() || !self.claiming.is_empty() || is_full {
            return;
        }
        let wanted = self.wanted();
        let claim = Claim {
            session: self.session.key(),
            queues: wanted.queues,
            max: Some(wanted.max),
            wait_ms: Some(POLL_MS),
        };
        let client = self.session.client().clone();
        let pause = match self.claim_failures {
            0 => Duration::ZERO,
            failures => Backoff::default().pause(failures),
        };
        self.claiming.spawn(async move {
            tokio::time::sleep(pause).await;
            Ok(client.claim(&claim).await?.reply.jobs)
        });
    }

    fn wanted(&self) -> Wanted {
        Wanted { queues: self.worker.settings.session.queues.clone(), max: self.worker.slots }
    }

    fn hear_claimed(&mut self, claimed: Result<Result<Vec<ClaimedJob>, ClientError>, JoinError>) {
        // A claim that was aborted took nothing, or what it took is returned with the session.
        let Ok(claimed) = claimed else { return };
        match claimed {
            Ok(jobs) => {
                self.claim_failures = 0;
                self.take_in(jobs);
            }
            Err(error) if error.is(Code::Draining) || error.is(Code::NoSession) => {
                // The next beat tells the rest.
                self.session.kick();
                self.claim_failures = self.claim_failures.saturating_add(1);
            }
            Err(error) if error.retry_is_sensible() => {
                self.claim_failures = self.claim_failures.saturating_add(1);
                let failures = self.claim_failures;
                tracing::warn!(failures, %error, "no jobs can be claimed; asks again");
            }
            Err(error) => {
                tracing::error!(%error, "the server hands out no jobs to this worker; leaves");
                self.refused.get_or_insert(error);
                self.leave(self.worker.settings.drain, "the server hands out no jobs to it");
            }
        }
    }

    fn take_in(&mut self, jobs: Vec<ClaimedJob>) {
        for claimed in jobs {
            let key = HoldKey { job: claimed.id, claim: claimed.claim };
            if self.held.contains_key(&key) {
                continue;
            }
            self.summary.claimed += 1;
            let hold = self.session.belief().hold(key);
            let job = Job::new(claimed, hold, self.session.clone(), self.drain.subscribe());
            self.held.insert(key, Held { job, stage: Stage::Ready });
            self.ready.push_back(key);
        }
        if self.leaving.as_ref().is_some_and(Leaving::intake_is_stopped) {
            self.return_ready();
        }
    }

    /// Hands back what was not begun.
    pub(super) fn return_ready(&mut self) {
        while let Some(key) = self.ready.pop_front() {
            let reason = "not begun before the worker left".to_owned();
            self.settle(key, Outcome::HandedBack { checkpoint: None, reason: Some(reason) });
        }
    }

    fn hear_handler(&mut self, ended: Result<(Id, (HoldKey, Ended)), JoinError>) {
        let (id, ended) = match ended {
            Ok((id, (_, ended))) => (id, Ok(ended)),
            Err(error) => (error.id(), Err(error)),
        };
        let Some(key) = self.tasks.remove(&id) else { return };
        let Some(held) = self.held.get(&key) else { return };
        // One that was handed back over its head has nothing to say.
        if !matches!(held.stage, Stage::Running(_)) {
            return;
        }
        if held.job.stop_reason().is_some_and(|reason| reason.is_lost()) {
            self.lose(key);
            return;
        }
        let outcome = match ended {
            Ok(Ended::Returned(outcome)) => outcome,
            Ok(Ended::Dropped) => unfinished("the handler did not stop in time"),
            Err(error) if error.is_cancelled() => unfinished("the handler was dropped"),
            Err(error) => Outcome::Failed { error: panic_text(error), retry_after_ms: None },
        };
        self.settle(key, outcome);
    }

    /// Sends off how a job ended.
    pub(super) fn settle(&mut self, key: HoldKey, outcome: Outcome) {
        let Some(held) = self.held.get_mut(&key) else { return };
        held.stage = Stage::Settling;
        let outcome = complete(outcome, &held.job);
        self.pending.push_back(Settlement { job: key.job, claim: key.claim, outcome });
    }

    fn hear_settled(&mut self, answered: Result<Answered, JoinError>) {
        let Ok(answered) = answered else { return };
        for (key, verdict) in answered.verdicts {
            self.held.remove(&key);
            self.session.belief().let_go(key);
            let count = match verdict {
                Verdict::Completed => &mut self.summary.completed,
                Verdict::Failed => &mut self.summary.failed,
                Verdict::HandedBack => &mut self.summary.handed_back,
                Verdict::Snoozed => &mut self.summary.snoozed,
                Verdict::Superseded => &mut self.summary.superseded,
                Verdict::Unsettled => &mut self.summary.unsettled,
            };
            *count += 1;
        }
        self.take_in(answered.jobs);
    }

    /// Drops a job that is no longer this worker's.
    fn lose(&mut self, key: HoldKey) {
        if self.held.remove(&key).is_some() {
            self.session.belief().let_go(key);
            self.summary.superseded += 1;
        }
    }

    /// Lets the handlers stop after the session was lost: nothing that they say counts.
    async fn give_up(mut self, end: SessionEnd) -> Finish {
        self.claiming.shutdown().await;
        self.settling.shutdown().await;
        let handlers = async { while self.running.join_next().await.is_some() {} };
        let grace = self.worker.settings.stop_grace;
        if tokio::time::timeout(grace, handlers).await.is_err() {
            tracing::warn!(count = self.running.len(), "drops handlers that did not stop");
        }
        self.running.abort_all();
        self.summary.superseded += u64::try_from(self.held.len()).unwrap_or(u64::MAX);
        if self.leaving.is_some() { Finish::Left } else { Finish::SessionOver(end) }
    }

    fn has_left(&self) -> bool {
        let Some(leaving) = &self.leaving else { return false };
        let is_empty = self.held.is_empty() && self.claiming.is_empty();
        (leaving.intake_is_stopped() && is_empty) || leaving.is_past(&self.clock)
    }

    async fn close(mut self) -> Finish {
        self.running.abort_all();
        self.claiming.abort_all();
        self.settling.abort_all();
        self.summary.unsettled += u64::try_from(self.held.len()).unwrap_or(u64::MAX);
        let end = self.session.close().await;
        tracing::info!(session = self.session.id(), %end, "left");
        self.refused.take().map_or(Finish::Left, Finish::Refused)
    }
}

/// Waits until a handler was told to stop and a grace has passed.
async fn outstay(job: &Job, grace: Duration) {
    job.stopped().await;
    tokio::time::sleep(grace).await;
}

fn unfinished(reason: &str) -> Outcome {
    Outcome::HandedBack { checkpoint: None, reason: Some(reason.to_owned()) }
}

/// Returns the outcome with a checkpoint that did not arrive before, and texts that fit.
fn complete(outcome: Outcome, job: &Job) -> Outcome {
    match outcome {
        Outcome::HandedBack { checkpoint, reason } => {
            let checkpoint = checkpoint.or_else(|| job.unsent_checkpoint());
            Outcome::HandedBack { checkpoint, reason: reason.map(|reason| cut(&reason)) }
        }
        Outcome::Snoozed { for_ms, checkpoint } => {
            let checkpoint = checkpoint.or_else(|| job.unsent_checkpoint());
            Outcome::Snoozed { for_ms, checkpoint }
        }
        Outcome::Failed { error, retry_after_ms } => {
            Outcome::Failed { error: cut(&error), retry_after_ms }
        }
        Outcome::Dead { error } => Outcome::Dead { error: cut(&error) },
        Outcome::Completed { result } => Outcome::Completed { result },
    }
}

/// Returns the part of a text that the server takes.
fn cut(text: &str) -> String {
    let mut end = text.len().min(ERROR_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_owned()
}

fn panic_text(error: JoinError) -> String {
    let Ok(panic) = error.try_into_panic() else { return "the handler was dropped".to_owned() };
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.map_or_else(
        || "the handler panicked".to_owned(),
        |text| format!("the handler panicked: {text}"),
    )
}
