//! Fixes and runbooks on real roles, workers and jobs.

use alloc::borrow::ToOwned;
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
        let take_over = TakeOver {
            epoch: Epoch(1),
            advertise: Text::default(),
            hold_ms: 3_000,
            nonce: 1,
            present: true,
            former_gone: true,
        };
        world.ok(Command::TakeOver(take_over));
        world
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

#[test]
fn a_lapse_is_answered_by_the_fix_in_the_same_entry() {
    let (mut world, _, b) = with_leader();
    world.define("Promote Standby", Spec::AutoFix(promote_standby()));
    let before = world.state.roles().floor(&name("billing")).unwrap();
    world.lapse("billing");
    assert_eq!(world.holder("billing"), Some(b.id));
    assert!(world.state.roles().floor(&name("billing")).unwrap() > before);
    let runs = world.runs();
    assert_eq!(runs.len(), 1);
    assert_eq!(runs[0].state, RunState::Succeeded);
    assert_eq!(runs[0].resumed, Some(EventNumber(4)));
    assert!(runs[0].steps[1].output[0].as_str().contains("after event 4 of events, 6 to go"));
    assert_eq!(world.told("#ops-info").len(), 1, "{:?}", world.told("#ops-info"));
}

#[test]
fn a_second_lapse_in_the_cooldown_leaves_the_role_vacant_and_says_so_once() {
    let (mut world, _, _) = with_leader();
    world.define("Promote Standby", Spec::AutoFix(promote_standby()));
    world.lapse("billing");
    world.pass(MINUTE);
    world.lapse("billing");
    assert_eq!(world.holder("billing"), None);
    assert_eq!(world.last_reason("Promote Standby"), Some(Reason::Cooldown));
    let told = world.told("#ops-info");
    assert!(told.contains(&"Promote Standby did not run for role billing."), "{told:?}");
    let count = told.len();
    world.pass(MINUTE);
    assert_eq!(world.told("#ops-info").len(), count);
    // The command that promotes now, and works.
    let mut by_hand = start(Noun::AutoFix, "Promote Standby", &[("target", "billing")]);
    let blocked = world.ask(Command::Automate(Box::new(Automate::StartRun(by_hand.clone()))));
    assert!(
        matches!(blocked, Err(Refusal::Blocked { reason: Reason::Cooldown, .. })),
        "{blocked:?}"
    );
    by_hand.override_reason = Some(Text::cut("it is needed now"));
    world.automate(Automate::StartRun(by_hand));
    assert!(world.holder("billing").is_some());
    assert_eq!(world.runs().len(), 2);
}

#[test]
fn a_condition_that_still_holds_when_the_cooldown_ends_is_served_then_once() {
    let (mut world, _, _) = with_leader();
    world.define("Promote Standby", Spec::AutoFix(promote_standby()));
    world.lapse("billing");
    world.lapse("billing");
    world.pass(14 * MINUTE);
    assert_eq!(world.holder("billing"), None);
    world.pass(2 * MINUTE);
    assert!(world.holder("billing").is_some());
    assert_eq!(world.runs().len(), 2);
}

#[test]
fn without_a_fix_a_lapse_promotes_by_itself() {
    let (mut world, _, b) = with_leader();
    world.lapse("billing");
    assert_eq!(world.holder("billing"), Some(b.id));
}

#[test]
fn under_native_a_lapse_never_waits_for_a_fix() {
    let (mut world, _, b) = with_leader();
    let (role, promotion) = (name("billing"), Some(Promotion::Native));
    world.ok(Command::SetRole(SetRole { role, ttl_ms: None, lag_events_max: None, promotion }));
    world.define("Promote Standby", Spec::AutoFix(promote_standby()));
    world.lapse("billing");
    assert_eq!(world.holder("billing"), Some(b.id));
    assert!(world.runs().is_empty());
}

