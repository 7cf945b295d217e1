//! One world: servers, clients and a log, the messages between them and what breaks.
//!
//! Time is the world's own; things happen in the order of their moments. After the last act of
//! the script everything is healed, and the clients finish what is left.

mod asking;
mod breaking;
mod misbehaving;
mod serving;
mod storing;

use std::collections::BTreeMap;

use clawhold_core::answer::{Answer, Refusal};
use clawhold_core::beat::{Beat, BeatAnswer};
use clawhold_core::command::{Command, Request};
use clawhold_core::job::Filter;
use clawhold_core::replica::Mode;
use clawhold_core::units::{EventNumber, Name, Position};
use clawhold_log::{MemoryLog, MemoryStore};
use sha2::{Digest, Sha256};

use crate::act::Deed;
use crate::checker::{Checker, Counts};
use crate::client::{Client, ROLES, name};
use crate::net::Net;
use crate::script::Script;
use crate::server::{Answered, Order, Server};
use crate::totals::Totals;

/// Milliseconds after the last act in which everything must come to its end.
const CALM_MS_MAX: u64 = 90_000;
/// Milliseconds between two looks whether everything has come to its end.
const LOOK_MS: u64 = 250;
/// Things that happen in one world at most.
const THINGS_MAX: u64 = 20_000_000;

/// What came of a world.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) digest: String,
    pub(crate) broken: Vec<String>,
    pub(crate) totals: Totals,
    /// What happened, in words, if it was asked for.
    pub(crate) story: Vec<String>,
}

/// Something that happens at a moment.
#[derive(Debug)]
enum Thing {
    Act(usize),
    /// A server's turn: tick, follow the log.
    Turn {
        server: usize,
        process: u64,
    },
    /// An order reaches the log.
    AtLog {
        from: Caller,
        order: Order,
    },
    /// The log makes a slow write durable.
    Synced {
        from: Caller,
        answered: Answered,
    },
    /// The log's answer reaches its server.
    FromLog {
        from: Caller,
        answered: Answered,
    },
    LogTimeout {
        from: Caller,
    },
    Start {
        server: usize,
    },
    Rise {
        client: usize,
    },
    Submit(Box<Submitted>),
    Beat(Box<Beaten>),
    Answer(Box<Replied>),
    Decline {
        client: Process,
        request: u64,
    },
    BeatAnswer(Box<BeatReplied>),
    Retry {
        client: Process,
        request: u64,
        tries: u64,
    },
    SendBeat {
        client: Process,
    },
    Finish {
        client: Process,
    },
    Heal,
    Look,
}

/// A client's process: which one, and its how manieth start.
type Process = (usize, u64);

/// Who called the log: a server, its process and the number of the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Caller {
    server: usize,
    process: u64,
    call: u64,
}

/// A request on its way to a server.
#[derive(Clone, Debug)]
struct Submitted {
    server: usize,
    client: Process,
    number: u64,
    request: Request,
}

/// A beat on its way to a server.
#[derive(Clone, Debug)]
struct Beaten {
    server: usize,
    client: Process,
    sent_ms: u64,
    beat: Beat,
}

/// An answer on its way to its client.
#[derive(Clone, Debug)]
struct Replied {
    client: Process,
    request: u64,
    position: Position,
    answer: Result<Answer, Refusal>,
    /// With a grant, the position recorded for the role.
    recorded: Option<EventNumber>,
}

/// The answer to a beat on its way.
#[derive(Clone, Debug)]
struct BeatReplied {
    client: Process,
    sent_ms: u64,
    answer: Result<BeatAnswer, Refusal>,
    /// With each grant, the position recorded for the role.
    recorded: Vec<(Name, EventNumber)>,
}

/// A request that is not answered.
#[derive(Clone, Debug)]
struct Open {
    client: Process,
    command: Command,
    /// The log's end when it was first sent.
    asked: Position,
    tries: u64,
    /// Messages that carry it, and are or were on their way.
    copies: usize,
}

#[derive(Debug)]
enum Waiter {
    Request { client: Process, number: u64 },
    Beat(Box<Beaten>),
}

/// The log's side of one server process.
#[derive(Debug)]
struct LogEnd {
    log: MemoryLog,
    /// How long its next writes take to become durable.
    slow_ms: Vec<u64>,
}

