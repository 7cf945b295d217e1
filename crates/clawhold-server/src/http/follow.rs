//! Reading a stream: a page, a page when there is one, or every event as it comes.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use clawhold_api::error::Problem;
use clawhold_api::stream as wire;
use clawhold_core::units::{EventNumber, Name};
use futures_util::stream::{Stream, unfold};

use super::error::Rejected;
use super::event::{data, last_event_id};
use super::query::{Query, Word, rows};
use super::signal::{Patience, Signal};
use super::{Room, convert};

/// Bytes of events in one page, beyond its first event.
const PAGE_BYTES_MAX: usize = 4 * 1_024 * 1_024;
/// Events that one look of a follower brings.
const LOOK_MAX: usize = 100;
/// How long a follower waits before it looks again without having been woken.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

pub(super) async fn read(
    State(room): State<Room>,
    headers: HeaderMap,
    Word(stream): Word,
    Query(query): Query<wire::EventQuery>,
) -> Result<Response, Rejected> {
    let stream = convert::name("stream", &stream)?;
    let after = EventNumber(query.after.unwrap_or(0));
    let limit = rows(query.limit)?.limit;
    let wait_ms = convert::wait_ms(query.wait_ms)?;
    if accepts_events(&headers) {
        let after = last_event_id(&headers)?.map_or(after, EventNumber);
        return room.follow(stream, after).await;
    }
    let signal = room.hub.streams.wait_for(stream.clone());
    let patience = Patience::of(Duration::from_millis(wait_ms));
    let found = room.await_events(&stream, after, limit, (signal, patience)).await?;
    Ok(Json(found).into_response())
}

fn accepts_events(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter();
    accepted
        .filter_map(|value| value.to_str().ok())
        .any(|value| value.contains("text/event-stream"))
}

/// A follower: what it has to say next, and how far it has come.
struct Follower {
    room: Room,
    stream: Name,
    after: EventNumber,
    next: VecDeque<Event>,
    signal: Signal<Name>,
    ended: bool,
}

impl Room {
    /// Waits for events after `after`; returns none when patience ended before.
    async fn await_events(
        &self,
        stream: &Name,
        after: EventNumber,
        limit: usize,
        (mut signal, mut patience): (Signal<Name>, Patience),
    ) -> Result<wire::Events, Rejected> {
        loop {
            signal.about_to_look();
            let found = self.events(stream, after, limit).await?;
            if !found.events.is_empty() || !signal.woken(&mut patience).await {
                return Ok(found);
            }
        }
    }

    /// Returns the events after `after`.
    async fn events(
        &self,
        stream: &Name,
        after: EventNumber,
        limit: usize,
    ) -> Result<wire::Events, Rejected> {
        let stream = stream.clone();
        let found = self.read(move |replica| {
            let streams = replica.state().streams();
            let page = streams.read(&stream, after, limit, PAGE_BYTES_MAX);
            let page = page.map_err(|refusal| Rejected::from(&refusal))?;
            let events = page.events.iter().map(|(number, event)| wire::Event {
                number: number.0,
                event: convert::json(&event.bytes),
            });
            let first = streams.get(&stream).map_or(1, |stream| stream.first.0);
            Ok(wire::Events { events: events.collect(), first, last: page.last.0 })
        });
        found.await
    }

    async fn follow(self, stream: Name, after: EventNumber) -> Result<Response, Rejected> {
        // What cannot be read is said before the first event, with its status.
        self.events(&stream, after, 1).await?;
        let signal = self.hub.streams.wait_for(stream.clone());
        let next = VecDeque::new();
        let follower = Follower { room: self, stream, after, next, signal, ended: false };
        let events = Sse::new(follower.into_events()).keep_alive(KeepAlive::default());
        Ok(events.into_response())
    }
}

impl Follower {
    fn into_events(self) -> impl Stream<Item = Result<Event, Infallible>> {
        unfold(self, |mut follower| async move {
            let event = follower.next().await?;
            Some((Ok(event), follower))
        })
    }

    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.next.pop_front() {
                return Some(event);
            }
            if self.ended {
                return None;
            }
            self.signal.about_to_look();
            match self.room.events(&self.stream, self.after, LOOK_MAX).await {
                Err(Rejected(problem)) => self.end(&problem),
                Ok(found) if found.events.is_empty() => {
                    // A look without a wake finds out that the server stopped or turned.
                    let mut patience = Patience::of(LOOK_AGAIN);
                    self.signal.woken(&mut patience).await;
                }
                Ok(found) => self.take(found.events),
            }
        }
    }

    fn take(&mut self, events: Vec<wire::Event>) {
        for event in events {
            self.after = EventNumber(event.number);
            self.next.push_back(data(&event).id(event.number.to_string()));
        }
    }

    /// Says why there is no more, then ends.
    fn end(&mut self, problem: &Problem) {
        self.next.push_back(data(problem).event("problem"));
        self.ended = true;
    }
}
