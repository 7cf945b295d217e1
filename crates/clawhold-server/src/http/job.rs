//! Jobs: accepted, shown, moved on. Handing them out and ending claims is told in `claim`.

use axum::Json;
use axum::extract::State;
use axum::http::Uri;
use clawhold_api::job as wire;
use clawhold_api::page::Done;
use clawhold_core::answer::{Answer, Enqueued, Kind, Refusal};
use clawhold_core::command::{
    CancelJobs, Checkpoint, Command, Enqueue, Progress, RetryJobs, ReturnCause, TakeBack,
    TakeBackJob,
};
use clawhold_core::job::{Filter, Job};
use clawhold_core::limits;
use clawhold_core::replica::Replica;
use clawhold_core::units::{ClaimNumber, JobId};

use super::body::Body;
use super::call::{Call, Written};
use super::error::{Rejected, problem_of};
use super::query::{Listed, Query, Word, number_cursor, page, rows};
use super::{Room, convert, view};
use crate::clock;

pub(super) async fn enqueue(
    State(room): State<Room>,
    call: Call,
    Body(body): Body<wire::Enqueue>,
) -> Result<Written<wire::Enqueued>, Rejected> {
    let jobs = convert::new_jobs(&body.jobs, 1)?;
    let written = room.write(call, Command::Enqueue(Enqueue { jobs }), |_, answer| {
        let Answer::Enqueued(jobs) = answer else { return Err(Rejected::broken("enqueue")) };
        Ok(wire::Enqueued { jobs: enqueued(jobs) })
    });
    written.await
}

/// Returns jobs as they were accepted.
pub(super) fn enqueued(jobs: &[Enqueued]) -> Vec<wire::EnqueuedJob> {
    let show = |job: &Enqueued| wire::EnqueuedJob { id: job.job.0, existing: job.existing };
    jobs.iter().map(show).collect()
}

pub(super) async fn list(
    State(room): State<Room>,
    uri: Uri,
    Query(query): Query<wire::JobQuery>,
) -> Result<Listed<wire::Job>, Rejected> {
    let rows = rows(query.limit)?;
    let after = number_cursor(query.cursor.as_deref())?.map(JobId);
    let queue = convert::name_opt("queue", query.queue.as_deref())?;
    let state = query.state.map(view::core_job_state);
    let items = room.read(move |replica| {
        let jobs = replica.state().jobs();
        let filter = Filter { queue: queue.as_ref(), state };
        let mut found = jobs.list(filter, after, rows.limit + 1);
        // The core cuts a page at its own limit; one more row tells whether there is a next page.
        if found.len() == rows.limit && rows.limit == limits::PAGE_MAX {
            let last = found.last().map(|job| job.id);
            found.extend(jobs.list(filter, last, 1));
        }
        Ok(found.into_iter().map(|job| show_short(replica, job)).collect())
    });
    Ok(page(items.await?, rows, &uri, |job: &wire::Job| job.id.to_string()))
}

pub(super) async fn show(
    State(room): State<Room>,
    Word(job): Word,
) -> Result<Json<wire::Job>, Rejected> {
    let id = job.parse().map_err(|_| Rejected::field("job", &job, "the number of a job"))?;
    let shown = room.read(move |replica| {
        let found = replica.state().jobs().job(JobId(id));
        found.map(|job| show_whole(replica, job)).ok_or_else(|| missing(JobId(id)))
    });
    shown.await.map(Json)
}

pub(super) async fn progress(
    State(room): State<Room>,
    call: Call,
    Body(body): Body<wire::Progress>,
) -> Result<Written<Done>, Rejected> {
    let percent = convert::range_opt("percent", body.percent, 0, 100)?;
    let command = Progress {
        session: convert::session("session", &body.session)?,
        job: JobId(body.job),
        claim: ClaimNumber(body.claim),
        percent: percent.and_then(|percent| u8::try_from(percent).ok()),
        note: convert::text("note", body.note.as_deref())?,
    };
    room.write(call, Command::Progress(command), |_, _| Ok(Done {})).await
}

pub(super) async fn checkpoint(
    State(room): State<Room>,
    call: Call,
    Body(body): Body<wire::Checkpoint>,
) -> Result<Written<Done>, Rejected> {
    let max = limits::CHECKPOINT_BYTES_MAX;
    let command = Checkpoint {
        session: convert::session("session", &body.session)?,
        job: JobId(body.job),
        claim: ClaimNumber(body.claim),
        number: body.number,
        bytes: convert::bytes("checkpoint", &body.checkpoint, max)?,
    };
    room.write(call, Command::Checkpoint(command), |_, _| Ok(Done {})).await
}

pub(super) async fn cancel(
    State(room): State<Room>,
    call: Call,
    Body(body): Body<wire::CancelJobs>,
) -> Result<Written<wire::JobResults>, Rejected> {
    let jobs = convert::job_ids(&body.jobs)?;
    let grace_ms = body.grace_ms.unwrap_or(limits::CANCEL_GRACE_MS_DEFAULT);
    let grace_ms = convert::range("grace_ms", grace_ms, 0, limits::TTL_MS_MAX)?;
    let command = CancelJobs { jobs: jobs.clone(), grace_ms };
    room.write_jobs(call, jobs, Command::CancelJobs(command)).await
}

