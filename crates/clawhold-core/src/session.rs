//! Sessions: who is there, as the server issued it.
//!
//! A session is one incarnation of one process. Its label is what people call it and proves
//! nothing. A session with queues is a worker; what a worker may do is told in `worker`.

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) mod transcript;

use alloc::borrow::ToOwned;
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::string::String;
use alloc::vec::Vec;

use minicbor::{Decode, Encode};

use crate::answer::{Answer, Refusal, WorkerState};
use crate::change::What;
use crate::command::{
    CloseSession, ExpireSession, Heard, OpenSession, Present, ReturnCause, SessionKey, TakeOver,
};
use crate::limits;
use crate::request::{check_range, out_of_range};
use crate::role::{Role, RoleCause};
use crate::shared::Shared;
use crate::state::{ActiveServer, State, Step};
use crate::units::{Name, Served, SessionId, Stamp, Text};

/// The most jobs that one session may hold at once.
const SLOTS_MAX: u32 = 10_000;

/// One live session, or one that ended and is kept for display.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Session {
    /// Its id: the position of the entry that opened it.
    #[n(0)]
    pub id: SessionId,
    /// Known to its owner only.
    #[n(1)]
    pub secret: u64,
    /// What people call it.
    #[n(2)]
    pub label: Name,
    /// Milliseconds without a beat after which it is lost.
    #[n(3)]
    pub ttl_ms: u64,
    /// The queues it works on; none for a session that is no worker.
    #[n(4)]
    pub queues: Vec<Name>,
    /// Jobs it may hold at once.
    #[n(5)]
    pub slots: u32,
    /// The agent that does its work, if it says so.
    #[n(6)]
    pub agent: Option<Name>,
    /// Where it runs, for people.
    #[n(7)]
    pub place: Text,
    /// When it was opened.
    #[n(8)]
    pub opened: Stamp,
    /// Not before this may it be found lost. Beats that the active server heard extend it in that
    /// server's memory only.
    #[n(9)]
    pub lapses: Served,
    /// Takeovers since it was last recorded as heard of.
    #[n(10)]
    pub graces: u64,
    /// What it is doing, by the record. `Left` and `Lost` sessions are over.
    #[n(11)]
    pub state: WorkerState,
    /// When `state` was entered.
    #[n(12)]
    pub since: Stamp,
    /// The drain in force, if there is one.
    #[n(13)]
    pub drain: Option<Drain>,
}

/// A drain in force.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Drain {
    /// When what is still held is taken back.
    #[n(0)]
    pub deadline: Served,
    /// Why it was asked.
    #[n(1)]
    pub reason: Text,
    /// When it was asked.
    #[n(2)]
    pub asked: Stamp,
}

/// All sessions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Sessions {
    /// The live ones.
    #[n(0)]
    pub(crate) live: BTreeMap<SessionId, Shared<Session>>,
    /// The latest ended ones, oldest first, at most `ENDED_SESSIONS_MAX`.
    #[n(1)]
    pub(crate) ended: VecDeque<Shared<Session>>,
    /// How many active workers serve each queue. Derived from `live`.
    #[n(2)]
    pub(crate) servers: BTreeMap<Name, u64>,
    /// The live ones by `lapses`. Derived from `live`.
    #[n(3)]
    pub(crate) lapses: BTreeSet<(Served, SessionId)>,
    /// The draining ones by deadline. Derived from `live`.
    #[n(4)]
    pub(crate) drains: BTreeSet<(Served, SessionId)>,
}

/// How a session ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SessionEnd {
    Closed,
    Lost,
}

impl Sessions {
    /// Returns the live session that the key proves.
    ///
    /// # Errors
    /// [`Refusal::NoSession`] when it is over, was never issued, or the secret is wrong.
    pub fn prove(&self, key: SessionKey) -> Result<&Session, Refusal> {
        let session = self.live(key.id).filter(|session| session.secret == key.secret);
        session.ok_or(Refusal::NoSession { session: key.id })
    }

