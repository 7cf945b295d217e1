//! Producing: jobs that are submitted at one time share a request.

use std::time::Duration;

use clawhold_client::Producer;
use clawhold_client::api::job::NewJob;
use clawhold_client::api::{Code, Json};
use serde_json::{Value, json};

use crate::server::{Act, Server, refuse};

fn jobs(body: &Value) -> &Vec<Value> {
    body["jobs"].as_array().unwrap()
}

#[tokio::test]
async fn jobs_submitted_together_share_requests_and_a_refused_one_fails_alone() {
    let server = Server::start(|request| {
        if jobs(&request.body).iter().any(|job| job["queue"] == "-bad") {
            return refuse(Code::OutOfRange);
        }
        let accepted: Vec<Value> = jobs(&request.body)
            .iter()
            .map(|job| json!({"id": job["payload"], "existing": false}))
            .collect();
        Act::Later(Duration::from_millis(30), json!({"jobs": accepted}))
    })
    .await;
    let producer = Producer::new(&server.client());
    let mut tasks = tokio::task::JoinSet::new();
    for number in 1..=200_u64 {
        let producer = producer.clone();
        tasks.spawn(async move {
            let queue = if number == 77 { "-bad" } else { "mail" };
            let job = NewJob::new(queue, Json::of(&number).unwrap());
            (number, producer.enqueue(job).await)
        });
    }
    while let Some(done) = tasks.join_next().await {
        let (number, result) = done.unwrap();
        match result {
            Ok(job) => assert_eq!(job.id, number),
            Err(error) => {
                assert_eq!(number, 77);
                assert!(error.is(Code::OutOfRange), "{error}");
            }
        }
    }
    let counts: Vec<usize> =
        server.seen("/v1/jobs").iter().map(|request| jobs(&request.body).len()).collect();
    // Halves, until the one at fault stands alone: two for each doubling, and the first ones.
    assert!(counts.len() <= 2 * 8 + 4, "{counts:?}");
    assert!(counts.iter().filter(|count| **count == 1).count() <= 3, "{counts:?}");
}

#[tokio::test]
async fn a_request_is_cut_at_its_bytes() {
    let server = Server::start(|request| {
        let count = jobs(&request.body).len();
        let accepted = vec![json!({"id": 1, "existing": false}); count];
        Act::Later(Duration::from_millis(30), json!({"jobs": accepted}))
    })
    .await;
    let producer = Producer::new(&server.client());
    let payload = "x".repeat(100 * 1_024);
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..10 {
        let (producer, payload) = (producer.clone(), Json::of(&payload).unwrap());
        tasks.spawn(async move { producer.enqueue_payload("mail", payload).await });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap().unwrap();
    }
    let counts: Vec<usize> = server.all().iter().map(|request| jobs(&request.body).len()).collect();
    assert!(counts.iter().all(|count| *count <= 2), "{counts:?}");
    assert_eq!(counts.iter().sum::<usize>(), 10);
}
