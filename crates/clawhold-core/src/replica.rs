//! One server's part in the log: batch, append, apply, step down, catch up, take over.
//!
//! The driver feeds events and carries out actions; nothing here reads a clock or touches the
//! log. Safety rests on the log alone: an append succeeds only at the next number and under the
//! current term. The clock decides when to try, and until when a renewal may be confirmed.
//!
//! Time served advances only while this server is active and its hold on the log stands, and
//! never by more than [`STALL_MS`] at once, so neither an outage nor a stopped process expires
//! anybody.

mod act;
mod event;
mod flight;
mod watch;

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::beat::{Beat, BeatAnswer, Beats, Timer};
use crate::change::What;
use crate::command::{Command, Heard, Request, TakeOver};
use crate::record::{BadRecord, Encoded, Record};
use crate::state::{Applied, State};
use crate::units::{Epoch, Position, RecordNumber, Served, Stamp, Timestamp};

use self::flight::{InFlight, Ready, Waiting};

pub use event::{
    Action, Append, Call, Config, Declined, Event, LogRecord, Mode, NoBeat, Now, Presence,
};

/// Milliseconds between two events beyond which this server counts itself as having stood still.
pub const STALL_MS: u64 = 500;
/// Milliseconds after a definite failure of the log before the next attempt.
pub const RETRY_MS: u64 = 100;
/// Requests that may wait for the log.
pub const WAITING_MAX: usize = 65_536;
/// Bytes of requests that may wait for the log.
pub const WAITING_BYTES_MAX: usize = 64 * 1_024 * 1_024;

/// One server's part in the log.
#[derive(Debug)]
pub struct Replica {
    config: Config,
    state: State,
    beats: Beats,
    mode: Mode,
    /// The number of the next record to apply.
    next: RecordNumber,
    /// The term of the last valid record that was read.
    epoch: Epoch,
    now: Now,
    /// When the former active server was last heard of, or this one's last durable append was
    /// sent: the hold counts from here.
    heard_ms: u64,
    presence: Presence,
    /// Whether the log was asked to record that the presence lock is ours.
    said_present: bool,
    /// Whether the log was asked, once the active server fell silent, if it really added nothing.
    checking: bool,
    /// When the takeover in flight was asked.
    asked_ms: u64,
    /// Milliseconds served that no record has counted yet.
    unlogged_ms: u64,
    in_flight: Option<InFlight>,
    /// How many batches in a row left before the one before them was applied.
    ahead: u8,
    retry_ms: u64,
    stopping: bool,
    waiting: VecDeque<Waiting>,
    waiting_bytes: usize,
    ready: VecDeque<Ready>,
}

impl Replica {
    /// Returns a standby that holds `state` as of the record before `next`.
    #[must_use]
    pub fn new(config: Config, state: State, next: RecordNumber, now: Now) -> Self {
        let epoch = state.epoch();
        Self {
            config,
            state,
            beats: Beats::default(),
            mode: Mode::Standby,
            next,
            epoch,
            now,
            heard_ms: now.uptime_ms,
            // Until the driver tells: nobody leads on a guess.
            presence: Presence::Others,
            said_present: false,
            checking: false,
            asked_ms: 0,
            unlogged_ms: 0,
            in_flight: None,
            ahead: 0,
            retry_ms: 0,
            stopping: false,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            ready: VecDeque::new(),
        }
    }

    /// Takes one event in and returns what the driver is to do. It begins with that, and then calls
    /// [`Replica::apply_next`] until it returns `None`.
    ///
    /// # Errors
    /// [`BadRecord`] when the log holds a record that this program cannot apply: it must stop.
    ///
    /// # Panics
    /// When something durable was not applied before the next event.
    pub fn step(&mut self, now: Now, event: Event) -> Result<Vec<Action>, BadRecord> {
        assert!(self.ready.is_empty(), "what is durable is applied before the next event");
        self.pass(now);
        let mut actions = Vec::new();
        match event {
            Event::Tick => {}
            Event::Submit { call, request } => {
                actions.extend(self.take_or_decline(call, Encoded::new(request)));
            }
            Event::Appended(outcome) => self.appended(outcome, &mut actions),
            Event::TookOver(done) => self.took_over(done),
            Event::Read(records) => self.read(records, &mut actions)?,
            Event::Presence(presence) => self.presence = presence,
            Event::Stop => self.stop(),
        }
        if self.ready.is_empty() {
            self.proceed(&mut actions);
        }
        Ok(actions)
    }

