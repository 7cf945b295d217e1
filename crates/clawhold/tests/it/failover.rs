//! Two servers on one store: one dies or stands still under load, the other goes on.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use clawhold_client::api::Json;
use clawhold_client::api::job::{JobQuery, NewJob};
use clawhold_client::{AcquireOptions, Client, Producer, Session, SessionOptions};
use rustix::process::{Pid, Signal, kill_process};

use crate::place::{CLAWHOLD, PATIENCE, Place, block_on};

/// The hold of the servers in these tests.
pub(crate) const HOLD: Duration = Duration::from_secs(1);
/// Producers that enqueue one job after the other.
const PRODUCERS: usize = 4;

#[test]
fn a_standby_serves_on_when_the_active_server_is_killed_under_load() {
    let place = Place::new();
    let mut first = Member::start(&place);
    let mut second = Member::start(&place);
    let load = Load::start(&[&second, &first]);
    load.wait_for(200);

    first.kill();
    let killed = Instant::now();
    load.wait_for_more(1);
    let silence = killed.elapsed();
    load.wait_for_more(200);
    let accepted = load.stop();

    assert!(silence < HOLD + Duration::from_millis(200), "no answer for {silence:?}");
    assert_eq!(second.missing(&accepted), BTreeSet::new());
    let third = Member::start(&place);
    same_state(&third, &second);
    second.kill();
}

#[test]
fn of_servers_that_start_at_once_a_death_is_seen_at_once_whoever_leads() {
    for round in 0..4 {
        let place = Place::new();
        let (one, other) = thread::scope(|scope| {
            let one = scope.spawn(|| Member::start(&place));
            (Member::start(&place), one.join().unwrap())
        });
        let (mut active, standby) = if one.is_active() { (one, other) } else { (other, one) };
        let load = Load::start(&[&standby, &active]);
        load.wait_for(100);
        active.kill();
        let killed = Instant::now();
        load.wait_for_more(1);
        let silence = killed.elapsed();
        drop(load.stop());
        // Less than the hold: the kernel's lock told it.
        assert!(silence < HOLD * 3 / 4, "round {round}: no answer for {silence:?}");
    }
}

#[test]
fn a_frozen_active_server_loses_the_log_and_nobody_loses_a_lease() {
    let place = Place::new();
    let first = Member::start(&place);
    let second = Member::start(&place);
    let load = Load::start(&[&first, &second]);
    load.wait_for(50);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let leader = runtime.block_on(async {
        let client = Client::connect(&[&first.url, &second.url], None).unwrap();
        let session = Session::open(&client, SessionOptions::labelled("ana")).await.unwrap();
        let ttl = Duration::from_secs(8);
        session.acquire("billing", &AcquireOptions { ttl: Some(ttl), ..Default::default() }).await
    });
    let leader = leader.unwrap();

    // Frozen at rest: a process that is stopped in the middle of a commit keeps SQLite's lock.
    let before = load.stop();
    first.signal(Signal::STOP);
    second.wait_active();
    let load = Load::start(&[&second, &first]);
    load.wait_for(50);
    first.signal(Signal::CONT);
    load.wait_for_more(50);
    let accepted = &before | &load.stop();

    assert!(leader.is_leader());
    let role = block_on(second.client().role("billing")).unwrap();
    assert_eq!(role.token, leader.token());
    assert_eq!(first.missing(&accepted), BTreeSet::new());
    same_state(&first, &second);
}

#[test]
fn a_server_whose_store_is_moved_away_ends_and_splits_no_cluster() {
    let place = Place::new();
    let mut first = Member::start(&place);
    let load = Load::start(&[&first]);
    load.wait_for(20);
    let accepted = load.stop();
    let store = place.path().join(".local/state/clawhold/clawhold.db");
    let away = place.path().join("away.db");
    std::fs::rename(&store, &away).unwrap();
    let status = first.wait_ended();
    assert_eq!(status.code(), Some(1), "{status}");
    // Its -wal file stayed where it was: the store is whole again once the file is back.
    std::fs::rename(&away, &store).unwrap();
    let second = Member::start(&place);
    assert_eq!(second.missing(&accepted), BTreeSet::new());
}

