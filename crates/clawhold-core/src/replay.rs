//! The fold of a log without a server's part in it: what the state was at any record.
//!
//! The same rules as for a server that follows: a record whose term is not the current one is
//! void, and one that cannot be read ends it.

use crate::command::Request;
use crate::record::{BadRecord, Record};
use crate::state::{Applied, State};
use crate::units::{Epoch, Position, RecordNumber, Stamp, Timestamp};

/// A state, and the records that were applied to it.
#[derive(Clone, Debug)]
pub struct Replay {
    state: State,
    epoch: Epoch,
    next: RecordNumber,
}

/// One entry as it was applied.
#[derive(Debug)]
pub struct Replayed<'a> {
    /// The record that holds it.
    pub record: RecordNumber,
    /// When and where it stands.
    pub stamp: Stamp,
    /// What was asked.
    pub request: &'a Request,
    /// What came of it.
    pub applied: &'a Applied,
}

/// What a record was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Took {
    /// When it was written, by its writer's clock.
    pub at: Timestamp,
    /// Entries in it.
    pub entries: usize,
    /// Whether its writer had been overtaken: nothing of it counts.
    pub void: bool,
}

impl Replay {
    /// Returns a replay of the records from `next` on, which follow `state`.
    #[must_use]
    pub fn new(state: State, next: RecordNumber) -> Self {
        let epoch = state.epoch();
        Self { state, epoch, next }
    }

    /// Applies the next record and shows each of its entries, with the state right after it.
    ///
    /// # Errors
    /// [`BadRecord`] when it cannot be read.
    ///
    /// # Panics
    /// When a record was left out.
    pub fn take(
        &mut self,
        number: RecordNumber,
        epoch: Epoch,
        body: &[u8],
        mut show: impl FnMut(&State, Replayed<'_>),
    ) -> Result<Took, BadRecord> {
        assert!(number == self.next, "records are replayed without a hole");
        let record = Record::decode(body)?;
        let (at, entries) = (record.at, record.requests.len());
        self.next = RecordNumber(number.0 + 1);
        if epoch != self.epoch && !record.begins(epoch, self.epoch) {
            return Ok(Took { at, entries, void: true });
        }
        self.epoch = epoch;
        self.state.pass(record.at, record.elapsed_ms);
        for request in &record.requests {
            let last = self.state.last();
            let stamp = Stamp { position: Position(last.position.0 + 1), ..last };
            let applied = self.state.apply(stamp, request);
            show(&self.state, Replayed { record: number, stamp, request, applied: &applied });
        }
        Ok(Took { at, entries, void: false })
    }

    /// Returns the state after the last record.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Returns the number of the next record.
    #[must_use]
    pub fn next_record(&self) -> RecordNumber {
        self.next
    }

    /// Returns the term of the last record that counts.
    #[must_use]
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }
}
