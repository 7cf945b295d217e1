//! Reading on and on: a consumer of the server that sends each record as it comes.
//!
//! The consumer belongs to this handle alone, acknowledges nothing and ends by itself when it is
//! not asked for a while. It may run on a copy of the stream that lags behind or was lost with
//! its server; so what it sends counts only if it is the very next record, and a tail in doubt is
//! dropped and begun again where the reader stands.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use async_nats::jetstream::consumer::pull::{self, Stream};
use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, ReplayPolicy};
use futures_util::{FutureExt, StreamExt};

use super::link::Link;
use super::message::Kept;
use crate::limits::{
    JETSTREAM_CONSUMER_IDLE_MAX, JETSTREAM_FETCH_WAIT_MAX, JETSTREAM_PULL_MESSAGES,
    JETSTREAM_PULL_TIME,
};
use crate::{LogError, Number};

/// A consumer and what it has sent.
pub(super) struct Tail {
    messages: Stream,
    /// In order, without a hole.
    ready: VecDeque<Kept>,
    ready_bytes: usize,
    /// How many more there were when the newest of those that are ready was sent.
    pending: u64,
    /// What the consumer sends next.
    next: Number,
    /// When something last came.
    heard: Instant,
}

/// How waiting for the next record ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// It is ready.
    Record,
    /// Nothing came in time.
    Nothing,
    /// The consumer is gone, or sent something else.
    Lost,
}

impl Tail {
    /// Begins to read at `next`.
    pub(super) async fn begin(link: &Link, next: Number) -> Result<Self, LogError> {
        let drawn = getrandom::u64().map_err(|error| LogError::Engine(Box::new(error)))?;
        let config = pull::Config {
            name: Some(format!("follower-{drawn:016x}")),
            deliver_policy: DeliverPolicy::ByStartSequence { start_sequence: next.0 },
            ack_policy: AckPolicy::None,
            replay_policy: ReplayPolicy::Instant,
            inactive_threshold: JETSTREAM_CONSUMER_IDLE_MAX,
            num_replicas: 1,
            memory_storage: true,
            ..pull::Config::default()
        };
        let consumer = match link.records.create_consumer(config).await {
            Ok(consumer) => consumer,
            Err(error) => return Err(link.failure("making a consumer", error, false).await),
        };
        let stream = consumer
            .stream()
            .max_messages_per_batch(JETSTREAM_PULL_MESSAGES)
            .expires(JETSTREAM_PULL_TIME)
            .heartbeat(JETSTREAM_PULL_TIME / 4);
        match stream.messages().await {
            Ok(messages) => {
                let (ready, ready_bytes, pending) = (VecDeque::new(), 0, 0);
                Ok(Self { messages, ready, ready_bytes, pending, next, heard: Instant::now() })
            }
            Err(error) => Err(link.failure("asking for records", error, false).await),
        }
    }

    /// Returns the record that a reader of this tail gets first.
    pub(super) fn front(&self) -> Number {
        self.ready.front().map_or(self.next, |kept| kept.number)
    }

    /// Tells whether nothing came for so long that the log should be looked at.
    pub(super) fn is_silent_for(&self, span: Duration) -> bool {
        span <= self.heard.elapsed()
    }

    /// Counts the silence from here on.
    pub(super) fn look(&mut self) {
        self.heard = Instant::now();
    }

    /// Returns the first that is ready.
    pub(super) fn first(&self) -> Option<&Kept> {
        self.ready.front()
    }

    /// Goes on after the first that is ready.
    pub(super) fn pass(&mut self) {
        if let Some(passed) = self.ready.pop_front() {
            self.ready_bytes -= passed.payload.len();
        }
    }

    /// Waits until the first record is ready.
    pub(super) async fn wait(&mut self, patience: Duration) -> Heard {
        if !self.ready.is_empty() {
            return Heard::Record;
        }
        match tokio::time::timeout(patience, self.messages.next()).await {
            Err(_) => Heard::Nothing,
            Ok(message) => self.take(message),
        }
    }

    /// Takes what has come, and waits for what is said to come, up to `bytes_max` bytes.
    pub(super) async fn fill(&mut self, bytes_max: usize) {
        while self.ready_bytes <= bytes_max {
            let message = match self.messages.next().now_or_never() {
                Some(message) => message,
                None if self.pending == 0 => return,
                None => {
                    let next = self.messages.next();
                    let Ok(message) = tokio::time::timeout(JETSTREAM_FETCH_WAIT_MAX, next).await
                    else {
                        return;
                    };
                    message
                }
            };
            if self.take(message) == Heard::Lost {
                return;
            }
        }
    }

    fn take(
        &mut self,
        message: Option<Result<async_nats::jetstream::Message, pull::MessagesError>>,
    ) -> Heard {
        let Some(Ok(message)) = message else { return Heard::Lost };
        let Ok(info) = message.info() else { return Heard::Lost };
        let (sequence, pending) = (info.stream_sequence, info.pending);
        if sequence != self.next.0 {
            return Heard::Lost;
        }
        let subject = message.message.subject.to_string();
        let payload = message.message.payload;
        self.ready_bytes += payload.len();
        self.pending = pending;
        self.ready.push_back(Kept { number: self.next, subject, payload });
        self.next = self.next.next();
        self.heard = Instant::now();
        Heard::Record
    }
}
