//! A sink that is dead delays no fix, and has each message once when it lives again.

use std::time::{Duration, Instant};

use super::scene::{LONG_JOB, Process, RETURN_HELD, Scene, assert_in_order};
use super::sink::{Receiver, sign};
use crate::lead::until;
use crate::place::{free_port, wait};

const SECRET: &str = "the-secret-of-this-hook";

#[test]
fn a_dead_webhook_delays_no_fix_and_gets_the_message_once_when_it_lives() {
    let port = free_port();
    let bind = format!(
        "openclaw channel add '#ops-alerts' --webhook http://127.0.0.1:{port}/hook --secret {SECRET}"
    );
    let scene = Scene::with(&[RETURN_HELD, &bind]);
    scene.add(2);
    let mut leaving = Process::work(&scene, "w-3", "--concurrency 2", LONG_JOB);
    leaving.wrote_lines(2);
    leaving.signal(rustix::process::Signal::TERM);
    let since = Instant::now();
    wait(&mut leaving.child);
    let run = scene.ended("Return Held Jobs");
    assert_in_order(&run, &["job.return_held", "check.queue_owns"]);
    assert!(since.elapsed() < Duration::from_secs(10), "{:?}", since.elapsed());
    let waiting = until("a try that failed", || {
        let said = scene.paste("openclaw inbox list --channel '#ops-alerts' --json");
        let document: serde_json::Value = serde_json::from_str(&said).unwrap();
        let message = document["items"][0].clone();
        (message["delivery"] == "waiting").then_some(message)
    });
    let title = format!("Return Held Jobs for worker w-3: succeeded (run {})", run.id);
    assert_eq!(waiting["title"], *title);

    let receiver = Receiver::at(port);
    let taken = receiver.wait_for("succeeded");
    let document = taken.document();
    assert_eq!(document["title"], waiting["title"]);
    assert_eq!(document["channel"], "#ops-alerts");
    assert!(!taken.header("idempotency-key").is_empty());
    let signature = taken.header("clawhold-signature");
    let (at, signed) = signature.split_once(",v1=").unwrap();
    let at = at.strip_prefix("t=").unwrap();
    assert_eq!(signed, sign(SECRET, &format!("{at}.{}", taken.body)));
    until("it to be known as delivered", || {
        let told = scene.inbox("#ops-alerts");
        (told[0].delivery == "delivered").then_some(())
    });
    assert_eq!(receiver.received().len(), 1, "{:?}", receiver.received());
}
