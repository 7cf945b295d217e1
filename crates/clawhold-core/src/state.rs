//! The state: the fold of everything in the log.
//!
//! One entry at a time, each with its stamp. Whatever fell due by the stamp happens first, then
//! the command is decided. A refusal changes nothing but what fell due.

use alloc::vec::Vec;

use minicbor::{Decode, Encode};

use crate::answer::{Answer, Refusal};
use crate::automation::Automation;
use crate::change::{Change, What};
use crate::command::{Command, Request};
use crate::job::Jobs;
use crate::request::{Recall, Requests};
use crate::role::Roles;
use crate::session::Sessions;
use crate::stream::Streams;
use crate::units::{Epoch, Name, Position, RequestId, Served, Stamp, Text, Timestamp};

/// Everything that is true at one position of the log.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct State {
    /// The stamp of the last entry.
    #[n(0)]
    pub(crate) last: Stamp,
    /// The current term. Never falls.
    #[n(1)]
    pub(crate) epoch: Epoch,
    /// The active server, unless it stepped down.
    #[n(2)]
    pub(crate) active: Option<ActiveServer>,
    /// Who is there.
    #[n(3)]
    pub(crate) sessions: Sessions,
    /// Who leads.
    #[n(4)]
    pub(crate) roles: Roles,
    /// Who holds which job.
    #[n(5)]
    pub(crate) jobs: Jobs,
    /// What happened, and who has dealt with it.
    #[n(6)]
    pub(crate) streams: Streams,
    /// What was asked before.
    #[n(7)]
    pub(crate) requests: Requests,
    /// What follows by itself.
    #[n(8)]
    #[cbor(default)]
    pub(crate) automation: Automation,
}

/// The server that alone may append.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ActiveServer {
    /// The URL under which other processes reach it; empty when they cannot.
    #[n(0)]
    pub advertise: Text,
    /// Milliseconds without a record after which another server may take over.
    #[n(1)]
    pub hold_ms: u64,
    /// The number it drew for its takeover.
    #[n(2)]
    pub nonce: u64,
    /// When it took over.
    #[n(3)]
    pub since: Stamp,
    /// Whether it holds the engine's presence lock: whoever gets the lock knows that it is gone.
    #[n(4)]
    pub present: bool,
}

impl ActiveServer {
    /// Returns the URL under which other processes reach it, if they can.
    #[must_use]
    pub fn url(&self) -> Option<&str> {
        Some(self.advertise.as_str()).filter(|url| !url.is_empty())
    }
}

/// What came of one entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// What the caller is told.
    pub answer: Result<Answer, Refusal>,
    /// Whether the answer is that of an earlier entry with the same request id.
    pub replayed: bool,
    /// What changed, in order.
    pub changes: Vec<Change>,
}

/// One entry under way: its stamp, and the changes so far.
#[derive(Debug)]
pub(crate) struct Step {
    /// When and where.
    pub(crate) stamp: Stamp,
    /// Who asked.
    pub(crate) actor: Option<Name>,
    /// What changed so far.
    pub(crate) changes: Vec<Change>,
    /// How many of the changes automation has looked at.
    pub(crate) seen: usize,
}

impl Step {
    /// Returns the same step with nothing changed yet.
    pub(crate) fn trial(&self) -> Self {
        Self { stamp: self.stamp, actor: self.actor.clone(), changes: Vec::new(), seen: 0 }
    }

    /// Notes a change.
    pub(crate) fn note(&mut self, what: What) {
        self.changes.push(Change { position: self.stamp.position, what });
    }
}

impl Default for State {
    fn default() -> Self {
        let last = Stamp { at: Timestamp(0), served: Served(0), position: Position(0) };
        Self {
            last,
            epoch: Epoch(0),
            active: None,
            sessions: Sessions::default(),
            roles: Roles::default(),
            jobs: Jobs::default(),
            streams: Streams::default(),
            requests: Requests::default(),
            automation: Automation::default(),
        }
    }
}

/// The earliest moments at which something falls due without being asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NextDue {
    /// By wall time.
    pub at: Option<Timestamp>,
    /// By time served.
    pub served: Option<Served>,
}

impl State {
    /// Applies one entry.
    ///
    /// # Panics
    /// When the stamp runs back or skips a position: the log is broken then.
    pub fn apply(&mut self, stamp: Stamp, request: &Request) -> Applied {
        assert!(stamp.position.0 == self.last.position.0 + 1, "the log has no hole");
        assert!(stamp.at >= self.last.at, "the log's time does not run back");
        assert!(stamp.served >= self.last.served, "time served does not run back");
        self.last = stamp;
        let actor = request.actor.clone();
        let mut step = Step { stamp, actor, changes: Vec::new(), seen: 0 };
        self.fall_due(&mut step);
        self.say_all_drained(&mut step);
        self.react(&mut step);
        if let Some(id) = &request.id {
            match self.requests.recall(id, &request.command) {
                Recall::Unknown => {}
                Recall::Same(answer) => {
                    return Applied { answer, replayed: true, changes: step.changes };
                }
                Recall::Other { first } => {
                    let answer = Err(Refusal::RequestConflict { first });
                    return Applied { answer, replayed: false, changes: step.changes };
                }
            }
        }
        let mut answer = self.carry_out(&mut step, &request.command);
        self.say_all_drained(&mut step);
        self.notice_refusal(&mut step, &request.command, &answer);
        self.react(&mut step);
        self.grant_withheld(&request.command, &mut answer);
        // A claim that got nothing did nothing: the same request may well get something later.
        let empty = matches!(&answer, Ok(Answer::Claimed(claimed)) if claimed.is_empty());
        if let Some(id) = request.id.as_ref().filter(|_| !empty) {
            self.requests.remember(stamp, id, &request.command, &answer);
        }
        Applied { answer, replayed: false, changes: step.changes }
    }