/// A world.
#[derive(Debug)]
pub(crate) struct World {
    script: Script,
    now_ms: u64,
    order: u64,
    things: BTreeMap<(u64, u64), Thing>,
    net: Net,
    store: MemoryStore,
    log_ends: BTreeMap<u64, LogEnd>,
    servers: Vec<Option<Server>>,
    /// How far each server's wall clock is off; it outlives the process.
    skews_ms: Vec<i64>,
    processes: u64,
    calls: u64,
    clients: Vec<Client>,
    open: BTreeMap<u64, Open>,
    waiters: BTreeMap<(u64, u64), Waiter>,
    requests: u64,
    is_calm: bool,
    is_over: bool,
    totals: Totals,
    checker: Checker,
    digest: Sha256,
    story: Option<Vec<String>>,
}

impl World {
    pub(crate) fn new(script: Script) -> Self {
        let store = MemoryStore::new();
        let clients = (0..script.clients).map(|number| Client::new(number, &script)).collect();
        let checker = Checker::new(&store, script.rule);
        let mut world = Self {
            now_ms: 0,
            order: 0,
            things: BTreeMap::new(),
            net: Net::new(script.seed),
            store,
            log_ends: BTreeMap::new(),
            servers: (0..script.servers).map(|_| None).collect(),
            skews_ms: vec![0; script.servers],
            processes: 0,
            calls: 0,
            clients,
            open: BTreeMap::new(),
            waiters: BTreeMap::new(),
            requests: 0,
            is_calm: false,
            is_over: false,
            totals: Totals::default(),
            checker,
            digest: Sha256::new(),
            story: None,
            script,
        };
        world.begin();
        world
    }

    /// Keeps what happens in words.
    pub(crate) fn with_story(mut self) -> Self {
        self.story = Some(Vec::new());
        self
    }

    fn begin(&mut self) {
        for server in 0..self.servers.len() {
            self.start(server);
        }
        for client in 0..self.clients.len() {
            self.later(20, Thing::SendBeat { client: (client, 0) });
        }
        for act in 0..self.script.acts.len() {
            let at_ms = self.script.acts[act].at_ms;
            self.later(at_ms, Thing::Act(act));
        }
        let last_ms = self.script.acts.last().map_or(0, |act| act.at_ms);
        self.later(last_ms + 50, Thing::Heal);
    }

    /// Lets the world run to its end and checks it.
    pub(crate) fn run(mut self) -> Outcome {
        for _ in 0..THINGS_MAX {
            let Some(((at_ms, _), thing)) = self.things.pop_first() else { break };
            self.now_ms = at_ms;
            self.happen(thing);
            if self.is_over || !self.checker.broken.is_empty() {
                break;
            }
        }
        self.finish()
    }

    fn happen(&mut self, thing: Thing) {
        match thing {
            Thing::Act(act) => self.act(act),
            Thing::Turn { server, process } => self.turn(server, process),
            Thing::AtLog { from, order } => self.at_log(from, &order),
            Thing::Synced { from, answered } => self.synced(from, &answered),
            Thing::FromLog { from, answered } => self.take_from_log(from, answered),
            Thing::LogTimeout { from } => self.log_timeout(from),
            Thing::Start { server } => self.start(server),
            Thing::Rise { client } => self.rise(client),
            Thing::Submit(submitted) => self.submit(submitted),
            Thing::Beat(beaten) => self.take_beat(beaten, false),
            Thing::Answer(replied) => self.answer(replied),
            Thing::Decline { client, request } => self.declined(client, request),
            Thing::BeatAnswer(replied) => self.beat_answer(replied),
            Thing::Retry { client, request, tries } => self.retry(client, request, tries),
            Thing::SendBeat { client } => self.send_beat(client),
            Thing::Finish { client } => self.finish_up(client),
            Thing::Heal => self.heal(),
            Thing::Look => self.look(),
        }
    }

    fn act(&mut self, act: usize) {
        let deed = self.script.acts[act].deed.clone();
        if let Deed::Ask { client, ask, salt } = deed {
            self.ask(client, ask, salt);
        } else {
            self.break_something(&deed);
        }
    }

    fn later(&mut self, after_ms: u64, thing: Thing) {
        self.order += 1;
        self.things.insert((self.now_ms + after_ms, self.order), thing);
    }

    /// Adds a line to the story, if one is kept.
    fn say(&mut self, line: impl FnOnce() -> String) {
        let now_ms = self.now_ms;
        if let Some(story) = &mut self.story {
            story.push(format!("{now_ms:>6} {}", line()));
        }
    }

