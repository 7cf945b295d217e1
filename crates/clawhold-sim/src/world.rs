//! One seeded world: servers, clients, the messages between them and the faults.

use std::collections::BTreeMap;

use clawhold_core::Applied;
use clawhold_core::answer::{Answer, Refusal};
use clawhold_core::beat::{Beat, BeatAnswer};
use clawhold_core::command::{Command, Request};
use clawhold_core::replica::{Action, Call, Event, Mode, NoBeat};
use clawhold_core::units::{Position, RequestId};
use clawhold_log::{Fault, Log, MemoryStore};
use fastrand::Rng;
use sha2::{Digest, Sha256};

use crate::checker::Checker;
use crate::client::{Client, name};
use crate::server::{HOLD_MS, Order, Server};

const SERVERS: usize = 3;
const CLIENTS: usize = 4;
/// Milliseconds after which a request without an answer is sent again.
const PATIENCE_MS: u64 = 400;
/// Milliseconds between two beats of a client.
const BEAT_MS: u64 = 300;
/// Milliseconds a world may take.
const LIFE_MS_MAX: u64 = 10_000_000;

/// What came of a world.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) digest: String,
    pub(crate) broken: Vec<String>,
    pub(crate) answered: u64,
    pub(crate) takeovers: u64,
    pub(crate) lapses: u64,
}

/// Something that happens at a moment.
#[derive(Debug)]
enum Thing {
    Server(usize),
    Submit { server: usize, client: usize, request: u64 },
    Beat { server: usize, client: usize, sent_ms: u64, beat: Box<Beat>, again: bool },
    Answer { client: usize, request: u64, position: Position, answer: Result<Answer, Refusal> },
    BeatAnswer { client: usize, sent_ms: u64, answer: Result<Box<BeatAnswer>, Refusal> },
    Client(usize),
    Retry { client: usize, request: u64 },
    SendBeat(usize),
    Fault,
}

#[derive(Debug)]
enum Waiter {
    Request { client: usize, request: u64 },
    Beat { client: usize, sent_ms: u64, beat: Box<Beat> },
}

/// A world.
#[derive(Debug)]
pub(crate) struct World {
    rng: Rng,
    now_ms: u64,
    order: u64,
    things: BTreeMap<(u64, u64), Thing>,
    store: MemoryStore,
    servers: Vec<Option<Server>>,
    clients: Vec<Client>,
    open: BTreeMap<u64, Command>,
    waiters: BTreeMap<(usize, u64), Waiter>,
    requests: u64,
    commands_left: u64,
    answered: u64,
    faults: bool,
    checker: Checker,
}

impl World {
    pub(crate) fn new(seed: u64, commands: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        let store = MemoryStore::new();
        let servers = (0..SERVERS)
            .map(|_| {
                let (nonce, skew_ms) = (rng.u64(..), rng.i64(-60_000..60_000));
                Some(Server::start(&store, nonce, 0, skew_ms))
            })
            .collect();
        let clients =
            (0..CLIENTS).map(|i| Client::new(name(&format!("c{i}")), rng.u64(..))).collect();
        let mut world = Self {
            rng,
            now_ms: 0,
            order: 0,
            things: BTreeMap::new(),
            store,
            servers,
            clients,
            open: BTreeMap::new(),
            waiters: BTreeMap::new(),
            requests: 0,
            commands_left: commands,
            answered: 0,
            faults: true,
            checker: Checker::default(),
        };
        (0..SERVERS).for_each(|server| world.later(1, Thing::Server(server)));
        (0..CLIENTS).for_each(|client| {
            world.later(10, Thing::Client(client));
            world.later(20, Thing::SendBeat(client));
        });
        world.later(500, Thing::Fault);
        world
    }

    /// Lets the world run until its clients have sent everything, then heals it and checks.
    pub(crate) fn run(mut self) -> Outcome {
        while self.now_ms < LIFE_MS_MAX && (self.commands_left > 0 || !self.open.is_empty()) {
            self.next();
        }
        self.faults = false;
        let end_ms = self.now_ms + 3 * HOLD_MS + 60_000;
        for server in 0..SERVERS {
            if self.servers[server].is_none() {
                self.restart(server);
            }
        }
        while self.now_ms < end_ms {
            self.next();
        }
        self.finish()
    }

    fn finish(mut self) -> Outcome {
        let states: Vec<_> = self.servers.iter().flatten().map(|s| s.replica.state()).collect();
        let last =
            states.iter().map(|state| state.last()).max_by_key(|last| (last.position, last.served));
        let level: Vec<_> = states.iter().filter(|state| Some(state.last()) == last).collect();
        let hashes: Vec<String> = level.iter().map(|state| state.hash()).collect();
        if hashes.windows(2).any(|pair| pair[0] != pair[1]) {
            self.checker.broken.push(format!("states differ at {last:?}: {hashes:?}"));
        }
        if let Some(state) = level.first() {
            self.checker.ended(state);
        }
        if !self.open.is_empty() {
            self.checker.broken.push(format!("{} requests were never answered", self.open.len()));
        }
        let told = format!("{hashes:?} {} {}", self.answered, self.now_ms);
        let digest = Sha256::digest(told.as_bytes());
        Outcome {
            digest: digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect(),
            broken: self.checker.broken,
            answered: self.answered,
            takeovers: self.checker.takeovers,
            lapses: self.checker.lapses,
        }
    }

