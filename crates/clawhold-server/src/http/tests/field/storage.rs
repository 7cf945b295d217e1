//! What can be written must be readable again: nesting, odd characters, other parsers.

use clawhold_api::error::Code;
use clawhold_api::routes;
use serde_json::{Value, json};

use super::super::door::Scratch;
use super::super::{Server, problem};
use super::is_refused;
use crate::auth::Tokens;

/// JSON values that other stores refuse, change or cannot read back.
fn odd_values() -> Vec<String> {
    let mut values: Vec<String> = [
        r#""\u0000""#,
        r#"{"\u0000":"\u0000"}"#,
        r#"[[["\u0000"]]]"#,
        r#""\uffff\ufeff""#,
        r#""\ud800""#,
        r#""\udc00\ud800""#,
        r#"{"a":1,"a":2}"#,
        r#"{"$type":"x","__proto__":{}}"#,
        "1e999999",
        "-0",
        "0.1000000000000000055511151231257827",
        "{ \"b\" : 1 ,\n\t\"a\" : [ ] }",
        "\"\u{2028}\u{85}\u{202e}\u{feff}\"",
        "\"e\u{301}\"",
        r#""<script>alert(1)</script>""#,
    ]
    .iter()
    .map(|text| (*text).to_owned())
    .collect();
    for (open, close) in [("[", "]"), (r#"{"a":["#, "]}")] {
        let levels = 58 / open.matches(['[', '{']).count();
        values.push(format!("{}{}", open.repeat(levels), close.repeat(levels)));
    }
    values.push("9".repeat(200_000));
    let keys: Vec<String> = (0..20_000).map(|at| format!(r#""{at:x}":0"#)).collect();
    values.push(format!("{{{}}}", keys.join(",")));
    values
}

#[tokio::test]
async fn whatever_json_a_body_may_hold_comes_back_byte_for_byte_also_after_a_restart() {
    let file = Scratch::new("field-storage.db");
    let store = format!("sqlite:{}", file.0.display());
    let server = Server::start_with(&store, Tokens::default()).await;
    let worker = server.session("ana", &["q"], 100).await;
    let values = odd_values();
    let mut ids: Vec<u64> = Vec::new();
    for value in &values {
        ids.push(take_through(&server, worker.as_str().unwrap(), value).await);
    }
    server.running.stop().await.unwrap();

    let server = Server::start_with(&store, Tokens::default()).await;
    for (value, id) in values.iter().zip(ids) {
        let shown = server.get(&routes::fill(routes::JOB, &id.to_string())).await;
        let shown = shown.text().await.unwrap();
        for field in ["payload", "result", "checkpoint"] {
            let kept = format!("\"{field}\":{value}");
            assert!(shown.contains(&kept), "{field} of {}", &value[..value.len().min(60)]);
        }
    }
    let events = server.get("/v1/streams/s/events?limit=1000").await.text().await.unwrap();
    for value in &values {
        assert!(
            events.contains(&format!("\"event\":{value}")),
            "{}",
            &value[..value.len().min(60)]
        );
    }
    server.running.stop().await.unwrap();
}

/// Takes a value through every place that keeps JSON; returns the job that bears it.
async fn take_through(server: &Server, worker: &str, value: &str) -> u64 {
    let start = &value[..value.len().min(60)];
    let sent = async |path: &str, body: String| {
        let response = server.send("POST", path, body).await;
        let status = response.status();
        let text = response.text().await.unwrap();
        assert!(status.is_success(), "{path} {start}: {status} {}", &text[..text.len().min(300)]);
        text
    };
    sent(routes::JOBS, format!(r#"{{"jobs":[{{"queue":"q","payload":{value}}}]}}"#)).await;
    let claim = format!(r#"{{"session":"{worker}","queues":["q"]}}"#);
    let claimed = sent(routes::JOB_CLAIM, claim).await;
    assert!(claimed.contains(&format!("\"payload\":{value}")), "{start}");
    let id = claimed.split_once("\"id\":").unwrap().1.split_once(',').unwrap().0;
    let own = format!(r#""session":"{worker}","job":{id},"claim":1"#);
    sent(routes::JOB_CHECKPOINT, format!(r#"{{{own},"number":1,"checkpoint":{value}}}"#)).await;
    let outcome = format!(r#"{{"completed":{{"result":{value}}}}}"#);
    let one = format!(r#"{{"job":{id},"claim":1,"outcome":{outcome}}}"#);
    sent(routes::JOB_SETTLE, format!(r#"{{"session":"{worker}","settlements":[{one}]}}"#)).await;
    sent("/v1/streams/s/events", format!(r#"{{"events":[{value}]}}"#)).await;
    id.parse().unwrap()
}

/// Places that take JSON of the user's or text, and one that takes no such field at all.
const PLACES: [(&str, &str); 6] = [
    ("/v1/jobs", r#"{"jobs":[{"queue":"q","payload":@}]}"#),
    ("/v1/streams/s/events", r#"{"events":[@]}"#),
    (
        "/v1/jobs/settle",
        r#"{"session":"1.0123456789abcdef","settlements":[{"job":1,"claim":1,"outcome":{"completed":{"result":@}}}]}"#,
    ),
    (
        "/v1/jobs/checkpoint",
        r#"{"session":"1.0123456789abcdef","job":1,"claim":1,"number":1,"checkpoint":@}"#,
    ),
    ("/v1/sessions", r#"{"label":"a","unknown":@}"#),
    ("/v1/auto-fixes", r#"{"name":"a","condition":"x","action":@}"#),
];

#[tokio::test]
async fn one_limit_of_nesting_holds_at_every_door_however_deep_it_goes() {
    let server = Server::start().await;
    for (path, body) in PLACES {
        for levels in [64, 126, 127, 128, 129, 1_000, 10_000, 400_000] {
            for (open, close) in [("[", "]"), (r#"{"a":"#, "}"), (r#"[{"a":"#, "}]")] {
                let count = levels / open.matches(['[', '{']).count();
                let mut deep = format!("{}1{}", open.repeat(count), close.repeat(count));
                let what = format!("{path} {levels} of {open}");
                if deep.len() > 900_000 {
                    // As deep as a body may be long; where it ends is never reached.
                    deep.truncate(900_000);
                }
                let refused =
                    is_refused(server.send("POST", path, body.replace('@', &deep)).await, &what);
                let refused = refused.await;
                assert_eq!(refused.code, Code::BadJson, "{what}");
                assert!(refused.detail.contains("64 levels"), "{what}: {}", refused.detail);
            }
        }
    }
    server.serves_on("nesting without end").await;
}

#[tokio::test]
async fn a_nul_passes_through_what_is_the_users_and_is_refused_where_people_read() {
    let server = Server::start().await;
    let worker = server.session("ana", &["q"], 9).await;
    server.done(routes::JOBS, json!({"jobs": [{"queue": "q", "payload": 1}]})).await;
    server.done(routes::JOB_CLAIM, json!({"session": worker, "queues": ["q"]})).await;
    let settled = |outcome: Value| {
        let one = json!({"job": 1, "claim": 1, "outcome": outcome});
        (routes::JOB_SETTLE, json!({"session": worker, "settlements": [one]}))
    };
    let progress = json!({"session": worker, "job": 1, "claim": 1, "note": "a\u{0}"});
    let texts = [
        (routes::SESSIONS, json!({"label": "a\u{0}"})),
        (routes::SESSIONS, json!({"label": "a", "place": "\u{0}"})),
        (routes::JOBS, json!({"jobs": [{"queue": "q\u{0}", "payload": 1}]})),
        (routes::JOBS, json!({"jobs": [{"queue": "q", "payload": 1, "order_key": "\u{0}"}]})),
        ("/v1/queues/q/pause", json!({"reason": "a\u{0}b"})),
        ("/v1/workers/ana/drain", json!({"reason": "\u{0}"})),
        (routes::JOB_PROGRESS, progress),
        settled(json!({"failed": {"error": "a\u{0}b"}})),
        settled(json!({"dead": {"error": "\u{0}"}})),
        settled(json!({"handed_back": {"reason": "\u{0}"}})),
        ("/v1/runbooks", json!({"name": "a\u{0}", "trigger": "/a", "step": ["show.workers"]})),
        ("/v1/runbooks", json!({"name": "a", "trigger": "/a\u{0}", "step": ["show.workers"]})),
        ("/v1/agents", json!({"name": "a", "messages": ["\u{0}"]})),
        ("/v1/silences", json!({"rule": "x", "reason": "\u{0}", "for_ms": 1})),
    ];
    for (path, body) in texts {
        let what = format!("{path} {body}");
        let refused = is_refused(server.post(path, body).await, &what).await;
        assert!(refused.field.is_some() && refused.nothing_happened, "{what}: {refused:?}");
    }
    let shown = server.read("/v1/jobs/1").await;
    assert_eq!((&shown["state"], &shown["attempts"]), (&json!("running"), &json!(0)), "{shown}");
    let (path, body) = settled(json!({"completed": {"result": "\u{0}"}}));
    server.done(path, body).await;
    assert_eq!(server.read("/v1/jobs/1").await["result"], "\u{0}");
}

#[tokio::test]
async fn a_result_that_cannot_be_kept_leaves_the_job_with_its_holder_to_be_ended() {
    let server = Server::start().await;
    let worker = server.session("ana", &["q"], 9).await;
    server.done(routes::JOBS, json!({"jobs": [{"queue": "q", "payload": 1}]})).await;
    server.done(routes::JOB_CLAIM, json!({"session": worker, "queues": ["q"]})).await;
    let huge = json!({"completed": {"result": "x".repeat(262_145)}});
    let settle = |outcome: Value| json!({"session": worker, "settlements": [{"job": 1, "claim": 1, "outcome": outcome}]});
    let refused = problem(server.post(routes::JOB_SETTLE, settle(huge)).await).await;
    assert_eq!(
        refused.field.as_deref(),
        Some("settlements[0].outcome.completed.result"),
        "{}",
        refused.detail
    );
    let dead = json!({"dead": {"error": "its result is too large"}});
    let ended = server.done(routes::JOB_SETTLE, settle(dead)).await;
    assert_eq!(ended["results"][0]["state"], "failed");
}
