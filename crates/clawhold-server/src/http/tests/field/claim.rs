//! Unique keys: one rule, the same both ways round, that loses nothing.

use clawhold_api::error::Code;
use clawhold_api::routes;
use serde_json::{Value, json};

use super::super::{Server, problem};
use super::is_refused;

/// Two payloads each, as they are sent under one key. Equal is what has the same bytes.
const PAIRS: [(&str, &str); 14] = [
    ("{}", r#"{"a":1}"#),
    (r#"{"a":1}"#, "{}"),
    (r#"{"a":1,"b":2}"#, r#"{"b":2,"a":1}"#),
    ("1", "1.0"),
    ("1", "1e0"),
    ("1", r#""1""#),
    ("0", "-0"),
    (r#"{"a":null}"#, "{}"),
    (r#"{"a":1,"a":2}"#, r#"{"a":2}"#),
    ("\"\u{e9}\"", "\"e\u{301}\""),
    ("[1,2]", "[2,1]"),
    ("[[[[[[[[[[1]]]]]]]]]]", "[[[[[[[[[[2]]]]]]]]]]"),
    ("9007199254740992", "9007199254740993"),
    (r#""\u0000""#, r#""""#),
];

fn body(key: &str, payload: &str) -> String {
    format!(r#"{{"jobs":[{{"queue":"q","unique_key":{},"payload":{payload}}}]}}"#, json!(key))
}

#[tokio::test]
async fn one_key_with_another_payload_is_a_conflict_both_ways_round() {
    let server = Server::start().await;
    let orders = PAIRS.iter().flat_map(|(one, other)| [(one, other), (other, one)]);
    for (at, (first, second)) in orders.enumerate() {
        let key = format!("key {at}");
        let accepted = server.send("POST", routes::JOBS, body(&key, first)).await;
        let accepted: Value = accepted.json().await.unwrap();
        assert_eq!(accepted["jobs"][0]["existing"], false, "{first}: {accepted}");
        let id = &accepted["jobs"][0]["id"];
        let again = server.send("POST", routes::JOBS, body(&key, first)).await;
        let again: Value = again.json().await.unwrap();
        assert_eq!(again["jobs"][0], json!({"id": id, "existing": true}), "{first}");
        let other = problem(server.send("POST", routes::JOBS, body(&key, second)).await).await;
        assert_eq!(other.code, Code::KeyConflict, "{first} then {second}: {}", other.detail);
        assert!(other.detail.contains(&id.to_string()), "{}", other.detail);
    }
    let queue = server.read("/v1/queues/q").await;
    assert_eq!(queue["totals"]["enqueued"], PAIRS.len() * 2);
}

#[tokio::test]
async fn keys_that_only_look_alike_are_two_and_a_key_that_cannot_be_is_named() {
    let server = Server::start().await;
    let alike = ["key", "Key", "key ", " key", "\u{e9}", "e\u{301}", "1", "1.0", "key\u{a0}"];
    let mut ids: Vec<u64> = Vec::new();
    for key in alike {
        let accepted = server.send("POST", routes::JOBS, body(key, "1")).await;
        let accepted: Value = accepted.json().await.unwrap();
        assert_eq!(accepted["jobs"][0]["existing"], false, "{key:?}: {accepted}");
        ids.push(accepted["jobs"][0]["id"].as_u64().unwrap());
    }
    ids.dedup();
    assert_eq!(ids.len(), alike.len());
    let long = "x".repeat(257);
    for key in ["", "a\u{0}b", "a\nb", "\u{202e}key", "key\u{200d}", "\u{feff}key", &long] {
        let refused =
            is_refused(server.send("POST", routes::JOBS, body(key, "1")).await, key).await;
        assert_eq!(refused.field.as_deref(), Some("jobs[0].unique_key"), "{key:?}");
        assert!(refused.detail.contains("1 to 256 bytes"), "{}", refused.detail);
    }
    let longest = "x".repeat(256);
    let longest = server.send("POST", routes::JOBS, body(&longest, "1")).await;
    assert_eq!(longest.status(), 200);
}

#[tokio::test]
async fn a_conflict_within_one_request_leaves_none_of_its_jobs() {
    let server = Server::start().await;
    let job =
        |key: &str, payload: u64| json!({"queue": "q", "unique_key": key, "payload": payload});
    let twice = json!({"jobs": [job("a", 1), job("b", 2), job("a", 1)]});
    let accepted = server.done(routes::JOBS, twice).await;
    assert_eq!(accepted["jobs"][2], json!({"id": accepted["jobs"][0]["id"], "existing": true}));
    let clash = json!({"jobs": [job("c", 1), job("a", 1), job("c", 2)]});
    assert_eq!(server.refused(routes::JOBS, clash).await.code, Code::KeyConflict);
    let queue = server.read("/v1/queues/q").await;
    assert_eq!((&queue["totals"]["enqueued"], &queue["jobs"]["queued"]), (&json!(2), &json!(2)));
}