    fn later(&mut self, after_ms: u64, thing: Thing) {
        self.order += 1;
        self.things.insert((self.now_ms + after_ms, self.order), thing);
    }

    fn next(&mut self) {
        let Some(((at_ms, _), thing)) = self.things.pop_first() else {
            self.now_ms = LIFE_MS_MAX;
            return;
        };
        self.now_ms = at_ms;
        match thing {
            Thing::Server(server) => self.turn(server),
            Thing::Submit { server, client, request } => self.submit(server, client, request),
            Thing::Beat { server, client, sent_ms, beat, again } => {
                self.beat(server, client, sent_ms, beat, again);
            }
            Thing::Answer { client, request, position, answer } => {
                self.answer(client, request, position, &answer);
            }
            Thing::BeatAnswer { client, sent_ms, answer } => match answer {
                Ok(answer) => {
                    self.clients[client].beat_answered(sent_ms, &answer);
                    self.checker.believes(self.now_ms, &self.clients[client]);
                }
                Err(_) => self.clients[client].forget(),
            },
            Thing::Client(client) => self.act(client),
            Thing::Retry { client, request } => self.send(client, request),
            Thing::SendBeat(client) => self.send_beat(client),
            Thing::Fault => self.fault(),
        }
    }

    fn travel_ms(&mut self) -> u64 {
        if self.faults && self.rng.u8(0..20) == 0 {
            self.rng.u64(0..600)
        } else {
            self.rng.u64(0..5)
        }
    }

    fn is_lost(&mut self) -> bool {
        self.faults && self.rng.u8(0..30) == 0
    }

    // Servers.

    /// One turn of a server: carry out what is due, follow the log, tick.
    fn turn(&mut self, server: usize) {
        let pause_ms = self.rng.u64(1..10);
        self.later(pause_ms, Thing::Server(server));
        let now_ms = self.now_ms;
        let Some(it) = &mut self.servers[server] else { return };
        if now_ms < it.frozen_until_ms {
            return;
        }
        let mut events = Vec::new();
        while it.orders.front().is_some_and(|order| order.at_ms <= now_ms) {
            let Some(order) = it.orders.pop_front() else { break };
            events.extend(it.carry_out(order.action));
        }
        if events.is_empty() && it.orders.is_empty() {
            events.extend(it.claim_presence());
            events.extend(it.follow());
        }
        events.push(Event::Tick);
        for event in events {
            self.step(server, event);
        }
    }

    fn step(&mut self, server: usize, event: Event) {
        let Some(it) = &mut self.servers[server] else { return };
        let now = it.now(self.now_ms);
        let was = it.replica.mode();
        let actions = it.replica.step(now, event).expect("every record of this world is readable");
        let lag_ms = if self.faults && self.rng.u8(0..40) == 0 {
            self.rng.u64(0..1_500)
        } else {
            self.rng.u64(0..4)
        };
        for action in actions {
            if let Action::Decline { call, .. } = action {
                self.waiters.remove(&(server, call.0));
                continue;
            }
            it.orders.push_back(Order { at_ms: self.now_ms + lag_ms, action });
        }
        self.apply(server);
        let Some(it) = &mut self.servers[server] else { return };
        if was == Mode::Active && it.replica.mode() == Mode::Standby {
            it.release_presence();
        }
        if self.rng.u16(0..2_000) == 0 && it.replica.mode() == Mode::Active && it.orders.is_empty()
        {
            it.snapshot();
        }
    }

    fn apply(&mut self, server: usize) {
        let mut answers: Vec<(u64, Applied, Position)> = Vec::new();
        let Some(it) = &mut self.servers[server] else { return };
        while let Some((call, applied)) = it.replica.apply_next() {
            let state = it.replica.state();
            self.checker.applied(self.now_ms, state, &applied, &self.clients);
            if let Some(call) = call {
                answers.push((call.0, applied, state.last().position));
            }
        }
        for (call, applied, position) in answers {
            match self.waiters.remove(&(server, call)) {
                Some(Waiter::Request { .. }) if self.is_lost() => {}
                Some(Waiter::Request { client, request }) => {
                    let ms = self.travel_ms();
                    let answer = applied.answer;
                    self.later(ms, Thing::Answer { client, request, position, answer });
                }
                Some(Waiter::Beat { client, sent_ms, beat }) => {
                    self.later(0, Thing::Beat { server, client, sent_ms, beat, again: true });
                }
                None => {}
            }
        }
    }

    fn restart(&mut self, server: usize) {
        let (nonce, skew_ms) = (self.rng.u64(..), self.rng.i64(-60_000..60_000));
        self.servers[server] = Some(Server::start(&self.store, nonce, self.now_ms, skew_ms));
    }

    // Requests.

