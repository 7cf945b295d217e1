//! The ownership audit: the record against what the workers report, read at one position.
//!
//! The record side proves that each job is in exactly one place and that the counters add up. The
//! report side compares each running job with what its holder says it holds. A claim or an end
//! that a beat cannot have seen yet is no mismatch: a session has two thirds of its ttl, two beats
//! at the usual pace, to report what the record knows.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::State;
use crate::answer::JobState;
use crate::beat::{Beats, Report};
use crate::job::{Counts, Job, Jobs};
use crate::limits;
use crate::queue::{Queue, QueueId};
use crate::session::{Session, Sessions};
use crate::units::{ClaimNumber, JobId, Name, Position, Served, SessionId};

/// Mismatches that one audit names; the rest is counted.
pub const MISMATCHES_MAX: usize = 1_000;

/// What an audit found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Audit {
    /// The position at which everything was read.
    pub position: Position,
    /// Each queue that was looked at.
    pub queues: Vec<AuditedQueue>,
    /// Jobs that have not ended.
    pub live: u64,
    /// Jobs on their way from one place to another. A move is one entry, so there are none.
    pub in_transit: u64,
    /// What does not agree, at most `MISMATCHES_MAX`.
    pub mismatches: Vec<Mismatch>,
    /// How many mismatches there are.
    pub mismatch_count: u64,
    /// Live sessions not heard of since the takeover: what they hold is by the record alone.
    pub unknown: Vec<SessionId>,
}

/// A queue in an audit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditedQueue {
    /// Its name.
    pub name: Name,
    /// How many of its jobs are in each state.
    pub counts: Counts,
}

/// One thing that does not agree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// What is wrong.
    pub kind: MismatchKind,
    /// The queue, if it is known.
    pub queue: Option<Name>,
    /// The job, if it is about one.
    pub job: Option<JobId>,
    /// The claim that the record or the worker names.
    pub claim: Option<ClaimNumber>,
    /// The session, if it is about one.
    pub session: Option<SessionId>,
    /// The facts, in words.
    pub detail: String,
}

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MismatchKind {
    /// It runs by the record, and its holder does not list it.
    NoOwner,
    /// A worker lists it, and the record does not give it to that worker under that claim.
    HeldByWorkerOnly,
    /// It came back and waits longer than it should.
    NotPlaced,
    /// The record gives it to a session that is over.
    HolderOver,
    /// The record has it in no place, or in two.
    Places,
    /// The counters of a queue do not add up.
    Counters,
}

impl MismatchKind {
    /// Returns the words for this mismatch, as people read them.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoOwner => "job without owner",
            Self::HeldByWorkerOnly => "held by a worker, not by the record",
            Self::NotPlaced => "returned but not placed",
            Self::HolderOver => "held by a session that is over",
            Self::Places => "not in exactly one place",
            Self::Counters => "counters do not add up",
        }
    }
}

impl core::fmt::Display for MismatchKind {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Audit {
    /// Tells whether everything agrees.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.mismatch_count == 0 && self.in_transit == 0
    }

    /// Compares what was counted of a queue with what there is.
    pub(crate) fn compare(
        &mut self,
        jobs: &Jobs,
        id: QueueId,
        counted: Counts,
        one: Option<&Name>,
    ) {
        let Some(queue) = jobs.by_id(id).filter(|queue| one.is_none_or(|one| *one == queue.name))
        else {
            return;
        };
        let there = jobs.counts(queue);
        if there == counted {
            return;
        }
        let detail = format!(
            "the index counts {} live and {} kept, there are {} and {}",
            counted.live(),
            counted.ended(),
            there.live(),
            there.ended()
        );
        self.find(Mismatch {
            kind: MismatchKind::Counters,
            queue: Some(queue.name.clone()),
            job: None,
            claim: None,
            session: None,
            detail,
        });
    }

    fn find(&mut self, mismatch: Mismatch) {
        self.mismatch_count = self.mismatch_count.saturating_add(1);
        if self.mismatches.len() < MISMATCHES_MAX {
            self.mismatches.push(mismatch);
        }
    }
}

/// Compares the record with what the workers report, for one queue or for all.
#[must_use]
pub fn audit(state: &State, beats: &Beats, queue: Option<&Name>, now: Served) -> Audit {
    let (jobs, sessions) = (&state.jobs, &state.sessions);
    let mut audit = Audit {
        position: state.last.position,
        queues: Vec::new(),
        live: 0,
        in_transit: 0,
        mismatches: Vec::new(),
        mismatch_count: 0,
        unknown: Vec::new(),
    };
    let one = queue.map(|name| jobs.queue(name));
    let all = jobs.queues(None).filter(|_| queue.is_none());
    for queue in one.into_iter().flatten().chain(all) {
        audit_queue(&mut audit, jobs, queue);
        audit_live(&mut audit, state, beats, queue, now);
    }
    audit_astray(&mut audit, jobs, queue);
    for session in sessions.list(None) {
        match beats.report(session.id) {
            Some(report) => audit_report(&mut audit, jobs, session, report, queue),
            None => audit.unknown.push(session.id),
        }
    }
    audit
}

