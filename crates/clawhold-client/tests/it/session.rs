//! Sessions: beats go on beside the work, and the end of one is told.

use std::time::{Duration, Instant};

use clawhold_client::api::Code;
use clawhold_client::{Session, SessionEnd, SessionOptions};
use serde_json::json;

use crate::server::{Act, Server, ok, opened, refuse, renewed};

async fn open(server: &Server) -> Session {
    Session::open(&server.client(), SessionOptions::labelled("ana")).await.unwrap()
}

#[tokio::test]
async fn beats_go_on_while_the_thread_of_the_handlers_is_blocked() {
    let server = Server::start(|request| match request.path() {
        "/v1/sessions" => opened(300),
        "/v1/sessions/beat" => ok(renewed(&request.body, 300)),
        _ => ok(json!({})),
    })
    .await;
    let session = open(&server).await;
    // This test's runtime has this thread only.
    std::thread::sleep(Duration::from_millis(1_200));
    assert!(session.is_confirmed());
    let beats = server.seen("/v1/sessions/beat").len();
    assert!(beats >= 6, "{beats} beats in four ttls");
}

#[tokio::test]
async fn a_session_that_the_server_gave_up_is_over_and_one_that_is_silent_is_not() {
    let mut beats = 0;
    let server = Server::start(move |request| match request.path() {
        "/v1/sessions" => opened(300),
        "/v1/sessions/beat" => {
            beats += 1;
            if beats < 5 { Act::Silent } else { refuse(Code::NoSession) }
        }
        _ => ok(json!({})),
    })
    .await;
    let session = open(&server).await;
    server.saw("/v1/sessions/beat", 4).await;
    assert!(!session.is_confirmed(), "its time is up by the local clock");
    assert_eq!(session.end(), None, "a server that is away expires nobody");
    assert!(matches!(session.over().await, SessionEnd::Lost(_)));
}

#[tokio::test]
async fn a_kick_is_a_beat_at_once() {
    let server = Server::start(|request| match request.path() {
        "/v1/sessions" => opened(60_000),
        "/v1/sessions/beat" => ok(renewed(&request.body, 60_000)),
        _ => ok(json!({})),
    })
    .await;
    let session = open(&server).await;
    let begun = Instant::now();
    session.report_consumed("indexer", 12);
    session.report_consumed("indexer", 11);
    session.kick();
    let beats = server.saw("/v1/sessions/beat", 1).await;
    assert!(begun.elapsed() < Duration::from_secs(5));
    assert_eq!(beats[0].body["consumed"], json!([{"role": "indexer", "through": 12}]));
}

#[tokio::test]
async fn the_last_handle_closes_the_session() {
    let server = Server::start(|request| match request.path() {
        "/v1/sessions" => opened(60_000),
        _ => ok(json!({})),
    })
    .await;
    let session = open(&server).await;
    let other = session.clone();
    drop(session);
    assert_eq!(other.end(), None);
    drop(other);
    let closed = server.saw("/v1/sessions/close", 1).await;
    assert_eq!(closed[0].body, json!({"session": "7.0123456789abcdef"}));
}
