//! The OpenAPI 3.1 document, made from the types and routes of this crate.
//!
//! It is checked in as `openapi.json`; a test fails when that file is not what the code says.

mod automation;
mod operation;

use std::collections::BTreeMap;

use utoipa::openapi::path::PathsBuilder;
use utoipa::openapi::schema::ComponentsBuilder;
use utoipa::openapi::{InfoBuilder, LicenseBuilder, OpenApi, OpenApiBuilder, PathItem};

use self::operation::Operation;
use crate::{job, limits, page, queue, role, routes, server, session, socket, stream, worker};

/// The document as it is checked in and served.
pub const DOCUMENT: &str = include_str!("../openapi.json");

/// Returns the document, made anew from the code.
#[must_use]
pub fn document() -> OpenApi {
    let mut paths = PathsBuilder::new();
    let mut schemas = BTreeMap::new();
    for operation in operations().map(Operation::finish) {
        schemas.extend(operation.schemas);
        paths = paths.path(operation.path, PathItem::new(operation.method, operation.builder));
    }
    let info = InfoBuilder::new()
        .title("Clawhold")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(
            "One leader per role, no lost jobs. Positions, tokens and ids are JSON numbers of \
             at most 2^53-1; moments are RFC 3339 in UTC; durations end in `_ms`.",
        ))
        .license(Some(LicenseBuilder::new().name("Apache-2.0").build()))
        .build();
    let components = ComponentsBuilder::new().schemas_from_iter(schemas).build();
    OpenApiBuilder::new().info(info).paths(paths).components(Some(components)).build()
}

fn operations() -> impl Iterator<Item = Operation> {
    let groups = [
        about_server(),
        about_sessions(),
        about_roles(),
        about_queues(),
        about_jobs(),
        about_streams(),
        automation::about_definitions(),
        automation::about_nouns(),
        automation::about_runs(),
        automation::about_messages(),
        automation::about_conditions(),
    ];
    groups.into_iter().flatten()
}

fn about_server() -> Vec<Operation> {
    let get = Operation::get;
    vec![
        get(routes::LIVEZ, "Tells whether the process runs").text("text/plain"),
        get(routes::READYZ, "Tells whether the server can take requests")
            .query::<server::HealthQuery>()
            .reply::<server::Health>(),
        get(routes::HEALTHZ, "The same as /readyz")
            .query::<server::HealthQuery>()
            .reply::<server::Health>(),
        get(routes::LEADERZ, "Tells whether this server is the active one").text("text/plain"),
        get(routes::METRICS, "Metrics in the Prometheus text format").text("text/plain"),
        get(routes::OPENAPI, "This document").text("application/json"),
        get(routes::PROBLEM, "Explains an error code").text("text/plain"),
        get(routes::LIMITS, "Every limit").reply::<limits::Limits>(),
        get(routes::STATUS, "The active server and what it holds, in numbers")
            .reply::<server::Status>(),
        get(routes::SERVER, "The server that answers, by itself").reply::<server::Server>(),
        get(routes::HASH, "The hash of the state of the server that answers")
            .reply::<server::StateHash>(),
        get(routes::EVENTS, "Changes, as they happen")
            .query::<server::ChangeQuery>()
            .follow::<server::Change>(),
        get(routes::SOCKET, "Many calls over one WebSocket")
            .socket::<socket::Call<'_>, socket::Answer<'_>>(),
    ]
}

fn about_sessions() -> Vec<Operation> {
    let (get, post) = (Operation::get, Operation::post);
    vec![
        get(routes::SESSIONS, "Lists the live sessions")
            .query::<page::PageQuery>()
            .rows::<session::Session>(),
        post(routes::SESSIONS, "Opens a session")
            .body::<session::OpenSession>()
            .reply::<session::OpenedSession>(),
        Operation::report(routes::SESSION_BEAT, "Renews everything a session holds")
            .body::<session::Beat>()
            .reply::<session::BeatReply>(),
        post(routes::SESSION_CLOSE, "Ends a session: what it holds goes back")
            .body::<session::CloseSession>()
            .reply::<page::Done>(),
        get(routes::WORKERS, "Lists workers")
            .query::<worker::WorkerQuery>()
            .rows::<worker::Worker>(),
        get(routes::WORKER, "Shows a worker, by id or by its label").reply::<worker::Worker>(),
        post(routes::WORKER_DRAIN, "Sends a worker home")
            .body::<worker::DrainWorker>()
            .reply::<worker::DrainReply>(),
        post(routes::WORKER_RESUME, "Takes a drain back")
            .body::<page::Nothing>()
            .reply::<worker::Worker>(),
    ]
}

