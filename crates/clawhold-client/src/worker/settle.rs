//! Settling: telling the server how runs ended, until it is answered.
//!
//! One request is under way at a time; the next one leaves with all that has gathered. It keeps
//! its key over every try, and one settlement that is refused leaves the others alone.

use std::collections::VecDeque;

use clawhold_api::Code;
use clawhold_api::job::{ClaimedJob, JobState, Outcome, Settle, SettleResult, Settlement, Wanted};
use clawhold_api::session::Hold as HoldKey;

use crate::error::ClientError;
use crate::retry::Backoff;
use crate::session::Session;

/// Settlements of one request.
const BATCH_MAX: usize = 1_000;
/// Bytes of results and checkpoints in one request, one larger settlement excepted.
const BATCH_BYTES_MAX: usize = 256 * 1_024;

/// What became of one settlement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Completed,
    Failed,
    HandedBack,
    Snoozed,
    Superseded,
    /// The server takes it in no form; it returns the job by its own rules.
    Unsettled,
}

/// What became of a batch, and the jobs handed out next.
#[derive(Debug, Default)]
pub(super) struct Answered {
    pub(super) verdicts: Vec<(HoldKey, Verdict)>,
    pub(super) jobs: Vec<ClaimedJob>,
}

/// Takes as many settlements as fit one request, one at least.
pub(super) fn cut(pending: &mut VecDeque<Settlement>) -> Vec<Settlement> {
    let mut batch = Vec::new();
    let mut bytes = 0;
    while batch.len() < BATCH_MAX
        && let Some(next) = pending.pop_front()
    {
        let size = size(&next.outcome);
        if !batch.is_empty() && bytes + size > BATCH_BYTES_MAX {
            pending.push_front(next);
            break;
        }
        bytes += size;
        batch.push(next);
    }
    batch
}

fn size(outcome: &Outcome) -> usize {
    match outcome {
        Outcome::Completed { result } => result.as_ref().map_or(0, |result| result.get().len()),
        Outcome::Failed { error, .. } | Outcome::Dead { error } => error.len(),
        Outcome::HandedBack { checkpoint, reason } => {
            let reason = reason.as_ref().map_or(0, String::len);
            checkpoint.as_ref().map_or(reason, |checkpoint| checkpoint.get().len() + reason)
        }
        Outcome::Snoozed { checkpoint, .. } => {
            checkpoint.as_ref().map_or(0, |checkpoint| checkpoint.get().len())
        }
    }
}

/// Settles a batch, however long that takes.
pub(super) async fn settle(
    session: Session,
    batch: Vec<Settlement>,
    mut next: Option<Wanted>,
) -> Answered {
    let mut answered = Answered::default();
    let mut batches = VecDeque::from([batch]);
    while let Some(batch) = batches.pop_front() {
        let request =
            Settle { session: session.key(), settlements: batch.clone(), next: next.take() };
        match insist(&session, &request).await {
            Ok((results, jobs)) => {
                answered.verdicts.extend(batch.iter().zip(&results).map(verdict));
                answered.jobs.extend(jobs);
            }
            Err(error) if error.is(Code::NoSession) => {
                session.kick();
                let lost = |settlement: &Settlement| (key(settlement), Verdict::Superseded);
                answered.verdicts.extend(batch.iter().map(lost));
            }
            Err(error) => {
                tracing::warn!(count = batch.len(), %error, "a settlement was refused");
                break_up(batch, &error, &mut batches, &mut answered);
            }
        }
    }
    answered
}

/// Sends a request under one key until it is answered for good.
async fn insist(
    session: &Session,
    request: &Settle,
) -> Result<(Vec<SettleResult>, Vec<ClaimedJob>), ClientError> {
    let key = session.client().new_key();
    let client = session.client().keyed(&key);
    let mut failures = 0;
    loop {
        match client.settle(request).await {
            Ok(settled) => return Ok((settled.reply.results, settled.reply.jobs)),
            Err(error) if error.retry_is_sensible() => {
                failures += 1;
                tracing::warn!(failures, %error, "settlements are not answered; sends them again");
                tokio::time::sleep(Backoff::default().pause(failures)).await;
            }
            Err(error) => return Err(error),
        }
    }
}

/// Cuts up a batch that was refused as a whole: each goes alone; one that is refused alone goes in
/// a form that the server must take.
fn break_up(
    batch: Vec<Settlement>,
    error: &ClientError,
    batches: &mut VecDeque<Vec<Settlement>>,
    answered: &mut Answered,
) {
    if batch.len() > 1 {
        batches.extend(batch.into_iter().map(|settlement| vec![settlement]));
        return;
    }
    for settlement in batch {
        let key = key(&settlement);
        match plainer(settlement.outcome, error) {
            Some(outcome) => {
                batches.push_back(vec![Settlement { job: key.job, claim: key.claim, outcome }]);
            }
            None => answered.verdicts.push((key, Verdict::Unsettled)),
        }
    }
}

/// Returns an outcome without what the server may have taken offence at.
fn plainer(outcome: Outcome, error: &ClientError) -> Option<Outcome> {
    match outcome {
        Outcome::Completed { result: Some(_) } => {
            let error = format!("the result was refused: {error}").chars().take(500).collect();
            Some(Outcome::Failed { error, retry_after_ms: None })
        }
        Outcome::HandedBack { checkpoint, reason } if checkpoint.is_some() || reason.is_some() => {
            Some(Outcome::HandedBack { checkpoint: None, reason: None })
        }
        Outcome::Snoozed { .. } => Some(Outcome::HandedBack { checkpoint: None, reason: None }),
        Outcome::Failed { retry_after_ms: Some(_), error } => {
            Some(Outcome::Failed { error, retry_after_ms: None })
        }
        Outcome::Failed { .. }
        | Outcome::Dead { .. }
        | Outcome::HandedBack { .. }
        | Outcome::Completed { result: None } => None,
    }
}

fn key(settlement: &Settlement) -> HoldKey {
    HoldKey { job: settlement.job, claim: settlement.claim }
}

fn verdict((settlement, result): (&Settlement, &SettleResult)) -> (HoldKey, Verdict) {
    let verdict = match (&settlement.outcome, &result.problem) {
        (_, Some(problem)) => {
            tracing::debug!(job = settlement.job, %problem, "a settlement was refused");
            Verdict::Superseded
        }
        (Outcome::Completed { .. }, None) => Verdict::Completed,
        (Outcome::Failed { .. } | Outcome::Dead { .. }, None) => Verdict::Failed,
        (Outcome::HandedBack { .. }, None) => Verdict::HandedBack,
        (Outcome::Snoozed { .. }, None) => Verdict::Snoozed,
    };
    // A job that was cancelled meanwhile has ended, whatever its handler said.
    let was_cancelled = result.state == Some(JobState::Cancelled);
    (key(settlement), if was_cancelled { Verdict::Superseded } else { verdict })
}
