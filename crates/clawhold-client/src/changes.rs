//! Changes as they happen, without a hole.
//!
//! A connection that breaks is opened again after the last position that was read to its end; the
//! changes of a position that was cut off come again.

use std::collections::VecDeque;
use std::time::Duration;

use clawhold_api::routes;
use clawhold_api::server::{Change, RESET_EVENT, Reset};
use reqwest::Response;

use crate::call::Call;
use crate::error::ClientError;
use crate::sse::SseParser;
use crate::transport::Client;

/// Silence after which a connection is taken for dead; the server sends comments more often.
const SILENCE_MAX: Duration = Duration::from_secs(60);

/// What a reader of changes is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeEvent {
    /// Something changed.
    Change(Change),
    /// Changes before this position are no longer kept: read again what you show.
    Reset(u64),
}

/// A reader of changes. Opens its connection again by itself.
#[derive(Debug)]
pub struct Changes {
    client: Client,
    after: u64,
    open: Option<(Response, SseParser)>,
    ready: VecDeque<ChangeEvent>,
    failures: u32,
}

impl Client {
    /// Returns the changes after a position; those from the present on when it is absent.
    ///
    /// # Errors
    /// Why the present position cannot be read.
    pub async fn changes(&self, after: Option<u64>) -> Result<Changes, ClientError> {
        let after = match after {
            Some(after) => after,
            None => self.status().await?.server.position,
        };
        let client = self.clone();
        Ok(Changes { client, after, open: None, ready: VecDeque::new(), failures: 0 })
    }
}

impl Changes {
    /// Returns the next change, however long it takes. Nothing is lost when the call is dropped.
    ///
    /// # Errors
    /// What no waiting mends, such as a token that is not known.
    pub async fn next(&mut self) -> Result<ChangeEvent, ClientError> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(event);
            }
            if let Err(error) = self.fill().await {
                self.open = None;
                if !error.retry_is_sensible() {
                    return Err(error);
                }
                self.failures = self.failures.saturating_add(1);
                tracing::debug!(%error, failures = self.failures, "opens the changes again");
                tokio::time::sleep(self.client.patience().backoff.pause(self.failures)).await;
            }
        }
    }

    async fn fill(&mut self) -> Result<(), ClientError> {
        let after = format!("after={}", self.after);
        let call = Call::get(routes::EVENTS, &after).accepting("text/event-stream");
        let (response, parser) = match &mut self.open {
            Some(open) => (&mut open.0, &mut open.1),
            None => {
                let response = self.client.open_stream(&call).await?;
                let open = self.open.insert((response, SseParser::default()));
                (&mut open.0, &mut open.1)
            }
        };
        let cut_off = |source| ClientError::NoAnswer {
            url: self.client.urls()[0].clone(),
            call: call.to_string(),
            reads: true,
            source,
        };
        let chunk = tokio::time::timeout(SILENCE_MAX, response.chunk()).await;
        let chunk = chunk.map_err(|_| cut_off(None))?;
        let chunk = chunk.map_err(|error| cut_off(Some(error)))?.ok_or_else(|| cut_off(None))?;
        let events = parser.feed(&chunk).map_err(|_| cut_off(None))?;
        self.failures = 0;
        for event in events {
            let read = if event.name == RESET_EVENT {
                let reset = serde_json::from_str::<Reset>(&event.data);
                reset.map(|reset| {
                    self.after = reset.position;
                    ChangeEvent::Reset(reset.position)
                })
            } else {
                serde_json::from_str::<Change>(&event.data).map(ChangeEvent::Change)
            };
            // A kind of change that this version does not know is passed over.
            match read {
                Ok(event) => self.ready.push_back(event),
                Err(error) => tracing::debug!(%error, name = event.name, "passes over a change"),
            }
            if let Some(id) = event.id.and_then(|id| id.parse().ok()) {
                self.after = id;
            }
        }
        Ok(())
    }

    /// Returns the last position that was read to its end.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.after
    }
}