fn about_roles() -> Vec<Operation> {
    let (get, post) = (Operation::get, Operation::post);
    vec![
        get(routes::ROLES, "Lists roles").query::<page::PageQuery>().rows::<role::Role>(),
        get(routes::ROLE, "Shows a role").reply::<role::Role>(),
        Operation::put(routes::ROLE, "Sets what is known of a role")
            .body::<role::SetRole>()
            .reply::<role::Role>(),
        Operation::delete(routes::ROLE, "Removes a role that nobody holds").reply::<page::Done>(),
        get(routes::ROLE_HISTORY, "Tells what became of a role").reply::<role::RoleHistory>(),
        post(routes::ROLE_ACQUIRE, "Asks for a role")
            .body::<role::Acquire>()
            .reply::<role::Acquired>(),
        post(routes::ROLE_WITHDRAW, "Stops waiting for a role")
            .body::<role::Withdraw>()
            .reply::<page::Done>(),
        post(routes::ROLE_RELEASE, "Gives a role up")
            .body::<role::Release>()
            .reply::<role::Released>(),
        post(routes::ROLE_HAND_OVER, "Gives a role to a candidate, in one entry")
            .body::<role::HandOver>()
            .reply::<role::NextHolder>(),
        post(routes::ROLE_ASK_HAND_OVER, "Asks the holder to finish and hand over")
            .body::<role::AskHandOver>()
            .reply::<role::Role>(),
    ]
}

fn about_queues() -> Vec<Operation> {
    let (get, post) = (Operation::get, Operation::post);
    vec![
        get(routes::QUEUES, "Lists queues").query::<page::PageQuery>().rows::<queue::Queue>(),
        get(routes::QUEUE, "Shows a queue").reply::<queue::Queue>(),
        Operation::put(routes::QUEUE, "Sets the limits of a queue")
            .body::<queue::SetQueue>()
            .reply::<queue::Queue>(),
        Operation::delete(routes::QUEUE, "Removes a queue without live jobs").reply::<page::Done>(),
        post(routes::QUEUE_PAUSE, "Stops handing out the jobs of a queue")
            .body::<queue::PauseQueue>()
            .reply::<queue::Queue>(),
        post(routes::QUEUE_RESUME, "Hands out the jobs of a queue again")
            .body::<page::Nothing>()
            .reply::<queue::Queue>(),
        post(routes::QUEUE_GATE, "Closes the gate: new jobs wait behind returned ones")
            .body::<queue::CloseGate>()
            .reply::<queue::Queue>(),
        post(routes::QUEUE_ADMIT, "Opens the gate: new jobs are admitted")
            .body::<page::Nothing>()
            .reply::<queue::Queue>(),
        get(routes::AUDIT, "Compares the record with what workers report")
            .query::<queue::AuditQuery>()
            .reply::<queue::Audit>(),
    ]
}

fn about_jobs() -> Vec<Operation> {
    let (get, post) = (Operation::get, Operation::post);
    vec![
        get(routes::JOBS, "Lists jobs").query::<job::JobQuery>().rows::<job::Job>(),
        post(routes::JOBS, "Accepts jobs, all or none")
            .body::<job::Enqueue>()
            .reply::<job::Enqueued>(),
        get(routes::JOB, "Shows a job").reply::<job::Job>(),
        post(routes::JOB_CLAIM, "Hands out jobs").body::<job::Claim>().reply::<job::Claimed>(),
        post(routes::JOB_SETTLE, "Ends claims and hands out the next jobs")
            .body::<job::Settle>()
            .reply::<job::Settled>(),
        post(routes::JOB_PROGRESS, "Says that a handler moves")
            .body::<job::Progress>()
            .reply::<page::Done>(),
        post(routes::JOB_CHECKPOINT, "Keeps what the next holder needs")
            .body::<job::Checkpoint>()
            .reply::<page::Done>(),
        post(routes::JOB_CANCEL, "Cancels jobs")
            .body::<job::CancelJobs>()
            .reply::<job::JobResults>(),
        post(routes::JOB_RETRY, "Puts ended jobs back")
            .body::<job::RetryJobs>()
            .reply::<job::JobResults>(),
        post(routes::JOB_HAND_BACK, "Takes running jobs from their holders")
            .body::<job::HandBackJobs>()
            .reply::<job::JobResults>(),
    ]
}