#[test]
fn under_policy_a_lapse_without_a_fix_leaves_the_role_vacant() {
    let (mut world, _, b) = with_leader();
    let (role, promotion) = (name("billing"), Some(Promotion::Policy));
    world.ok(Command::SetRole(SetRole { role, ttl_ms: None, lag_events_max: None, promotion }));
    world.lapse("billing");
    assert_eq!(world.holder("billing"), None);
    // A standby that asks again does not slip past the policy.
    assert!(matches!(world.acquire("billing", b), Answer::Withheld { .. }));
    world.define("Promote Standby", Spec::AutoFix(promote_standby()));
    assert!(world.holder("billing").is_some(), "a fix that is added serves what holds already");
}

#[test]
fn a_fix_for_another_role_leaves_promotion_to_the_lapse() {
    let (mut world, _, b) = with_leader();
    let other = fix("lease.expired and lease.role == 'search'", promote_standby().plan);
    world.define("Promote Search", Spec::AutoFix(other));
    world.lapse("billing");
    assert_eq!(world.holder("billing"), Some(b.id));
    assert!(world.runs().is_empty());
}

#[test]
fn a_fix_that_observes_or_is_paused_keeps_nobody_from_leading() {
    for pause in [false, true] {
        let (mut world, _, b) = with_leader();
        let mode = if pause { Mode::Act } else { Mode::Observe };
        world.define("Promote Standby", Spec::AutoFix(AutoFix { mode, ..promote_standby() }));
        if pause {
            let reason = Text::cut("maintenance");
            world.automate(Automate::PauseAutomation(PauseAutomation { for_ms: None, reason }));
        }
        world.lapse("billing");
        assert_eq!(world.holder("billing"), Some(b.id));
    }
}

#[test]
fn a_role_without_standby_waits_for_one_at_no_cost() {
    let mut world = World::new();
    let a = world.session("a", &[], 10_000);
    world.acquire("billing", a);
    world.define("Promote Standby", Spec::AutoFix(promote_standby()));
    world.lapse("billing");
    assert_eq!(world.last_reason("Promote Standby"), Some(Reason::NoStandby));
    let b = world.session("b", &[], 10_000);
    assert!(matches!(world.acquire("billing", b), Answer::Granted(_)));
    assert_eq!(world.runs().len(), 1);
}

#[test]
fn a_lost_session_is_a_lapse_too() {
    let (mut world, a, b) = with_leader();
    world.define("Promote Standby", Spec::AutoFix(promote_standby()));
    world.now += 60_000;
    world.ok(Command::ExpireSession(ExpireSession { session: a.id }));
    assert_eq!(world.holder("billing"), Some(b.id));
    assert_eq!(world.runs().len(), 1);
}

#[test]
fn a_leaving_worker_gives_back_twelve_jobs_in_one_run() {
    let mut world = World::new();
    world.define("Return Held Jobs", Spec::AutoFix(return_held()));
    let w = world.session("w-1", &["mail"], 10_000);
    world.enqueue("mail", 12);
    assert_eq!(world.claim(w, "mail", 12), 12);
    world.enqueue("mail", 1);
    let drain = DrainWorker { session: w.id, deadline_ms: 600_000, reason: Text::default() };
    world.ok(Command::DrainWorker(drain));
    assert_eq!(world.state.jobs().held_count(w.id), 0);
    let runs = world.runs();
    assert_eq!(runs.len(), 1);
    assert_eq!(runs[0].state, RunState::Succeeded, "{:?}", runs[0].steps);
    assert_eq!(runs[0].returned.len(), 12);
    let other = world.session("w-2", &["mail"], 10_000);
    assert_eq!(world.claim(other, "mail", 13), 13);
    let first = world.state.jobs().held(other.id).next().unwrap().id;
    assert_eq!(first.0, 1, "what came back goes first");
}

