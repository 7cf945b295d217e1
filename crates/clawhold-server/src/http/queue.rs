//! Queues: shown, set, paused, gated, audited.

use axum::Json;
use axum::extract::State;
use axum::http::Uri;
use clawhold_api::page::{Done, Nothing, PageQuery};
use clawhold_api::queue as wire;
use clawhold_core::answer::{Kind, Refusal};
use clawhold_core::audit::{self, Mismatch};
use clawhold_core::beat::Beats;
use clawhold_core::command::{
    CloseGate, Command, OpenGate, PauseQueue, RemoveQueue, ResumeQueue, SetQueue,
};
use clawhold_core::frozen::Frozen;
use clawhold_core::limits;
use clawhold_core::queue::Queue;
use clawhold_core::replica::Replica;
use clawhold_core::units::{Name, Timestamp};

use super::body::Body;
use super::call::{Call, Written};
use super::error::Rejected;
use super::query::{Listed, Query, Word, page, rows};
use super::{Room, convert, view};
use crate::clock;
use crate::driver::Failure;

pub(super) async fn list(
    State(room): State<Room>,
    uri: Uri,
    Query(query): Query<PageQuery>,
) -> Result<Listed<wire::Queue>, Rejected> {
    let rows = rows(query.limit)?;
    let after = convert::name_opt("cursor", query.cursor.as_deref())?;
    let items = room.read(move |replica| {
        let queues = replica.state().jobs().queues(after.as_ref()).take(rows.limit + 1);
        Ok(queues.map(|queue| show_queue(replica, queue)).collect())
    });
    Ok(page(items.await?, rows, &uri, |queue: &wire::Queue| queue.name.clone()))
}

pub(super) async fn show(
    State(room): State<Room>,
    Word(queue): Word,
) -> Result<Json<wire::Queue>, Rejected> {
    let queue = convert::name("queue", &queue)?;
    room.read(move |replica| show_named(replica, &queue)).await.map(Json)
}

pub(super) async fn set(
    State(room): State<Room>,
    call: Call,
    Word(queue): Word,
    Body(body): Body<wire::SetQueue>,
) -> Result<Written<wire::Queue>, Rejected> {
    let queue = convert::name("queue", &queue)?;
    let (duration_max, count_max) = (limits::DURATION_MS_MAX, limits::ATTEMPTS_MAX_MAX);
    let command = SetQueue {
        queue: queue.clone(),
        running_max: convert::small_opt("running_max", body.running_max, 0, u32::MAX)?,
        progress_ms: convert::range_opt("progress_ms", body.progress_ms, 0, duration_max)?,
        retain_count: convert::range_opt("retain_count", body.retain_count, 0, limits::JOBS_MAX)?,
        retain_ms: convert::range_opt("retain_ms", body.retain_ms, 0, duration_max)?,
        losses_max: convert::small_opt("losses_max", body.losses_max, 1, count_max)?,
        hand_backs_max: convert::small_opt("hand_backs_max", body.hand_backs_max, 1, count_max)?,
        live_max: convert::range_opt("live_max", body.live_max, 0, limits::JOBS_MAX)?,
    };
    room.write_queue(call, queue, Command::SetQueue(command)).await
}

pub(super) async fn remove(
    State(room): State<Room>,
    call: Call,
    Word(queue): Word,
) -> Result<Written<Done>, Rejected> {
    let queue = convert::name("queue", &queue)?;
    room.write(call, Command::RemoveQueue(RemoveQueue { queue }), |_, _| Ok(Done {})).await
}

pub(super) async fn pause(
    State(room): State<Room>,
    call: Call,
    Word(queue): Word,
    Body(body): Body<wire::PauseQueue>,
) -> Result<Written<wire::Queue>, Rejected> {
    let queue = convert::name("queue", &queue)?;
    let reason = convert::text("reason", body.reason.as_deref())?;
    let command = Command::PauseQueue(PauseQueue { queue: queue.clone(), reason });
    room.write_queue(call, queue, command).await
}

pub(super) async fn resume(
    State(room): State<Room>,
    call: Call,
    Word(queue): Word,
    Body(Nothing {}): Body<Nothing>,
) -> Result<Written<wire::Queue>, Rejected> {
    let queue = convert::name("queue", &queue)?;
    let command = Command::ResumeQueue(ResumeQueue { queue: queue.clone() });
    room.write_queue(call, queue, command).await
}

pub(super) async fn gate(
    State(room): State<Room>,
    call: Call,
    Word(queue): Word,
    Body(body): Body<wire::CloseGate>,
) -> Result<Written<wire::Queue>, Rejected> {
    let queue = convert::name("queue", &queue)?;
    let within_ms = body.within_ms.unwrap_or(limits::GATE_MS_DEFAULT);
    let within_ms = convert::range("within_ms", within_ms, 1, limits::TTL_MS_MAX)?;
    let command = Command::CloseGate(CloseGate { queue: queue.clone(), within_ms });
    room.write_queue(call, queue, command).await
}

pub(super) async fn admit(
    State(room): State<Room>,
    call: Call,
    Word(queue): Word,
    Body(Nothing {}): Body<Nothing>,
) -> Result<Written<wire::Queue>, Rejected> {
    let queue = convert::name("queue", &queue)?;
    let command = Command::OpenGate(OpenGate { queue: queue.clone() });
    room.write_queue(call, queue, command).await
}

