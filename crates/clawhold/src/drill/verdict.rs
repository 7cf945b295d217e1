//! Whether a drill kept every promise: the record against a plain pass over the same files.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clawhold_client::api::Code;
use clawhold_client::api::job::{Job, JobQuery, JobState};
use clawhold_client::{Client, ClientError};
use serde::Serialize;

use super::cluster::{Cluster, LOOK_EVERY, PATIENCE};
use super::faults::Caught;
use super::files::{Found, Mark};
use super::index::Index;
use super::plan::Fault;
use super::program::Payload;
use super::{QUEUE, ROLE, STREAM, path_text};
use crate::failure::Failure;
use crate::text::counted;

/// Findings that one check names; it counts the others.
const NAMED_MAX: usize = 5;
/// Jobs that are read at once.
const READERS: usize = 8;

/// One promise and whether it was kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Check {
    /// The promise.
    pub(super) name: &'static str,
    /// Whether it was kept.
    pub(super) ok: bool,
    /// What was seen.
    pub(super) detail: String,
}

impl Check {
    /// Returns a check that is well when nothing was found.
    fn of(name: &'static str, seen: String, findings: &[String]) -> Self {
        if findings.is_empty() {
            return Self { name, ok: true, detail: seen };
        }
        let named: Vec<&str> = findings.iter().take(NAMED_MAX).map(String::as_str).collect();
        let more = findings.len().saturating_sub(NAMED_MAX);
        let more = if more == 0 { String::new() } else { format!("; and {more} more") };
        Self { name, ok: false, detail: format!("{}{more}", named.join("; ")) }
    }
}

/// Checks everything that a drill promises.
///
/// # Errors
/// When the record cannot be read.
pub(super) async fn check(
    cluster: &Cluster,
    files: &[Found],
    caught: &[Caught],
) -> Result<Vec<Check>, Failure> {
    let unread = |error: ClientError| cluster.failure("cannot read the record").because(&error);
    let jobs = read_jobs(&cluster.client).await.map_err(unread)?;
    let mut checks = vec![
        one_job_a_file(files, &jobs),
        completed_once(&cluster.client, &jobs).await.map_err(unread)?,
        results(files, jobs.clone()).await?,
        audit(&cluster.client).await.map_err(unread)?,
        position(&cluster.client, files.len()).await.map_err(unread)?,
        stale_writes(cluster),
        tokens(&cluster.client).await.map_err(unread)?,
        same_state(cluster).await?,
    ];
    checks.extend(caught.iter().filter_map(|caught| hand_over(*caught, &jobs)));
    Ok(checks)
}

/// Reads every job of the drill with its payload and result.
async fn read_jobs(client: &Client) -> Result<Vec<Job>, ClientError> {
    let wanted =
        JobQuery { queue: Some(QUEUE.to_owned()), limit: Some(1_000), ..JobQuery::default() };
    let listed = client.jobs(&wanted).collect(usize::MAX).await?;
    let ids: Vec<u64> = listed.iter().map(|job| job.id).collect();
    let mut readers = tokio::task::JoinSet::new();
    for part in ids.chunks(ids.len().div_ceil(READERS).max(1)) {
        let (client, part) = (client.clone(), part.to_vec());
        readers.spawn(async move {
            let mut jobs = Vec::with_capacity(part.len());
            for id in part {
                jobs.push(client.job(id).await?);
            }
            Ok::<_, ClientError>(jobs)
        });
    }
    let mut jobs = Vec::with_capacity(ids.len());
    while let Some(read) = readers.join_next().await {
        jobs.extend(read.expect("a task that only reads does not panic")?);
    }
    jobs.sort_by_key(|job| job.id);
    Ok(jobs)
}

fn file_of(job: &Job) -> Option<PathBuf> {
    let payload: Payload = job.payload.as_ref()?.read().ok()?;
    path_text::decode(&payload.file)
}