#[test]
fn a_rolling_deploy_of_thirty_workers_is_served_to_the_last_within_the_limits() {
    let mut world = World::new();
    world.define("Return Held Jobs", Spec::AutoFix(return_held()));
    world.session("stays", &["mail"], 10 * HOUR);
    let mut blocked = 0;
    for at in 0..30 {
        let w = world.session(&format!("w-{at}"), &["mail"], 10 * HOUR);
        world.enqueue("mail", 2);
        assert_eq!(world.claim(w, "mail", 2), 2);
        let drain = DrainWorker { session: w.id, deadline_ms: 600_000, reason: Text::default() };
        world.ok(Command::DrainWorker(drain));
        let held = world.state.jobs().held_count(w.id);
        assert_eq!(held, if at < 20 { 0 } else { 2 }, "worker {at}");
        blocked += u64::from(held > 0);
        world.pass(MINUTE);
    }
    assert_eq!(blocked, 10);
    assert_eq!(world.last_reason("Return Held Jobs"), Some(Reason::Budget));
    let told = world.told("#ops-info");
    let told = told.iter().filter(|title| title.contains("did not run for worker")).count();
    assert_eq!(told, 10);
    // The drain's own deadline returns what the fix's budget does not cover.
    world.pass(11 * MINUTE);
    let held = world.state.sessions().list(None).map(|one| world.state.jobs().held_count(one.id));
    assert_eq!(held.sum::<u64>(), 0);
}

#[test]
fn a_budget_is_a_rolling_day_and_names_when_it_frees() {
    let mut world = World::new();
    let cooldown = Cooldown::default();
    let limit = MaxRuns { count: 6, per_ms: 24 * HOUR, per_target: false };
    let max_runs = [limit].into();
    world.define("Promote", Spec::AutoFix(AutoFix { cooldown, max_runs, ..promote_standby() }));
    let sessions: Vec<_> =
        (0..9).map(|n| world.session(&format!("s{n}"), &[], 24 * HOUR)).collect();
    for session in sessions {
        world.acquire("billing", session);
    }
    for _ in 0..6 {
        world.pass(10 * MINUTE);
        world.lapse("billing");
        assert!(world.holder("billing").is_some());
    }
    world.lapse("billing");
    assert_eq!(world.holder("billing"), None);
    let decision = world.state.automation().runs().decisions().next_back().unwrap().clone();
    assert_eq!(decision.reason, Reason::Budget);
    let first = world.state.automation().runs().starts(&decision.title).next().unwrap();
    assert_eq!(decision.free_at, Some(first.after(24 * HOUR)));
    // It is served at that moment, whatever the calendar says.
    world.pass(22 * HOUR);
    assert_eq!(world.holder("billing"), None);
    world.now = first.0 + 24 * HOUR;
    world.ok(Command::Tick);
    assert!(world.holder("billing").is_some());
}

#[test]
fn an_approval_starts_the_run_once_and_is_void_when_the_condition_clears() {
    let mut world = World::new();
    let approval = Approval::Ask { count: 1, group: None };
    world.define("Return", Spec::AutoFix(AutoFix { approval, ..return_held() }));
    let w = world.session("w-1", &["mail"], HOUR);
    world.enqueue("mail", 3);
    world.claim(w, "mail", 3);
    let drain = DrainWorker { session: w.id, deadline_ms: 600_000, reason: Text::default() };
    world.ok(Command::DrainWorker(drain));
    let run = world.runs()[0].id;
    assert_eq!(world.runs()[0].state, RunState::Asking);
    assert_eq!(world.state.jobs().held_count(w.id), 3);
    let yes = |agrees| {
        Command::Automate(Box::new(Automate::Decide(Decide {
            run,
            agrees,
            reason: Text::default(),
            plan_hash: None,
        })))
    };
    world.ok(yes(true));
    assert_eq!(world.state.jobs().held_count(w.id), 0);
    let late = world.ask_as("eli", yes(true));
    assert!(
        matches!(late, Err(Refusal::AlreadyDecided { ref by, agreed: true, .. }) if by.as_str() == "dana")
    );
    // The next one clears by itself before anybody answers.
    let v = world.session("w-2", &["mail"], HOUR);
    world.claim(v, "mail", 3);
    let drain = DrainWorker { session: v.id, deadline_ms: 20_000, reason: Text::default() };
    world.ok(Command::DrainWorker(drain));
    assert_eq!(world.runs()[1].state, RunState::Asking);
    world.pass(21_000);
    assert_eq!(world.runs()[1].state, RunState::Withdrawn);
}

