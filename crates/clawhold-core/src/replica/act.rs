//! What a replica does of its own accord: take over, cut batches, end what lapsed, take back
//! what was never received.

use alloc::vec::Vec;

use super::{Action, InFlight, Mode, Presence, Ready, Replica, Waiting};
use crate::beat::{Beat, Timer};
use crate::command::{
    Command, ExpireRole, ExpireSession, Present, Request, ReturnCause, Standings, TakeBack,
    TakeBackJob, TakeOver,
};
use crate::limits;
use crate::record::{RECORD_VERSION, Record};
use crate::renewal;
use crate::units::{Epoch, Name, Served, SessionId, Timestamp};

/// Batches in a row that may leave before the one before them is applied.
const AHEAD_MAX: u8 = 8;

/// Tells whether a command only moves jobs, so that it cannot change what a server does next.
fn is_about_jobs(command: &Command) -> bool {
    matches!(command, Command::Enqueue(_) | Command::Claim(_) | Command::Settle(_))
}

impl Replica {
    /// Does what is due: take over, or cut the next batch.
    pub(super) fn proceed(&mut self, actions: &mut Vec<Action>) {
        match self.mode {
            Mode::Standby => self.try_to_lead(actions),
            Mode::Active => {
                self.ask_again(actions);
                self.cut(actions);
            }
            Mode::TakingOver => self.give_up_late_takeover(),
            Mode::Stopped => {}
        }
    }

    /// Takes over from a former server that is gone, and asks the log whether a silent one has
    /// really added nothing.
    fn try_to_lead(&mut self, actions: &mut Vec<Action>) {
        if self.is_former_gone() {
            self.lead(actions);
        } else if self.is_former_silent() {
            if !self.checking {
                self.checking = true;
                actions.push(Action::ReadBack { number: self.next });
            }
        } else if self.presence == Presence::Ours {
            // The active server leads without the lock: while it is here, nobody would see it die.
            self.presence = Presence::Others;
            actions.push(Action::LeavePresence);
        }
    }

    /// Tells whether nobody leads: the last one stepped down, or the presence lock that it held
    /// has come to us.
    fn is_former_gone(&self) -> bool {
        let active = self.state.active();
        match self.presence {
            Presence::Ours => active.is_none_or(|active| active.present),
            Presence::Unsupported => active.is_none(),
            Presence::Others => false,
        }
    }

    /// Tells whether the hold of the active server has lapsed, as far as was heard.
    pub(super) fn is_former_silent(&self) -> bool {
        let active = self.state.active();
        let hold_ms = active.map_or(self.config.hold_ms, |active| active.hold_ms);
        // A fiftieth more than the hold, for clocks that do not run at one pace.
        let patience_ms = hold_ms.saturating_add(hold_ms / 50);
        self.now.uptime_ms.saturating_sub(self.heard_ms) >= patience_ms
    }

    /// Asks the log to make this server the active one.
    pub(super) fn lead(&mut self, actions: &mut Vec<Action>) {
        let epoch = Epoch(self.epoch.0 + 1);
        let command = Command::TakeOver(TakeOver {
            epoch,
            advertise: self.config.advertise.clone(),
            hold_ms: self.config.hold_ms,
            nonce: self.config.nonce,
            present: self.presence == Presence::Ours,
            former_gone: self.is_former_gone(),
        });
        let request = Request { id: None, actor: None, command };
        let record = Record {
            version: RECORD_VERSION,
            at: self.now.at,
            elapsed_ms: 0,
            requests: [request].into(),
        };
        self.mode = Mode::TakingOver;
        self.said_present = false;
        self.asked_ms = self.now.uptime_ms;
        self.heard_ms = self.now.uptime_ms;
        actions.push(Action::TakeOver { epoch, body: record.encode() });
    }

