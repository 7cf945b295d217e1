//! One server that leads: wall clocks that jump, beats that come late, appends in doubt.

use std::collections::VecDeque;

use clawhold_core::State;
use clawhold_core::answer::JobState;
use clawhold_core::beat::Beat;
use clawhold_core::command::{
    Acquire, Command, Due, Enqueue, NewJob, OpenSession, Request, RetryRule, SessionKey,
};
use clawhold_core::replica::{
    Action, Append, Call, Config, Event, LogRecord, Now, Presence, Replica,
};
use clawhold_core::units::{Bytes, JobId, Name, RecordNumber, Text, Timestamp, Token};

const TEN_YEARS_MS: u64 = 10 * 365 * 86_400_000;
const WALL_MS: u64 = 1_700_000_000_000;

#[test]
fn a_delayed_job_is_due_in_time_after_the_wall_clock_was_ten_years_ahead_for_a_moment() {
    let mut server = Server::lead();
    server.ahead_ms = TEN_YEARS_MS;
    server.enqueue(Due::Now);
    server.ahead_ms = 0;
    let job = server.enqueue(Due::After(1_000));
    server.pass(900);
    assert_eq!(server.state_of(job), JobState::Scheduled);
    server.pass(300);
    assert_eq!(server.state_of(job), JobState::Queued);
}

#[test]
fn a_wall_clock_a_minute_behind_catches_up_with_the_log() {
    let mut server = Server::lead();
    server.ahead_ms = 60_000;
    server.enqueue(Due::Now);
    server.ahead_ms = 0;
    let ahead_ms = |server: &Server| {
        let last = server.replica.state().last().at.0;
        last.saturating_sub(WALL_MS + server.uptime_ms)
    };
    server.pass(60_000);
    let (half_ms, lowest_ms) = (ahead_ms(&server), 50_000);
    assert!(lowest_ms < half_ms && half_ms < 58_000, "{half_ms}");
    server.pass(1_000_000);
    assert_eq!(ahead_ms(&server), 0);
}

#[test]
fn a_beat_that_was_overtaken_on_its_way_takes_no_renewal_back() {
    let mut server = Server::lead();
    let secret = 7;
    server.submit(Command::OpenSession(OpenSession {
        secret,
        label: Name::parse("ana").unwrap(),
        ttl_ms: 5_000,
        queues: Vec::new(),
        slots: 0,
        agent: None,
        place: Text::default(),
    }));
    let id = server.replica.state().sessions().list(None).next().unwrap().id;
    let session = SessionKey { id, secret };
    let role = Name::parse("billing").unwrap();
    let ttl_ms = Some(600);
    let acquire = Acquire { role: role.clone(), session, ttl_ms, wait: false, stream: None };
    server.submit(Command::Acquire(acquire));
    let token = server.token_of(&role).unwrap();
    server.pass(500);
    assert!(server.beat(session, vec![(role.clone(), token)]));
    server.pass(50);
    // This one was sent before the grant.
    assert!(server.beat(session, Vec::new()));
    server.pass(500);
    assert_eq!(server.token_of(&role), Some(token), "it was renewed 550 ms ago, for 600");
    server.pass(150);
    assert_eq!(server.token_of(&role), None);
}

#[test]
fn nobody_is_told_that_nothing_happened_while_an_append_is_in_doubt() {
    let mut server = Server::lead();
    let failed = Append::Failed { reason: "the log is locked".to_owned() };
    server.outcomes = [Append::Unknown, failed].into();
    let job = server.enqueue(Due::Now);
    assert_eq!(server.declined, 0);
    server.pass(200);
    assert_eq!(server.state_of(job), JobState::Queued);
    assert_eq!(server.declined, 0);
}

/// A server that leads alone, on a log that takes everything at once.
struct Server {
    replica: Replica,
    uptime_ms: u64,
    /// Milliseconds by which its wall clock is ahead.
    ahead_ms: u64,
    written: u64,
    calls: u64,
    /// How the next appends end; those after them land.
    outcomes: VecDeque<Append>,
    declined: u64,
    /// Times that it let go of the presence lock.
    left: u64,
}

impl Server {
    fn lead() -> Self {
        let config = Config { advertise: Text::default(), hold_ms: 900, nonce: 1 };
        let now = Now { at: Timestamp(WALL_MS), uptime_ms: 0 };
        let replica = Replica::new(config, State::default(), RecordNumber(1), now);
        let mut server = Self {
            replica,
            uptime_ms: 0,
            ahead_ms: 0,
            written: 0,
            calls: 0,
            outcomes: VecDeque::new(),
            declined: 0,
            left: 0,
        };
        server.step(Event::Presence(Presence::Unsupported));
        server
    }

    fn step(&mut self, event: Event) {
        let at = Timestamp(WALL_MS + self.uptime_ms + self.ahead_ms);
        let now = Now { at, uptime_ms: self.uptime_ms };
        let actions = self.replica.step(now, event).unwrap();
        while self.replica.apply_next().is_some() {}
        for action in actions {
            match action {
                Action::Append { number, .. } => {
                    self.written = number.0;
                    let outcome = self.outcomes.pop_front().unwrap_or(Append::Done);
                    self.step(Event::Appended(outcome));
                }
                Action::TakeOver { epoch, body } => {
                    self.written += 1;
                    let number = RecordNumber(self.written);
                    self.step(Event::Read([LogRecord { number, epoch, body }].into()));
                }
                Action::ReadBack { .. } => self.step(Event::Read(Vec::new())),
                Action::LeavePresence => self.left += 1,
                Action::Decline { .. } => self.declined += 1,
            }
        }
    }

    fn pass(&mut self, ms: u64) {
        let end_ms = self.uptime_ms + ms;
        while self.uptime_ms < end_ms {
            let tick_ms = self.replica.next_tick_ms();
            self.uptime_ms = end_ms.min(self.uptime_ms + tick_ms);
            self.step(Event::Tick);
        }
    }

    fn submit(&mut self, command: Command) {
        self.calls += 1;
        let request = Request { id: None, actor: None, command };
        self.step(Event::Submit { call: Call(self.calls), request });
    }

    fn beat(&mut self, session: SessionKey, leads: Vec<(Name, Token)>) -> bool {
        let (suspended, holds, consumed) = (Vec::new(), Vec::new(), Vec::new());
        let beat = Beat { session, leads, suspended, holds, consumed };
        self.replica.beat(self.replica.now(), &beat).is_ok()
    }

    fn token_of(&self, role: &Name) -> Option<Token> {
        let role = self.replica.state().roles().get(role)?;
        role.held.as_ref().map(|lease| lease.token)
    }

    fn enqueue(&mut self, due: Due) -> JobId {
        let job = NewJob {
            queue: Name::parse("mail").unwrap(),
            payload: Bytes::from("job"),
            priority: 0,
            due,
            unique: None,
            order: None,
            retry: RetryRule::default(),
            timeout_ms: None,
        };
        self.submit(Command::Enqueue(Enqueue { jobs: [job].into() }));
        JobId(self.calls)
    }

    fn state_of(&self, job: JobId) -> JobState {
        self.replica.state().jobs().job(job).unwrap().state
    }
}
