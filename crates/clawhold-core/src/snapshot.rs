//! The whole state as bytes, and its hash.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write as _;

use minicbor::{Decode, Encode};
use sha2::{Digest, Sha256};

use crate::record::BadRecord;
use crate::state::State;

/// The version of the snapshot format that this code writes.
pub const SNAPSHOT_VERSION: u32 = 1;

#[derive(Encode)]
struct Written<'a> {
    #[n(0)]
    version: u32,
    #[n(1)]
    state: &'a State,
}

#[derive(Decode)]
struct Read {
    #[n(1)]
    state: State,
}

impl State {
    /// Returns the bytes from which [`State::restore`] makes an equal state.
    #[must_use]
    pub fn snapshot(&self) -> Vec<u8> {
        let written = Written { version: SNAPSHOT_VERSION, state: self };
        minicbor::to_vec(written).expect("writing to memory does not fail")
    }

    /// Returns the state that the bytes hold.
    ///
    /// # Errors
    /// [`BadRecord`] when a newer version wrote them or they cannot be read.
    pub fn restore(bytes: &[u8]) -> Result<Self, BadRecord> {
        #[derive(Decode)]
        struct Head {
            #[n(0)]
            version: u32,
        }
        let unreadable =
            |error: minicbor::decode::Error| BadRecord::Unreadable { reason: error.to_string() };
        let head: Head = minicbor::decode(bytes).map_err(unreadable)?;
        if head.version > SNAPSHOT_VERSION {
            return Err(BadRecord::Newer { found: head.version });
        }
        let read: Read = minicbor::decode(bytes).map_err(unreadable)?;
        Ok(read.state)
    }

    /// Returns a hash of the whole state: equal states have equal hashes, on every server.
    #[must_use]
    pub fn hash(&self) -> String {
        let digest = Sha256::digest(self.snapshot());
        digest.iter().fold(String::with_capacity(64), |mut text, byte| {
            write!(text, "{byte:02x}").expect("writing to memory does not fail");
            text
        })
    }
}
