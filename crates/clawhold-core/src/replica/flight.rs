//! Requests on their way: waiting for the log, in the record in flight, durable and to be applied.

use alloc::vec::Vec;

use super::Call;
use crate::command::Request;
use crate::record::{self, Encoded};
use crate::units::{RecordNumber, Timestamp};

#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) call: Option<Call>,
    pub(super) encoded: Encoded,
}

impl Waiting {
    pub(super) fn new(call: Option<Call>, request: Request) -> Self {
        Self { call, encoded: Encoded::new(request) }
    }
}

#[derive(Debug)]
pub(super) struct InFlight {
    pub(super) number: RecordNumber,
    pub(super) sent_ms: u64,
    pub(super) elapsed_ms: u64,
    pub(super) at: Timestamp,
    pub(super) requests: Vec<Waiting>,
    /// Whether the log left it open how the append ended.
    pub(super) doubt: bool,
    /// Whether it ever did.
    pub(super) was_in_doubt: bool,
    /// When the log is asked again how it ended.
    pub(super) ask_ms: Option<u64>,
}

impl InFlight {
    /// Returns the record's bytes; the same each time.
    pub(super) fn body(&self) -> Vec<u8> {
        let pieces = self.requests.iter().map(|waiting| waiting.encoded.bytes());
        record::assemble(self.at, self.elapsed_ms, pieces)
    }
}

/// What is durable and waits to be applied.
#[derive(Debug)]
pub(super) enum Ready {
    /// A record begins: time passes.
    Time { at: Timestamp, elapsed_ms: u64 },
    /// One request of it.
    Entry { call: Option<Call>, request: Request },
}
