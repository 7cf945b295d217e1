//! The faults of a drill, each carried out on real processes and watched until others took over.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clawhold_client::api::job::Job;

use super::announcer::Announcer;
use super::cluster::{Cluster, LOOK_EVERY, PATIENCE, Part, server_name};
use super::plan::{Fault, Stage};
use super::program;
use super::timeline::Event;
use crate::failure::Failure;

/// How long a fault waits for a worker to be in the middle of a job.
const CATCH_PATIENCE: Duration = Duration::from_secs(5);
/// How long the worker that the plan picked is waited for when others are caught already.
const PICK_PATIENCE: Duration = Duration::from_millis(500);

/// A job that a worker held when a fault met it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Caught {
    /// What happened to its worker.
    pub(super) fault: Fault,
    /// The job.
    pub(super) job: u64,
}

/// Makes one fault happen and waits until others have taken over. Returns the job that a worker
/// held when it met it, if the fault is about a worker.
///
/// # Errors
/// When nobody takes over in time.
pub(super) async fn make(
    stage: &Stage,
    cluster: &mut Cluster,
    announcer: &Announcer,
) -> Result<Option<Caught>, Failure> {
    if !matches!(stage.fault, Fault::DrainWorker | Fault::KillWorker) {
        announcer.release(stage.files.end);
    }
    match stage.fault {
        Fault::FreezeLeader => freeze_leader(cluster).await.map(|()| None),
        Fault::KillLeader => kill_leader(cluster).await.map(|()| None),
        Fault::KillServer => kill_server(cluster).await.map(|()| None),
        Fault::DrainWorker => drain_worker(stage, cluster, announcer).await,
        Fault::KillWorker => kill_worker(stage, cluster, announcer).await,
    }
}

async fn a_leader(cluster: &mut Cluster) -> Result<(usize, u64), Failure> {
    cluster.until("a leader", Cluster::leader).await
}

/// Waits until an indexer leads under a token higher than `old`, and one more stands by.
async fn next_leader(cluster: &mut Cluster, old: u64) -> Result<(), Failure> {
    let found = |cluster: &Cluster| cluster.leader().filter(|(_, token)| old < *token);
    cluster.until("the standby to be promoted", found).await.map(|_| ())
}

async fn freeze_leader(cluster: &mut Cluster) -> Result<(), Failure> {
    let (place, token) = a_leader(cluster).await?;
    let name = cluster.indexers[place].process.name.clone();
    cluster.indexers[place].process.freeze();
    cluster.leaderless = Some(Instant::now());
    let mut event = Event::new(name.clone(), "FAULT: frozen with SIGSTOP while it leads");
    event.token = Some(token);
    cluster.happened(event);
    let promoted = next_leader(cluster, token).await;
    cluster.indexers[place].process.thaw();
    promoted?;
    cluster.happened(Event::new(name.clone(), "thawed"));
    let answered = |cluster: &Cluster| {
        let mut writes = cluster.stale_writes.iter();
        writes.find(|write| write.who == name && write.token == token).map(|_| ())
    };
    cluster.until("the old leader's write to be answered", answered).await?;
    let stands_by = |cluster: &Cluster| {
        let indexer = cluster.indexers.iter().find(|indexer| indexer.process.name == name);
        indexer.filter(|indexer| indexer.part == Part::Standby).map(|_| ())
    };
    cluster.until("the old leader to stand by", stands_by).await
}

async fn kill_leader(cluster: &mut Cluster) -> Result<(), Failure> {
    let (place, token) = a_leader(cluster).await?;
    let mut leader = cluster.indexers.remove(place);
    leader.process.kill();
    cluster.leaderless = Some(Instant::now());
    let mut event = Event::new(leader.process.name.clone(), "FAULT: killed with -9 while it leads");
    event.token = Some(token);
    cluster.happened(event);
    next_leader(cluster, token).await?;
    cluster.start_indexer().await
}

async fn kill_server(cluster: &mut Cluster) -> Result<(), Failure> {
    let look = Duration::from_millis(500);
    let mut active = None;
    for (place, server) in cluster.servers.iter().enumerate() {
        if server.client.is_active(look).await.unwrap_or(false) {
            active = Some(place);
        }
    }
    let Some(place) = active else { return Err(cluster.failure("no server is active")) };
    cluster.servers[place].process.kill();
    let since = Instant::now();
    cluster.happened(Event::new(server_name(place), "FAULT: killed with -9 while it is active"));
    let other = 1 - place;
    while !cluster.servers[other].client.is_active(look).await.unwrap_or(false) {
        if PATIENCE < since.elapsed() {
            return Err(cluster.failure("the standby server did not take over"));
        }
        cluster.take_in();
        tokio::time::sleep(LOOK_EVERY).await;
    }
    let event = Event::new(server_name(other), "is the active server").took(since.elapsed());
    cluster.happened(event);
    cluster.restart_server(place).await
}

