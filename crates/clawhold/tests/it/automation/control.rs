//! What people decide: pause, disable, agree, say no, set limits aside.

use clawhold_client::api::automation::run::RunState;
use clawhold_client::api::job::{Claim, JobState};
use clawhold_client::api::session::OpenSession;

use super::scene::{RETURN_HELD, Scene, assert_in_order};
use crate::lead::until;
use crate::place::block_on;

const FIX: &str = "Return Held Jobs";
const STEPS: [&str; 2] = ["job.return_held", "check.queue_owns"];

#[test]
fn nothing_starts_of_itself_while_automation_is_paused_and_all_of_it_after() {
    let scene = Scene::with(&[RETURN_HELD]);
    let said = scene.paste("openclaw automation pause --for 2h --reason 'moving the hosts'");
    assert!(said.contains("moving the hosts"), "{said}");
    let id = leaving(&scene, "w-1");
    decided(&scene, "paused");
    assert_eq!((scene.runs(FIX).len(), scene.job(id).state), (0, JobState::Running));
    let said = scene.paste("openclaw automation status");
    assert!(said.contains("paused"), "{said}");
    scene.paste("openclaw automation resume");
    assert_in_order(&scene.ended(FIX), &STEPS);
    assert_eq!(scene.job(id).state, JobState::Returned);
}

#[test]
fn a_fix_that_is_disabled_does_nothing_until_it_is_enabled() {
    let scene = Scene::with(&[RETURN_HELD, "openclaw auto-fix disable 'Return Held Jobs'"]);
    let id = leaving(&scene, "w-1");
    assert_eq!((scene.runs(FIX).len(), scene.job(id).state), (0, JobState::Running));
    scene.paste("openclaw auto-fix enable 'Return Held Jobs'");
    assert_in_order(&scene.ended(FIX), &STEPS);
    assert_eq!(scene.job(id).state, JobState::Returned);
}

#[test]
fn limits_hold_for_a_run_by_hand_unless_they_are_set_aside_with_a_reason() {
    let scene = Scene::with(&[RETURN_HELD]);
    scene.paste("openclaw auto-fix edit 'Return Held Jobs' --max-runs '1 per day'");
    leaving(&scene, "w-1");
    scene.ended(FIX);
    let id = leaving(&scene, "w-2");
    decided(&scene, "budget");
    let run = "openclaw auto-fix run 'Return Held Jobs' --target w-2";
    let said = scene.shell(run);
    assert_ne!(said.code, 0, "{}", said.out);
    assert!(said.err.contains("1 of 1 runs used"), "{}", said.err);
    assert_eq!(scene.shell(&format!("{run} --override")).code, 2, "a reason is wanted");
    assert_eq!(scene.job(id).state, JobState::Running);
    scene.paste(&format!("{run} --override --reason 'the host goes down at noon'"));
    let run = scene.ended(FIX);
    assert_in_order(&run, &STEPS);
    assert_eq!(run.override_reason.as_deref(), Some("the host goes down at noon"));
    assert_eq!(scene.job(id).state, JobState::Returned);
}

#[test]
fn a_fix_that_asks_waits_for_a_yes_and_rests_after_a_no() {
    let scene = Scene::with(&[&RETURN_HELD.replace("--approval \"auto\"", "--approval \"ask\"")]);
    let id = leaving(&scene, "w-1");
    let asking = asking(&scene, 1);
    assert_eq!(scene.job(id).state, JobState::Running);
    let told = scene.inbox("#ops-alerts");
    assert_eq!(told.len(), 1, "{told:#?}");
    assert!(told[0].title.contains("asks to run for worker w-1"), "{told:#?}");
    let yes = told[0].lines.iter().find_map(|line| line.strip_prefix("Yes: ")).unwrap();
    assert_eq!(yes, format!("clawhold run approve {asking}"));
    scene.paste(yes);
    let run = scene.ended(FIX);
    assert_in_order(&run, &STEPS);
    assert_eq!((run.id, run.votes.len(), run.votes[0].agrees), (asking, 1, true));
    assert_eq!(scene.job(id).state, JobState::Returned);

    let id = leaving(&scene, "w-2");
    let asking = self::asking(&scene, 2);
    scene.paste(&format!("openclaw run reject {asking} --reason 'not before noon'"));
    let run = scene.ended(FIX);
    assert_eq!((run.id, run.state), (asking, RunState::Rejected));
    assert_eq!(run.votes[0].reason, "not before noon");
    assert_eq!(scene.job(id).state, JobState::Running, "nothing was done");
    let said = scene.shell(&format!("openclaw run approve {asking}"));
    assert_ne!(said.code, 0, "a no stays a no: {}", said.out);
    assert_eq!(scene.runs(FIX).len(), 2);
}

/// Waits until a run asks, and returns its number.
fn asking(scene: &Scene, count: usize) -> u64 {
    until("a run to ask", || {
        let runs = scene.runs(FIX);
        let run = runs.first().filter(|run| run.state == RunState::Asking)?;
        (runs.len() == count).then_some(run.id)
    })
}

/// Waits until the history of the fix says that something keeps it from running.
fn decided(scene: &Scene, reason: &str) {
    until(reason, || {
        let said = scene.paste("openclaw auto-fix history 'Return Held Jobs'");
        said.contains(reason).then_some(())
    });
}

/// Opens a worker that holds a job and is told to leave; returns the job.
fn leaving(scene: &Scene, label: &str) -> u64 {
    let client = scene.client();
    let open = OpenSession {
        label: label.to_owned(),
        ttl_ms: Some(600_000),
        queues: vec![label.to_owned()],
        ..OpenSession::default()
    };
    let session = block_on(client.open_session(&open)).unwrap().reply.session;
    scene.paste(&format!("openclaw job add {label} --payload null"));
    let claim = Claim { session, queues: vec![label.to_owned()], max: None, wait_ms: None };
    let id = block_on(client.claim(&claim)).unwrap().reply.jobs[0].id;
    scene.paste(&format!("openclaw worker drain {label} --deadline 10m --no-wait"));
    id
}
