//! The processes of a drill: two servers on one store, indexers, workers, and what they say.

use std::ffi::OsString;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clawhold_client::{Client, Patience};
use tokio::sync::mpsc;

use super::process::{self, Lines, Process, Said};
use super::program;
use super::saying::Saying;
use super::timeline::{Event, Timeline};
use super::{HOLD_ON_LOG, QUEUE, ROLE, ROLE_TTL_MS, STREAM, WORKERS};
use crate::failure::Failure;
use crate::hidden;

/// How long anything that a drill waits for may take.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);
/// How often the drill looks whether what it waits for has come.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Everything that runs in a drill.
#[derive(Debug)]
pub(super) struct Cluster {
    scratch: PathBuf,
    /// The URL of the store, if it is not a file in `scratch`.
    store: Option<String>,
    /// A client of both servers.
    pub(super) client: Client,
    /// The servers, the first one active at first.
    pub(super) servers: Vec<Server>,
    /// The indexers that live.
    pub(super) indexers: Vec<Indexer>,
    /// The workers that live.
    pub(super) workers: Vec<Worker>,
    indexers_started: u32,
    sender: Lines,
    lines: mpsc::Receiver<Said>,
    /// What happened.
    pub(super) timeline: Timeline,
    /// Since when a role has no leader that acts, because of a fault.
    pub(super) leaderless: Option<Instant>,
    /// What became of writes under overtaken tokens.
    pub(super) stale_writes: Vec<StaleWrite>,
    /// Lines for people that are not shown yet.
    pub(super) unshown: Vec<String>,
}

/// One server.
#[derive(Debug)]
pub(super) struct Server {
    /// Its URL.
    pub(super) url: String,
    /// A client of this server alone.
    pub(super) client: Client,
    /// Its process.
    pub(super) process: Process,
}

/// One indexer and what it last said of itself.
#[derive(Debug)]
pub(super) struct Indexer {
    /// Its process.
    pub(super) process: Process,
    /// What it is.
    pub(super) part: Part,
}

/// What an indexer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// It starts, or finds out what it is.
    Unknown,
    /// It stands by.
    Standby,
    /// It leads.
    Leader {
        /// Under this token.
        token: u64,
    },
}

/// One worker.
#[derive(Debug)]
pub(super) struct Worker {
    /// Its process.
    pub(super) process: Process,
    /// The file that holds its programs in the middle of their jobs.
    pub(super) hold: PathBuf,
}

/// What became of a write under an overtaken token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StaleWrite {
    /// Who wrote.
    pub(super) who: String,
    /// The overtaken token.
    pub(super) token: u64,
    /// The code of the refusal; none if the write was accepted.
    pub(super) refused: Option<String>,
}

impl Cluster {
    /// Starts two servers on `store`, or on one in `scratch`, and waits until one is active and the
    /// other answers.
    ///
    /// # Errors
    /// When a process cannot be started or does not come up.
    pub(super) async fn start(scratch: &Path, store: Option<&str>) -> Result<Self, Failure> {
        let urls = free_urls()?;
        let (sender, lines) = process::lines();
        let client = connect(&urls)?;
        let mut cluster = Self {
            scratch: scratch.to_owned(),
            store: store.map(str::to_owned),
            client,
            servers: Vec::new(),
            indexers: Vec::new(),
            workers: Vec::new(),
            indexers_started: 0,
            sender,
            lines,
            timeline: Timeline::start(),
            leaderless: None,
            stale_writes: Vec::new(),
            unshown: Vec::new(),
        };
        for (place, url) in urls.iter().enumerate() {
            let process = cluster.start_server(place, url)?;
            let client = connect(std::slice::from_ref(url))?;
            cluster.servers.push(Server { url: url.clone(), client, process });
            cluster.server_is_up(place).await?;
            let what = if place == 0 { "is the active server" } else { "stands by" };
            cluster.happened(Event::new(server_name(place), what));
        }
        Ok(cluster)
    }

    /// Starts the server at `place` again after it was killed.
    ///
    /// # Errors
    /// When it cannot be started or does not come up.
    pub(super) async fn restart_server(&mut self, place: usize) -> Result<(), Failure> {
        let url = self.servers[place].url.clone();
        self.servers[place].process = self.start_server(place, &url)?;
        self.server_is_up(place).await?;
        self.happened(Event::new(server_name(place), "is back and stands by"));
        Ok(())
    }

