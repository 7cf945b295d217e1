//! Leading: acting only before the local deadline, and giving up in good order.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use clawhold_client::api::Code;
use clawhold_client::{
    AcquireError, AcquireOptions, Ending, Leader, LeaderEvent, Session, SessionOptions, Step,
    WhyNot,
};
use serde_json::{Value, json};

use crate::server::{Act, Request, Server, ok, opened, refuse, renewed};

const TTL_MS: u64 = 600;

fn granted(token: u64, position: Option<u64>) -> Act {
    ok(json!({"outcome": "granted", "token": token, "ttl_ms": TTL_MS, "holder": null,
              "position": position}))
}

/// Answers all that a healthy server would; token 41.
fn healthy(request: &Request) -> Act {
    match request.path() {
        "/v1/sessions" => opened(TTL_MS),
        "/v1/sessions/beat" => ok(renewed(&request.body, TTL_MS)),
        "/v1/roles/indexer/acquire" => granted(41, Some(12)),
        "/v1/roles/indexer/release" => ok(json!({"next": null})),
        "/v1/commit" => ok(json!({"jobs": []})),
        _ => ok(json!({})),
    }
}

async fn session(server: &Server) -> Session {
    Session::open(&server.client(), SessionOptions::labelled("ana")).await.unwrap()
}

async fn lead(server: &Server) -> Leader {
    let stream = Some("files".to_owned());
    let options = AcquireOptions { stream, ..AcquireOptions::patient() };
    session(server).await.acquire("indexer", &options).await.unwrap()
}

#[tokio::test]
async fn a_grant_is_confirmed_by_a_beat_that_reports_it_before_it_is_acted_on() {
    let server = Server::start(healthy).await;
    let leader = lead(&server).await;
    assert_eq!((leader.token(), leader.position()), (41, Some(12)));
    assert!(leader.is_leader());
    let all: Vec<String> = server.all().iter().map(|r| r.path().to_owned()).collect();
    assert_eq!(all, ["/v1/sessions", "/v1/roles/indexer/acquire", "/v1/sessions/beat"]);
    let beat = &server.seen("/v1/sessions/beat")[0];
    assert_eq!(beat.body["leads"], json!([{"role": "indexer", "token": 41, "suspended": true}]));
    leader.commit(Step::new().position("files", 13)).await.unwrap();
    let commit = &server.seen("/v1/commit")[0].body;
    assert_eq!(commit["token"], 41);
    assert_eq!(commit["position"], json!({"stream": "files", "through": 13}));
}

#[tokio::test]
async fn a_leader_stops_by_its_own_clock_and_resumes_under_the_same_token() {
    let silent = Arc::new(AtomicBool::new(false));
    let server = {
        let silent = silent.clone();
        Server::start(move |request| {
            let is_silent = silent.load(Ordering::SeqCst);
            if is_silent && request.path() == "/v1/sessions/beat" {
                return Act::Drop;
            }
            healthy(request)
        })
        .await
    };
    let mut leader = lead(&server).await;
    let guard = leader.guard().unwrap();
    silent.store(true, Ordering::SeqCst);
    let begun = Instant::now();
    let work = guard.run(std::future::pending::<()>()).await;
    assert_eq!(work.unwrap_err().why, WhyNot::Suspended);
    assert!(begun.elapsed() < Duration::from_millis(TTL_MS), "{:?}", begun.elapsed());
    assert_eq!(leader.event().await, LeaderEvent::Suspended);
    assert!(leader.commit(Step::new()).await.is_err());
    assert!(server.seen("/v1/commit").is_empty(), "nothing is sent after the deadline");

    silent.store(false, Ordering::SeqCst);
    assert_eq!(leader.event().await, LeaderEvent::Resumed);
    assert_eq!(leader.guard().unwrap().token(), 41);
}

#[tokio::test]
async fn a_leader_whose_thread_was_frozen_acts_no_more() {
    let begun = Arc::new(AtomicU64::new(0));
    let server = {
        let begun = begun.clone();
        Server::start(move |request| {
            let is_beat = request.path() == "/v1/sessions/beat";
            if is_beat && begun.fetch_add(1, Ordering::SeqCst) >= 1 {
                return Act::Silent;
            }
            healthy(request)
        })
        .await
    };
    let leader = lead(&server).await;
    let guard = leader.guard().unwrap();
    let acted = Arc::new(AtomicBool::new(false));
    let work = {
        let acted = acted.clone();
        async move {
            std::thread::sleep(Duration::from_millis(TTL_MS + 100));
            tokio::task::yield_now().await;
            acted.store(true, Ordering::SeqCst);
        }
    };
    assert_eq!(guard.run(work).await.unwrap_err().why, WhyNot::Suspended);
    assert!(!acted.load(Ordering::SeqCst));
}

