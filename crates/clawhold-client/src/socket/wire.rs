//! One connection: calls of any number of tasks, gathered into frames.
//!
//! There is no timer: calls that are made while a frame is being written leave with the next one.
//! A call that its caller drops is taken back, so that the server gives nothing to nobody.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use clawhold_api::socket as frames;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use serde_json::value::RawValue;
use tokio::net::TcpStream;
use tokio::sync::{Notify, Semaphore, oneshot};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};

use crate::call::Call;

type Stream = WebSocketStream<TcpStream>;

/// What the server answered.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) position: Option<u64>,
    pub(crate) replayed: bool,
    pub(crate) body: Bytes,
}

/// The call was sent and no answer came.
#[derive(Debug)]
pub(crate) struct NoReply;

/// An open connection, as those see it who call over it.
#[derive(Debug)]
pub(crate) struct Wire {
    parts: Mutex<Parts>,
    /// Wakes whoever writes frames.
    wake: Notify,
    /// What the server lets wait for answers.
    room: Semaphore,
    /// Frames that came in.
    heard: AtomicU64,
}

#[derive(Debug, Default)]
struct Parts {
    /// Frames without their end that wait to be written, the last one still growing.
    unsent: VecDeque<Frame>,
    waiting: HashMap<u64, oneshot::Sender<Reply>>,
    last_id: u64,
    is_over: bool,
}

#[derive(Debug, Default)]
struct Frame {
    text: Vec<u8>,
    count: usize,
}

impl Default for Wire {
    fn default() -> Self {
        Self {
            parts: Mutex::default(),
            wake: Notify::new(),
            room: Semaphore::new(frames::IN_FLIGHT_MAX),
            heard: AtomicU64::new(0),
        }
    }
}

/// A call whose answer its caller waits for. It is taken back when it is dropped before.
struct Waiting<'a> {
    wire: &'a Wire,
    id: u64,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut parts = self.wire.parts();
        if parts.waiting.remove(&self.id).is_some() {
            parts.put(&frames::Call::cancel(self.id));
            drop(parts);
            self.wire.wake.notify_one();
        }
    }
}

impl Wire {
    /// Sends a call and returns the answer; `None` when it did not leave and HTTP has to take it.
    pub(crate) async fn call(&self, call: &Call, time: Duration) -> Option<Result<Reply, NoReply>> {
        // Whoever finds no room goes another way, so that no call waits for a long poll's end.
        let _room = self.room.try_acquire().ok()?;
        let heard = self.heard.load(Ordering::Relaxed);
        let (reply, answer) = oneshot::channel();
        let waiting = self.put(call, reply)?;
        match tokio::time::timeout(time, answer).await {
            Ok(Ok(reply)) => Some(Ok(reply)),
            Ok(Err(_)) => Some(Err(NoReply)),
            Err(_) => {
                drop(waiting);
                // A connection on which nothing came meanwhile may be dead without a word.
                if self.heard.load(Ordering::Relaxed) == heard {
                    self.end();
                }
                Some(Err(NoReply))
            }
        }
    }

