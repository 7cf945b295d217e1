//! The bytes of one record: a batch of requests under one stamp.
//!
//! The log wraps these bytes in its own envelope (term, number, checksum) and never looks inside.
//! Fields have numbers that are never used again; a reader that meets a command it does not know
//! stops there, it never skips.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use minicbor::{Decode, Encode, Encoder};

use crate::command::{Command, Request};
use crate::units::{Epoch, Timestamp};

/// The version of the record format that this code writes.
pub const RECORD_VERSION: u32 = 1;

/// A batch of requests, as the log keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Record {
    /// The version it was written in.
    #[n(0)]
    pub version: u32,
    /// The wall time of its writer. The state takes it as it is unless that would run back.
    #[n(1)]
    pub at: Timestamp,
    /// Milliseconds served since the record before.
    #[n(2)]
    pub elapsed_ms: u64,
    /// The requests, in order. None in a record that only keeps the hold.
    #[n(3)]
    pub requests: Vec<Request>,
}

/// Why bytes are not a record that this code can apply.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadRecord {
    /// A later version wrote it.
    #[error(
        "record has version {found}, this program reads up to {RECORD_VERSION}; start a newer program"
    )]
    Newer {
        /// The version found.
        found: u32,
    },
    /// It holds something that this code does not know, or it is damaged.
    #[error("record cannot be read: {reason}")]
    Unreadable {
        /// What the decoder met.
        reason: String,
    },
}

impl Record {
    /// Returns the bytes of this record.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        minicbor::to_vec(self).expect("writing to memory does not fail")
    }

    /// Tells whether this record, written in the term `epoch`, begins the term that follows
    /// `current`. A record of any other term than the current one is void unless it does.
    #[must_use]
    pub fn begins(&self, epoch: Epoch, current: Epoch) -> bool {
        let first = self.requests.first().map(|request| &request.command);
        let takes_over = matches!(first, Some(Command::TakeOver(take)) if take.epoch == epoch);
        takes_over && epoch.0 == current.0 + 1
    }

    /// Returns the record that the bytes hold.
    ///
    /// # Errors
    /// [`BadRecord`] when a newer version wrote it or it cannot be read.
    pub fn decode(bytes: &[u8]) -> Result<Self, BadRecord> {
        #[derive(Decode)]
        struct Head {
            #[n(0)]
            version: u32,
        }
        let unreadable =
            |error: minicbor::decode::Error| BadRecord::Unreadable { reason: error.to_string() };
        let head: Head = minicbor::decode(bytes).map_err(unreadable)?;
        if head.version > RECORD_VERSION {
            return Err(BadRecord::Newer { found: head.version });
        }
        minicbor::decode(bytes).map_err(unreadable)
    }
}

/// A request together with its bytes, as [`assemble`] takes them: whoever has the time makes it.
#[derive(Clone, Debug)]
pub struct Encoded {
    request: Request,
    bytes: Vec<u8>,
}

impl Encoded {
    /// Encodes a request.
    #[must_use]
    pub fn new(request: Request) -> Self {
        let mut bytes = Vec::with_capacity(room_for(&request.command));
        minicbor::encode(&request, &mut bytes).expect("writing to memory does not fail");
        Self { request, bytes }
    }

    /// Returns the request.
    #[must_use]
    pub fn request(&self) -> &Request {
        &self.request
    }

    /// Returns the request and lets its bytes go.
    #[must_use]
    pub fn into_request(self) -> Request {
        self.request
    }

    /// Returns the request as a record holds it.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Returns about how many bytes a request with this command takes.
fn room_for(command: &Command) -> usize {
    let each = if let Command::Enqueue(enqueue) = command {
        enqueue.jobs.iter().map(|job| job.payload.len() + JOB_BYTES).sum()
    } else if let Command::Settle(settle) = command {
        settle.settlements.len() * SETTLEMENT_BYTES
    } else {
        0
    };
    each + REQUEST_BYTES
}

/// Bytes that a request takes beside what it has many of, about.
const REQUEST_BYTES: usize = 128;
/// Bytes that a job takes beside its payload, about.
const JOB_BYTES: usize = 64;
/// Bytes that a settlement without a result takes, about.
const SETTLEMENT_BYTES: usize = 24;
/// Bytes that come before the requests, at most.
const HEAD_BYTES_MAX: usize = 40;

/// Returns the bytes of the record that holds these encoded requests: the same as
/// [`Record::encode`] gives, without encoding them again.
#[must_use]
pub fn assemble<'a>(
    at: Timestamp,
    elapsed_ms: u64,
    requests: impl ExactSizeIterator<Item = &'a [u8]> + Clone,
) -> Vec<u8> {
    let bytes: usize = requests.clone().map(<[u8]>::len).sum();
    let mut encoder = Encoder::new(Vec::with_capacity(bytes + HEAD_BYTES_MAX));
    let head = encoder
        .array(4)
        .and_then(|e| e.u32(RECORD_VERSION))
        .and_then(|e| e.u64(at.0))
        .and_then(|e| e.u64(elapsed_ms))
        .and_then(|e| e.array(requests.len() as u64));
    head.expect("writing to memory does not fail");
    let mut bytes = encoder.into_writer();
    for request in requests {
        bytes.extend_from_slice(request);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{Name, RequestId};

    #[test]
    fn a_record_put_together_from_encoded_requests_is_the_record() {
        let request = |id: &str| Request {
            id: RequestId::parse(id).ok(),
            actor: Name::parse("ana").ok(),
            command: Command::Tick,
        };
        let requests: Vec<Request> = [request("r-1"), request("r-2")].into();
        let encoded: Vec<Encoded> = requests.iter().cloned().map(Encoded::new).collect();
        let assembled = assemble(Timestamp(7), 3, encoded.iter().map(Encoded::bytes));
        let record = Record { version: RECORD_VERSION, at: Timestamp(7), elapsed_ms: 3, requests };
        assert_eq!(assembled, record.encode());
        assert_eq!(Record::decode(&assembled), Ok(record));
    }

    #[test]
    fn a_record_of_a_newer_version_or_with_an_unknown_command_is_never_skipped() {
        let newer = Record {
            version: RECORD_VERSION + 1,
            at: Timestamp(0),
            elapsed_ms: 0,
            requests: Vec::new(),
        };
        assert_eq!(
            Record::decode(&newer.encode()),
            Err(BadRecord::Newer { found: RECORD_VERSION + 1 })
        );
        // A request whose command has the number 9,999.
        let unknown: &[u8] = &[0x83, 0xf6, 0xf6, 0x82, 0x19, 0x27, 0x0f, 0x80];
        let body = assemble(Timestamp(0), 0, [unknown].into_iter());
        assert!(matches!(Record::decode(&body), Err(BadRecord::Unreadable { .. })));
    }
}
