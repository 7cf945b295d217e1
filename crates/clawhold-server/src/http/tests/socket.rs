//! Calls over a WebSocket: side by side, within limits, and bad frames that cost nobody else.

use std::time::Duration;

use clawhold_api::error::Code;
use clawhold_api::routes;
use clawhold_api::socket::{FRAME_BYTES_MAX, FRAME_CALLS_MAX, IN_FLIGHT_MAX};
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async};

use super::door::{Scratch, tokens};
use super::{Server, problem};
use crate::auth::Tokens;

/// How long a test waits for what must come.
const PATIENCE: Duration = Duration::from_secs(20);

struct Socket {
    stream: WebSocketStream<TcpStream>,
}

impl Server {
    async fn socket(&self) -> Socket {
        self.socket_with(&[]).await.unwrap()
    }

    async fn socket_with(&self, headers: &[(&'static str, &str)]) -> Result<Socket, Error> {
        let address = self.running.url().strip_prefix("http://").unwrap();
        let target = format!("ws://{address}{}", routes::SOCKET);
        let mut request = target.into_client_request().unwrap();
        for (name, value) in headers {
            request.headers_mut().insert(*name, value.parse().unwrap());
        }
        let stream = TcpStream::connect(address).await.unwrap();
        let (stream, _) = client_async(request, stream).await?;
        Ok(Socket { stream })
    }
}

impl Socket {
    async fn send(&mut self, frame: &Value) {
        self.stream.send(Message::text(frame.to_string())).await.unwrap();
    }

    /// Returns the next frame of answers, or how the server closed.
    async fn next(&mut self) -> Result<Vec<Value>, (u16, String)> {
        loop {
            let message = tokio::time::timeout(PATIENCE, self.stream.next()).await;
            match message.expect("a frame comes in time").unwrap().unwrap() {
                Message::Text(text) => return Ok(serde_json::from_str(&text).unwrap()),
                Message::Close(why) => {
                    let why = why.expect("the server says why");
                    return Err((why.code.into(), why.reason.to_string()));
                }
                Message::Ping(_) | Message::Pong(_) => {}
                Message::Binary(_) | Message::Frame(_) => panic!("frames of answers are text"),
            }
        }
    }

    /// Returns so many answers, sorted by their ids.
    async fn answers(&mut self, count: usize) -> Vec<Value> {
        let mut answers = Vec::new();
        while answers.len() < count {
            answers.extend(self.next().await.unwrap());
        }
        answers.sort_by_key(|answer| answer["id"].as_u64());
        assert_eq!(answers.len(), count, "{answers:?}");
        answers
    }

    async fn call(&mut self, call: Value) -> Value {
        self.send(&json!([call])).await;
        self.answers(1).await.remove(0)
    }
}

fn enqueue(id: u64, queue: &str) -> Value {
    let body = json!({"jobs": [{"queue": queue, "payload": {"n": id}}]});
    json!({"id": id, "method": "POST", "path": routes::JOBS, "body": body})
}

fn claim(id: u64, session: &Value) -> Value {
    let body = json!({"session": session, "queues": ["mail"], "wait_ms": 20_000});
    json!({"id": id, "method": "POST", "path": routes::JOB_CLAIM, "body": body})
}

fn code(answer: &Value) -> &str {
    answer["body"]["code"].as_str().unwrap_or("none")
}

#[tokio::test]
async fn a_waiting_call_holds_no_other_up_and_is_answered_when_its_time_comes() {
    let server = Server::start().await;
    let worker = server.session("ana", &["mail"], 2).await;
    let mut socket = server.socket().await;
    let look = json!({"id": 2, "method": "GET", "path": "/v1/server"});
    socket.send(&json!([claim(1, &worker), look])).await;
    let looked = socket.answers(1).await;
    assert_eq!((&looked[0]["id"], &looked[0]["body"]["state"]), (&json!(2), &json!("active")));
    socket.send(&json!([enqueue(3, "mail")])).await;
    let both = socket.answers(2).await;
    assert_eq!(both[0]["body"]["jobs"][0]["payload"], json!({"n": 3}), "{both:?}");
    assert_eq!(both[0]["body"]["jobs"][0]["id"], both[1]["body"]["jobs"][0]["id"]);
    assert!(both[1]["position"].as_u64() < both[0]["position"].as_u64(), "{both:?}");
    server.running.stop().await.unwrap();
}

#[tokio::test]
async fn a_key_counts_over_http_and_over_a_socket_alike() {
    let server = Server::start().await;
    let body = json!({"jobs": [{"queue": "mail", "payload": 1}]});
    let post = server.http.post(server.url(routes::JOBS)).json(&body);
    let first = post.header(routes::IDEMPOTENCY_KEY, "k-1").send().await.unwrap();
    let position = first.headers()[routes::POSITION].to_str().unwrap().to_owned();
    let first: Value = first.json().await.unwrap();
    let mut socket = server.socket().await;
    let call = json!({"id": 1, "method": "POST", "path": routes::JOBS, "key": "k-1", "body": body});
    let again = socket.call(call).await;
    assert_eq!((&again["replayed"], &again["body"]), (&json!(true), &first));
    assert_ne!(again["position"].to_string(), position, "each has an entry of its own");
    let queue = server.read(&routes::fill(routes::QUEUE, "mail")).await;
    assert_eq!(queue["jobs"]["queued"], 1);
}

#[tokio::test]
async fn a_call_is_refused_as_over_http_and_leaves_its_neighbours_alone() {
    let server = Server::start().await;
    let mut socket = server.socket().await;
    let get = |id: u64, path: &str| json!({"id": id, "method": "GET", "path": path});
    let frame = json!([
        {"id": 1, "method": "POST", "path": "/v1/jobs", "body": {"jobs": [{"queue": "q"}]}},
        {"id": 2, "method": "POST", "path": "/v1/jobs"},
        {"id": 3, "method": "DELETE", "path": "/v1/jobs"},
        get(4, "/v1/nothing"),
        get(5, "v1/jobs"),
        get(6, routes::EVENTS),
        get(7, routes::SOCKET),
        {"id": 8, "methd": "GET"},
        {"id": 9, "method": "POST", "path": "/v1/jobs", "key": "ü", "body": {}},
        get(10, routes::METRICS),
        {"id": 11, "path": "/v1/jobs"},
        get(12, "/v1/jobs?limit=0"),
        enqueue(13, "mail"),
    ]);
    socket.send(&frame).await;
    let answers = socket.answers(13).await;
    let told: Vec<_> = answers.iter().map(|a| (a["status"].as_u64().unwrap(), code(a))).collect();
    let expected = [
        (400, "bad_json"),
        (400, "bad_json"),
        (405, "method_not_allowed"),
        (404, "not_found"),
        (400, "bad_request"),
        (400, "bad_request"),
        (400, "bad_request"),
        (400, "bad_json"),
        (400, "bad_request"),
        (200, "none"),
        (400, "bad_request"),
        (422, "out_of_range"),
        (200, "none"),
    ];
    assert_eq!(told, expected, "{answers:#?}");
    assert_eq!(answers[0]["body"]["field"], "jobs[0].payload");
    assert_eq!(answers[2]["allow"], "GET,HEAD,POST");
    assert!(answers[5]["body"]["detail"].as_str().unwrap().contains("over HTTP"));
    assert!(answers[9]["body"].as_str().unwrap().contains("# HELP"), "metrics are a string");
}

#[tokio::test]
async fn calls_in_flight_are_limited_for_each_connection_and_refused_one_by_one() {
    let server = Server::start().await;
    let worker = server.session("ana", &["mail"], 2).await;
    let mut socket = server.socket().await;
    let last = IN_FLIGHT_MAX as u64;
    let claims: Vec<_> = (1..last).map(|id| claim(id, &worker)).collect();
    socket.send(&json!(claims)).await;
    // One below the limit: there is room for one more.
    let look = |id: u64| json!({"id": id, "method": "GET", "path": "/v1/server"});
    assert_eq!(socket.call(look(last)).await["status"], 200);
    // At the limit, the next one is refused and nobody else is.
    socket.send(&json!([claim(last, &worker)])).await;
    let refused = socket.call(look(last + 1)).await;
    assert_eq!((code(&refused), &refused["body"]["max"]), ("overloaded", &json!(IN_FLIGHT_MAX)));
    assert_eq!(refused["body"]["nothing_happened"], true);
    assert!(refused["retry_after_ms"].as_u64() > Some(0), "{refused}");
    assert_eq!(server.socket().await.call(look(1)).await["status"], 200);
    // One that is taken back makes room, and is not answered.
    socket.send(&json!([{"id": 1, "cancel": true}])).await;
    assert_eq!(socket.call(look(last + 2)).await["status"], 200);
}

#[tokio::test]
async fn calls_of_one_frame_are_limited() {
    let server = Server::start().await;
    let mut socket = server.socket().await;
    for (count, refused) in
        [(FRAME_CALLS_MAX - 1, 0), (FRAME_CALLS_MAX, 0), (FRAME_CALLS_MAX + 1, 1)]
    {
        // Refused at once, so that none of them is in flight.
        let calls: Vec<_> =
            (0..count).map(|id| json!({"id": id, "method": "GET", "path": "x"})).collect();
        socket.send(&json!(calls)).await;
        let answers = socket.answers(count).await;
        let over: Vec<_> = answers.iter().filter(|answer| code(answer) == "overloaded").collect();
        assert_eq!(over.len(), refused, "{count}");
        assert!(over.iter().all(|one| one["id"] == FRAME_CALLS_MAX), "{over:?}");
    }
}

#[tokio::test]
async fn a_frame_is_limited_in_its_bytes() {
    let server = Server::start().await;
    let frame = |bytes: usize| {
        let call = json!({"id": 1, "method": "GET", "path": "/v1/server"}).to_string();
        format!("[{call}{}]", " ".repeat(bytes - call.len() - 2))
    };
    let mut socket = server.socket().await;
    for bytes in [FRAME_BYTES_MAX - 1, FRAME_BYTES_MAX] {
        socket.stream.send(Message::text(frame(bytes))).await.unwrap();
        assert_eq!(socket.answers(1).await[0]["status"], 200, "{bytes}");
    }
    // The server may close before it has read all of it.
    let _broken = socket.stream.send(Message::text(frame(FRAME_BYTES_MAX + 1))).await;
    let (code, reason) = socket.next().await.unwrap_err();
    assert_eq!(code, 1009, "{reason}");
    assert!(reason.contains(&FRAME_BYTES_MAX.to_string()), "{reason}");
}

#[tokio::test]
async fn a_bad_frame_closes_its_connection_with_a_reason_and_no_other() {
    let server = Server::start().await;
    let worker = server.session("ana", &["mail"], 2).await;
    let mut other = server.socket().await;
    other.send(&json!([claim(1, &worker)])).await;
    let twice = json!([enqueue(1, "x"), enqueue(1, "x")]).to_string();
    let deep = "[".repeat(500_000);
    let bad = [
        (Message::text("hello"), 1008, "JSON array"),
        (Message::text("{}"), 1008, "JSON array"),
        (Message::text(""), 1008, "JSON array"),
        (Message::text(deep), 1008, "JSON array"),
        (Message::text("[{\"method\":\"GET\"}]"), 1008, "without an id"),
        (Message::text("[[]]"), 1008, "without an id"),
        (Message::text(twice), 1008, "two calls bear the id 1"),
        (Message::binary(vec![0xff]), 1003, "must be text"),
    ];
    for (message, code, reason) in bad {
        let mut socket = server.socket().await;
        let shown = format!("{message:?}").chars().take(60).collect::<String>();
        socket.stream.send(message).await.unwrap();
        let told = socket.next().await.unwrap_err();
        assert_eq!(told.0, code, "{shown}: {}", told.1);
        assert!(told.1.contains(reason), "{shown}: {}", told.1);
    }
    other.send(&json!([enqueue(2, "mail")])).await;
    let answers = other.answers(2).await;
    assert_eq!(answers[0]["body"]["jobs"][0]["payload"]["n"], 2);
    let none = problem(server.get(&routes::fill(routes::QUEUE, "x")).await).await;
    assert_eq!(none.code, Code::NotFound, "no call of a bad frame was carried out");
}

#[tokio::test]
async fn a_claim_that_is_taken_back_or_whose_connection_ends_takes_no_job() {
    let server = Server::start().await;
    let gone = server.session("gone", &["mail"], 2).await;
    let stays = server.session("stays", &["mail"], 2).await;
    let mut socket = server.socket().await;
    let look = json!({"id": 9, "method": "GET", "path": "/v1/server"});
    // Both wait before the one that stays, and would be served first.
    socket.send(&json!([claim(1, &gone), look])).await;
    assert_eq!(socket.answers(1).await[0]["id"], 9);
    let mut broken = server.socket().await;
    broken.send(&json!([claim(1, &gone), look])).await;
    assert_eq!(broken.answers(1).await[0]["id"], 9);
    // The server answers the close once the claim has left the line.
    broken.stream.close(None).await.unwrap();
    while broken.stream.next().await.is_some_and(|message| message.is_ok()) {}
    socket.send(&json!([{"id": 1, "cancel": true}, claim(2, &stays), look])).await;
    assert_eq!(socket.answers(1).await[0]["id"], 9);
    socket.send(&json!([enqueue(10, "mail")])).await;
    let answers = socket.answers(2).await;
    assert_eq!(answers[0]["id"], 2, "{answers:?}");
    assert_eq!(answers[0]["body"]["jobs"][0]["payload"]["n"], 10, "{answers:?}");
}

#[tokio::test]
async fn who_may_not_call_may_not_open_and_each_call_is_checked_for_its_scope() {
    let server = Server::start_with("memory:", tokens()).await;
    let status = |result: Result<Socket, Error>| match result {
        Err(Error::Http(response)) => response.status().as_u16(),
        Err(other) => panic!("{other}"),
        Ok(_) => 101,
    };
    assert_eq!(status(server.socket_with(&[]).await), 401);
    assert_eq!(status(server.socket_with(&[("authorization", "Bearer nobody")]).await), 401);
    let viewer = ("authorization", "Bearer viewer");
    let elsewhere = Code::HostRefused.status();
    assert_eq!(
        status(server.socket_with(&[viewer, ("origin", "http://evil.test")]).await),
        elsewhere
    );
    assert_eq!(status(server.socket_with(&[viewer, ("host", "evil.test")]).await), elsewhere);
    let mut socket = server.socket_with(&[viewer]).await.unwrap();
    let look = json!({"id": 2, "method": "GET", "path": "/v1/queues"});
    socket.send(&json!([enqueue(1, "mail"), look])).await;
    let answers = socket.answers(2).await;
    assert_eq!((code(&answers[0]), &answers[1]["status"]), ("forbidden", &json!(200)));
    let worker = ("authorization", "Bearer worker");
    let mut socket = server.socket_with(&[worker]).await.unwrap();
    assert_eq!(socket.call(enqueue(1, "mail")).await["status"], 200);
}

#[tokio::test]
async fn a_plain_request_is_told_what_the_path_is_for() {
    let server = Server::start().await;
    let told = problem(server.get(routes::SOCKET).await).await;
    assert_eq!(told.code, Code::BadRequest);
    assert!(told.detail.contains("WebSocket"), "{}", told.detail);
    assert_eq!(server.refused(routes::SOCKET, json!({})).await.code, Code::MethodNotAllowed);
    let limits = server.read(routes::LIMITS).await;
    assert_eq!(limits["socket_in_flight_max"], IN_FLIGHT_MAX);
    assert_eq!(limits["socket_frame_bytes_max"], FRAME_BYTES_MAX);
}

#[tokio::test]
async fn a_standby_passes_calls_on_to_the_active_server() {
    let file = Scratch::new("socket-standby.db");
    let store = format!("sqlite:{}", file.0.display());
    let active = Server::start_with(&store, Tokens::default()).await;
    let standby = Server::start_with(&store, Tokens::default()).await;
    assert_eq!(standby.read(routes::SERVER).await["state"], "standby");
    let worker = active.session("ana", &["mail"], 2).await;
    let mut socket = standby.socket().await;
    let look = json!({"id": 2, "method": "GET", "path": "/v1/server"});
    socket.send(&json!([claim(1, &worker), look])).await;
    assert_eq!(socket.answers(1).await[0]["body"]["state"], "standby", "it speaks for itself");
    socket.send(&json!([enqueue(3, "mail")])).await;
    let answers = socket.answers(2).await;
    assert_eq!(answers[0]["body"]["jobs"][0]["payload"]["n"], 3);
    assert!(answers[1]["position"].as_u64() > Some(0), "{answers:?}");
    standby.running.stop().await.unwrap();
    active.running.stop().await.unwrap();
}

#[tokio::test]
async fn a_server_that_stops_says_so_and_a_waiting_call_does_not_hold_it_up() {
    let server = Server::start().await;
    let worker = server.session("ana", &["mail"], 2).await;
    let mut socket = server.socket().await;
    let look = json!({"id": 2, "method": "GET", "path": "/v1/server"});
    socket.send(&json!([claim(1, &worker), look])).await;
    socket.answers(1).await;
    let stopping = tokio::spawn(server.running.stop());
    let (code, reason) = loop {
        match socket.next().await {
            Ok(answers) => assert_eq!(answers[0]["body"]["code"], "stopping"),
            Err(closed) => break closed,
        }
    };
    assert_eq!(code, 1001, "{reason}");
    drop(socket);
    tokio::time::timeout(Duration::from_secs(4), stopping).await.unwrap().unwrap().unwrap();
}

#[tokio::test]
async fn a_reader_that_does_not_read_is_not_worked_for_and_loses_nothing() {
    let server = Server::start().await;
    let mut socket = server.socket().await;
    let mut sent = 0_u64;
    loop {
        // A large call with a large answer, so that few of them are more than any buffer.
        let call = json!({"id": sent, "method": "GET", "path": routes::OPENAPI}).to_string();
        let frame = format!("[{call}{}]", " ".repeat(256 * 1_024));
        let sending = socket.stream.send(Message::text(frame));
        match tokio::time::timeout(Duration::from_secs(2), sending).await {
            Ok(sending) => sending.unwrap(),
            Err(_) => break,
        }
        sent += 1;
        assert!(sent < 2_000, "the server reads on and on");
    }
    assert_eq!(server.socket().await.call(enqueue(1, "mail")).await["status"], 200);
    let mut answered = std::collections::BTreeSet::new();
    while (answered.len() as u64) < sent {
        let answers = socket.next().await.unwrap();
        answered.extend(answers.iter().filter_map(|answer| answer["id"].as_u64()));
    }
}
