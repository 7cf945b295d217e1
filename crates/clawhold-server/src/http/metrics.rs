//! Metrics in the Prometheus text format, read from the state at the moment they are asked for.

use std::sync::atomic::AtomicU64;

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use clawhold_api::error::Code;
use clawhold_core::answer::{JobState, WorkerState};
use clawhold_core::replica::{Mode, Replica};
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::Room;
use super::automation::alerts_firing;
use super::error::Rejected;

/// Queues, and roles, that have metrics of their own; further ones are left out.
const NAMED_MAX: usize = 1_000;

type Labels = Vec<(&'static str, String)>;
type Gauges = Family<Labels, Gauge<u64, AtomicU64>>;
type Counters = Family<Labels, Counter>;

pub(super) async fn show(State(room): State<Room>) -> Result<Response, Rejected> {
    let registry = room.handle.read(measure).await?;
    let mut text = String::new();
    encode(&mut text, &registry)
        .map_err(|_| Rejected::new(Code::Internal, "the metrics cannot be written"))?;
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
}

fn measure(replica: &Replica) -> Registry {
    let mut registry = Registry::with_prefix("clawhold");
    measure_server(&mut registry, replica);
    measure_sessions(&mut registry, replica);
    measure_roles(&mut registry, replica);
    measure_queues(&mut registry, replica);
    measure_automation(&mut registry, replica);
    registry
}

fn measure_server(registry: &mut Registry, replica: &Replica) {
    let state = replica.state();
    let mut gauge = |name: &str, help: &str, value: u64| {
        let gauge: Gauge<u64, AtomicU64> = Gauge::default();
        gauge.set(value);
        registry.register(name, help, gauge);
    };
    let is_active = u64::from(replica.mode() == Mode::Active);
    gauge("active", "Whether this server is the active one", is_active);
    gauge("epoch", "The current term", state.epoch().0);
    gauge("position", "The last entry applied", state.last().position.0);
    gauge("hold_left_milliseconds", "What is left of the hold on the log", replica.hold_left_ms());
    let waiting = replica.waiting_count() as u64;
    gauge("waiting_requests", "Requests that wait for the log", waiting);
}

fn measure_sessions(registry: &mut Registry, replica: &Replica) {
    let (sessions, workers) = (Gauges::default(), Gauges::default());
    for state in [WorkerState::Active, WorkerState::Draining, WorkerState::Drained] {
        workers.get_or_create(&labels("state", state.as_str())).set(0);
    }
    for session in replica.state().sessions().list(None) {
        sessions.get_or_create(&Labels::new()).inc();
        if !session.queues.is_empty() {
            workers.get_or_create(&labels("state", session.state.as_str())).inc();
        }
    }
    registry.register("sessions", "Live sessions, workers included", sessions);
    registry.register("workers", "Live workers", workers);
}

fn measure_roles(registry: &mut Registry, replica: &Replica) {
    let (held, tokens, standbys) = (Gauges::default(), Gauges::default(), Gauges::default());
    for role in replica.state().roles().list(None).take(NAMED_MAX) {
        let name = labels("role", role.name.as_str());
        held.get_or_create(&name).set(u64::from(role.held.is_some()));
        tokens.get_or_create(&name).set(role.floor.0);
        standbys.get_or_create(&name).set(role.candidates.len() as u64);
    }
    registry.register("role_held", "Whether somebody holds the role", held);
    registry.register("role_token", "The highest token granted", tokens);
    registry.register("role_standbys", "Sessions that stand by for the role", standbys);
}

fn measure_queues(registry: &mut Registry, replica: &Replica) {
    let jobs = replica.state().jobs();
    let (counts, paused, gated) = (Gauges::default(), Gauges::default(), Gauges::default());
    let moves = Counters::default();
    for queue in jobs.queues(None).take(NAMED_MAX) {
        let name = labels("queue", queue.name.as_str());
        paused.get_or_create(&name).set(u64::from(queue.paused.is_some()));
        gated.get_or_create(&name).set(u64::from(queue.gate.closed.is_some()));
        let count = jobs.counts(queue);
        for state in JobState::ALL {
            let labels = with(&name, "state", state.as_str());
            counts.get_or_create(&labels).set(count.of(state));
        }
        let counters = &queue.counters;
        let all = [
            ("enqueued", counters.enqueued),
            ("claimed", counters.claimed),
            ("returned", counters.returned),
            ("completed", counters.completed),
            ("failed", counters.failed),
            ("cancelled", counters.cancelled),
        ];
        for (what, count) in all {
            moves.get_or_create(&with(&name, "move", what)).inc_by(count);
        }
    }
    registry.register("jobs", "Jobs by queue and state", counts);
    registry.register("queue_paused", "Whether the queue hands out nothing", paused);
    registry.register("queue_gated", "Whether new jobs wait behind returned ones", gated);
    registry.register("job_moves", "What happened to the jobs of a queue", moves);
}

fn measure_automation(registry: &mut Registry, replica: &Replica) {
    let automation = replica.state().automation();
    let (runs, decisions) = (Counters::default(), Counters::default());
    for run in automation.runs().live().chain(automation.runs().ended()) {
        runs.get_or_create(&labels("state", run.state.as_str())).inc();
    }
    for decision in automation.runs().decisions() {
        let reason = labels("reason", decision.reason.as_str());
        decisions.get_or_create(&reason).inc_by(decision.count);
    }
    registry.register("runs", "Runs that are kept, by state", runs);
    registry.register("fix_decisions", "Decisions about fixes that are kept", decisions);
    let mut gauge = |name: &str, help: &str, value: u64| {
        let gauge: Gauge<u64, AtomicU64> = Gauge::default();
        gauge.set(value);
        registry.register(name, help, gauge);
    };
    gauge("alerts_firing", "Alerts that fire", alerts_firing(replica.state()));
    let outbox = automation.outbox();
    let waiting = outbox.deliveries().count() as u64;
    gauge("messages_waiting", "Messages on their way to a sink", waiting);
    gauge("messages_failed", "Messages that no sink took", outbox.dead().count() as u64);
    gauge("messages_unread", "Messages that nobody has read", outbox.unread_count());
}

fn labels(name: &'static str, value: &str) -> Labels {
    vec![(name, value.to_owned())]
}

fn with(labels: &Labels, name: &'static str, value: &str) -> Labels {
    let mut labels = labels.clone();
    labels.push((name, value.to_owned()));
    labels
}