/// One server of two.
pub(crate) struct Member {
    child: Child,
    pub(crate) url: String,
}

impl Member {
    fn start(place: &Place) -> Self {
        Self::start_on(place, None)
    }

    /// Starts a server on a store, or on the usual one of the place.
    pub(crate) fn start_on(place: &Place, store: Option<&str>) -> Self {
        let hold = format!("{}ms", HOLD.as_millis());
        let mut command = place.command(CLAWHOLD);
        command.args(["serve", "--listen", "127.0.0.1:0", "--json", "--hold", &hold]);
        // Not on the command line, which everybody sees: it may hold a password.
        command.envs(store.map(|store| ("CLAWHOLD_STORE", store)));
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let started: serde_json::Value = serde_json::from_str(&line).unwrap();
        Self { child, url: started["url"].as_str().unwrap().to_owned() }
    }

    pub(crate) fn client(&self) -> Client {
        Client::connect(&[&self.url], None).unwrap()
    }

    fn wait_ended(&mut self) -> std::process::ExitStatus {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < deadline, "the server goes on");
            thread::sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    pub(crate) fn wait_active(&self) {
        wait_until(|| self.is_active());
    }

    fn is_active(&self) -> bool {
        block_on(self.client().is_active(PATIENCE)).unwrap_or(false)
    }

    /// Returns the accepted jobs that this server does not know.
    pub(crate) fn missing(&self, accepted: &BTreeSet<u64>) -> BTreeSet<u64> {
        let jobs = self.client().jobs(&JobQuery::default()).collect(1_000_000);
        let known: BTreeSet<u64> = block_on(jobs).unwrap().iter().map(|job| job.id).collect();
        accepted.difference(&known).copied().collect()
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        // It may have been killed already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Producers that enqueue until they are stopped, and what they were told.
pub(crate) struct Load {
    accepted: Arc<Mutex<BTreeSet<u64>>>,
    stopped: Arc<AtomicBool>,
    producers: Vec<JoinHandle<()>>,
}

impl Load {
    pub(crate) fn start(members: &[&Member]) -> Self {
        let accepted = Arc::new(Mutex::new(BTreeSet::new()));
        let stopped = Arc::new(AtomicBool::new(false));
        let urls: Vec<String> = members.iter().map(|member| member.url.clone()).collect();
        let producers = (0..PRODUCERS)
            .map(|_| {
                let (accepted, stopped) = (Arc::clone(&accepted), Arc::clone(&stopped));
                let urls = urls.clone();
                thread::spawn(move || block_on(produce(&urls, &accepted, &stopped)))
            })
            .collect();
        Self { accepted, stopped, producers }
    }

    fn count(&self) -> usize {
        self.accepted.lock().unwrap().len()
    }

    pub(crate) fn wait_for(&self, count: usize) {
        wait_until(|| self.count() >= count);
    }

    pub(crate) fn wait_for_more(&self, count: usize) {
        self.wait_for(self.count() + count);
    }

    pub(crate) fn stop(self) -> BTreeSet<u64> {
        self.stopped.store(true, Ordering::Relaxed);
        self.producers.into_iter().for_each(|producer| producer.join().unwrap());
        self.accepted.lock().unwrap().clone()
    }
}

async fn produce(urls: &[String], accepted: &Mutex<BTreeSet<u64>>, stopped: &AtomicBool) {
    let producer = Producer::new(&Client::connect(urls, None).unwrap());
    while !stopped.load(Ordering::Relaxed) {
        let job = producer.enqueue(NewJob::new("mail", Json::null())).await;
        let job = job.unwrap();
        assert!(accepted.lock().unwrap().insert(job.id), "job {} was accepted twice", job.id);
    }
}

/// Waits until both servers have the same state. Time passes in it even at rest, so one of them
/// may be a moment ahead.
pub(crate) fn same_state(one: &Member, other: &Member) {
    wait_until(|| {
        let hashes = [one, other].map(|member| block_on(member.client().hash()).unwrap());
        hashes[0] == hashes[1]
    });
}

fn wait_until(mut is_true: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is_true() {
        assert!(Instant::now() < end, "it did not happen in {PATIENCE:?}");
        thread::sleep(Duration::from_millis(2));
    }
}
