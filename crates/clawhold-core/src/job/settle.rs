//! How a run ends: by its holder's word, or taken back.
//!
//! Each settlement is decided by itself. A cancellation asked for meanwhile turns every end but a
//! completion or a death into `cancelled`.

use alloc::format;

use super::claim::check_wanted;
use super::hold::check_bytes;
use super::{Job, Jobs, KeptCheckpoint, Return};
use crate::answer::{Answer, JobState, Refusal, SettledAs, WorkerState};
use crate::command::{RetryRule, ReturnCause, RunOutcome, Settle, Settlement};
use crate::limits;
use crate::queue::{Settings, check_said};
use crate::request::check_range;
use crate::session::{Session, Sessions};
use crate::state::Step;
use crate::units::{Bytes, JobId, Stamp, Text};

impl Jobs {
    /// Ends claims, each with its own outcome, and hands out the next jobs.
    pub(crate) fn settle(
        &mut self,
        step: &mut Step,
        sessions: &Sessions,
        command: &Settle,
    ) -> Result<Answer, Refusal> {
        let session = sessions.prove(command.session)?;
        let count = command.settlements.len() as u64;
        check_range("settlements", count, 0, limits::ITEMS_MAX as u64)?;
        if let Some(wanted) = &command.next {
            check_wanted(wanted)?;
        }
        let settlements = command.settlements.iter();
        let results = settlements.map(|one| self.settle_one(step, session, one)).collect();
        let claimed = match &command.next {
            Some(wanted) => self.hand_out(step, sessions, session, wanted),
            None => alloc::vec::Vec::new(),
        };
        Ok(Answer::Settled { results, claimed })
    }

    fn settle_one(
        &mut self,
        step: &mut Step,
        session: &Session,
        settlement: &Settlement,
    ) -> Result<SettledAs, Refusal> {
        let job = self.held_by(session.id, settlement.job, settlement.claim)?;
        let (id, cancelled) = (job.id, job.cancel_asked());
        check_outcome(&settlement.outcome)?;
        match &settlement.outcome {
            RunOutcome::Completed { result } => self.complete(step, id, result),
            RunOutcome::Dead { error } => self.die(step, id, error.clone()),
            RunOutcome::Failed { error, .. } if cancelled => {
                self.note_error(step.stamp, id, error.clone());
                self.move_to(step, id, JobState::Cancelled, |_| {});
            }
            RunOutcome::Failed { error, retry_after_ms } => {
                self.fail_run(step, id, error.clone(), *retry_after_ms);
            }
            RunOutcome::HandedBack { checkpoint, reason } => {
                self.keep_checkpoint(step.stamp, id, checkpoint.as_ref());
                self.give_back(step, id, ReturnCause::HandedBack, reason);
                self.note_leaving(step, id, session);
            }
            RunOutcome::Snoozed { checkpoint, .. } if cancelled => {
                self.keep_checkpoint(step.stamp, id, checkpoint.as_ref());
                self.move_to(step, id, JobState::Cancelled, |_| {});
            }
            RunOutcome::Snoozed { for_ms, checkpoint } => {
                self.keep_checkpoint(step.stamp, id, checkpoint.as_ref());
                self.wait(step, id, *for_ms);
            }
        }
        Ok(self.settled_as(id, &settlement.outcome))
    }

    /// Tells where a job went that was settled in this entry. One that is gone was not to be kept.
    fn settled_as(&self, id: JobId, outcome: &RunOutcome) -> SettledAs {
        let Some(job) = self.job(id) else {
            return match outcome {
                RunOutcome::Completed { .. } => SettledAs::Completed,
                RunOutcome::Failed { .. }
                | RunOutcome::Dead { .. }
                | RunOutcome::HandedBack { .. }
                | RunOutcome::Snoozed { .. } => SettledAs::Failed,
            };
        };
        match job.state {
            JobState::Completed => SettledAs::Completed,
            JobState::Failed => SettledAs::Failed,
            JobState::Cancelled => SettledAs::Cancelled,
            JobState::Returned => SettledAs::Returned,
            JobState::Scheduled | JobState::Queued | JobState::Running => {
                SettledAs::RetryAt(job.due)
            }
        }
    }

    fn complete(&mut self, step: &mut Step, id: JobId, result: &Bytes) {
        let result = (!result.is_empty()).then(|| result.clone());
        self.move_to(step, id, JobState::Completed, |job| job.past_mut().result = result);
    }

    fn die(&mut self, step: &mut Step, id: JobId, error: Text) {
        let stamp = step.stamp;
        self.move_to(step, id, JobState::Failed, |job| {
            job.attempts = job.attempts.saturating_add(1);
            job.add_error(stamp, error);
        });
    }

    /// Ends a run as a failed attempt: the job is tried again while its rule allows.
    pub(super) fn fail_run(
        &mut self,
        step: &mut Step,
        id: JobId,
        error: Text,
        retry_after_ms: Option<u64>,
    ) {
        let Some(job) = self.job(id) else { return };
        let retry = job.rule().retry;
        let attempt = job.attempts.saturating_add(1);
        if attempt >= retry.attempts_max {
            return self.die(step, id, error);
        }
        let stamp = step.stamp;
        self.change(id, |job| job.attempts = attempt);
        self.note_error(stamp, id, error);
        self.wait(step, id, retry_after_ms.unwrap_or_else(|| backoff_ms(retry, id, attempt)));
    }

    /// Lets a job wait for a while without holding a slot.
    fn wait(&mut self, step: &mut Step, id: JobId, ms: u64) {
        let due = step.stamp.at.after(ms);
        let state = if ms == 0 { JobState::Queued } else { JobState::Scheduled };
        self.move_to(step, id, state, |job| job.due = due);
    }

