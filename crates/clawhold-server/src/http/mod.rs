//! The HTTP edge: one file for each noun, bodies in, commands out, answers back.
//!
//! A handler turns a request into one command, waits for its entry and shows what it did. What a
//! command means is decided in the core; who may ask is checked before a request gets here.

mod automation;
mod body;
mod call;
mod claim;
mod convert;
mod error;
mod event;
mod follow;
mod handed;
mod health;
mod heard;
mod hub;
mod job;
mod metrics;
mod promotion;
mod query;
mod queue;
mod recent;
mod role;
mod role_acquire;
mod server;
mod session;
mod signal;
mod socket;
mod stream;
#[cfg(test)]
mod tests;
mod view;
mod waiters;
mod worker;

use std::ops::Deref;
use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::{HeaderValue, Method, Uri, header};
use axum::middleware::map_response;
use axum::response::Response;
use axum::routing::{get, post};
use clawhold_api::error::Code;
use clawhold_api::routes;

use self::error::Rejected;
use self::hub::Hub;
pub(crate) use self::socket::Sockets;
use crate::driver::Handle;
use crate::outside::Outside;

/// What the HTTP edge works with.
#[derive(Clone, Debug)]
pub(crate) struct App {
    /// The way to the driver.
    pub(crate) handle: Handle,
    /// The store's URL, which may hold a password.
    pub(crate) store: String,
    /// The way to other programs.
    pub(crate) outside: Outside,
}

/// What each handler gets; a copy costs nothing.
#[derive(Clone, Debug)]
struct Room(Arc<Furniture>);

/// What is in the room.
#[derive(Debug)]
struct Furniture {
    handle: Handle,
    store: Arc<str>,
    hub: Arc<Hub>,
    outside: Outside,
    /// Held while a definition is read, changed and written.
    edits: tokio::sync::Mutex<()>,
    /// Held while the log is played again.
    plays: tokio::sync::Mutex<()>,
}

impl Deref for Room {
    type Target = Furniture;

    fn deref(&self) -> &Furniture {
        &self.0
    }
}

/// Returns every route. Must be called within a runtime.
pub(crate) fn router(app: App) -> Router {
    let hub = Hub::start(app.handle.clone());
    let App { handle, store, outside } = app;
    let (edits, plays) = Default::default();
    let room = Furniture { handle, store: store.into(), hub, outside, edits, plays };
    let room = Room(Arc::new(room));
    Router::new()
        .merge(server_routes())
        .merge(session_routes())
        .merge(role_routes())
        .merge(job_routes())
        .merge(stream_routes())
        .merge(automation::router())
        .fallback(no_such_path)
        .method_not_allowed_fallback(no_such_method)
        .layer(DefaultBodyLimit::max(body::BODY_BYTES_MAX))
        .layer(map_response(harden))
        .with_state(room)
}

fn server_routes() -> Router<Room> {
    Router::new()
        .route(routes::LIVEZ, get(health::live))
        .route(routes::READYZ, get(health::ready))
        .route(routes::HEALTHZ, get(health::ready))
        .route(routes::LEADERZ, get(health::leader))
        .route(routes::METRICS, get(metrics::show))
        .route(routes::OPENAPI, get(server::openapi))
        .route(routes::PROBLEM, get(server::problem))
        .route(routes::LIMITS, get(server::limits))
        .route(routes::STATUS, get(server::status))
        .route(routes::SERVER, get(server::server))
        .route(routes::HASH, get(server::hash))
        .route(routes::EVENTS, get(event::follow))
}

fn session_routes() -> Router<Room> {
    Router::new()
        .route(routes::SESSIONS, get(session::list).post(session::open))
        .route(routes::SESSION_BEAT, post(session::beat))
        .route(routes::SESSION_CLOSE, post(session::close))
        .route(routes::WORKERS, get(worker::list))
        .route(routes::WORKER, get(worker::show))
        .route(routes::WORKER_DRAIN, post(worker::drain))
        .route(routes::WORKER_RESUME, post(worker::resume))
}

fn role_routes() -> Router<Room> {
    Router::new()
        .route(routes::ROLES, get(role::list))
        .route(routes::ROLE, get(role::show).put(role::set).delete(role::remove))
        .route(routes::ROLE_HISTORY, get(role::history))
        .route(routes::ROLE_ACQUIRE, post(role_acquire::acquire))
        .route(routes::ROLE_WITHDRAW, post(role::withdraw))
        .route(routes::ROLE_RELEASE, post(role::release))
        .route(routes::ROLE_HAND_OVER, post(role::hand_over))
        .route(routes::ROLE_ASK_HAND_OVER, post(role::ask_hand_over))
}

fn job_routes() -> Router<Room> {
    Router::new()
        .route(routes::QUEUES, get(queue::list))
        .route(routes::QUEUE, get(queue::show).put(queue::set).delete(queue::remove))
        .route(routes::QUEUE_PAUSE, post(queue::pause))
        .route(routes::QUEUE_RESUME, post(queue::resume))
        .route(routes::QUEUE_GATE, post(queue::gate))
        .route(routes::QUEUE_ADMIT, post(queue::admit))
        .route(routes::AUDIT, get(queue::audit))
        .route(routes::JOBS, get(job::list).post(job::enqueue))
        .route(routes::JOB, get(job::show))
        .route(routes::JOB_CLAIM, post(claim::claim))
        .route(routes::JOB_SETTLE, post(claim::settle))
        .route(routes::JOB_PROGRESS, post(job::progress))
        .route(routes::JOB_CHECKPOINT, post(job::checkpoint))
        .route(routes::JOB_CANCEL, post(job::cancel))
        .route(routes::JOB_RETRY, post(job::retry))
        .route(routes::JOB_HAND_BACK, post(job::hand_back))
}

fn stream_routes() -> Router<Room> {
    Router::new()
        .route(routes::STREAMS, get(stream::list))
        .route(routes::STREAM, get(stream::show).put(stream::set).delete(stream::remove))
        .route(routes::STREAM_EVENTS, get(follow::read).post(stream::append))
        .route(routes::STREAM_POSITIONS, get(stream::positions))
        .route(routes::COMMIT, post(stream::commit))
}

async fn no_such_path(uri: Uri) -> Rejected {
    let detail = format!("there is no path {:?}; GET {} lists them", uri.path(), routes::OPENAPI);
    Rejected::new(Code::NotFound, detail)
}

async fn no_such_method(method: Method, uri: Uri) -> Rejected {
    let detail =
        format!("{} does not know {method}; the Allow header says which it knows", uri.path());
    Rejected::new(Code::MethodNotAllowed, detail)
}

/// Adds what every response carries.
async fn harden(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}
