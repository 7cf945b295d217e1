//! One connection: calls that run side by side, answers that leave together.
//!
//! There is no timer: what is answered while a frame is being written leaves with the next one. A
//! client that does not read is not worked for: once enough waits to be written, no frame is read
//! and no call goes on.

use std::collections::HashMap;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::Request;
use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, close_code};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use clawhold_api::error::{Code, Problem};
use clawhold_api::{routes, socket as wire};
use futures_util::future::{AbortHandle, Abortable, Aborted, BoxFuture};
use futures_util::stream::{FuturesUnordered, SplitSink, SplitStream};
use futures_util::{FutureExt, SinkExt, StreamExt};
use http_body_util::BodyExt;
use tokio::sync::watch;
use tower::ServiceExt;

use super::frame::{self, Answered, Heard};
use crate::clock;

/// How long both sides may be silent before the other one is asked whether it is there.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Silences in a row after which the connection is given up.
const SILENCES_MAX: u32 = 3;
/// Bytes of answers that may wait to be written before no more are taken.
const UNSENT_BYTES_MAX: usize = 1_024 * 1_024;
/// How long the other side gets to close after it was told why.
const CLOSE_PATIENCE: Duration = Duration::from_secs(1);

/// Bytes of the reason that a close frame takes.
const REASON_BYTES_MAX: usize = 120;
/// The media type of a stream of events.
const EVENT_STREAM: &str = "text/event-stream";

type Sink = SplitSink<WebSocket, Message>;
type Answering = Abortable<BoxFuture<'static, Answered>>;

pub(super) struct Connection {
    router: Router,
    authorization: Option<HeaderValue>,
    running: FuturesUnordered<Answering>,
    handles: HashMap<u64, AbortHandle>,
    /// Answers that wait to be written, as a frame without its end.
    unsent: Vec<u8>,
    sink: Option<Sink>,
    /// Gives the sink back, or nothing when the other side is gone.
    writing: Option<BoxFuture<'static, Option<Sink>>>,
    life: Life,
    /// Whether the other side has to be asked if it is there.
    asks: bool,
    /// Whether no frame is read any more.
    is_closing: bool,
    /// Why, until that was written.
    farewell: Option<CloseFrame>,
}

/// What there was of the other side since the last look.
#[derive(Debug, Default)]
struct Life {
    /// Whether something was heard, or answers were taken.
    heard: bool,
    /// Whether what is being written holds answers.
    writes_answers: bool,
    /// Whether what is being written was there at the last look.
    is_stuck: bool,
    /// Looks in a row at which nothing had been heard.
    silences: u32,
}

impl Connection {
    pub(super) fn new(router: Router, authorization: Option<HeaderValue>) -> Self {
        Self {
            router,
            authorization,
            running: FuturesUnordered::new(),
            handles: HashMap::new(),
            unsent: Vec::new(),
            sink: None,
            writing: None,
            life: Life::default(),
            asks: false,
            is_closing: false,
            farewell: None,
        }
    }

    /// Serves until either side closes.
    pub(super) async fn serve(mut self, socket: WebSocket, mut closed: watch::Receiver<bool>) {
        let (sink, mut source) = socket.split();
        self.sink = Some(sink);
        let mut look = Box::pin(clock::pause(KEEP_ALIVE));
        loop {
            self.start_writing();
            if self.is_closing && self.sink.is_some() {
                return finish(source).await;
            }
            let has_room = self.unsent.len() < UNSENT_BYTES_MAX;
            let reads = has_room && !self.is_closing;
            tokio::select! {
                biased;
                sink = written(&mut self.writing), if self.writing.is_some() => {
                    self.writing = None;
                    self.life.is_stuck = false;
                    // Whoever takes answers is there, also while nothing of theirs is read.
                    self.life.heard |= std::mem::take(&mut self.life.writes_answers);
                    let Some(sink) = sink else { return };
                    self.sink = Some(sink);
                }
                Some(answered) = self.running.next(), if has_room => {
                    self.take(answered);
                    self.take_ready();
                }
                message = source.next(), if reads => match message {
                    Some(Ok(message)) => self.hear(message),
                    Some(Err(error)) => self.refuse_frame(&error),
                    None => return,
                },
                () = &mut look => {
                    if !self.look() {
                        return;
                    }
                    look.set(clock::pause(KEEP_ALIVE));
                }
                _ = closed.wait_for(|closed| *closed), if !self.is_closing => {
                    self.close(close_code::AWAY, "this server stops; another one takes over");
                }
            }
        }
    }