    fn act(&mut self, client: usize) {
        let pause_ms = self.rng.u64(5..60);
        self.later(pause_ms, Thing::Client(client));
        if self.commands_left == 0 {
            return;
        }
        self.commands_left -= 1;
        self.requests += 1;
        let request = self.requests;
        let command = self.clients[client].next_command(self.now_ms);
        self.open.insert(request, command);
        self.send(client, request);
    }

    fn send(&mut self, client: usize, request: u64) {
        if !self.open.contains_key(&request) {
            return;
        }
        self.later(PATIENCE_MS, Thing::Retry { client, request });
        let server = self.aim(client);
        if !self.is_lost() {
            let ms = self.travel_ms();
            self.later(ms, Thing::Submit { server, client, request });
        }
    }

    /// Returns the server that a client tries: mostly the one that leads.
    fn aim(&mut self, client: usize) -> usize {
        let active = self.servers.iter().position(|server| {
            server.as_ref().is_some_and(|server| server.replica.mode() == Mode::Active)
        });
        let server =
            if self.rng.u8(0..5) == 0 { self.rng.usize(0..SERVERS) } else { active.unwrap_or(0) };
        self.clients[client].server = server;
        server
    }

    fn submit(&mut self, server: usize, client: usize, request: u64) {
        let Some(it) = &self.servers[server] else { return };
        if self.now_ms < it.frozen_until_ms {
            let wait_ms = it.frozen_until_ms - self.now_ms;
            return self.later(wait_ms, Thing::Submit { server, client, request });
        }
        let Some(command) = self.open.get(&request).cloned() else { return };
        self.order += 1;
        let call = Call(self.order);
        self.waiters.insert((server, call.0), Waiter::Request { client, request });
        let id = RequestId::parse(&format!("r{request}")).ok();
        let actor = Some(self.clients[client].label.clone());
        self.step(server, Event::Submit { call, request: Request { id, actor, command } });
    }

    fn answer(
        &mut self,
        client: usize,
        request: u64,
        position: Position,
        answer: &Result<Answer, Refusal>,
    ) {
        let Some(command) = self.open.remove(&request) else { return };
        self.answered += 1;
        self.checker.answered(request, &command, answer);
        self.clients[client].answered(&command, answer, position);
    }

    // Beats.

    fn send_beat(&mut self, client: usize) {
        self.later(BEAT_MS, Thing::SendBeat(client));
        let Some(beat) = self.clients[client].beat() else { return };
        let server = self.aim(client);
        if !self.is_lost() {
            let (ms, sent_ms) = (self.travel_ms(), self.now_ms);
            let beat = Box::new(beat);
            self.later(ms, Thing::Beat { server, client, sent_ms, beat, again: false });
        }
    }

    fn beat(&mut self, server: usize, client: usize, sent_ms: u64, beat: Box<Beat>, again: bool) {
        let Some(it) = &mut self.servers[server] else { return };
        if self.now_ms < it.frozen_until_ms {
            let wait_ms = it.frozen_until_ms - self.now_ms;
            return self.later(wait_ms, Thing::Beat { server, client, sent_ms, beat, again });
        }
        let now = it.now(self.now_ms);
        let answer = match it.replica.beat(now, &beat) {
            Ok(answer) => Ok(Box::new(answer)),
            Err(NoBeat::Refused(refusal)) => Err(refusal),
            Err(NoBeat::NotActive) => return,
            Err(NoBeat::RecordFirst(_)) if again => return,
            Err(NoBeat::RecordFirst(request)) => {
                self.order += 1;
                let call = Call(self.order);
                self.waiters.insert((server, call.0), Waiter::Beat { client, sent_ms, beat });
                return self.step(server, Event::Submit { call, request: *request });
            }
        };
        if !self.is_lost() {
            let ms = self.travel_ms();
            self.later(ms, Thing::BeatAnswer { client, sent_ms, answer });
        }
    }

    // Faults.

    fn fault(&mut self) {
        let pause_ms = self.rng.u64(200..1_500);
        self.later(pause_ms, Thing::Fault);
        if !self.faults {
            return;
        }
        let server = self.rng.usize(0..SERVERS);
        self.store.deliver_late();
        let kind = self.rng.u8(0..10);
        let Some(it) = &mut self.servers[server] else { return self.restart(server) };
        match kind {
            0..2 => self.servers[server] = None,
            2..4 => it.frozen_until_ms = self.now_ms + self.rng.u64(100..3_000),
            4 => self.store.inject(it.log.writer(), Fault::UnknownLanded),
            5 => self.store.inject(it.log.writer(), Fault::UnknownAbsent),
            6 => self.store.inject(it.log.writer(), Fault::UnknownLate),
            7 => self.store.inject(it.log.writer(), Fault::Full),
            8 => self.store.inject(it.log.writer(), Fault::Busy),
            _ => self.crash_everything(),
        }
    }

    fn crash_everything(&mut self) {
        if self.rng.u8(0..3) == 0 {
            self.servers.iter_mut().for_each(|server| *server = None);
        }
    }
}
