//! The way out of a worker.
//!
//! The order is: the drain is told to the server and intake stops, what was not begun goes back,
//! handlers are told of the drain, get until shortly before the deadline and are told to stop, what
//! is left goes back. So whoever watches from the server sees a worker leave before its jobs do.

use std::future::Future;
use std::time::Duration;

use clawhold_api::worker::DrainWorker;
use tokio::task::JoinHandle;

use super::crew::{Crew, Stage};
use crate::clock::{Clock, ms_of};
use crate::error::ClientError;
use crate::job::StopReason;
use crate::session::{DrainOrder, Session};

/// The longest time to tell the server that the worker leaves.
const NOTICE: Duration = Duration::from_secs(3);
/// The time that a claim under way gets after the server knows.
const LAST_CLAIM: Duration = Duration::from_millis(500);
/// The shortest and the longest margin before the deadline.
const MARGIN_MS: (u64, u64) = (100, 3_000);
/// The longest sleep between two steps.
const LOOK: Duration = Duration::from_millis(500);

/// What the server said to the drain.
pub(super) type Noticed = Result<(), ClientError>;

/// A worker on its way out.
#[derive(Debug)]
pub(super) struct Leaving {
    deadline_ms: u64,
    margin_ms: u64,
    /// Whether the worker leaves by its own will, which no order takes back.
    is_own: bool,
    notice: Option<JoinHandle<Noticed>>,
    /// What handlers are told once the server knows.
    order: Option<DrainOrder>,
    /// When a claim that is still under way is dropped.
    last_claim_ms: u64,
    progress: Progress,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Progress {
    /// The server is being told.
    Noticing,
    /// Intake is stopped; handlers run on.
    Finishing,
    /// Handlers were told to stop.
    Stopping,
    /// What was left was handed back.
    HandedBack,
}

impl Leaving {
    fn new(clock: &Clock, deadline_ms: u64, is_own: bool) -> Self {
        let total_ms = deadline_ms.saturating_sub(clock.now_ms());
        let margin_ms = (total_ms / 10).clamp(MARGIN_MS.0, MARGIN_MS.1);
        let last_claim_ms = clock.now_ms().saturating_add(ms_of(LAST_CLAIM));
        let progress = Progress::Finishing;
        Self { deadline_ms, margin_ms, is_own, notice: None, order: None, last_claim_ms, progress }
    }

    /// Tells whether no job comes in any more.
    pub(super) fn intake_is_stopped(&self) -> bool {
        self.progress >= Progress::Finishing
    }

    /// Tells whether the deadline has passed and nothing more can be done.
    pub(super) fn is_past(&self, clock: &Clock) -> bool {
        self.progress == Progress::HandedBack && clock.now_ms() >= self.deadline_ms
    }

    /// Returns when the next step is due.
    fn due_ms(&self) -> u64 {
        match self.progress {
            Progress::Noticing | Progress::Finishing => {
                self.deadline_ms.saturating_sub(self.margin_ms)
            }
            Progress::Stopping => self.deadline_ms.saturating_sub(self.margin_ms / 2),
            Progress::HandedBack => self.deadline_ms,
        }
    }

    /// Waits for the server's word on the drain; for ever when none is due.
    pub(super) fn noticed(leaving: &mut Option<Self>) -> impl Future<Output = Noticed> {
        let notice = leaving.as_mut().and_then(|leaving| leaving.notice.as_mut());
        async move {
            match notice {
                None => std::future::pending().await,
                // A notice that was dropped with its runtime is none that was refused.
                Some(notice) => notice.await.unwrap_or(Ok(())),
            }
        }
    }
}

impl Crew<'_> {
    /// Begins to leave by the worker's own will.
    pub(super) fn leave(&mut self, within: Duration, reason: &str) {
        let now_ms = self.clock.now_ms();
        let deadline_ms = now_ms.saturating_add(ms_of(within));
        tracing::info!(session = self.session.id(), reason, within_ms = ms_of(within), "leaves");
        if let Some(leaving) = &mut self.leaving {
            // A drain is in force already: it only gets shorter.
            leaving.is_own = true;
            leaving.deadline_ms = leaving.deadline_ms.min(deadline_ms);
            return;
        }
        let mut leaving = Leaving::new(&self.clock, deadline_ms, true);
        leaving.progress = Progress::Noticing;
        leaving.notice =
            Some(tokio::spawn(notice(self.session.clone(), within, reason.to_owned())));
        leaving.order = Some(DrainOrder { deadline_ms, reason: reason.to_owned() });
        self.leaving = Some(leaving);
    }

