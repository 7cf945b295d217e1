//! Fixes and runbooks on real roles, workers and jobs.

use alloc::borrow::ToOwned;
mod fixes;
mod random;
mod restore;
mod runbooks;

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::*;
use crate::answer::{Answer, JobState, Refusal};
use crate::catalog::{Approval, AutoFix, Channel, Cooldown, MaxRuns, Mode, Runbook, Spec};
use crate::command::{
    Acquire, Append, Automate, CancelRun, Claim, Command, Commit, Decide, Define, DrainWorker,
    Due as When, EnableDefinition, Enqueue, Expect, ExpireRole, ExpireSession, NewJob, NewPosition,
    OpenSession, Param, PauseAutomation, Request, ResetFix, RetryRule, SessionKey, SetRole,
    StartRun, TakeOver, Wanted, Witness,
};
use crate::condition::Condition;
use crate::operation::{Check, OnFail, Operation, PlannedStep, Reading, Subject};
use crate::role::Promotion;
use crate::state::State;
use crate::units::{Bytes, Epoch, EventNumber, Prose, Served};

const MINUTE: u64 = 60_000;
const HOUR: u64 = 60 * MINUTE;

/// A state and a clock that tells both times.
struct World {
    state: State,
    now: u64,
}

impl World {
    fn new() -> Self {
        let mut world = Self { state: State::default(), now: HOUR };
        world.take_over(1);
        world
    }

    fn take_over(&mut self, epoch: u64) {
        let take_over = TakeOver {
            epoch: Epoch(epoch),
            advertise: Text::default(),
            hold_ms: 3_000,
            nonce: epoch,
            present: true,
            former_gone: true,
        };
        self.ok(Command::TakeOver(take_over));
    }

    fn ask(&mut self, command: Command) -> Result<Answer, Refusal> {
        self.ask_as("dana", command)
    }

    fn ask_as(&mut self, actor: &str, command: Command) -> Result<Answer, Refusal> {
        let position = Position(self.state.last().position.0 + 1);
        let stamp = Stamp { at: Timestamp(self.now), served: Served(self.now), position };
        let request = Request { id: None, actor: Some(name(actor)), command };
        let applied = self.state.apply(stamp, &request);
        crate::check::check(&self.state).unwrap();
        // A snapshot in between changes nothing.
        let restored = State::restore(&self.state.snapshot()).unwrap();
        assert_eq!(restored, self.state);
        self.state = restored;
        applied.answer
    }

    fn ok(&mut self, command: Command) -> Answer {
        self.ask(command).unwrap()
    }

    fn automate(&mut self, command: Automate) -> Answer {
        self.ok(Command::Automate(Box::new(command)))
    }

    fn pass(&mut self, ms: u64) {
        self.now += ms;
        self.ok(Command::Tick);
    }

    fn session(&mut self, label: &str, queues: &[&str], ttl_ms: u64) -> SessionKey {
        let command = OpenSession {
            secret: 7,
            label: name(label),
            ttl_ms,
            queues: queues.iter().map(|queue| name(queue)).collect(),
            slots: if queues.is_empty() { 0 } else { 100 },
            agent: None,
            place: Text::default(),
        };
        let Answer::Opened(key) = self.ok(Command::OpenSession(command)) else { panic!() };
        key
    }

    fn acquire(&mut self, role: &str, session: SessionKey) -> Answer {
        let (role, stream) = (name(role), Some(name("events")));
        self.ok(Command::Acquire(Acquire { role, session, ttl_ms: None, wait: true, stream }))
    }

    fn acquire_or_not(&mut self, role: &str, session: SessionKey) -> Result<Answer, Refusal> {
        let (role, wait) = (name(role), true);
        self.ask(Command::Acquire(Acquire { role, session, ttl_ms: None, wait, stream: None }))
    }

    /// Lets the lease of a role lapse, as the active server would say.
    fn lapse(&mut self, role: &str) {
        let role = name(role);
        let lease = self.state.roles().get(&role).unwrap().held.clone().unwrap();
        self.now = self.now.max(lease.lapses.0);
        let token = lease.token;
        self.ok(Command::ExpireRole(ExpireRole { role, token }));
    }

    fn enqueue(&mut self, queue: &str, count: usize) {
        let job = NewJob {
            queue: name(queue),
            payload: Bytes::from("x"),
            priority: 0,
            due: When::Now,
            unique: None,
            order: None,
            retry: RetryRule::default(),
            timeout_ms: None,
        };
        self.ok(Command::Enqueue(Enqueue { jobs: alloc::vec![job; count] }));
    }