    fn start_server(&self, place: usize, url: &str) -> Result<Process, Failure> {
        let address = url.trim_start_matches("http://");
        let store_url = self.store.as_ref().map(OsString::from).unwrap_or_else(|| {
            let mut file = OsString::from("sqlite:");
            file.push(self.scratch.join("log.db"));
            file
        });
        let words: Vec<_> = words(&["serve", "--listen", address, "--hold", HOLD_ON_LOG]).collect();
        // Not among the words, which everybody sees: it may hold a password.
        let store = [("CLAWHOLD_STORE", store_url)];
        self.process(&server_name(place), &words, &store, None)
    }

    async fn server_is_up(&mut self, place: usize) -> Result<(), Failure> {
        let since = Instant::now();
        let client = self.servers[place].client.clone();
        while since.elapsed() < PATIENCE {
            // The first server is up once it is active, the second once it answers.
            let up = if place == 0 && self.servers.len() == 1 {
                client.is_active(Duration::from_secs(1)).await.unwrap_or(false)
            } else {
                client.is_live(Duration::from_secs(1)).await
            };
            if up {
                return Ok(());
            }
            if let Some(status) = self.servers[place].process.status() {
                let text = format!("{} ended while it started: {status}", server_name(place));
                return Err(self.failure(&text));
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        Err(self.failure(&format!("{} did not come up in {PATIENCE:?}", server_name(place))))
    }

    /// Starts one more indexer and waits until it knows its part.
    ///
    /// # Errors
    /// When it cannot be started or finds no part.
    pub(super) async fn start_indexer(&mut self) -> Result<(), Failure> {
        self.indexers_started += 1;
        let name = format!("indexer-{}", self.indexers_started);
        let ttl_ms = ROLE_TTL_MS.to_string();
        let words = words(&[hidden::DRILL_INDEXER, &name, ROLE, STREAM, QUEUE, &ttl_ms])
            .chain(self.urls())
            .collect::<Vec<_>>();
        let process = self.process(&name, &words, &[], Some(self.sender.clone()))?;
        self.indexers.push(Indexer { process, part: Part::Unknown });
        let found = |cluster: &Self| {
            let indexer = cluster.indexers.iter().find(|indexer| indexer.process.name == name);
            indexer.filter(|indexer| indexer.part != Part::Unknown).map(|_| ())
        };
        self.until(&format!("{name} to lead or stand by"), found).await
    }

    /// Starts the workers.
    ///
    /// # Errors
    /// When one cannot be started.
    pub(super) fn start_workers(&mut self) -> Result<(), Failure> {
        for number in 1..=WORKERS {
            let name = format!("worker-{number}");
            let hold = self.scratch.join(format!("hold-{name}"));
            let flags = ["work", QUEUE, "--label", &name, "--concurrency", "2", "--prefetch", "2"];
            let times = ["--ttl", "2s", "--drain-deadline", "5s"];
            let program = ["--", "/proc/self/exe", hidden::DRILL_INDEX];
            let words =
                words(&flags).chain(words(&times)).chain(words(&program)).collect::<Vec<_>>();
            let held = [(program::HOLD, hold.clone().into_os_string())];
            let process = self.process(&name, &words, &held, None)?;
            self.workers.push(Worker { process, hold });
        }
        self.happened(Event::new(format!("worker-1 … worker-{WORKERS}"), "start"));
        Ok(())
    }

    fn process(
        &self,
        name: &str,
        words: &[OsString],
        variables: &[(&str, OsString)],
        lines: Option<Lines>,
    ) -> Result<Process, Failure> {
        let urls = self.urls().collect::<Vec<_>>().join(std::ffi::OsStr::new(","));
        let home = self.scratch.join("home").into_os_string();
        let mut all = variables.to_vec();
        // The drill must not meet the settings or the store of the person who runs it.
        all.extend([("XDG_CONFIG_HOME", home.clone()), ("XDG_STATE_HOME", home)]);
        all.push(("NO_COLOR", "1".into()));
        // What a killed process leaves behind goes with the scratch folder.
        all.push(("TMPDIR", self.scratch.clone().into_os_string()));
        if words.first().is_some_and(|word| word == "work") {
            all.push(("CLAWHOLD_SERVER", urls));
        }
        Process::start(name, words, &all, &self.scratch, lines)
            .map_err(|error| Failure::failed(format!("cannot start {name}")).because(&error))
    }

    fn urls(&self) -> impl Iterator<Item = OsString> + use<> {
        self.client.urls().to_vec().into_iter().map(OsString::from)
    }

    /// Returns the place of the indexer that leads, and its token.
    pub(super) fn leader(&self) -> Option<(usize, u64)> {
        let tokens =
            self.indexers.iter().enumerate().filter_map(|(place, indexer)| match indexer.part {
                Part::Leader { token } => Some((place, token)),
                Part::Standby | Part::Unknown => None,
            });
        tokens.max_by_key(|(_, token)| *token)
    }

    /// Waits for what `found` finds, while the processes' lines are taken in.
    ///
    /// # Errors
    /// When it does not come in time.
    pub(super) async fn until<T>(
        &mut self,
        what: &str,
        found: impl Fn(&Self) -> Option<T>,
    ) -> Result<T, Failure> {
        let since = Instant::now();
        while since.elapsed() < PATIENCE {
            self.take_in();
            if let Some(found) = found(self) {
                return Ok(found);
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        Err(self.failure(&format!("waited {PATIENCE:?} for {what}")))
    }

    /// Takes in what the processes have said.
    pub(super) fn take_in(&mut self) {
        while let Ok(said) = self.lines.try_recv() {
            self.note(&said);
        }
    }

    fn note(&mut self, said: &Said) {
        let Some(saying) = said.line.as_deref().and_then(Saying::parse) else { return };
        let indexer = self.indexers.iter_mut().find(|one| one.process.name == said.name);
        let part = match &saying {
            Saying::StandingBy => Some(Part::Standby),
            Saying::Leading { token, .. } => Some(Part::Leader { token: *token }),
            Saying::Lost { .. } => Some(Part::Unknown),
            Saying::StaleWrite { .. } => None,
        };
        if let (Some(indexer), Some(part)) = (indexer, part) {
            indexer.part = part;
        }
        let name = said.name.clone();
        let event = match saying {
            Saying::StandingBy => Event::new(name, "stands by"),
            Saying::Leading { token, position } => {
                let event = Event::new(name, "leads").lease(token, position);
                match self.leaderless.take() {
                    Some(since) => event.took(said.at.saturating_duration_since(since)),
                    None => event,
                }
            }
            Saying::Lost { token } => {
                let mut event = Event::new(name, "learns that it leads no more");
                event.token = Some(token);
                event
            }
            Saying::StaleWrite { token, refused } => {
                let what = refused.as_ref().map_or_else(
                    || "writes under its old token: ACCEPTED".to_owned(),
                    |code| format!("writes under its old token: refused, {code}"),
                );
                let mut event = Event::new(name.clone(), what);
                event.token = Some(token);
                self.stale_writes.push(StaleWrite { who: name, token, refused });
                event
            }
        };
        let line = self.timeline.add_at(said.at, event).line();
        self.unshown.push(line);
    }

    /// Puts an event of this moment on the timeline.
    pub(super) fn happened(&mut self, event: Event) {
        let line = self.timeline.add(event).line();
        self.unshown.push(line);
    }

    /// Returns a failure with the last that each process complained about.
    pub(super) fn failure(&self, text: &str) -> Failure {
        let failure = Failure::failed(text);
        let Ok(entries) = std::fs::read_dir(&self.scratch) else { return failure };
        let mut logs: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        logs.retain(|path| path.extension().is_some_and(|extension| extension == "log"));
        logs.sort();
        let tails = logs.iter().filter_map(|path| {
            let text = std::fs::read_to_string(path).ok()?;
            let last = text.lines().last()?.to_owned();
            Some(format!("{}: {last}", path.file_stem()?.to_string_lossy()))
        });
        tails.fold(failure, |failure, tail| failure.because(&std::io::Error::other(tail)))
    }
}

/// Returns what the server at `place` is called.
pub(super) fn server_name(place: usize) -> String {
    format!("server-{}", place + 1)
}

fn words(words: &[&str]) -> impl Iterator<Item = OsString> + use<> {
    words.iter().map(OsString::from).collect::<Vec<_>>().into_iter()
}

/// Returns two URLs on loopback whose ports are free at this moment.
fn free_urls() -> Result<Vec<String>, Failure> {
    let failure =
        |error: std::io::Error| Failure::failed("cannot find a free port").because(&error);
    let mut listeners = Vec::new();
    for _ in 0..2 {
        listeners.push(TcpListener::bind("127.0.0.1:0").map_err(failure)?);
    }
    let url = |listener: &TcpListener| listener.local_addr().map(|at| format!("http://{at}"));
    listeners.iter().map(url).collect::<Result<_, _>>().map_err(failure)
}

fn connect(urls: &[String]) -> Result<Client, Failure> {
    let patience = Patience { total: PATIENCE, ..Patience::default() };
    Client::connect_with(urls, None, patience)
        .map_err(|error| Failure::failed("cannot set up a client").because(&error))
}
