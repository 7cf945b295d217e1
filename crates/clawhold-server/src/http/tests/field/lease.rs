//! Lengths of time, in and out: kept as they were sent, or refused with the range.

use clawhold_api::routes;
use clawhold_core::limits::{DURATION_MS_MAX, SILENCE_MS_MAX, TTL_MS_MAX, TTL_MS_MIN};
use serde_json::{Value, json};

use super::super::Server;
use super::is_refused;

/// JSON that people and programs have sent where milliseconds were meant.
const ODD_LENGTHS: [&str; 26] = [
    "0",
    "-1",
    "-0",
    "1e3",
    "1000.0",
    "0.0004",
    "5",
    "86400000000000",
    "2147483648",
    "1125899906842624",
    "4611686018427387904",
    "9223372036854775807",
    "18446744073709551615",
    "18446744073709551616",
    r#""-5m""#,
    r#""5""#,
    r#""5M""#,
    r#"" 5m ""#,
    r#""1e3s""#,
    r#""PT5M""#,
    r#""5 minutes""#,
    r#""٥""#,
    "NaN",
    "Infinity",
    "null",
    r#""""#,
];

/// A field that takes milliseconds. In the body `@` stands for the value and `#` for a number of
/// its own; `echo` points at where the answer repeats the value.
struct Length {
    method: &'static str,
    path: &'static str,
    body: &'static str,
    field: &'static str,
    min: u64,
    max: u64,
    echo: &'static str,
}