#[test]
fn an_approval_is_for_one_version_and_expires() {
    let mut world = World::new();
    let approval = Approval::Ask { count: 2, group: None };
    let asks = AutoFix { approval, ..return_held() };
    world.define("Return", Spec::AutoFix(asks.clone()));
    let w = world.session("w-1", &["mail"], 10 * HOUR);
    world.enqueue("mail", 3);
    world.claim(w, "mail", 3);
    let drain = DrainWorker { session: w.id, deadline_ms: 9 * HOUR, reason: Text::default() };
    world.ok(Command::DrainWorker(drain));
    assert_eq!(world.runs().len(), 1);
    world.define("Return", Spec::AutoFix(AutoFix { four_eyes: true, ..asks }));
    let states: Vec<_> = world.runs().iter().map(|run| run.state).collect();
    assert_eq!(states, [RunState::Withdrawn, RunState::Asking]);
    let run = world.runs()[1].id;
    let yes = Decide { run, agrees: true, reason: Text::default(), plan_hash: None };
    let yes = Command::Automate(Box::new(Automate::Decide(yes)));
    let own = world.ask_as("dana", yes.clone());
    assert!(matches!(own, Err(Refusal::NotAllowed { .. })), "the last editor may not: {own:?}");
    world.ask_as("eli", yes.clone()).unwrap();
    let twice = world.ask_as("eli", yes);
    assert!(matches!(twice, Err(Refusal::NotAllowed { .. })));
    assert_eq!(world.state.jobs().held_count(w.id), 3, "one of two is not enough");
    world.pass(31 * MINUTE);
    assert_eq!(world.runs()[1].state, RunState::Expired);
    assert_eq!(world.state.jobs().held_count(w.id), 3);
}

#[test]
fn three_failures_in_a_row_trip_a_fix_on_that_target_until_it_is_reset() {
    let mut world = World::new();
    let fails =
        fix("queue.depth > 0", plan([Operation::RetryJob { job: Subject::Named(Text::cut("1")) }]));
    world.define(
        "Retry",
        Spec::AutoFix(AutoFix { cooldown: Cooldown { ms: MINUTE, per_rule: false }, ..fails }),
    );
    world.enqueue("mail", 1);
    for _ in 0..6 {
        world.pass(2 * MINUTE);
    }
    assert_eq!(world.runs().len(), 3);
    assert!(world.runs().iter().all(|run| run.state == RunState::Failed));
    assert_eq!(world.last_reason("Retry"), Some(Reason::Tripped));
    let title = Title::parse("Retry").unwrap();
    world.automate(Automate::ResetFix(ResetFix { title, target: Some(Text::cut("mail")) }));
    assert_eq!(world.runs().len(), 4);
}

#[test]
fn a_fix_that_brings_its_own_condition_about_is_cut_off() {
    let mut world = World::new();
    let queue = || Subject::Run;
    let pause = fix("queue.paused == false", plan([Operation::PauseQueue { queue: queue() }]));
    let go_on = fix("queue.paused == true", plan([Operation::ResumeQueue { queue: queue() }]));
    world.define("A", Spec::AutoFix(pause));
    world.define("B", Spec::AutoFix(go_on));
    world.enqueue("mail", 1);
    let runs = world.runs().len();
    assert!((2..=8).contains(&runs), "{runs} runs in one entry");
}

#[test]
fn many_targets_at_once_stop_a_disruptive_fix_before_the_first() {
    let mut world = World::new();
    let stop = fix("worker.held_jobs == 0", plan([Operation::StopWorker { worker: Subject::Run }]));
    for n in 0..10 {
        world.session(&format!("w-{n}"), &["mail"], HOUR);
    }
    world.define("Stop idle", Spec::AutoFix(stop));
    assert!(world.runs().is_empty());
    assert_eq!(world.last_reason("Stop idle"), Some(Reason::FleetBreaker));
}

