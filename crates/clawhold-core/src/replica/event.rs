//! What goes into a replica and what comes out of it.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use crate::answer::Refusal;
use crate::command::Request;
use crate::units::{Epoch, RecordNumber, Text, Timestamp};

/// The clock readings of one event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// Wall time.
    pub at: Timestamp,
    /// Milliseconds on a clock that never runs back and counts suspended time.
    pub uptime_ms: u64,
}

/// Names one submitted request until it is answered. Drawn by the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Call(pub u64);

/// A record as the log returned it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogRecord {
    /// Its number.
    pub number: RecordNumber,
    /// The term of its writer.
    pub epoch: Epoch,
    /// Its bytes.
    pub body: Vec<u8>,
}

/// What happens to a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Time passed.
    Tick,
    /// A request came in.
    Submit {
        /// Who waits for the answer.
        call: Call,
        /// The request.
        request: Request,
    },
    /// The log answered the append in flight.
    Appended(Append),
    /// The log answered the takeover in flight: `true` when it is in the log.
    TookOver(bool),
    /// Records from the next number on; none at the log's end.
    Read(Vec<LogRecord>),
    /// What the engine's presence lock says.
    Presence(Presence),
    /// The operator stops this server.
    Stop,
}

/// Whose the engine's presence lock is. It is released by the kernel when its process dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// It is ours: no other process that claims it is alive.
    Ours,
    /// Another live process has it.
    Others,
    /// The engine has none.
    Unsupported,
}

/// How an append ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Append {
    /// It is durable.
    Done,
    /// Another server leads.
    Overtaken,
    /// Nobody knows yet.
    Unknown,
    /// Certainly nothing was written.
    Failed {
        /// Why.
        reason: String,
    },
}

/// What the driver is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Append these bytes at this number under this term.
    Append {
        /// The number.
        number: RecordNumber,
        /// The term.
        epoch: Epoch,
        /// The bytes.
        body: Vec<u8>,
    },
    /// Append a takeover under this term, at whatever number comes.
    TakeOver {
        /// The term.
        epoch: Epoch,
        /// The bytes.
        body: Vec<u8>,
    },
    /// Read the log from this number on and return what is there, though it be nothing.
    ReadBack {
        /// The number.
        number: RecordNumber,
    },
    /// Let go of the presence lock, so that the active server can take it, and ask for it again in
    /// a while.
    LeavePresence,
    /// Tell the caller that certainly nothing happened, and why.
    Decline {
        /// Who waits.
        call: Call,
        /// Why.
        reason: Declined,
    },
}

/// Why a request was not even tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Declined {
    /// Another server is the active one.
    NotActive,
    /// Too much waits for the log.
    Overloaded,
    /// The log refused it.
    Storage {
        /// Why.
        reason: String,
    },
    /// This server stops.
    Stopping,
}

/// Why a beat was not answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoBeat {
    /// This server is not the active one, or its hold has lapsed.
    NotActive,
    /// It must be recorded first that the session was heard of. Submit this, then beat again.
    RecordFirst(Box<Request>),
    /// The session is over.
    Refused(Refusal),
}

/// What this server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// It follows the log.
    Standby,
    /// It has asked the log to make it the active one.
    TakingOver,
    /// It alone appends.
    Active,
    /// It has stepped down and does nothing more.
    Stopped,
}

/// How this server takes part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The URL under which other processes reach it; empty when they cannot.
    pub advertise: Text,
    /// Milliseconds of its hold on the log: without a record for so long, another may take over.
    pub hold_ms: u64,
    /// Drawn at random, so that it knows its own takeover.
    pub nonce: u64,
}
