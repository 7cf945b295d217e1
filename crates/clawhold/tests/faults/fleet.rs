//! A fleet: two servers on one store, two that lead or stand by, two workers, and callers.
//!
//! Whoever dials a server does so through relays of its own, so that each can be cut off alone.

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clawhold_client::api::queue::SetQueue;
use clawhold_client::api::stream::Append;
use clawhold_client::api::{Json, role::Role};
use clawhold_client::{Client, Patience};
use tempfile::TempDir;
use tokio::sync::{Mutex, MutexGuard};
use tokio::time::{Instant, sleep};

use crate::backend::{Backend, Engine};
use crate::ledger::{self, Caller, Ledger, QUEUE, STREAM};
use crate::process::{CLAWHOLD, Process, Recipe};
use crate::relay::{Law, Relay};
use crate::shim::Shim;
use crate::sink::{Book, Sink};
use crate::store::Disk;
use crate::tally::Tally;

/// The role of every fleet.
pub(crate) const ROLE: &str = "indexer";
/// Milliseconds of the role's lease and of a worker's session.
pub(crate) const TTL_MS: u64 = 1_500;
/// Milliseconds after which a standby server takes over from a silent one.
pub(crate) const HOLD_MS: u64 = 800;
/// Milliseconds for which ended jobs are kept: the most that a queue can be told, ten years.
pub(crate) const RETAIN_MS: u64 = 10 * 365 * 86_400_000;
/// How long anything may take before it counts as stuck.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
/// How often the fleet is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Held by the one fleet of this process that runs: what is measured is time.
static ALONE: Mutex<()> = Mutex::const_new(());

/// How a fleet is set up.
#[derive(Debug)]
pub(crate) struct Setting {
    /// What its choices are drawn from.
    pub(crate) seed: u64,
    /// Milliseconds of the servers' hold on the log.
    pub(crate) hold_ms: u64,
    /// Milliseconds of the role's lease and of a worker's session.
    pub(crate) ttl_ms: u64,
    /// Mebibytes of a disk of its own for the store, where that is permitted.
    pub(crate) disk_mebibytes: Option<u64>,
    /// What keeps the log.
    pub(crate) engine: Engine,
}

impl Default for Setting {
    fn default() -> Self {
        Self {
            seed: 1,
            hold_ms: HOLD_MS,
            ttl_ms: TTL_MS,
            disk_mebibytes: None,
            engine: Engine::Sqlite,
        }
    }
}

/// Everything that runs.
#[derive(Debug)]
pub(crate) struct Fleet {
    /// The servers. Dropped before the disk that holds their store.
    pub(crate) servers: Vec<Server>,
    /// What keeps their log.
    pub(crate) backend: Backend,
    /// Those that lead or stand by.
    pub(crate) leaders: Vec<Member>,
    /// The workers.
    pub(crate) workers: Vec<Member>,
    /// The producers and the announcer.
    pub(crate) callers: Vec<Caller>,
    /// A client of both servers that no fault touches.
    pub(crate) client: Client,
    /// Where the servers listen.
    pub(crate) addresses: Vec<SocketAddr>,
    /// What callers were told.
    pub(crate) ledger: Arc<Ledger>,
    /// How often a process had to be started again.
    pub(crate) restarts: u64,
    /// The disk of the store, if it has one of its own.
    pub(crate) disk: Option<Disk>,
    sink: Sink,
    tally: PathBuf,
    folder: Option<TempDir>,
    _alone: MutexGuard<'static, ()>,
}

/// One server.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) process: Process,
    /// A client of this server alone.
    pub(crate) client: Client,
}

/// A process that dials the servers.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) process: Process,
    pub(crate) relays: Vec<Relay>,
}

