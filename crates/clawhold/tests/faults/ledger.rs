//! Producers and an announcer, and the ledger of every answer that they got.
//!
//! Some producers ask again under the same request id until they know; some give up soon and
//! write down what they were told: that nothing happened, or that nobody knows.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use clawhold_client::api::Json;
use clawhold_client::api::job::{Enqueue, NewJob};
use clawhold_client::api::stream::Append;
use clawhold_client::{Client, Patience};
use serde::{Deserialize, Serialize};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use crate::relay::Relay;

/// The queue of every job.
pub(crate) const QUEUE: &str = "work";
/// The stream of the announcer.
pub(crate) const STREAM: &str = "events";
/// How long a producer that wants to know goes on asking.
const PATIENCE: Duration = Duration::from_secs(90);
/// How long one that does not gives a call.
const IMPATIENCE: Duration = Duration::from_millis(400);

/// What a job carries: who made it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Mark {
    /// A producer, under this mark.
    Uid(String),
    /// A leader, for this event.
    Event(u64),
    /// A test, which checks it itself.
    Stranger(String),
}

/// What a producer was told of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It was accepted under this number.
    Accepted(u64),
    /// Certainly nothing happened.
    Refused,
    /// Nobody knows.
    Unknown,
}

/// Everything that callers were told.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    jobs: Mutex<BTreeMap<String, Fate>>,
    /// The last event that was acknowledged.
    last: AtomicU64,
    /// Calls that were acknowledged.
    acknowledged: AtomicU64,
    /// Answers to a repeated request that differ from the first.
    doubled: Mutex<Vec<String>>,
    /// The longest time that a call took until it was acknowledged, in milliseconds.
    longest_ms: AtomicU64,
    stopped: AtomicBool,
}

impl Ledger {
    pub(crate) fn jobs(&self) -> BTreeMap<String, Fate> {
        self.jobs.lock().unwrap().clone()
    }

    pub(crate) fn last(&self) -> u64 {
        self.last.load(Ordering::SeqCst)
    }

    pub(crate) fn acknowledged(&self) -> u64 {
        self.acknowledged.load(Ordering::SeqCst)
    }

    pub(crate) fn doubled(&self) -> Vec<String> {
        self.doubled.lock().unwrap().clone()
    }

    pub(crate) fn longest(&self) -> Duration {
        Duration::from_millis(self.longest_ms.load(Ordering::SeqCst))
    }

    /// Returns how many jobs met this kind of fate.
    pub(crate) fn count(&self, is_it: impl Fn(Fate) -> bool) -> usize {
        self.jobs.lock().unwrap().values().filter(|fate| is_it(**fate)).count()
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }

    /// Writes down what the caller of a job was told.
    pub(crate) fn note(&self, uid: &str, fate: Fate) {
        self.jobs.lock().unwrap().insert(uid.to_owned(), fate);
    }

    fn acknowledge(&self, since: Instant) {
        self.acknowledged.fetch_add(1, Ordering::SeqCst);
        let ms = u64::try_from(since.elapsed().as_millis()).unwrap();
        self.longest_ms.fetch_max(ms, Ordering::SeqCst);
    }
}

/// One that calls, through relays of its own.
#[derive(Debug)]
pub(crate) struct Caller {
    /// Its relays, one to each server.
    pub(crate) relays: Vec<Relay>,
    task: Option<JoinHandle<()>>,
}

impl Caller {
    /// Starts a producer of jobs.
    pub(crate) fn producer(
        number: u64,
        seed: u64,
        relays: Vec<Relay>,
        ledger: &Arc<Ledger>,
    ) -> Self {
        let (client, ledger) = (client(&relays), Arc::clone(ledger));
        let rng = fastrand::Rng::with_seed(seed);
        let producer = Producer { number, client, ledger, rng };
        Self { relays, task: Some(tokio::spawn(producer.run())) }
    }

    /// Starts the announcer of events.
    pub(crate) fn announcer(relays: Vec<Relay>, ledger: &Arc<Ledger>) -> Self {
        let (client, ledger) = (client(&relays), Arc::clone(ledger));
        Self { relays, task: Some(tokio::spawn(announce(client, ledger))) }
    }