    /// Stops waiting for a takeover that never came by in the log: its outcome was unknown and it
    /// did not land.
    fn give_up_late_takeover(&mut self) {
        let silent_ms = self.now.uptime_ms.saturating_sub(self.heard_ms);
        if silent_ms >= self.config.hold_ms.saturating_mul(2) {
            self.mode = Mode::Standby;
        }
    }

    /// Asks the log again how an append ended, once the pause after a failure is over.
    fn ask_again(&mut self, actions: &mut Vec<Action>) {
        let now_ms = self.now.uptime_ms;
        let Some(flight) = &mut self.in_flight else { return };
        if flight.ask_ms.take_if(|ask_ms| *ask_ms <= now_ms).is_some() {
            actions.push(Action::ReadBack { number: flight.number });
        }
    }

    /// Cuts the next batch, if none is in flight and there is reason for one.
    fn cut(&mut self, actions: &mut Vec<Action>) {
        if self.in_flight.is_some() || self.now.uptime_ms < self.retry_ms {
            return;
        }
        self.expire_lapsed();
        self.bear_witness();
        self.say_present();
        if self.waiting.is_empty() && self.is_due() {
            self.ask(Command::Tick);
        }
        if self.waiting.is_empty() && self.now.uptime_ms < self.keep_hold_at() {
            return;
        }
        self.ahead = 0;
        let requests = self.batch(|_| true);
        let at = self.log_time();
        self.send(requests, at, actions);
    }

    /// Cuts the next batch before the one that just became durable is applied, so that the log
    /// writes meanwhile. Only job commands leave so: nothing about them is decided here. Whatever
    /// else there is to do comes first, and gets its turn after `AHEAD_MAX` batches.
    pub(super) fn cut_ahead(&mut self, actions: &mut Vec<Action>) {
        let are_jobs = |ready: &Ready| match ready {
            Ready::Time { .. } => true,
            Ready::Entry { request, .. } => is_about_jobs(&request.command),
        };
        let may = self.mode == Mode::Active && self.in_flight.is_none() && self.ahead < AHEAD_MAX;
        let has_duty = self.stopping
            || self.now.uptime_ms < self.retry_ms
            || self.beats.next_look().is_some_and(|at| at <= self.served())
            || self.is_due();
        if !may || has_duty || !self.ready.iter().all(are_jobs) {
            return;
        }
        let requests = self.batch(is_about_jobs);
        if requests.is_empty() {
            return;
        }
        let landed_at = self.ready.iter().find_map(|ready| match ready {
            Ready::Time { at, .. } => Some(*at),
            Ready::Entry { .. } => None,
        });
        let at = landed_at.map_or(self.log_time(), |landed| self.log_time_after(landed));
        self.ahead += 1;
        self.send(requests, at, actions);
    }

    fn send(&mut self, requests: Vec<Waiting>, at: Timestamp, actions: &mut Vec<Action>) {
        let elapsed_ms = core::mem::take(&mut self.unlogged_ms);
        let flight = InFlight {
            number: self.next,
            sent_ms: self.now.uptime_ms,
            elapsed_ms,
            at,
            requests,
            doubt: false,
            was_in_doubt: false,
            ask_ms: None,
        };
        let (number, body) = (flight.number, flight.body());
        actions.push(Action::Append { number, epoch: self.epoch, body });
        self.in_flight = Some(flight);
    }

    /// Says that the presence lock is ours, if it came to us after the takeover.
    fn say_present(&mut self) {
        let unsaid = self.state.active().is_some_and(|active| !active.present);
        if unsaid && self.presence == Presence::Ours && !self.said_present {
            self.said_present = true;
            self.ask(Command::Present(Present { nonce: self.config.nonce }));
        }
    }

    fn is_due(&self) -> bool {
        let due = self.state.next_due();
        due.at.is_some_and(|at| at <= self.log_time())
            || due.served.is_some_and(|at| at <= self.served())
    }

