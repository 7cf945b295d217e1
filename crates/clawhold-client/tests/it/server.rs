//! A server that answers as a script says, over real sockets.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use clawhold_client::api::{Code, Problem};
use clawhold_client::{Backoff, Client, Patience};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::socket;

/// One request as it came in.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) target: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Value,
}

impl Request {
    pub(crate) fn path(&self) -> &str {
        self.target.split('?').next().unwrap()
    }

    pub(crate) fn key(&self) -> &str {
        self.headers.get("idempotency-key").unwrap()
    }
}

/// What the server does with a request.
pub(crate) enum Act {
    /// Answers.
    Reply(u16, Value),
    /// Answers after a while.
    Later(Duration, Value),
    /// Answers with pieces of a stream of events, then closes.
    Stream(String),
    /// Closes the connection without an answer.
    Drop,
    /// Keeps the connection and says nothing.
    Silent,
}

pub(crate) fn ok(body: Value) -> Act {
    Act::Reply(200, body)
}

pub(crate) fn refuse(code: Code) -> Act {
    let problem = Problem::new(code, format!("refused with {code}"));
    Act::Reply(problem.status, serde_json::to_value(problem).unwrap())
}

type Script = dyn FnMut(&Request) -> Act + Send;

/// A running server.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    seen: Arc<Mutex<Vec<Request>>>,
    count: watch::Receiver<usize>,
    /// Requests that asked for a socket.
    asked: Arc<AtomicUsize>,
}

/// What a server does with a request for a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sockets {
    /// Refuses it as a path that it does not know.
    None,
    /// Opens it and serves its calls as the script says.
    Open,
    /// Opens it and closes it at the first frame.
    Mute,
}

impl Server {
    pub(crate) async fn start(script: impl FnMut(&Request) -> Act + Send + 'static) -> Self {
        Self::start_with(Sockets::None, script).await
    }

    pub(crate) async fn start_with(
        sockets: Sockets,
        script: impl FnMut(&Request) -> Act + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let script: Arc<Mutex<Script>> = Arc::new(Mutex::new(script));
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (counter, count) = watch::channel(0);
        let asked = Arc::new(AtomicUsize::new(0));
        let server = Self { address, seen: seen.clone(), count, asked: asked.clone() };
        let room = Arc::new(Room { script, seen, counter, sockets, asked });
        // A thread of its own: tests block the one that they run on.
        let listener = listener.into_std().unwrap();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(async move {
                let listener = TcpListener::from_std(listener).unwrap();
                loop {
                    let (socket, _) = listener.accept().await.unwrap();
                    let room = room.clone();
                    tokio::spawn(async move { serve(socket, &room).await });
                }
            });
        });
        server
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn client(&self) -> Client {
        client(&[self.url()])
    }

    /// Returns the requests to one path, in their order.
    pub(crate) fn seen(&self, path: &str) -> Vec<Request> {
        self.all().into_iter().filter(|request| request.path() == path).collect()
    }

    /// Returns how often a socket was asked for.
    pub(crate) fn sockets_asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    pub(crate) fn all(&self) -> Vec<Request> {
        self.seen.lock().unwrap().clone()
    }

    /// Waits until so many requests to one path came in.
    pub(crate) async fn saw(&self, path: &str, count: usize) -> Vec<Request> {
        let mut counted = self.count.clone();
        let enough = async {
            while self.seen(path).len() < count {
                counted.changed().await.unwrap();
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(20), enough).await;
        assert!(waited.is_ok(), "{path}: {} of {count} requests came", self.seen(path).len());
        self.seen(path)
    }
}

/// Returns a client with little patience.
pub(crate) fn client(urls: &[String]) -> Client {
    let patience = Patience {
        total: Duration::from_secs(2),
        one_try: Duration::from_millis(300),
        connect: Duration::from_millis(300),
        backoff: Backoff { first_ms: 5, longest_ms: 20 },
    };
    Client::connect_with(urls, None, patience).unwrap()
}

