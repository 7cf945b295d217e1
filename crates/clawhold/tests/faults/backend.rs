//! What keeps the log of a fleet: a file, a PostgreSQL server, or NATS servers. Each server of the
//! fleet dials them through relays of its own, so that it can be cut off from its store alone.

#[path = "../it/nats_server.rs"]
#[expect(dead_code, reason = "these tests use a part of it")]
mod nats_server;
#[path = "../../../clawhold-log/tests/it/postgres_server.rs"]
#[expect(dead_code, reason = "these tests use a part of it")]
mod postgres_server;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use self::nats_server::Nats;
use self::postgres_server::Server;
use crate::process::tree;
use crate::relay::{Law, Relay};

/// Servers in a fleet.
const SERVERS: usize = 2;
/// The schema of the log.
const SCHEMA: &str = "faults";

/// The engine that keeps the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Engine {
    /// A file on this machine.
    #[default]
    Sqlite,
    /// A PostgreSQL server.
    Postgres,
    /// So many NATS servers.
    JetStream(usize),
}

/// What keeps the log, as it runs.
#[derive(Debug)]
pub(crate) struct Backend {
    kind: Kind,
    /// For each server of the fleet a relay to each part of the store.
    relays: Vec<Vec<Relay>>,
    frozen: Vec<Pid>,
    /// The parts that were killed.
    dead: BTreeSet<usize>,
}

#[derive(Debug)]
enum Kind {
    File(PathBuf),
    Postgres { server: Server, folder: TempDir },
    Nats(Nats),
}

impl Backend {
    /// Starts what the engine needs. A file lies in `folder`.
    pub(crate) async fn start(engine: Engine, folder: &Path) -> Self {
        let kind = match engine {
            Engine::Sqlite => Kind::File(folder.join("log.db")),
            Engine::Postgres => {
                let folder = TempDir::new().unwrap();
                Kind::Postgres { server: Server::start(folder.path(), ""), folder }
            }
            Engine::JetStream(count) => Kind::Nats(Nats::start(count, "sync_interval: always")),
        };
        let mut backend =
            Self { kind, relays: Vec::new(), frozen: Vec::new(), dead: BTreeSet::new() };
        for _ in 0..SERVERS {
            let mut relays = Vec::new();
            for port in backend.ports() {
                relays.push(Relay::start(([127, 0, 0, 1], port).into()).await);
            }
            backend.relays.push(relays);
        }
        backend
    }

    /// Returns the store's URL for one server of the fleet.
    pub(crate) fn url(&self, server: usize) -> String {
        let ports: Vec<u16> = self.relays[server].iter().map(Relay::port).collect();
        match &self.kind {
            Kind::File(path) => format!("sqlite:{}", path.display()),
            Kind::Postgres { .. } => postgres_server::url(ports[0], SCHEMA),
            Kind::Nats(_) => Nats::url_of(&ports),
        }
    }

    /// Returns the relays between one server of the fleet and the store.
    pub(crate) fn relays(&self, server: usize) -> &[Relay] {
        &self.relays[server]
    }

    /// Kills one part of the store with -9. A file has none.
    pub(crate) fn kill(&mut self, part: usize) {
        if !self.dead.insert(part) {
            return;
        }
        match &mut self.kind {
            Kind::File(_) => {}
            Kind::Postgres { server, .. } => server.kill(),
            Kind::Nats(nats) => nats.kill(part),
        }
    }

    /// Starts it again if it is dead.
    pub(crate) fn restart(&mut self, part: usize) {
        if !self.dead.remove(&part) {
            return;
        }
        match &mut self.kind {
            Kind::File(_) => {}
            Kind::Postgres { server, .. } => server.restart(),
            Kind::Nats(nats) => nats.run(part),
        }
    }

    /// Stops every process of the store where it is.
    pub(crate) fn freeze(&mut self) {
        let roots: Vec<Pid> = match &self.kind {
            Kind::File(_) => Vec::new(),
            Kind::Postgres { folder, .. } => {
                let lock = fs::read_to_string(folder.path().join("data/postmaster.pid")).unwrap();
                let id = lock.lines().next().unwrap().parse().unwrap();
                Pid::from_raw(id).into_iter().collect()
            }
            Kind::Nats(nats) => {
                let ids = nats.ids().into_iter();
                ids.filter_map(|id| Pid::from_raw(id.try_into().unwrap())).collect()
            }
        };
        self.frozen = roots.into_iter().flat_map(tree).collect();
        for pid in &self.frozen {
            // One that has ended meanwhile stands as still.
            let _ = kill_process(*pid, Signal::STOP);
        }
    }

    /// Lets what is frozen go on.
    pub(crate) fn thaw(&mut self) {
        for pid in self.frozen.drain(..) {
            let _ = kill_process(pid, Signal::CONT);
        }
    }

    /// Lets the store go on, whatever was done to it.
    pub(crate) fn heal(&mut self) {
        self.thaw();
        for part in self.dead.clone() {
            self.restart(part);
        }
        self.relays.iter().flatten().for_each(|relay| relay.set(Law::OPEN));
    }

    fn ports(&self) -> Vec<u16> {
        match &self.kind {
            Kind::File(_) => Vec::new(),
            Kind::Postgres { server, .. } => [server.port()].into(),
            Kind::Nats(nats) => nats.ports().to_vec(),
        }
    }
}

impl Drop for Backend {
    fn drop(&mut self) {
        self.thaw();
    }
}
