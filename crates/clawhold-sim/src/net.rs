//! The ways between the processes and the log, each direction for itself.

use std::collections::{BTreeMap, VecDeque};

use crate::act::{Node, Way};
use crate::dice::dice;

/// What happens to one coming message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trick {
    Lose,
    Late(u64),
    Twice(u64),
}

/// Until when a way is shut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shut {
    until_ms: u64,
    /// Whether messages wait for its end instead of being lost.
    holds: bool,
}

/// All ways.
#[derive(Debug, Default)]
pub(crate) struct Net {
    seed: u64,
    shut: BTreeMap<(Node, Way), Shut>,
    tricks: BTreeMap<(Node, Way), VecDeque<Trick>>,
    sent: BTreeMap<(Node, Way), u64>,
}

impl Net {
    pub(crate) fn new(seed: u64) -> Self {
        Self { seed, ..Self::default() }
    }

    /// Lets something happen to a coming message.
    pub(crate) fn trick(&mut self, node: Node, way: Way, trick: Trick) {
        self.tricks.entry((node, way)).or_default().push_back(trick);
    }

    /// Shuts a way; messages are lost, or wait until the end.
    pub(crate) fn shut(&mut self, node: Node, way: Way, until_ms: u64, holds: bool) {
        self.shut.insert((node, way), Shut { until_ms, holds });
    }

    /// Opens every way.
    pub(crate) fn heal(&mut self) {
        self.shut.clear();
        self.tricks.clear();
    }

    /// Sends one message; returns after how many milliseconds it arrives: once, twice or never.
    pub(crate) fn send(&mut self, now_ms: u64, node: Node, way: Way) -> Vec<u64> {
        let sent = self.sent.entry((node, way)).or_default();
        *sent += 1;
        let (side, number) = match node {
            Node::Client(client) => (0, client as u64),
            Node::Server(server) => (1, server as u64),
        };
        let mut dice = dice(self.seed, "travel", &[side, number, way as u64, *sent]);
        let mut ms = dice.u64(0..4);
        match self.shut.get(&(node, way)) {
            Some(shut) if now_ms < shut.until_ms => {
                if !shut.holds {
                    return Vec::new();
                }
                ms += shut.until_ms - now_ms;
            }
            Some(_) | None => {}
        }
        let trick = self.tricks.get_mut(&(node, way)).and_then(VecDeque::pop_front);
        match trick {
            Some(Trick::Lose) => Vec::new(),
            Some(Trick::Late(more_ms)) => vec![ms + more_ms],
            Some(Trick::Twice(more_ms)) => vec![ms, ms + more_ms],
            None => vec![ms],
        }
    }
}
