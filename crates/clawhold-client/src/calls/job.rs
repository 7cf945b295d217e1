//! Calls about jobs.

use clawhold_api::job::{
    CancelJobs, Checkpoint, Claim, Claimed, Enqueue, Enqueued, HandBackJobs, Job, JobQuery,
    JobResults, Progress, RetryJobs, Settle, Settled,
};
use clawhold_api::{Done, routes};
use reqwest::Method;

use crate::call::Call;
use crate::error::ClientError;
use crate::pages::Pages;
use crate::transport::{Client, Written};

impl Client {
    /// Lists jobs, without their payloads and results.
    #[must_use]
    pub fn jobs(&self, wanted: &JobQuery) -> Pages<Job> {
        Pages::new(self, routes::JOBS, wanted)
    }

    /// Returns one job with its payload and result.
    ///
    /// # Errors
    /// As every call.
    pub async fn job(&self, job: u64) -> Result<Job, ClientError> {
        self.read(&Call::get(&routes::fill(routes::JOB, &job.to_string()), "")).await
    }

    /// Accepts jobs, all or none.
    ///
    /// # Errors
    /// As every call.
    pub async fn enqueue(&self, jobs: &Enqueue) -> Result<Written<Enqueued>, ClientError> {
        self.post(routes::JOBS, jobs).await
    }

    /// Asks for jobs once. [`crate::Worker`] goes on asking, works and settles.
    ///
    /// # Errors
    /// As every call; `draining` when the session is on its way out.
    pub async fn claim(&self, claim: &Claim) -> Result<Written<Claimed>, ClientError> {
        let call = self.write(Method::POST, routes::JOB_CLAIM, Some(claim))?;
        self.change(&call.waiting(claim.wait_ms)).await
    }

    /// Ends claims, each with its own outcome, and asks for the next jobs.
    ///
    /// # Errors
    /// As every call; what is refused of single settlements stands in the reply.
    pub async fn settle(&self, settle: &Settle) -> Result<Written<Settled>, ClientError> {
        self.post(routes::JOB_SETTLE, settle).await
    }

    /// Says that a handler moves.
    ///
    /// # Errors
    /// As every call; `superseded` when another claim owns the job.
    pub async fn progress(&self, progress: &Progress) -> Result<Written<Done>, ClientError> {
        self.post(routes::JOB_PROGRESS, progress).await
    }

    /// Keeps what the next holder needs to go on from here.
    ///
    /// # Errors
    /// As every call; `superseded` when another claim owns the job, `old_checkpoint` when a newer
    /// one is kept.
    pub async fn checkpoint(&self, checkpoint: &Checkpoint) -> Result<Written<Done>, ClientError> {
        self.post(routes::JOB_CHECKPOINT, checkpoint).await
    }

    /// Cancels jobs.
    ///
    /// # Errors
    /// As every call; what is refused of single jobs stands in the reply.
    pub async fn cancel_jobs(
        &self,
        cancel: &CancelJobs,
    ) -> Result<Written<JobResults>, ClientError> {
        self.post(routes::JOB_CANCEL, cancel).await
    }

    /// Puts ended jobs back to their queue.
    ///
    /// # Errors
    /// As every call; what is refused of single jobs stands in the reply.
    pub async fn retry_jobs(&self, retry: &RetryJobs) -> Result<Written<JobResults>, ClientError> {
        self.post(routes::JOB_RETRY, retry).await
    }

    /// Takes running jobs from their holders and returns them.
    ///
    /// # Errors
    /// As every call; what is refused of single jobs stands in the reply.
    pub async fn hand_back_jobs(
        &self,
        jobs: &HandBackJobs,
    ) -> Result<Written<JobResults>, ClientError> {
        self.post(routes::JOB_HAND_BACK, jobs).await
    }
}
