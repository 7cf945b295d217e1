//! Calls about workers.

use clawhold_api::worker::{DrainReply, DrainWorker, Worker as WorkerView, WorkerQuery};
use clawhold_api::{Nothing, routes};

use crate::call::Call;
use crate::error::ClientError;
use crate::pages::Pages;
use crate::transport::{Client, Written};

impl Client {
    /// Lists the workers.
    #[must_use]
    pub fn workers(&self, wanted: &WorkerQuery) -> Pages<WorkerView> {
        Pages::new(self, routes::WORKERS, wanted)
    }

    /// Returns one worker, by its session's id or by a label that one live worker bears.
    ///
    /// # Errors
    /// As every call; `ambiguous_name` when several bear the label.
    pub async fn worker(&self, worker: &str) -> Result<WorkerView, ClientError> {
        self.read(&Call::get(&routes::fill(routes::WORKER, worker), "")).await
    }

    /// Sends a worker home.
    ///
    /// # Errors
    /// As every call.
    pub async fn drain_worker(
        &self,
        worker: &str,
        drain: &DrainWorker,
    ) -> Result<Written<DrainReply>, ClientError> {
        self.post(&routes::fill(routes::WORKER_DRAIN, worker), drain).await
    }

    /// Takes a drain back.
    ///
    /// # Errors
    /// As every call.
    pub async fn resume_worker(&self, worker: &str) -> Result<Written<WorkerView>, ClientError> {
        self.post(&routes::fill(routes::WORKER_RESUME, worker), &Nothing {}).await
    }
}
