//! Names that are alike: nobody is reached, renewed or sent home by resemblance.

use clawhold_api::error::Code;
use clawhold_api::routes;
use serde_json::{Value, json};

use super::super::{Server, problem};
use super::is_refused;

/// What looks like the label `w-1` and is not, as it stands in a path.
const ALIKE: [&str; 13] = [
    "w-10",
    "w-1_x",
    "W-1",
    "w-",
    "w",
    "w-1%20",
    "%20w-1",
    "w-1.",
    "w-01",
    "w_1",
    "w-1%00",
    "w%E2%80%901",
    "w-1%E2%80%8B",
];

#[tokio::test]
async fn a_worker_is_reached_by_its_exact_label_and_by_nothing_like_it() {
    let server = Server::start().await;
    server.session("w-1", &["mail"], 1).await;
    for alike in ALIKE {
        for path in [format!("/v1/workers/{alike}/drain"), format!("/v1/workers/{alike}/resume")] {
            is_refused(server.post(&path, json!({})).await, &path).await;
        }
    }
    assert_eq!(server.read("/v1/workers/w-1").await["state"], "active");
    for label in ["w-10", "w-1_x", "W-1"] {
        server.session(label, &["mail"], 1).await;
    }
    server.done("/v1/workers/w-1/drain", json!({})).await;
    let listed = server.read(routes::WORKERS).await;
    let mut states: Vec<(&str, &str)> = Vec::new();
    for worker in listed["items"].as_array().unwrap() {
        states.push((worker["label"].as_str().unwrap(), worker["state"].as_str().unwrap()));
    }
    assert_eq!(
        states,
        [("w-1", "drained"), ("w-10", "active"), ("w-1_x", "active"), ("W-1", "active")]
    );
}

#[tokio::test]
async fn an_id_is_written_in_one_way_and_no_label_can_pass_for_one() {
    let server = Server::start().await;
    let first = server.done(routes::SESSIONS, json!({"label": "ana", "queues": ["mail"]})).await;
    let id = first["id"].as_u64().unwrap();
    for alike in [format!("0{id}"), format!("{id}."), format!("{id}-0"), format!("{id}@ana")] {
        let path = format!("/v1/workers/{alike}/drain");
        assert_eq!(server.refused(&path, json!({})).await.code, Code::NotFound, "{alike}");
    }
    for label in [id.to_string(), "0".to_owned(), format!("0{id}"), u64::MAX.to_string()] {
        let body = json!({"label": label, "queues": ["mail"]});
        let refused = server.refused(routes::SESSIONS, body).await;
        assert_eq!(refused.field.as_deref(), Some("label"), "{label}");
        assert!(refused.detail.contains("no digit"), "{}", refused.detail);
    }
    assert_eq!(server.read("/v1/workers/ana").await["state"], "active");
    server.done(&format!("/v1/workers/{id}/drain"), json!({})).await;
    assert_eq!(server.read("/v1/workers/ana").await["state"], "drained");
}

#[tokio::test]
async fn a_session_of_the_same_label_may_not_release_settle_or_close_for_the_other() {
    let server = Server::start().await;
    let holder = server.session("twin", &["mail"], 1).await;
    let other = server.session("twin", &["mail"], 1).await;
    let acquire = routes::fill(routes::ROLE_ACQUIRE, "billing");
    let token = server.done(&acquire, json!({"session": holder})).await["token"].clone();
    server.done(routes::JOBS, json!({"jobs": [{"queue": "mail", "payload": 1}]})).await;
    let claim = json!({"session": holder, "queues": ["mail"]});
    let job = server.done(routes::JOB_CLAIM, claim).await["jobs"][0].clone();

    let release = routes::fill(routes::ROLE_RELEASE, "billing");
    server.refused(&release, json!({"session": other, "token": token})).await;
    let leads = json!([{"role": "billing", "token": token}]);
    let beat = server.done(routes::SESSION_BEAT, json!({"session": other, "leads": leads})).await;
    assert_eq!(beat["leads"][0]["outcome"], "lost", "{beat}");
    let settlements =
        json!([{"job": job["id"], "claim": job["claim"], "outcome": {"completed": {}}}]);
    let settle = json!({"session": other, "settlements": settlements});
    let settled = server.done(routes::JOB_SETTLE, settle).await;
    assert_eq!(settled["results"][0]["problem"]["code"], "superseded", "{settled}");
    let (id, secret) = holder.as_str().unwrap().split_once('.').unwrap();
    let (_, foreign) = other.as_str().unwrap().split_once('.').unwrap();
    assert_ne!(secret, foreign);
    server.refused(routes::SESSION_CLOSE, json!({"session": format!("{id}.{foreign}")})).await;

    let role = server.read("/v1/roles/billing").await;
    assert_eq!((&role["holder"]["token"], &role["token"]), (&token, &token));
    let shown = server.read(&routes::fill(routes::JOB, &job["id"].to_string())).await;
    assert_eq!((&shown["state"], &shown["claim"]), (&json!("running"), &job["claim"]));
}

#[tokio::test]
async fn names_that_differ_in_one_byte_are_two_roles_and_two_queues() {
    let server = Server::start().await;
    let session = server.session("ana", &[], 0).await;
    let names = ["a-1", "a-10", "A-1", "a-1_x", "a.1", "a:1"];
    let mut tokens: Vec<u64> = Vec::new();
    for name in names {
        let path = routes::fill(routes::ROLE_ACQUIRE, name);
        let granted = server.done(&path, json!({"session": session})).await;
        tokens.push(granted["token"].as_u64().unwrap());
        server.done(routes::JOBS, json!({"jobs": [{"queue": name, "payload": name}]})).await;
    }
    assert!(tokens.is_sorted_by(|one, next| one < next), "{tokens:?}");
    for (name, token) in names.iter().zip(&tokens) {
        let role = server.read(&routes::fill(routes::ROLE, name)).await;
        assert_eq!(role["holder"]["token"], *token, "{name}");
        let jobs = server.read(&format!("{}?queue={}", routes::JOBS, routes::escape(name))).await;
        let jobs = jobs["items"].as_array().unwrap();
        let queues: Vec<&Value> = jobs.iter().map(|job| &job["queue"]).collect();
        assert_eq!(queues, [&json!(name)]);
    }
    let gone = problem(server.get("/v1/roles/a").await).await;
    assert_eq!(gone.code, Code::NotFound);
}
