//! Workers by hand: how they leave, and the proof.

use std::process::Stdio;
use std::thread;
use std::time::Duration;

use clawhold_client::Client;
use clawhold_client::api::SessionKey;
use clawhold_client::api::job::{Claim, Claimed, Outcome, Settle, Settlement};
use clawhold_client::api::session::OpenSession;
use expect_test::expect;

use crate::place::{CLAWHOLD, Place, Served, block_on, wait};

/// Opens a worker that lives for a day without a beat and claims jobs.
async fn worker(client: &Client, label: &str, max: u64) -> (SessionKey, Claimed) {
    let open = OpenSession {
        label: label.to_owned(),
        ttl_ms: Some(86_400_000),
        queues: vec!["mail".to_owned()],
        slots: Some(10),
        ..OpenSession::default()
    };
    let session = client.open_session(&open).await.unwrap().reply.session;
    let claimed = claim(client, &session, max).await;
    (session, claimed)
}

async fn claim(client: &Client, session: &SessionKey, max: u64) -> Claimed {
    let queues = vec!["mail".to_owned()];
    let claim = Claim { session: session.clone(), queues, max: Some(max), wait_ms: None };
    client.claim(&claim).await.unwrap().reply
}

async fn hand_back(client: &Client, session: &SessionKey, claimed: &Claimed) {
    let settlements = claimed.jobs.iter().map(|job| Settlement {
        job: job.id,
        claim: job.claim,
        outcome: Outcome::HandedBack { checkpoint: None, reason: None },
    });
    let settle =
        Settle { session: session.clone(), settlements: settlements.collect(), next: None };
    client.settle(&settle).await.unwrap();
}

fn three_jobs(place: &Place) -> Served {
    let served = place.serve("");
    for text in ["a", "b", "c"] {
        place.json(&format!("job add mail --text {text}"));
    }
    served
}

#[test]
fn a_worker_that_does_not_answer_is_drained_at_its_deadline_with_proof() {
    let place = Place::new();
    let served = three_jobs(&place);
    let (_, claimed) = block_on(worker(&served.client(), "mailer-1", 2));
    assert_eq!(claimed.jobs.len(), 2);
    let said = place.run("worker drain mailer-1 --deadline 200ms --reason '-- new kernel'");
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
    expect![[r#"
        mailer-1 is drained: 0 held, 2 returned, every job has one owner
        no other live worker serves mail
    "#]]
    .assert_eq(&format!("{}{}", said.out, said.err));
    let queue = place.json("queue show mail");
    assert_eq!(queue["jobs"]["returned"], 2);
    assert_eq!(place.json("worker show mailer-1")["state"], "drained");
    place.json("worker resume mailer-1");
    assert_eq!(place.json("worker show mailer-1")["state"], "active");
}

#[test]
fn a_worker_that_hands_back_is_home_before_its_deadline() {
    let place = Place::new();
    let served = three_jobs(&place);
    let (session, claimed) = block_on(worker(&served.client(), "mailer-1", 3));
    let mut drain = place.command(CLAWHOLD);
    drain.args(["worker", "drain", "mailer-1", "--deadline", "1h", "--json"]);
    let mut drain = drain.stdout(Stdio::piped()).spawn().unwrap();
    while place.json("worker show mailer-1")["state"] != "draining" {
        thread::sleep(Duration::from_millis(20));
    }
    block_on(hand_back(&served.client(), &session, &claimed));
    assert_eq!(wait(&mut drain), Some(0));
    let out = std::io::read_to_string(drain.stdout.unwrap()).unwrap();
    let done: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (&done["held"], &done["returned"], &done["audit_ok"]),
        (&0.into(), &3.into(), &true.into())
    );
}

#[test]
fn a_queue_is_rebalanced_step_by_step() {
    let place = Place::new();
    let served = three_jobs(&place);
    let client = served.client();
    let (session, claimed) = block_on(worker(&served.client(), "mailer-1", 2));
    drop(client);
    block_on(hand_back(&served.client(), &session, &claimed));
    let said = place.run("queue rebalance mail --within 200ms");
    assert_eq!(said.code, 1, "nobody takes the returned jobs: {}", said.out);
    let (_, claimed) = block_on(worker(&served.client(), "mailer-2", 2));
    let ids: Vec<_> = claimed.jobs.iter().map(|job| job.id).collect();
    assert_eq!(ids, [1, 2], "returned jobs go first");
    let said = place.run("queue rebalance mail");
    expect![[r#"
        1 gate closed: new jobs wait behind 0 returned jobs
        2 placed: no returned job waits
        3 audit: every job has one owner
        4 admitted: new jobs are handed out
    "#]]
    .assert_eq(&place.mask(&said.out));
    assert_eq!(said.code, 0);
    assert_eq!(place.json("queue rebalance mail")["admitted"], true);
}

#[test]
fn workers_are_listed_and_named_by_id_or_by_a_label_of_their_own() {
    let place = Place::new();
    let served = place.serve("");
    place.json("queue set mail");
    let mut ids = Vec::new();
    for label in ["mailer", "mailer", "other"] {
        let (session, _) = block_on(worker(&served.client(), label, 1));
        ids.push(session.id_text().to_owned());
    }
    let list = place.json("worker list --queue mail --state active");
    assert_eq!(list["items"].as_array().unwrap().len(), 3);
    let said = place.run("worker show mailer");
    assert_eq!(said.code, 4);
    assert!(
        said.err.contains(&format!("use one of the ids {}, {}", ids[0], ids[1])),
        "{}",
        said.err
    );
    assert_eq!(place.json(&format!("worker show {}", ids[1]))["label"], "mailer");
    let said = place.run("worker show othr");
    assert_eq!(said.code, 3);
    assert!(said.err.contains("did you mean other?"), "{}", said.err);
}
