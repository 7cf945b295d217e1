//! A wall clock that jumps: what waits for a moment goes on after the clock has jumped back.

use clawhold_core::answer::JobState;
use clawhold_core::command::{Command, Due, Enqueue, NewJob, Request, RetryRule};
use clawhold_core::{Applied, State};

use clawhold_core::replica::{
    Action, Append, Call, Config, Event, LogRecord, Mode, Now, Presence, Replica,
};
use clawhold_core::units::{Bytes, JobId, Name, RecordNumber, RequestId, Text, Timestamp};

/// Where the wall clock stands when a test begins.
const WALL_MS: u64 = 1_700_000_000_000;
/// Ten years.
const TEN_YEARS_MS: i64 = 10 * 365 * 86_400_000;

#[test]
fn a_delayed_job_still_runs_after_the_clock_was_ten_years_ahead_for_a_moment() {
    let mut server = Server::start();
    server.skew_ms = TEN_YEARS_MS;
    server.pass(1_500);
    let ahead = server.at();
    assert_eq!(ahead.0 / 1_000, (WALL_MS + TEN_YEARS_MS.unsigned_abs()) / 1_000 + 1);
    server.skew_ms = 0;
    server.enqueue(500);
    server.pass(100);
    assert_eq!(server.state_of(1), JobState::Scheduled);
    // The log's own time goes on, a little slower than a clock, however far it is ahead.
    server.pass(1_500);
    assert_eq!(server.state_of(1), JobState::Queued);
}

#[test]
fn the_logs_time_never_runs_back_and_meets_a_clock_that_was_set_back_a_little() {
    let mut server = Server::start();
    server.pass(1_000);
    server.skew_ms = -2_000;
    let mut before = server.at();
    for _ in 0..400 {
        server.pass(100);
        assert!(before <= server.at());
        before = server.at();
    }
    let wall_ms = server.now().at.0;
    assert!(wall_ms.abs_diff(before.0) <= 500, "the clock says {wall_ms}, the log {before:?}");
}

#[test]
fn a_retry_gets_the_first_answer_although_the_clock_has_leapt_ten_years_meanwhile() {
    let mut server = Server::start();
    assert!(!server.ask("r1").replayed);
    server.skew_ms = TEN_YEARS_MS;
    // The active server keeps its hold, and with it the log learns of the leap.
    server.pass(1_500);
    assert!(server.at().0 > WALL_MS + TEN_YEARS_MS.unsigned_abs());
    assert!(server.ask("r1").replayed);
    server.skew_ms = 0;
    server.pass(1_500);
    assert!(server.ask("r1").replayed);
}

/// An active server on a log that does all it is asked at once.
struct Server {
    replica: Replica,
    uptime_ms: u64,
    skew_ms: i64,
    calls: u64,
}

impl Server {
    fn start() -> Self {
        let config = Config { advertise: Text::cut("test"), hold_ms: 3_000, nonce: 7 };
        let now = Now { at: Timestamp(WALL_MS), uptime_ms: 0 };
        let replica = Replica::new(config, State::default(), RecordNumber(1), now);
        let mut server = Self { replica, uptime_ms: 0, skew_ms: 0, calls: 0 };
        server.step(Event::Presence(Presence::Ours));
        assert_eq!(server.replica.mode(), Mode::Active);
        server
    }

    fn now(&self) -> Now {
        let at = Timestamp((WALL_MS + self.uptime_ms).saturating_add_signed(self.skew_ms));
        Now { at, uptime_ms: self.uptime_ms }
    }

    fn at(&self) -> Timestamp {
        self.replica.state().last().at
    }

    /// Takes an event in with all that follows, and returns what was applied for a caller.
    fn step(&mut self, event: Event) -> Option<Applied> {
        let mut answered = None;
        let mut events = vec![event];
        while let Some(event) = events.pop() {
            for action in self.replica.step(self.now(), event).unwrap() {
                events.push(match action {
                    Action::Append { .. } => Event::Appended(Append::Done),
                    Action::TakeOver { epoch, body } => {
                        let number = self.replica.next_record();
                        self.replica.step(self.now(), Event::TookOver(true)).unwrap();
                        Event::Read(vec![LogRecord { number, epoch, body }])
                    }
                    Action::ReadBack { .. } => Event::Read(Vec::new()),
                    Action::LeavePresence => panic!("it leads, and the lock is its own"),
                    Action::Decline { reason, .. } => panic!("declined: {reason:?}"),
                });
            }
            while let Some((call, applied)) = self.replica.apply_next() {
                answered = call.map(|_| applied).or(answered);
            }
        }
        answered
    }

    /// Lets time pass in ticks of 20 ms.
    fn pass(&mut self, ms: u64) {
        for _ in 0..ms / 20 {
            self.uptime_ms += 20;
            self.step(Event::Tick);
        }
    }

    /// Submits one job under a request id.
    fn ask(&mut self, id: &str) -> Applied {
        let id = Some(RequestId::parse(id).unwrap());
        self.submit(id, 0).expect("a request is answered")
    }

    fn enqueue(&mut self, delay_ms: u64) {
        self.submit(None, delay_ms);
    }

    fn submit(&mut self, id: Option<RequestId>, delay_ms: u64) -> Option<Applied> {
        let job = NewJob {
            queue: Name::parse("mail").unwrap(),
            payload: Bytes::from("1"),
            priority: 0,
            due: Due::After(delay_ms),
            unique: None,
            order: None,
            retry: RetryRule::default(),
            timeout_ms: None,
        };
        self.calls += 1;
        let command = Command::Enqueue(Enqueue { jobs: [job].into() });
        let request = Request { id, actor: None, command };
        self.step(Event::Submit { call: Call(self.calls), request })
    }

    fn state_of(&self, job: u64) -> JobState {
        self.replica.state().jobs().job(JobId(job)).unwrap().state
    }
}