    /// Returns a live session.
    #[must_use]
    pub fn live(&self, id: SessionId) -> Option<&Session> {
        self.live.get(&id).map(|session| &**session)
    }

    /// Returns the live sessions after `after`, in the order they were opened.
    pub fn list(&self, after: Option<SessionId>) -> impl Iterator<Item = &Session> {
        let from = after.map_or(SessionId(0), |id| SessionId(id.0.saturating_add(1)));
        self.live.range(from..).map(|(_, session)| &**session)
    }

    /// Returns the sessions that ended last, oldest first.
    pub fn ended(&self) -> impl DoubleEndedIterator<Item = &Session> {
        self.ended.iter().map(|session| &**session)
    }

    /// Returns the live sessions that may be found lost by `served`, the earliest first. Whether
    /// a beat extended one is known to the active server only.
    pub fn lapsing_by(&self, served: Served) -> impl Iterator<Item = &Session> {
        let due = self.lapses.iter().take_while(move |(lapses, _)| *lapses <= served);
        due.filter_map(|(_, id)| self.live(*id))
    }

    /// Returns the earliest moment at which a session may be found lost.
    #[must_use]
    pub fn next_lapse(&self) -> Option<Served> {
        self.lapses.first().map(|(lapses, _)| *lapses)
    }

    /// Returns how many active workers serve a queue.
    #[must_use]
    pub fn servers(&self, queue: &Name) -> u64 {
        self.servers.get(queue).copied().unwrap_or(0)
    }

    /// Tells whether an active worker other than `except` serves a queue.
    #[must_use]
    pub fn serves_other(&self, queue: &Name, except: SessionId) -> bool {
        let session = self.live.get(&except).filter(|session| session.state == WorkerState::Active);
        let own = u64::from(session.is_some_and(|session| session.queues.contains(queue)));
        self.servers(queue) > own
    }

    fn open(&mut self, stamp: Stamp, command: &OpenSession) -> SessionKey {
        let id = SessionId(stamp.position.0);
        let session = Session {
            id,
            secret: command.secret,
            label: command.label.clone(),
            ttl_ms: command.ttl_ms,
            queues: command.queues.clone(),
            slots: command.slots,
            agent: command.agent.clone(),
            place: command.place.clone(),
            opened: stamp,
            lapses: stamp.served.after(command.ttl_ms),
            graces: 0,
            state: WorkerState::Active,
            since: stamp,
            drain: None,
        };
        self.lapses.insert((session.lapses, id));
        self.count_server(&session.queues);
        let before = self.live.insert(id, Shared::new(session));
        assert!(before.is_none(), "a session id is issued once");
        SessionKey { id, secret: command.secret }
    }

    /// Moves a session to those that ended.
    fn end(&mut self, stamp: Stamp, id: SessionId, state: WorkerState) {
        let Some(mut session) = self.live.remove(&id) else { return };
        self.lapses.remove(&(session.lapses, id));
        if let Some(drain) = &session.drain {
            self.drains.remove(&(drain.deadline, id));
        }
        if session.state == WorkerState::Active {
            self.discount_server(&session.queues);
        }
        session.state = state;
        session.since = stamp;
        self.ended.push_back(session);
        if self.ended.len() > limits::ENDED_SESSIONS_MAX {
            self.ended.pop_front();
        }
    }

    /// Notes that a session was heard of.
    fn hear(&mut self, served: Served, id: SessionId) {
        let Some(session) = self.live.get_mut(&id) else { return };
        session.graces = 0;
        extend(&mut self.lapses, session, served);
    }

    /// Gives every live session its grace after a takeover.
    fn grace(&mut self, served: Served) {
        for session in self.live.values_mut() {
            if session.graces < limits::GRACES_MAX {
                extend(&mut self.lapses, session, served);
            }
            session.graces = session.graces.saturating_add(1);
        }
    }

