//! What a client asks for, in full: the details of each ask follow from its salt and from what
//! the client knows at that moment.

use clawhold_core::State;
use clawhold_core::answer::Claimed;
use clawhold_core::command::{
    Acquire, Append, AskHandOver, Automate, CancelJobs, Checkpoint, Claim, CloseGate, CloseSession,
    Command, Commit, DrainWorker, Due, Enqueue, HandOver, NewJob, NewPosition, OpenSession,
    PauseQueue, Progress, Release, ResumeQueue, ResumeWorker, RetryJobs, RetryRule, ReturnCause,
    RunOutcome, SessionKey, Settle, Settlement, Successor, TakeBack, TakeBackJob, Wanted, Withdraw,
};
use clawhold_core::units::{Bytes, EventNumber, JobId, Name, SessionId, Text};
use fastrand::Rng;

use crate::act::Ask;
use crate::client::{Client, QUEUES, ROLES, key, name};
use crate::fix;
use crate::rule::Rule;

/// Milliseconds without a beat after which a simulated session is lost.
const SESSION_TTL_MS: u64 = 1_500;
/// Events that one commit deals with at most.
const EVENTS_MAX: usize = 3;

/// When an ask is composed.
#[derive(Debug)]
pub(crate) struct Moment<'a> {
    pub(crate) now_ms: u64,
    /// What the server shows that the client talks to, if it answers.
    pub(crate) view: Option<&'a State>,
    /// Whether the faults are over and what is left is to be finished.
    pub(crate) is_calm: bool,
    pub(crate) dice: Rng,
}

impl Client {
    /// Returns the command for an ask; without a session, it opens one.
    pub(crate) fn compose(&mut self, ask: Ask, mut moment: Moment<'_>) -> Command {
        let Some(session) = self.session else { return self.open(&mut moment) };
        let m = &mut moment;
        match ask {
            Ask::Enqueue => enqueue(m),
            Ask::Claim => claim(session, m),
            Ask::Settle => self.settle(session, m),
            Ask::Progress => self.progress(session, m),
            Ask::Checkpoint => self.checkpoint(session, m),
            Ask::Acquire => self.acquire(session, m),
            Ask::Withdraw => Command::Withdraw(Withdraw { role: role(m), session }),
            Ask::Commit => self.commit(session, m),
            Ask::LateCommit => self.late_commit(session, m),
            Ask::LateSettle => self.late_settle(session, m),
            Ask::Append => append(m),
            Ask::GiveUp => self.hand_back_role(session, m),
            Ask::WishHandOver | Ask::MoveRole => move_role(ask, m),
            Ask::Drain | Ask::Resume => drain(ask, session, m),
            Ask::Close => {
                self.forget();
                Command::CloseSession(CloseSession { session })
            }
            Ask::TakeBack | Ask::Cancel | Ask::Retry => self.of_jobs(ask, m),
            Ask::Pause | Ask::Open | Ask::CloseGate => of_queue(ask, m),
            Ask::SetFix => Command::Automate(Automate::Define(fix::promote_standby()).into()),
            Ask::Tick => Command::Tick,
        }
    }

    /// Returns what to ask once the faults are over, so that everything comes to its end.
    pub(crate) fn finish(&self, now_ms: u64, view: Option<&State>, dice: &mut Rng) -> Ask {
        if self.session.is_none() {
            return Ask::Tick;
        }
        let is_free = self.held.iter().any(|held| !self.settling.contains(&claim_key(*held)));
        if is_free {
            return Ask::Settle;
        }
        if self.is_draining && self.held.is_empty() {
            return Ask::Close;
        }
        if self.leads(now_ms).is_some() && view.is_some() && dice.bool() {
            return Ask::Commit;
        }
        match dice.u8(0..12) {
            0..4 => Ask::Acquire,
            4 => Ask::Open,
            _ => Ask::Claim,
        }
    }

    fn open(&self, m: &mut Moment<'_>) -> Command {
        Command::OpenSession(OpenSession {
            secret: m.dice.u64(..),
            label: self.label.clone(),
            ttl_ms: SESSION_TTL_MS,
            queues: queues(),
            slots: 8,
            agent: None,
            place: Text::cut("sim"),
        })
    }

    fn settle(&mut self, session: SessionKey, m: &mut Moment<'_>) -> Command {
        let free = self.held.iter().find(|held| !self.settling.contains(&claim_key(**held)));
        let Some(claimed) = free.copied() else { return claim(session, m) };
        self.settling.insert(claim_key(claimed));
        let settlement = Settlement { job: claimed.job, claim: claimed.claim, outcome: outcome(m) };
        let next = (!m.is_calm && m.dice.bool()).then(|| wanted(m));
        Command::Settle(Settle { session, settlements: vec![settlement], next })
    }

    fn progress(&mut self, session: SessionKey, m: &mut Moment<'_>) -> Command {
        let Some(claimed) = self.held.front().copied() else { return claim(session, m) };
        Command::Progress(Progress {
            session,
            job: claimed.job,
            claim: claimed.claim,
            percent: Some(m.dice.u8(0..=100)),
            note: Text::default(),
        })
    }