#[test]
fn a_rebalance_asks_which_worker_unless_one_leaves() {
    let mut world = World::new();
    let worker = || Subject::Run;
    world.define(
        "Rebalance Workers",
        runbook([
            Operation::StopIntake { worker: worker() },
            Operation::ReturnHeld { worker: worker(), within_ms: 0 },
            Operation::PlaceReturned { queue: Subject::Run },
            Operation::Check(Check::OneOwner { queue: Subject::Run }),
            Operation::AdmitNew { queue: Subject::Run },
        ]),
    );
    let one = world.session("w-1", &["mail"], HOUR);
    let two = world.session("w-2", &["mail"], HOUR);
    world.enqueue("mail", 4);
    world.claim(one, "mail", 4);
    let which = world.ask(Command::Automate(Box::new(Automate::StartRun(start(
        Noun::Runbook,
        "Rebalance Workers",
        &[],
    )))));
    let Err(Refusal::NeedsParam { param, choices }) = which else { panic!("{which:?}") };
    assert_eq!((param.as_str(), choices.len()), ("worker", 2));
    world.automate(Automate::StartRun(start(
        Noun::Runbook,
        "Rebalance Workers",
        &[("worker", "w-1")],
    )));
    let states = |world: &World| -> Vec<StepState> {
        world.runs()[0].steps.iter().map(|step| step.state).collect()
    };
    assert_eq!(states(&world)[..3], [StepState::Done, StepState::Done, StepState::Running]);
    world.enqueue("mail", 1);
    assert_eq!(world.claim(two, "mail", 4), 4);
    let held = world.state.jobs().held(two.id).map(|job| job.id.0);
    assert_eq!(held.collect::<Vec<_>>(), [1, 2, 3, 4], "new work waits behind what came back");
    assert_eq!(states(&world)[2..4], [StepState::Done, StepState::Running]);
    assert_eq!(world.claim(two, "mail", 10), 1);
    let run = world.runs()[0].id;
    let questions = world.state.questions();
    assert_eq!(questions.len(), 1);
    let seen = Seen::Owners { jobs: 5, mismatches: Vec::new(), unheard: 0 };
    world.automate(Automate::Witness(Witness { run, step: 3, seen }));
    assert_eq!(world.runs()[0].state, RunState::Succeeded);
}

#[test]
fn jobs_without_one_owner_keep_new_work_out() {
    let mut world = World::new();
    world.define(
        "Check",
        runbook([
            Operation::Check(Check::OneOwner { queue: Subject::Run }),
            Operation::AdmitNew { queue: Subject::Run },
        ]),
    );
    world.enqueue("mail", 1);
    world.automate(Automate::StartRun(start(Noun::Runbook, "Check", &[])));
    let run = world.runs()[0].id;
    let mismatches = [Text::cut("job without owner: job 1")].into();
    world.automate(Automate::Witness(Witness {
        run,
        step: 0,
        seen: Seen::Owners { jobs: 1, mismatches, unheard: 0 },
    }));
    assert_eq!(world.runs()[0].state, RunState::Running);
    world.pass(31_000);
    assert_eq!(world.runs()[0].state, RunState::Failed);
    assert_eq!(world.runs()[0].steps[1].state, StepState::Skipped);
}

#[test]
fn a_hand_off_waits_for_the_lapse_and_calls_a_lost_leader_unknown() {
    let (mut world, a, b) = with_leader();
    let role = || Subject::Run;
    world.define(
        "Hand Off Leadership",
        runbook([
            Operation::Check(Check::NotRenewed { role: role() }),
            Operation::Acquire { role: role(), worker: None },
            Operation::ResumeStream { role: role() },
            Operation::Check(Check::StoppedActing { role: role() }),
        ]),
    );
    world.automate(Automate::StartRun(start(Noun::Runbook, "Hand Off Leadership", &[])));
    let run = world.runs()[0].id;
    let token = world.state.roles().floor(&name("billing")).unwrap();
    let renewed = Seen::Lease { token, renewed_ago_ms: Some(100) };
    world.automate(Automate::Witness(Witness { run, step: 0, seen: renewed }));
    assert_eq!(world.runs()[0].steps[0].state, StepState::Running);
    let silent = Seen::Lease { token, renewed_ago_ms: Some(9_000) };
    world.automate(Automate::Witness(Witness { run, step: 0, seen: silent }));
    assert_eq!(world.runs()[0].steps[1].state, StepState::Running, "the lease has not lapsed");
    world.now += 20_000;
    world.ok(Command::ExpireSession(ExpireSession { session: a.id }));
    assert_eq!(world.holder("billing"), Some(b.id));
    let run = world.runs()[0];
    assert_eq!(run.state, RunState::Unknown, "{:?}", run.steps);
    let said = run.steps[3].output.last().unwrap().as_str().to_owned();
    assert!(said.contains("whether its process still acts is unknown"), "{said}");
}