    /// Puts a call into the next frame.
    fn put(&self, call: &Call, reply: oneshot::Sender<Reply>) -> Option<Waiting<'_>> {
        let body = match &call.body {
            Some(body) => Some(serde_json::from_slice::<&RawValue>(body).ok()?),
            None => None,
        };
        // A key that no header takes is for HTTP to refuse.
        let is_visible = |key: &str| key.bytes().all(|byte| byte.is_ascii_graphic());
        if !call.key.as_deref().is_none_or(is_visible) {
            return None;
        }
        let size = call.body.as_ref().map_or(0, Bytes::len) + call.target.len() + ENVELOPE_BYTES;
        if size > frames::FRAME_BYTES_MAX {
            return None;
        }
        let mut parts = self.parts();
        if parts.is_over {
            return None;
        }
        parts.last_id += 1;
        let id = parts.last_id;
        parts.put(&frames::Call {
            id,
            method: call.method.as_str().into(),
            path: call.target.as_str().into(),
            key: call.key.as_deref().map(Into::into),
            body,
            cancel: false,
        });
        parts.waiting.insert(id, reply);
        drop(parts);
        self.wake.notify_one();
        Some(Waiting { wire: self, id })
    }

    pub(crate) fn is_open(&self) -> bool {
        !self.parts().is_over
    }

    /// Tells whether the server ever answered.
    pub(crate) fn has_heard(&self) -> bool {
        self.heard.load(Ordering::Relaxed) > 0
    }

    /// Ends the connection: what waits gets no answer.
    pub(crate) fn end(&self) {
        let mut parts = self.parts();
        parts.is_over = true;
        parts.unsent.clear();
        let waiting = std::mem::take(&mut parts.waiting);
        drop(parts);
        drop(waiting);
        self.wake.notify_one();
    }

    fn parts(&self) -> MutexGuard<'_, Parts> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Carries calls and answers until the connection ends.
    pub(crate) async fn carry(self: Arc<Self>, stream: Stream) {
        let (sink, source) = stream.split();
        tokio::select! {
            () = self.write(sink) => {}
            () = self.read(source) => {}
        }
        self.end();
    }

    async fn write(&self, mut sink: SplitSink<Stream, Message>) {
        loop {
            // Whoever is about to call as well gets into the same frame.
            tokio::task::yield_now().await;
            let frame = {
                let mut parts = self.parts();
                if parts.is_over {
                    break;
                }
                parts.unsent.pop_front()
            };
            let Some(Frame { mut text, .. }) = frame else {
                self.wake.notified().await;
                continue;
            };
            text.push(b']');
            let text = Utf8Bytes::try_from(text).expect("JSON is UTF-8");
            if sink.send(Message::Text(text)).await.is_err() {
                return;
            }
        }
        // The server may be gone already.
        let _gone = sink.send(Message::Close(None)).await;
    }

    async fn read(&self, mut source: SplitStream<Stream>) {
        while let Some(Ok(message)) = source.next().await {
            match message {
                Message::Text(text) => {
                    self.heard.fetch_add(1, Ordering::Relaxed);
                    let frame = Bytes::from(text);
                    if let Err(error) = self.hear(&frame) {
                        tracing::warn!(%error, "the server sent a frame that is none");
                        return;
                    }
                }
                Message::Close(Some(why)) => {
                    tracing::debug!(code = %why.code, reason = %why.reason, "the server closes");
                }
                Message::Close(None)
                | Message::Ping(_)
                | Message::Pong(_)
                | Message::Binary(_)
                | Message::Frame(_) => {}
            }
        }
    }

    /// Hands out the answers of a frame.
    fn hear(&self, frame: &Bytes) -> Result<(), serde_json::Error> {
        let answers: Vec<frames::Answer<'_>> = serde_json::from_slice(frame)?;
        let mut parts = self.parts();
        for answer in answers {
            // Whoever called may have gone away meanwhile.
            let Some(reply) = parts.waiting.remove(&answer.id) else { continue };
            let body = answer.body.map(|body| frame.slice_ref(body.get().as_bytes()));
            let _told = reply.send(Reply {
                status: answer.status,
                position: answer.position,
                replayed: answer.replayed,
                body: body.unwrap_or_default(),
            });
        }
        Ok(())
    }
}

/// Bytes of a call beyond its path and its body, at most.
const ENVELOPE_BYTES: usize = 512;

impl Parts {
    fn put(&mut self, call: &frames::Call<'_>) {
        let body = call.body.map_or(0, |body| body.get().len());
        let size = body + call.path.len() + ENVELOPE_BYTES;
        let fits = |frame: &Frame| {
            frame.text.len() + size <= frames::FRAME_BYTES_MAX
                && frame.count < frames::FRAME_CALLS_MAX
        };
        if !self.unsent.back().is_some_and(fits) {
            self.unsent.push_back(Frame::default());
        }
        let Some(frame) = self.unsent.back_mut() else { return };
        frame.text.push(if frame.text.is_empty() { b'[' } else { b',' });
        frame.count += 1;
        serde_json::to_writer(&mut frame.text, call).expect("a call can be written as JSON");
    }
}
