//! Retries: one's own earlier try is recognised, and nothing is done twice.

use clawhold_api::error::Code;
use clawhold_api::routes;
use serde_json::{Value, json};

use super::super::door::Scratch;
use super::super::{Server, problem};
use super::is_refused;
use crate::auth::Tokens;

/// A write, and the same with something else in it.
struct Write {
    method: &'static str,
    path: &'static str,
    body: &'static str,
    other: &'static str,
}

const fn write(
    method: &'static str,
    path: &'static str,
    body: &'static str,
    other: &'static str,
) -> Write {
    Write { method, path, body, other }
}

/// Each in its turn works on what the ones before it left; `$` stands for a session.
const WRITES: [Write; 15] = [
    write("POST", "/v1/sessions", r#"{"label":"b"}"#, r#"{"label":"c"}"#),
    write("PUT", "/v1/queues/q", r#"{"live_max":9}"#, r#"{"live_max":8}"#),
    write(
        "POST",
        "/v1/jobs",
        r#"{"jobs":[{"queue":"q","payload":1},{"queue":"q","payload":2}]}"#,
        r#"{"jobs":[{"queue":"q","payload":1},{"queue":"q","payload":3}]}"#,
    ),
    write(
        "POST",
        "/v1/jobs/claim",
        r#"{"session":"$","queues":["q"],"max":2}"#,
        r#"{"session":"$","queues":["q"],"max":1}"#,
    ),
    write(
        "POST",
        "/v1/jobs/settle",
        r#"{"session":"$","settlements":[{"job":1,"claim":1,"outcome":{"completed":{}}}]}"#,
        r#"{"session":"$","settlements":[{"job":1,"claim":1,"outcome":{"completed":{"result":1}}}]}"#,
    ),
    write(
        "POST",
        "/v1/jobs/hand-back",
        r#"{"jobs":[{"job":2}]}"#,
        r#"{"jobs":[{"job":2,"claim":1}]}"#,
    ),
    write("POST", "/v1/jobs/cancel", r#"{"jobs":[2]}"#, r#"{"jobs":[1]}"#),
    write("POST", "/v1/jobs/retry", r#"{"jobs":[2]}"#, r#"{"jobs":[1]}"#),
    write("POST", "/v1/streams/s/events", r#"{"events":[1]}"#, r#"{"events":[2]}"#),
    write("PUT", "/v1/roles/r", r#"{"ttl_ms":60000}"#, r#"{"ttl_ms":50000}"#),
    write(
        "POST",
        "/v1/roles/r/acquire",
        r#"{"session":"$","stream":"s"}"#,
        r#"{"session":"$","stream":"t"}"#,
    ),
    write(
        "POST",
        "/v1/auto-fixes",
        r#"{"name":"f","condition":"worker.held_jobs > 9","action":"job.return_held"}"#,
        r#"{"name":"g","condition":"worker.held_jobs > 9","action":"job.return_held"}"#,
    ),
    write(
        "POST",
        "/v1/silences",
        r#"{"rule":"none","reason":"x","for_ms":1000}"#,
        r#"{"rule":"none","reason":"y","for_ms":1000}"#,
    ),
    write("POST", "/v1/workers/ana/drain", r#"{"reason":"x"}"#, r#"{"reason":"y"}"#),
    write("POST", "/v1/workers/ana/resume", "{}", ""),
];

impl Server {
    async fn keyed(&self, method: &str, path: &str, key: usize, body: &str) -> reqwest::Response {
        let method = reqwest::Method::from_bytes(method.as_bytes()).unwrap();
        let request = self.http.request(method, self.url(path)).body(body.to_owned());
        let request = request.header("content-type", "application/json");
        request.header(routes::IDEMPOTENCY_KEY, format!("key-{key}")).send().await.unwrap()
    }
}

#[tokio::test]
async fn every_write_that_is_sent_again_gets_its_first_answer_also_after_a_restart() {
    let file = Scratch::new("field-retry.db");
    let store = format!("sqlite:{}", file.0.display());
    let server = Server::start_with(&store, Tokens::default()).await;
    let session = server.session("ana", &["q"], 9).await;
    let session = session.as_str().unwrap();
    let mut answers: Vec<Value> = Vec::new();
    for (key, one) in WRITES.iter().enumerate() {
        let body = one.body.replace('$', session);
        let first = server.keyed(one.method, one.path, key, &body).await;
        assert!(first.status().is_success(), "{}: {}", one.path, first.text().await.unwrap());
        assert!(!first.headers().contains_key(routes::REPLAYED), "{}", one.path);
        let first: Value = first.json().await.unwrap();
        let again = server.keyed(one.method, one.path, key, &body).await;
        is_replayed(one, &first, again).await;
        answers.push(first);
    }
    server.running.stop().await.unwrap();

    let server = Server::start_with(&store, Tokens::default()).await;
    for (key, (one, first)) in WRITES.iter().zip(&answers).enumerate() {
        let again = server.keyed(one.method, one.path, key, &one.body.replace('$', session)).await;
        if one.path == routes::JOB_CLAIM {
            // What it was given is its own no longer, and it gets no other job for it.
            assert_eq!(again.json::<Value>().await.unwrap()["jobs"], json!([]));
        } else {
            is_replayed(one, first, again).await;
        }
        if !one.other.is_empty() {
            let other = one.other.replace('$', session);
            let other = problem(server.keyed(one.method, one.path, key, &other).await).await;
            assert_eq!(other.code, Code::RequestConflict, "{}: {}", one.path, other.detail);
        }
    }
    let queue = server.read("/v1/queues/q").await;
    assert_eq!(queue["totals"]["enqueued"], 2, "{queue}");
    assert_eq!(server.read("/v1/streams/s").await["last"], 1);
    server.running.stop().await.unwrap();
}

/// Checks that an answer is the first one again: what it says of a moment may have moved on.
async fn is_replayed(one: &Write, first: &Value, again: reqwest::Response) {
    assert_eq!(
        again.headers().get(routes::REPLAYED).map(|it| it.as_bytes()),
        Some(&b"true"[..]),
        "{} {again:?}",
        one.path
    );
    let again: Value = again.json().await.unwrap();
    // A role is told as it is now; what a call gave is told as it was.
    let shown = if one.method == "PUT" { "" } else { "/token" };
    for pointer in [shown, "/session", "/jobs", "/results", "/last", "/id", "/held"] {
        let told = first.pointer(pointer).filter(|told| !told.is_object());
        let told_again = again.pointer(pointer).filter(|told| !told.is_object());
        assert_eq!(told_again, told, "{} {pointer}", one.path);
    }
}

/// Changes of what automation knows, each worked once however often it is sent.
const CHANGES: [(&str, &str, &str); 12] = [
    ("POST", "/v1/agents", r#"{"name":"a","messages":["one"]}"#),
    ("POST", "/v1/agents/a/messages", r#"{"message":"two"}"#),
    ("PATCH", "/v1/agents/a", r#"{"about":"x"}"#),
    ("POST", "/v1/agents/a/disable", "{}"),
    ("POST", "/v1/agents/a/enable", "{}"),
    ("POST", "/v1/agents/a/revert", r#"{"to":1}"#),
    ("POST", "/v1/runbooks", r#"{"name":"r","trigger":"/r","step":["show.workers"]}"#),
    ("POST", "/v1/runbooks/r/run", "{}"),
    ("POST", "/v1/run", r#"{"text":"/r"}"#),
    ("POST", "/v1/import", r#"{"definitions":{"agents":[{"name":"b","messages":["x"]}]}}"#),
    ("POST", "/v1/automation/pause", r#"{"reason":"x","for_ms":60000}"#),
    ("DELETE", "/v1/agents/b", ""),
];

#[tokio::test]
async fn a_change_of_automation_that_is_sent_again_is_worked_once() {
    let server = Server::start().await;
    for (key, (method, path, body)) in CHANGES.iter().enumerate() {
        let first = server.keyed(method, path, key, body).await;
        assert!(first.status().is_success(), "{path}: {}", first.status());
        let first: Value = first.json().await.unwrap();
        let worked = server.read(routes::automation::EXPORT).await;
        let again = server.keyed(method, path, key, body).await;
        let status = again.status();
        assert!(status.is_success(), "{path}: {status} {}", again.text().await.unwrap());
        let again: Value = again.json().await.unwrap();
        for counted in ["added", "changed", "removed", "unchanged"] {
            let is_count = first[counted].is_u64();
            assert!(!is_count || again[counted] == first[counted], "{path}: {again}");
        }
        assert_eq!(server.read(routes::automation::EXPORT).await, worked, "{path}");
    }
    let history = server.read("/v1/agents/a/history").await;
    let acts: Vec<&str> = history["versions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|version| version["act"].as_str().unwrap())
        .collect();
    let once = ["added", "edited", "edited", "disabled", "enabled", "reverted to version 1"];
    assert_eq!(acts, once);
    assert_eq!(server.read("/v1/runs").await["items"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn what_was_refused_once_is_refused_again_under_its_key_and_left_no_trace() {
    let server = Server::start().await;
    let body = r#"{"role":"r","session":"1.0123456789abcdef","token":1}"#;
    let first = problem(server.keyed("POST", routes::COMMIT, 1, body).await).await;
    let again = server.keyed("POST", routes::COMMIT, 1, body).await;
    let again = problem(again).await;
    assert_eq!((first.code, &first.detail), (again.code, &again.detail));
    assert!(first.nothing_happened && !first.retryable, "{first:?}");
    assert_eq!(server.read(routes::STATUS).await["roles"]["vacant"], 0);
}

#[tokio::test]
async fn a_key_is_free_again_when_its_job_died_or_was_cancelled() {
    let server = Server::start().await;
    let worker = server.session("ana", &["q"], 1).await;
    let job = json!({"jobs": [{"queue": "q", "payload": 1, "unique_key": "k", "attempts_max": 1}]});
    let mut ids: Vec<u64> = Vec::new();
    for end in ["failed", "dead", "cancelled", "completed"] {
        let accepted = server.done(routes::JOBS, job.clone()).await["jobs"][0].clone();
        assert_eq!(accepted["existing"], false, "before it is {end}");
        let id = accepted["id"].as_u64().unwrap();
        if end == "cancelled" {
            server.done(routes::JOB_CANCEL, json!({"jobs": [id]})).await;
        } else {
            let claim = json!({"session": worker, "queues": ["q"]});
            let claimed = server.done(routes::JOB_CLAIM, claim).await["jobs"][0].clone();
            assert_eq!(claimed["id"], id);
            let outcome = if end == "completed" { json!({}) } else { json!({"error": "x"}) };
            let one = json!({"job": id, "claim": claimed["claim"], "outcome": {end: outcome}});
            server.done(routes::JOB_SETTLE, json!({"session": worker, "settlements": [one]})).await;
        }
        ids.push(id);
    }
    ids.dedup();
    assert_eq!(ids.len(), 4);
    server.done(routes::JOBS, job).await;
    for id in &ids[..3] {
        let kept = server.done(routes::JOB_RETRY, json!({"jobs": [id]})).await;
        assert_eq!(kept["results"][0]["problem"]["code"], "key_conflict", "job {id}: {kept}");
    }
}

/// What was asked of retries and cannot be: each with the field that is named.
const BAD_RULES: [(&str, &str); 14] = [
    (r#""attempts_max":0"#, "attempts_max"),
    (r#""attempts_max":-1"#, "attempts_max"),
    (r#""attempts_max":10001"#, "attempts_max"),
    (r#""attempts_max":100000"#, "attempts_max"),
    (r#""attempts_max":4294967296"#, "attempts_max"),
    (r#""attempts_max":"unlimited""#, "attempts_max"),
    (r#""attempts_max":2.5"#, "attempts_max"),
    (r#""backoff_ms":-2"#, "backoff_ms"),
    (r#""backoff_ms":0.5"#, "backoff_ms"),
    (r#""backoff_ms":3600001"#, "backoff_ms"),
    (r#""backoff_ms":1000000000000000"#, "backoff_ms"),
    (r#""backoff_max_ms":-1"#, "backoff_max_ms"),
    (r#""backoff_max_ms":3153600000000"#, "backoff_max_ms"),
    (r#""backoff_factor":2"#, "backoff_factor"),
];

#[tokio::test]
async fn a_rule_of_retries_that_cannot_be_is_refused_when_the_job_is_added() {
    let server = Server::start().await;
    for (rule, field) in BAD_RULES {
        let body = format!(r#"{{"jobs":[{{"queue":"q","payload":1,{rule}}}]}}"#);
        let refused = is_refused(server.send("POST", routes::JOBS, body).await, rule).await;
        assert_eq!(refused.field, Some(format!("jobs[0].{field}")), "{rule}: {}", refused.detail);
    }
    let missing = problem(server.get("/v1/queues/q").await).await;
    assert_eq!(missing.code, Code::NotFound);
}