/// Returns the reply to the opening of a session.
pub(crate) fn opened(ttl_ms: u64) -> Act {
    let session = "7.0123456789abcdef";
    ok(json!({"session": session, "id": 7, "ttl_ms": ttl_ms, "beat_ms": ttl_ms / 3}))
}

/// Returns the reply to a beat that renews everything it reports.
pub(crate) fn renewed(beat: &Value, valid_ms: u64) -> Value {
    let empty = Vec::new();
    let leads = beat.get("leads").and_then(Value::as_array).unwrap_or(&empty);
    let leads: Vec<Value> = leads
        .iter()
        .map(|lead| {
            json!({"role": lead["role"], "token": lead["token"], "outcome": "renewed",
                   "valid_ms": valid_ms, "latest_token": lead["token"], "asked": null})
        })
        .collect();
    json!({"valid_ms": valid_ms, "leads": leads, "superseded": [], "cancelled": [],
           "drain": null, "granted": []})
}

/// What every connection shares.
pub(crate) struct Room {
    script: Arc<Mutex<Script>>,
    seen: Arc<Mutex<Vec<Request>>>,
    counter: watch::Sender<usize>,
    pub(crate) sockets: Sockets,
    asked: Arc<AtomicUsize>,
}

impl Room {
    /// Notes a request and returns what the script says to it.
    pub(crate) fn act(&self, request: Request) -> Act {
        // The script decides first, so that whoever sees the request also sees what it changed.
        let act = (self.script.lock().unwrap())(&request);
        self.seen.lock().unwrap().push(request);
        self.counter.send_modify(|count| *count += 1);
        act
    }
}

async fn serve(mut socket: TcpStream, room: &Room) {
    while let Some(request) = read(&mut socket).await {
        if request.path() == "/v1/socket" {
            room.asked.fetch_add(1, Ordering::SeqCst);
            if room.sockets == Sockets::None {
                write(&mut socket, 404, &Value::Null).await;
                continue;
            }
            return socket::serve(socket, &request, room).await;
        }
        match room.act(request) {
            Act::Reply(status, body) => write(&mut socket, status, &body).await,
            Act::Later(time, body) => {
                tokio::time::sleep(time).await;
                write(&mut socket, 200, &body).await;
            }
            Act::Stream(text) => {
                let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
                            connection: close\r\n\r\n";
                let _gone = socket.write_all(format!("{head}{text}").as_bytes()).await;
                return;
            }
            Act::Drop => return,
            Act::Silent => {
                let mut rest = [0; 64];
                while socket.read(&mut rest).await.is_ok_and(|count| count > 0) {}
                return;
            }
        }
    }
}

async fn write(socket: &mut TcpStream, status: u16, body: &Value) {
    let body = body.to_string();
    let kind = if status < 300 { "application/json" } else { "application/problem+json" };
    let head = format!(
        "HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\
         clawhold-position: 42\r\n\r\n",
        body.len()
    );
    // The client may have gone away meanwhile.
    let _gone = socket.write_all(format!("{head}{body}").as_bytes()).await;
}

async fn read(socket: &mut TcpStream) -> Option<Request> {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        let mut chunk = [0; 4_096];
        let count = socket.read(&mut chunk).await.ok()?;
        if count == 0 {
            return None;
        }
        bytes.extend_from_slice(&chunk[..count]);
    };
    let head = String::from_utf8(bytes[..head_end].to_vec()).unwrap();
    let mut lines = head.split("\r\n");
    let mut first = lines.next()?.split(' ');
    let target = first.nth(1)?.to_owned();
    let headers: BTreeMap<String, String> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let length: usize = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = bytes[head_end + 4..].to_vec();
    while body.len() < length {
        let mut chunk = [0; 4_096];
        let count = socket.read(&mut chunk).await.ok()?;
        if count == 0 {
            return None;
        }
        body.extend_from_slice(&chunk[..count]);
    }
    let body = if body.is_empty() { Value::Null } else { serde_json::from_slice(&body).unwrap() };
    Some(Request { target, headers, body })
}
