//! Numbers at the borders of what machines hold: taken as they are, or refused by name.

use std::time::Duration;

use clawhold_api::routes;
use serde_json::{Value, json};

use super::super::Server;

/// The borders of 31, 32, 53, 63 and 64 bits, and what lies on both sides.
const BORDERS: [u64; 14] = [
    (1 << 31) - 1,
    1 << 31,
    (1 << 32) - 1,
    1 << 32,
    (1 << 32) + 1,
    (1 << 53) - 1,
    1 << 53,
    (1 << 53) + 1,
    (1 << 63) - 1,
    1 << 63,
    (1 << 63) + 1,
    u64::MAX - 2,
    u64::MAX - 1,
    u64::MAX,
];

/// Every place in a body that takes a number; `@` stands for it, `$` for a live session.
const BODIES: [(&str, &str, &str); 34] = [
    ("POST", "/v1/sessions", r#"{"label":"a","queues":["q"],"slots":@}"#),
    ("POST", "/v1/sessions/beat", r#"{"session":"$","leads":[{"role":"r","token":@}]}"#),
    ("POST", "/v1/sessions/beat", r#"{"session":"$","holds":[{"job":@,"claim":1}]}"#),
    ("POST", "/v1/sessions/beat", r#"{"session":"$","holds":[{"job":1,"claim":@}]}"#),
    ("POST", "/v1/sessions/beat", r#"{"session":"$","consumed":[{"role":"r","through":@}]}"#),
    ("PUT", "/v1/roles/r", r#"{"lag_events_max":@}"#),
    ("POST", "/v1/roles/r/release", r#"{"session":"$","token":@}"#),
    ("POST", "/v1/roles/r/hand-over", r#"{"token":@}"#),
    ("PUT", "/v1/queues/other", r#"{"running_max":@}"#),
    ("PUT", "/v1/queues/other", r#"{"retain_count":@}"#),
    ("PUT", "/v1/queues/other", r#"{"losses_max":@}"#),
    ("PUT", "/v1/queues/other", r#"{"hand_backs_max":@}"#),
    ("PUT", "/v1/queues/other", r#"{"live_max":@}"#),
    ("POST", "/v1/jobs", r#"{"jobs":[{"queue":"q","payload":@,"priority":@}]}"#),
    ("POST", "/v1/jobs", r#"{"jobs":[{"queue":"q","payload":1,"attempts_max":@}]}"#),
    ("POST", "/v1/jobs/claim", r#"{"session":"$","queues":["none"],"max":@}"#),
    (
        "POST",
        "/v1/jobs/settle",
        r#"{"session":"$","settlements":[{"job":@,"claim":1,"outcome":{"completed":{}}}]}"#,
    ),
    (
        "POST",
        "/v1/jobs/settle",
        r#"{"session":"$","settlements":[{"job":1,"claim":@,"outcome":{"completed":{}}}]}"#,
    ),
    (
        "POST",
        "/v1/jobs/settle",
        r#"{"session":"$","settlements":[{"job":1,"claim":9,"outcome":{"snoozed":{"for_ms":@}}}]}"#,
    ),
    ("POST", "/v1/jobs/progress", r#"{"session":"$","job":@,"claim":1}"#),
    ("POST", "/v1/jobs/progress", r#"{"session":"$","job":1,"claim":1,"percent":@}"#),
    (
        "POST",
        "/v1/jobs/checkpoint",
        r#"{"session":"$","job":@,"claim":@,"number":1,"checkpoint":1}"#,
    ),
    (
        "POST",
        "/v1/jobs/checkpoint",
        r#"{"session":"$","job":1,"claim":1,"number":@,"checkpoint":1}"#,
    ),
    ("POST", "/v1/jobs/cancel", r#"{"jobs":[@]}"#),
    ("POST", "/v1/jobs/cancel", r#"{"jobs":[9],"grace_ms":@}"#),
    ("POST", "/v1/jobs/retry", r#"{"jobs":[@]}"#),
    ("POST", "/v1/jobs/hand-back", r#"{"jobs":[{"job":9,"claim":@}]}"#),
    ("PUT", "/v1/streams/s", r#"{"events_max":@}"#),
    ("PUT", "/v1/streams/s", r#"{"bytes_max":@}"#),
    ("POST", "/v1/streams/s/events", r#"{"events":[@],"expected":@}"#),
    ("POST", "/v1/commit", r#"{"role":"r","session":"$","token":@}"#),
    (
        "POST",
        "/v1/commit",
        r#"{"role":"r","session":"$","token":%,"position":{"stream":"s","through":@}}"#,
    ),
    ("POST", "/v1/inbox/read", r#"{"through":@}"#),
    ("POST", "/v1/runs/@/cancel", r#"{"reason":"x"}"#),
];

#[tokio::test]
async fn a_number_at_any_border_is_answered_and_stops_nobody() {
    let server = Server::start().await;
    let session = server.session("ana", &["q"], 9).await;
    let acquire = routes::fill(routes::ROLE_ACQUIRE, "r");
    let granted = server.done(&acquire, json!({"session": session, "stream": "s"})).await;
    let token = granted["token"].to_string();
    server.done("/v1/streams/s/events", json!({"events": [1, 2, 3]})).await;
    server.done(routes::JOBS, json!({"jobs": [{"queue": "q", "payload": 1}]})).await;
    server.done(routes::JOB_CLAIM, json!({"session": session, "queues": ["q"]})).await;
    for (method, path, body) in BODIES {
        for border in BORDERS {
            let number = border.to_string();
            let path = path.replace('@', &number);
            let body = body.replace('@', &number).replace('%', &token);
            let body = body.replace('$', session.as_str().unwrap());
            let what = format!("{method} {path} {body}");
            let response = server.send(method, &path, body).await;
            let status = response.status().as_u16();
            let text = response.text().await.unwrap();
            assert!(status < 500, "{what}: {status} {text}");
        }
    }
    server.serves_on("every border in every body").await;
    let shown = server.read("/v1/jobs/1").await;
    assert_eq!((&shown["state"], &shown["claim"]), (&json!("running"), &json!(1)), "{shown}");
    let stream = server.read("/v1/streams/s").await;
    assert_eq!(stream["last"], 3, "{stream}");
    let role = server.read("/v1/roles/r").await;
    assert_eq!(role["token"], granted["token"], "{role}");
}

#[tokio::test]
async fn a_number_at_any_border_in_a_path_or_a_query_is_answered_and_stops_nobody() {
    let server = Server::start().await;
    server.done("/v1/streams/s/events", json!({"events": [1, 2, 3]})).await;
    let document = server.read(routes::OPENAPI).await;
    let mut asked = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        let parameters = methods["get"]["parameters"].as_array();
        for parameter in parameters.into_iter().flatten() {
            let name = parameter["name"].as_str().unwrap();
            if parameter["in"] == "header" {
                continue;
            }
            for border in BORDERS {
                let url = border_url(path, name, border);
                // A stream of events has its headers at once and its body without end.
                let got = tokio::time::timeout(Duration::from_secs(5), server.get(&url)).await;
                let status = got.expect("an answer begins in time").status().as_u16();
                assert!(status < 500, "GET {url}: {status}");
                asked += 1;
            }
        }
    }
    assert!(asked > 50 * BORDERS.len(), "{asked} were asked");
    server.serves_on("every border in every path and query").await;
}

/// Returns a path whose parameter `name` is `number`, in the path or in the query.
fn border_url(path: &str, name: &str, number: u64) -> String {
    let place = format!("{{{name}}}");
    let query = if path.contains(&place) { String::new() } else { format!("?{name}={number}") };
    let mut filled = path.replace(&place, &number.to_string());
    while filled.contains('{') {
        filled = routes::fill(&filled, "s");
    }
    filled + &query
}

#[tokio::test]
async fn a_number_of_the_users_comes_back_digit_for_digit() {
    let server = Server::start().await;
    let worker = server.session("ana", &["q"], 100).await;
    for border in BORDERS {
        let body =
            format!(r#"{{"jobs":[{{"queue":"q","payload":{{"n":{border},"f":{border}.0}}}}]}}"#);
        let accepted = server.send("POST", routes::JOBS, body).await;
        assert_eq!(accepted.status(), 200);
        let claim = json!({"session": worker, "queues": ["q"]});
        let claimed = server.post(routes::JOB_CLAIM, claim).await.text().await.unwrap();
        let kept = format!(r#""payload":{{"n":{border},"f":{border}.0}}"#);
        assert!(claimed.contains(&kept), "{claimed} lacks {kept}");
    }
    let set = server.send("PUT", "/v1/roles/r", format!(r#"{{"lag_events_max":{}}}"#, u64::MAX));
    let shown: Value = set.await.json().await.unwrap();
    assert_eq!(shown["lag_events_max"].as_u64(), Some(u64::MAX), "{shown}");
}