    /// Counts a worker among those that serve its queues.
    pub(crate) fn count_server(&mut self, queues: &[Name]) {
        for queue in queues {
            let count = self.servers.entry(queue.clone()).or_default();
            *count = count.saturating_add(1);
        }
    }

    /// Counts a worker no more among those that serve its queues.
    pub(crate) fn discount_server(&mut self, queues: &[Name]) {
        for queue in queues {
            let left = self.servers(queue).saturating_sub(1);
            if left == 0 {
                self.servers.remove(queue);
            } else {
                self.servers.insert(queue.clone(), left);
            }
        }
    }

    /// Tells what does not hold, if something does not.
    pub(crate) fn check(&self) -> Result<(), String> {
        let mut derived = Self { live: self.live.clone(), ..Self::default() };
        for session in self.live.values() {
            derived.lapses.insert((session.lapses, session.id));
            if session.state == WorkerState::Active {
                derived.count_server(&session.queues);
            }
            let drain = session.drain.as_ref().filter(|_| session.state == WorkerState::Draining);
            derived.drains.extend(drain.map(|drain| (drain.deadline, session.id)));
        }
        derived.ended.clone_from(&self.ended);
        if derived != *self {
            return Err("what is derived from the sessions differs from them".to_owned());
        }
        let over = |session: &&Shared<Session>| {
            matches!(session.state, WorkerState::Left | WorkerState::Lost)
        };
        let ended_all_over = self.ended.iter().filter(over).count() == self.ended.len();
        if self.live.values().any(|session| over(&session)) || !ended_all_over {
            return Err("a session is over and live, or neither".to_owned());
        }
        Ok(())
    }
}

/// Moves the moment at which a session may be found lost to a full ttl from `served`, never back.
fn extend(lapses: &mut BTreeSet<(Served, SessionId)>, session: &mut Session, served: Served) {
    let extended = served.after(session.ttl_ms).max(session.lapses);
    lapses.remove(&(session.lapses, session.id));
    lapses.insert((extended, session.id));
    session.lapses = extended;
}

impl SessionEnd {
    fn state(self) -> WorkerState {
        match self {
            Self::Closed => WorkerState::Left,
            Self::Lost => WorkerState::Lost,
        }
    }

    fn return_cause(self) -> ReturnCause {
        match self {
            Self::Closed => ReturnCause::SessionClosed,
            Self::Lost => ReturnCause::SessionLost,
        }
    }

    fn role_cause(self) -> RoleCause {
        match self {
            Self::Closed => RoleCause::SessionClosed,
            Self::Lost => RoleCause::SessionLost,
        }
    }
}

impl State {
    /// Makes another server the active one. Whoever lives by the record gets a full ttl of grace,
    /// at most `GRACES_MAX` times in a row without being heard of.
    pub(crate) fn take_over(
        &mut self,
        step: &mut Step,
        command: &TakeOver,
    ) -> Result<Answer, Refusal> {
        if Some(command.epoch.0) != self.epoch.0.checked_add(1) {
            return Err(Refusal::WrongEpoch { current: self.epoch });
        }
        self.epoch = command.epoch;
        // A former server that may be alive confirms beats until its own hold has lapsed.
        let former_ms = self.active.as_ref().map_or(0, |former| former.hold_ms);
        let more_ms = if command.former_gone { 0 } else { former_ms };
        self.active = Some(ActiveServer {
            advertise: command.advertise.clone(),
            hold_ms: command.hold_ms,
            nonce: command.nonce,
            since: step.stamp,
            present: command.present,
        });
        let from = step.stamp.served.after(more_ms);
        self.sessions.grace(from);
        self.roles.grace(from);
        step.note(What::Server);
        Ok(Answer::Done)
    }

    /// Records that the active server holds the presence lock.
    pub(crate) fn present(&mut self, command: &Present) -> Result<Answer, Refusal> {
        let current = self.epoch;
        let active = self.active.as_mut().filter(|active| active.nonce == command.nonce);
        active.ok_or(Refusal::WrongEpoch { current })?.present = true;
        Ok(Answer::Done)
    }

