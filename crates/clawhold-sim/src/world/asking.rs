//! The clients' side: what is asked, sent again, answered and believed.

use clawhold_core::State;
use clawhold_core::answer::Refusal;
use clawhold_core::command::Request;
use clawhold_core::units::RequestId;

use super::{BeatReplied, Beaten, Open, Process, Replied, Submitted, Thing, World};
use crate::act::{Ask, Node, Way};
use crate::checker::Received;
use crate::client::Client;
use crate::compose::Moment;
use crate::dice::dice;
use crate::server::Server;

/// Milliseconds after which a request without an answer is sent again.
const PATIENCE_MS: u64 = 400;
/// Milliseconds before a request that was declined is sent to another server.
const DECLINED_MS: u64 = 25;
/// One in so many requests that were declined is not tried again.
const LET_BE: u64 = 3;
/// Milliseconds between two asks of a client that finishes what is left.
const FINISH_MS: u64 = 40;

impl World {
    /// A client asks for something, if it moves.
    pub(super) fn ask(&mut self, client: usize, ask: Ask, salt: u64) {
        let Some(it) = self.clients.get(client) else { return };
        if !it.is_up || self.now_ms < it.frozen_until_ms {
            return;
        }
        let dice = dice(self.script.seed, "ask", &[client as u64, salt]);
        let view = view(&self.servers, self.now_ms, it.server);
        let moment = Moment { now_ms: self.now_ms, view, is_calm: self.is_calm, dice };
        let Some(it) = self.clients.get_mut(client) else { return };
        let process = (client, it.incarnation);
        let command = it.compose(ask, moment);
        self.requests += 1;
        let request = self.requests;
        self.say(|| format!("c{client} asks r{request}: {command:?}"));
        let asked = self.checker.witness.last();
        self.open.insert(request, Open { client: process, command, asked, tries: 0, copies: 0 });
        self.send(request);
    }

    /// A client that has nothing else to do does what is left.
    pub(super) fn finish_up(&mut self, client: Process) {
        let (number, incarnation) = client;
        let it = &self.clients[number];
        if it.incarnation != incarnation {
            return;
        }
        self.later(FINISH_MS, Thing::Finish { client });
        let it = &self.clients[number];
        let waits = self.open.values().any(|open| open.client == client);
        if waits || self.now_ms < it.frozen_until_ms {
            return;
        }
        let mut dice = dice(self.script.seed, "finish", &[number as u64, self.now_ms]);
        let salt = dice.u64(..);
        let view = view(&self.servers, self.now_ms, it.server);
        let ask = it.finish(self.now_ms, view, &mut dice);
        self.ask(number, ask, salt);
    }

    fn send(&mut self, number: u64) {
        let Some(open) = self.open.get_mut(&number) else { return };
        open.tries += 1;
        let (client, tries) = (open.client, open.tries);
        let it = &self.clients[client.0];
        let request = Request {
            id: RequestId::parse(&format!("r{number}")).ok(),
            actor: Some(it.label.clone()),
            command: open.command.clone(),
        };
        let submitted = Submitted { server: it.server, client, number, request };
        self.later(PATIENCE_MS, Thing::Retry { client, request: number, tries });
        let arrivals = self.net.send(self.now_ms, Node::Client(client.0), Way::Out);
        if let Some(open) = self.open.get_mut(&number) {
            open.copies += arrivals.len();
        }
        for ms in arrivals {
            self.later(ms, Thing::Submit(Box::new(submitted.clone())));
        }
    }

    /// A request found no answer in time, or was declined: another server is asked.
    pub(super) fn retry(&mut self, client: Process, request: u64, tries: u64) {
        let Some(thaws_ms) = self.thaws_ms(client) else { return };
        if thaws_ms > 0 {
            return self.later(thaws_ms, Thing::Retry { client, request, tries });
        }
        if self.open.get(&request).is_some_and(|open| open.tries == tries) {
            self.turn_to_next(client.0);
            self.send(request);
        }
    }

