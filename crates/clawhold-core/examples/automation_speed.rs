//! What rules cost: a wave of heartbeats with and without them, entries that touch them, a lapse
//! answered by a fix, and a change of a definition while runs are pending. Ratios of one run.
#![expect(clippy::print_stdout, reason = "what it is for is to be read")]

use std::error::Error;
use std::time::{Duration, Instant};

use clawhold_core::State;
use clawhold_core::answer::{Answer, Refusal};
use clawhold_core::beat::Beat;
use clawhold_core::catalog::{Approval, AutoFix, Cooldown, Mode, Noun, Runbook, Spec};
use clawhold_core::command::{
    Acquire, Automate, Claim, Command, Define, Due, EnableDefinition, Enqueue, Expect, ExpireRole,
    NewJob, OpenSession, Request, RetryRule, SessionKey, StartRun, Wanted,
};
use clawhold_core::condition::Condition;
use clawhold_core::limits::RUNS_LIVE_MAX;
use clawhold_core::operation::{OnFail, Operation, Plan, PlannedStep, Reading, Subject};
use clawhold_core::replica::{
    Action, Append, Call, Config, Event, LogRecord, Now, Presence, Replica,
};
use clawhold_core::run::Origin;
use clawhold_core::units::{Bytes, Name, Prose, RecordNumber, Text, Timestamp, Title};

const WORKERS: usize = 10_000;
const RULES: usize = 50;
const WAVES: usize = 30;
const RUNS: usize = 500;

type Outcome = Result<Answer, Refusal>;

/// One server on a log that is always at once durable.
struct Server {
    replica: Replica,
    now_ms: u64,
    number: RecordNumber,
}

impl Server {
    fn new() -> Result<Self, Box<dyn Error>> {
        let config = Config { advertise: Text::cut("bench"), hold_ms: 3_000, nonce: 1 };
        let (state, number) = (State::default(), RecordNumber(1));
        let replica = Replica::new(config, state, number, now(0));
        let mut server = Self { replica, now_ms: 0, number };
        server.step(Event::Presence(Presence::Ours))?;
        server.step(Event::Tick)?;
        Ok(server)
    }

    fn step(&mut self, event: Event) -> Result<Vec<Outcome>, Box<dyn Error>> {
        let mut events = vec![event];
        let mut answers = Vec::new();
        while let Some(event) = events.pop() {
            let actions = self.replica.step(now(self.now_ms), event)?;
            while let Some((call, applied)) = self.replica.apply_next() {
                answers.extend(call.map(|_| applied.answer));
            }
            for action in actions {
                match action {
                    Action::Append { .. } => {
                        self.number.0 += 1;
                        events.push(Event::Appended(Append::Done));
                    }
                    Action::TakeOver { epoch, body } => {
                        let number = self.number;
                        self.number.0 += 1;
                        events.push(Event::Read([LogRecord { number, epoch, body }].into()));
                        events.push(Event::TookOver(true));
                    }
                    Action::ReadBack { .. } => events.push(Event::Read(Vec::new())),
                    Action::LeavePresence => {}
                    Action::Decline { reason, .. } => return Err(format!("{reason:?}").into()),
                }
            }
        }
        Ok(answers)
    }

    fn ask(&mut self, command: Command) -> Result<Answer, Box<dyn Error>> {
        let request = Request { id: None, actor: None, command };
        let mut answers = self.step(Event::Submit { call: Call(1), request })?;
        if answers.is_empty() {
            answers = self.step(Event::Tick)?;
        }
        Ok(answers.pop().ok_or("no answer")??)
    }