    /// Takes a request in without acting upon it: whoever submits several at once calls
    /// [`Replica::step`] after the last. Returns what declines it, if it cannot be taken.
    #[must_use]
    pub fn submit(&mut self, now: Now, call: Call, request: Encoded) -> Option<Action> {
        self.pass(now);
        self.take_or_decline(call, request)
    }

    /// Applies the next durable entry, if one waits, and says whose call it answers.
    pub fn apply_next(&mut self) -> Option<(Option<Call>, Applied)> {
        loop {
            match self.ready.pop_front()? {
                Ready::Time { at, elapsed_ms } => self.state.pass(at, elapsed_ms),
                Ready::Entry { call, request } => {
                    let position = Position(self.state.last().position.0 + 1);
                    let stamp = Stamp { position, ..self.state.last() };
                    let applied = self.state.apply(stamp, &request);
                    self.follow_up(&request, &applied);
                    return Some((call, applied));
                }
            }
        }
    }

    /// Takes a beat in.
    ///
    /// # Errors
    /// [`NoBeat`] tells why it is not answered, or what must be recorded first.
    pub fn beat(&mut self, now: Now, beat: &Beat) -> Result<BeatAnswer, NoBeat> {
        self.pass(now);
        if self.mode != Mode::Active || self.hold_left_ms() == 0 {
            return Err(NoBeat::NotActive);
        }
        let proved = self.state.sessions().prove(beat.session);
        let session = match proved {
            Ok(session) => session,
            Err(refusal) => {
                self.watch_late_beat(beat);
                return Err(NoBeat::Refused(refusal));
            }
        };
        if session.graces > 0 {
            let command = Command::Heard(Heard { sessions: [session.id].into() });
            let request = Request { id: None, actor: None, command };
            return Err(NoBeat::RecordFirst(request.into()));
        }
        let served = self.served();
        let answer = self.beats.hear(&self.state, served, beat).map_err(NoBeat::Refused)?;
        self.watch_beliefs(beat, &answer);
        self.take_back_unlisted(beat.session.id, served);
        self.promote_caught_up(beat);
        Ok(answer)
    }

    /// Returns the state as of the last applied entry.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Returns what sessions reported since the takeover.
    #[must_use]
    pub fn beats(&self) -> &Beats {
        &self.beats
    }

    /// Returns what this server is.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Returns the URL under which other processes reach this server; empty when they cannot.
    #[must_use]
    pub fn advertise(&self) -> &str {
        self.config.advertise.as_str()
    }

    /// Returns the number of the next record to apply.
    #[must_use]
    pub fn next_record(&self) -> RecordNumber {
        self.next
    }

    /// Returns the time served so far, what no record has counted yet included.
    #[must_use]
    pub fn served(&self) -> Served {
        let in_flight = self.in_flight.as_ref().map_or(0, |flight| flight.elapsed_ms);
        self.state.last().served.after(in_flight.saturating_add(self.unlogged_ms))
    }

    /// Returns the clock readings of the last event.
    #[must_use]
    pub fn now(&self) -> Now {
        self.now
    }

    /// Returns the milliseconds for which this server's hold on the log still stands; zero when
    /// it is not the active one.
    #[must_use]
    pub fn hold_left_ms(&self) -> u64 {
        if self.mode != Mode::Active {
            return 0;
        }
        let until = self.heard_ms.saturating_add(self.config.hold_ms);
        until.saturating_sub(self.now.uptime_ms)
    }

