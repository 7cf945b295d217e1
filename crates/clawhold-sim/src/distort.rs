//! Rules of the state broken on purpose: an entry is said to have done what it did not.
//!
//! Every reader of the log distorts alike, as if the product itself had the fault, so that only
//! the checker's own ledgers can notice.

use clawhold_core::answer::{Answer, Claimed, JobState, Refusal, SettledAs};
use clawhold_core::change::What;
use clawhold_core::command::{Claim, Command, Request};
use clawhold_core::job::{Filter, Job};
use clawhold_core::units::Token;
use clawhold_core::{Applied, State};

use crate::rule::Rule;

/// Returns what an entry is said to have done under a broken rule.
pub(crate) fn distort(
    rule: Option<Rule>,
    state: &State,
    request: &Request,
    mut applied: Applied,
) -> Applied {
    let Some(rule) = rule else { return applied };
    match (rule, &request.command) {
        (Rule::OneJobToTwo, Command::Claim(claim)) => one_job_to_two(state, claim, &mut applied),
        (Rule::NewBeforeReturned, Command::Claim(_)) => new_before_returned(state, &mut applied),
        (Rule::StaleCommit, Command::Commit(_)) => {
            if matches!(applied.answer, Err(Refusal::StaleToken { .. })) {
                applied.answer = Ok(Answer::Committed { jobs: Vec::new() });
            }
        }
        (Rule::StaleCompletion, Command::Settle(_)) => {
            if let Ok(Answer::Settled { results, .. }) = &mut applied.answer {
                let stale = results
                    .iter_mut()
                    .filter(|result| matches!(result, Err(Refusal::Superseded { .. })));
                stale.for_each(|result| *result = Ok(SettledAs::Completed));
            }
        }
        (Rule::RepeatToken, _) => {
            for change in &mut applied.changes {
                if let What::RoleGranted { token, .. } = &mut change.what {
                    *token = Token(1);
                }
            }
        }
        _ => {}
    }
    applied
}

fn one_job_to_two(state: &State, claim: &Claim, applied: &mut Applied) {
    let Ok(Answer::Claimed(claimed)) = &mut applied.answer else { return };
    let running = Filter { queue: None, state: Some(JobState::Running) };
    let others = state.jobs().list(running, None, 100);
    let other = others.into_iter().find(|job| job.holder() != Some(claim.session.id));
    if let Some(job) = other.filter(|_| claimed.is_empty()) {
        claimed.push(Claimed { job: job.id, claim: job.claim });
    }
}

/// Says that a waiting job was handed out in the place of a returned one.
fn new_before_returned(state: &State, applied: &mut Applied) {
    let Ok(Answer::Claimed(claimed)) = &mut applied.answer else { return };
    for one in claimed {
        let came_back = |job: &&Job| job.returned().is_some();
        let Some(job) = state.jobs().job(one.job).filter(came_back) else { continue };
        let queued =
            Filter { queue: Some(state.jobs().queue_of(job)), state: Some(JobState::Queued) };
        let fresh = state.jobs().list(queued, None, 100);
        let fresh = fresh.into_iter().find(|fresh| fresh.priority == job.priority);
        let Some(fresh) = fresh else { continue };
        for change in &mut applied.changes {
            if let What::Job { job, state: JobState::Running, .. } = &mut change.what
                && *job == one.job
            {
                *job = fresh.id;
            }
        }
        one.job = fresh.id;
    }
}