    /// Writes what has gathered, if nothing is being written.
    fn start_writing(&mut self) {
        if self.unsent.is_empty() && !self.asks && self.farewell.is_none() {
            return;
        }
        let Some(mut sink) = self.sink.take() else { return };
        let mut messages = Vec::new();
        if !self.unsent.is_empty() {
            self.life.writes_answers = true;
            self.unsent.push(b']');
            let frame = Bytes::from(std::mem::take(&mut self.unsent));
            messages.push(Message::Text(Utf8Bytes::try_from(frame).expect("JSON is UTF-8")));
        }
        if std::mem::take(&mut self.asks) {
            messages.push(Message::Ping(Bytes::new()));
        }
        messages.extend(self.farewell.take().map(|farewell| Message::Close(Some(farewell))));
        self.writing = Some(Box::pin(async move {
            for message in messages {
                sink.feed(message).await.ok()?;
            }
            sink.flush().await.ok()?;
            Some(sink)
        }));
    }

    fn take(&mut self, answered: Result<Answered, Aborted>) {
        // One that was taken back is not answered.
        let Ok(answered) = answered else { return };
        self.handles.remove(&answered.id);
        answered.write(&mut self.unsent);
    }

    /// Takes what else is answered by now.
    fn take_ready(&mut self) {
        while self.unsent.len() < UNSENT_BYTES_MAX
            && let Some(Some(answered)) = self.running.next().now_or_never()
        {
            self.take(answered);
        }
    }

    fn hear(&mut self, message: Message) {
        self.life.heard = true;
        match message {
            Message::Text(text) => {
                let frame = Bytes::from(text);
                let text = std::str::from_utf8(&frame).expect("a text frame is UTF-8");
                if let Err(reason) = self.start(text, &frame) {
                    self.close(close_code::POLICY, &reason);
                }
            }
            Message::Binary(_) => {
                self.close(close_code::UNSUPPORTED, "a frame must be text, this one is binary");
            }
            Message::Close(_) => self.close(close_code::NORMAL, ""),
            Message::Ping(_) | Message::Pong(_) => {}
        }
    }

    /// Starts the calls of a frame, or none of them.
    ///
    /// # Errors
    /// Why it cannot be answered.
    fn start(&mut self, text: &str, frame: &Bytes) -> Result<(), String> {
        let mut starting: Vec<(u64, Request)> = Vec::new();
        for (at, heard) in frame::read(text)?.into_iter().enumerate() {
            let (id, call) = match heard {
                Heard::Call(call) if call.cancel => {
                    if let Some(handle) = self.handles.remove(&call.id) {
                        handle.abort();
                    }
                    continue;
                }
                Heard::Call(call) => (call.id, Ok(call)),
                Heard::Malformed(id, problem) => (id, Err(problem)),
            };
            if self.handles.contains_key(&id) || starting.iter().any(|(other, _)| *other == id) {
                return Err(format!("two calls bear the id {id} at once"));
            }
            let in_flight = self.handles.len() + starting.len();
            let call = call.and_then(|call| admit(at, in_flight).map(|()| call));
            let request =
                call.and_then(|call| frame::request(&call, frame, self.authorization.as_ref()));
            match request {
                Ok(request) => starting.push((id, request)),
                Err(problem) => Answered::refusal(id, &problem).write(&mut self.unsent),
            }
        }
        for (id, request) in starting {
            self.run(id, request);
        }
        Ok(())
    }

    fn run(&mut self, id: u64, request: Request) {
        let (handle, registration) = AbortHandle::new_pair();
        let answering: BoxFuture<'static, Answered> =
            Box::pin(answer(self.router.clone(), id, request));
        self.handles.insert(id, handle);
        self.running.push(Abortable::new(answering, registration));
    }