fn one_job_a_file(files: &[Found], jobs: &[Job]) -> Check {
    let mut counts: BTreeMap<PathBuf, u64> = BTreeMap::new();
    let mut findings = Vec::new();
    for job in jobs {
        match file_of(job) {
            Some(path) => *counts.entry(path).or_default() += 1,
            None => findings.push(format!("job {} names no file", job.id)),
        }
    }
    for file in files {
        let shown = path_text::encode(&file.path);
        match counts.remove(&file.path) {
            Some(1) => {}
            Some(count) => findings.push(format!("{shown} has {count} jobs")),
            None => findings.push(format!("{shown} has no job")),
        }
    }
    let strangers = counts.keys().map(|path| format!("a job for {}", path_text::encode(path)));
    findings.extend(strangers);
    let seen = format!("{} files, {} jobs", files.len(), jobs.len());
    Check::of("every file has one job", seen, &findings)
}

async fn completed_once(client: &Client, jobs: &[Job]) -> Result<Check, ClientError> {
    let unfinished = jobs.iter().filter(|job| job.state != JobState::Completed);
    let mut findings: Vec<String> =
        unfinished.map(|job| format!("job {} is {}", job.id, job.state.as_str())).collect();
    let totals = client.queue(QUEUE).await?.totals;
    let count = u64::try_from(jobs.len()).unwrap_or(u64::MAX);
    if totals.completed != count || totals.enqueued != count {
        findings.push(format!(
            "{} jobs were accepted and {} completions recorded for {count} jobs",
            totals.enqueued, totals.completed
        ));
    }
    let seen = format!(
        "{} completed, {} given out, {} returned",
        totals.completed, totals.claimed, totals.returned
    );
    Ok(Check::of("every job ended once", seen, &findings))
}

/// Compares the recorded results with those of a plain pass, in this process, one file after the
/// other.
async fn results(files: &[Found], jobs: Vec<Job>) -> Result<Check, Failure> {
    let files: Arc<[Found]> = files.into();
    let pass = move || compare(&files, &jobs);
    let done = tokio::task::spawn_blocking(pass).await;
    done.map_err(|error| Failure::failed("the plain pass over the files broke").because(&error))
}

fn compare(files: &[Found], jobs: &[Job]) -> Check {
    let recorded: BTreeMap<PathBuf, Option<Index>> = jobs
        .iter()
        .filter_map(|job| Some((file_of(job)?, job.result.as_ref().and_then(|r| r.read().ok()))))
        .collect();
    let mut findings = Vec::new();
    let (mut equal, mut changed, mut unreadable) = (0, 0, 0);
    for file in files {
        let plain = Index::of(&file.path);
        let mark = Mark::of(&file.path);
        if recorded.get(&file.path).and_then(Option::as_ref) == Some(&plain) {
            equal += 1;
            unreadable += u64::from(matches!(plain, Index::Unreadable { .. }));
        } else if mark != Some(file.mark) {
            // Somebody else wrote to it meanwhile: the two passes read different bytes.
            changed += 1;
        } else {
            let shown = path_text::encode(&file.path);
            findings.push(format!("{shown} has another result than a plain pass gives"));
        }
    }
    let mut seen = format!("{} equal", counted(equal, "result"));
    if unreadable > 0 {
        seen.push_str(&format!(", {unreadable} of them say why the file is unreadable"));
    }
    if changed > 0 {
        seen.push_str(&format!(", {changed} left out: the file changed during the drill"));
    }
    Check::of("every result is what a plain pass gives", seen, &findings)
}

async fn audit(client: &Client) -> Result<Check, ClientError> {
    let audit = client.audit(None).await?;
    let mut findings: Vec<String> =
        audit.mismatches.iter().map(|mismatch| mismatch.detail.clone()).collect();
    if !audit.ok && findings.is_empty() {
        findings.push(format!("{} mismatches that are not named", audit.mismatches_count));
    }
    let seen = format!("audited at position {}", audit.position);
    Ok(Check::of("every job had one owner", seen, &findings))
}

async fn position(client: &Client, files_count: usize) -> Result<Check, ClientError> {
    let positions = client.positions(STREAM).await?.positions;
    let through = positions.iter().find(|one| one.role == ROLE).map_or(0, |one| one.through);
    let last = client.stream(STREAM).await?.last;
    let wanted = u64::try_from(files_count).unwrap_or(u64::MAX);
    let mut findings = Vec::new();
    if through != wanted || last != wanted {
        findings.push(format!("{wanted} files, {last} events, position {through}"));
    }
    let seen = format!("position {through} of {last} events");
    Ok(Check::of("every event was dealt with once", seen, &findings))
}