    /// Returns how many requests wait for the log.
    #[must_use]
    pub fn waiting_count(&self) -> usize {
        self.waiting.len()
    }

    /// Returns the milliseconds until the next tick is worth while.
    #[must_use]
    pub fn next_tick_ms(&self) -> u64 {
        let active = self.mode == Mode::Active && self.in_flight.is_none();
        if !active {
            return 20;
        }
        let served = self.served();
        let due = self.state.next_due();
        let by_wall = due.at.map(|at| at.0.saturating_sub(self.log_time().0));
        let by_served = due.served.map(|at| at.since(served));
        let by_lapse = self.beats.next_look().map(|at| at.since(served));
        let by_hold = Some(self.keep_hold_at().saturating_sub(self.now.uptime_ms));
        let next = [by_wall, by_served, by_lapse, by_hold].into_iter().flatten().min();
        next.unwrap_or(STALL_MS).clamp(1, STALL_MS / 5)
    }

    /// Returns the wall time that a record written at this moment bears.
    ///
    /// The log's time never runs back. While a wall clock is behind it, because some server's
    /// clock once ran ahead, the log's time goes on with the time served, a little slower so that
    /// the clock catches up: a delay ends in time, whatever the clocks show.
    fn log_time(&self) -> Timestamp {
        self.log_time_after(self.state.last().at)
    }

    fn log_time_after(&self, last: Timestamp) -> Timestamp {
        let served_ms = self.unlogged_ms - self.unlogged_ms / 16;
        self.now.at.max(last.after(served_ms))
    }

    fn keep_hold_at(&self) -> u64 {
        self.heard_ms.saturating_add(self.config.hold_ms / 3).max(self.retry_ms)
    }

    /// Lets the clock move on, and counts the time as served if it was.
    fn pass(&mut self, now: Now) {
        let passed = now.uptime_ms.saturating_sub(self.now.uptime_ms);
        if self.mode == Mode::Active {
            let counted = passed.min(STALL_MS).min(self.hold_left_ms());
            self.unlogged_ms = self.unlogged_ms.saturating_add(counted);
        }
        self.now.uptime_ms = self.now.uptime_ms.max(now.uptime_ms);
        self.now.at = now.at;
    }

    fn take_or_decline(&mut self, call: Call, request: Encoded) -> Option<Action> {
        let decline = if self.stopping || self.mode == Mode::Stopped {
            Some(Declined::Stopping)
        } else if self.mode != Mode::Active {
            Some(Declined::NotActive)
        } else if self.waiting.len() >= WAITING_MAX || self.waiting_bytes >= WAITING_BYTES_MAX {
            Some(Declined::Overloaded)
        } else {
            None
        };
        if decline.is_none() {
            self.enqueue(Some(call), request);
        }
        decline.map(|reason| Action::Decline { call, reason })
    }

    fn enqueue(&mut self, call: Option<Call>, encoded: Encoded) {
        self.waiting_bytes += encoded.bytes().len();
        self.waiting.push_back(Waiting { call, encoded });
    }

    fn ask(&mut self, command: Command) {
        self.enqueue(None, Encoded::new(Request { id: None, actor: None, command }));
    }

    fn appended(&mut self, outcome: Append, actions: &mut Vec<Action>) {
        match outcome {
            Append::Done => {
                self.landed();
                self.cut_ahead(actions);
            }
            Append::Overtaken if !self.was_in_doubt() => self.stand_by(actions),
            // What stands there after a doubt may be our own record that came late.
            Append::Overtaken | Append::Unknown => self.read_back(actions),
            // The attempt before may still land: nothing is certain, and nobody is told so.
            Append::Failed { .. } if self.was_in_doubt() => self.doubt_on(),
            Append::Failed { reason } => self.append_failed(&reason, actions),
        }
    }

    fn was_in_doubt(&self) -> bool {
        self.in_flight.as_ref().is_some_and(|flight| flight.was_in_doubt)
    }

