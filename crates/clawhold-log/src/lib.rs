//! Opaque records in order, kept by an engine that exists already.
//!
//! A [`Log`] knows bytes, numbers and epochs. What a record means is decided elsewhere; this
//! crate promises only that a record is there, whole and in its place, once an append is done,
//! and that an overtaken writer can add nothing.
//!
//! Every call blocks until it has an answer: a server gives its log a thread of its own, and a
//! simulator needs no runtime.

mod scratch;
mod seam;

pub mod backup;
pub mod frame;
pub mod limits;

mod check;
mod error;
#[cfg(feature = "jetstream")]
mod jetstream;
mod memory;
mod open;
#[cfg(feature = "postgres")]
mod postgres;
mod shown;
mod snapshot;
#[cfg(feature = "sqlite")]
mod sqlite;

#[cfg(feature = "conformance")]
pub mod conformance;

pub use error::{LogError, OpenError, chain};
pub use frame::FrameError;
#[cfg(feature = "jetstream")]
pub use jetstream::{JetStreamLog, JetStreamRefusal};
pub use memory::{Fault, MemoryLog, MemoryStore};
pub use open::{open, open_with};
#[cfg(feature = "sqlite")]
pub use open::{open_to_read, sqlite_path};
#[cfg(feature = "postgres")]
pub use postgres::PostgresLog;
pub use scratch::{remove_scratch, scratch_url};
pub use seam::{
    Append, Epoch, Head, Log, Number, Presence, Record, Settled, Snapshot, TakeOver, Writer,
};
pub use shown::shown;
#[cfg(feature = "sqlite")]
pub use sqlite::{
    RestoreError, Restoring, SnapshotMark, SqliteLog, SqliteOptions, SqliteReader, is_in_use,
    network_disk,
};