    fn broke(&mut self, broken: String) {
        self.checker.tell(broken);
    }

    /// Reads what has become durable.
    fn read_log(&mut self) {
        let landed = self.checker.read_log(self.now_ms, &self.clients);
        for one in landed {
            self.digest.update(format!("{} {:?}", one.position, one.applied.answer));
            self.say(|| {
                let id = one.request.id.as_ref().map_or("", |id| id.as_str());
                let answer = match &one.applied.answer {
                    Ok(answer) => format!("{answer:?}"),
                    Err(refusal) => format!("refused: {refusal}"),
                };
                format!("log {} {id} {:?} -> {answer}", one.position, one.request.command)
            });
        }
    }

    /// Looks whether everything has come to its end.
    fn look(&mut self) {
        let left = self.left();
        if left.is_empty() {
            self.is_over = true;
            return;
        }
        let healed_ms = self.script.acts.last().map_or(0, |act| act.at_ms);
        if self.now_ms < healed_ms + CALM_MS_MAX {
            return self.later(LOOK_MS, Thing::Look);
        }
        left.into_iter().for_each(|left| self.broke(left));
        self.is_over = true;
    }

    /// Returns what has not come to its end.
    fn left(&self) -> Vec<String> {
        let mut left = Vec::new();
        if !self.open.is_empty() {
            left.push(format!("{} requests were never answered", self.open.len()));
        }
        let state = &self.checker.witness.state;
        if state.jobs().live() > 0 {
            let any = Filter { queue: None, state: None };
            let jobs = state.jobs().list(any, None, usize::MAX);
            let live = jobs.into_iter().find(|job| !job.state.is_ended());
            let one = live.map(|job| format!("{} is {}", job.id, job.state)).unwrap_or_default();
            left.push(format!("{} jobs never ended, {one}", state.jobs().live()));
        }
        for role in ROLES.map(name) {
            let held = state.roles().get(&role).and_then(|role| role.held.as_ref());
            let leads = held.is_some_and(|lease| {
                let believes =
                    |client: &Client| client.leads_under(&role, self.now_ms) == Some(lease.token);
                self.clients.iter().any(believes)
            });
            if !leads {
                left.push(format!("{role} is led by nobody: {held:?}"));
            }
        }
        let active =
            self.servers.iter().flatten().filter(|it| it.replica.mode() == Mode::Active).count();
        if active != 1 {
            left.push(format!("{active} servers are active"));
        }
        left.extend(self.behind());
        left
    }

    fn behind(&self) -> Option<String> {
        let servers = self.servers.iter();
        let positions = servers.map(|it| it.as_ref().map(|it| it.replica.state().last().position));
        let last = self.checker.witness.last();
        let positions: Vec<_> = positions.collect();
        let level = positions.iter().all(|position| *position == Some(last));
        (!level).then(|| format!("the servers are at {positions:?}, the log at {last}"))
    }

    fn finish(mut self) -> Outcome {
        let hash = self.checker.witness.state.hash();
        if self.is_over {
            for server in self.servers.iter().flatten() {
                let state = server.replica.state();
                let level = state.last().position == self.checker.witness.last();
                if level && state.hash() != hash {
                    self.checker.tell("the states differ at the end".to_owned());
                }
            }
            self.checker.ended();
        } else if self.checker.broken.is_empty() {
            self.broke("the world never came to its end".to_owned());
        }
        self.count();
        self.digest.update(format!("{hash} {} {:?}", self.now_ms, self.totals));
        let digest = self.digest.finalize();
        Outcome {
            digest: digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect(),
            broken: self.checker.broken,
            totals: self.totals,
            story: self.story.unwrap_or_default(),
        }
    }

    fn count(&mut self) {
        let Checker { roles, jobs, streams, witness, counts, .. } = &self.checker;
        let Counts { takeovers, hashes, stale_refused, replayed, .. } = *counts;
        let healed_ms = self.script.acts.last().map_or(0, |act| act.at_ms);
        self.totals = Totals {
            takeovers,
            hashes,
            stale_refused,
            replayed,
            grants: roles.grants,
            lapses: roles.lapses,
            jobs: jobs.accepted,
            claims: jobs.claimed,
            returned: jobs.returned,
            completed: jobs.completed,
            events: streams.committed,
            void: witness.void,
            forgotten: witness.forgotten,
            calm_ms: self.now_ms.saturating_sub(healed_ms),
            ..self.totals
        };
    }
}
