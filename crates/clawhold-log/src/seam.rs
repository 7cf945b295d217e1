//! The seam between a server and the engine that keeps its log.
//!
//! Safety rests on three rules, the same for every engine. An append names its number and its
//! epoch, and lands only if both still fit. A takeover record raises the epoch by exactly one,
//! whatever the number. A reader voids every record whose epoch is not the current one.

use std::fmt;
use std::time::Duration;

use crate::LogError;

/// The number of a record: 1, 2, 3 … without a hole. 0 stands before the first record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Number(pub u64);

impl Number {
    /// Returns the number that follows.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// One server's time as the only writer. 0 is nobody's: no record carries it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(pub u64);

impl Epoch {
    /// Returns the epoch that a takeover of this one begins.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The handle that wrote a record: a number drawn at random (or counted, in memory) when the
/// handle was opened. It tells apart two servers that raced for the same epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Writer(pub u64);

/// Where a log begins and ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The newest record; 0 while the log is empty.
    pub last: Number,
    /// The current epoch; 0 while nobody ever took over. Never falls.
    pub epoch: Epoch,
    /// The oldest record still kept; 1 while nothing was trimmed. Never falls.
    pub first: Number,
}

impl Default for Head {
    fn default() -> Self {
        Self { last: Number(0), epoch: Epoch(0), first: Number(1) }
    }
}

/// One record as it was read: its checksum held and it stood in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its place in the log.
    pub number: Number,
    /// The epoch it was written in. The record that begins an epoch is its takeover record.
    pub epoch: Epoch,
    /// The handle that wrote it.
    pub writer: Writer,
    /// What was written, untouched.
    pub body: Vec<u8>,
}

/// What became of an append.
#[must_use]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Append {
    /// The record is durable.
    Done,
    /// Nothing was written: the log does not end where the caller thought, or another epoch has
    /// begun. After an [`Append::Unknown`] it can also be the caller's own earlier record that
    /// stands there; [`Log::settle`] tells.
    Overtaken {
        /// Where the log ends instead.
        head: Head,
    },
    /// Nothing is known: the record may be in the log, or get there late. Ask [`Log::settle`],
    /// then append the same bytes at the same number, never other bytes.
    Unknown {
        /// What the engine said, for a person to read.
        cause: String,
    },
}

/// What became of a takeover.
#[must_use]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TakeOver {
    /// The takeover record is durable and the epoch is the caller's.
    Done {
        /// The number that the takeover record got.
        number: Number,
    },
    /// Nothing was written: the epoch asked for does not follow the current one.
    Overtaken {
        /// Where the log ends instead.
        head: Head,
    },
    /// Nothing is known. Follow the log: the epoch is the caller's if the record that begins it
    /// carries the caller's [`Writer`].
    Unknown {
        /// What the engine said, for a person to read.
        cause: String,
    },
}

/// What reading back found of an append whose outcome was unknown.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// The record is there, with this epoch and this body.
    Landed,
    /// The record is not there (yet): append the same bytes at the same number.
    Absent,
    /// Another record stands there, or another epoch has begun.
    Overtaken {
        /// Where the log ends.
        head: Head,
    },
}

/// The newest whole snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The last record that is contained in it; reading goes on at the next.
    pub at: Number,
    /// The epoch that was current at that record.
    pub epoch: Epoch,
    /// What was put, chunks joined.
    pub bytes: Vec<u8>,
}

/// Whether this handle is the one that the engine's presence lock names.
///
/// The lock says who is alive, not who may write: it lets a standby act at once when an active
/// server dies, and safety never rests on it.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// This handle holds the lock, until it is dropped or its process dies.
    Held,
    /// A live process, or another handle in this one, holds it.
    HeldByOther,
    /// This engine, or the disk it is on, cannot tell.
    Unsupported,
}

/// An ordered log of opaque records with one writer at a time.
///
/// All handles on one log see the same records. A reader recognises a takeover record by its
/// epoch: it is valid only if its epoch is the current one plus one, and every other record is
/// void unless its epoch is the current one. An `Err` of any call means that the call changed
/// nothing, except where its own text says otherwise.
pub trait Log: Send + fmt::Debug {
    /// Returns the name that records written through this handle carry.
    fn writer(&self) -> Writer;

    /// Returns another handle on the same log, with a name of its own, for another thread.
    ///
    /// # Errors
    /// As when the log was opened.
    fn another(&self) -> Result<Box<dyn Log>, LogError>;

