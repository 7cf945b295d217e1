//! Calls over a socket: in shared frames, sent again when it breaks, over HTTP where there is none.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use clawhold_client::api::job::{Enqueue, NewJob};
use clawhold_client::api::{Code, Json};
use clawhold_client::{Client, Producer, Session, SessionOptions};
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::Role;

use crate::server::{Act, Request, Room, Server, Sockets, client, ok, opened, refuse, renewed};

/// Serves a connection that asked for a socket.
pub(crate) async fn serve(mut socket: TcpStream, request: &Request, room: &Room) {
    let accept = derive_accept_key(request.headers["sec-websocket-key"].as_bytes());
    let head = format!(
        "HTTP/1.1 101 X\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
         sec-websocket-accept: {accept}\r\n\r\n"
    );
    tokio::io::AsyncWriteExt::write_all(&mut socket, head.as_bytes()).await.unwrap();
    let stream = WebSocketStream::from_raw_socket(socket, Role::Server, None).await;
    let (mut sink, mut source) = stream.split();
    let (answers, mut answered) = mpsc::channel::<Value>(1_000);
    let mut frames = 0_u64;
    loop {
        tokio::select! {
            Some(answer) = answered.recv() => {
                let frame = Message::text(json!([answer]).to_string());
                if sink.send(frame).await.is_err() {
                    return;
                }
            }
            message = source.next() => {
                let Some(Ok(message)) = message else { return };
                let Message::Text(text) = message else { continue };
                if room.sockets == Sockets::Mute {
                    return;
                }
                frames += 1;
                let calls: Vec<Value> = serde_json::from_str(&text).unwrap();
                for call in calls {
                    if !take(&call, frames, room, &answers) {
                        return;
                    }
                }
            }
        }
    }
}

/// Serves one call; returns whether the connection goes on.
fn take(call: &Value, frame: u64, room: &Room, answers: &mpsc::Sender<Value>) -> bool {
    let mut headers = BTreeMap::from([("frame".to_owned(), frame.to_string())]);
    if let Some(key) = call["key"].as_str() {
        headers.insert("idempotency-key".to_owned(), key.to_owned());
    }
    let target = if call["cancel"] == true { "cancel" } else { call["path"].as_str().unwrap() };
    let request = Request { target: target.to_owned(), headers, body: call["body"].clone() };
    let (status, pause, body) = match room.act(request) {
        Act::Reply(status, body) => (status, Duration::ZERO, body),
        Act::Later(time, body) => (200, time, body),
        Act::Drop => return false,
        Act::Silent => return true,
        Act::Stream(_) => panic!("no stream goes over a socket"),
    };
    let answer = json!({"id": call["id"], "status": status, "position": 42, "body": body});
    let answers = answers.clone();
    tokio::spawn(async move {
        tokio::time::sleep(pause).await;
        // The connection may have ended meanwhile.
        let _gone = answers.send(answer).await;
    });
    true
}

fn one_job() -> Enqueue {
    Enqueue { jobs: vec![NewJob::new("mail", Json::null())] }
}

fn accepted() -> Act {
    ok(json!({"jobs": [{"id": 9, "existing": false}]}))
}

fn is_over_socket(request: &Request) -> bool {
    request.headers.contains_key("frame")
}

/// Returns a client whose socket is open.
async fn with_socket(server: &Server) -> Client {
    let client = server.client().over_socket();
    let open = async {
        while !client.has_socket() {
            client.status().await.unwrap_err();
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), open).await.unwrap();
    client
}

/// Returns a server that refuses to show its status and serves all else as the script says.
async fn start(mut script: impl FnMut(&Request) -> Act + Send + 'static) -> Server {
    Server::start_with(Sockets::Open, move |request| {
        if request.path() == "/v1/status" { refuse(Code::NotFound) } else { script(request) }
    })
    .await
}