    fn read_back(&mut self, actions: &mut Vec<Action>) {
        if let Some(flight) = &mut self.in_flight {
            flight.doubt = true;
            flight.was_in_doubt = true;
            actions.push(Action::ReadBack { number: flight.number });
        }
    }

    /// Keeps what is in doubt in flight, and asks the log again in a while.
    fn doubt_on(&mut self) {
        let ask_ms = self.now.uptime_ms.saturating_add(RETRY_MS);
        if let Some(flight) = &mut self.in_flight {
            flight.doubt = true;
            flight.ask_ms = Some(ask_ms);
        }
    }

    /// The append in flight is durable: its requests are ready to be applied.
    fn landed(&mut self) {
        let Some(flight) = self.in_flight.take() else { return };
        self.heard_ms = self.heard_ms.max(flight.sent_ms);
        self.next = RecordNumber(flight.number.0 + 1);
        self.ready.push_back(Ready::Time { at: flight.at, elapsed_ms: flight.elapsed_ms });
        let entries = flight.requests.into_iter();
        self.ready.extend(
            entries.map(|w| Ready::Entry { call: w.call, request: w.encoded.into_request() }),
        );
    }

    fn append_failed(&mut self, reason: &str, actions: &mut Vec<Action>) {
        let Some(flight) = self.in_flight.take() else { return };
        self.unlogged_ms = self.unlogged_ms.saturating_add(flight.elapsed_ms);
        self.said_present = false;
        self.retry_ms = self.now.uptime_ms.saturating_add(RETRY_MS);
        let again = self.served().after(RETRY_MS);
        for waiting in flight.requests {
            if let Some(timer) = ends(&waiting.encoded.request().command) {
                self.beats.look_again(timer, again);
            }
            if let Some(call) = waiting.call {
                let reason = Declined::Storage { reason: reason.into() };
                actions.push(Action::Decline { call, reason });
            }
        }
    }

    /// Another server leads: nothing of ours that waits will happen here.
    fn stand_by(&mut self, actions: &mut Vec<Action>) {
        let mode = if self.stopping { Mode::Stopped } else { Mode::Standby };
        self.mode = mode;
        self.beats = Beats::default();
        self.presence = Presence::Others;
        self.said_present = false;
        self.unlogged_ms = 0;
        self.heard_ms = self.now.uptime_ms;
        self.waiting_bytes = 0;
        let in_flight = self.in_flight.take().map(|flight| flight.requests).unwrap_or_default();
        for waiting in in_flight.into_iter().chain(self.waiting.drain(..)) {
            if let Some(call) = waiting.call {
                actions.push(Action::Decline { call, reason: Declined::NotActive });
            }
        }
    }

    fn took_over(&mut self, done: bool) {
        if self.mode == Mode::TakingOver && !done {
            self.mode = Mode::Standby;
            self.heard_ms = self.now.uptime_ms;
        }
    }

    fn read(
        &mut self,
        records: Vec<LogRecord>,
        actions: &mut Vec<Action>,
    ) -> Result<(), BadRecord> {
        let mut records = records.into_iter().peekable();
        if self.in_flight.as_ref().is_some_and(|flight| flight.doubt) {
            let ours = records.peek().map(|record| self.is_in_flight(record));
            match ours {
                None => {
                    self.append_again(actions);
                    return Ok(());
                }
                Some(true) => {
                    records.next();
                    self.landed();
                }
                Some(false) => self.stand_by(actions),
            }
        }
        let checked = core::mem::take(&mut self.checking) && records.peek().is_none();
        if checked && self.mode == Mode::Standby && self.is_former_silent() {
            self.lead(actions);
        }
        for record in records {
            self.take_in(record, actions)?;
        }
        Ok(())
    }

    fn is_in_flight(&self, record: &LogRecord) -> bool {
        let flight = self.in_flight.as_ref();
        flight.is_some_and(|flight| {
            flight.number == record.number
                && record.epoch == self.epoch
                && flight.body() == record.body
        })
    }