#[tokio::test]
async fn renewals_that_are_heard_but_never_answered_do_not_keep_the_role() {
    let cut_off = Arc::new(AtomicBool::new(false));
    let server = {
        let cut_off = cut_off.clone();
        Server::start(move |request| {
            let answer = healthy(request);
            let is_beat = request.path() == "/v1/sessions/beat";
            if is_beat && cut_off.load(Ordering::SeqCst) { Act::Drop } else { answer }
        })
        .await
    };
    let mut leader = lead(&server).await;
    cut_off.store(true, Ordering::SeqCst);
    assert_eq!(leader.event().await, LeaderEvent::Suspended);
    assert_eq!(leader.event().await, LeaderEvent::Lost(Ending::Unconfirmed));
    let released = server.saw("/v1/roles/indexer/release", 1).await;
    assert_eq!(released[0].body["token"], 41);
    let before = server.seen("/v1/sessions/beat").len();
    let beats = server.saw("/v1/sessions/beat", before + 2).await;
    assert_eq!(beats.last().unwrap().body.get("leads"), None, "it is reported no more");
}

#[tokio::test]
async fn a_lost_lease_stops_the_work_at_once() {
    let lost = Arc::new(AtomicBool::new(false));
    let server = {
        let lost = lost.clone();
        Server::start(move |request| {
            if request.path() != "/v1/sessions/beat" || !lost.load(Ordering::SeqCst) {
                return healthy(request);
            }
            let mut reply = renewed(&request.body, TTL_MS);
            if let Some(lead) = reply["leads"].get_mut(0) {
                lead["outcome"] = json!("lost");
                lead["latest_token"] = json!(50);
            }
            ok(reply)
        })
        .await
    };
    let mut leader = lead(&server).await;
    let guard = leader.guard().unwrap();
    lost.store(true, Ordering::SeqCst);
    let why = guard.run(std::future::pending::<()>()).await.unwrap_err().why;
    assert_eq!(why, WhyNot::Over(Ending::Lost { latest_token: 50 }));
    assert_eq!(leader.event().await, LeaderEvent::Lost(Ending::Lost { latest_token: 50 }));
    drop(leader);
    assert!(server.seen("/v1/roles/indexer/release").is_empty(), "there is nothing to release");
}

#[tokio::test]
async fn a_stale_commit_ends_the_lease() {
    let server = Server::start(|request| match request.path() {
        "/v1/commit" => refuse(Code::StaleToken),
        _ => healthy(request),
    })
    .await;
    let leader = lead(&server).await;
    assert!(leader.commit(Step::new()).await.is_err());
    assert!(!leader.is_leader());
    assert_eq!(server.seen("/v1/commit").len(), 1);
}

#[tokio::test]
async fn a_release_is_sent_after_the_work_was_dropped_and_the_leader_acts_no_more() {
    let server = Server::start(healthy).await;
    let leader = lead(&server).await;
    let guard = leader.guard().unwrap();
    let working = guard.clone();
    let work = tokio::spawn(async move { working.run(std::future::pending::<()>()).await });
    tokio::task::yield_now().await;
    leader.release().await.unwrap();
    assert_eq!(work.await.unwrap().unwrap_err().why, WhyNot::Leaving);
    assert_eq!(guard.check().unwrap_err().why, WhyNot::Over(Ending::Released));
    assert_eq!(server.seen("/v1/roles/indexer/release").len(), 1);
}

#[tokio::test]
async fn a_dropped_leader_releases_once_while_its_session_lives_on() {
    let server = Server::start(healthy).await;
    let leader = lead(&server).await;
    let session = leader.session().clone();
    drop(leader);
    server.saw("/v1/roles/indexer/release", 1).await;
    let before = server.seen("/v1/sessions/beat").len();
    server.saw("/v1/sessions/beat", before + 2).await;
    assert_eq!(server.seen("/v1/roles/indexer/release").len(), 1);
    drop(session);
}

#[tokio::test]
async fn a_hand_over_that_nobody_takes_leaves_the_role_where_it_is() {
    let server = Server::start(|request| match request.path() {
        "/v1/roles/indexer/hand-over" if request.body["to"] == "ben" => refuse(Code::NotCandidate),
        "/v1/roles/indexer/hand-over" => ok(json!({"session": 8, "token": 60})),
        _ => healthy(request),
    })
    .await;
    let mut leader = lead(&server).await;
    assert!(leader.hand_over(Some("ben")).await.is_err());
    assert!(leader.is_leader());
    assert_eq!(leader.hand_over(None).await.unwrap().token, 60);
    assert_eq!(leader.guard().unwrap_err().why, WhyNot::Over(Ending::HandedOver));
}