    /// Lets time pass without an entry, as a record says.
    pub fn pass(&mut self, at: Timestamp, elapsed_ms: u64) {
        self.requests.pass(at.0.saturating_sub(self.last.at.0), elapsed_ms);
        self.last.at = self.last.at.max(at);
        self.last.served = self.last.served.after(elapsed_ms);
    }

    /// Lets everything happen that is due by the step's stamp, at most `DUE_PER_ENTRY_MAX` things.
    fn fall_due(&mut self, step: &mut Step) {
        self.end_drains(step);
        self.roles.fall_due(step);
        self.jobs.fall_due(step);
        self.streams.fall_due(step);
        self.requests.fall_due(step.stamp);
        self.automation_due(step);
    }

    /// Returns the earliest moments at which something falls due without being asked.
    #[must_use]
    pub fn next_due(&self) -> NextDue {
        let jobs = self.jobs.next_due();
        let streams = self.streams.next_due();
        let drains = self.next_drain();
        let roles = self.roles.next_due();
        NextDue {
            at: [jobs.at, streams, self.automation.next_due()].into_iter().flatten().min(),
            served: [jobs.served, drains, roles].into_iter().flatten().min(),
        }
    }

    fn carry_out(&mut self, step: &mut Step, command: &Command) -> Result<Answer, Refusal> {
        match command {
            Command::TakeOver(command) => self.take_over(step, command),
            Command::StepDown => self.step_down(step),
            Command::Tick => Ok(Answer::Done),
            Command::Present(command) => self.present(command),
            Command::Restore(command) => self.restored(step, command),
            Command::OpenSession(command) => self.open_session(step, command),
            Command::CloseSession(command) => self.close_session(step, command),
            Command::ExpireSession(command) => self.expire_session(step, command),
            Command::Heard(command) => self.heard(command),
            Command::DrainWorker(command) => self.drain_worker(step, command),
            Command::ResumeWorker(command) => self.resume_worker(step, command),
            Command::SetRole(command) => self.set_role(step, command),
            Command::RemoveRole(command) => self.remove_role(step, command),
            Command::Acquire(command) => self.acquire(step, command),
            Command::Withdraw(command) => self.withdraw(step, command),
            Command::Release(command) => self.release(step, command),
            Command::HandOver(command) => self.hand_over(step, command),
            Command::AskHandOver(command) => self.roles.ask_hand_over(step, command),
            Command::ExpireRole(command) => self.expire_role(step, command),
            Command::Standings(command) => self.standings(step, command),
            Command::SetQueue(command) => self.jobs.set_queue(step, command),
            Command::PauseQueue(command) => self.jobs.pause_queue(step, command),
            Command::ResumeQueue(command) => self.jobs.resume_queue(step, command),
            Command::RemoveQueue(command) => self.jobs.remove_queue(step, command),
            Command::CloseGate(command) => self.jobs.close_gate(step, command),
            Command::OpenGate(command) => self.jobs.open_gate(step, command),
            Command::Enqueue(command) => self.jobs.enqueue(step, command),
            Command::Claim(command) => self.jobs.claim(step, &self.sessions, command),
            Command::Settle(command) => self.settle(step, command),
            Command::Progress(command) => self.jobs.progress(step, &self.sessions, command),
            Command::Checkpoint(command) => self.jobs.checkpoint(step, &self.sessions, command),
            Command::CancelJobs(command) => self.jobs.cancel(step, command),
            Command::RetryJobs(command) => self.jobs.retry(step, command),
            Command::TakeBack(command) => self.take_back(step, command),
            Command::SetStream(command) => self.streams.set(step, command),
            Command::RemoveStream(command) => self.remove_stream(step, command),
            Command::Append(command) => self.streams.append(step, command),
            Command::Commit(command) => self.commit(step, command),
            Command::Automate(command) => self.automate(step, command),
        }
    }

    /// Tells whether the answer to a request with this id is kept.
    #[must_use]
    pub fn knows(&self, id: &RequestId) -> bool {
        self.requests.knows(id)
    }

    /// Returns the stamp of the last entry.
    #[must_use]
    pub fn last(&self) -> Stamp {
        self.last
    }

    /// Returns the current term.
    #[must_use]
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Returns the active server, unless it stepped down.
    #[must_use]
    pub fn active(&self) -> Option<&ActiveServer> {
        self.active.as_ref()
    }

    /// Returns the sessions.
    #[must_use]
    pub fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    /// Returns the roles.
    #[must_use]
    pub fn roles(&self) -> &Roles {
        &self.roles
    }

    /// Returns the queues and their jobs.
    #[must_use]
    pub fn jobs(&self) -> &Jobs {
        &self.jobs
    }

    /// Returns what follows by itself: definitions, runs, alerts, messages.
    #[must_use]
    pub fn automation(&self) -> &Automation {
        &self.automation
    }

    /// Returns the streams and the positions recorded in them.
    #[must_use]
    pub fn streams(&self) -> &Streams {
        &self.streams
    }
}
