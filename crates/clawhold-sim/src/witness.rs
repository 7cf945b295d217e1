//! A second reading of the log: what a fresh replay says at every position.
//!
//! It folds the records by itself, without the replica, as they become durable. Whatever a server
//! computes or answers must equal what stands here.

use std::collections::{BTreeMap, VecDeque};

use clawhold_core::answer::{Answer, Refusal};
use clawhold_core::command::{Command, Request};
use clawhold_core::limits;
use clawhold_core::record::Record;
use clawhold_core::units::{Position, RequestId, Served, Stamp, Timestamp};
use clawhold_core::{Applied, State};
use clawhold_log::{Epoch, Log, MemoryLog, MemoryStore, Number};

use crate::distort::distort;
use crate::rule::Rule;

/// Records between two states whose hash is compared.
const CHECKPOINT_RECORDS: u64 = 12;
/// Bytes of one read.
const READ_BYTES_MAX: usize = 64 * 1_024;

/// What the log says.
#[derive(Debug)]
pub(crate) struct Witness {
    log: MemoryLog,
    rule: Option<Rule>,
    next: Number,
    epoch: Epoch,
    at: Timestamp,
    served: Served,
    pending: VecDeque<Request>,
    pub(crate) state: State,
    told: Vec<Told>,
    /// Where and when each request id first had its effect.
    firsts: BTreeMap<RequestId, (Position, Served)>,
    hashes: BTreeMap<Position, String>,
    /// Records that a server wrote after it was overtaken.
    pub(crate) void: u64,
    /// Requests that ran again because a wall clock had jumped beyond the time for which their
    /// answers are kept.
    pub(crate) forgotten: u64,
}

/// What stands at one position.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) id: Option<RequestId>,
    pub(crate) answer: Result<Answer, Refusal>,
    pub(crate) replayed: bool,
}

/// One entry as it was applied.
#[derive(Debug)]
pub(crate) struct Landed {
    pub(crate) position: Position,
    pub(crate) request: Request,
    pub(crate) applied: Applied,
    /// Where a request with the same id had its effect before, if it runs a second time here.
    pub(crate) ran_before: Option<Position>,
}

impl Witness {
    pub(crate) fn new(store: &MemoryStore, rule: Option<Rule>) -> Self {
        Self {
            log: store.handle(),
            rule,
            next: Number(1),
            epoch: Epoch(0),
            at: Timestamp(0),
            served: Served(0),
            pending: VecDeque::new(),
            state: State::default(),
            told: Vec::new(),
            firsts: BTreeMap::new(),
            hashes: BTreeMap::new(),
            void: 0,
            forgotten: 0,
        }
    }

    /// Applies the next entry that is durable, if there is one.
    pub(crate) fn advance(&mut self) -> Option<Landed> {
        while self.pending.is_empty() {
            let record = self.log.read(self.next, READ_BYTES_MAX).ok()?.into_iter().next()?;
            self.next = record.number.next();
            self.take(record.epoch, &record.body);
        }
        let request = self.pending.pop_front()?;
        let position = Position(self.last().0 + 1);
        let stamp = Stamp { at: self.at, served: self.served, position };
        let applied = self.state.apply(stamp, &request);
        let applied = distort(self.rule, &self.state, &request, applied);
        let ran_before = self.remember(position, &request, &applied);
        if self.pending.is_empty() && self.next.0.is_multiple_of(CHECKPOINT_RECORDS) {
            self.hashes.insert(position, self.state.hash());
        }
        Some(Landed { position, request, applied, ran_before })
    }

    /// Takes a record in; one of an overtaken term is void.
    fn take(&mut self, epoch: Epoch, body: &[u8]) {
        let record = Record::decode(body).expect("the records of this world are readable");
        let begins = record.requests.first().is_some_and(
            |request| matches!(&request.command, Command::TakeOver(t) if t.epoch.0 == epoch.0),
        );
        if epoch != self.epoch && !(begins && epoch == self.epoch.next()) {
            self.void += 1;
            return;
        }
        self.epoch = epoch;
        self.at = self.at.max(record.at);
        self.served = self.served.after(record.elapsed_ms);
        self.state.pass(self.at, record.elapsed_ms);
        self.pending = record.requests.into();
    }

    fn remember(
        &mut self,
        position: Position,
        request: &Request,
        applied: &Applied,
    ) -> Option<Position> {
        let (id, answer) = (request.id.clone(), applied.answer.clone());
        self.told.push(Told { id: id.clone(), answer, replayed: applied.replayed });
        let empty = matches!(&applied.answer, Ok(Answer::Claimed(claimed)) if claimed.is_empty());
        let conflict = matches!(applied.answer, Err(Refusal::RequestConflict { .. }));
        if applied.replayed || empty || conflict {
            return None;
        }
        let (first, served) = self.firsts.insert(id?, (position, self.served))?;
        if self.served >= served.after(limits::REQUEST_MS) {
            self.forgotten += 1;
            return None;
        }
        Some(first)
    }

    /// Returns the last position that is durable.
    pub(crate) fn last(&self) -> Position {
        Position(self.told.len() as u64)
    }

    /// Returns what stands at a position, if it is durable.
    pub(crate) fn at(&self, position: Position) -> Option<&Told> {
        let place = usize::try_from(position.0.checked_sub(1)?).ok()?;
        self.told.get(place)
    }

    /// Returns where a request had its effect.
    pub(crate) fn first(&self, id: &RequestId) -> Option<Position> {
        self.firsts.get(id).map(|(first, _)| *first)
    }

    /// Returns the hash of the state at a position, if it is one that is compared.
    pub(crate) fn hash(&self, position: Position) -> Option<&String> {
        self.hashes.get(&position)
    }
}
