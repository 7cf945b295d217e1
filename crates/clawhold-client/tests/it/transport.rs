//! Calls: retried by their code, under one key, against servers that drop and stall.

use std::time::{Duration, Instant};

use clawhold_client::api::job::{Enqueue, NewJob};
use clawhold_client::api::page::PageQuery;
use clawhold_client::api::queue::Queue;
use clawhold_client::api::{Code, Json};
use clawhold_client::{Client, ClientError};
use serde_json::json;

use crate::server::{Act, Server, client, ok, refuse};

fn one_job() -> Enqueue {
    Enqueue { jobs: vec![NewJob::new("mail", Json::null())] }
}

fn accepted() -> Act {
    ok(json!({"jobs": [{"id": 9, "existing": false}]}))
}

#[tokio::test]
async fn a_write_whose_reply_is_lost_is_sent_again_under_its_key() {
    let mut tries = 0;
    let server = Server::start(move |_| {
        tries += 1;
        if tries < 3 { Act::Drop } else { accepted() }
    })
    .await;
    let client = server.client();
    let enqueued = client.enqueue(&one_job()).await.unwrap();
    assert_eq!(enqueued.jobs[0].id, 9);
    assert_eq!(enqueued.position, Some(42));
    client.enqueue(&one_job()).await.unwrap();

    let seen = server.seen("/v1/jobs");
    assert_eq!(seen.len(), 4);
    assert_eq!(seen[0].key(), seen[1].key());
    assert_eq!(seen[0].key(), seen[2].key());
    assert_ne!(seen[0].key(), seen[3].key(), "another write has another key");
    assert_eq!(seen[0].body, seen[2].body);
    assert!(seen.iter().all(|request| request.key().len() <= 64));
}

#[tokio::test]
async fn two_clients_never_share_a_key() {
    let server = Server::start(|_| accepted()).await;
    let (one, two) = (server.client(), server.client());
    one.enqueue(&one_job()).await.unwrap();
    two.enqueue(&one_job()).await.unwrap();
    one.keyed("mine").enqueue(&one_job()).await.unwrap();
    let seen = server.seen("/v1/jobs");
    assert_ne!(seen[0].key(), seen[1].key());
    assert_eq!(seen[2].key(), "mine");
}

#[tokio::test]
async fn a_server_that_is_not_active_or_not_there_is_left_for_the_next() {
    let standby = Server::start(|_| refuse(Code::NotActive)).await;
    let active = Server::start(|_| accepted()).await;
    let nobody = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    };
    let client = client(&[nobody, standby.url(), active.url()]);
    client.enqueue(&one_job()).await.unwrap();
    assert_eq!(standby.seen("/v1/jobs").len(), 1);
    client.enqueue(&one_job()).await.unwrap();
    assert_eq!(standby.seen("/v1/jobs").len(), 1, "the one that answered is asked first");
    assert_eq!(active.seen("/v1/jobs").len(), 2);
}

#[tokio::test]
async fn a_frozen_server_is_left_after_one_try_with_the_same_key() {
    let frozen = Server::start(|_| Act::Silent).await;
    let other = Server::start(|_| accepted()).await;
    let client = client(&[frozen.url(), other.url()]);
    let begun = Instant::now();
    client.enqueue(&one_job()).await.unwrap();
    assert!(begun.elapsed() < Duration::from_millis(1_500), "{:?}", begun.elapsed());
    assert_eq!(frozen.seen("/v1/jobs")[0].key(), other.seen("/v1/jobs")[0].key());
}

#[tokio::test]
async fn a_refusal_is_never_sent_again() {
    for code in [Code::StaleToken, Code::Superseded, Code::OutOfRange, Code::RequestConflict] {
        let server = Server::start(move |_| refuse(code)).await;
        let error = server.client().enqueue(&one_job()).await.unwrap_err();
        assert!(error.is(code), "{error}");
        assert!(error.nothing_happened());
        assert_eq!(server.all().len(), 1, "{code}");
    }
}

