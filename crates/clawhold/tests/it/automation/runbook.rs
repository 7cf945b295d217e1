//! The runbooks of the seed commands, from the shell to the end.

use std::time::Duration;

use clawhold_client::api::automation::run::{RunState, StepState};
use clawhold_client::api::job::JobState;
use clawhold_client::api::worker::WorkerQuery;
use rustix::process::Signal;

use super::scene::{HAND_OFF, LEADER, LONG_JOB, Process, REBALANCE, STANDBY, Scene};
use super::scene::{assert_in_order, token_of};
use crate::lead::until;
use crate::place::{block_on, wait};

/// The steps of the runbook that rebalances.
pub(super) const REBALANCING: [&str; 5] = [
    "worker.stop_intake",
    "job.return_held",
    "job.place_returned",
    "check.one_owner",
    "queue.admit_new",
];

/// What a job does that does not heed that it should stop.
const STUBBORN: &str = "echo \"$CLAWHOLD_JOB\" >> \"$1\"\nwhile :; do sleep 1; done\n";

#[test]
fn a_rebalance_moves_every_job_of_the_worker_that_is_named_and_admits_new_ones_last() {
    let scene = Scene::with(&[REBALANCE]);
    let ids = scene.add(4);
    let mut leaving = Process::work(&scene, "w-3", "--concurrency 4 --ttl 1s", LONG_JOB);
    leaving.wrote_lines(4);
    let newer = scene.add(2);
    let staying = Process::work(&scene, "w-2", "--concurrency 3 --ttl 1s", LONG_JOB);
    staying.wrote_lines(2);
    // One place is free, so the rebalance waits for the next worker to place the other three.
    let run = "openclaw run \"/runbook rebalance\" --param worker=w-3 --follow";
    let (said, helping) = std::thread::scope(|scope| {
        let following = scope.spawn(|| scene.paste(run));
        staying.wrote_lines(3);
        until("it to wait for the rest", || {
            let run = scene.runs("Rebalance Workers").into_iter().next()?;
            (run.steps[2].state == StepState::Running).then_some(())
        });
        let late = scene.add(1);
        let queue = block_on(scene.client().queue("q")).unwrap();
        assert!(queue.gate.is_some(), "new jobs wait behind the returned ones: {queue:?}");
        let helping = Process::work(&scene, "w-4", "--concurrency 10 --ttl 1s", LONG_JOB);
        helping.wrote_lines(4);
        let newest = scene.job(late[0]).since;
        assert!(ids.iter().all(|id| scene.job(*id).since <= newest), "the new one came last");
        (following.join().unwrap(), helping)
    });
    let run = scene.ended("Rebalance Workers");
    assert_in_order(&run, &REBALANCING);
    assert_eq!(run.returned, ids);
    for (number, step) in REBALANCING.iter().enumerate() {
        assert!(said.contains(&format!("{} {step}", number + 1)), "{said}");
    }
    assert!(said.contains(&format!("run {} succeeded", run.id)), "{said}");
    let mut moved: Vec<String> = staying.lines().split_off(2);
    moved.extend(helping.lines());
    for id in &ids {
        let times = moved.iter().filter(|line| **line == id.to_string()).count();
        assert_eq!(times, 1, "job {id} in {moved:?}");
    }
    for id in ids.iter().chain(&newer) {
        assert_eq!(scene.job(*id).state, JobState::Running);
    }
    assert_eq!(wait(&mut leaving.child), Some(0), "it has nothing left to do");
    let audit = block_on(scene.client().audit(Some("q"))).unwrap();
    assert!(audit.ok, "{:?}", audit.mismatches);
}

