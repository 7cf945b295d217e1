//! What can go wrong with a log, one variant per thing a caller would do differently.

use std::error::Error;
use std::io;
use std::path::PathBuf;

use crate::{FrameError, Number};

/// Returns an error's text with all its causes.
#[must_use]
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

/// A log did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The body is larger than any engine takes.
    #[error("record body of {bytes} bytes, the most is {bytes_max}")]
    TooLarge {
        /// The size of the body.
        bytes: usize,
        /// The largest size.
        bytes_max: usize,
    },

    /// Epoch 0 is nobody's: take over first.
    #[error("epoch 0 is nobody's, take over before appending")]
    EpochZero,

    /// The reader asked for records that were trimmed.
    #[error("records before {first} were trimmed, start from a snapshot")]
    Trimmed {
        /// The oldest record still kept.
        first: Number,
    },

    /// The reader is further than the log: the log was replaced by an older one.
    #[error("record {from} is beyond the end of the log at {last}")]
    Beyond {
        /// What was asked for.
        from: Number,
        /// The newest record.
        last: Number,
    },

    /// The log ends before a record that was seen in it: it was replaced by an older copy, or one
    /// that lags behind answers.
    #[error(
        "the log ends at record {last}, but record {seen} was seen in it: wait, if a server of the \
         engine is cut off or catching up; else it lost records: stop all servers and restore a \
         backup"
    )]
    Shorter {
        /// The newest record.
        last: Number,
        /// The newest record that was seen.
        seen: Number,
    },

    /// A record is not as it was written.
    #[error("record {number} is damaged")]
    Damaged {
        /// Which record.
        number: Number,
        /// What is wrong with it.
        source: FrameError,
    },

    /// A record that should be kept is not there.
    #[error("record {number} is missing")]
    Missing {
        /// Which record.
        number: Number,
    },

    /// A snapshot is not as it was written.
    #[error("the snapshot at record {at} is damaged")]
    SnapshotDamaged {
        /// The last record that it contains.
        at: Number,
        /// What is wrong with it.
        source: FrameError,
    },

    /// There is no room. Free some, or trim; then the same append can succeed.
    #[error("the log's disk is full, or the log has reached its size limit")]
    Full,

    /// Another writer kept the log locked all the time.
    #[error("the log stayed locked by another writer")]
    Busy,

    /// A snapshot must lie between the newest one and the end of the log.
    #[error("snapshot at {at} does not lie between the newest at {newest} and the end at {last}")]
    SnapshotPlace {
        /// Where the snapshot was to be.
        at: Number,
        /// The newest snapshot, 0 if there is none.
        newest: Number,
        /// The newest record.
        last: Number,
    },

    /// Another server put a snapshot meanwhile, which took this one's place.
    #[error("another snapshot was completed first")]
    SnapshotDisplaced,

    /// No kept snapshot is intact, and the records before `first` are gone.
    #[error("no snapshot is intact and records before {first} were trimmed, restore a backup")]
    SnapshotsDamaged {
        /// The oldest record still kept.
        first: Number,
        /// What is wrong with the newest snapshot.
        source: FrameError,
    },

    /// The log could not be opened.
    #[error("cannot open the log")]
    Open(#[from] OpenError),

    /// The engine failed.
    #[error("the log's engine failed")]
    Engine(#[source] Box<dyn Error + Send + Sync>),
}

/// A log could not be opened. Each text says what to do next.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The URL names no engine that exists.
    #[error(
        "log URL with unknown scheme {scheme:?}, use sqlite:PATH, postgres://…, nats://… or memory:"
    )]
    UnknownScheme {
        /// What stood before the colon.
        scheme: String,
    },

    /// The URL names an engine that is not part of this build.
    #[error("this build does not carry the {engine} engine, use another engine or another build")]
    NotCarried {
        /// Which engine.
        engine: &'static str,
    },

    /// The URL names an engine, but no log that it could open.
    #[error("log URL {reason}, {next}")]
    Malformed {
        /// What is wrong with the URL.
        reason: &'static str,
        /// What to write instead.
        next: &'static str,
    },

    /// NATS JetStream cannot keep this log.
    #[cfg(feature = "jetstream")]
    #[error(transparent)]
    JetStream(#[from] crate::JetStreamRefusal),

    /// The path is a directory.
    #[error("{path:?} is a directory, name a file in it such as {path:?}/clawhold.db")]
    Directory {
        /// The path that was given.
        path: PathBuf,
    },

    /// SQLite's locks and shared memory do not work on network disks.
    #[error("{path:?} is on a {kind} network disk where a log is not safe, use a local disk")]
    NetworkDisk {
        /// The path that was given.
        path: PathBuf,
        /// Which network file system.
        kind: &'static str,
    },

    /// The file cannot be made or reached.
    #[error("cannot make or reach {path:?}, check its directory and permissions")]
    File {
        /// The path that was given.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },

    /// The file is no database at all.
    #[error("{path:?} is not a log: it is not a database, name another file or move it away")]
    NotADatabase {
        /// The path that was given.
        path: PathBuf,
    },

    /// The file is somebody else's database.
    #[error(
        "{path:?} is not a log: it is another program's database (application id {found:#x}), \
         name another file"
    )]
    Foreign {
        /// The path that was given.
        path: PathBuf,
        /// The application id in the file.
        found: u32,
    },

    /// The log was written by a later version.
    #[error(
        "{path:?} has store version {found}, this program knows up to {known}, use a later version"
    )]
    NewerStore {
        /// The path that was given.
        path: PathBuf,
        /// The version in the file.
        found: u32,
        /// The latest version this program knows.
        known: u32,
    },

    /// The SQLite in this program has the bug that damages files with two writers.
    #[error("SQLite {found} can damage a log, build with {minimum} or later")]
    OldEngine {
        /// The version of the library.
        found: String,
        /// The oldest version without the bug.
        minimum: &'static str,
    },

    /// SQLite did not accept a setting that the log's durability needs.
    #[error("{path:?} does not allow {setting}, move it to a local disk")]
    Setting {
        /// The path that was given.
        path: PathBuf,
        /// Which setting.
        setting: &'static str,
    },

    /// There is no log, and whoever only reads makes none.
    #[error("there is no log at {path:?}, check the path; `clawhold serve` makes one")]
    Missing {
        /// The path that was given.
        path: PathBuf,
    },

    /// The file is not at its path any more.
    #[error(
        "{path:?} was moved away, deleted or replaced while it was open: stop every server of this \
         cluster, put the file back together with its -wal file, and start again"
    )]
    Moved {
        /// The path that was given.
        path: PathBuf,
    },

    /// The file that goes with a write-ahead file is gone or empty; opening it would delete that.
    #[error(
        "{path:?} is missing or empty but {path:?}-wal is there: put the file back that belongs \
         to it, or move the -wal and -shm files away"
    )]
    Orphaned {
        /// The path that was given.
        path: PathBuf,
    },

    /// The log ends before a record that was confirmed.
    #[error(
        "{path:?} ends at record {last}, but record {confirmed} was confirmed: its -wal file was \
         lost or cut, or an older copy stands in its place; put the right files back, or save what \
         is there with `clawhold backup FILE --salvage` and restore that"
    )]
    Behind {
        /// The path that was given.
        path: PathBuf,
        /// The newest record.
        last: Number,
        /// The newest record that was confirmed.
        confirmed: Number,
    },

    /// The head row says something else than the records do.
    #[error(
        "{path:?} is damaged: its head gives {found} as its {what} where the records say \
         {expected}; save what is there with `clawhold backup FILE --salvage` and restore that"
    )]
    Head {
        /// The path that was given.
        path: PathBuf,
        /// Which field.
        what: &'static str,
        /// What the head says.
        found: u64,
        /// What the records say.
        expected: u64,
    },

    /// The file cannot be read as far as its head.
    #[error("{path:?} is damaged: the database file itself is malformed; restore a backup")]
    Corrupt {
        /// The path that was given.
        path: PathBuf,
    },

    /// The server that keeps the log cannot be reached.
    #[error(
        "cannot reach {store}: check that it runs, and the host, user, password and database of \
         the URL"
    )]
    Unreachable {
        /// The URL, without its password.
        store: String,
        /// What was said.
        source: Box<LogError>,
    },

    /// The server could lose what it confirms, or what is there is no log.
    #[error("{store} cannot be used: {what}; {next}")]
    Unfit {
        /// The URL, without its password.
        store: String,
        /// What is wrong.
        what: String,
        /// What to do.
        next: String,
    },

    /// The log at the server is not the one that this process saw confirmed.
    #[error(
        "{store} {found}, but record {confirmed} was confirmed: it was replaced by an older copy, \
         or by a replica that lagged behind; stop all servers of this cluster and bring the \
         database back that holds that record; or, to accept the loss, {accept}"
    )]
    Rewound {
        /// The URL, without its password.
        store: String,
        /// The newest record that was confirmed.
        confirmed: Number,
        /// What is there instead.
        found: String,
        /// How to go on without what is lost.
        accept: String,
    },

    /// The engine failed while opening.
    #[error("cannot open {path:?}")]
    Engine {
        /// The path that was given.
        path: PathBuf,
        /// What the engine said.
        source: Box<dyn Error + Send + Sync>,
    },
}