    fn checkpoint(&mut self, session: SessionKey, m: &mut Moment<'_>) -> Command {
        let Some(claimed) = self.held.back().copied() else { return claim(session, m) };
        self.checkpoints += 1;
        Command::Checkpoint(Checkpoint {
            session,
            job: claimed.job,
            claim: claimed.claim,
            number: self.checkpoints,
            bytes: Bytes::from(format!("half of {}", claimed.job).as_str()),
        })
    }

    fn acquire(&self, session: SessionKey, m: &mut Moment<'_>) -> Command {
        let role = role(m);
        let is_vacant = m
            .view
            .is_some_and(|state| state.roles().get(&role).is_none_or(|role| role.held.is_none()));
        Command::Acquire(Acquire {
            role,
            session,
            ttl_ms: Some(self.lease_ttl_ms),
            wait: if m.is_calm { !is_vacant } else { m.dice.bool() },
            stream: Some(name("orders")),
        })
    }

    /// A coordinator's step: the next events, one job and one outcome for each.
    fn commit(&mut self, session: SessionKey, m: &mut Moment<'_>) -> Command {
        let Some((role, token)) = self.leads(m.now_ms) else { return self.acquire(session, m) };
        let events = self.next_events(&role, m);
        let through = events.last().copied().filter(|_| !self.is_committing);
        let Some(through) = through else { return append(m) };
        self.is_committing = true;
        let mut dealt: Vec<String> = events.iter().map(|event| format!("{role} {event}")).collect();
        if self.rule == Some(Rule::SkipEvent) && dealt.len() > 1 {
            dealt.remove(0);
        }
        let jobs = dealt.iter().map(|text| NewJob {
            payload: text[..].into(),
            unique: None,
            ..new_job(m)
        });
        let jobs = jobs.collect();
        let events: Vec<Bytes> = dealt.iter().map(|text| text[..].into()).collect();
        let outcomes = Append { stream: name("outcomes"), events, expected: None };
        let position = Some(NewPosition { stream: name("orders"), through });
        let appends = vec![outcomes];
        Command::Commit(Box::new(Commit { role, session, token, position, jobs, appends }))
    }

    /// Returns the numbers of the events that come next for a role.
    fn next_events(&self, role: &Name, m: &mut Moment<'_>) -> Vec<EventNumber> {
        let Some(state) = m.view else { return Vec::new() };
        let stream = name("orders");
        let after = self.committed.get(role).copied().unwrap_or_default();
        let count = m.dice.usize(1..=EVENTS_MAX);
        let page = state.streams().read(&stream, after, count, usize::MAX);
        page.map(|page| page.events.iter().map(|(number, _)| *number).collect()).unwrap_or_default()
    }

    /// What a leader does that woke up and has not looked at its clock.
    fn late_commit(&mut self, session: SessionKey, m: &mut Moment<'_>) -> Command {
        let Some((role, key, token)) = self.led.clone() else { return self.acquire(session, m) };
        let is_believed = self.beliefs.get(&role).is_some_and(|belief| belief.token == token);
        if is_believed || self.is_committing {
            return append(m);
        }
        let Some(state) = m.view else { return append(m) };
        let stream = name("orders");
        let recorded = state.streams().recorded(&stream, &role).map(|recorded| recorded.through);
        let through = EventNumber(recorded.unwrap_or_default().0 + 1);
        if through > state.streams().last(&stream) {
            return append(m);
        }
        self.is_committing = true;
        let text = format!("{role} {through}");
        let jobs = vec![NewJob { payload: text[..].into(), unique: None, ..new_job(m) }];
        let events = vec![text[..].into()];
        let appends = vec![Append { stream: name("outcomes"), events, expected: None }];
        let position = Some(NewPosition { stream, through });
        Command::Commit(Box::new(Commit { role, session: key, token, position, jobs, appends }))
    }

    /// What a worker does that woke up and did not hear that its claim is gone.
    fn late_settle(&mut self, session: SessionKey, m: &mut Moment<'_>) -> Command {
        let Some((session, claimed)) = self.past.pop_front() else { return claim(session, m) };
        let settlement = Settlement { job: claimed.job, claim: claimed.claim, outcome: outcome(m) };
        Command::Settle(Settle { session, settlements: vec![settlement], next: None })
    }

    fn hand_back_role(&mut self, session: SessionKey, m: &mut Moment<'_>) -> Command {
        let Some((role, token)) = self.leads(m.now_ms) else { return self.acquire(session, m) };
        self.give_up(&role, token);
        if m.dice.bool() {
            let (holder, token) = (Some(session), Some(token));
            let to = Successor::MostCaughtUp;
            return Command::HandOver(HandOver { role, holder, token, to });
        }
        Command::Release(Release { role, session, token })
    }

