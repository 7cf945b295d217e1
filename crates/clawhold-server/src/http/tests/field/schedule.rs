//! Moments and delays: two fields, each with one meaning, and waits of any length.

use std::time::Duration;

use clawhold_api::routes;
use serde_json::{Value, json};

use super::super::Server;
use super::super::door::Scratch;
use super::is_refused;
use crate::auth::Tokens;

/// What is no moment, as JSON.
const NO_MOMENTS: [&str; 32] = [
    "0",
    "-1",
    "999999999",
    "1000000000",
    "1e12",
    "1e15",
    r#""0""#,
    r#""1000000000""#,
    r#""1e12""#,
    r#""2026-02-30T00:00:00Z""#,
    r#""2026-13-01T00:00:00Z""#,
    r#""2026-02-30""#,
    r#""2026-12-01""#,
    r#""0000-01-01T00:00:00Z""#,
    r#""1969-12-31T23:59:59Z""#,
    r#""2026-12-31T23:59:60Z""#,
    r#""2026-12-01T10:00""#,
    r#""2026-12-01T10:00:00""#,
    r#""2026-12-01T10Z""#,
    r#""20261201T100000Z""#,
    r#""2026-12-01T24:00:00Z""#,
    r#""2026-12-01T10:00:00+99:00""#,
    r#""2026-12-01T10:00:00+01:00[Europe/Berlin]""#,
    r#""+002026-12-01T10:00:00Z""#,
    r#""+012026-12-01T10:00:00Z""#,
    r#""9999-12-31T23:59:59Z""#,
    r#""tomorrow""#,
    r#""now""#,
    r#""5m""#,
    r#""""#,
    r#""２０２６-12-01T10:00:00Z""#,
    r#"" 2026-12-01T10:00:00Z""#,
];