    fn refuse_frame(&mut self, error: &axum::Error) {
        // What is larger than allowed is no failure of the connection; whatever else is, is past
        // telling.
        let max = wire::FRAME_BYTES_MAX;
        let reason = format!("a frame must be UTF-8 of at most {max} bytes: {error}");
        self.close(close_code::SIZE, &reason);
    }

    /// Reads no more frames. What is answered by now still leaves; what waits is dropped, as it is
    /// when a connection breaks.
    fn close(&mut self, code: u16, reason: &str) {
        self.take_ready();
        self.running.clear();
        self.handles.clear();
        let mut end = reason.len().min(REASON_BYTES_MAX);
        while !reason.is_char_boundary(end) {
            end -= 1;
        }
        self.is_closing = true;
        self.farewell = Some(CloseFrame { code, reason: reason[..end].into() });
    }

    /// Looks whether the other side is there; returns whether it may be.
    fn look(&mut self) -> bool {
        let life = &mut self.life;
        life.silences = if std::mem::take(&mut life.heard) { 0 } else { life.silences + 1 };
        self.asks = life.silences > 0;
        // A frame that could not be written since the last look never will be.
        let was_stuck = std::mem::replace(&mut life.is_stuck, self.writing.is_some());
        life.silences < SILENCES_MAX && !(was_stuck && life.is_stuck)
    }
}

/// Tells whether the call at this place of its frame may run.
fn admit(at: usize, in_flight: usize) -> Result<(), Box<Problem>> {
    let full = |max, what: &str| {
        let detail = format!("{what}, allowed is {max}; send it again when some are answered");
        Box::new(Problem { max: Some(max as u64), ..Problem::new(Code::Overloaded, detail) })
    };
    if at >= wire::FRAME_CALLS_MAX {
        return Err(full(wire::FRAME_CALLS_MAX, "the frame has too many calls"));
    }
    if in_flight >= wire::IN_FLIGHT_MAX {
        return Err(full(wire::IN_FLIGHT_MAX, "too many calls wait on this connection"));
    }
    Ok(())
}

/// Waits until a frame is written; returns the sink, or nothing when the other side is gone.
async fn written(writing: &mut Option<BoxFuture<'static, Option<Sink>>>) -> Option<Sink> {
    match writing {
        Some(writing) => writing.await,
        None => std::future::pending().await,
    }
}

/// Reads on until the other side has closed as well, so that it hears why.
async fn finish(mut source: SplitStream<WebSocket>) {
    let rest = async { while let Some(Ok(_)) = source.next().await {} };
    tokio::select! {
        () = rest => {}
        () = clock::pause(CLOSE_PATIENCE) => {}
    }
}

/// Lets the routes serve one call.
async fn answer(router: Router, id: u64, request: Request) -> Answered {
    let Ok(response) = router.oneshot(request).await;
    let (parts, body) = response.into_parts();
    let headers = &parts.headers;
    if text(headers, header::CONTENT_TYPE).is_some_and(|kind| kind.starts_with(EVENT_STREAM)) {
        let detail = "this is a stream of events; read it over HTTP";
        return Answered::refusal(id, &Problem::new(Code::BadRequest, detail));
    }
    let Ok(body) = body.collect().await else {
        // Only an answer that another server gave can break off.
        let detail = "the answer broke off; ask again with the same key";
        return Answered::refusal(id, &Problem::new(Code::OutcomeUnknown, detail));
    };
    let number = |name| text(headers, name).and_then(|number| number.parse::<u64>().ok());
    Answered {
        id,
        status: parts.status.as_u16(),
        position: number(HeaderName::from_static(routes::POSITION)),
        replayed: headers.contains_key(routes::REPLAYED),
        retry_after_ms: number(header::RETRY_AFTER).map(|seconds| seconds.saturating_mul(1_000)),
        allow: text(headers, header::ALLOW).map(str::to_owned),
        body: body.to_bytes(),
    }
}

fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}