    /// Takes in a drain that the server ordered, or took back.
    pub(super) fn hear_order(&mut self, order: Option<DrainOrder>) {
        let Some(order) = order else {
            if self.leaving.as_ref().is_some_and(|leaving| !leaving.is_own) {
                tracing::info!(session = self.session.id(), "the drain was taken back");
                self.leaving = None;
                self.drain.send_replace(None);
            }
            return;
        };
        match &mut self.leaving {
            Some(leaving) => leaving.deadline_ms = leaving.deadline_ms.min(order.deadline_ms),
            None => {
                let (session, reason) = (self.session.id(), &order.reason);
                tracing::info!(session, reason, "the server sends the worker home");
                self.leaving = Some(Leaving::new(&self.clock, order.deadline_ms, false));
                self.return_ready();
            }
        }
        self.drain.send_replace(Some(order));
    }

    /// Stops intake after the server knows, or cannot be told.
    pub(super) fn hear_noticed(&mut self, noticed: Noticed) {
        let Some(leaving) = &mut self.leaving else { return };
        leaving.notice = None;
        leaving.progress = leaving.progress.max(Progress::Finishing);
        match noticed {
            // The server ends the claim under way by itself.
            Ok(()) => {
                let now_ms = self.clock.now_ms();
                leaving.last_claim_ms = now_ms.saturating_add(ms_of(LAST_CLAIM));
            }
            Err(error) => {
                tracing::debug!(%error, "the server was not told; drops the claim under way");
                self.claiming.abort_all();
            }
        }
        self.tell_handlers();
        self.return_ready();
    }

    /// Tells the handlers of the drain, once.
    fn tell_handlers(&mut self) {
        let order = self.leaving.as_mut().and_then(|leaving| leaving.order.take());
        if order.is_some() {
            self.drain.send_replace(order);
        }
    }

    /// Returns the time until the next step of the way out.
    pub(super) fn next_step(&self) -> Duration {
        let Some(leaving) = &self.leaving else { return LOOK };
        self.clock.left(leaving.due_ms()).min(LOOK / 5)
    }

    /// Takes the next step of the way out, if it is due.
    pub(super) fn step_out(&mut self) {
        let now_ms = self.clock.now_ms();
        let Some(leaving) = &mut self.leaving else { return };
        let is_claiming_late = leaving.intake_is_stopped() && now_ms >= leaving.last_claim_ms;
        let is_due = now_ms >= leaving.due_ms();
        let progress = leaving.progress;
        if is_due {
            leaving.progress = match progress {
                Progress::Noticing | Progress::Finishing => Progress::Stopping,
                Progress::Stopping | Progress::HandedBack => Progress::HandedBack,
            };
        }
        if is_claiming_late || (is_due && progress == Progress::Noticing) {
            self.claiming.abort_all();
        }
        if !is_due {
            return;
        }
        match progress {
            Progress::Noticing | Progress::Finishing => {
                self.tell_handlers();
                self.return_ready();
                self.stop_handlers();
            }
            Progress::Stopping => self.return_running(),
            Progress::HandedBack => {}
        }
    }

    fn stop_handlers(&mut self) {
        for held in self.held.values() {
            if matches!(held.stage, Stage::Running(_)) {
                held.job.hold().lose(StopReason::DrainDeadline);
            }
        }
    }

    /// Drops the handlers that still run and hands their jobs back.
    fn return_running(&mut self) {
        let running = self.held.iter().filter_map(|(key, held)| match &held.stage {
            Stage::Running(task) => {
                task.abort();
                Some(*key)
            }
            Stage::Ready | Stage::Settling => None,
        });
        let running: Vec<_> = running.collect();
        for key in running {
            let reason = Some("unfinished at the drain deadline".to_owned());
            let outcome = clawhold_api::job::Outcome::HandedBack { checkpoint: None, reason };
            self.settle(key, outcome);
        }
    }
}

/// Tells the server that the worker leaves.
async fn notice(session: Session, within: Duration, reason: String) -> Noticed {
    let drain = DrainWorker { deadline_ms: Some(ms_of(within)), reason: Some(reason) };
    let client = session.client().within(NOTICE.min(within));
    client.drain_worker(&session.id().to_string(), &drain).await.map(drop)
}