    /// Returns where the log begins and ends.
    ///
    /// # Errors
    /// When the engine cannot be read.
    fn head(&mut self) -> Result<Head, LogError>;

    /// Appends `body` as record `number` if and only if the log ends right before it and its
    /// epoch is `epoch`. Keep one append in flight: the next only after this one is settled.
    ///
    /// # Errors
    /// [`LogError::TooLarge`], [`LogError::EpochZero`], [`LogError::Full`], [`LogError::Busy`]
    /// or a failure of the engine. The record is certainly not in the log.
    fn append(&mut self, number: Number, epoch: Epoch, body: &[u8]) -> Result<Append, LogError>;

    /// Appends the record that begins `epoch`, wherever the log ends, if and only if the current
    /// epoch is the one before. It needs no number, so it beats a writer that is still busy.
    ///
    /// # Errors
    /// As for [`Log::append`]: the record is certainly not in the log.
    fn take_over(&mut self, epoch: Epoch, body: &[u8]) -> Result<TakeOver, LogError>;

    /// Returns the records from `from` on, as many as fit into `bytes_max` bytes of body and at
    /// least one if there is one; none at the tail.
    ///
    /// # Errors
    /// [`LogError::Trimmed`] below the floor, [`LogError::Beyond`] past the tail,
    /// [`LogError::Damaged`] or [`LogError::Missing`] when the record at `from` is not intact.
    fn read(&mut self, from: Number, bytes_max: usize) -> Result<Vec<Record>, LogError>;

    /// Waits until a record after `after` exists and returns true, or false after `timeout`.
    ///
    /// # Errors
    /// When the engine cannot be read.
    fn wait(&mut self, after: Number, timeout: Duration) -> Result<bool, LogError>;

    /// Stores what `chunks` yields as the snapshot of everything up to and including `at`.
    ///
    /// It becomes visible when it is whole. The newest two are kept, and a damaged one is not
    /// counted. The log is not locked while `chunks` is asked for the next piece. After a
    /// failure the snapshot may be visible; it is then whole.
    ///
    /// # Errors
    /// [`LogError::SnapshotPlace`] when `at` is past the tail or before the newest snapshot.
    fn put_snapshot(
        &mut self,
        at: Number,
        epoch: Epoch,
        chunks: &mut dyn Iterator<Item = Vec<u8>>,
    ) -> Result<(), LogError>;

    /// Returns the newest snapshot that is intact.
    ///
    /// # Errors
    /// [`LogError::SnapshotsDamaged`] when none is intact and the records it stood for are gone.
    fn latest_snapshot(&mut self) -> Result<Option<Snapshot>, LogError>;

    /// Removes the oldest records up to and including `upto`, and returns how many.
    ///
    /// One call removes at most [`TRIM_RECORDS_MAX`](crate::limits::TRIM_RECORDS_MAX); call it
    /// again until it returns 0. It never removes the last record, nor one that is not contained
    /// in both kept snapshots; so nothing goes before there are two.
    ///
    /// # Errors
    /// When the engine fails; the step may have been done.
    fn trim(&mut self, upto: Number) -> Result<u64, LogError>;

    /// Tries to become the handle that the presence lock names.
    fn claim_presence(&mut self) -> Presence;

    /// Returns how often it is worth asking for the presence lock.
    fn presence_every(&self) -> Duration {
        Duration::ZERO
    }

    /// Returns what an operator should know about how this log is kept: sentences with what to do.
    fn concerns(&self) -> Vec<String> {
        Vec::new()
    }

    /// Lets go of the presence lock, so that another server may act at once.
    fn release_presence(&mut self);

    /// Reads back what became of an append at `number` whose outcome was unknown.
    ///
    /// # Errors
    /// When the log cannot be read, or the record was trimmed meanwhile.
    fn settle(&mut self, number: Number, epoch: Epoch, body: &[u8]) -> Result<Settled, LogError> {
        let head = self.head()?;
        if head.last < number {
            let current = head.epoch == epoch;
            return Ok(if current { Settled::Absent } else { Settled::Overtaken { head } });
        }
        let found = self.read(number, 1)?;
        let own = found.first().is_some_and(|there| there.epoch == epoch && there.body == body);
        Ok(if own { Settled::Landed } else { Settled::Overtaken { head } })
    }
}
