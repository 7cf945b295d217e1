//! Enqueueing jobs, with those that are submitted at the same time sharing a request.
//!
//! There is no timer: while a request is under way, jobs gather; the next request leaves with all
//! of them as soon as the last one is answered. A job that is refused is refused alone.

use std::collections::VecDeque;

use clawhold_api::job::{Enqueue, EnqueuedJob, NewJob};
use clawhold_api::{Code, Json};
use tokio::sync::{mpsc, oneshot};

use crate::error::ClientError;
use crate::transport::Client;

/// Jobs of one request.
const BATCH_JOBS_MAX: usize = 1_000;
/// Bytes of payload in one request, one larger job excepted.
const BATCH_BYTES_MAX: usize = 256 * 1_024;
/// Jobs that wait for the request under way; the next `enqueue` waits with them.
const WAITING_MAX: usize = 4_096;

/// Accepts jobs from any number of tasks and enqueues them together. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Producer {
    client: Client,
    jobs: mpsc::Sender<Submitted>,
}

#[derive(Debug)]
struct Submitted {
    job: NewJob,
    reply: oneshot::Sender<Result<EnqueuedJob, ClientError>>,
}

impl Producer {
    /// Starts a producer. Must be called within an async runtime; its task ends with its last
    /// clone.
    #[must_use]
    pub fn new(client: &Client) -> Self {
        let (jobs, waiting) = mpsc::channel(WAITING_MAX);
        let client = client.for_many();
        tokio::spawn(send_all(client.clone(), waiting));
        Self { client, jobs }
    }

    /// Enqueues a job, together with others that are submitted at the same time. Returns when it
    /// is accepted for good.
    ///
    /// # Errors
    /// As every call.
    pub async fn enqueue(&self, job: NewJob) -> Result<EnqueuedJob, ClientError> {
        let (reply, answer) = oneshot::channel();
        let gone = |_| ClientError::Setting {
            name: "producer",
            value: String::new(),
            reason: "has ended with the runtime it was started in; start another".to_owned(),
        };
        self.jobs.send(Submitted { job, reply }).await.map_err(|_| gone(()))?;
        answer.await.map_err(|_| gone(()))?
    }

    /// Enqueues a payload with every default.
    ///
    /// # Errors
    /// As every call.
    pub async fn enqueue_payload(
        &self,
        queue: &str,
        payload: Json,
    ) -> Result<EnqueuedJob, ClientError> {
        self.enqueue(NewJob::new(queue, payload)).await
    }

    /// Enqueues jobs in one request of their own, all or none.
    ///
    /// # Errors
    /// As every call.
    pub async fn enqueue_all(&self, jobs: Vec<NewJob>) -> Result<Vec<EnqueuedJob>, ClientError> {
        Ok(self.client.enqueue(&Enqueue { jobs }).await?.reply.jobs)
    }
}

async fn send_all(client: Client, mut waiting: mpsc::Receiver<Submitted>) {
    let mut gathered = VecDeque::new();
    loop {
        if gathered.is_empty() {
            let Some(first) = waiting.recv().await else { return };
            gathered.push_back(first);
            // Whoever is about to submit as well gets into the same request.
            tokio::task::yield_now().await;
        }
        while gathered.len() < BATCH_JOBS_MAX
            && let Ok(next) = waiting.try_recv()
        {
            gathered.push_back(next);
        }
        send(&client, cut(&mut gathered)).await;
    }
}

/// Takes as many jobs as fit one request, one at least.
fn cut(gathered: &mut VecDeque<Submitted>) -> Vec<Submitted> {
    let mut batch = Vec::new();
    let mut bytes = 0;
    while batch.len() < BATCH_JOBS_MAX
        && let Some(next) = gathered.pop_front()
    {
        let size = next.job.payload.get().len();
        if !batch.is_empty() && bytes + size > BATCH_BYTES_MAX {
            gathered.push_front(next);
            break;
        }
        bytes += size;
        batch.push(next);
    }
    batch
}

/// Sends a batch. One that is refused is cut in halves until the jobs at fault stand alone, so that
/// they take no other with them.
async fn send(client: &Client, batch: Vec<Submitted>) {
    let mut batches = vec![batch];
    while let Some(mut batch) = batches.pop() {
        let jobs: Vec<NewJob> = batch.iter().map(|submitted| submitted.job.clone()).collect();
        let error = match client.enqueue(&Enqueue { jobs }).await {
            Ok(enqueued) => {
                tell_each(batch, &enqueued.jobs);
                continue;
            }
            Err(error) => error,
        };
        // A request whose outcome is not known is not cut up: its jobs may be accepted.
        let is_about_some = error.nothing_happened() && !error.retry_is_sensible();
        if batch.len() > 1 && is_about_some {
            let later = batch.split_off(batch.len() / 2);
            batches.extend([later, batch]);
        } else {
            tell_all(batch, &error);
        }
    }
}

/// Tells each in a batch which job is theirs.
fn tell_each(batch: Vec<Submitted>, jobs: &[EnqueuedJob]) {
    for (at, submitted) in batch.into_iter().enumerate() {
        let job = jobs.get(at).copied().ok_or_else(missing);
        // Whoever submitted it may have stopped waiting; the job is accepted all the same.
        let _told = submitted.reply.send(job).is_ok();
    }
}

fn missing() -> ClientError {
    let problem = clawhold_api::Problem::new(Code::Internal, "the reply names no job");
    ClientError::Refused(Box::new(problem))
}

/// Tells everybody in a batch how it ended.
fn tell_all(batch: Vec<Submitted>, error: &ClientError) {
    for submitted in batch {
        let _told = submitted.reply.send(Err(error.repeat())).is_ok();
    }
}