async fn drain_worker(
    stage: &Stage,
    cluster: &mut Cluster,
    announcer: &Announcer,
) -> Result<Option<Caught>, Failure> {
    let (place, job) = catch(stage, cluster, announcer).await?;
    let mut worker = cluster.workers.remove(place);
    let name = worker.process.name.clone();
    worker.process.terminate();
    let since = Instant::now();
    cluster.happened(Event::new(name.clone(), fault_text("leaves by SIGTERM", job)));
    let ended = worker.process.ended(PATIENCE).await;
    release(&worker.hold);
    match ended.map_err(|error| cluster.failure(&error.to_string()))? {
        Some(status) if status.success() => {}
        Some(status) => return Err(cluster.failure(&format!("{name} left with {status}"))),
        None => return Err(cluster.failure(&format!("{name} did not leave"))),
    }
    cluster.happened(Event::new(name, "has left").took(since.elapsed()));
    follow(cluster, stage.fault, job, since).await
}

async fn kill_worker(
    stage: &Stage,
    cluster: &mut Cluster,
    announcer: &Announcer,
) -> Result<Option<Caught>, Failure> {
    let (place, job) = catch(stage, cluster, announcer).await?;
    let mut worker = cluster.workers.remove(place);
    worker.process.kill();
    let since = Instant::now();
    let name = worker.process.name.clone();
    cluster.happened(Event::new(name, fault_text("killed with -9", job)));
    let followed = follow(cluster, stage.fault, job, since).await;
    release(&worker.hold);
    followed
}

fn fault_text(what: &str, job: Option<Held>) -> String {
    match job {
        Some(held) => format!("FAULT: {what} in the middle of job {}", held.job),
        None => format!("FAULT: {what} without work in hand"),
    }
}

/// A job in the hands of a worker.
#[derive(Clone, Copy)]
struct Held {
    job: u64,
    claim: u64,
}

/// Waits until the job that a lost worker held is in other hands or has ended.
async fn follow(
    cluster: &mut Cluster,
    fault: Fault,
    held: Option<Held>,
    since: Instant,
) -> Result<Option<Caught>, Failure> {
    let Some(held) = held else { return Ok(None) };
    while since.elapsed() < PATIENCE {
        cluster.take_in();
        let job = read_job(cluster, held.job).await?;
        if held.claim < job.claim {
            let what = format!("was claimed by another worker, claim {}", job.claim);
            let event = Event::new(format!("job {}", held.job), what).took(since.elapsed());
            cluster.happened(event);
            return Ok(Some(Caught { fault, job: held.job }));
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    Err(cluster.failure(&format!("job {} did not get into other hands", held.job)))
}

/// Holds all workers in the middle of their jobs, chooses one of those that have one, and lets
/// the others go on. Returns the place of the worker and its job, if it holds one.
async fn catch(
    stage: &Stage,
    cluster: &mut Cluster,
    announcer: &Announcer,
) -> Result<(usize, Option<Held>), Failure> {
    let holds: Vec<PathBuf> = cluster.workers.iter().map(|worker| worker.hold.clone()).collect();
    for hold in &holds {
        std::fs::write(hold, "").map_err(|error| cluster.failure(&error.to_string()))?;
    }
    announcer.release(stage.files.end);
    let picked = usize::try_from(stage.pick).unwrap_or(0) % holds.len();
    let since = Instant::now();
    let mut place = None;
    while since.elapsed() < CATCH_PATIENCE && place.is_none() {
        cluster.take_in();
        let all_done = announcer.released() <= announcer.completed();
        let caught: Vec<usize> =
            (0..holds.len()).filter(|at| read_caught(&holds[*at]).is_some()).collect();
        if caught.contains(&picked) {
            place = Some(picked);
        } else if PICK_PATIENCE < since.elapsed() {
            place = caught.first().copied();
            if place.is_none() && all_done {
                break;
            }
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    let chosen = place.unwrap_or(picked);
    for (at, hold) in holds.iter().enumerate() {
        if at != chosen || place.is_none() {
            release(hold);
        }
    }
    let Some(job) = place.and_then(|at| read_caught(&holds[at])) else {
        return Ok((chosen, None));
    };
    let claim = read_job(cluster, job).await?.claim;
    Ok((chosen, Some(Held { job, claim })))
}

async fn read_job(cluster: &Cluster, job: u64) -> Result<Job, Failure> {
    let read = cluster.client.job(job).await;
    read.map_err(|error| Failure::failed(format!("cannot read job {job}")).because(&error))
}

/// Returns the job of the program that was held by the file `hold`.
fn read_caught(hold: &Path) -> Option<u64> {
    let text = std::fs::read_to_string(caught_path(hold)).ok()?;
    text.trim().parse().ok()
}

fn caught_path(hold: &Path) -> PathBuf {
    let mut path = hold.to_owned().into_os_string();
    path.push(program::CAUGHT);
    path.into()
}

/// Lets the programs go on that the file `hold` holds.
fn release(hold: &Path) {
    // Neither file may be there; what is wanted is that they are not.
    let _ = std::fs::remove_file(hold);
    let _ = std::fs::remove_file(caught_path(hold));
}