    /// Waits for the end of what it does after it was told to stop.
    pub(crate) async fn ended(&mut self) {
        if let Some(task) = self.task.take() {
            task.await.unwrap();
        }
    }
}

/// Notes the event with which a stream begins.
pub(crate) fn begin(ledger: &Ledger) {
    ledger.last.store(1, Ordering::SeqCst);
}

/// Tells every caller to stop.
pub(crate) fn stop(ledger: &Ledger) {
    ledger.stopped.store(true, Ordering::SeqCst);
}

fn client(relays: &[Relay]) -> Client {
    let urls: Vec<&str> = relays.iter().map(|relay| relay.url.as_str()).collect();
    let one_try = Duration::from_millis(1_500);
    let patience = Patience { total: PATIENCE, one_try, ..Patience::default() };
    Client::connect_with(&urls, None, patience).unwrap()
}

/// Appends one event after the other, each at its own number.
async fn announce(client: Client, ledger: Arc<Ledger>) {
    while !ledger.is_stopped() {
        let next = ledger.last() + 1;
        let events = [Json::of(&next).unwrap()].into();
        let since = Instant::now();
        let append = Append { events, expected: Some(next) };
        // The number itself tells a doubled append: the stream would be one ahead for good.
        let done = client.append(STREAM, &append).await;
        let last = done.unwrap_or_else(|error| panic!("event {next}: {error}")).last;
        assert_eq!(last, next);
        ledger.last.store(last, Ordering::SeqCst);
        ledger.acknowledge(since);
        sleep(Duration::from_millis(120)).await;
    }
}

struct Producer {
    number: u64,
    client: Client,
    ledger: Arc<Ledger>,
    rng: fastrand::Rng,
}

impl Producer {
    async fn run(mut self) {
        let mut made = 0;
        while !self.ledger.is_stopped() {
            let count = self.rng.u64(1..=3);
            let uids: Vec<String> =
                (made..made + count).map(|job| format!("{}-{job}", self.number)).collect();
            made += count;
            self.enqueue(&uids).await;
            sleep(Duration::from_millis(self.rng.u64(60..240))).await;
        }
    }

    async fn enqueue(&mut self, uids: &[String]) {
        let jobs =
            uids.iter().map(|uid| NewJob::new(QUEUE, Json::of(&Mark::Uid(uid.clone())).unwrap()));
        let enqueue = Enqueue { jobs: jobs.collect() };
        let keyed = self.client.keyed(&self.client.new_key());
        for uid in uids {
            self.ledger.note(uid, Fate::Unknown);
        }
        let since = Instant::now();
        let is_patient = self.rng.u8(0..10) < 7;
        let first = if is_patient { keyed.clone() } else { keyed.within(IMPATIENCE) };
        let ids = match first.enqueue(&enqueue).await {
            Ok(written) => ids(&written.reply.jobs),
            Err(error) if error.nothing_happened() => {
                uids.iter().for_each(|uid| self.ledger.note(uid, Fate::Refused));
                return;
            }
            // One that lost patience may come back to it, or never.
            Err(_) if !is_patient && self.rng.bool() => return,
            Err(_) => {
                let again = keyed.enqueue(&enqueue).await;
                let Ok(written) = again else { return };
                ids(&written.reply.jobs)
            }
        };
        self.ledger.acknowledge(since);
        for (uid, id) in uids.iter().zip(&ids) {
            self.ledger.note(uid, Fate::Accepted(*id));
        }
        if self.rng.u8(0..8) == 0 {
            self.repeat(&keyed, &enqueue, &ids).await;
        }
    }

    /// Sends a request once more that was answered: it gets the first answer.
    async fn repeat(&self, keyed: &Client, enqueue: &Enqueue, first: &[u64]) {
        let Ok(written) = keyed.enqueue(enqueue).await else { return };
        let again = ids(&written.reply.jobs);
        if !written.replayed || again != first {
            let text = format!("{first:?} became {again:?} when it was asked again");
            self.ledger.doubled.lock().unwrap().push(text);
        }
    }
}

fn ids(jobs: &[clawhold_client::api::job::EnqueuedJob]) -> Vec<u64> {
    jobs.iter().map(|job| job.id).collect()
}
