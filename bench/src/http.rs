//! A lean HTTP/1.1 client: one connection, one request at a time, so that the load generator
//! leaves the processor to the server.

use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// One connection that stays open.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    out: Vec<u8>,
    read: Vec<u8>,
}

impl Connection {
    /// Connects to `127.0.0.1:port`.
    ///
    /// # Errors
    /// When nobody listens there.
    pub async fn open(port: u16) -> io::Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port)).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, out: Vec::new(), read: Vec::with_capacity(64 * 1_024) })
    }

    /// Sends a JSON body and returns the body of the answer.
    ///
    /// # Errors
    /// When the connection breaks or the answer is no success.
    pub async fn post(&mut self, path: &str, body: &[u8]) -> io::Result<&[u8]> {
        self.out.clear();
        self.out.extend_from_slice(b"POST ");
        self.out.extend_from_slice(path.as_bytes());
        self.out.extend_from_slice(
            b" HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: ",
        );
        self.out.extend_from_slice(body.len().to_string().as_bytes());
        self.out.extend_from_slice(b"\r\n\r\n");
        self.out.extend_from_slice(body);
        self.stream.write_all(&self.out).await?;
        self.answer(path).await
    }

    /// Reads a resource and returns the body of the answer.
    ///
    /// # Errors
    /// As for [`Connection::post`].
    pub async fn get(&mut self, path: &str) -> io::Result<&[u8]> {
        let head = format!("GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n");
        self.stream.write_all(head.as_bytes()).await?;
        self.answer(path).await
    }

    async fn answer(&mut self, path: &str) -> io::Result<&[u8]> {
        self.read.clear();
        let (head, length) = loop {
            if self.stream.read_buf(&mut self.read).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if let Some(found) = head_of(&self.read) {
                break found;
            }
        };
        while self.read.len() < head + length {
            if self.stream.read_buf(&mut self.read).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        let body = &self.read[head..head + length];
        if !self.read.starts_with(b"HTTP/1.1 2") {
            let text = String::from_utf8_lossy(&self.read[..self.read.len().min(600)]);
            return Err(io::Error::other(format!("{path}: {text}")));
        }
        Ok(body)
    }
}

/// Returns how long the head is and how long the body, once the head is whole.
fn head_of(bytes: &[u8]) -> Option<(usize, usize)> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let head = std::str::from_utf8(&bytes[..end]).ok()?;
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
    });
    Some((end, length.unwrap_or(0)))
}