fn stale_writes(cluster: &Cluster) -> Check {
    let writes = &cluster.stale_writes;
    let accepted = writes.iter().filter(|write| write.refused.is_none());
    let mut findings: Vec<String> = accepted
        .map(|write| format!("{} wrote under the overtaken token {}", write.who, write.token))
        .collect();
    let codes: Vec<&str> = writes.iter().filter_map(|write| write.refused.as_deref()).collect();
    if !codes.contains(&Code::StaleToken.as_str()) {
        findings.push("no write was refused for its overtaken token".to_owned());
    }
    let seen = format!("{} tried, refused with {}", writes.len(), codes.join(", "));
    Check::of("no stale write was accepted", seen, &findings)
}

async fn tokens(client: &Client) -> Result<Check, ClientError> {
    let history = client.role_history(ROLE).await?.items;
    let grants = history
        .iter()
        .filter(|change| matches!(change.cause.as_str(), "acquired" | "promoted" | "handed over"));
    let tokens: Vec<u64> = grants.map(|change| change.token).collect();
    let falls = tokens.windows(2).filter(|pair| pair[1] <= pair[0]);
    let mut findings: Vec<String> =
        falls.map(|pair| format!("token {} was granted after {}", pair[1], pair[0])).collect();
    if tokens.len() < 3 {
        findings.push(format!("{} grants, where three leaders led", tokens.len()));
    }
    let shown: Vec<String> = tokens.iter().map(u64::to_string).collect();
    Ok(Check::of("the token only rose", shown.join(" < "), &findings))
}

/// Compares the hashes of everything that is true on both servers, at one position.
///
/// Time passes in the state without an entry, so a server has several states at a position: both
/// must be seen to go through the same ones.
async fn same_state(cluster: &Cluster) -> Result<Check, Failure> {
    let since = Instant::now();
    let name = "both servers hold the same state";
    let mut seen = [HashSet::new(), HashSet::new()];
    while since.elapsed() < PATIENCE {
        for (server, seen) in cluster.servers.iter().zip(&mut seen) {
            let read = server.client.within(Duration::from_secs(2)).hash().await;
            let read = read.map_err(|error| {
                cluster.failure(&format!("{} does not tell its hash", server.url)).because(&error)
            })?;
            seen.insert((read.position, read.hash));
        }
        if let Some((position, hash)) = seen[0].intersection(&seen[1]).next() {
            let start = hash.get(..12).unwrap_or(hash);
            return Ok(Check::of(name, format!("{start}… at position {position}"), &[]));
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    let finding = format!("no state in common was seen in {PATIENCE:?}");
    Ok(Check::of(name, String::new(), &[finding]))
}

/// Checks what the record says of a job whose worker left or died with it in hand.
fn hand_over(caught: Caught, jobs: &[Job]) -> Option<Check> {
    let job = jobs.iter().find(|job| job.id == caught.job);
    let (name, ok, seen) = match caught.fault {
        Fault::DrainWorker => {
            let name = "the leaving worker handed back with a checkpoint";
            let ok = job.is_some_and(|job| {
                job.hand_backs > 0 && job.attempts == 0 && job.checkpoint.is_some()
            });
            (name, ok, job.map(|job| format!("{} hand-backs", job.hand_backs)))
        }
        Fault::KillWorker => {
            let name = "the killed worker's job was taken from it";
            let ok = job.is_some_and(|job| job.losses > 0 && job.attempts == 0);
            (name, ok, job.map(|job| format!("{} losses", job.losses)))
        }
        Fault::FreezeLeader | Fault::KillLeader | Fault::KillServer => return None,
    };
    let seen = format!("job {}, {}", caught.job, seen.unwrap_or_else(|| "not found".to_owned()));
    let findings = if ok { Vec::new() } else { vec![seen.clone()] };
    Some(Check::of(name, seen, &findings))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_names_some_findings_and_counts_the_rest() {
        let findings: Vec<String> = (0..8).map(|number| format!("file {number}")).collect();
        let check = Check::of("one job", "8 files".to_owned(), &findings);
        assert!(!check.ok);
        assert_eq!(check.detail, "file 0; file 1; file 2; file 3; file 4; and 3 more");
        assert!(Check::of("one job", "8 files".to_owned(), &[]).ok);
    }
}