    /// Takes a job from its holder: it waits before the new ones, unless it was cancelled or has
    /// come back too often.
    pub(super) fn give_back(
        &mut self,
        step: &mut Step,
        id: JobId,
        cause: ReturnCause,
        reason: &Text,
    ) {
        let Some(job) = self.job(id) else { return };
        let Some(session) = job.holder() else { return };
        let stamp = step.stamp;
        if job.cancel_asked() {
            self.move_to(step, id, JobState::Cancelled, |_| {});
            return;
        }
        let settings = self.kept.queues.get(&job.queue).map(|queue| queue.settings);
        let verdict = Verdict::of(job, cause, settings.unwrap_or_default());
        let state = if verdict.dead.is_some() { JobState::Failed } else { JobState::Returned };
        let returned = Return { session, cause, stamp, reason: reason.clone() };
        self.move_to(step, id, state, |job| {
            job.losses = verdict.losses;
            job.hand_backs = verdict.hand_backs;
            job.past_mut().returned = Some(returned);
            if cause == ReturnCause::SessionLost {
                let text = format!("session {session} was lost while it held claim {}", job.claim);
                job.add_error(stamp, Text::cut(&text));
            }
            if let Some(text) = verdict.dead {
                job.add_error(stamp, text);
            }
        });
    }

    /// Closes the gate of the queue to which a leaving worker returned a job.
    fn note_leaving(&mut self, step: &mut Step, id: JobId, session: &Session) {
        let leaves = match session.state {
            WorkerState::Draining | WorkerState::Drained => true,
            WorkerState::Active | WorkerState::Left | WorkerState::Lost => false,
        };
        let job = self.job(id).filter(|job| leaves && job.state == JobState::Returned);
        if let Some(queue) = job.map(|job| job.queue) {
            self.close_gate_for_return(step, queue);
        }
    }

    /// Keeps the checkpoint that came with the end of a run. One that is too large is noted, and
    /// the previous one stays: the job goes on either way.
    fn keep_checkpoint(&mut self, stamp: Stamp, id: JobId, bytes: Option<&Bytes>) {
        let Some(bytes) = bytes else { return };
        if let Err(refusal) = check_bytes("checkpoint", bytes, limits::CHECKPOINT_BYTES_MAX) {
            let text = format!("the previous checkpoint was kept: {refusal}");
            self.note_error(stamp, id, Text::cut(&text));
            return;
        }
        self.change(id, |job| {
            let claim = job.claim;
            let latest = job.checkpoint().filter(|kept| kept.claim == claim);
            let number = latest.map_or(0, |kept| kept.number).saturating_add(1);
            let bytes = bytes.clone();
            job.past_mut().checkpoint = Some(KeptCheckpoint { bytes, number, claim });
        });
    }

    /// Notes an error of the run under way.
    fn note_error(&mut self, stamp: Stamp, id: JobId, text: Text) {
        self.change(id, |job| {
            let holder = job.holder();
            job.past_mut().holder = holder;
            job.add_error(stamp, text);
        });
    }
}

/// What a return does to the counters of a job, and whether it dies of it.
#[derive(Debug)]
struct Verdict {
    losses: u32,
    hand_backs: u32,
    dead: Option<Text>,
}

impl Verdict {
    fn of(job: &Job, cause: ReturnCause, settings: Settings) -> Self {
        let (losses, hand_backs) = (job.losses, job.hand_backs);
        match cause {
            ReturnCause::NeverReceived => Self { losses, hand_backs, dead: None },
            ReturnCause::SessionLost => {
                let losses = losses.saturating_add(1);
                let dead = (losses >= settings.losses_max)
                    .then(|| Text::cut(&format!("{losses} holders were lost with it")));
                Self { losses, hand_backs, dead }
            }
            ReturnCause::HandedBack
            | ReturnCause::SessionClosed
            | ReturnCause::DrainDeadline
            | ReturnCause::Operator => {
                let hand_backs = hand_backs.saturating_add(1);
                let max = settings.hand_backs_max;
                let dead = (hand_backs > max).then(|| {
                    Text::cut(&format!(
                        "it came back {hand_backs} times, at most {max} are allowed"
                    ))
                });
                Self { losses, hand_backs, dead }
            }
        }
    }
}

fn check_outcome(outcome: &RunOutcome) -> Result<(), Refusal> {
    match outcome {
        RunOutcome::Completed { result } => check_bytes("result", result, limits::RESULT_BYTES_MAX),
        RunOutcome::Failed { retry_after_ms, .. } => {
            check_said("retry_after_ms", *retry_after_ms, 0, limits::DURATION_MS_MAX)
        }
        RunOutcome::Snoozed { for_ms, .. } => {
            check_range("for_ms", *for_ms, 0, limits::DURATION_MS_MAX)
        }
        RunOutcome::Dead { .. } | RunOutcome::HandedBack { .. } => Ok(()),
    }
}

/// Returns the milliseconds before the next try: doubled with each failed one, never beyond the
/// ceiling, spread over a fifth so that jobs that failed together do not come back together.
pub(super) fn backoff_ms(rule: RetryRule, job: JobId, attempt: u32) -> u64 {
    let doublings = attempt.saturating_sub(1).min(63);
    let doubled = rule.first_ms.saturating_mul(1 << doublings).min(rule.ceiling_ms);
    // At the ceiling the spread lies below it.
    let least = doubled.min(rule.ceiling_ms - rule.ceiling_ms / 6);
    let spread = least / 5;
    let delay = least + mix(job.0 ^ (u64::from(attempt) << 40)) % (spread + 1);
    delay.min(rule.ceiling_ms)
}

/// Spreads neighbouring numbers over all numbers (splitmix64), the same on every server.
fn mix(number: u64) -> u64 {
    let z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
