//! The standing checks after every trial: the record, the sink and the tally against the ledger.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::time::Duration;

use clawhold_client::api::job::{Job, JobQuery, JobState};
use clawhold_client::api::role::RoleHistory;
use tokio::time::{Instant, sleep};

use crate::fleet::{Fleet, PATIENCE, ROLE};
use crate::ledger::{self, Fate, Mark, QUEUE, STREAM};
use crate::sink::{Act, Book};

/// How long a worker or a leader that is asked to end may take.
const END_PATIENCE: Duration = Duration::from_secs(15);
/// How long the role may be held after the last one that led has ended: a lease of a dead one.
const VACANT_PATIENCE: Duration = Duration::from_secs(10);
/// How long the audit may find what a worker said before it was told better: some beats.
const AUDIT_PATIENCE: Duration = Duration::from_secs(2);
/// How long a server that is asked to end may take.
const STOP_PATIENCE: Duration = Duration::from_secs(15);

/// What was counted in a trial, and every promise that was not kept.
#[derive(Clone, Debug, Default)]
pub(crate) struct Verdict {
    /// Calls that were acknowledged.
    pub(crate) acknowledged: u64,
    /// Calls that were refused, so that certainly nothing happened.
    pub(crate) refused: usize,
    /// Calls of which nobody told what became.
    pub(crate) unknown: usize,
    /// Jobs in the record.
    pub(crate) jobs: usize,
    /// Claims that ran.
    pub(crate) runs: usize,
    /// Grants of the role.
    pub(crate) grants: usize,
    /// Writes that the sink refused for their token.
    pub(crate) stale_refused: usize,
    /// Acknowledged things that are missing.
    pub(crate) lost: Vec<String>,
    /// Things that are there twice, or that were refused and are there.
    pub(crate) doubled: Vec<String>,
    /// Writes under an overtaken token, or beyond the one event in doubt.
    pub(crate) stale: Vec<String>,
    /// Everything else that does not hold.
    pub(crate) wrong: Vec<String>,
}

impl Verdict {
    /// Tells whether every promise was kept.
    pub(crate) fn is_clean(&self) -> bool {
        [&self.lost, &self.doubled, &self.stale, &self.wrong].iter().all(|list| list.is_empty())
    }

    /// Adds what another trial counted.
    pub(crate) fn add(&mut self, other: Self) {
        self.acknowledged += other.acknowledged;
        self.refused += other.refused;
        self.unknown += other.unknown;
        self.jobs += other.jobs;
        self.runs += other.runs;
        self.grants += other.grants;
        self.stale_refused += other.stale_refused;
        self.lost.extend(other.lost);
        self.doubled.extend(other.doubled);
        self.stale.extend(other.stale);
        self.wrong.extend(other.wrong);
    }
}

/// Heals the fleet, lets it finish, ends it in good order and checks everything.
pub(crate) async fn close(mut fleet: Fleet) -> Verdict {
    let verdict = examine(&mut fleet).await;
    assert!(verdict.is_clean(), "{}", fleet.story(&format!("{verdict:#?}")));
    verdict
}

/// Heals the fleet, lets it finish, ends it in good order and says what was found.
pub(crate) async fn examine(fleet: &mut Fleet) -> Verdict {
    fleet.heal();
    ledger::stop(&fleet.ledger);
    for mut caller in std::mem::take(&mut fleet.callers) {
        caller.ended().await;
    }
    settle(fleet).await;
    let mut verdict = Verdict {
        acknowledged: fleet.ledger.acknowledged(),
        refused: fleet.ledger.count(|fate| fate == Fate::Refused),
        unknown: fleet.ledger.count(|fate| fate == Fate::Unknown),
        ..Verdict::default()
    };
    verdict.doubled.extend(fleet.ledger.doubled());
    let jobs = read_jobs(fleet).await;
    check_jobs(fleet, &jobs, &mut verdict);
    check_events(fleet, &jobs, &mut verdict);
    check_tally(fleet, &jobs, &mut verdict);
    check_counts(fleet, &jobs, &mut verdict).await;
    let history = fleet.client.role_history(ROLE).await.unwrap();
    check_tokens(&history, &fleet.book(), &mut verdict);
    check_sink(&fleet.book(), fleet.ledger.last(), &mut verdict);
    check_hashes(fleet, &mut verdict).await;
    end(fleet, &mut verdict).await;
    verdict
}

