//! One fault: whom it strikes, how it begins and how it ends.

use std::time::Duration;

use rustix::process::Pid;

use crate::fleet::Fleet;
use crate::process::Process;
use crate::relay::{Law, Relay, Way};

/// How long a process that is asked to end may take.
const END_PATIENCE: Duration = Duration::from_secs(15);

/// Whom a fault strikes, found when it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// The server that appends to the log.
    ActiveServer,
    /// The server that follows it.
    StandbyServer,
    /// The one that holds the role.
    Leader,
    /// The one that stands in line.
    StandbyLeader,
    /// One of the workers.
    Worker(usize),
}

impl Target {
    /// Every target.
    pub(crate) const ALL: [Self; 6] = [
        Self::ActiveServer,
        Self::StandbyServer,
        Self::Leader,
        Self::StandbyLeader,
        Self::Worker(0),
        Self::Worker(1),
    ];
    /// Those that dial servers.
    pub(crate) const MEMBERS: [Self; 4] =
        [Self::Leader, Self::StandbyLeader, Self::Worker(0), Self::Worker(1)];
}

/// What happens to a process or to the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It dies without a word, and is started again at the end.
    Kill(Target),
    /// It is asked to end, and is started again at the end.
    Terminate(Target),
    /// It stands still; with everything that it started, or alone.
    Freeze {
        /// Who.
        target: Target,
        /// Whether what it started stands still with it.
        all: bool,
    },
    /// What it sends to the servers, or a server to its store, or what comes back, does not arrive.
    Hole {
        /// Who.
        target: Target,
        /// What becomes of the bytes.
        law: Law,
    },
    /// The answers to so many writes of the producers are dropped.
    DropAnswers(u64),
    /// The disk of the store is full.
    FullDisk,
    /// This part of the store dies without a word, and is started again at the end.
    KillStore(usize),
    /// Every process of the store stands still.
    FreezeStore,
    /// Each sync takes so many milliseconds longer.
    SlowStore(i64),
    /// Its wall clock is moved by so many milliseconds.
    MoveWall {
        /// Who.
        target: Target,
        /// How far.
        ms: i64,
    },
}

/// A process of a fleet by its place in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Server(usize),
    Leader(usize),
    Worker(usize),
}

/// A fault that has begun.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Begun {
    fault: Fault,
    place: Option<Place>,
    /// The process as it was struck.
    pid: Option<Pid>,
}

impl Fault {
    /// Carries the fault out.
    pub(crate) async fn begin(self, fleet: &mut Fleet) -> Begun {
        let place = match self {
            Self::Kill(target)
            | Self::Terminate(target)
            | Self::Freeze { target, .. }
            | Self::Hole { target, .. }
            | Self::MoveWall { target, .. } => Some(find(target, fleet).await),
            Self::DropAnswers(_)
            | Self::FullDisk
            | Self::KillStore(_)
            | Self::FreezeStore
            | Self::SlowStore(_) => None,
        };
        let mut begun = Begun { fault: self, place, pid: None };
        begun.pid = place.and_then(|_| begun.process(fleet).pid());
        match self {
            Self::Kill(_) => begun.process(fleet).kill(),
            Self::Terminate(_) => begun.process(fleet).terminate(),
            Self::Freeze { all: true, .. } => begun.process(fleet).freeze_all(),
            Self::Freeze { all: false, .. } => begun.process(fleet).freeze(),
            Self::Hole { law, .. } => begun.relays(fleet).iter().for_each(|relay| relay.set(law)),
            Self::DropAnswers(count) => {
                let producers = fleet.callers.iter().skip(1);
                producers.flat_map(|one| &one.relays).for_each(|relay| relay.drop_answers(count));
            }
            Self::FullDisk => match &fleet.disk {
                Some(disk) => disk.fill(),
                None => for_servers(fleet, |process| process.control.fill_disk(true)),
            },
            Self::KillStore(part) => fleet.backend.kill(part),
            Self::FreezeStore => fleet.backend.freeze(),
            Self::SlowStore(ms) => for_servers(fleet, |process| process.control.slow_syncs(ms)),
            Self::MoveWall { ms, .. } => begun.process(fleet).control.move_wall(ms),
        }
        begun
    }
}