pub(super) async fn retry(
    State(room): State<Room>,
    call: Call,
    Body(body): Body<wire::RetryJobs>,
) -> Result<Written<wire::JobResults>, Rejected> {
    let jobs = convert::job_ids(&body.jobs)?;
    let command = RetryJobs { jobs: jobs.clone() };
    room.write_jobs(call, jobs, Command::RetryJobs(command)).await
}

pub(super) async fn hand_back(
    State(room): State<Room>,
    call: Call,
    Body(body): Body<wire::HandBackJobs>,
) -> Result<Written<wire::JobResults>, Rejected> {
    convert::count("jobs", body.jobs.len(), 1, limits::ITEMS_MAX)?;
    let take = |one: &wire::HandBackJob| TakeBackJob {
        job: JobId(one.job),
        claim: one.claim.map(ClaimNumber),
    };
    let ids = body.jobs.iter().map(|one| JobId(one.job)).collect();
    let jobs = body.jobs.iter().map(take).collect();
    let command = TakeBack { jobs, cause: ReturnCause::Operator };
    room.write_jobs(call, ids, Command::TakeBack(command)).await
}

impl Room {
    /// Submits a command about jobs and tells what became of each.
    async fn write_jobs(
        &self,
        call: Call,
        jobs: Vec<JobId>,
        command: Command,
    ) -> Result<Written<wire::JobResults>, Rejected> {
        let written = self.write(call, command, move |_, answer| {
            let Answer::Jobs(results) = answer else { return Err(Rejected::broken("move jobs")) };
            let results = jobs.iter().zip(results).map(|(job, result)| wire::JobResult {
                job: job.0,
                problem: result.as_ref().err().map(problem_of),
            });
            Ok(wire::JobResults { results: results.collect() })
        });
        written.await
    }
}

fn missing(job: JobId) -> Rejected {
    (&Refusal::NotFound { kind: Kind::Job, name: job.to_string().into() }).into()
}

pub(super) fn show_short(replica: &Replica, job: &Job) -> wire::Job {
    let keys = job.keys.as_deref();
    let run = job.run.as_deref();
    let rule = job.rule();
    let note = run.map(|run| run.note.as_str()).filter(|note| !note.is_empty());
    let is_scheduled = view::job_state(job.state) == wire::JobState::Scheduled;
    wire::Job {
        id: job.id.0,
        queue: replica.state().jobs().queue_of(job).to_string(),
        state: view::job_state(job.state),
        priority: job.priority.into(),
        attempts: job.attempts.into(),
        attempts_max: rule.retry.attempts_max.into(),
        losses: job.losses.into(),
        hand_backs: job.hand_backs.into(),
        claim: job.claim.0,
        worker: job.holder().map(|session| session.0),
        created: view::moment(job.created),
        since: view::moment(job.since),
        run_at: is_scheduled.then(|| clock::rfc3339(job.due)),
        unique_key: keys.and_then(|keys| keys.unique.as_ref()).map(ToString::to_string),
        order_key: keys.and_then(|keys| keys.order.as_ref()).map(ToString::to_string),
        timeout_ms: rule.timeout_ms,
        percent: run.and_then(|run| run.percent).map(u64::from),
        note: note.map(str::to_owned),
        errors: job.errors().iter().map(show_error).collect(),
        returned: job.returned().map(|returned| wire::JobReturn {
            at: view::moment(returned.stamp),
            worker: returned.session.0,
            cause: cause(returned.cause).to_owned(),
            reason: returned.reason.as_str().to_owned(),
        }),
        cancel_asked: job.cancel_asked(),
        payload: None,
        result: None,
        checkpoint: None,
    }
}

fn show_whole(replica: &Replica, job: &Job) -> wire::Job {
    wire::Job {
        payload: Some(convert::json(&job.payload)),
        result: job.result().map(convert::json),
        checkpoint: job.checkpoint().map(|kept| convert::json(&kept.bytes)),
        ..show_short(replica, job)
    }
}

fn show_error(error: &clawhold_core::job::JobError) -> wire::JobError {
    wire::JobError {
        at: view::moment(error.stamp),
        attempt: error.attempt.into(),
        worker: error.session.map(|session| session.0),
        error: error.text.as_str().to_owned(),
    }
}

fn cause(cause: ReturnCause) -> &'static str {
    match cause {
        ReturnCause::HandedBack => "handed_back",
        ReturnCause::SessionClosed => "session_closed",
        ReturnCause::SessionLost => "session_lost",
        ReturnCause::DrainDeadline => "drain_deadline",
        ReturnCause::NeverReceived => "never_received",
        ReturnCause::Operator => "operator",
    }
}
