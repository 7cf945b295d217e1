//! Fixes, and what keeps them from running.

use super::*;

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
fn nothing_is_promoted_before_one_ttl_after_a_takeover_unless_the_lease_is_younger() {
    let (mut world, _, _) = with_leader();
    world.define("Promote Standby", Spec::AutoFix(promote_standby()));
    // Three takeovers in which the holder was never heard of use up its grace.
    for epoch in 2..6 {
        world.now += 100;
        world.take_over(epoch);
    }
    world.lapse("billing");
    assert_eq!(world.last_reason("Promote Standby"), Some(Reason::Settling));
    assert_eq!(world.holder("billing"), None);
    world.pass(10_000);
    assert!(world.holder("billing").is_some(), "it is looked at again once a ttl has passed");
    // A lease that was granted after the takeover could be renewed all along.
    world.take_over(6);
    let role = name("search");
    let (first, second) = (world.session("x", &[], 60_000), world.session("y", &[], 60_000));
    for session in [first, second] {
        let (role, wait) = (role.clone(), true);
        let ttl_ms = Some(500);
        world.ok(Command::Acquire(Acquire { role, session, ttl_ms, wait, stream: None }));
    }
    world.lapse("search");
    assert_eq!(world.holder("search"), Some(second.id));
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
fn of_two_limits_the_one_that_holds_longer_is_named() {
    let (mut world, _, _) = with_leader();
    let limit = MaxRuns { count: 1, per_ms: 24 * HOUR, per_target: false };
    let cooldown = Cooldown { ms: MINUTE, per_rule: false };
    let fix = AutoFix { max_runs: [limit].into(), cooldown, ..promote_standby() };
    world.define("Promote Standby", Spec::AutoFix(fix));
    world.lapse("billing");
    world.lapse("billing");
    assert_eq!(world.last_reason("Promote Standby"), Some(Reason::Budget));
    let told = world.told("#ops-info").len();
    world.pass(2 * MINUTE);
    assert_eq!(world.told("#ops-info").len(), told, "it was said already");
}

#[test]
fn a_run_that_leaves_its_condition_as_it_is_does_not_follow_itself_at_once() {
    let mut world = World::new();
    let tell = Operation::Notify { channel: None, text: Some(Text::cut("the queue is long")) };
    world.define("Tell", Spec::AutoFix(fix("queue.depth > 0", plan([tell]))));
    world.enqueue("mail", 1);
    for _ in 0..3_600 {
        world.pass(1_000);
    }
    // After 1, 2, 4, 8, 16 and 32 minutes.
    assert_eq!(world.runs().len(), 6);
    assert_eq!(world.last_reason("Tell"), Some(Reason::Cooldown));
}

#[test]
fn nobody_is_promoted_by_force_where_nobody_stands_by_and_it_costs_no_run() {
    let mut world = World::new();
    let a = world.session("a", &[], 10_000);
    world.acquire("billing", a);
    world.define("Promote Standby", Spec::AutoFix(promote_standby()));
    world.lapse("billing");
    let mut by_hand = start(Noun::AutoFix, "Promote Standby", &[("target", "billing")]);
    by_hand.override_reason = Some(Text::cut("now"));
    let refused = world.ask(Command::Automate(Box::new(Automate::StartRun(by_hand))));
    assert!(matches!(refused, Err(Refusal::Blocked { reason: Reason::NoStandby, .. })));
    let told = world.state.automation().outbox().list(MessageId(0)).next().unwrap();
    let lines: Vec<&str> = told.lines.iter().map(Text::as_str).collect();
    assert!(
        lines.contains(&"Start a standby: clawhold lead billing --standby -- CMD"),
        "{lines:?}"
    );
    let b = world.session("b", &[], 10_000);
    assert!(matches!(world.acquire("billing", b), Answer::Granted(_)));
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
    assert_eq!(
        world.told("#ops-info").len(),
        1,
        "one message for all: {:?}",
        world.told("#ops-info")
    );
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
fn a_backtest_counts_what_limits_would_have_allowed_and_changes_nothing() {
    let mut world = World::new();
    let (mut entries, start) = (Vec::new(), world.state.clone());
    let w = world.session("w", &["mail"], 10 * HOUR);
    let record = |world: &mut World, entries: &mut Vec<_>, command: Command| {
        world.ok(command.clone());
        let request = Request { id: None, actor: None, command };
        entries.push((world.state.last(), request));
    };
    let from = world.state.clone();
    for _ in 0..9 {
        world.now += 20 * MINUTE;
        let drain = DrainWorker { session: w.id, deadline_ms: HOUR, reason: Text::default() };
        record(&mut world, &mut entries, Command::DrainWorker(drain));
        let go_on = crate::command::ResumeWorker { session: w.id };
        record(&mut world, &mut entries, Command::ResumeWorker(go_on));
    }
    let limit = MaxRuns { count: 6, per_ms: 24 * HOUR, per_target: false };
    let tried = fix("worker.leaving or worker.state == 'drained'", Plan::default());
    let cooldown = Cooldown { ms: 5 * MINUTE, per_rule: false };
    let tried = AutoFix { max_runs: [limit].into(), cooldown, ..tried };
    let title = Title::parse("Try").unwrap();
    let test = backtest(from, &title, &tried, entries.into_iter());
    assert_eq!(test.decided.get(&Reason::Started), Some(&6), "{:?}", test.decided);
    // Three times that it held, and once more right after the sixth run.
    assert_eq!(test.decided.get(&Reason::Budget), Some(&4));
    assert!(test.touched > 0 && test.entries == 18);
    assert!(world.runs().is_empty());
    let none = backtest(start, &title, &tried, core::iter::empty());
    assert_eq!((none.touched, none.decided.len()), (0, 0));
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
        "Run now: clawhold auto-fix run \"Promote Standby\" --target billing --override",
        "More: clawhold auto-fix history",
    ] {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
}

#[test]
fn a_lapse_just_after_a_takeover_settles_first_unless_the_lease_was_granted_since() {
    let mut world = World::new();
    world.define("Promote Standby", Spec::AutoFix(promote_standby()));
    let (a, b) = (world.session("a", &[], 60_000), world.session("b", &[], 60_000));
    let acquire = |session| {
        let role = name("billing");
        Command::Acquire(Acquire { role, session, ttl_ms: Some(1_000), wait: true, stream: None })
    };
    world.ok(acquire(a));
    world.ok(acquire(b));
    world.lapse("billing");
    assert_eq!(world.holder("billing"), Some(b.id), "a second after the first server began");

    world.ok(acquire(a));
    world.pass(HOUR);
    world.ok(Command::TakeOver(TakeOver {
        epoch: Epoch(2),
        advertise: Text::default(),
        hold_ms: 3_000,
        nonce: 2,
        present: true,
        former_gone: true,
    }));
    world.lapse("billing");
    assert_eq!(world.holder("billing"), None);
    assert_eq!(world.last_reason("Promote Standby"), Some(Reason::Settling));
    world.pass(crate::limits::TTL_MS_DEFAULT);
    assert_eq!(world.holder("billing"), Some(a.id));
}