/// Waits until every event is dealt with and every job has ended.
async fn settle(fleet: &mut Fleet) {
    let end = Instant::now() + PATIENCE;
    let last = fleet.ledger.last();
    loop {
        let queue = fleet.client.queue(QUEUE).await.unwrap();
        let jobs = queue.jobs;
        let live = jobs.scheduled + jobs.queued + jobs.returned + jobs.running;
        let positions = fleet.client.positions(STREAM).await.unwrap().positions;
        let through = positions.iter().find(|one| one.role == ROLE).map_or(0, |one| one.through);
        if live == 0 && through == last {
            return;
        }
        let text = format!("stuck: {jobs:?}, position {through} of {last}");
        assert!(Instant::now() < end, "{}", fleet.story(&text));
        fleet.tend();
        sleep(Duration::from_millis(50)).await;
    }
}

async fn read_jobs(fleet: &Fleet) -> Vec<(Mark, Job)> {
    let query = JobQuery { limit: Some(1_000), ..JobQuery::default() };
    let listed = fleet.client.jobs(&query).collect(usize::MAX).await.unwrap();
    let mut jobs = Vec::with_capacity(listed.len());
    for job in listed {
        // A list leaves the payload out.
        let job = fleet.client.job(job.id).await.unwrap();
        let mark = job.payload.as_ref().unwrap().read().unwrap();
        jobs.push((mark, job));
    }
    jobs.sort_by_key(|(_, job)| job.id);
    jobs
}

/// Checks each accepted job there once, each refused one not, each unknown one at most once.
fn check_jobs(fleet: &Fleet, jobs: &[(Mark, Job)], verdict: &mut Verdict) {
    let mut found: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for (mark, job) in jobs {
        if let Mark::Uid(uid) = mark {
            found.entry(uid).or_default().push(job.id);
        }
        if job.state != JobState::Completed {
            verdict.wrong.push(format!("job {} ended as {}", job.id, job.state.as_str()));
        }
    }
    for pair in jobs.windows(2) {
        if pair[1].1.created < pair[0].1.created {
            verdict.wrong.push(format!("the log's time ran back at job {}", pair[1].1.id));
        }
    }
    verdict.jobs = jobs.len();
    for (uid, fate) in fleet.ledger.jobs() {
        let ids = found.remove(uid.as_str()).unwrap_or_default();
        match (fate, ids.as_slice()) {
            (Fate::Accepted(id), [one]) if id == *one => {}
            (Fate::Accepted(id), []) => verdict.lost.push(format!("{uid}, accepted as job {id}")),
            (Fate::Accepted(id), ids) => {
                verdict.doubled.push(format!("{uid}, accepted as job {id}, is {ids:?}"));
            }
            (Fate::Refused, []) | (Fate::Unknown, [] | [_]) => {}
            (Fate::Refused, ids) => {
                verdict.doubled.push(format!("{uid} was refused without effect and is {ids:?}"));
            }
            (Fate::Unknown, ids) => verdict.doubled.push(format!("{uid} is {ids:?}")),
        }
    }
    verdict.wrong.extend(found.keys().map(|uid| format!("nobody asked for {uid}")));
}

/// Checks that each event became one job, by the record.
fn check_events(fleet: &Fleet, jobs: &[(Mark, Job)], verdict: &mut Verdict) {
    let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
    for (mark, _) in jobs {
        if let Mark::Event(event) = mark {
            *counts.entry(*event).or_default() += 1;
        }
    }
    for event in 1..=fleet.ledger.last() {
        match counts.remove(&event).unwrap_or(0) {
            0 => verdict.lost.push(format!("event {event} has no job")),
            1 => {}
            count => verdict.doubled.push(format!("event {event} has {count} jobs")),
        }
    }
    verdict.wrong.extend(counts.keys().map(|event| format!("there is no event {event}")));
}

/// Checks that each claim ran at most once, and the one that completed its job to its end.
fn check_tally(fleet: &Fleet, jobs: &[(Mark, Job)], verdict: &mut Verdict) {
    let tally = fleet.tally();
    verdict.runs = tally.runs.len();
    for ((job, claim), run) in &tally.runs {
        if run.starts > 1 {
            verdict.doubled.push(format!("claim {claim} of job {job} ran {} times", run.starts));
        }
    }
    for (_, job) in jobs {
        match tally.latest(job.id) {
            Some((claim, run)) if claim == job.claim && run.ends == 1 => {}
            other => {
                let text = format!("job {} completed under {}, ran {other:?}", job.id, job.claim);
                verdict.wrong.push(text);
            }
        }
    }
}

/// Checks that the counts add up, and that the audit finds one owner for each job.
async fn check_counts(fleet: &Fleet, jobs: &[(Mark, Job)], verdict: &mut Verdict) {
    let queue = fleet.client.queue(QUEUE).await.unwrap();
    let count = u64::try_from(jobs.len()).unwrap();
    let totals = queue.totals;
    if totals.enqueued != count || totals.completed != count || queue.jobs.completed != count {
        verdict.wrong.push(format!("{count} jobs, but {totals:?} and {:?}", queue.jobs));
    }
    let status = fleet.client.status().await.unwrap();
    if status.jobs != queue.jobs {
        verdict.wrong.push(format!("the status has {:?}, the queue {:?}", status.jobs, queue.jobs));
    }
    // A worker that has just woken up tells once what it held before; its next beat corrects it.
    let since = Instant::now();
    let mut audit = fleet.client.audit(None).await.unwrap();
    while !audit.ok && since.elapsed() < AUDIT_PATIENCE {
        sleep(Duration::from_millis(50)).await;
        audit = fleet.client.audit(None).await.unwrap();
    }
    if !audit.ok {
        verdict.wrong.push(format!("the audit found {:?}", audit.mismatches));
    }
}

