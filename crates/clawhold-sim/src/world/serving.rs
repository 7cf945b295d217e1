//! The servers' side: turns, requests and beats.

use clawhold_core::answer::{Answer, Refusal};
use clawhold_core::command::Command;
use clawhold_core::replica::{Action, Call, Event, Mode, NoBeat, Presence};
use clawhold_core::units::{EventNumber, Name, Position, RequestId};
use clawhold_core::{Applied, State};
use clawhold_log::Log;

use super::{BeatReplied, Beaten, Replied, Submitted, Thing, Waiter, World};
use crate::act::{Node, Way};
use crate::client::name;
use crate::rule::Rule;
use crate::server::Order;

/// Milliseconds between two turns of a server at most.
const TURN_MS: u64 = 6;

impl World {
    /// One turn of a server: ask for the presence lock, follow the log, let time pass.
    pub(super) fn turn(&mut self, server: usize, process: u64) {
        let Some(it) = self.running(server, process) else { return };
        let thaws_ms = it.frozen_until_ms.saturating_sub(self.now_ms);
        if thaws_ms > 0 {
            return self.later(thaws_ms, Thing::Turn { server, process });
        }
        self.claim_presence(server);
        self.break_as_server(server);
        self.step(server, Event::Tick);
        let Some(it) = self.running(server, process) else { return };
        let ms = it.replica.next_tick_ms().clamp(1, TURN_MS);
        self.later(ms, Thing::Turn { server, process });
    }

    fn claim_presence(&mut self, server: usize) {
        let Some(it) = self.servers[server].as_mut() else { return };
        let waits = it.call.is_some() || !it.orders.is_empty();
        if waits || matches!(it.presence, Some(Presence::Ours | Presence::Unsupported)) {
            return;
        }
        let Some(end) = self.log_ends.get_mut(&it.process) else { return };
        let presence = if self.script.rule == Some(Rule::SkipHold) {
            Presence::Ours
        } else if self.script.presence {
            match end.log.claim_presence() {
                clawhold_log::Presence::Held => Presence::Ours,
                clawhold_log::Presence::HeldByOther => Presence::Others,
                clawhold_log::Presence::Unsupported => Presence::Unsupported,
            }
        } else {
            Presence::Unsupported
        };
        if it.presence.replace(presence) != Some(presence) {
            self.step(server, Event::Presence(presence));
        }
    }

    /// Lets a server take one event in, and does what follows.
    pub(super) fn step(&mut self, server: usize, event: Event) {
        self.step_once(server, event);
        let Some(it) = self.servers[server].as_ref() else { return };
        // What was applied may have made room for the next batch.
        if it.replica.mode() == Mode::Active && it.replica.waiting_count() > 0 {
            self.step_once(server, Event::Tick);
        }
        self.pump(server);
    }

    fn step_once(&mut self, server: usize, event: Event) {
        let Some(it) = self.servers[server].as_mut() else { return };
        let was = it.replica.mode();
        let actions = match it.replica.step(it.clock.now(self.now_ms), event) {
            Ok(actions) => actions,
            Err(error) => return self.broke(format!("s{server} cannot go on: {error}")),
        };
        let process = it.process;
        for action in actions {
            if let Action::Decline { call, .. } = action {
                self.decline(process, call);
            } else if action == Action::LeavePresence {
                self.leave_presence(server, process);
            } else if let Some(order) = Order::from_action(action) {
                self.order(server, order);
            }
        }
        self.apply(server);
        let Some(it) = self.servers[server].as_mut() else { return };
        let is = it.replica.mode();
        if was == Mode::Active && is == Mode::Standby {
            self.leave_presence(server, process);
        }
        if was != is {
            self.say(|| format!("s{server} was {was:?} and is {is:?}"));
        }
    }

    fn leave_presence(&mut self, server: usize, process: u64) {
        if let Some(it) = self.servers[server].as_mut() {
            it.presence = None;
        }
        if let Some(end) = self.log_ends.get_mut(&process) {
            end.log.release_presence();
        }
    }

    fn order(&mut self, server: usize, order: Order) {
        let Some(it) = self.servers[server].as_mut() else { return };
        let never = self.script.rule == Some(Rule::NeverTakeOver);
        if never && matches!(order, Order::TakeOver { epoch, .. } if epoch.0 > 1) {
            return;
        }
        it.orders.push_back(order);
    }

    /// Applies what is durable and answers who waits for it.
    fn apply(&mut self, server: usize) {
        let mut answers: Vec<(u64, Applied, Position)> = Vec::new();
        let Some(it) = self.servers[server].as_mut() else { return };
        let process = it.process;
        while let Some((call, applied)) = it.replica.apply_next() {
            let state = it.replica.state();
            let position = state.last().position;
            let told = self.checker.witness.at(position);
            // A broken rule of the state is broken on every server alike.
            let applied = match (self.script.rule, told) {
                (Some(rule), Some(told)) if rule.is_of_the_state() => {
                    Applied { answer: told.answer.clone(), ..applied }
                }
                _ => applied,
            };
            self.checker.applied(server, state, &applied);
            if let Some(call) = call {
                answers.push((call.0, applied, position));
            }
        }
        for (call, applied, position) in answers {
            match self.waiters.remove(&(process, call)) {
                Some(Waiter::Request { client, number }) => {
                    let recorded = self.recorded_with(server, &applied.answer, number);
                    let answer = applied.answer;
                    self.reply(Replied { client, request: number, position, answer, recorded });
                }
                Some(Waiter::Beat(beaten)) => self.take_beat(beaten, true),
                None => {}
            }
        }
    }