impl Fleet {
    /// Starts a fleet and waits until the role is held and acted upon.
    pub(crate) async fn start(setting: &Setting) -> Self {
        let alone = ALONE.lock().await;
        let folder = tempfile::Builder::new().prefix("faults-").tempdir().unwrap();
        let shim = Shim::compile(folder.path());
        let disk = setting
            .disk_mebibytes
            .and_then(|mebibytes| Disk::mount(&folder.path().join("disk"), mebibytes));
        fs::create_dir_all(folder.path().join("disk")).unwrap();
        let addresses = free_addresses();
        let backend = Backend::start(setting.engine, &folder.path().join("disk")).await;
        let places = (folder.path(), addresses.as_slice());
        let servers = start_servers(setting, places, &shim, disk.as_ref(), &backend);
        let client = client(&addresses, PATIENCE);
        let sink = Sink::start().await;
        let tally = folder.path().join("tally");
        let mut fleet = Self {
            servers,
            backend,
            leaders: Vec::new(),
            workers: Vec::new(),
            callers: Vec::new(),
            client,
            addresses: addresses.clone(),
            ledger: Arc::default(),
            restarts: 0,
            disk,
            sink,
            tally,
            folder: Some(folder),
            _alone: alone,
        };
        fleet.prepare().await;
        fleet.start_members(setting, &shim, &addresses).await;
        fleet.start_callers(setting, &addresses).await;
        fleet.wait_for_acts(3, PATIENCE).await;
        fleet
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.as_ref().unwrap().path()
    }

    /// Makes the stream, so that whoever leads finds one, and lets the queue keep what has ended
    /// for as long as it can: a clock that is moved must not take the jobs from the checks.
    async fn prepare(&mut self) {
        for server in &mut self.servers {
            let end = Instant::now() + PATIENCE;
            while !server.client.is_live(Duration::from_secs(1)).await {
                assert!(Instant::now() < end, "{} does not start", server.process.name());
                if !server.process.is_running() {
                    // Its store was not ready yet, and a supervisor tries again.
                    server.process.restart();
                }
                sleep(LOOK_EVERY).await;
            }
        }
        let events = [Json::of("the first event").unwrap()].into();
        self.client.append(STREAM, &Append { events, expected: Some(1) }).await.unwrap();
        let keep = SetQueue { retain_ms: Some(RETAIN_MS), ..SetQueue::default() };
        self.client.set_queue(QUEUE, &keep).await.unwrap();
    }

    async fn start_members(&mut self, setting: &Setting, shim: &Shim, addresses: &[SocketAddr]) {
        let folder = self.folder().to_owned();
        let ttl = format!("{}ms", setting.ttl_ms);
        let leader = script(&folder, "leader.sh", include_str!("leader.sh"));
        let handler = script(&folder, "handler.sh", include_str!("handler.sh"));
        for number in 1..=4 {
            let relays = relays(addresses).await;
            let urls: Vec<&str> = relays.iter().map(|relay| relay.url.as_str()).collect();
            let leads = number <= 2;
            let name = if leads { format!("leader-{number}") } else { format!("worker-{number}") };
            let line = if leads {
                format!("lead {ROLE} --standby --stream {STREAM} --grace 1s --ttl {ttl}")
            } else {
                format!("work work --concurrency 3 --drain-deadline 5s --ttl {ttl}")
            };
            let program = if leads { &leader } else { &handler };
            let mut words = vec![CLAWHOLD.to_owned()];
            words.extend(line.split(' ').map(str::to_owned));
            let more = ["--label", &name, "--server", &urls.join(","), "--", program];
            words.extend(more.map(str::to_owned));
            let variables = vec![
                ("FAULTS_CLAWHOLD", CLAWHOLD.to_owned()),
                ("FAULTS_SINK", self.sink.port.to_string()),
                ("FAULTS_TALLY", self.tally.to_str().unwrap().to_owned()),
            ];
            let control = shim.control(&name);
            let recipe = Recipe { name, words, variables, folder: folder.clone() };
            let member = Member { process: Process::start(recipe, control), relays };
            if leads { self.leaders.push(member) } else { self.workers.push(member) }
        }
    }