impl Room {
    /// Submits a command about a queue and shows the queue after it.
    async fn write_queue(
        &self,
        call: Call,
        queue: Name,
        command: Command,
    ) -> Result<Written<wire::Queue>, Rejected> {
        self.write(call, command, move |replica, _| show_named(replica, &queue)).await
    }
}

fn missing(queue: &Name) -> Rejected {
    (&Refusal::NotFound { kind: Kind::Queue, name: queue.as_str().into() }).into()
}

fn show_named(replica: &Replica, queue: &Name) -> Result<wire::Queue, Rejected> {
    let found = replica.state().jobs().queue(queue).ok_or_else(|| missing(queue))?;
    Ok(show_queue(replica, found))
}

pub(super) fn show_queue(replica: &Replica, queue: &Queue) -> wire::Queue {
    let state = replica.state();
    let counts = state.jobs().counts(queue);
    let (settings, counters) = (&queue.settings, &queue.counters);
    wire::Queue {
        name: queue.name.to_string(),
        jobs: view::counts(counts),
        totals: wire::QueueTotals {
            enqueued: counters.enqueued,
            completed: counters.completed,
            failed: counters.failed,
            cancelled: counters.cancelled,
            purged: counters.purged,
            retried: counters.retried,
            claimed: counters.claimed,
            returned: counters.returned,
        },
        oldest_waiting_ms: oldest_waiting_ms(replica, queue),
        settings: wire::QueueSettings {
            running_max: settings.running_max.into(),
            progress_ms: settings.progress_ms,
            retain_count: settings.retain_count,
            retain_ms: settings.retain_ms,
            losses_max: settings.losses_max.into(),
            hand_backs_max: settings.hand_backs_max.into(),
            live_max: settings.live_max,
        },
        paused: queue.paused.as_ref().map(|paused| wire::Paused {
            reason: paused.reason.as_str().to_owned(),
            since: view::moment(paused.since),
        }),
        gate: queue.gate.closed.map(|closed| wire::Gate {
            unplaced: counts.returned,
            left_ms: view::left_ms(replica, closed.until),
        }),
        unplaced: queue.gate.unplaced,
        workers: state.sessions().servers(&queue.name),
    }
}

/// Returns the age of the oldest waiting job.
fn oldest_waiting_ms(replica: &Replica, queue: &Queue) -> Option<u64> {
    let oldest = replica.state().jobs().oldest_waiting(queue.id)?;
    Some(replica.now().at.0.saturating_sub(oldest.at.0))
}

pub(super) async fn audit(
    State(room): State<Room>,
    Query(query): Query<wire::AuditQuery>,
) -> Result<Json<wire::Audit>, Rejected> {
    let queue = convert::name_opt("queue", query.queue.as_deref())?;
    let one = queue.clone();
    let looked = room.read(move |replica| {
        let state = replica.state();
        if let Some(queue) = one.as_ref().filter(|queue| state.jobs().queue(queue).is_none()) {
            return Err(missing(queue));
        }
        let (beats, served) = (replica.beats(), replica.served());
        let found = if state.jobs().live() <= AUDITED_AT_ONCE_MAX {
            Found::Audit(audit::audit(state, beats, one.as_ref(), served))
        } else {
            Found::Frozen(Box::new((state.freeze(), beats.clone())))
        };
        Ok((replica.now().at, served, found))
    });
    let (at, served, found) = looked.await?;
    let audited = tokio::task::spawn_blocking(move || {
        let found = match found {
            Found::Audit(found) => found,
            Found::Frozen(frozen) => frozen.0.audit(&frozen.1, queue.as_ref(), served),
        };
        show_audit(at, queue.as_ref(), &found)
    });
    audited.await.map(Json).map_err(|_| Failure::Stopping.into())
}

/// Live jobs up to which an audit is made on the driver's thread, on the live indexes.
const AUDITED_AT_ONCE_MAX: u64 = 5_000;

/// What the driver's thread gives for an audit.
enum Found {
    Audit(audit::Audit),
    Frozen(Box<(Frozen, Beats)>),
}

fn show_audit(at: Timestamp, queue: Option<&Name>, found: &audit::Audit) -> wire::Audit {
    let mut jobs = wire::JobCounts::default();
    for audited in &found.queues {
        view::add(&mut jobs, audited.counts);
    }
    let unheard = found.unknown.iter().take(wire::MISMATCHES_LISTED_MAX);
    wire::Audit {
        position: found.position.0,
        at: clock::rfc3339(at),
        queue: queue.map(ToString::to_string),
        ok: found.is_clean(),
        queues: found.queues.len() as u64,
        jobs,
        live: found.live,
        in_transit: found.in_transit,
        mismatches: found.mismatches.iter().map(show_mismatch).collect(),
        mismatches_count: found.mismatch_count,
        unheard: unheard.map(|session| session.0).collect(),
        unheard_count: found.unknown.len() as u64,
    }
}

fn show_mismatch(mismatch: &Mismatch) -> wire::Mismatch {
    wire::Mismatch {
        kind: mismatch.kind.as_str().to_owned(),
        job: mismatch.job.map(|job| job.0),
        queue: mismatch.queue.as_ref().map(ToString::to_string),
        worker: mismatch.session.map(|session| session.0),
        claim: mismatch.claim.map(|claim| claim.0),
        detail: mismatch.detail.clone(),
    }
}