#[tokio::test]
async fn a_number_a_word_or_half_a_date_is_no_moment() {
    let server = Server::start().await;
    for moment in NO_MOMENTS {
        let body = format!(r#"{{"jobs":[{{"queue":"q","payload":1,"run_at":{moment}}}]}}"#);
        let refused = is_refused(server.send("POST", routes::JOBS, body).await, moment).await;
        assert_eq!(refused.field.as_deref(), Some("jobs[0].run_at"), "{moment}");
        if moment.starts_with('"') {
            assert!(refused.detail.contains("9999-12-30T22:00:00Z"), "{}", refused.detail);
        }
    }
    let both =
        r#"{"jobs":[{"queue":"q","payload":1,"delay_ms":1,"run_at":"2099-01-01T00:00:00Z"}]}"#;
    let refused = is_refused(server.send("POST", routes::JOBS, both.to_owned()).await, both).await;
    assert!(refused.detail.contains("not both"), "{}", refused.detail);
    assert_eq!(server.read(routes::STATUS).await["queues"]["count"], 0);
}

/// Moments and how they are told, in UTC.
const MOMENTS: [(&str, &str); 7] = [
    ("2099-12-01T10:00:00Z", "2099-12-01T10:00:00.000Z"),
    ("2099-12-01T10:00:00.5Z", "2099-12-01T10:00:00.500Z"),
    ("2099-12-01T10:00:00+01:00", "2099-12-01T09:00:00.000Z"),
    ("2099-12-01T10:00:00+14:30", "2099-11-30T19:30:00.000Z"),
    ("2099-12-01T00:30:00-00:00", "2099-12-01T00:30:00.000Z"),
    ("2100-02-28T23:59:59-12:00", "2100-03-01T11:59:59.000Z"),
    ("9999-12-30T22:00:00Z", "9999-12-30T22:00:00.000Z"),
];

#[tokio::test]
async fn a_moment_is_told_in_utc_and_one_that_has_passed_means_now_and_once() {
    let server = Server::start().await;
    for (moment, told) in MOMENTS {
        let job = json!({"jobs": [{"queue": "q", "payload": 1, "run_at": moment}]});
        let id = server.done(routes::JOBS, job).await["jobs"][0]["id"].to_string();
        let shown = server.read(&routes::fill(routes::JOB, &id)).await;
        assert_eq!(shown["run_at"], told, "{moment}: {shown}");
    }
    let worker = server.session("ana", &["past"], 9).await;
    for past in ["1970-01-01T00:00:00Z", "2001-09-09T01:46:40Z"] {
        let job = json!({"jobs": [{"queue": "past", "payload": 1, "run_at": past}]});
        server.done(routes::JOBS, job).await;
        let claim = json!({"session": worker, "queues": ["past"], "max": 9});
        let claimed = server.done(routes::JOB_CLAIM, claim.clone()).await["jobs"].clone();
        let claimed = claimed.as_array().unwrap();
        assert_eq!(claimed.len(), 1, "{past}");
        let done = json!({"job": claimed[0]["id"], "claim": 1, "outcome": {"completed": {}}});
        server.done(routes::JOB_SETTLE, json!({"session": worker, "settlements": [done]})).await;
        assert_eq!(server.done(routes::JOB_CLAIM, claim).await["jobs"], json!([]), "{past}");
    }
}

/// Delays beyond every timer of 31 and 32 bits: 24 h, 2³¹ ms, 25 d, 2³² ms, 50 d, 1 y, 10 y.
const FAR_MS: [u64; 7] = [
    86_400_000,
    2_147_483_648,
    2_160_000_000,
    4_294_967_296,
    4_320_000_000,
    31_536_000_000,
    315_360_000_000,
];

#[tokio::test]
async fn jobs_that_wait_for_years_hold_no_near_one_up_and_survive_a_restart() {
    let file = Scratch::new("field-schedule.db");
    let store = format!("sqlite:{}", file.0.display());
    let server = Server::start_with(&store, Tokens::default()).await;
    let mut far: Vec<Value> = Vec::new();
    for delay_ms in FAR_MS {
        far.push(json!({"queue": "q", "payload": delay_ms, "delay_ms": delay_ms}));
    }
    far.push(json!({"queue": "q", "payload": 1, "run_at": "9999-12-30T22:00:00Z"}));
    server.done(routes::JOBS, json!({"jobs": far})).await;
    let scheduled = moments(&server).await;
    assert!(scheduled.is_sorted(), "{scheduled:?}");
    near_ones_come(&server).await;
    server.running.stop().await.unwrap();

    let server = Server::start_with(&store, Tokens::default()).await;
    assert_eq!(moments(&server).await, scheduled);
    near_ones_come(&server).await;
    server.running.stop().await.unwrap();
}

/// Returns when each scheduled job is due.
async fn moments(server: &Server) -> Vec<String> {
    let listed = server.read("/v1/jobs?queue=q&state=scheduled").await;
    let listed = listed["items"].as_array().unwrap();
    listed.iter().map(|job| job["run_at"].as_str().unwrap().to_owned()).collect()
}

/// Checks that jobs of soon are handed out soon, one after the other.
async fn near_ones_come(server: &Server) {
    let worker = server.session("ana", &["q"], 100).await;
    for delay_ms in [40, 80] {
        let near = json!({"jobs": [{"queue": "q", "payload": "near", "delay_ms": delay_ms}]});
        server.done(routes::JOBS, near).await;
        let claim = json!({"session": worker, "queues": ["q"], "max": 9, "wait_ms": 20_000});
        let claimed =
            tokio::time::timeout(Duration::from_secs(5), server.done(routes::JOB_CLAIM, claim));
        let claimed = claimed.await.expect("the near job comes")["jobs"].clone();
        let payloads: Vec<&Value> =
            claimed.as_array().unwrap().iter().map(|job| &job["payload"]).collect();
        assert_eq!(payloads, [&json!("near")]);
    }
}