    async fn start_callers(&mut self, setting: &Setting, addresses: &[SocketAddr]) {
        ledger::begin(&self.ledger);
        self.callers.push(Caller::announcer(relays(addresses).await, &self.ledger));
        for number in 1..=3 {
            let (seed, relays) = (setting.seed ^ number, relays(addresses).await);
            self.callers.push(Caller::producer(number, seed, relays, &self.ledger));
        }
    }

    /// Returns the place of the active server, if one says that it is.
    pub(crate) async fn active(&self) -> Option<usize> {
        for (place, server) in self.servers.iter().enumerate() {
            let asked = server.client.is_active(Duration::from_millis(300)).await;
            if asked.unwrap_or(false) {
                return Some(place);
            }
        }
        None
    }

    /// Returns the role as the record has it.
    pub(crate) async fn role(&self) -> Role {
        self.client.role(ROLE).await.unwrap()
    }

    /// Returns the place of the one that leads by the record.
    pub(crate) async fn leading(&self) -> Option<usize> {
        let role = self.client.within(Duration::from_millis(500)).role(ROLE).await.ok()?;
        let label = role.holder?.label;
        self.leaders.iter().position(|leader| leader.process.name() == label)
    }

    /// Returns the place of the active server, waiting for one.
    pub(crate) async fn the_active(&mut self) -> usize {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(place) = self.active().await {
                return place;
            }
            assert!(Instant::now() < end, "{}", self.story("no server became active"));
            sleep(LOOK_EVERY).await;
        }
    }

    /// Returns the place of the one that leads, waiting for one.
    pub(crate) async fn the_leader(&mut self) -> usize {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(place) = self.leading().await {
                return place;
            }
            assert!(Instant::now() < end, "{}", self.story("nobody leads"));
            self.tend();
            sleep(LOOK_EVERY).await;
        }
    }

    /// Waits until the sink has taken so many more writes under its highest token, and returns how
    /// long that took.
    pub(crate) async fn wait_for_acts(&mut self, count: usize, patience: Duration) -> Duration {
        let since = Instant::now();
        let mut from = self.sink.progress();
        loop {
            let now = self.sink.progress();
            if now.0 != from.0 {
                from = (now.0, 0);
            }
            if now.1 >= from.1 + count {
                return since.elapsed();
            }
            let text = format!("no {count} writes under one token in {patience:?}");
            assert!(since.elapsed() < patience, "{}", self.story(&text));
            self.tend();
            sleep(LOOK_EVERY).await;
        }
    }

    /// Waits until the sink has taken a write under this token or a higher one.
    pub(crate) async fn wait_for_token(&mut self, token: u64, patience: Duration) {
        let since = Instant::now();
        loop {
            let (highest, writes) = self.sink.progress();
            if token <= highest && writes > 0 {
                return;
            }
            let text = format!("no write under token {token} or later in {patience:?}");
            assert!(since.elapsed() < patience, "{}", self.story(&text));
            self.tend();
            sleep(LOOK_EVERY).await;
        }
    }

    /// Waits until callers got so many more answers, and returns how long that took.
    pub(crate) async fn wait_for_answers(&mut self, count: u64, patience: Duration) -> Duration {
        let (since, from) = (Instant::now(), self.ledger.acknowledged());
        while self.ledger.acknowledged() < from + count {
            let text = format!("no {count} answers in {patience:?}");
            assert!(since.elapsed() < patience, "{}", self.story(&text));
            self.tend();
            sleep(LOOK_EVERY).await;
        }
        since.elapsed()
    }

    /// Lets time pass, while whoever ends is started again.
    pub(crate) async fn go_on(&mut self, time: Duration) {
        let end = Instant::now() + time;
        while Instant::now() < end {
            self.tend();
            sleep(LOOK_EVERY).await;
        }
    }

    /// Starts the members again that have ended, as a supervisor would: a leader's program ends
    /// when it cannot tell whether it acted.
    pub(crate) fn tend(&mut self) {
        for member in self.leaders.iter_mut().chain(&mut self.workers) {
            if !member.process.is_running() {
                member.process.restart();
                self.restarts += 1;
            }
        }
    }

    /// Takes every fault back and starts whatever does not run.
    pub(crate) fn heal(&mut self) {
        for member in self.leaders.iter_mut().chain(&mut self.workers) {
            member.relays.iter().for_each(|relay| relay.set(Law::OPEN));
        }
        for caller in &self.callers {
            caller.relays.iter().for_each(|relay| relay.set(Law::OPEN));
        }
        self.backend.heal();
        for process in self.processes() {
            process.control.heal();
            process.thaw();
            if !process.is_running() {
                process.restart();
            }
        }
    }

    /// Returns every process.
    pub(crate) fn processes(&mut self) -> impl Iterator<Item = &mut Process> {
        let servers = self.servers.iter_mut().map(|server| &mut server.process);
        let members = self.leaders.iter_mut().chain(&mut self.workers);
        servers.chain(members.map(|member| &mut member.process))
    }

    /// Returns what the sink knows.
    pub(crate) fn book(&self) -> Book {
        self.sink.book()
    }

    /// Returns what the handlers wrote.
    pub(crate) fn tally(&self) -> Tally {
        Tally::read(&self.tally)
    }

    /// Returns `text` with the last words of every process.
    pub(crate) fn story(&self, text: &str) -> String {
        let mut story = format!("{text}\n(in {})", self.folder().display());
        let mut logs: Vec<PathBuf> =
            fs::read_dir(self.folder()).unwrap().flatten().map(|entry| entry.path()).collect();
        logs.retain(|path| path.extension().is_some_and(|extension| extension == "log"));
        logs.sort();
        for path in logs {
            let said = fs::read_to_string(&path).unwrap_or_default();
            let lines: Vec<&str> = said.lines().collect();
            let last = lines[lines.len().saturating_sub(8)..].join("\n    ");
            let name = path.file_stem().unwrap_or_default().display().to_string();
            story.push_str(&format!("\n{name}:\n    {last}"));
        }
        story
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        // What was said is kept for whoever looks for the reason.
        if std::thread::panicking()
            && let Some(folder) = self.folder.take()
        {
            let _ = folder.keep();
        }
    }
}

