//! Runbooks: what they are about, steps that wait, steps that others do.

use super::*;

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
fn runs_that_change_something_on_one_target_never_overlap() {
    let mut world = World::new();
    let queue = || Subject::Run;
    let pauses = [
        Operation::PauseQueue { queue: queue() },
        Operation::Confirm,
        Operation::ResumeQueue { queue: queue() },
    ];
    world.define("Pause", runbook(pauses));
    world.enqueue("mail", 1);
    world.enqueue("pics", 1);
    let begin = |queue| {
        Command::Automate(Box::new(Automate::StartRun(start(
            Noun::Runbook,
            "Pause",
            &[("queue", queue)],
        ))))
    };
    world.ok(begin("mail"));
    let twice = world.ask(begin("mail"));
    assert!(matches!(twice, Err(Refusal::Blocked { reason: Reason::TargetBusy, .. })), "{twice:?}");
    world.ok(begin("pics"));
    assert_eq!(world.runs().len(), 2);
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
fn a_step_that_waits_for_time_goes_on_when_it_is_over_and_no_later() {
    let mut world = World::new();
    let worker = world.session("w-1", &["mail"], 10_000);
    world.enqueue("mail", 2);
    world.claim(worker, "mail", 2);
    let steps = [
        Operation::WaitFor { ms: 3_000 },
        Operation::ReturnHeld { worker: Subject::Run, within_ms: 5_000 },
    ];
    world.define("Give Back", runbook(steps));
    let param = [("worker", "w-1")];
    world.automate(Automate::StartRun(start(Noun::Runbook, "Give Back", &param)));
    world.pass(2_999);
    assert_eq!(world.runs()[0].steps[0].state, StepState::Running);
    world.pass(1);
    assert_eq!(world.runs()[0].steps[1].state, StepState::Running);
    world.pass(4_999);
    assert_eq!(world.runs()[0].returned.len(), 2);
    assert_eq!(world.runs()[0].steps[1].state, StepState::Running, "the worker may still finish");
    world.pass(1);
    assert_eq!(world.runs()[0].state, RunState::Succeeded);
}