    /// Ends the hold of the active server.
    pub(crate) fn step_down(&mut self, step: &mut Step) -> Result<Answer, Refusal> {
        self.active = None;
        step.note(What::Server);
        Ok(Answer::Done)
    }

    /// Opens a session.
    pub(crate) fn open_session(
        &mut self,
        step: &mut Step,
        command: &OpenSession,
    ) -> Result<Answer, Refusal> {
        check_session(command)?;
        let count = self.sessions.live.len();
        if count >= limits::SESSIONS_MAX {
            let (count, max) = (count as u64, limits::SESSIONS_MAX as u64);
            return Err(Refusal::Full { what: "the list of sessions".into(), count, max });
        }
        let key = self.sessions.open(step.stamp, command);
        step.note(session_change(key.id, &command.queues, WorkerState::Active));
        Ok(Answer::Opened(key))
    }

    /// Ends a session at its owner's wish.
    pub(crate) fn close_session(
        &mut self,
        step: &mut Step,
        command: &CloseSession,
    ) -> Result<Answer, Refusal> {
        let id = self.sessions.prove(command.session)?.id;
        self.end_session(step, id, SessionEnd::Closed);
        Ok(Answer::Done)
    }

    /// Ends a session that was not heard of in time.
    pub(crate) fn expire_session(
        &mut self,
        step: &mut Step,
        command: &ExpireSession,
    ) -> Result<Answer, Refusal> {
        let session = self.sessions.live(command.session);
        let session = session.ok_or(Refusal::NoSession { session: command.session })?;
        if step.stamp.served < session.lapses {
            return Err(Refusal::NotLapsed);
        }
        self.end_session(step, command.session, SessionEnd::Lost);
        Ok(Answer::Done)
    }

    /// Notes that sessions were heard of since the takeover; those that are over are passed over.
    pub(crate) fn heard(&mut self, command: &Heard) -> Result<Answer, Refusal> {
        for id in &command.sessions {
            self.sessions.hear(self.last.served, *id);
            self.roles.hear(*id);
        }
        Ok(Answer::Done)
    }

    /// Ends a live session. It is over before its jobs and roles find their next place, so that
    /// none of them comes back to it.
    fn end_session(&mut self, step: &mut Step, id: SessionId, end: SessionEnd) {
        let queues = self.sessions.live(id).map(|session| session.queues.clone());
        self.sessions.end(step.stamp, id, end.state());
        self.jobs.return_held(step, id, end.return_cause());
        let automation = &self.automation;
        let lost = end == SessionEnd::Lost;
        let withholds = |role: &Role| lost && automation.withholds(role);
        self.roles.leave(step, &self.streams, id, end.role_cause(), &withholds);
        step.note(session_change(id, &queues.unwrap_or_default(), end.state()));
    }
}

fn check_session(command: &OpenSession) -> Result<(), Refusal> {
    check_range("ttl_ms", command.ttl_ms, limits::TTL_MS_MIN, limits::TTL_MS_MAX)?;
    let queues_max = limits::QUEUES_PER_CLAIM_MAX as u64;
    check_range("queues", command.queues.len() as u64, 0, queues_max)?;
    let distinct: BTreeSet<&Name> = command.queues.iter().collect();
    if distinct.len() < command.queues.len() {
        return Err(out_of_range("queues", "a list that repeats a name", "each name once"));
    }
    let slots_min = u64::from(!command.queues.is_empty());
    check_range("slots", u64::from(command.slots), slots_min, u64::from(SLOTS_MAX))
}

/// Returns what changed when a session with these queues entered a state.
fn session_change(session: SessionId, queues: &[Name], state: WorkerState) -> What {
    if queues.is_empty() { What::Session { session } } else { What::Worker { session, state } }
}
