//! A receiver of webhooks that runs in the test, and requests that are sent as bytes.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::lead::until;

/// What came with one request.
#[derive(Clone, Debug)]
pub(super) struct Received {
    /// The headers, their names in lower case.
    headers: Vec<(String, String)>,
    pub(super) body: String,
}

/// What was answered to a request.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: String,
}

/// A receiver on this host; it listens until the test ends.
pub(super) struct Receiver {
    pub(super) url: String,
    received: Arc<Mutex<Vec<Received>>>,
}

impl Receiver {
    /// Listens at a port; any when it is 0.
    pub(super) fn at(port: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let received: Arc<Mutex<Vec<Received>>> = Arc::default();
        let kept = Arc::clone(&received);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let kept = Arc::clone(&kept);
                thread::spawn(move || take(stream.unwrap(), &kept));
            }
        });
        Self { url, received }
    }

    pub(super) fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }

    /// Waits for the first request whose body contains `text`.
    pub(super) fn wait_for(&self, text: &str) -> Received {
        until(&format!("a request with {text:?}"), || {
            self.received().into_iter().find(|request| request.body.contains(text))
        })
    }
}

impl Received {
    pub(super) fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map_or_else(|| panic!("no {name}: {self:?}"), |(_, value)| value.as_str())
    }

    pub(super) fn document(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

/// Sends a body to a path of a server and returns what is answered.
pub(super) fn post(url: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    let host = url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    let mut request = format!("POST {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n");
    for (name, value) in headers {
        request.push_str(&format!("{name}: {value}\r\n"));
    }
    request.push_str(&format!("content-length: {}\r\n\r\n{body}", body.len()));
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Answer { status, body: body.to_owned() }
}

/// Returns the HMAC-SHA256 of a text in hexadecimal.
pub(super) fn sign(secret: &str, text: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Takes the requests of one connection and answers each with 200.
fn take(stream: TcpStream, received: &Mutex<Vec<Received>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut stream = stream;
    while let Some(request) = read(&mut reader) {
        received.lock().unwrap().push(request);
        let answer = "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 2\r\n\r\nok";
        if stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

fn read(reader: &mut BufReader<TcpStream>) -> Option<Received> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|count| *count > 0)?;
    let mut headers = Vec::new();
    let mut length = 0;
    loop {
        line.clear();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.parse().ok()?;
        }
        headers.push((name.to_ascii_lowercase(), value.to_owned()));
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Received { headers, body: String::from_utf8(body).ok()? })
}