/// Checks that tokens only rise, and that the sink saw none that was not granted.
fn check_tokens(history: &RoleHistory, book: &Book, verdict: &mut Verdict) {
    let is_grant = |cause: &str| ["acquired", "promoted", "handed over"].contains(&cause);
    let granted: Vec<u64> = history
        .items
        .iter()
        .filter(|change| is_grant(&change.cause))
        .map(|change| change.token)
        .collect();
    verdict.grants = granted.len();
    for pair in granted.windows(2) {
        if pair[1] <= pair[0] {
            verdict.stale.push(format!("token {} was granted after {}", pair[1], pair[0]));
        }
    }
    let known: BTreeSet<u64> = granted.iter().copied().collect();
    let seen: BTreeSet<u64> = book.accepted.iter().map(|line| line.token).collect();
    let oldest = granted.first().copied().unwrap_or(0);
    for token in seen.difference(&known).filter(|token| oldest <= **token) {
        verdict.stale.push(format!("token {token} was never granted"));
    }
}

/// Checks that whoever led went on from where the one before it was, at most one event in doubt.
fn check_sink(book: &Book, last: u64, verdict: &mut Verdict) {
    verdict.stale_refused = book.refused.len();
    let (mut position, mut token) = (0, 0);
    for line in &book.accepted {
        if line.token < token {
            verdict.stale.push(format!("the sink took token {} after {token}", line.token));
        }
        match line.act {
            // What was recorded is what was written, or all of it but the one in doubt.
            Act::Fence { position: from } if position <= from + 1 && from <= position => {}
            Act::Fence { position: from } => {
                let text = format!("token {} resumes from {from} after {position}", line.token);
                verdict.stale.push(text);
            }
            Act::Write { position: next } => {
                let is_next = next == position + 1;
                let is_in_doubt = next == position && token < line.token;
                if !is_next && !is_in_doubt {
                    let text = format!("token {} wrote {next} after {position}", line.token);
                    verdict.stale.push(text);
                }
                (position, token) = (next, line.token);
            }
        }
    }
    if position != last {
        verdict.lost.push(format!("the sink got {position} of {last} events"));
    }
}

/// Checks that both servers hold the same state at the same position.
async fn check_hashes(fleet: &mut Fleet, verdict: &mut Verdict) {
    let end = Instant::now() + Duration::from_secs(20);
    let mut seen = [HashSet::new(), HashSet::new()];
    while Instant::now() < end {
        for (server, seen) in fleet.servers.iter().zip(&mut seen) {
            if let Ok(read) = server.client.hash().await {
                seen.insert((read.position, read.hash));
            }
        }
        let differs = |(position, hash): &&(u64, String)| {
            seen[1].iter().any(|(other, theirs)| position == other && hash != theirs)
        };
        if let Some((position, _)) = seen[0].iter().find(differs) {
            verdict.wrong.push(format!("the servers differ at position {position}"));
            return;
        }
        if seen[0].intersection(&seen[1]).next().is_some() {
            return;
        }
        sleep(Duration::from_millis(5)).await;
    }
    verdict.wrong.push("the servers were never seen at one position".to_owned());
}

/// Ends everything in good order: the role is released, jobs go back, and each process ends well.
async fn end(fleet: &mut Fleet, verdict: &mut Verdict) {
    for member in fleet.leaders.iter_mut().chain(&mut fleet.workers) {
        member.process.terminate();
        match member.process.ended(END_PATIENCE) {
            Some(status) if status.success() => {}
            other => verdict.wrong.push(format!("{} ended: {other:?}", member.process.name())),
        }
    }
    // A standby that was killed may have got the role; then its lease lapses first.
    let since = Instant::now();
    while fleet.role().await.holder.is_some() {
        if VACANT_PATIENCE < since.elapsed() {
            verdict.wrong.push(format!("the role is still held: {:?}", fleet.role().await));
            break;
        }
        sleep(Duration::from_millis(20)).await;
    }
    for server in &mut fleet.servers {
        server.process.terminate();
        match server.process.ended(STOP_PATIENCE) {
            Some(status) if status.success() => {}
            other => verdict.wrong.push(format!("{} ended: {other:?}", server.process.name())),
        }
    }
}