    /// What an operator does with some jobs that this client knows.
    fn of_jobs(&mut self, ask: Ask, m: &mut Moment<'_>) -> Command {
        let held = self.held.iter().map(|held| held.job);
        let known: Vec<JobId> = self.jobs.iter().copied().chain(held).collect();
        let jobs: Vec<JobId> = (0..2).filter_map(|_| m.dice.choice(&known).copied()).collect();
        if jobs.is_empty() {
            return enqueue(m);
        }
        if ask == Ask::TakeBack {
            let jobs = jobs.into_iter().map(|job| TakeBackJob { job, claim: None }).collect();
            return Command::TakeBack(TakeBack { jobs, cause: ReturnCause::Operator });
        }
        if ask == Ask::Cancel {
            let grace_ms = if m.dice.bool() { 0 } else { 300 };
            return Command::CancelJobs(CancelJobs { jobs, grace_ms });
        }
        Command::RetryJobs(RetryJobs { jobs })
    }
}

fn claim_key(claimed: Claimed) -> (JobId, u64) {
    (claimed.job, claimed.claim.0)
}

fn role(m: &mut Moment<'_>) -> Name {
    name(ROLES[m.dice.usize(0..ROLES.len())])
}

fn queue(m: &mut Moment<'_>) -> Name {
    name(QUEUES[m.dice.usize(0..QUEUES.len())])
}

fn queues() -> Vec<Name> {
    QUEUES.iter().map(|queue| name(queue)).collect()
}

fn new_job(m: &mut Moment<'_>) -> NewJob {
    let dice = &mut m.dice;
    let order = dice.u8(0..4) == 0;
    let unique = dice.u8(0..8) == 0;
    NewJob {
        queue: name(QUEUES[dice.usize(0..QUEUES.len())]),
        payload: Bytes::from("job"),
        priority: dice.i8(-1..=1),
        due: if dice.u8(0..5) == 0 { Due::After(dice.u64(0..500)) } else { Due::Now },
        unique: unique.then(|| key(&format!("u{}", dice.u8(0..20)))),
        order: order.then(|| key(&format!("o{}", dice.u8(0..4)))),
        retry: RetryRule { attempts_max: 3, first_ms: 50, ceiling_ms: 200 },
        timeout_ms: (dice.u8(0..6) == 0).then_some(800),
    }
}

fn enqueue(m: &mut Moment<'_>) -> Command {
    let count = m.dice.usize(1..4);
    Command::Enqueue(Enqueue { jobs: (0..count).map(|_| new_job(m)).collect() })
}

fn wanted(m: &mut Moment<'_>) -> Wanted {
    Wanted { queues: queues(), count_max: m.dice.u32(1..4) }
}

fn claim(session: SessionKey, m: &mut Moment<'_>) -> Command {
    Command::Claim(Claim { session, wanted: wanted(m) })
}

fn outcome(m: &mut Moment<'_>) -> RunOutcome {
    let roll = if m.is_calm { 0 } else { m.dice.u8(0..10) };
    match roll {
        0..6 => RunOutcome::Completed { result: Bytes::from("done") },
        6 => RunOutcome::Failed { error: Text::cut("no"), retry_after_ms: None },
        7 => RunOutcome::HandedBack {
            checkpoint: Some(Bytes::from("half")),
            reason: Text::cut("leaving"),
        },
        8 => RunOutcome::Snoozed { for_ms: 100, checkpoint: None },
        _ => RunOutcome::Dead { error: Text::cut("hopeless") },
    }
}

fn append(m: &mut Moment<'_>) -> Command {
    let count = if m.is_calm { 0 } else { m.dice.usize(1..3) };
    if count == 0 {
        return Command::Tick;
    }
    let events = vec![Bytes::from("event"); count];
    Command::Append(Append { stream: name("orders"), events, expected: None })
}

/// What an operator does to a role whose holder is alive.
fn move_role(ask: Ask, m: &mut Moment<'_>) -> Command {
    let (role, to) = (role(m), Successor::MostCaughtUp);
    if ask == Ask::MoveRole {
        return Command::HandOver(HandOver { role, holder: None, token: None, to });
    }
    Command::AskHandOver(AskHandOver { role, to, within_ms: m.dice.u64(50..800) })
}

/// What an operator does to a worker: this one or another.
fn drain(ask: Ask, own: SessionKey, m: &mut Moment<'_>) -> Command {
    let live = m.view.map(|state| state.sessions().list(None).map(|session| session.id));
    let live: Vec<SessionId> = live.map(Iterator::collect).unwrap_or_default();
    let session = m.dice.choice(&live).copied().unwrap_or(own.id);
    if ask == Ask::Resume {
        return Command::ResumeWorker(ResumeWorker { session });
    }
    let (deadline_ms, reason) = (m.dice.u64(0..600), Text::cut("drain"));
    Command::DrainWorker(DrainWorker { session, deadline_ms, reason })
}

fn of_queue(ask: Ask, m: &mut Moment<'_>) -> Command {
    let queue = queue(m);
    if ask == Ask::Pause {
        return Command::PauseQueue(PauseQueue { queue, reason: Text::cut("pause") });
    }
    if ask == Ask::CloseGate {
        return Command::CloseGate(CloseGate { queue, within_ms: m.dice.u64(50..900) });
    }
    Command::ResumeQueue(ResumeQueue { queue })
}
