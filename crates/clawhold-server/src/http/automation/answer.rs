//! What a command shows: each view as lines for people and as data for programs.

use clawhold_api::role::Role;
use clawhold_api::worker::{Worker, WorkerState};
use clawhold_core::operation::{Show, Subject};
use serde_json::{Map, Value, json};

use super::cluster::Cluster;

/// Rows of one view that are told in words.
const LINES_MAX: usize = 50;

/// What one cluster answers to some views.
#[derive(Debug, Default)]
pub(super) struct Answer {
    pub(super) lines: Vec<String>,
    pub(super) data: Map<String, Value>,
}

/// A name that came with the words, for views that name nothing themselves.
#[derive(Clone, Debug, Default)]
pub(super) struct About {
    pub(super) role: Option<String>,
    pub(super) worker: Option<String>,
    pub(super) queue: Option<String>,
}

/// Asks a cluster for each view.
pub(super) async fn ask(
    cluster: &Cluster,
    views: &[Show],
    about: &About,
) -> Result<Answer, String> {
    let mut answer = Answer::default();
    for view in views {
        let (lines, data) = match view {
            Show::Holder { role } => holder(cluster, named(role, about.role.as_deref())).await?,
            Show::Lag { role } => lag(cluster, named(role, about.role.as_deref())).await?,
            Show::Held { worker } => held(cluster, named(worker, about.worker.as_deref())).await?,
            Show::Workers => workers(cluster).await?,
            Show::Queue { queue } => {
                queue_of(cluster, named(queue, about.queue.as_deref())).await?
            }
            Show::Failed { queue } => failed(cluster, named(queue, about.queue.as_deref())).await?,
            Show::Alerts => alerts(cluster).await?,
            Show::Runs => runs(cluster).await?,
        };
        answer.lines.extend(lines);
        answer.data.insert(view.name().to_owned(), data);
    }
    Ok(answer)
}

type Shown = (Vec<String>, Value);

fn named<'a>(subject: &'a Subject, about: Option<&'a str>) -> Option<&'a str> {
    match subject {
        Subject::Run => about,
        Subject::Named(name) => Some(name.as_str()),
    }
}

async fn roles(cluster: &Cluster, name: Option<&str>) -> Result<Vec<Role>, String> {
    let mut roles = cluster.roles().await?;
    roles.retain(|role| name.is_none_or(|name| role.name == name));
    Ok(roles)
}

/// Returns lines, with a word for what is not listed, or for nothing.
fn listed(mut lines: Vec<String>, none: &str) -> Vec<String> {
    let more = lines.len().saturating_sub(LINES_MAX);
    lines.truncate(LINES_MAX);
    if more > 0 {
        lines.push(format!("… and {more} more"));
    }
    if lines.is_empty() {
        lines.push(none.to_owned());
    }
    lines
}

fn no_such(kind: &str, name: Option<&str>) -> String {
    name.map_or_else(|| format!("there is no {kind}"), |name| format!("there is no {kind} {name}"))
}

async fn holder(cluster: &Cluster, name: Option<&str>) -> Result<Shown, String> {
    let roles = roles(cluster, name).await?;
    let lines = roles.iter().map(|role| match &role.holder {
        Some(holder) => {
            let at = crate::clock::now().at.after(holder.left_ms);
            format!(
                "{}: held by {} (session {}), the lease expires in {} at {}, token {}",
                role.name,
                holder.label,
                holder.id,
                seconds(holder.left_ms),
                crate::clock::rfc3339(at),
                holder.token
            )
        }
        None => format!("{}: held by nobody, the last token was {}", role.name, role.token),
    });
    let lines = listed(lines.collect(), &no_such("role", name));
    let data = roles.iter().map(|role| {
        json!({
            "role": role.name,
            "token": role.token,
            "holder": role.holder.as_ref().map(|holder| json!({
                "worker": holder.label,
                "session": holder.id,
                "token": holder.token,
                "since": holder.since,
                "left_ms": holder.left_ms,
            })),
        })
    });
    Ok((lines, data.collect()))
}

fn seconds(ms: u64) -> String {
    format!("{}.{} s", ms / 1_000, ms % 1_000 / 100)
}

async fn lag(cluster: &Cluster, name: Option<&str>) -> Result<Shown, String> {
    let roles = roles(cluster, name).await?;
    let mut lines = Vec::new();
    for role in &roles {
        if role.candidates.is_empty() {
            lines.push(format!("{}: nobody stands by", role.name));
        }
        for standby in &role.candidates {
            let behind = match standby.lag {
                Some(0) => "caught up".to_owned(),
                Some(lag) => format!("{lag} events behind"),
                None => "its stream is not known".to_owned(),
            };
            lines.push(format!("{}: {} is {behind}", role.name, standby.label));
        }
    }
    let data = roles.iter().map(|role| {
        let standbys = role.candidates.iter().map(
            |standby| json!({"worker": standby.label, "session": standby.id, "lag": standby.lag}),
        );
        json!({"role": role.name, "standbys": standbys.collect::<Value>()})
    });
    Ok((listed(lines, &no_such("role", name)), data.collect()))
}

