//! A program that others call: it keeps what it gets and answers what it is told to.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

/// One request that came in.
#[derive(Debug)]
pub(super) struct Got {
    pub(super) path: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

impl Got {
    pub(super) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

/// What a receiver answers next: a status, and how long it wants to be left alone.
pub(super) type Answer = (u16, Option<&'static str>);

#[derive(Clone, Debug)]
struct Shared {
    got: mpsc::UnboundedSender<Got>,
    answers: Arc<Mutex<VecDeque<Answer>>>,
}

/// A receiver on loopback.
#[derive(Debug)]
pub(super) struct Receiver {
    pub(super) url: String,
    got: mpsc::UnboundedReceiver<Got>,
    answers: Arc<Mutex<VecDeque<Answer>>>,
}

impl Receiver {
    pub(super) async fn start() -> Self {
        let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (sender, got) = mpsc::unbounded_channel();
        let answers: Arc<Mutex<VecDeque<Answer>>> = Arc::default();
        let shared = Shared { got: sender, answers: Arc::clone(&answers) };
        let app = Router::new().fallback(take).with_state(shared);
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { url, got, answers }
    }

    /// Says what is answered to the next requests; 200 to those after them.
    pub(super) fn answer(&self, answers: &[Answer]) {
        self.answers.lock().unwrap().extend(answers);
    }

    /// Returns the next request.
    pub(super) async fn next(&mut self) -> Got {
        let next = tokio::time::timeout(std::time::Duration::from_secs(20), self.got.recv());
        next.await.expect("a request comes").expect("the receiver lives")
    }

    /// Returns whether a request is there already.
    pub(super) fn has_more(&mut self) -> bool {
        self.got.try_recv().is_ok()
    }
}

async fn take(State(shared): State<Shared>, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    let path = uri.path().to_owned();
    shared.got.send(Got { path, headers, body }).unwrap();
    let answer = shared.answers.lock().unwrap().pop_front();
    let (status, retry_after) = answer.unwrap_or((200, None));
    let status = StatusCode::from_u16(status).unwrap();
    match retry_after {
        Some(wait) => (status, [("retry-after", wait)], "no").into_response(),
        None => (status, "ok").into_response(),
    }
}

/// A mail server on loopback that takes one mail and returns its text.
pub(super) async fn mail_server() -> (String, tokio::task::JoinHandle<String>) {
    let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await.unwrap();
    let server = format!("smtp://{}", listener.local_addr().unwrap());
    let taken = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let (reader, mut writer) = stream.into_split();
        let mut lines = BufReader::new(reader);
        writer.write_all(b"220 mail\r\n").await.unwrap();
        let mut data = String::new();
        loop {
            let mut line = String::new();
            if lines.read_line(&mut line).await.unwrap() == 0 {
                return data;
            }
            let verb = line.split_whitespace().next().unwrap_or("").to_uppercase();
            let answer: &[u8] = match verb.as_str() {
                "EHLO" | "HELO" => b"250 mail\r\n",
                "DATA" => {
                    writer.write_all(b"354 go\r\n").await.unwrap();
                    data = read_data(&mut lines).await;
                    b"250 kept\r\n"
                }
                "QUIT" => b"221 bye\r\n",
                _ => b"250 ok\r\n",
            };
            writer.write_all(answer).await.unwrap();
            if !data.is_empty() {
                return data;
            }
        }
    });
    (server, taken)
}

async fn read_data<R: AsyncBufReadExt + AsyncReadExt + Unpin>(lines: &mut R) -> String {
    let mut data = String::new();
    loop {
        let mut line = String::new();
        lines.read_line(&mut line).await.unwrap();
        if line == ".\r\n" || line.is_empty() {
            return data;
        }
        data.push_str(&line);
    }
}
