//! Standing by: the stream is followed, and a promotion resumes from the recorded position.

use clawhold_client::api::Code;
use clawhold_client::api::Problem;
use clawhold_client::{Followed, Session, SessionOptions, Standby, StandbyError, StandbyOptions};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::server::{Act, Request, Server, ok, opened, renewed};

/// Serves a stream of 3 events and, once `free` is set, the role with a recorded position of 2.
fn serve(request: &Request, free: &AtomicBool, first: u64) -> Act {
    let query = request.target.split_once('?').map_or("", |(_, query)| query);
    let after = query.split('&').find_map(|pair| pair.strip_prefix("after="));
    let after: u64 = after.map_or(0, |after| after.parse().unwrap());
    match request.path() {
        "/v1/sessions" => opened(600),
        "/v1/sessions/beat" => {
            let mut reply = renewed(&request.body, 600);
            if free.load(Ordering::SeqCst) && request.body.get("leads").is_none() {
                reply["granted"] = json!([{"role": "indexer", "token": 41, "ttl_ms": 600}]);
            }
            ok(reply)
        }
        "/v1/roles/indexer/acquire" if free.load(Ordering::SeqCst) => ok(
            json!({"outcome": "granted", "token": 41, "ttl_ms": 600, "holder": null, "position": 2}),
        ),
        "/v1/roles/indexer/acquire" => Act::Silent,
        "/v1/streams/files/events" if after + 1 < first => {
            let mut problem = Problem::new(Code::BelowFloor, "gone");
            problem.first = Some(first);
            Act::Reply(410, serde_json::to_value(problem).unwrap())
        }
        "/v1/streams/files/events" => {
            let events: Vec<_> =
                (after + 1..=3).map(|number| json!({"number": number, "event": "f"})).collect();
            let reply = json!({"events": events, "first": first, "last": 3});
            if events.is_empty() { Act::Later(Duration::from_secs(10), reply) } else { ok(reply) }
        }
        _ => ok(json!({"next": null})),
    }
}

async fn stand_by(first: u64, free: Arc<AtomicBool>, after: u64) -> (Server, Session, Standby) {
    let server = Server::start(move |request| serve(request, &free, first)).await;
    let session = Session::open(&server.client(), SessionOptions::labelled("ben")).await.unwrap();
    let options = StandbyOptions { after, ..StandbyOptions::following("files") };
    let standby = Standby::join(&session, "indexer", options);
    (server, session, standby)
}

#[tokio::test]
async fn a_standby_follows_reports_and_is_promoted_with_the_recorded_position() {
    let free = Arc::new(AtomicBool::new(false));
    let (server, _session, mut standby) = stand_by(1, free.clone(), 0).await;
    let Followed::Events(events) = standby.next().await.unwrap() else { panic!("no events") };
    assert_eq!(events.iter().map(|event| event.number).collect::<Vec<_>>(), [1, 2, 3]);
    // What was given out is consumed when more is asked for, and told by a beat.
    let next = tokio::time::timeout(Duration::from_millis(700), standby.next()).await;
    assert!(next.is_err(), "nothing is new");
    let told =
        |request: &Request| request.body["consumed"] == json!([{"role": "indexer", "through": 3}]);
    assert!(server.seen("/v1/sessions/beat").iter().any(told));

    free.store(true, Ordering::SeqCst);
    let Followed::Promoted(promotion) = standby.next().await.unwrap() else { panic!("no role") };
    assert_eq!((promotion.position, promotion.consumed), (2, 3));
    assert!(promotion.leader.is_leader());
    assert!(matches!(standby.next().await, Err(StandbyError::Over { .. })));
}

#[tokio::test]
async fn a_standby_that_cannot_resume_says_so_and_gives_the_role_back() {
    let free = Arc::new(AtomicBool::new(true));
    let (server, _session, mut standby) = stand_by(4, free, 3).await;
    let error = loop {
        match standby.next().await {
            Ok(Followed::Events(_)) => {}
            Ok(Followed::Promoted(_)) => panic!("it jumped over event 3"),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, StandbyError::Gap { after: 2, first: 4, .. }), "{error}");
    server.saw("/v1/roles/indexer/release", 1).await;
}

#[tokio::test]
async fn a_standby_that_falls_below_the_floor_is_told_and_not_moved() {
    let (_server, _session, mut standby) = stand_by(3, Arc::default(), 0).await;
    let error = standby.next().await.unwrap_err();
    assert!(matches!(error, StandbyError::Gap { after: 0, first: 3, .. }), "{error}");
}