    fn wave(&mut self, beats: &[Beat]) -> Result<Duration, Box<dyn Error>> {
        let begun = Instant::now();
        for beat in beats {
            self.replica.beat(now(self.now_ms), beat).map_err(|error| format!("{error:?}"))?;
        }
        self.step(Event::Tick)?;
        Ok(begun.elapsed())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut server = Server::new()?;
    let mut beats = Vec::with_capacity(WORKERS);
    for at in 0..WORKERS {
        let key = open(&mut server, &format!("w-{at}"), Some(&format!("q{}", at % 100)))?;
        beats.push(Beat {
            session: key,
            leads: Vec::new(),
            suspended: Vec::new(),
            holds: Vec::new(),
            consumed: Vec::new(),
        });
    }
    let bare = best(&mut server, &beats)?;
    let bare_jobs = jobs(&mut server, &beats)?;
    for at in 0..RULES {
        let condition =
            format!("worker.leaving and worker.held_jobs > {at} and worker.name != 'x{at}'");
        define(&mut server, &format!("rule {at}"), fix(&condition, Plan::default())?)?;
    }
    let ruled = best(&mut server, &beats)?;
    let ruled_jobs = jobs(&mut server, &beats)?;
    let ratio = ruled.as_secs_f64() / bare.as_secs_f64();
    println!("a wave of {WORKERS} beats: {bare:?}, with {RULES} rules {ruled:?}: {ratio:.2} times");
    let ratio = ruled_jobs.as_secs_f64() / bare_jobs.as_secs_f64();
    println!(
        "1,000 enqueues and claims: {bare_jobs:?}, with {RULES} rules {ruled_jobs:?}: {ratio:.2} times"
    );
    lapses(&mut server)?;
    pending(&mut server)
}

fn best(server: &mut Server, beats: &[Beat]) -> Result<Duration, Box<dyn Error>> {
    let waves = (0..WAVES).map(|_| server.wave(beats)).collect::<Result<Vec<_>, _>>()?;
    Ok(waves.into_iter().min().unwrap_or_default())
}

/// Lets 200 leases lapse, each answered by a fix, and shows how long an entry took.
fn lapses(server: &mut Server) -> Result<(), Box<dyn Error>> {
    let promote = Operation::PromoteStandby { role: Subject::Run };
    let plan = Plan { table: 1, steps: [planned(promote)].into() };
    define(server, "Promote", fix("lease.expired == true", plan)?)?;
    let mut took = Vec::new();
    for at in 0..200 {
        let role = Name::parse(&format!("role-{at}"))?;
        let mut token = clawhold_core::units::Token(0);
        for label in ["a", "b"] {
            let session = open(server, &format!("{label}-{at}"), None)?;
            let acquire = Acquire {
                role: role.clone(),
                session,
                ttl_ms: Some(200),
                wait: true,
                stream: None,
            };
            if let Answer::Granted(granted) = server.ask(Command::Acquire(acquire))? {
                token = granted.token;
            }
        }
        server.now_ms += 300;
        let begun = Instant::now();
        server.step(Event::Tick)?;
        took.push(begun.elapsed());
        let held = server.replica.state().roles().get(&role).and_then(|role| role.held.as_ref());
        let promoted = held.is_some_and(|lease| lease.token > token);
        assert!(promoted, "the fix promotes in the entry that ends the lease");
        // The lapse was found by the server itself; asking for it again finds nothing.
        assert!(server.ask(Command::ExpireRole(ExpireRole { role, token })).is_err());
    }
    took.sort_unstable();
    let runs = server.replica.state().automation().runs().ended().count();
    println!(
        "a lapse, its fix and the grant: p50 {:?}, p99 {:?}, {runs} runs",
        took[100], took[198]
    );
    Ok(())
}

/// Lists and disables while many runs are pending.
fn pending(server: &mut Server) -> Result<(), Box<dyn Error>> {
    let plan = Plan { table: 1, steps: [planned(Operation::Confirm)].into() };
    let runbook = Runbook {
        trigger: None,
        tags: Vec::new(),
        steps: Prose::default(),
        plan,
        notify: Vec::new(),
    };
    define(server, "Ask", Spec::Runbook(runbook))?;
    for _ in 0..RUNS.min(RUNS_LIVE_MAX) {
        let start = StartRun {
            noun: Noun::Runbook,
            title: Title::parse("Ask")?,
            params: Vec::new(),
            origin: Origin::Hand,
            override_reason: None,
            reply_url: None,
        };
        automate(server, Automate::StartRun(start))?;
    }
    let begun = Instant::now();
    let title = Title::parse("rule 1")?;
    let disable = EnableDefinition { noun: Noun::AutoFix, title, enabled: false };
    automate(server, Automate::EnableDefinition(disable))?;
    let disabled = begun.elapsed();
    let begun = Instant::now();
    let automation = server.replica.state().automation();
    let count =
        automation.catalog().list(Noun::AutoFix, None).count() + automation.runs().live().count();
    println!(
        "with {RUNS} runs pending: disable {disabled:?}, list {:?} ({count} rows)",
        begun.elapsed()
    );
    Ok(())
}

fn jobs(server: &mut Server, beats: &[Beat]) -> Result<Duration, Box<dyn Error>> {
    let begun = Instant::now();
    for beat in beats.iter().take(1_000) {
        let queue = Name::parse("q1")?;
        let job = NewJob {
            queue: queue.clone(),
            payload: Bytes::from("x"),
            priority: 0,
            due: Due::Now,
            unique: None,
            order: None,
            retry: RetryRule::default(),
            timeout_ms: None,
        };
        server.ask(Command::Enqueue(Enqueue { jobs: [job].into() }))?;
        let wanted = Wanted { queues: [queue].into(), count_max: 1 };
        server.ask(Command::Claim(Claim { session: beat.session, wanted }))?;
    }
    Ok(begun.elapsed())
}

fn open(
    server: &mut Server,
    label: &str,
    queue: Option<&str>,
) -> Result<SessionKey, Box<dyn Error>> {
    let queues = queue.map(Name::parse).transpose()?;
    let command = OpenSession {
        secret: 7,
        label: Name::parse(label)?,
        ttl_ms: 86_400_000,
        slots: if queues.is_some() { 10 } else { 0 },
        queues: queues.into_iter().collect(),
        agent: None,
        place: Text::default(),
    };
    let answer = server.ask(Command::OpenSession(command))?;
    let Answer::Opened(key) = answer else { return Err(format!("{answer:?}").into()) };
    Ok(key)
}

fn define(server: &mut Server, title: &str, spec: Spec) -> Result<(), Box<dyn Error>> {
    let title = Title::parse(title)?;
    automate(
        server,
        Automate::Define(Define { title, spec, expect: Expect::Absent, enabled: None }),
    )
}

fn automate(server: &mut Server, automate: Automate) -> Result<(), Box<dyn Error>> {
    server.ask(Command::Automate(Box::new(automate))).map(|_| ())
}

fn fix(condition: &str, plan: Plan) -> Result<Spec, Box<dyn Error>> {
    Ok(Spec::AutoFix(AutoFix {
        condition: Condition::parse(condition).map_err(|trouble| trouble.to_string())?,
        action: Prose::default(),
        plan,
        approval: Approval::Auto,
        approval_ms: 1_000,
        four_eyes: false,
        mode: Mode::Act,
        notify: Vec::new(),
        max_runs: Vec::new(),
        cooldown: Cooldown::default(),
    }))
}

fn planned(operation: Operation) -> PlannedStep {
    PlannedStep {
        sentence: Text::cut(operation.name()),
        operation,
        reading: Reading::Exact,
        timeout_ms: None,
        on_fail: OnFail::Stop,
    }
}

fn now(uptime_ms: u64) -> Now {
    Now { at: Timestamp(1_796_054_400_000 + uptime_ms), uptime_ms }
}
