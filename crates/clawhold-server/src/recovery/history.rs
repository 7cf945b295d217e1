//! The past of a store: from a kept snapshot, record by record.

use clawhold_core::State;
use clawhold_core::replay::{Replay, Replayed};
use clawhold_core::units::{Epoch, Position, RecordNumber};
use clawhold_log::{Head, LogError, Number, Record, SnapshotMark, SqliteReader};

use super::RecoveryError;

/// Bytes of records that are read at once.
const READ_BYTES: usize = 4 * 1_024 * 1_024;

/// A store that is only read.
#[derive(Debug)]
pub(super) struct History {
    pub(super) store: String,
    pub(super) reader: SqliteReader,
}

/// A state from which the records that follow can be replayed.
#[derive(Clone, Debug)]
pub(super) struct Base {
    pub(super) at: Number,
    pub(super) state: State,
}

impl Base {
    fn position(&self) -> Position {
        self.state.last().position
    }

    pub(super) fn replay(self) -> Replay {
        Replay::new(self.state, RecordNumber(self.at.next().0))
    }
}

impl History {
    /// Opens a store.
    pub(super) fn open(store: &str) -> Result<Self, RecoveryError> {
        let opened = clawhold_log::open_to_read(store);
        let reader = opened.map_err(|source| failed(store, source))?;
        Ok(Self { store: store.to_owned(), reader })
    }

    pub(super) fn head(&mut self) -> Result<Head, RecoveryError> {
        self.reader.head().map_err(|source| failed(&self.store, source))
    }

    pub(super) fn snapshots(&mut self) -> Result<Vec<SnapshotMark>, RecoveryError> {
        self.reader.snapshots().map_err(|source| failed(&self.store, source))
    }

    /// Returns what can be replayed from, newest first: intact snapshots, and the beginning if the
    /// log goes back to it.
    pub(super) fn bases(&mut self) -> Result<Vec<Base>, RecoveryError> {
        let mut bases = Vec::new();
        for mark in self.snapshots()? {
            bases.extend(self.base(mark).ok());
        }
        let first = self.head()?.first;
        if first == Number(1) {
            bases.push(Base { at: Number(0), state: State::default() });
        }
        if bases.is_empty() {
            return Err(RecoveryError::NoBase { first: first.0 });
        }
        Ok(bases)
    }

    /// Returns a snapshot as a state, or what is wrong with it.
    pub(super) fn base(&mut self, mark: SnapshotMark) -> Result<Base, Box<dyn std::error::Error>> {
        let snapshot = self.reader.snapshot(mark)?;
        let state = State::restore(&snapshot.bytes)?;
        Ok(Base { at: snapshot.at, state })
    }

    /// Returns the newest state from which `position` can be reached, with the first position
    /// that can be.
    pub(super) fn base_before(
        &mut self,
        position: Position,
    ) -> Result<(Option<Base>, Position), RecoveryError> {
        let bases = self.bases()?;
        let first = bases.last().map(Base::position).unwrap_or_default();
        Ok((bases.into_iter().find(|base| base.position() <= position), first))
    }

    /// Replays the records up to and including `last`, and shows each before it is applied and
    /// each entry after it was.
    pub(super) fn replay(
        &mut self,
        replay: &mut Replay,
        last: Number,
        mut show: impl FnMut(&State, Replayed<'_>),
        mut record: impl FnMut(&Replay, &Record) -> Result<(), RecoveryError>,
    ) -> Result<(), RecoveryError> {
        loop {
            let next = Number(replay.next_record().0);
            if last < next {
                return Ok(());
            }
            for found in self.read(next)? {
                if last < found.number {
                    return Ok(());
                }
                record(replay, &found)?;
                take(replay, &found, &mut show)?;
            }
        }
    }

    pub(super) fn read(&mut self, from: Number) -> Result<Vec<Record>, RecoveryError> {
        self.reader.read(from, READ_BYTES).map_err(|source| failed(&self.store, source))
    }
}

/// Applies a record.
pub(super) fn take(
    replay: &mut Replay,
    record: &Record,
    show: impl FnMut(&State, Replayed<'_>),
) -> Result<(), RecoveryError> {
    let (number, epoch) = (RecordNumber(record.number.0), Epoch(record.epoch.0));
    let took = replay.take(number, epoch, &record.body, show);
    took.map(drop).map_err(|source| RecoveryError::Record { number: number.0, source })
}

pub(super) fn failed(store: &str, source: LogError) -> RecoveryError {
    if matches!(source, LogError::Trimmed { .. }) {
        return RecoveryError::Trimmed;
    }
    RecoveryError::Store { store: clawhold_log::shown(store), source }
}
