//! Workers: who works on what, and sending one home.

use axum::Json;
use axum::extract::State;
use axum::http::Uri;
use clawhold_api::error::{Code, Problem};
use clawhold_api::page::Nothing;
use clawhold_api::session::{Drain, Hold};
use clawhold_api::worker as wire;
use clawhold_core::answer::Answer;
use clawhold_core::command::{Command, DrainWorker, ResumeWorker};
use clawhold_core::limits;
use clawhold_core::replica::Replica;
use clawhold_core::session::Session;
use clawhold_core::units::SessionId;

use super::body::Body;
use super::call::{Call, Written};
use super::error::Rejected;
use super::query::{Listed, Query, Word, number_cursor, page, rows};
use super::{Room, convert, view};

pub(super) async fn list(
    State(room): State<Room>,
    uri: Uri,
    Query(query): Query<wire::WorkerQuery>,
) -> Result<Listed<wire::Worker>, Rejected> {
    let rows = rows(query.limit)?;
    let after = number_cursor(query.cursor.as_deref())?.map(SessionId);
    let queue = convert::name_opt("queue", query.queue.as_deref())?;
    let state = query.state;
    let items = room.read(move |replica| {
        let sessions = replica.state().sessions();
        let fits = |session: &&Session| {
            let works_on = queue.as_ref().is_none_or(|queue| session.queues.contains(queue));
            let is_in = state.is_none_or(|state| view::worker_state(session.state) == state);
            !session.queues.is_empty() && works_on && is_in
        };
        let is_over = matches!(state, Some(wire::WorkerState::Left | wire::WorkerState::Lost));
        let ended = sessions.ended().filter(|_| is_over);
        let ended = ended.filter(|session| after.is_none_or(|after| session.id > after));
        let mut found: Vec<&Session> = ended.filter(fits).collect();
        found.sort_unstable_by_key(|session| session.id);
        let live = sessions.list(after).filter(|_| !is_over).filter(fits);
        let found = found.into_iter().chain(live).take(rows.limit + 1);
        Ok(found.map(|session| show_short(replica, session)).collect())
    });
    Ok(page(items.await?, rows, &uri, |worker: &wire::Worker| worker.id.to_string()))
}

pub(super) async fn show(
    State(room): State<Room>,
    Word(worker): Word,
) -> Result<Json<wire::Worker>, Rejected> {
    convert::name("worker", &worker)?;
    let shown = room.read(move |replica| {
        let id = resolve(replica, "worker", &worker, is_worker)?;
        let sessions = replica.state().sessions();
        let ended = || sessions.ended().rev().find(|session| session.id == id);
        let session = sessions.live(id).or_else(ended).filter(is_worker);
        session.map(|session| show_whole(replica, session)).ok_or_else(|| missing(&worker))
    });
    shown.await.map(Json)
}

pub(super) async fn drain(
    State(room): State<Room>,
    call: Call,
    Word(worker): Word,
    Body(body): Body<wire::DrainWorker>,
) -> Result<Written<wire::DrainReply>, Rejected> {
    let deadline_ms = body.deadline_ms.unwrap_or(limits::DRAIN_MS_DEFAULT);
    let deadline_ms = convert::range("deadline_ms", deadline_ms, 0, limits::TTL_MS_MAX)?;
    let reason = convert::text("reason", body.reason.as_deref())?;
    let session = room.worker(worker).await?;
    let command = Command::DrainWorker(DrainWorker { session, deadline_ms, reason });
    let written = room.write(call, command, |_, answer| {
        let Answer::Draining { held, unserved } = answer else {
            return Err(Rejected::broken("drain a worker"));
        };
        let unserved = unserved.iter().map(ToString::to_string).collect();
        Ok(wire::DrainReply { held: *held, unserved })
    });
    written.await
}

pub(super) async fn resume(
    State(room): State<Room>,
    call: Call,
    Word(worker): Word,
    Body(Nothing {}): Body<Nothing>,
) -> Result<Written<wire::Worker>, Rejected> {
    let session = room.worker(worker).await?;
    let command = Command::ResumeWorker(ResumeWorker { session });
    let written = room.write(call, command, move |replica, _| {
        let session = replica.state().sessions().live(session);
        let session = session.ok_or_else(|| Rejected::broken("resume a worker"))?;
        Ok(show_whole(replica, session))
    });
    written.await
}

impl Room {
    /// Returns the worker that a path names.
    async fn worker(&self, worker: String) -> Result<SessionId, Rejected> {
        convert::name("worker", &worker)?;
        self.read(move |replica| resolve(replica, "worker", &worker, is_worker)).await
    }
}

fn is_worker(session: &&Session) -> bool {
    !session.queues.is_empty()
}

fn missing(worker: &str) -> Rejected {
    let detail = format!("there is no worker {worker}; GET /v1/workers lists them");
    Problem { field: Some("worker".to_owned()), ..Problem::new(Code::NotFound, detail) }.into()
}

/// Returns the session that `text` names: by its id, or by a label that exactly one live session
/// of those that `fits` bears. An id is not looked up here, so that one that is over is known to
/// be so.
pub(super) fn resolve(
    replica: &Replica,
    field: &str,
    text: &str,
    fits: impl Fn(&&Session) -> bool,
) -> Result<SessionId, Rejected> {
    let sessions = replica.state().sessions();
    let labelled = sessions.list(None).filter(fits).filter(|one| one.label.as_str() == text);
    let ids: Vec<u64> = labelled.map(|session| session.id.0).take(100).collect();
    // An id in any other form, as with a zero before it, is a label and nothing else.
    let id: Option<u64> = text.parse().ok().filter(|id: &u64| id.to_string() == text);
    let id = id.filter(|id| ids.is_empty() || sessions.live(SessionId(*id)).is_some());
    match (id, ids.as_slice()) {
        (Some(id), _) => Ok(SessionId(id)),
        (None, [id]) => Ok(SessionId(*id)),
        (None, []) => {
            let detail = format!("there is no live session {text:?}");
            Err(Problem { field: Some(field.to_owned()), ..Problem::new(Code::NotFound, detail) }
                .into())
        }
        (None, _) => {
            let detail = format!("{} live sessions are named {text:?}; use an id", ids.len());
            let field = Some(field.to_owned());
            Err(Problem { field, ids, ..Problem::new(Code::AmbiguousName, detail) }.into())
        }
    }
}

fn show_short(replica: &Replica, session: &Session) -> wire::Worker {
    let report = replica.beats().report(session.id);
    let drain = session.drain.as_ref().map(|drain| Drain {
        left_ms: view::left_ms(replica, drain.deadline),
        reason: drain.reason.as_str().to_owned(),
    });
    wire::Worker {
        id: session.id.0,
        label: session.label.to_string(),
        state: view::worker_state(session.state),
        queues: session.queues.iter().map(ToString::to_string).collect(),
        slots: session.slots.into(),
        agent: session.agent.as_ref().map(ToString::to_string),
        place: session.place.as_str().to_owned(),
        opened: view::moment(session.opened),
        since: view::moment(session.since),
        held: replica.state().jobs().held_count(session.id),
        held_jobs: None,
        drain,
        silent_ms: view::silent_ms(replica, session.id),
        reports: report.map(|report| report.holds.len() as u64),
    }
}

pub(super) fn show_whole(replica: &Replica, session: &Session) -> wire::Worker {
    let held = replica.state().jobs().held(session.id).take(wire::HELD_LISTED_MAX);
    let held = held.map(|job| Hold { job: job.id.0, claim: job.claim.0 }).collect();
    wire::Worker { held_jobs: Some(held), ..show_short(replica, session) }
}
