//! Changes as an event stream: what happened, as it happens, from where the reader was.

use std::collections::VecDeque;
use std::convert::Infallible;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use clawhold_api::error::{Code, Problem};
use clawhold_api::server as wire;
use clawhold_core::change::{Change, What};
use clawhold_core::units::Position;
use futures_util::stream::{Stream, unfold};
use serde::Serialize;
use tokio::sync::watch;

use super::error::Rejected;
use super::query::Query;
use super::recent::Found;
use super::{Room, view};
use crate::driver::Standing;

/// A reader: what it has to say next, and how far it has come.
struct Reader {
    room: Room,
    after: Position,
    next: VecDeque<Event>,
    latest: watch::Receiver<Position>,
    standing: watch::Receiver<Standing>,
}

pub(super) async fn follow(
    State(room): State<Room>,
    headers: HeaderMap,
    Query(query): Query<wire::ChangeQuery>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Rejected> {
    let after = last_event_id(&headers)?.or(query.after).map(Position);
    let reader = Reader {
        after: after.unwrap_or_else(|| room.hub.recent.latest()),
        next: VecDeque::new(),
        latest: room.hub.recent.subscribe(),
        standing: room.handle.standing(),
        room,
    };
    let events = unfold(reader, |mut reader| async move {
        let event = reader.next().await?;
        Some((Ok(event), reader))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::default()))
}

/// Returns the number in the header `Last-Event-ID`.
pub(super) fn last_event_id(headers: &HeaderMap) -> Result<Option<u64>, Rejected> {
    let Some(value) = headers.get("last-event-id") else { return Ok(None) };
    let text = String::from_utf8_lossy(value.as_bytes());
    let number = text.parse().map_err(|_| {
        let allowed = "the id of the last event that was read";
        Rejected::from(Problem::field(Code::BadRequest, "last-event-id", &text, allowed))
    });
    number.map(Some)
}

/// Returns an event with this data, on one line: line breaks stand between JSON's tokens only.
pub(super) fn data<T: Serialize>(value: &T) -> Event {
    let text = serde_json::to_string(value).unwrap_or_default();
    Event::default().data(text.replace(['\r', '\n'], " "))
}

impl Reader {
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.next.pop_front() {
                return Some(event);
            }
            self.latest.mark_unchanged();
            self.look();
            if !self.next.is_empty() {
                continue;
            }
            tokio::select! {
                more = self.latest.changed() => more.ok()?,
                // The driver ended: its sender is gone.
                () = ended(&mut self.standing) => return None,
            }
        }
    }

    fn look(&mut self) {
        match self.room.hub.recent.after(self.after) {
            Found::Gone(position) => {
                let reset = data(&wire::Reset { position: position.0 });
                let reset = reset.event(wire::RESET_EVENT).id(position.to_string());
                self.next.push_back(reset);
                self.after = position;
            }
            Found::Changes(changes) => {
                for (at, change) in changes.iter().enumerate() {
                    let following = changes.get(at + 1).map(|next| next.position);
                    let is_last = following != Some(change.position);
                    self.next.push_back(show(change, is_last));
                    self.after = change.position;
                }
            }
        }
    }
}

async fn ended(standing: &mut watch::Receiver<Standing>) {
    while standing.changed().await.is_ok() {}
}

/// Returns a change as an event. Only the last one of a position bears the id, so that a reader
/// that is cut off in between gets all of that position again.
fn show(change: &Change, is_last: bool) -> Event {
    let shown = wire::Change { position: change.position.0, what: what(&change.what) };
    let event = data(&shown).event(shown.what.kind());
    if is_last { event.id(change.position.to_string()) } else { event }
}

fn what(what: &What) -> wire::What {
    match what {
        What::Server | What::Restored { .. } => wire::What::Server,
        What::RoleGranted { role, session, token } => {
            wire::What::RoleGranted { role: role.to_string(), session: session.0, token: token.0 }
        }
        What::RoleVacant { role } => wire::What::RoleVacant { role: role.to_string() },
        What::Role { role } => wire::What::Role { role: role.to_string() },
        What::Worker { session, state } => {
            wire::What::Worker { session: session.0, state: view::worker_state(*state) }
        }
        What::Session { session } => wire::What::Session { session: session.0 },
        What::Job { job, queue, state } => {
            wire::What::Job { job: job.0, queue: queue.to_string(), state: view::job_state(*state) }
        }
        What::Queue { queue } => wire::What::Queue { queue: queue.to_string() },
        What::Stream { stream, last } => {
            wire::What::Stream { stream: stream.to_string(), last: last.0 }
        }
        What::Recorded { stream, role, through } => wire::What::Recorded {
            stream: stream.to_string(),
            role: role.to_string(),
            through: through.0,
        },
        What::Definition { noun, title } => {
            wire::What::Definition { noun: noun.as_str().to_owned(), name: title.to_string() }
        }
        What::Run { run, state } => {
            wire::What::Run { run: run.0, state: state.as_str().to_owned() }
        }
        What::Alert { alert } => wire::What::Alert { alert: alert.0 },
        What::Message { message } => wire::What::Message { message: message.0 },
        What::Automation => wire::What::Automation,
    }
}