    /// Returns the position that comes with a grant.
    fn recorded_with(
        &self,
        server: usize,
        answer: &Result<Answer, Refusal>,
        number: u64,
    ) -> Option<EventNumber> {
        let state = self.servers[server].as_ref()?.replica.state();
        let Ok(Answer::Granted(_)) = answer else { return None };
        let Command::Acquire(acquire) = &self.open.get(&number)?.command else { return None };
        Some(recorded(state, &acquire.role))
    }

    pub(super) fn reply(&mut self, replied: Replied) {
        for ms in self.net.send(self.now_ms, Node::Client(replied.client.0), Way::In) {
            self.later(ms, Thing::Answer(Box::new(replied.clone())));
        }
    }

    fn decline(&mut self, process: u64, call: Call) {
        match self.waiters.remove(&(process, call.0)) {
            Some(Waiter::Request { client, number }) => {
                for ms in self.net.send(self.now_ms, Node::Client(client.0), Way::In) {
                    self.later(ms, Thing::Decline { client, request: number });
                }
            }
            Some(Waiter::Beat(_)) | None => {}
        }
    }

    fn wait(&mut self, process: u64, waiter: Waiter) -> Call {
        self.calls += 1;
        let call = Call(self.calls);
        self.waiters.insert((process, call.0), waiter);
        call
    }

    /// A request reaches a server.
    pub(super) fn submit(&mut self, submitted: Box<Submitted>) {
        let Some(it) = self.servers[submitted.server].as_ref() else { return };
        let thaws_ms = it.frozen_until_ms.saturating_sub(self.now_ms);
        if thaws_ms > 0 {
            return self.later(thaws_ms, Thing::Submit(submitted));
        }
        let process = it.process;
        self.answer_early(&submitted);
        let Submitted { server, client, number, mut request } = *submitted;
        if self.script.rule == Some(Rule::ForgetRequests) {
            request.id = RequestId::parse(&format!("r{number}-{}", self.order)).ok();
        }
        let call = self.wait(process, Waiter::Request { client, number });
        self.step(server, Event::Submit { call, request });
    }

    /// Takes a beat that reaches a server; again, after it was recorded that its session was
    /// heard of.
    pub(super) fn take_beat(&mut self, beaten: Box<Beaten>, again: bool) {
        let server = beaten.server;
        let Some(it) = self.servers[server].as_mut() else { return };
        let thaws_ms = it.frozen_until_ms.saturating_sub(self.now_ms);
        if thaws_ms > 0 {
            return self.later(thaws_ms, Thing::Beat(beaten));
        }
        let now = it.now(self.now_ms);
        let answer = match it.replica.beat(now, &beaten.beat) {
            Ok(answer) => Ok(answer),
            Err(NoBeat::Refused(refusal)) => Err(refusal),
            Err(NoBeat::NotActive) => match self.confirm_late(server, &beaten.beat) {
                Some(answer) => Ok(answer),
                None => return self.turn_away(&beaten),
            },
            Err(NoBeat::RecordFirst(_)) if again => return,
            Err(NoBeat::RecordFirst(request)) => {
                let process = it.process;
                let call = self.wait(process, Waiter::Beat(beaten));
                return self.step(server, Event::Submit { call, request: *request });
            }
        };
        let Some(it) = self.servers[server].as_ref() else { return };
        let state = it.replica.state();
        let granted = answer.iter().flat_map(|answer| &answer.granted);
        let recorded = granted.map(|(role, _)| (role.clone(), recorded(state, role)));
        let recorded = recorded.collect();
        let answer = answer.map(|answer| self.distort_beat(answer));
        let (client, sent_ms) = (beaten.client, beaten.sent_ms);
        let replied = BeatReplied { client, sent_ms, answer, recorded };
        for ms in self.net.send(self.now_ms, Node::Client(client.0), Way::In) {
            self.later(ms, Thing::BeatAnswer(Box::new(replied.clone())));
        }
    }

    /// A beat came to a server that does not lead: the client turns to the next one.
    fn turn_away(&mut self, beaten: &Beaten) {
        let servers = self.servers.len();
        let it = &mut self.clients[beaten.client.0];
        if it.incarnation == beaten.client.1 && it.server == beaten.server {
            it.server = (it.server + 1) % servers;
        }
    }
}

/// Returns the position recorded for a role.
fn recorded(state: &State, role: &Name) -> EventNumber {
    let recorded = state.streams().recorded(&name("orders"), role);
    recorded.map(|recorded| recorded.through).unwrap_or_default()
}