#[tokio::test]
async fn an_asked_hand_over_is_told_once_with_its_deadline() {
    let server = Server::start(|request| {
        if request.path() != "/v1/sessions/beat" {
            return healthy(request);
        }
        let mut reply = renewed(&request.body, TTL_MS);
        if let Some(lead) = reply["leads"].get_mut(0) {
            lead["asked"] = json!({"to": null, "left_ms": 5_000});
        }
        ok(reply)
    })
    .await;
    let mut leader = lead(&server).await;
    let LeaderEvent::Asked { to: None, deadline_ms } = leader.event().await else {
        panic!("no hand-over was asked")
    };
    let left = clawhold_client::Clock::default().left(deadline_ms);
    assert!(left <= Duration::from_secs(5) && left > Duration::from_secs(3), "{left:?}");
    let again = tokio::time::timeout(Duration::from_millis(TTL_MS), leader.event()).await;
    assert!(again.is_err(), "{again:?}");
}

#[tokio::test]
async fn a_grant_that_only_a_beat_tells_of_is_taken_up_and_the_position_read() {
    let waiting = json!({"outcome": "waiting", "token": 40, "ttl_ms": TTL_MS,
                         "holder": {"id": 3, "label": "ben", "token": 40}, "position": null});
    let mut asked = 0;
    let mut beats = 0;
    let server = Server::start(move |request| match request.path() {
        "/v1/roles/indexer/acquire" => {
            asked += 1;
            if asked == 1 {
                Act::Later(Duration::from_secs(20), waiting.clone())
            } else {
                granted(41, Some(77))
            }
        }
        "/v1/sessions/beat" => {
            beats += 1;
            let mut reply = renewed(&request.body, TTL_MS);
            if beats >= 2 && request.body.get("leads").is_none() {
                reply["granted"] = json!([{"role": "indexer", "token": 41, "ttl_ms": TTL_MS}]);
            }
            ok(reply)
        }
        _ => healthy(request),
    })
    .await;
    let leader = lead(&server).await;
    assert_eq!((leader.token(), leader.position()), (41, Some(77)));
    let second = &server.seen("/v1/roles/indexer/acquire")[1].body;
    assert_eq!(second["wait_ms"], 0);
}

#[tokio::test]
async fn a_role_that_nobody_here_waits_for_is_given_back() {
    let server = Server::start(|request| {
        if request.path() != "/v1/sessions/beat" {
            return healthy(request);
        }
        let mut reply = renewed(&request.body, TTL_MS);
        reply["granted"] = json!([{"role": "other", "token": 44, "ttl_ms": TTL_MS}]);
        ok(reply)
    })
    .await;
    let _session = session(&server).await;
    let released = server.saw("/v1/roles/other/release", 1).await;
    assert_eq!(released[0].body["token"], 44);
}

#[tokio::test]
async fn a_dropped_request_leaves_the_line() {
    let server = Server::start(|request| match request.path() {
        "/v1/roles/indexer/acquire" => Act::Silent,
        _ => healthy(request),
    })
    .await;
    let session = session(&server).await;
    let options = AcquireOptions::patient();
    let asked = session.acquire("indexer", &options);
    assert!(tokio::time::timeout(Duration::from_millis(200), asked).await.is_err());
    server.saw("/v1/roles/indexer/withdraw", 1).await;
}

#[tokio::test]
async fn a_held_role_is_refused_by_name_and_a_second_request_too() {
    let server = Server::start(|request| match request.path() {
        "/v1/roles/held/acquire" => refuse(Code::RoleHeld),
        _ => healthy(request),
    })
    .await;
    let session = session(&server).await;
    let options = AcquireOptions::default();
    let error = session.acquire("held", &options).await.unwrap_err();
    assert!(matches!(error, AcquireError::Held { .. }), "{error}");
    let _leader = session.acquire("indexer", &options).await.unwrap();
    let error = session.acquire("indexer", &options).await.unwrap_err();
    assert!(matches!(error, AcquireError::Busy { .. }), "{error}");
}

#[tokio::test]
async fn a_lost_session_ends_its_leases_and_its_requests() {
    let gone = Arc::new(AtomicBool::new(false));
    let server = {
        let gone = gone.clone();
        Server::start(move |request| match request.path() {
            "/v1/sessions/beat" if gone.load(Ordering::SeqCst) => refuse(Code::NoSession),
            "/v1/roles/other/acquire" => Act::Later(Duration::from_secs(20), Value::Null),
            _ => healthy(request),
        })
        .await
    };
    let mut leader = lead(&server).await;
    let session = leader.session().clone();
    let options = AcquireOptions::patient();
    let waits = async {
        gone.store(true, Ordering::SeqCst);
        session.acquire("other", &options).await
    };
    let error = waits.await.unwrap_err();
    assert!(matches!(error, AcquireError::SessionOver { .. }), "{error}");
    assert_eq!(leader.event().await, LeaderEvent::Lost(Ending::SessionOver));
}
