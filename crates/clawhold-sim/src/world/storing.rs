//! The way between a server and the log.

use clawhold_core::replica::{Append, Event, Mode};
use clawhold_log::Log;

use super::{Caller, Thing, World};
use crate::act::{Node, Way};
use crate::server::{Answered, Order, Server};

/// Milliseconds after which a server no longer waits for an answer of the log.
const LOG_TIMEOUT_MS: u64 = 450;
/// Milliseconds after which a server whose log was trimmed starts anew.
const ANEW_MS: u64 = 20;

impl World {
    /// Sends the next order to the log, if none is under way; a standby follows meanwhile.
    pub(super) fn pump(&mut self, server: usize) {
        let Some(it) = self.servers[server].as_mut() else { return };
        if it.call.is_some() {
            return;
        }
        let follows = matches!(it.replica.mode(), Mode::Standby | Mode::TakingOver);
        let order = if follows && (it.reads_next || it.orders.is_empty()) {
            Order::Follow { next: it.replica.next_record() }
        } else if let Some(order) = it.orders.pop_front() {
            order
        } else {
            return;
        };
        it.reads_next = !matches!(order, Order::Follow { .. });
        self.calls += 1;
        let from = Caller { server, process: it.process, call: self.calls };
        it.call = Some((from.call, order.clone()));
        self.later(LOG_TIMEOUT_MS, Thing::LogTimeout { from });
        for ms in self.net.send(self.now_ms, Node::Server(server), Way::Out) {
            self.later(ms, Thing::AtLog { from, order: order.clone() });
        }
    }

    /// An order reaches the log; its sender may be gone by now.
    pub(super) fn at_log(&mut self, from: Caller, order: &Order) {
        let Some(end) = self.log_ends.get_mut(&from.process) else { return };
        let answered = order.carry_out(&mut end.log);
        if order.is_write() {
            let is_slow = self.store.unsynced() == Some(end.log.writer());
            if is_slow && answered.is_unsynced() {
                let ms = end.slow_ms.pop().unwrap_or_default();
                return self.later(ms, Thing::Synced { from, answered: order.done() });
            }
            self.read_log();
        }
        self.answer_order(from, &answered);
    }

    /// A slow write has become durable, unless the power failed meanwhile.
    pub(super) fn synced(&mut self, from: Caller, answered: &Answered) {
        if self.store.sync().is_some() {
            self.read_log();
            self.answer_order(from, answered);
        }
    }

    fn answer_order(&mut self, from: Caller, answered: &Answered) {
        for ms in self.net.send(self.now_ms, Node::Server(from.server), Way::In) {
            let answered = answered.clone();
            self.later(ms, Thing::FromLog { from, answered });
        }
    }

    /// The log's answer reaches a server.
    pub(super) fn take_from_log(&mut self, from: Caller, answered: Answered) {
        let Some(thaws_ms) = self.waits_for(from) else { return };
        if thaws_ms > 0 {
            return self.later(thaws_ms, Thing::FromLog { from, answered });
        }
        if let Some(order) = self.take_call(from) {
            self.take_answer(from, &order, answered);
        }
    }

    /// A server has waited long enough for the log.
    pub(super) fn log_timeout(&mut self, from: Caller) {
        let Some(thaws_ms) = self.waits_for(from) else { return };
        if thaws_ms > 0 {
            return self.later(thaws_ms, Thing::LogTimeout { from });
        }
        let Some(order) = self.take_call(from) else { return };
        self.totals.unknown += u64::from(order.is_write());
        if matches!(order, Order::ReadBack { .. })
            && let Some(it) = self.servers[from.server].as_mut()
        {
            // It is asked again with the next turn, until there is an answer.
            return it.orders.push_front(order);
        }
        let answered = order.timed_out();
        self.take_answer(from, &order, answered);
    }

    /// Returns in how many milliseconds the server takes an answer in; `None` when it does not
    /// wait for this one any more.
    fn waits_for(&self, from: Caller) -> Option<u64> {
        let it = self.running(from.server, from.process)?;
        let waits = it.call.as_ref().is_some_and(|(call, _)| *call == from.call);
        waits.then(|| it.frozen_until_ms.saturating_sub(self.now_ms))
    }

    fn take_call(&mut self, from: Caller) -> Option<Order> {
        self.servers[from.server].as_mut()?.call.take().map(|(_, order)| order)
    }

    fn take_answer(&mut self, from: Caller, order: &Order, answered: Answered) {
        match answered {
            Answered::Event(event) => {
                let event = self.apply_twice(order, event);
                self.step(from.server, event);
            }
            Answered::Nothing => {}
            Answered::Gone => {
                self.say(|| format!("s{} finds the log trimmed and starts anew", from.server));
                self.totals.restored += 1;
                self.kill(from.server);
                self.later(ANEW_MS, Thing::Start { server: from.server });
            }
        }
    }

    /// Returns a server if this process of it still runs.
    pub(super) fn running(&self, server: usize, process: u64) -> Option<&Server> {
        self.servers[server].as_ref().filter(|it| it.process == process)
    }
}

impl Order {
    /// Returns the answer to a write that has become durable.
    fn done(&self) -> Answered {
        match self {
            Self::TakeOver { .. } => Answered::Event(Event::TookOver(true)),
            Self::Append { .. } => Answered::Event(Event::Appended(Append::Done)),
            Self::ReadBack { .. } | Self::Follow { .. } => Answered::Nothing,
        }
    }
}

impl Answered {
    /// Tells whether the log took a write in and cannot say yet how it ends.
    fn is_unsynced(&self) -> bool {
        matches!(self, Self::Event(Event::Appended(Append::Unknown) | Event::TookOver(true)))
    }
}