fn about_streams() -> Vec<Operation> {
    let (get, post) = (Operation::get, Operation::post);
    vec![
        get(routes::STREAMS, "Lists streams").query::<page::PageQuery>().rows::<stream::Stream>(),
        get(routes::STREAM, "Shows a stream").reply::<stream::Stream>(),
        Operation::put(routes::STREAM, "Makes a stream or sets its retention")
            .body::<stream::SetStream>()
            .reply::<stream::Stream>(),
        Operation::delete(routes::STREAM, "Removes a stream with all its events")
            .reply::<page::Done>(),
        post(routes::STREAM_EVENTS, "Appends events")
            .body::<stream::Append>()
            .reply::<stream::Appended>(),
        get(routes::STREAM_EVENTS, "Reads events, or follows them as an event stream")
            .query::<stream::EventQuery>()
            .reply::<stream::Events>()
            .follow::<stream::Event>(),
        get(routes::STREAM_POSITIONS, "Tells how far each role has come")
            .reply::<stream::Positions>(),
        post(routes::COMMIT, "Takes the atomic step of a coordinator")
            .body::<stream::Commit>()
            .reply::<stream::Committed>(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fresh() -> String {
        let mut text = document().to_pretty_json().unwrap();
        text.push('\n');
        text
    }

    #[test]
    fn the_checked_in_document_is_current() {
        let fresh = fresh();
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            let path = concat!(env!("CARGO_MANIFEST_DIR"), "/openapi.json");
            std::fs::write(path, &fresh).unwrap();
            return;
        }
        assert!(fresh == DOCUMENT, "openapi.json is old: run the tests with UPDATE_EXPECT=1");
    }

    #[test]
    fn the_document_covers_every_route_and_nothing_else() {
        let document = document();
        let told: Vec<&str> = document.paths.paths.keys().map(String::as_str).collect();
        let automation = routes::automation::all();
        let mut known: Vec<&str> = routes::ALL.iter().copied().chain(automation).collect();
        known.sort_unstable();
        assert_eq!(told, known);
    }

    #[test]
    fn every_reference_in_the_document_leads_somewhere() {
        let value: serde_json::Value = serde_json::from_str(&fresh()).unwrap();
        assert_eq!(value["openapi"], "3.1.0");
        let text = fresh();
        let references = text.split("\"#/components/schemas/").skip(1);
        let mut count = 0;
        for name in references.filter_map(|rest| rest.split('"').next()) {
            assert!(value["components"]["schemas"][name].is_object(), "{name} is missing");
            count += 1;
        }
        assert!(count > 50, "only {count} references");
    }

    #[test]
    fn no_two_types_share_a_name_in_the_document() {
        let mut known = BTreeMap::new();
        for (name, schema) in operations().map(Operation::finish).flat_map(|one| one.schemas) {
            let before = known.insert(name.clone(), schema.clone());
            assert!(before.is_none_or(|before| before == schema), "two types are named {name}");
        }
    }

    #[test]
    fn requests_refuse_unknown_fields_and_replies_do_not() {
        let value: serde_json::Value = serde_json::from_str(&fresh()).unwrap();
        let schemas = &value["components"]["schemas"];
        assert_eq!(schemas["OpenSession"]["additionalProperties"], false);
        assert_eq!(schemas["NewJob"]["additionalProperties"], false);
        assert!(schemas["Job"]["additionalProperties"].is_null());
    }
}
