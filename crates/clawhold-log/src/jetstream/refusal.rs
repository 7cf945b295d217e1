//! Why a log on NATS JetStream is not opened. Each text says what to do next.

use std::error::Error;
use std::io;
use std::path::PathBuf;

use crate::limits::RECORD_BODY_BYTES_MAX;

/// A log on NATS JetStream could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum JetStreamRefusal {
    /// An option of the URL is not one, or has no such value.
    #[error("log URL option {name}: {reason}")]
    Option {
        /// The name of the option.
        name: String,
        /// What is wrong, and what to write.
        reason: &'static str,
    },

    /// A file that the URL names cannot be read.
    #[error("cannot read {path:?}, which the log URL names as its {option}")]
    File {
        /// The option that names it.
        option: &'static str,
        /// The path that was given.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },

    /// No server of the list lets this program in.
    #[error("cannot connect to NATS at {hosts}, check the address, the account and the server")]
    Unreachable {
        /// The servers that were tried.
        hosts: String,
        /// What the last of them said.
        source: Box<dyn Error + Send + Sync>,
    },

    /// The server is too old to keep a log.
    #[error(
        "NATS server {server} has version {found}, a log needs {needed} or later: older ones lose \
         what they acknowledged when they are killed, and no option allows them"
    )]
    OldServer {
        /// The name of the server.
        server: String,
        /// Its version.
        found: String,
        /// The oldest version that will do.
        needed: &'static str,
    },

    /// The server or the account has no JetStream.
    #[error(
        "JetStream does not answer on NATS server {server}: set jetstream in its configuration \
         and for this account, and allow the account $JS.API.> and _INBOX.>"
    )]
    NoJetStream {
        /// The name of the server.
        server: String,
        /// What it said.
        source: Box<dyn Error + Send + Sync>,
    },

    /// The server takes no message as large as a record may become.
    #[error(
        "NATS server {server} takes messages of at most {found} bytes, a record of \
         {RECORD_BODY_BYTES_MAX} bytes needs {needed}: set max_payload to 1MB"
    )]
    Payload {
        /// The name of the server.
        server: String,
        /// Its `max_payload`.
        found: usize,
        /// The smallest that will do.
        needed: usize,
    },

    /// The stream is somebody else's.
    #[error(
        "stream {stream} was not made by this program, name another in the log URL with \
         ?stream=NAME"
    )]
    Foreign {
        /// The name of the stream.
        stream: String,
    },

    /// The stream was made by a later version.
    #[error(
        "stream {stream} has store version {found}, this program knows up to {known}, use a later \
         version"
    )]
    NewerStore {
        /// The name of the stream.
        stream: String,
        /// Its version.
        found: String,
        /// The latest version this program knows.
        known: &'static str,
    },

    /// The stream was made by this program and changed by somebody since.
    #[error(
        "stream {stream} has {setting} = {found}, a log needs {needed}: change it back with \
         `nats stream edit {stream}`"
    )]
    Setting {
        /// The name of the stream.
        stream: String,
        /// Which setting.
        setting: &'static str,
        /// What it is.
        found: String,
        /// What it must be.
        needed: String,
    },

    /// The stream has fewer copies than were asked for.
    #[error(
        "stream {stream} has {found} replicas and {asked} are asked for: change it with `nats \
         stream edit {stream} --replicas {asked}`, or ask for {found} with ?replicas={found}"
    )]
    Replicas {
        /// The name of the stream.
        stream: String,
        /// How many there are.
        found: usize,
        /// How many were asked for.
        asked: usize,
    },

    /// Nobody said whether a server syncs what it acknowledges.
    #[error(
        "cannot see whether NATS server {server} syncs before it acknowledges: let the account \
         import $SYS.REQ.SERVER.PING.VARZ or name system_credentials=FILE; or allow that a loss \
         of power takes the last two minutes of what was confirmed, with accept_loss_window=true"
    )]
    Unproven {
        /// The name of a server that keeps the stream.
        server: String,
    },

    /// A server says that it acknowledges first and syncs later.
    #[error(
        "NATS server {server} acknowledges before it syncs: set sync_interval: always in its \
         jetstream configuration; or allow that a loss of power takes the last two minutes of \
         what was confirmed, with accept_loss_window=true"
    )]
    Unsynced {
        /// The name of the server.
        server: String,
    },

    /// The server did not do what opening needs.
    #[error("NATS did not {what} stream {stream}")]
    Stream {
        /// The name of the stream.
        stream: String,
        /// What was asked.
        what: &'static str,
        /// What it said.
        source: Box<dyn Error + Send + Sync>,
    },
}