impl Begun {
    /// Tells whether the fault can be taken back: whoever was asked to end has ended.
    pub(crate) fn is_ready(self, fleet: &mut Fleet) -> bool {
        let is_asked = matches!(self.fault, Fault::Terminate(_));
        !is_asked || self.pid != self.process(fleet).pid() || !self.process(fleet).is_running()
    }

    /// Takes the fault back.
    pub(crate) fn end(self, fleet: &mut Fleet) {
        match self.fault {
            Fault::Kill(_) => self.start_again(fleet),
            Fault::Terminate(_) => {
                let pid = self.pid;
                let process = self.process(fleet);
                process.thaw();
                // A supervisor may have been faster.
                let ended = pid != process.pid() || process.ended(END_PATIENCE).is_some();
                let name = process.name().to_owned();
                assert!(ended, "{}", fleet.story(&format!("{name} does not end")));
                self.start_again(fleet);
            }
            Fault::Freeze { .. } => self.process(fleet).thaw(),
            Fault::Hole { .. } => {
                self.relays(fleet).iter().for_each(|relay| relay.set(Law::OPEN));
            }
            Fault::DropAnswers(_) => {
                let relays = fleet.callers.iter().flat_map(|one| &one.relays);
                relays.for_each(|relay| relay.drop_answers(0));
            }
            Fault::FullDisk => match &fleet.disk {
                Some(disk) => disk.free(),
                None => for_servers(fleet, |process| process.control.fill_disk(false)),
            },
            Fault::KillStore(part) => fleet.backend.restart(part),
            Fault::FreezeStore => fleet.backend.thaw(),
            Fault::SlowStore(_) => for_servers(fleet, |process| process.control.slow_syncs(0)),
            Fault::MoveWall { .. } => self.process(fleet).control.move_wall(0),
        }
    }

    fn start_again(self, fleet: &mut Fleet) {
        let process = self.process(fleet);
        if !process.is_running() {
            process.restart();
        }
    }

    /// Returns the process that is struck.
    pub(crate) fn process(self, fleet: &mut Fleet) -> &mut Process {
        match self.place.unwrap() {
            Place::Server(at) => &mut fleet.servers[at].process,
            Place::Leader(at) => &mut fleet.leaders[at].process,
            Place::Worker(at) => &mut fleet.workers[at].process,
        }
    }

    fn relays(self, fleet: &Fleet) -> &[Relay] {
        match self.place.unwrap() {
            Place::Server(at) => fleet.backend.relays(at),
            Place::Leader(at) => &fleet.leaders[at].relays,
            Place::Worker(at) => &fleet.workers[at].relays,
        }
    }
}

/// Finds whom a fault strikes. Where nobody is the one that is meant, the first one is.
async fn find(target: Target, fleet: &Fleet) -> Place {
    match target {
        Target::ActiveServer => Place::Server(fleet.active().await.unwrap_or(0)),
        Target::StandbyServer => Place::Server(1 - fleet.active().await.unwrap_or(1)),
        Target::Leader => Place::Leader(fleet.leading().await.unwrap_or(0)),
        Target::StandbyLeader => Place::Leader(1 - fleet.leading().await.unwrap_or(1)),
        Target::Worker(at) => Place::Worker(at),
    }
}

fn for_servers(fleet: &Fleet, each: impl Fn(&Process)) {
    fleet.servers.iter().for_each(|server| each(&server.process));
}

/// Laws of a hole: one direction each, late or lost.
pub(crate) const HOLES: [Law; 6] = [
    Law { up: Way::Lost, down: Way::Open },
    Law { up: Way::Open, down: Way::Lost },
    Law { up: Way::Held, down: Way::Open },
    Law { up: Way::Open, down: Way::Held },
    Law { up: Way::Lost, down: Way::Lost },
    Law { up: Way::Slow(150), down: Way::Slow(150) },
];
