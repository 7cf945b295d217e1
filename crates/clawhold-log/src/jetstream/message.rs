//! A message of the stream of records, and the record in it.
//!
//! A record's number is the sequence of its message, so a message that is missing or foreign
//! shows as a record that is missing or damaged. An appended record carries its number in its
//! envelope as well. A takeover is written wherever the stream ends, and carries number 0; it has
//! a subject of its own, so that the server can refuse it once another has begun.

use bytes::Bytes;

use super::link::Subjects;
use crate::{FrameError, Number, Record, frame};

/// What takeover records carry as their number.
pub(super) const ANYWHERE: Number = Number(0);

/// A message as the stream keeps it.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    /// The sequence of the message.
    pub(super) number: Number,
    pub(super) subject: String,
    pub(super) payload: Bytes,
}

impl Kept {
    /// Returns the record in the message, if it is intact and in its place.
    pub(super) fn record(&self, subjects: &Subjects) -> Result<Record, FrameError> {
        if self.subject == subjects.takeover {
            let record = frame::decode_at(ANYWHERE, &self.payload)?;
            return Ok(Record { number: self.number, ..record });
        }
        frame::decode_at(self.number, &self.payload)
    }
}