#[tokio::test]
async fn an_outcome_that_nobody_knows_is_called_unknown_and_not_failed() {
    let mut tries = 0;
    let server = Server::start(move |_| {
        tries += 1;
        if tries == 1 { refuse(Code::OutcomeUnknown) } else { refuse(Code::NotActive) }
    })
    .await;
    let patient = server.client().within(Duration::from_millis(200));
    let error = patient.enqueue(&one_job()).await.unwrap_err();
    assert!(matches!(error, ClientError::Unknown { .. }), "{error}");
    assert!(!error.nothing_happened());
    let keys: Vec<_> = server.all().iter().map(|request| request.key().to_owned()).collect();
    assert!(keys.len() > 2, "{keys:?}");
    assert!(keys.iter().all(|key| *key == keys[0]), "{keys:?}");
}

#[tokio::test]
async fn a_call_ends_when_its_time_is_up() {
    let server = Server::start(|_| Act::Silent).await;
    let begun = Instant::now();
    let error = server.client().queue("mail").await.unwrap_err();
    assert!(error.nothing_happened(), "a read changes nothing: {error}");
    let took = begun.elapsed();
    assert!(Duration::from_secs(1) < took && took < Duration::from_secs(4), "{took:?}");
}

#[tokio::test]
async fn an_answer_that_is_not_ours_is_named() {
    let server = Server::start(|_| Act::Reply(404, json!("hello"))).await;
    let error = server.client().queue("a/b").await.unwrap_err();
    assert!(matches!(&error, ClientError::Strange { status: 404, .. }), "{error}");
    assert_eq!(server.all()[0].target, "/v1/queues/a%2Fb");
}

#[tokio::test]
async fn a_list_is_read_page_by_page_to_its_end() {
    let server = Server::start(|request| {
        let queue = |name: &str| {
            let zero = json!({"scheduled":0,"queued":0,"returned":0,"running":0,"completed":0,
                              "failed":0,"cancelled":0});
            let totals = json!({"enqueued":0,"completed":0,"failed":0,"cancelled":0,"purged":0,
                                "retried":0,"claimed":0,"returned":0});
            let settings = json!({"running_max":0,"progress_ms":0,"retain_count":0,"retain_ms":0,
                                  "losses_max":3,"hand_backs_max":20,"live_max":0});
            json!({"name":name,"jobs":zero,"totals":totals,"oldest_waiting_ms":null,
                   "settings":settings,"paused":null,"gate":null,"unplaced":0,"workers":0})
        };
        match request.target.as_str() {
            "/v1/queues?limit=1" => ok(json!({"items":[queue("a")],"next_cursor":"a b"})),
            "/v1/queues?limit=1&cursor=a%20b" => {
                ok(json!({"items":[queue("b")],"next_cursor":null}))
            }
            _ => refuse(Code::BadRequest),
        }
    })
    .await;
    let wanted = PageQuery { cursor: None, limit: Some(1) };
    let all: Vec<Queue> = server.client().queues(&wanted).collect(10).await.unwrap();
    let names: Vec<_> = all.iter().map(|queue| queue.name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
}

#[tokio::test]
async fn a_token_goes_along_and_is_never_shown() {
    let server = Server::start(|_| accepted()).await;
    let client = Client::connect(&[server.url()], Some("sesame")).unwrap();
    client.enqueue(&one_job()).await.unwrap();
    assert_eq!(server.all()[0].headers["authorization"], "Bearer sesame");
    assert!(!format!("{client:?}").contains("sesame"));
}

#[test]
fn a_url_or_token_that_cannot_work_is_refused_by_name() {
    let bad = |url: &str| Client::connect(&[url], None).unwrap_err().to_string();
    assert!(bad("https://a:1").contains("TLS"), "{}", bad("https://a:1"));
    assert!(bad("ftp://a:1").contains("http://127.0.0.1:7717"));
    assert!(bad("not a url").contains("no URL"));
    assert!(bad("http://a:1/v1").contains("host and port"));
    let secret = bad("http://ana:sesame@a:1");
    assert!(!secret.contains("sesame"), "{secret}");
    assert!(Client::connect::<&str>(&[], None).is_err());
    for token in ["", "a b", "a\n", "ä"] {
        let error = Client::connect(&["http://a:1"], Some(token)).unwrap_err();
        assert!(matches!(error, ClientError::Setting { name: "token", .. }), "{error}");
    }
}
