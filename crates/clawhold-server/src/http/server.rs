//! The server itself: its part in the log, its limits, its contract.

use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use clawhold_api::error::Code;
use clawhold_api::limits::Limits;
use clawhold_api::page::LIMIT_MAX;
use clawhold_api::queue::JobCounts;
use clawhold_api::server as wire;
use clawhold_api::socket;
use clawhold_core::ActiveServer;
use clawhold_core::limits as core;
use clawhold_core::replica::{Mode, Replica};

use super::automation::alerts_firing;
use super::body::BODY_BYTES_MAX;
use super::error::Rejected;
use super::query::Word;
use super::{Room, convert, view};
use crate::driver::Failure;

pub(super) async fn openapi() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], clawhold_api::openapi::DOCUMENT).into_response()
}

pub(super) async fn problem(Word(code): Word) -> Result<String, Rejected> {
    let Some(code) = Code::parse(&code) else {
        return Err(Rejected::new(Code::NotFound, format!("there is no error code {code:?}")));
    };
    let yes_no = |yes: bool| if yes { "yes" } else { "no" };
    Ok(format!(
        "{code}: {}\n\nHTTP status: {}\nSensible to retry: {}\nCertain that nothing happened: {}\n",
        code.title(),
        code.status(),
        yes_no(code.retry_is_sensible()),
        yes_no(code.nothing_happened()),
    ))
}

pub(super) async fn limits() -> Json<Limits> {
    Json(Limits {
        body_bytes_max: BODY_BYTES_MAX as u64,
        command_bytes_max: core::COMMAND_BYTES_MAX as u64,
        json_depth_max: core::JSON_DEPTH_MAX as u64,
        name_bytes_max: core::NAME_BYTES_MAX as u64,
        key_bytes_max: core::KEY_BYTES_MAX as u64,
        request_id_bytes_max: core::REQUEST_ID_BYTES_MAX as u64,
        text_bytes_max: core::TEXT_BYTES_MAX as u64,
        payload_bytes_max: core::PAYLOAD_BYTES_MAX as u64,
        result_bytes_max: core::RESULT_BYTES_MAX as u64,
        checkpoint_bytes_max: core::CHECKPOINT_BYTES_MAX as u64,
        event_bytes_max: core::EVENT_BYTES_MAX as u64,
        items_max: core::ITEMS_MAX as u64,
        queues_per_claim_max: core::QUEUES_PER_CLAIM_MAX as u64,
        page_max: LIMIT_MAX,
        wait_ms_max: convert::WAIT_MS_MAX,
        sockets_max: socket::SOCKETS_MAX as u64,
        socket_frame_bytes_max: socket::FRAME_BYTES_MAX as u64,
        socket_frame_calls_max: socket::FRAME_CALLS_MAX as u64,
        socket_in_flight_max: socket::IN_FLIGHT_MAX as u64,
        ttl_ms_min: core::TTL_MS_MIN,
        ttl_ms_max: core::TTL_MS_MAX,
        duration_ms_max: core::DURATION_MS_MAX,
        priority_min: core::PRIORITY_MIN.into(),
        priority_max: core::PRIORITY_MAX.into(),
        attempts_max: core::ATTEMPTS_MAX_MAX.into(),
        jobs_max: core::JOBS_MAX,
        queues_max: core::QUEUES_MAX as u64,
        roles_max: core::ROLES_MAX as u64,
        streams_max: core::STREAMS_MAX as u64,
        sessions_max: core::SESSIONS_MAX as u64,
        candidates_max: core::CANDIDATES_MAX as u64,
        requests_max: core::REQUESTS_MAX as u64,
        request_ms: core::REQUEST_MS,
    })
}

pub(super) async fn status(State(room): State<Room>) -> Result<Json<wire::Status>, Rejected> {
    let store = clawhold_log::shown(&room.store);
    room.read(move |replica| Ok(show_status(replica, store))).await.map(Json)
}

pub(super) async fn server(State(room): State<Room>) -> Result<Json<wire::Server>, Rejected> {
    let store = clawhold_log::shown(&room.store);
    let shown = room.handle.read(move |replica| show_server(replica, store));
    shown.await.map(Json).map_err(Rejected::from)
}

pub(super) async fn hash(State(room): State<Room>) -> Result<Json<wire::StateHash>, Rejected> {
    // Only the state is copied on the driver's thread; hashing it may take long.
    let state = room.handle.read(|replica| replica.state().freeze()).await?;
    let hashed = tokio::task::spawn_blocking(move || wire::StateHash {
        position: state.position().0,
        hash: state.hash(),
    });
    hashed.await.map(Json).map_err(|_| Failure::Stopping.into())
}

pub(super) fn server_state(mode: Mode) -> wire::ServerState {
    match mode {
        Mode::Active => wire::ServerState::Active,
        Mode::TakingOver => wire::ServerState::Starting,
        Mode::Standby | Mode::Stopped => wire::ServerState::Standby,
    }
}

fn show_server(replica: &Replica, store: String) -> wire::Server {
    let state = replica.state();
    let is_active = replica.mode() == Mode::Active;
    let own = state.active().filter(|_| is_active).and_then(ActiveServer::url);
    wire::Server {
        state: server_state(replica.mode()),
        epoch: state.epoch().0,
        position: state.last().position.0,
        at: view::moment(state.last()),
        advertise: own.map(str::to_owned),
        hold_left_ms: is_active.then(|| replica.hold_left_ms()),
        store,
    }
}

fn show_status(replica: &Replica, store: String) -> wire::Status {
    let state = replica.state();
    let active_url = state.active().and_then(ActiveServer::url);
    let mut roles = wire::RoleTotals::default();
    for role in state.roles().list(None) {
        if role.held.is_some() { roles.held += 1 } else { roles.vacant += 1 }
    }
    let (mut workers, mut sessions) = (wire::WorkerTotals::default(), 0);
    for session in state.sessions().list(None) {
        sessions += 1;
        if !session.queues.is_empty() {
            count_worker(&mut workers, session.state);
        }
    }
    let (mut queues, mut jobs) = (wire::QueueNumbers::default(), JobCounts::default());
    for queue in state.jobs().queues(None) {
        queues.count += 1;
        queues.paused += u64::from(queue.paused.is_some());
        queues.gated += u64::from(queue.gate.closed.is_some());
        view::add(&mut jobs, state.jobs().counts(queue));
    }
    wire::Status {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        server: show_server(replica, store),
        active_url: active_url.map(str::to_owned),
        roles,
        workers,
        sessions,
        queues,
        jobs,
        streams: state.streams().list(None).count() as u64,
        unread: state.automation().outbox().unread_count(),
        alerts_firing: alerts_firing(state),
        runs_live: state.automation().runs().live().count() as u64,
        automation_paused: state.automation().paused().is_some(),
    }
}

fn count_worker(workers: &mut wire::WorkerTotals, state: clawhold_core::answer::WorkerState) {
    use clawhold_core::answer::WorkerState;

    match state {
        WorkerState::Active => workers.active += 1,
        WorkerState::Draining => workers.draining += 1,
        WorkerState::Drained => workers.drained += 1,
        WorkerState::Left | WorkerState::Lost => {}
    }
}
