//! What the holder of a job may say about it while it runs.

use super::{Job, Jobs, KeptCheckpoint};
use crate::answer::{Answer, Refusal};
use crate::command::{Checkpoint, Progress};
use crate::limits;
use crate::queue::check_said;
use crate::request::check_range;
use crate::session::Sessions;
use crate::state::Step;
use crate::units::{Bytes, ClaimNumber, JobId, SessionId};

impl Jobs {
    /// Records that a handler moves.
    pub(crate) fn progress(
        &mut self,
        step: &mut Step,
        sessions: &Sessions,
        command: &Progress,
    ) -> Result<Answer, Refusal> {
        let session = sessions.prove(command.session)?.id;
        check_said("percent", command.percent.map(u64::from), 0, 100)?;
        let job = self.held_by(session, command.job, command.claim)?;
        let progress_ms = self.kept.queues.get(&job.queue).map(|queue| queue.settings.progress_ms);
        self.change(command.job, |job| {
            let Some(run) = job.run.as_mut() else { return };
            run.moved = step.stamp.served;
            run.progress_ms = progress_ms.unwrap_or(0);
            run.percent = command.percent.or(run.percent);
            run.note = command.note.clone();
        });
        Ok(Answer::Done)
    }

    /// Keeps what the next holder needs to go on from here.
    pub(crate) fn checkpoint(
        &mut self,
        _: &mut Step,
        sessions: &Sessions,
        command: &Checkpoint,
    ) -> Result<Answer, Refusal> {
        let session = sessions.prove(command.session)?.id;
        check_bytes("checkpoint", &command.bytes, limits::CHECKPOINT_BYTES_MAX)?;
        let job = self.held_by(session, command.job, command.claim)?;
        let latest = job.checkpoint().filter(|kept| kept.claim == command.claim);
        if let Some(latest) = latest.filter(|latest| command.number <= latest.number) {
            let (presented, latest) = (command.number, latest.number);
            return Err(Refusal::OldCheckpoint { presented, latest });
        }
        let (number, claim) = (command.number, command.claim);
        let bytes = command.bytes.clone();
        self.change(command.job, |job| {
            job.past_mut().checkpoint = Some(KeptCheckpoint { bytes, number, claim });
        });
        Ok(Answer::Done)
    }

    /// Returns the job, if the session holds it under this claim.
    ///
    /// # Errors
    /// [`Refusal::NotFound`] when there is no such job, [`Refusal::Superseded`] when the claim is
    /// not the session's or not the one under which the job runs.
    pub(super) fn held_by(
        &self,
        session: SessionId,
        id: JobId,
        claim: ClaimNumber,
    ) -> Result<&Job, Refusal> {
        let job = self.find(id)?;
        if job.holder() == Some(session) && job.claim == claim {
            return Ok(job);
        }
        Err(Refusal::Superseded { job: id, presented: claim, latest: job.claim })
    }
}

/// Refuses bytes beyond their limit.
pub(super) fn check_bytes(field: &str, bytes: &Bytes, max: usize) -> Result<(), Refusal> {
    check_range(field, bytes.len() as u64, 0, max as u64)
}
