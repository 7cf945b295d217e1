//! The newest record that this process knows to be confirmed, shared by its handles.
//!
//! A database can be replaced behind a server's back: by a replica that lagged, or by an older
//! copy. Its connections break then, and with every connection that is made the record is looked
//! for again. It lies in memory, as it has to be newer than anything that a crash leaves.

use std::sync::Mutex;

use super::address::Address;
use crate::{Epoch, Head, LogError, Number, OpenError};

/// The bytes of a frame that tell it from any other: numbers, writer, length and checksum.
pub(super) const MARK_BYTES: usize = 38;

/// The newest confirmed record.
#[derive(Debug, Default)]
pub(super) struct Seen(Mutex<Option<Confirmed>>);

/// What is known of a confirmed record.
#[derive(Clone, Debug)]
pub(super) struct Confirmed {
    pub(super) number: Number,
    epoch: Epoch,
    mark: Vec<u8>,
}

impl Seen {
    /// Notes a record that was appended or read.
    pub(super) fn note(&self, number: Number, epoch: Epoch, frame: &[u8]) {
        let mut kept = self.0.lock().expect("no holder of the lock panics");
        if kept.as_ref().is_none_or(|kept| kept.number < number) {
            let mark = frame[..MARK_BYTES.min(frame.len())].to_vec();
            *kept = Some(Confirmed { number, epoch, mark });
        }
    }

    /// Returns the newest.
    pub(super) fn newest(&self) -> Option<Confirmed> {
        self.0.lock().expect("no holder of the lock panics").clone()
    }
}

impl Confirmed {
    /// Refuses a log that ends before this record.
    pub(super) fn check_end(&self, address: &Address, head: Head) -> Result<(), LogError> {
        if self.number <= head.last {
            return Ok(());
        }
        Err(self.rewound(address, format!("ends at record {}", head.last)))
    }

    /// Refuses a log that does not hold this record any more. `mark` is the beginning of what
    /// stands at its number.
    pub(super) fn check(
        &self,
        address: &Address,
        head: Head,
        mark: Option<&[u8]>,
    ) -> Result<(), LogError> {
        self.check_end(address, head)?;
        let found = if head.epoch < self.epoch {
            format!("is in term {} again, after {}", head.epoch, self.epoch)
        } else if self.number < head.first || mark == Some(&self.mark) {
            return Ok(());
        } else {
            "holds another record in its place".to_owned()
        };
        Err(self.rewound(address, found))
    }

    fn rewound(&self, address: &Address, found: String) -> LogError {
        OpenError::Rewound { store: address.shown.clone(), confirmed: self.number, found }.into()
    }
}
