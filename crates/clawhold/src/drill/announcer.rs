//! Announces the files of a drill on its stream, a little ahead of the workers.
//!
//! A leader that has everything behind it would have nothing to lose: the window keeps work in
//! front of it while faults happen.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use clawhold_client::Client;
use clawhold_client::api::Json;
use clawhold_client::api::stream::Append;
use tokio::task::JoinHandle;

use super::program::Payload;
use super::{QUEUE, STREAM};

/// Files that are announced before their predecessors are done.
const AHEAD_MAX: usize = 240;
/// Files in one append.
const EVENTS_MAX: usize = 100;
/// Bytes of one append.
const BYTES_MAX: usize = 128 * 1_024;
/// Pause between two looks at the queue.
const LOOK_EVERY: Duration = Duration::from_millis(40);

/// Announces files in the background. Dropping it ends that.
#[derive(Debug)]
pub(super) struct Announcer {
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct Shared {
    released: AtomicUsize,
    announced: AtomicUsize,
    completed: AtomicUsize,
    trouble: Mutex<Option<String>>,
}

impl Announcer {
    /// Starts to announce `files`, as far as they are released.
    pub(super) fn start(client: Client, files: Vec<String>) -> Self {
        let shared = Arc::new(Shared::default());
        let task = tokio::spawn(announce(client, files, Arc::clone(&shared)));
        Self { shared, task }
    }

    /// Lets the first `count` files be announced.
    pub(super) fn release(&self, count: usize) {
        self.shared.released.fetch_max(count, Ordering::Relaxed);
    }

    /// Returns how many files may be announced.
    pub(super) fn released(&self) -> usize {
        self.shared.released.load(Ordering::Relaxed)
    }

    /// Returns how many files have been announced.
    pub(super) fn announced(&self) -> usize {
        self.shared.announced.load(Ordering::Relaxed)
    }

    /// Returns how many jobs have ended well.
    pub(super) fn completed(&self) -> usize {
        self.shared.completed.load(Ordering::Relaxed)
    }

    /// Returns what keeps it from announcing, if something does.
    pub(super) fn trouble(&self) -> Option<String> {
        self.shared.trouble.lock().ok()?.clone()
    }
}

impl Drop for Announcer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn announce(client: Client, files: Vec<String>, shared: Arc<Shared>) {
    loop {
        if let Err(error) = step(&client, &files, &shared).await {
            // Calls are repeated by the client; what comes through ends the announcing.
            if let Ok(mut trouble) = shared.trouble.lock() {
                *trouble = Some(error);
            }
            return;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

async fn step(client: &Client, files: &[String], shared: &Shared) -> Result<(), String> {
    let queue = client.queue(QUEUE).await.map_err(|error| error.to_string())?;
    let completed = usize::try_from(queue.totals.completed).unwrap_or(usize::MAX);
    shared.completed.store(completed, Ordering::Relaxed);
    let announced = shared.announced.load(Ordering::Relaxed);
    let released = shared.released.load(Ordering::Relaxed).min(files.len());
    let until = released.min(completed.saturating_add(AHEAD_MAX)).min(announced + EVENTS_MAX);
    if until <= announced {
        return Ok(());
    }
    let mut events = Vec::new();
    let mut bytes = 0;
    for file in &files[announced..until] {
        bytes += file.len();
        if BYTES_MAX < bytes && !events.is_empty() {
            break;
        }
        let event = Json::of(&Payload { file: file.clone() }).map_err(|error| error.to_string())?;
        events.push(event);
    }
    let count = events.len();
    let first = u64::try_from(announced).unwrap_or(u64::MAX).saturating_add(1);
    let append = Append { events, expected: Some(first) };
    client.append(STREAM, &append).await.map_err(|error| error.to_string())?;
    shared.announced.store(announced + count, Ordering::Relaxed);
    Ok(())
}
