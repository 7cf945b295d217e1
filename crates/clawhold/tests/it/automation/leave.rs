//! A worker leaves with jobs in its hands, and the fix sees that the queue owns each one.

use clawhold_client::api::job::JobState;
use rustix::process::Signal;

use super::scene::{LONG_JOB, Process, RETURN_HELD, Scene, assert_in_order};
use crate::place::{block_on, wait};

#[test]
fn twelve_jobs_of_a_worker_that_is_told_to_stop_come_back_in_one_run_and_before_newer_ones() {
    let scene = Scene::with(&[RETURN_HELD]);
    let ids = scene.add(12);
    let mut leaving = Process::work(&scene, "leaving", "--concurrency 12", LONG_JOB);
    leaving.wrote_lines(12);
    let newer = scene.add(3);

    leaving.signal(Signal::TERM);
    assert_eq!(wait(&mut leaving.child), Some(0));
    let run = scene.ended("Return Held Jobs");
    assert_in_order(&run, &["job.return_held", "check.queue_owns"]);
    assert_eq!((run.returned_count, &run.returned), (12, &ids));
    let owned = "of 12 jobs 12 wait in their queue, 0 have another owner, 0 have ended";
    assert_eq!(run.steps[1].output, [owned]);
    for id in &ids {
        let job = scene.job(*id);
        assert_eq!((job.state, job.attempts, job.losses), (JobState::Returned, 0, 0), "job {id}");
    }

    let done = "#!/bin/sh\necho \"$CLAWHOLD_JOB\" >> \"$1\"\n";
    let staying = Process::work(&scene, "staying", "--concurrency 1", done);
    let order = staying.wrote_lines(15);
    let expected: Vec<String> = ids.iter().chain(&newer).map(u64::to_string).collect();
    assert_eq!(order, expected);
    assert_eq!(scene.runs("Return Held Jobs").len(), 1);
    let told = scene.inbox("#ops-alerts");
    assert_eq!(told.len(), 1, "{told:#?}");
    let title = format!("Return Held Jobs for worker leaving: succeeded (run {})", run.id);
    assert_eq!(told[0].title, title);
    let audit = block_on(scene.client().audit(Some("q"))).unwrap();
    assert!(audit.ok, "{:?}", audit.mismatches);
}