fn start_servers(
    setting: &Setting,
    (folder, addresses): (&Path, &[SocketAddr]),
    shim: &Shim,
    disk: Option<&Disk>,
    backend: &Backend,
) -> Vec<Server> {
    let hold = format!("{}ms", setting.hold_ms);
    let start = |(place, address): (usize, &SocketAddr)| {
        let name = format!("server-{}", place + 1);
        let mut words = disk.map(Disk::words).unwrap_or_default();
        let (listen, store) = (address.to_string(), backend.url(place));
        let own = [CLAWHOLD, "serve", "--listen", &listen, "--hold", &hold, "--store", &store];
        words.extend(own.map(str::to_owned));
        let control = shim.control(&name);
        let recipe = Recipe { name, words, variables: Vec::new(), folder: folder.to_owned() };
        let client = client(&[*address], Duration::from_secs(10));
        Server { process: Process::start(recipe, control), client }
    };
    addresses.iter().enumerate().map(start).collect()
}

/// Returns two addresses on loopback whose ports are free at this moment.
fn free_addresses() -> Vec<SocketAddr> {
    let listeners: Vec<TcpListener> =
        (0..2).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    listeners.iter().map(|listener| listener.local_addr().unwrap()).collect()
}

fn client(addresses: &[SocketAddr], total: Duration) -> Client {
    let urls: Vec<String> = addresses.iter().map(|address| format!("http://{address}")).collect();
    Client::connect_with(&urls, None, Patience { total, ..Patience::default() }).unwrap()
}

async fn relays(addresses: &[SocketAddr]) -> Vec<Relay> {
    let mut relays = Vec::new();
    for address in addresses {
        relays.push(Relay::start(*address).await);
    }
    relays
}

/// Writes a program that the shell runs, and returns its path.
fn script(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.to_str().unwrap().to_owned()
}