#[tokio::test]
async fn calls_go_over_http_until_the_socket_is_open_and_then_over_that() {
    let server = start(|_| accepted()).await;
    let client = server.client().over_socket();
    client.enqueue(&one_job()).await.unwrap();
    assert!(!is_over_socket(&server.seen("/v1/jobs")[0]), "nobody waits for a socket");
    let client = with_socket(&server).await;
    let written = client.enqueue(&one_job()).await.unwrap();
    assert_eq!((written.jobs[0].id, written.position), (9, Some(42)));
    assert!(is_over_socket(&server.seen("/v1/jobs")[1]));
    client.over_http().enqueue(&one_job()).await.unwrap();
    assert!(!is_over_socket(&server.seen("/v1/jobs")[2]));
    let refused = start(|_| refuse(Code::StaleToken)).await;
    let error = with_socket(&refused).await.enqueue(&one_job()).await.unwrap_err();
    assert!(error.is(Code::StaleToken), "{error}");
}

#[tokio::test]
async fn calls_of_many_tasks_share_frames_and_each_gets_its_own_answer() {
    let server = start(|request| {
        let payload = request.body["jobs"][0]["payload"].clone();
        // The later ones are answered first.
        let pause = Duration::from_millis(200 - payload.as_u64().unwrap());
        Act::Later(pause, json!({"jobs": [{"id": payload, "existing": false}]}))
    })
    .await;
    let client = with_socket(&server).await;
    let mut tasks = JoinSet::new();
    for number in 0..200_u64 {
        let client = client.clone();
        tasks.spawn(async move {
            let jobs = vec![NewJob::new("mail", Json::of(&number).unwrap())];
            let enqueued = client.enqueue(&Enqueue { jobs }).await.unwrap();
            assert_eq!(enqueued.jobs[0].id, number);
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
    let seen = server.seen("/v1/jobs");
    assert_eq!(seen.len(), 200);
    let frames: BTreeSet<_> = seen.iter().map(|request| &request.headers["frame"]).collect();
    assert!(frames.len() < 50, "{frames:?}");
    assert_eq!(server.sockets_asked(), 1, "clones share one connection");
}

#[tokio::test]
async fn a_call_whose_socket_breaks_is_sent_again_under_its_key() {
    let mut tries = 0;
    let server = start(move |_| {
        tries += 1;
        if tries == 1 { Act::Drop } else { accepted() }
    })
    .await;
    let client = with_socket(&server).await;
    client.enqueue(&one_job()).await.unwrap();
    let seen = server.seen("/v1/jobs");
    assert_eq!(seen.len(), 2);
    assert!(is_over_socket(&seen[0]));
    assert_eq!(seen[0].key(), seen[1].key());
    let client = with_socket(&server).await;
    client.enqueue(&one_job()).await.unwrap();
    assert!(is_over_socket(server.seen("/v1/jobs").last().unwrap()), "it is opened again");
}

#[tokio::test]
async fn a_socket_that_fell_silent_is_left_after_one_try() {
    let mut tries = 0;
    let server = start(move |_| {
        tries += 1;
        if tries == 1 { Act::Silent } else { accepted() }
    })
    .await;
    let client = with_socket(&server).await;
    let begun = Instant::now();
    client.enqueue(&one_job()).await.unwrap();
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    let seen = server.seen("/v1/jobs");
    assert_eq!(seen[0].key(), seen[1].key());
    assert!(!is_over_socket(&seen[1]), "what may be dead is not tried again");
}

#[tokio::test]
async fn a_server_without_sockets_is_asked_once_and_served_over_http() {
    let server = Server::start(|_| accepted()).await;
    let client = server.client().over_socket();
    for _ in 0..20 {
        client.enqueue(&one_job()).await.unwrap();
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(server.sockets_asked(), 1);
    assert!(!client.has_socket());
    let dead = client.keyed("a\nb").enqueue(&one_job()).await.unwrap_err();
    assert!(dead.to_string().contains("visible ASCII"), "{dead}");
}

#[tokio::test]
async fn what_opens_sockets_and_lets_nothing_through_costs_no_call() {
    let server = Server::start_with(Sockets::Mute, |_| accepted()).await;
    let client = client(&[server.url()]).over_socket();
    for _ in 0..40 {
        client.enqueue(&one_job()).await.unwrap();
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(server.seen("/v1/jobs").len(), 40, "each was carried out once");
    assert!(server.sockets_asked() <= 3, "{}", server.sockets_asked());
}

#[tokio::test]
async fn a_call_that_is_dropped_is_taken_back() {
    let server = start(|request| match request.path() {
        "/v1/jobs" => Act::Silent,
        _ => ok(json!({})),
    })
    .await;
    let client = with_socket(&server).await;
    let call = {
        let client = client.clone();
        tokio::spawn(async move { client.enqueue(&one_job()).await })
    };
    server.saw("/v1/jobs", 1).await;
    assert!(server.seen("cancel").is_empty());
    call.abort();
    server.saw("cancel", 1).await;
    assert!(client.has_socket(), "the others go on");
}

#[tokio::test]
async fn more_calls_than_a_socket_takes_go_over_http_as_well() {
    let server = start(|_| {
        let reply = json!({"jobs": [{"id": 9, "existing": false}]});
        Act::Later(Duration::from_millis(150), reply)
    })
    .await;
    let client = with_socket(&server).await;
    let mut tasks = JoinSet::new();
    for _ in 0..300 {
        let client = client.clone();
        tasks.spawn(async move { client.enqueue(&one_job()).await.map(drop) });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap().unwrap();
    }
    let over = server.seen("/v1/jobs").iter().filter(|request| is_over_socket(request)).count();
    assert_eq!(over, clawhold_client::api::socket::IN_FLIGHT_MAX);
}

#[tokio::test]
async fn beats_of_a_session_have_a_socket_of_their_own() {
    let server = start(|request| match request.path() {
        "/v1/sessions" => opened(300),
        "/v1/sessions/beat" => ok(renewed(&request.body, 300)),
        "/v1/jobs" => Act::Silent,
        _ => ok(json!({})),
    })
    .await;
    let client = server.client();
    let session = Session::open(&client, SessionOptions::labelled("ana")).await.unwrap();
    assert!(session.client().has_socket() || server.sockets_asked() >= 1);
    // Bulk that is never answered holds no beat up.
    let stuck = tokio::spawn({
        let client = session.client().clone();
        async move { client.enqueue(&one_job()).await.map(drop) }
    });
    let beats = server.saw("/v1/sessions/beat", 6).await;
    assert!(is_over_socket(beats.last().unwrap()));
    assert!(session.is_confirmed());
    stuck.abort();
    session.close().await;
}

#[tokio::test]
async fn a_producer_whose_socket_breaks_again_and_again_enqueues_each_job_once() {
    let given = Arc::new(AtomicU64::new(0));
    let mut known: BTreeMap<String, Value> = BTreeMap::new();
    let counted = given.clone();
    let mut requests = 0;
    let server = start(move |request| {
        requests += 1;
        let count = request.body["jobs"].as_array().unwrap().len();
        let reply = known.entry(request.key().to_owned()).or_insert_with(|| {
            let job = |_| json!({"id": counted.fetch_add(1, Ordering::SeqCst), "existing": false});
            json!({"jobs": (0..count).map(job).collect::<Vec<_>>()})
        });
        // Carried out, and the answer is lost.
        if requests % 3 == 0 { Act::Drop } else { ok(reply.clone()) }
    })
    .await;
    let producer = Producer::new(&with_socket(&server).await);
    let mut tasks = JoinSet::new();
    for _ in 0..20 {
        let producer = producer.clone();
        tasks.spawn(async move {
            let mut ids = Vec::new();
            for _ in 0..10 {
                ids.push(producer.enqueue_payload("mail", Json::null()).await.unwrap().id);
            }
            ids
        });
    }
    let mut ids = BTreeSet::new();
    while let Some(more) = tasks.join_next().await {
        ids.extend(more.unwrap());
    }
    assert_eq!(ids.len(), 200);
    assert_eq!(given.load(Ordering::SeqCst), 200, "nothing twice");
}
