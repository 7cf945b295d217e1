//! Calls about queues.

use clawhold_api::page::PageQuery;
use clawhold_api::queue::{Audit, AuditQuery, CloseGate, PauseQueue, Queue, SetQueue};
use clawhold_api::{Done, Nothing, routes};
use reqwest::Method;

use crate::call::{Call, query};
use crate::error::ClientError;
use crate::pages::Pages;
use crate::transport::{Client, Written};

impl Client {
    /// Lists the queues.
    #[must_use]
    pub fn queues(&self, wanted: &PageQuery) -> Pages<Queue> {
        Pages::new(self, routes::QUEUES, wanted)
    }

    /// Returns one queue.
    ///
    /// # Errors
    /// As every call.
    pub async fn queue(&self, queue: &str) -> Result<Queue, ClientError> {
        self.read(&Call::get(&routes::fill(routes::QUEUE, queue), "")).await
    }

    /// Makes a queue or sets its limits.
    ///
    /// # Errors
    /// As every call.
    pub async fn set_queue(
        &self,
        queue: &str,
        set: &SetQueue,
    ) -> Result<Written<Queue>, ClientError> {
        let path = routes::fill(routes::QUEUE, queue);
        self.change(&self.write(Method::PUT, &path, Some(set))?).await
    }

    /// Removes an empty queue.
    ///
    /// # Errors
    /// As every call; `in_use` while it has live jobs.
    pub async fn remove_queue(&self, queue: &str) -> Result<Written<Done>, ClientError> {
        let path = routes::fill(routes::QUEUE, queue);
        self.change(&self.write::<()>(Method::DELETE, &path, None)?).await
    }

    /// Stops handing out the jobs of a queue.
    ///
    /// # Errors
    /// As every call.
    pub async fn pause_queue(
        &self,
        queue: &str,
        pause: &PauseQueue,
    ) -> Result<Written<Queue>, ClientError> {
        self.post(&routes::fill(routes::QUEUE_PAUSE, queue), pause).await
    }

    /// Hands out the jobs of a queue again.
    ///
    /// # Errors
    /// As every call.
    pub async fn resume_queue(&self, queue: &str) -> Result<Written<Queue>, ClientError> {
        self.post(&routes::fill(routes::QUEUE_RESUME, queue), &Nothing {}).await
    }

    /// Closes the gate of a queue: new jobs wait behind the returned ones.
    ///
    /// # Errors
    /// As every call.
    pub async fn close_gate(
        &self,
        queue: &str,
        close: &CloseGate,
    ) -> Result<Written<Queue>, ClientError> {
        self.post(&routes::fill(routes::QUEUE_GATE, queue), close).await
    }

    /// Opens the gate of a queue: new jobs are admitted.
    ///
    /// # Errors
    /// As every call.
    pub async fn admit(&self, queue: &str) -> Result<Written<Queue>, ClientError> {
        self.post(&routes::fill(routes::QUEUE_ADMIT, queue), &Nothing {}).await
    }

    /// Returns the ownership audit of one queue, or of all.
    ///
    /// # Errors
    /// As every call.
    pub async fn audit(&self, queue: Option<&str>) -> Result<Audit, ClientError> {
        let wanted = AuditQuery { queue: queue.map(str::to_owned) };
        self.read(&Call::get(routes::AUDIT, &query(&wanted))).await
    }
}
