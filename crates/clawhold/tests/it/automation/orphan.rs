//! A job that the record says is running and that no worker has.

use std::thread;
use std::time::Duration;

use clawhold_client::api::automation::alert::AlertState;
use clawhold_client::api::job::{Claim, JobState};
use clawhold_client::api::session::{Beat, OpenSession};

use super::scene::{LONG_JOB, NO_OWNER, Process, Scene};
use crate::lead::until;
use crate::place::block_on;

const RULE: &str = "Job Without Owner";

#[test]
fn a_job_that_its_worker_never_lists_is_told_and_taken_back() {
    let scene = Scene::with(&[NO_OWNER]);
    let client = scene.client();
    let open = OpenSession {
        label: "w-9".to_owned(),
        ttl_ms: Some(900),
        queues: vec!["q".to_owned()],
        ..OpenSession::default()
    };
    let opened = block_on(client.open_session(&open)).unwrap().reply;
    let session = opened.session;
    let id = scene.add(1)[0];
    let queues = vec!["q".to_owned()];
    let claim = Claim { session: session.clone(), queues, max: None, wait_ms: None };
    assert_eq!(block_on(client.claim(&claim)).unwrap().reply.jobs[0].id, id);
    assert!(scene.alerts(RULE).is_empty());

    let beat = Beat { session, leads: Vec::new(), holds: Vec::new(), consumed: Vec::new() };
    let alert = until("the alert", || {
        block_on(client.beat(&beat)).unwrap();
        thread::sleep(Duration::from_millis(100));
        scene.alerts(RULE).into_iter().next()
    });
    assert_eq!((alert.group.as_str(), alert.state.as_str()), ("q", "firing"));
    assert_eq!(
        alert.details,
        [format!(
            "job {id} was given to w-9 (session {}), which never listed it, and was taken back",
            opened.id
        )]
    );
    assert_eq!(scene.job(id).state, JobState::Returned);

    let staying = Process::work(&scene, "w-2", "--ttl 1s", LONG_JOB);
    assert_eq!(staying.wrote_lines(1), [id.to_string()]);
    recovers(&scene);
}

#[test]
fn the_jobs_of_a_killed_worker_are_told_until_somebody_has_them() {
    let scene = Scene::with(&[NO_OWNER]);
    let ids = scene.add(2);
    let mut gone = Process::work(&scene, "w-1", "--concurrency 2 --ttl 500ms", LONG_JOB);
    gone.wrote_lines(2);
    gone.kill();
    let alert = until("the alert", || {
        scene.alerts(RULE).into_iter().find(|alert| alert.details.len() == 2)
    });
    for id in &ids {
        let fact = format!(" was lost while it held job {id}");
        let told = |line: &String| line.starts_with("w-1 (session ") && line.ends_with(&fact);
        assert!(alert.details.iter().any(told), "{fact}: {:?}", alert.details);
    }
    let staying = Process::work(&scene, "w-2", "--concurrency 2 --ttl 1s", LONG_JOB);
    staying.wrote_lines(2);
    recovers(&scene);
}

#[test]
fn a_worker_that_leaves_in_good_order_is_not_told() {
    let scene = Scene::with(&[NO_OWNER]);
    scene.add(3);
    let mut leaving = Process::work(&scene, "w-1", "--concurrency 3 --ttl 1s", LONG_JOB);
    leaving.wrote_lines(3);
    let staying = Process::work(&scene, "w-2", "--concurrency 3 --ttl 1s", LONG_JOB);
    leaving.signal(rustix::process::Signal::TERM);
    staying.wrote_lines(3);
    crate::place::wait(&mut leaving.child);
    assert!(scene.alerts(RULE).is_empty());
}

/// Waits until what was told holds no more; the rule keeps it for a while before it is over.
fn recovers(scene: &Scene) {
    until("the alert to recover", || {
        let alerts = scene.alerts(RULE);
        alerts.iter().all(|alert| alert.state == AlertState::Recovering).then_some(())
    });
}