    fn claim(&mut self, session: SessionKey, queue: &str, count: u32) -> usize {
        let wanted = Wanted { queues: [name(queue)].into(), count_max: count };
        let answer = self.ok(Command::Claim(Claim { session, wanted }));
        let Answer::Claimed(claimed) = answer else { panic!() };
        claimed.len()
    }

    fn define(&mut self, title: &str, spec: Spec) {
        let title = Title::parse(title).unwrap();
        self.automate(Automate::Define(Define { title, spec, expect: Expect::Any, enabled: None }));
    }

    fn holder(&self, role: &str) -> Option<SessionId> {
        self.state.roles().get(&name(role))?.held.as_ref().map(|lease| lease.session)
    }

    fn runs(&self) -> Vec<&Run> {
        let runs = self.state.automation().runs();
        runs.ended().chain(runs.live()).collect()
    }

    fn told(&self, channel: &str) -> Vec<&str> {
        let messages = self.state.automation().outbox().list(MessageId(0));
        let of = messages.filter(|message| message.channel.as_str() == channel);
        of.map(|message| message.title.as_str()).collect()
    }

    fn last_reason(&self, title: &str) -> Option<Reason> {
        let decisions = self.state.automation().runs().decisions();
        let title = Title::parse(title).unwrap();
        decisions.rev().find(|one| one.title == title).map(|one| one.reason)
    }
}

fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

fn step(operation: Operation) -> PlannedStep {
    PlannedStep {
        sentence: Text::cut(operation.name()),
        operation,
        reading: Reading::Understood,
        timeout_ms: None,
        on_fail: OnFail::Stop,
    }
}

fn plan(operations: impl IntoIterator<Item = Operation>) -> Plan {
    Plan { table: 1, steps: operations.into_iter().map(step).collect() }
}

fn fix(condition: &str, plan: Plan) -> AutoFix {
    AutoFix {
        condition: Condition::parse(condition).unwrap(),
        action: Prose::default(),
        plan,
        approval: Approval::Auto,
        approval_ms: 30 * MINUTE,
        four_eyes: false,
        mode: Mode::Act,
        notify: [Title::parse("#ops-info").unwrap()].into(),
        max_runs: Vec::new(),
        cooldown: Cooldown::default(),
    }
}

fn promote_standby() -> AutoFix {
    let role = || Subject::Run;
    let operations =
        [Operation::PromoteStandby { role: role() }, Operation::ResumeStream { role: role() }];
    AutoFix {
        max_runs: [MaxRuns { count: 6, per_ms: 24 * HOUR, per_target: false }].into(),
        cooldown: Cooldown { ms: 15 * MINUTE, per_rule: false },
        ..fix("lease.expired == true", plan(operations))
    }
}

fn return_held() -> AutoFix {
    let operations = [
        Operation::ReturnHeld { worker: Subject::Run, within_ms: 0 },
        Operation::Check(Check::QueueOwns { worker: Subject::Run }),
    ];
    AutoFix {
        max_runs: [MaxRuns { count: 20, per_ms: 24 * HOUR, per_target: false }].into(),
        cooldown: Cooldown { ms: 5 * MINUTE, per_rule: false },
        ..fix("worker.leaving = true and worker.held_jobs > 0", plan(operations))
    }
}

fn runbook(operations: impl IntoIterator<Item = Operation>) -> Spec {
    Spec::Runbook(Runbook {
        trigger: None,
        tags: Vec::new(),
        steps: Prose::default(),
        plan: plan(operations),
        notify: Vec::new(),
    })
}

fn start(noun: Noun, title: &str, params: &[(&str, &str)]) -> StartRun {
    let params =
        params.iter().map(|(key, value)| Param { name: name(key), value: Text::cut(value) });
    StartRun {
        noun,
        title: Title::parse(title).unwrap(),
        params: params.collect(),
        origin: Origin::Hand,
        override_reason: None,
        reply_url: None,
    }
}

/// A role with a leader and two standbys, a stream with ten events of which four are dealt with.
fn with_leader() -> (World, SessionKey, SessionKey) {
    let mut world = World::new();
    let a = world.session("a", &[], 10_000);
    let b = world.session("b", &[], 10_000);
    let c = world.session("c", &[], 10_000);
    let events = alloc::vec![Bytes::from("e"); 10];
    world.ok(Command::Append(Append { stream: name("events"), events, expected: None }));
    world.acquire("billing", a);
    let token = world.state.roles().floor(&name("billing")).unwrap();
    let position = NewPosition { stream: name("events"), through: EventNumber(4) };
    world.ok(Command::Commit(Box::new(Commit {
        role: name("billing"),
        session: a,
        token,
        position: Some(position),
        jobs: Vec::new(),
        appends: Vec::new(),
    })));
    world.acquire("billing", b);
    world.acquire("billing", c);
    (world, a, b)
}