fn audit_queue(audit: &mut Audit, jobs: &Jobs, queue: &Queue) {
    let counts = jobs.counts(queue);
    audit.live = audit.live.saturating_add(counts.live());
    audit.queues.push(AuditedQueue { name: queue.name.clone(), counts });
    let counters = queue.counters;
    let there = counts.live().saturating_add(counts.ended()).saturating_add(counters.purged);
    if counters.enqueued == there {
        return;
    }
    audit.find(Mismatch {
        kind: MismatchKind::Counters,
        queue: Some(queue.name.clone()),
        job: None,
        claim: None,
        session: None,
        detail: format!(
            "{} enqueued, but {} live, {} kept and {} purged",
            counters.enqueued,
            counts.live(),
            counts.ended(),
            counters.purged
        ),
    });
}

/// Looks at each live job of a queue.
fn audit_live(audit: &mut Audit, state: &State, beats: &Beats, queue: &Queue, now: Served) {
    let live = JobState::ALL.into_iter().filter(|state| !state.is_ended());
    for state_of_jobs in live {
        for job in state.jobs.each(queue.id, state_of_jobs) {
            audit_places(audit, state, queue, job);
            audit_owner(audit, &state.sessions, beats, queue, job);
            audit_placing(audit, queue, job, now);
        }
    }
}

/// By the record, the job is where its state says, and nowhere else.
fn audit_places(audit: &mut Audit, state: &State, queue: &Queue, job: &Job) {
    let places = state.jobs.places(job);
    if places == [job.state.as_str()] {
        return;
    }
    let places = if places.is_empty() { "nowhere".into() } else { places.join(" and ") };
    let detail = format!("it is {} by its state, and found {places}", job.state);
    audit.find(about(MismatchKind::Places, queue, job, detail));
}

/// What is held by the indexes is held by the jobs.
fn audit_astray(audit: &mut Audit, jobs: &Jobs, queue: Option<&Name>) {
    for (session, id) in jobs.held_astray() {
        let job = jobs.job(id);
        let name = job.map(|job| jobs.queue_of(job));
        if queue.is_some() && queue != name {
            continue;
        }
        audit.find(Mismatch {
            kind: MismatchKind::Places,
            queue: name.cloned(),
            job: Some(id),
            claim: job.map(|job| job.claim),
            session: Some(session),
            detail: match job {
                Some(job) => format!("it is {}, and in the hands of session {session}", job.state),
                None => format!("it is gone, and in the hands of session {session}"),
            },
        });
    }
}

/// A running job has a live holder who lists it.
fn audit_owner(audit: &mut Audit, sessions: &Sessions, beats: &Beats, queue: &Queue, job: &Job) {
    let Some(run) = &job.run else { return };
    let Some(session) = sessions.live(run.session) else {
        let detail = format!("session {} is over", run.session);
        audit.find(about(MismatchKind::HolderOver, queue, job, detail));
        return;
    };
    let Some(report) = beats.report(run.session) else { return };
    let listed = report.holds.get(&job.id) == Some(&job.claim);
    if listed || report.heard < run.started.served.after(two_beats_ms(session)) {
        return;
    }
    let detail = format!(
        "{} has it under claim {} since entry {}, and does not list it",
        session.label, job.claim, run.started.position
    );
    audit.find(about(MismatchKind::NoOwner, queue, job, detail));
}

/// A job that came back is placed within the bound of the gate.
fn audit_placing(audit: &mut Audit, queue: &Queue, job: &Job, now: Served) {
    let waited_ms = now.since(job.since.served);
    if job.state != JobState::Returned || waited_ms <= limits::GATE_MS_DEFAULT {
        return;
    }
    let detail = format!("it has waited for {waited_ms} ms");
    audit.find(about(MismatchKind::NotPlaced, queue, job, detail));
}

/// What a session lists is what the record gives it.
fn audit_report(
    audit: &mut Audit,
    jobs: &Jobs,
    session: &Session,
    report: &Report,
    queue: Option<&Name>,
) {
    for (id, claim) in &report.holds {
        let job = jobs.job(*id);
        let name = job.map(|job| jobs.queue_of(job));
        if queue.is_some() && queue != name {
            continue;
        }
        let given = job.is_some_and(|job| job.holder() == Some(session.id) && job.claim == *claim);
        let seen =
            job.is_none_or(|job| report.heard >= job.since.served.after(two_beats_ms(session)));
        if given || !seen {
            continue;
        }
        audit.find(Mismatch {
            kind: MismatchKind::HeldByWorkerOnly,
            queue: name.cloned(),
            job: Some(*id),
            claim: Some(*claim),
            session: Some(session.id),
            detail: match job {
                Some(job) => format!("by the record it is {} under claim {}", job.state, job.claim),
                None => "the record has no such job".into(),
            },
        });
    }
}

fn about(kind: MismatchKind, queue: &Queue, job: &Job, detail: String) -> Mismatch {
    Mismatch {
        kind,
        queue: Some(queue.name.clone()),
        job: Some(job.id),
        claim: Some(job.claim),
        session: job.holder(),
        detail,
    }
}

/// Returns the milliseconds in which a session reports what the record knows.
fn two_beats_ms(session: &Session) -> u64 {
    session.ttl_ms / 3 * 2
}