const fn length(
    (method, path, body): (&'static str, &'static str, &'static str),
    field: &'static str,
    (min, max): (u64, u64),
    echo: &'static str,
) -> Length {
    Length { method, path, body, field, min, max, echo }
}

const LENGTHS: [Length; 15] = [
    length(
        ("POST", "/v1/sessions", r#"{"label":"a","ttl_ms":@}"#),
        "ttl_ms",
        (TTL_MS_MIN, TTL_MS_MAX),
        "/ttl_ms",
    ),
    length(
        ("PUT", "/v1/roles/r", r#"{"ttl_ms":@}"#),
        "ttl_ms",
        (TTL_MS_MIN, TTL_MS_MAX),
        "/ttl_ms",
    ),
    length(
        ("POST", "/v1/jobs", r#"{"jobs":[{"queue":"q","payload":1,"delay_ms":@}]}"#),
        "jobs[0].delay_ms",
        (0, DURATION_MS_MAX),
        "",
    ),
    length(
        ("POST", "/v1/jobs", r#"{"jobs":[{"queue":"q","payload":1,"timeout_ms":@}]}"#),
        "jobs[0].timeout_ms",
        (1, DURATION_MS_MAX),
        "",
    ),
    length(
        ("POST", "/v1/jobs", r#"{"jobs":[{"queue":"q","payload":1,"backoff_max_ms":@}]}"#),
        "jobs[0].backoff_max_ms",
        (0, DURATION_MS_MAX),
        "",
    ),
    length(
        ("PUT", "/v1/queues/q", r#"{"progress_ms":@}"#),
        "progress_ms",
        (0, DURATION_MS_MAX),
        "/settings/progress_ms",
    ),
    length(
        ("PUT", "/v1/queues/q", r#"{"retain_ms":@}"#),
        "retain_ms",
        (0, DURATION_MS_MAX),
        "/settings/retain_ms",
    ),
    length(
        ("PUT", "/v1/streams/s", r#"{"age_ms_max":@}"#),
        "age_ms_max",
        (0, DURATION_MS_MAX),
        "/settings/age_ms_max",
    ),
    length(
        ("POST", "/v1/workers/w/drain", r#"{"deadline_ms":@}"#),
        "deadline_ms",
        (0, TTL_MS_MAX),
        "",
    ),
    length(("POST", "/v1/queues/q/gate", r#"{"within_ms":@}"#), "within_ms", (1, TTL_MS_MAX), ""),
    length(
        ("POST", "/v1/jobs/claim", r#"{"session":"$","queues":["none"],"wait_ms":@}"#),
        "wait_ms",
        (0, 60_000),
        "",
    ),
    length(
        (
            "POST",
            "/v1/alert-rules",
            r##"{"name":"w#","condition":"queue.depth > 9","window_ms":@}"##,
        ),
        "window_ms",
        (0, DURATION_MS_MAX),
        "",
    ),
    length(
        ("POST", "/v1/alert-rules", r##"{"name":"f#","condition":"queue.depth > 9","for_ms":@}"##),
        "for_ms",
        (0, DURATION_MS_MAX),
        "",
    ),
    length(
        ("POST", "/v1/silences", r#"{"rule":"none","reason":"x","for_ms":@}"#),
        "for_ms",
        (1, SILENCE_MS_MAX),
        "",
    ),
    length(
        ("POST", "/v1/automation/pause", r#"{"reason":"x","for_ms":@}"#),
        "for_ms",
        (1, DURATION_MS_MAX),
        "",
    ),
];

#[tokio::test]
async fn a_length_of_time_is_kept_as_it_was_sent_or_refused_with_its_range() {
    let server = Server::start().await;
    server.session("w", &["none"], 1).await;
    let session = server.session("ana", &["none"], 1).await;
    for one in &LENGTHS {
        for (at, value) in ODD_LENGTHS.iter().enumerate() {
            let body = one.body.replace('@', value).replace('#', &at.to_string());
            let body = body.replace('$', session.as_str().unwrap());
            let what = format!("{} {} {}={value}", one.method, one.path, one.field);
            let response = server.send(one.method, one.path, body).await;
            check(one, value, &what, response).await;
        }
    }
    server.serves_on("every odd length of time").await;
}

async fn check(one: &Length, value: &str, what: &str, response: reqwest::Response) {
    let number: Option<u64> = value.parse().ok();
    let fits = number.is_some_and(|number| (one.min..=one.max).contains(&number));
    if response.status().is_success() {
        assert!(fits || value == "null", "{what} is taken for something");
        let answer: Value = response.json().await.unwrap();
        if let (Some(number), false) = (number, one.echo.is_empty()) {
            assert_eq!(answer.pointer(one.echo), Some(&json!(number)), "{what}: {answer}");
        }
        return;
    }
    let refused = is_refused(response, what).await;
    assert!(!fits, "{what}: {}", refused.detail);
    let named = refused.field.as_deref();
    // What is no JSON at all has no field.
    assert!(named == Some(one.field) || ["NaN", "Infinity"].contains(&value), "{what}: {named:?}");
    assert!(refused.nothing_happened, "{what}");
    if number.is_some() {
        let range = format!("{} to {}", one.min, one.max);
        assert!(refused.detail.contains(&range), "{what}: {} lacks {range}", refused.detail);
    }
}

/// What people write for the rest of a fix, and what it is taken for.
const WRITTEN: [(&str, Option<&str>); 27] = [
    ("15m", Some("15m")),
    ("5M", Some("5m")),
    (" 5m ", Some("5m")),
    ("5 minutes", Some("5m")),
    ("1h 30m", Some("90m")),
    ("3650d", Some("3650d")),
    ("1 5m", None),
    ("1h3 0m", None),
    ("5 m s", None),
    ("3651d", None),
    ("0", None),
    ("5", None),
    ("-1", None),
    ("-5m", None),
    ("1e3s", None),
    ("0.0004s", None),
    ("86400000000000", None),
    ("9223372036854775807ms", None),
    ("18446744073709551616ms", None),
    ("99999999999999999999w", None),
    ("PT5M", None),
    ("٥m", None),
    ("５m", None),
    ("NaN", None),
    ("Infinity", None),
    ("5m\u{0}", None),
    ("null", None),
];

#[tokio::test]
async fn a_written_length_of_time_is_shown_as_it_was_read_or_refused_with_what_is_allowed() {
    let server = Server::start().await;
    for (at, (written, read)) in WRITTEN.iter().enumerate() {
        let fix = json!({
            "name": format!("fix {at}"),
            "condition": "worker.leaving = true and worker.held_jobs > 0",
            "action": "Hand every held job back before the worker stops.",
            "cooldown": written,
        });
        let response = server.post("/v1/auto-fixes", fix).await;
        if let Some(read) = read {
            let added: Value = response.json().await.unwrap();
            assert_eq!(added["definition"]["spec"]["cooldown"], *read, "{written:?}: {added}");
            continue;
        }
        let refused = is_refused(response, written).await;
        assert_eq!(refused.field.as_deref(), Some("cooldown"), "{written:?}: {}", refused.detail);
        assert!(refused.detail.contains("3650d"), "{written:?}: {}", refused.detail);
    }
}

#[tokio::test]
async fn what_is_left_of_a_lease_stays_between_nothing_and_all_of_it_until_it_lapses() {
    let server = Server::start().await;
    let session = server.session("ana", &[], 0).await;
    let path = routes::fill(routes::ROLE_ACQUIRE, "billing");
    server.done(&path, json!({"session": session, "ttl_ms": 400})).await;
    let (mut least, mut looks) = (400, 0);
    loop {
        let role = server.read("/v1/roles/billing").await;
        if role["holder"].is_null() {
            break;
        }
        let left = role["holder"]["left_ms"].as_u64().unwrap();
        assert!(left <= least, "{left} ms are left, {least} before");
        (least, looks) = (left, looks + 1);
    }
    assert!(looks > 0, "it was never seen held");
    let history = server.read("/v1/roles/billing/history").await;
    let items = history["items"].as_array().unwrap();
    let causes: Vec<&str> = items.iter().map(|change| change["cause"].as_str().unwrap()).collect();
    assert_eq!(causes, ["acquired", "lapsed"], "it lapses at one place in the log");
}

#[tokio::test]
async fn one_line_of_a_beat_that_is_not_so_costs_the_others_nothing() {
    let server = Server::start().await;
    let session = server.session("ana", &["q"], 9).await;
    let mut leads: Vec<Value> = Vec::new();
    for role in ["a", "b", "c"] {
        let granted = server
            .done(&routes::fill(routes::ROLE_ACQUIRE, role), json!({"session": session}))
            .await;
        leads.push(json!({"role": role, "token": granted["token"]}));
    }
    server.done(routes::JOBS, json!({"jobs": [{"queue": "q", "payload": 1}]})).await;
    server.done(routes::JOB_CLAIM, json!({"session": session, "queues": ["q"]})).await;
    leads.insert(1, json!({"role": "never", "token": 99}));
    leads.insert(3, json!({"role": "c", "token": 1}));
    let holds = json!([{"job": 999, "claim": 7}, {"job": 1, "claim": 1}, {"job": 1, "claim": 9}]);
    let beat = json!({"session": session, "leads": leads, "holds": holds});
    let reply = server.done(routes::SESSION_BEAT, beat).await;
    let outcomes = reply["leads"].as_array().unwrap();
    let outcomes: Vec<&str> =
        outcomes.iter().map(|lead| lead["outcome"].as_str().unwrap()).collect();
    assert_eq!(outcomes, ["renewed", "lost", "renewed", "lost", "renewed"], "{reply}");
    assert!(!reply["superseded"].as_array().unwrap().contains(&json!({"job": 1, "claim": 1})));
    assert_eq!(server.read("/v1/jobs/1").await["state"], "running");
}