async fn held(cluster: &Cluster, name: Option<&str>) -> Result<Shown, String> {
    let mut workers = cluster.workers().await?;
    workers.retain(|worker| {
        name.is_none_or(|name| worker.label == name || worker.id.to_string() == name)
    });
    let lines = workers.iter().map(|worker| {
        let jobs = worker.held_jobs.iter().flatten().map(|hold| hold.job.to_string());
        let jobs: Vec<String> = jobs.take(20).collect();
        let jobs = if jobs.is_empty() { String::new() } else { format!(": {}", jobs.join(", ")) };
        format!("{} holds {}{jobs}", worker.label, counted(worker.held, "job"))
    });
    let lines = listed(lines.collect(), &no_such("worker", name));
    let data = workers.iter().map(|worker| {
        let jobs: Vec<u64> = worker.held_jobs.iter().flatten().map(|hold| hold.job).collect();
        json!({"worker": worker.label, "session": worker.id, "held": worker.held, "jobs": jobs})
    });
    Ok((lines, data.collect()))
}

fn counted(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

async fn workers(cluster: &Cluster) -> Result<Shown, String> {
    let workers = cluster.workers().await?;
    let lines = workers.iter().map(|worker| {
        let leaves = match (&worker.drain, worker.state) {
            (Some(drain), _) => format!(", leaves in {}", seconds(drain.left_ms)),
            (None, WorkerState::Drained) => ", drained".to_owned(),
            (None, _) => String::new(),
        };
        let (queues, held) = (worker.queues.join(", "), worker.held);
        format!("{} works on {queues}, holds {held} of {}{leaves}", worker.label, worker.slots)
    });
    let lines = listed(lines.collect(), "nobody works");
    let data = workers.iter().map(show_worker);
    Ok((lines, data.collect()))
}

fn show_worker(worker: &Worker) -> Value {
    json!({
        "worker": worker.label,
        "session": worker.id,
        "state": worker.state,
        "queues": worker.queues,
        "held": worker.held,
        "slots": worker.slots,
        "leaves_in_ms": worker.drain.as_ref().map(|drain| drain.left_ms),
    })
}

async fn queue_of(cluster: &Cluster, name: Option<&str>) -> Result<Shown, String> {
    let mut queues = cluster.queues().await?;
    queues.retain(|queue| name.is_none_or(|name| queue.name == name));
    let lines = queues.iter().map(|queue| {
        let jobs = &queue.jobs;
        let paused = if queue.paused.is_some() { ", paused" } else { "" };
        let gate = if queue.gate.is_some() { ", new jobs wait" } else { "" };
        format!(
            "{}: {} wait, {} returned, {} run, {} failed{paused}{gate}",
            queue.name, jobs.queued, jobs.returned, jobs.running, jobs.failed
        )
    });
    let lines = listed(lines.collect(), &no_such("queue", name));
    let data = queues.iter().map(|queue| {
        json!({
            "queue": queue.name,
            "jobs": queue.jobs,
            "paused": queue.paused.is_some(),
            "gated": queue.gate.is_some(),
            "workers": queue.workers,
            "oldest_waiting_ms": queue.oldest_waiting_ms,
        })
    });
    Ok((lines, data.collect()))
}

async fn failed(cluster: &Cluster, name: Option<&str>) -> Result<Shown, String> {
    let mut jobs = cluster.failed().await?;
    jobs.retain(|job| name.is_none_or(|name| job.queue == name));
    let lines = jobs.iter().map(|job| format!("job {} of {} failed for good", job.id, job.queue));
    let lines = listed(lines.collect(), "no job has failed for good");
    let data = jobs.iter().map(|job| json!({"job": job.id, "queue": job.queue}));
    Ok((lines, data.collect()))
}

async fn alerts(cluster: &Cluster) -> Result<Shown, String> {
    let alerts = cluster.alerts().await?;
    let lines = alerts.iter().map(|alert| {
        let (severity, state) = (&alert.severity, alert.state.as_str());
        format!("{} [{severity}] {state}: {}", alert.rule, alert.summary)
    });
    let lines = listed(lines.collect(), "no alert");
    let data = alerts.iter().map(|alert| {
        json!({
            "alert": alert.id,
            "rule": alert.rule,
            "group": alert.group,
            "severity": alert.severity,
            "state": alert.state,
            "since": alert.since,
            "summary": alert.summary,
        })
    });
    Ok((lines, data.collect()))
}

async fn runs(cluster: &Cluster) -> Result<Shown, String> {
    let runs = cluster.runs().await?;
    let lines = runs.iter().map(|run| {
        let step = run.step.map(|step| format!(", step {step} of {}", run.steps.len()));
        let (name, state) = (&run.name, run.state.as_str());
        format!("run {} of {name}: {state}{}", run.id, step.unwrap_or_default())
    });
    let lines = listed(lines.collect(), "nothing has run");
    let data = runs.iter().map(|run| {
        json!({
            "run": run.id,
            "name": run.name,
            "state": run.state,
            "step": run.step,
            "asked": run.asked,
            "ended": run.ended,
        })
    });
    Ok((lines, data.collect()))
}
