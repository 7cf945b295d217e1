//! What breaks: processes, ways, clocks, disks; and how it all heals.

use clawhold_core::replica::Mode;
use clawhold_log::{Fault, Log};

use super::{LogEnd, Thing, World};
use crate::act::{Deed, Node, Way};
use crate::dice::dice;
use crate::net::Trick;
use crate::rule::Rule;
use crate::server::{self, Clock, Server};

impl World {
    /// Lets one thing break.
    pub(super) fn break_something(&mut self, deed: &Deed) {
        self.say(|| format!("-- {deed}"));
        match *deed {
            Deed::Ask { .. } => {}
            Deed::Lose { node, way } => self.trick(node, way, Trick::Lose),
            Deed::Late { node, way, ms } => self.trick(node, way, Trick::Late(ms)),
            Deed::Twice { node, way, ms } => self.trick(node, way, Trick::Twice(ms)),
            Deed::Cut { node, way, ms } => self.shut(node, way, ms, false),
            Deed::Hold { node, way, ms } => self.shut(node, way, ms, true),
            Deed::Freeze { node, ms } => self.freeze(node, ms),
            Deed::Crash { node, ms } => self.crash(node, ms),
            Deed::Power { kept_bytes, ms } => self.cut_power(kept_bytes, ms),
            Deed::Clock { server, ms } => self.jump(server, ms),
            Deed::Slow { server, ms } => self.slow(server, ms),
            Deed::Full { server } => self.inject(server, Fault::Full),
            Deed::Busy { server } => self.inject(server, Fault::Busy),
            Deed::Snapshot { server } => self.snapshot(server),
            Deed::Rot => {
                self.store.damage_snapshot(0);
            }
        }
    }

    fn trick(&mut self, node: Node, way: Way, trick: Trick) {
        self.totals.messages_broken += 1;
        self.net.trick(node, way, trick);
    }

    fn shut(&mut self, node: Node, way: Way, ms: u64, holds: bool) {
        self.totals.partitions += 1;
        self.net.shut(node, way, self.now_ms + ms, holds);
    }

    fn freeze(&mut self, node: Node, ms: u64) {
        let until_ms = self.now_ms + ms;
        let frozen = match node {
            Node::Client(client) => self.clients.get_mut(client).map(|it| &mut it.frozen_until_ms),
            Node::Server(server) => {
                let it = self.servers.get_mut(server).and_then(Option::as_mut);
                it.map(|it| &mut it.frozen_until_ms)
            }
        };
        if let Some(frozen) = frozen {
            *frozen = until_ms.max(*frozen);
            self.totals.pauses += 1;
        }
    }

    fn crash(&mut self, node: Node, ms: u64) {
        match node {
            Node::Client(client) => {
                let Some(it) = self.clients.get_mut(client).filter(|it| it.is_up) else { return };
                it.crash();
                self.open.retain(|_, open| open.client.0 != client);
                self.later(ms, Thing::Rise { client });
            }
            Node::Server(server) => {
                if self.servers.get(server).is_none_or(Option::is_none) {
                    return;
                }
                self.kill(server);
                self.later(ms, Thing::Start { server });
            }
        }
        self.totals.kills += 1;
    }

    /// Ends a server's process. What it has sent is still on its way.
    pub(super) fn kill(&mut self, server: usize) {
        let Some(it) = self.servers[server].take() else { return };
        if let Some(end) = self.log_ends.get_mut(&it.process) {
            end.log.release_presence();
        }
        self.waiters.retain(|(process, _), _| *process != it.process);
    }

    /// Every server and the log lose their power. What was not durable may be lost.
    fn cut_power(&mut self, kept_bytes: usize, ms: u64) {
        self.totals.power_cuts += 1;
        for server in 0..self.servers.len() {
            if self.servers[server].is_some() {
                self.totals.kills += 1;
                self.kill(server);
                self.later(ms + server as u64, Thing::Start { server });
            }
        }
        // Orders that had not reached the log died with the host.
        self.things.retain(|_, thing| !matches!(thing, Thing::AtLog { .. } | Thing::Synced { .. }));
        if self.store.cut_power(kept_bytes).is_some() {
            self.read_log();
        }
        if self.script.rule == Some(Rule::LoseAcknowledged) {
            self.store.lose_last();
        }
    }

    fn jump(&mut self, server: usize, ms: i64) {
        let Some(skew_ms) = self.skews_ms.get_mut(server) else { return };
        *skew_ms += ms;
        self.totals.clock_jumps += 1;
        if let Some(it) = self.servers[server].as_mut() {
            it.clock.skew_ms = *skew_ms;
        }
    }

    fn slow(&mut self, server: usize, ms: u64) {
        let Some(it) = self.servers.get(server).and_then(Option::as_ref) else { return };
        if let Some(end) = self.log_ends.get_mut(&it.process) {
            self.store.inject(end.log.writer(), Fault::Unsynced);
            end.slow_ms.insert(0, ms);
        }
    }

    fn inject(&mut self, server: usize, fault: Fault) {
        let Some(it) = self.servers.get(server).and_then(Option::as_ref) else { return };
        if let Some(end) = self.log_ends.get_mut(&it.process) {
            self.store.inject(end.log.writer(), fault);
        }
    }

    fn snapshot(&mut self, server: usize) {
        let Some(it) = self.servers.get(server).and_then(Option::as_ref) else { return };
        let Some(end) = self.log_ends.get_mut(&it.process) else { return };
        let is_active = it.replica.mode() == Mode::Active;
        if is_active && server::snapshot(&it.replica, &mut end.log).is_ok() {
            self.totals.snapshots += 1;
        }
    }

    /// Starts a server, from the newest snapshot that is intact.
    pub(super) fn start(&mut self, server: usize) {
        if self.servers[server].is_some() {
            return;
        }
        self.processes += 1;
        let process = self.processes;
        let nonce = dice(self.script.seed, "nonce", &[process]).u64(..);
        let config = server::config(self.script.hold_ms, nonce);
        let clock = Clock { host: server as u64, skew_ms: self.skews_ms[server] };
        match Server::start(&self.store, (config, clock, process), self.now_ms) {
            Ok((it, log)) => {
                self.servers[server] = Some(it);
                self.log_ends.insert(process, LogEnd { log, slow_ms: Vec::new() });
                self.later(1, Thing::Turn { server, process });
            }
            Err(reason) => self.broke(format!("s{server} cannot start: {reason}")),
        }
    }

    /// A client's process comes up again, with nothing in its memory.
    pub(super) fn rise(&mut self, client: usize) {
        let it = &mut self.clients[client];
        it.is_up = true;
        let process = (client, it.incarnation);
        self.later(20, Thing::SendBeat { client: process });
        if self.is_calm {
            self.later(20, Thing::Finish { client: process });
        }
    }

    /// Everything heals, and the clients finish what is left. Clocks stay as they are.
    pub(super) fn heal(&mut self) {
        self.say(|| "-- everything heals".to_owned());
        self.is_calm = true;
        self.net.heal();
        for server in 0..self.servers.len() {
            if let Some(it) = self.servers[server].as_mut() {
                it.frozen_until_ms = it.frozen_until_ms.min(self.now_ms);
            }
            self.start(server);
        }
        for client in 0..self.clients.len() {
            let it = &mut self.clients[client];
            it.frozen_until_ms = it.frozen_until_ms.min(self.now_ms);
            let process = (client, it.incarnation);
            if it.is_up {
                self.later(10, Thing::Finish { client: process });
            }
        }
        self.later(super::LOOK_MS, Thing::Look);
    }
}