    fn append_again(&mut self, actions: &mut Vec<Action>) {
        let epoch = self.epoch;
        let now_ms = self.now.uptime_ms;
        if let Some(flight) = &mut self.in_flight {
            flight.doubt = false;
            flight.sent_ms = now_ms;
            let body = flight.body();
            actions.push(Action::Append { number: flight.number, epoch, body });
        }
    }

    /// Takes in a record that some server wrote. One of an overtaken term is void.
    fn take_in(&mut self, record: LogRecord, actions: &mut Vec<Action>) -> Result<(), BadRecord> {
        if record.number < self.next {
            return Ok(());
        }
        assert!(record.number == self.next, "records are read without a hole");
        let decoded = Record::decode(&record.body)?;
        let follows = decoded.begins(record.epoch, self.epoch);
        self.next = RecordNumber(record.number.0 + 1);
        if record.epoch != self.epoch && !follows {
            return Ok(());
        }
        if follows && self.mode == Mode::Active {
            self.stand_by(actions);
        }
        self.epoch = record.epoch;
        if self.mode != Mode::Active {
            self.heard_ms = self.now.uptime_ms;
        }
        self.ready.push_back(Ready::Time { at: decoded.at, elapsed_ms: decoded.elapsed_ms });
        let entries = decoded.requests.into_iter();
        self.ready.extend(entries.map(|request| Ready::Entry { call: None, request }));
        Ok(())
    }

    fn stop(&mut self) {
        if self.stopping {
            return;
        }
        self.stopping = true;
        if self.mode == Mode::Active {
            self.ask(Command::StepDown);
        } else {
            self.mode = Mode::Stopped;
        }
    }

    /// Does what an applied entry means for this server itself.
    fn follow_up(&mut self, request: &Request, applied: &Applied) {
        if let Command::TakeOver(command) = &request.command
            && applied.answer.is_ok()
        {
            self.after_takeover(command);
        }
        if request.command == Command::StepDown && self.stopping {
            self.mode = Mode::Stopped;
        }
        if let Some(timer) = ends(&request.command) {
            match applied.answer {
                Ok(_) => {
                    self.beats.ending.remove(&timer);
                }
                Err(_) => self.beats.look_again(timer, self.served().after(RETRY_MS)),
            }
        }
        if self.mode == Mode::Active {
            self.watch_changes(applied);
        }
    }

    fn after_takeover(&mut self, command: &TakeOver) {
        let ours = command.nonce == self.config.nonce && self.mode == Mode::TakingOver;
        if ours {
            self.mode = Mode::Active;
            // The hold counts from before the takeover was sent.
            self.heard_ms = self.asked_ms;
            self.unlogged_ms = 0;
            self.beats = Beats::begin(&self.state);
        }
    }

    fn watch_changes(&mut self, applied: &Applied) {
        for change in &applied.changes {
            match &change.what {
                What::RoleGranted { role, token, .. } => {
                    let lease = self.state.roles().get(role).and_then(|role| role.held.as_ref());
                    if let Some(lease) = lease.filter(|lease| lease.token == *token) {
                        self.beats.watch_lease(role, *token, lease.lapses);
                    }
                }
                What::Worker { session, .. } | What::Session { session } => {
                    match self.state.sessions().live(*session) {
                        Some(live) => self.beats.watch_session(*session, live.lapses),
                        None => self.beats.forget(*session),
                    }
                }
                What::Server
                | What::Restored { .. }
                | What::RoleVacant { .. }
                | What::Role { .. }
                | What::Job { .. }
                | What::Queue { .. }
                | What::Stream { .. }
                | What::Recorded { .. }
                | What::Definition { .. }
                | What::Run { .. }
                | What::Alert { .. }
                | What::Message { .. }
                | What::Automation => {}
            }
        }
    }
}

/// Returns what a command ends because it lapsed.
fn ends(command: &Command) -> Option<Timer> {
    if let Command::ExpireRole(command) = command {
        Some(Timer::Lease(command.role.clone(), command.token))
    } else if let Command::ExpireSession(command) = command {
        Some(Timer::Session(command.session))
    } else {
        None
    }
}