#[test]
fn a_rebalance_asks_which_worker_is_meant_when_two_leave_and_takes_the_one_that_does() {
    let scene = Scene::with(&[REBALANCE]);
    scene.add(2);
    let workers = ["w-1", "w-2"];
    let stubborn = format!("#!/bin/sh\ntrap '' TERM\n{STUBBORN}");
    let flags = "--ttl 1s --drain-deadline 5m";
    let mut workers = workers.map(|name| Process::work(&scene, name, flags, &stubborn));
    workers.iter().for_each(|worker| drop(worker.wrote_lines(1)));
    let said = scene.shell("openclaw run \"/runbook rebalance\"");
    assert_ne!(said.code, 0, "nobody leaves\n{}", said.out);
    for name in ["w-1", "w-2"] {
        scene.paste(&format!("openclaw worker drain {name} --deadline 5m --no-wait"));
    }
    let said = scene.shell("openclaw run \"/runbook rebalance\"");
    assert_ne!(said.code, 0, "{}", said.out);
    for name in ["worker", "w-1", "w-2"] {
        assert!(said.err.contains(name), "{name}: {}", said.err);
    }
    assert_eq!(scene.runs("Rebalance Workers").len(), 0, "nothing was guessed");

    workers[0].kill();
    until("the first worker to be gone", || {
        let workers = block_on(scene.client().workers(&WorkerQuery::default()).collect(10));
        (workers.unwrap().len() == 1).then_some(())
    });
    let staying = Process::work(&scene, "w-3", "--concurrency 5 --ttl 1s", LONG_JOB);
    staying.wrote_lines(1);
    let said = scene.paste("openclaw run \"/runbook rebalance\" --follow");
    assert!(said.contains("worker w-2"), "{said}");
    let run = scene.ended("Rebalance Workers");
    assert_in_order(&run, &REBALANCING);
    assert_eq!(run.params.get("worker").map(String::as_str), Some("w-2"));
    assert_eq!(run.returned_count, 1);
    staying.wrote_lines(2);
}

#[test]
fn a_hand_off_waits_until_a_frozen_leader_is_overtaken_and_says_what_it_cannot_know() {
    let scene = Scene::with(&[HAND_OFF]);
    scene.append(3);
    let flags = "--ttl 2s --stream files";
    let frozen = Process::lead(&scene, "ana", flags, LEADER);
    let token = token_of(&frozen.wrote(" indexer "));
    let standby = Process::lead(&scene, "ben", &format!("{flags} --standby"), STANDBY);
    scene.candidates(1);
    frozen.signal(Signal::STOP);
    let run = "openclaw run \"/runbook handoff\" --follow";
    let said = std::thread::scope(|scope| {
        let following = scope.spawn(|| scene.shell(run));
        assert!(token < standby.promoted().token);
        // Its session is lost with its lease; once it wakes, it gives up and reports so.
        frozen.signal(Signal::CONT);
        following.join().unwrap()
    });
    let run = scene.ended("Hand Off Leadership");
    let states: Vec<(&str, StepState)> =
        run.steps.iter().map(|step| (step.operation.as_str(), step.state)).collect();
    assert_eq!(
        states[..3],
        [
            ("check.not_renewed", StepState::Done),
            ("lease.acquire", StepState::Done),
            ("stream.resume", StepState::Done),
        ],
        "{run:#?}"
    );
    assert_eq!(states[3].0, "check.stopped_acting");
    for pair in run.steps.windows(2) {
        assert!(pair[0].ended <= pair[1].started, "{run:#?}");
    }
    // Whether it had lost its session before it woke decides what can be known of it.
    match run.state {
        RunState::Succeeded => assert_eq!((states[3].1, said.code), (StepState::Done, 0)),
        RunState::Unknown => assert_eq!((states[3].1, said.code), (StepState::Unknown, 6)),
        RunState::Asking
        | RunState::Running
        | RunState::Failed
        | RunState::Cancelled
        | RunState::Withdrawn
        | RunState::Expired
        | RunState::Rejected => panic!("{run:#?}"),
    }
    let fact = "done: ben (session ";
    assert!(said.out.contains(fact) && said.out.contains("leads indexer under"), "{}", said.out);
}

#[test]
fn a_hand_off_from_a_leader_that_lives_waits_and_never_takes_the_role_from_it() {
    let scene = Scene::with(&[HAND_OFF]);
    let leader = Process::lead(&scene, "ana", "--ttl 1s", LEADER);
    let token = token_of(&leader.wrote(" indexer "));
    let standby = Process::lead(&scene, "ben", "--ttl 1s --standby", STANDBY);
    scene.candidates(1);
    scene.paste("openclaw run \"/runbook handoff\"");
    // More than one renewal goes by.
    std::thread::sleep(Duration::from_millis(1_500));
    let run = scene.runs("Hand Off Leadership").remove(0);
    let states = (run.state, run.steps[0].state, run.steps[1].state);
    assert_eq!(states, (RunState::Running, StepState::Running, StepState::Pending));
    scene.paste(&format!("openclaw run cancel {} --reason 'ana lives'", run.id));
    assert_eq!(scene.ended("Hand Off Leadership").state, RunState::Cancelled);
    assert_eq!(block_on(scene.client().role("indexer")).unwrap().token, token);
    assert_eq!(standby.lines().iter().filter(|line| line.contains("promoted")).count(), 0);
}