    /// A request was declined: certainly nothing happened. Another server is asked, or the client
    /// lets it be; then it must never happen.
    pub(super) fn declined(&mut self, client: Process, request: u64) {
        let Some(thaws_ms) = self.thaws_ms(client) else { return };
        if thaws_ms > 0 {
            return self.later(thaws_ms, Thing::Decline { client, request });
        }
        let Some(open) = self.open.get(&request) else { return };
        let (tries, copies) = (open.tries, open.copies);
        let lets_be = !self.is_calm && request.is_multiple_of(LET_BE);
        if !lets_be || tries > 1 || copies > 1 {
            return self.later(DECLINED_MS, Thing::Retry { client, request, tries });
        }
        self.say(|| format!("c{} lets r{request} be", client.0));
        self.checker.declined(request);
        if let Some(open) = self.open.remove(&request) {
            self.clients[client.0].let_be(&open.command);
            self.turn_to_next(client.0);
        }
    }

    fn turn_to_next(&mut self, client: usize) {
        let servers = self.servers.len();
        let it = &mut self.clients[client];
        it.server = (it.server + 1) % servers;
    }

    /// An answer reaches its client.
    pub(super) fn answer(&mut self, replied: Box<Replied>) {
        let Some(thaws_ms) = self.thaws_ms(replied.client) else { return };
        if thaws_ms > 0 {
            return self.later(thaws_ms, Thing::Answer(replied));
        }
        let Replied { client, request, position, answer, recorded } = *replied;
        let Some(open) = self.open.remove(&request) else { return };
        let Ok(id) = RequestId::parse(&format!("r{request}")) else { return };
        self.totals.answered += 1;
        let asked = open.asked;
        self.checker.answered(&Received { id: &id, position, asked, answer: &answer });
        self.say(|| format!("c{} is told r{request} at {position}: {answer:?}", client.0));
        self.clients[client.0].answered(&open.command, &answer, recorded);
    }

    // Beats.

    pub(super) fn send_beat(&mut self, client: Process) {
        let (number, incarnation) = client;
        if self.clients[number].incarnation != incarnation {
            return;
        }
        let every_ms = (self.script.lease_ttl_ms / 3).min(300);
        self.later(every_ms, Thing::SendBeat { client });
        let it = &self.clients[number];
        if !it.is_up || self.now_ms < it.frozen_until_ms {
            return;
        }
        let server = it.server;
        let view = view(&self.servers, self.now_ms, server);
        let Some(beat) = self.clients[number].beat(view) else { return };
        let sent_ms = self.now_ms;
        let beaten = Beaten { server, client, sent_ms, beat };
        for ms in self.net.send(self.now_ms, Node::Client(number), Way::Out) {
            self.later(ms, Thing::Beat(Box::new(beaten.clone())));
        }
    }

    /// The answer to a beat reaches its client.
    pub(super) fn beat_answer(&mut self, replied: Box<BeatReplied>) {
        let client = replied.client;
        let Some(thaws_ms) = self.thaws_ms(client) else { return };
        if thaws_ms > 0 {
            return self.later(thaws_ms, Thing::BeatAnswer(replied));
        }
        let it = &mut self.clients[client.0];
        match &replied.answer {
            Ok(answer) => {
                it.beat_answered((self.now_ms, replied.sent_ms), answer, &replied.recorded);
            }
            Err(Refusal::NoSession { session }) => {
                if it.session.is_some_and(|key| key.id == *session) {
                    it.forget();
                }
            }
            Err(_) => {}
        }
        self.checker.believes(self.now_ms, &self.clients[client.0]);
    }

    /// Returns in how many milliseconds a client's process moves; `None` when it is gone.
    fn thaws_ms(&self, (client, incarnation): Process) -> Option<u64> {
        let it: &Client = self.clients.get(client)?;
        (it.is_up && it.incarnation == incarnation)
            .then(|| it.frozen_until_ms.saturating_sub(self.now_ms))
    }
}

/// Returns what a server shows at this moment, if it answers.
fn view(servers: &[Option<Server>], now_ms: u64, server: usize) -> Option<&State> {
    let server = servers.get(server)?.as_ref()?;
    (server.frozen_until_ms <= now_ms).then(|| server.replica.state())
}