    fn expire_lapsed(&mut self) {
        let served = self.served();
        let lapsed = self.beats.lapsed(&self.state, served, limits::BATCH_COMMANDS_MAX);
        for timer in lapsed {
            self.ask(match timer {
                Timer::Lease(role, token) => Command::ExpireRole(ExpireRole { role, token }),
                Timer::Session(session) => Command::ExpireSession(ExpireSession { session }),
            });
        }
    }

    /// Takes what goes into the next record, as far as it is taken, and adds how far the candidates have come before
    /// each request that may choose among them.
    fn batch(&mut self, takes: impl Fn(&Command) -> bool) -> Vec<Waiting> {
        let mut batch: Vec<Waiting> = Vec::new();
        let mut bytes = 0;
        while let Some(waiting) = self.waiting.front() {
            let full = bytes + waiting.encoded.bytes().len() > limits::BATCH_BYTES_MAX;
            let has_room = batch.is_empty() || !full && batch.len() < limits::BATCH_COMMANDS_MAX;
            if !has_room || !takes(&waiting.encoded.request().command) {
                break;
            }
            let Some(waiting) = self.waiting.pop_front() else { break };
            let size = waiting.encoded.bytes().len();
            self.waiting_bytes = self.waiting_bytes.saturating_sub(size);
            bytes += size;
            for role in self.chosen_in(&waiting.encoded.request().command) {
                let lines = self.beats.standings(&self.state, self.served(), &role);
                if !lines.is_empty() {
                    let command = Command::Standings(Standings { role, lines });
                    let request = Request { id: None, actor: None, command };
                    let standings = Waiting::new(None, request);
                    bytes += standings.encoded.bytes().len();
                    batch.push(standings);
                }
            }
            batch.push(waiting);
        }
        batch
    }

    /// Returns the roles for which a command may choose a successor.
    fn chosen_in(&self, command: &Command) -> Vec<Name> {
        let of_session = |session: SessionId| {
            renewal::held_by(&self.state, session).map(|(name, _)| name.clone()).collect()
        };
        if let Command::Release(command) = command {
            [command.role.clone()].into()
        } else if let Command::HandOver(command) = command {
            [command.role.clone()].into()
        } else if let Command::ExpireRole(command) = command {
            [command.role.clone()].into()
        } else if let Command::CloseSession(command) = command {
            of_session(command.session.id)
        } else if let Command::ExpireSession(command) = command {
            of_session(command.session)
        } else if matches!(command, Command::Automate(_) | Command::Tick) {
            // A fix or a run may promote for a role that its policy keeps vacant.
            self.state.roles().withheld.iter().cloned().collect()
        } else {
            Vec::new()
        }
    }

    /// Takes back jobs that a session was given and never listed: the answer was lost.
    pub(super) fn take_back_unlisted(&mut self, session: SessionId, served: Served) {
        let Some(live) = self.state.sessions().live(session) else { return };
        let patience_ms = live.ttl_ms / 3 * 2;
        let Some(report) = self.beats.report(session) else { return };
        let unlisted = self.state.jobs().held(session).filter(|job| {
            let started = job.run.as_ref().map_or(served, |run| run.started.served);
            served.since(started) >= patience_ms && !report.holds.contains_key(&job.id)
        });
        let jobs: Vec<TakeBackJob> = unlisted
            .take(limits::ITEMS_MAX)
            .map(|job| TakeBackJob { job: job.id, claim: Some(job.claim) })
            .collect();
        if !jobs.is_empty() {
            self.ask(Command::TakeBack(TakeBack { jobs, cause: ReturnCause::NeverReceived }));
        }
    }

    /// Looks again at a vacant role when one of its candidates has come further.
    pub(super) fn promote_caught_up(&mut self, beat: &Beat) {
        let served = self.served();
        for (role, _) in &beat.consumed {
            let vacant = self.state.roles().get(role).is_some_and(|r| r.held.is_none());
            if vacant {
                let lines = self.beats.standings(&self.state, served, role);
                self.ask(Command::Standings(Standings { role: role.clone(), lines }));
            }
        }
    }
}
