//! What can go wrong with looking at a store, backing it up and restoring it.

use std::io;
use std::path::PathBuf;

use clawhold_core::record::BadRecord;
use clawhold_core::restore::NoRoom;
use clawhold_log::backup::BackupError;
use clawhold_log::{LogError, RestoreError};

/// Something is wrong with a store or a backup. Each text says what to do next.
#[derive(Debug, thiserror::Error)]
pub enum RecoveryError {
    /// The store cannot be read.
    #[error("cannot read the store {store}")]
    Store {
        /// Its URL.
        store: String,
        /// Why.
        source: LogError,
    },
    /// A record holds what this program cannot apply.
    #[error("record {number} cannot be applied")]
    Record {
        /// Which.
        number: u64,
        /// Why.
        source: BadRecord,
    },
    /// No kept snapshot can be read, and the log does not go back to its beginning.
    #[error(
        "no snapshot of the store can be read, and its records begin at {first}: restore a backup"
    )]
    NoBase {
        /// The oldest record kept.
        first: u64,
    },
    /// The position cannot be reached.
    #[error("position {position} cannot be shown: the store reaches from {first} to {last}")]
    OutOfReach {
        /// What was asked.
        position: u64,
        /// The first that can be shown.
        first: u64,
        /// The last.
        last: u64,
    },
    /// The position is one of those that a restore left out.
    #[error(
        "position {position} was left out by a restore: the store has {before}, and then {after}"
    )]
    LeftOut {
        /// What was asked.
        position: u64,
        /// The last before it.
        before: u64,
        /// The first after it.
        after: u64,
    },
    /// A server trimmed the log faster than it could be read.
    #[error("the log was trimmed while it was read: run the command again")]
    Trimmed,
    /// The file is there already.
    #[error("{path:?} is there already: name another file, or move it away")]
    Exists {
        /// Which.
        path: PathBuf,
    },
    /// A file cannot be read or written.
    #[error("cannot read or write {path:?}")]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The backup cannot be used.
    #[error("cannot use {path:?}")]
    Backup {
        /// Which.
        path: PathBuf,
        /// Why.
        source: BackupError,
    },
    /// What the backup holds comes to another state than its maker said.
    #[error(
        "{path:?} comes to state {found} and not to {expected} as its maker said: use another one, \
         or the program that made it"
    )]
    OtherState {
        /// Which.
        path: PathBuf,
        /// The hash that its maker noted.
        expected: String,
        /// The hash it comes to.
        found: String,
    },
    /// There is nothing to save.
    #[error("nothing of the store can be saved: not one record or snapshot of it is intact")]
    NothingLeft,
    /// There are no numbers left.
    #[error("cannot number what follows")]
    NoRoom(#[from] NoRoom),
    /// The new store cannot be made.
    #[error("cannot make the store {store}")]
    Restore {
        /// Its URL.
        store: String,
        /// Why.
        source: RestoreError,
    },
}