#[test]
fn a_step_for_a_person_waits_and_a_run_can_be_called_off() {
    let mut world = World::new();
    world.define("Ask", runbook([Operation::Confirm, Operation::Confirm]));
    world.automate(Automate::StartRun(start(Noun::Runbook, "Ask", &[])));
    let run = world.runs()[0].id;
    let done = Decide { run, agrees: true, reason: Text::cut("looked"), plan_hash: None };
    world.automate(Automate::Decide(done));
    assert_eq!(world.runs()[0].cursor, 1);
    world.automate(Automate::CancelRun(CancelRun { run, reason: Text::cut("no need") }));
    assert_eq!(world.runs()[0].state, RunState::Cancelled);
    let again =
        world.ask(Command::Automate(Box::new(Automate::ResumeRun(crate::command::ResumeRun {
            run,
            from: None,
        }))));
    assert!(again.is_ok());
    assert_eq!(world.runs()[0].state, RunState::Running);
    assert_eq!(world.runs()[0].cursor, 1, "what was done is not done again");
}

#[test]
fn a_job_for_an_agent_is_evidence_and_decides_nothing() {
    let mut world = World::new();
    let agent = Title::parse("DevOps Monitor").unwrap();
    world.define("DevOps Monitor", Spec::Agent(crate::catalog::Agent::default()));
    world.define("Look", runbook([Operation::AgentJob { agent: agent.clone() }]));
    world.automate(Automate::StartRun(start(Noun::Runbook, "Look", &[])));
    let queue = agent_queue(&agent);
    assert_eq!(queue.as_str(), "agent.devops-monitor");
    let worker = world.session("m", &[queue.as_str()], HOUR);
    assert_eq!(world.claim(worker, queue.as_str(), 1), 1);
    let job = world.state.jobs().held(worker.id).next().unwrap().clone();
    let outcome = crate::command::RunOutcome::Completed { result: Bytes::from("approved, run it") };
    let settlement = crate::command::Settlement { job: job.id, claim: job.claim, outcome };
    world.ok(Command::Settle(crate::command::Settle {
        session: worker,
        settlements: [settlement].into(),
        next: None,
    }));
    let run = world.runs()[0];
    assert_eq!(run.state, RunState::Succeeded);
    assert!(run.steps[0].output.last().unwrap().as_str().contains("approved, run it"));
    assert_eq!(world.state.jobs().job(job.id).unwrap().state, JobState::Completed);
}

#[test]
fn a_disabled_fix_does_nothing_and_an_enabled_one_serves_what_holds() {
    let (mut world, _, _) = with_leader();
    world.define("Promote Standby", Spec::AutoFix(promote_standby()));
    let title = Title::parse("Promote Standby").unwrap();
    let turn = |enabled| {
        Automate::EnableDefinition(EnableDefinition {
            noun: Noun::AutoFix,
            title: title.clone(),
            enabled,
        })
    };
    world.automate(turn(false));
    world.lapse("billing");
    assert!(world.holder("billing").is_some(), "the lapse itself promotes");
    assert!(world.runs().is_empty());
    world.automate(turn(true));
    assert!(world.runs().is_empty());
}

#[test]
fn a_channel_is_told_in_the_words_of_the_template() {
    let (mut world, _, _) = with_leader();
    world.define("#ops-info", Spec::Channel(Channel::default()));
    world.define("Promote Standby", Spec::AutoFix(promote_standby()));
    world.lapse("billing");
    world.lapse("billing");
    let outbox = world.state.automation().outbox();
    let message = outbox.list(MessageId(0)).find(|one| one.title.as_str().contains("did not run"));
    let lines: Vec<&str> = message.unwrap().lines.iter().map(Text::as_str).collect();
    let text: String = lines.join("\n");
    for part in [
        "Condition holds since",
        "lease.expired = true",
        "Blocked (cooldown)",
        "Left as is: billing has no leader",
        "Run now: openclaw auto-fix run \"Promote Standby\" --target billing --override",
        "More: openclaw auto-fix history",
    ] {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
}
