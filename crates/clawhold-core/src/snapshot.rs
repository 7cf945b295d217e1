//! The whole state as bytes, and its hash.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::convert::Infallible;
use core::fmt::Write as _;

use minicbor::encode::Write;
use minicbor::{Decode, Encode};
use sha2::{Digest, Sha256};

use crate::automation::Automation;
use crate::job::Jobs;
use crate::record::BadRecord;
use crate::request::Requests;
use crate::role::Roles;
use crate::session::Sessions;
use crate::state::{ActiveServer, State};
use crate::stream::Streams;
use crate::units::{Epoch, Position};

/// The version of the snapshot format that this code writes.
pub const SNAPSHOT_VERSION: u32 = 2;

#[derive(Encode)]
struct Written<'a> {
    #[n(0)]
    version: u32,
    #[n(1)]
    state: &'a State,
}

/// What the hash of a state covers: all but the moment, which passes between entries as well.
#[derive(Encode)]
struct Hashed<'a> {
    #[n(0)]
    position: Position,
    #[n(1)]
    epoch: Epoch,
    #[n(2)]
    active: &'a Option<ActiveServer>,
    #[n(3)]
    sessions: &'a Sessions,
    #[n(4)]
    roles: &'a Roles,
    #[n(5)]
    jobs: &'a Jobs,
    #[n(6)]
    streams: &'a Streams,
    #[n(7)]
    requests: &'a Requests,
    #[n(8)]
    automation: Option<&'a Automation>,
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
        let mut bytes = Vec::new();
        let Ok(()) = write(self, &mut bytes);
        bytes
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

    /// Returns a hash of everything that is true at the last entry's position, but for the time
    /// that has passed since. At one position it is equal on every server.
    #[must_use]
    pub fn hash(&self) -> String {
        let hashed = Hashed {
            position: self.last.position,
            epoch: self.epoch,
            active: &self.active,
            sessions: &self.sessions,
            roles: &self.roles,
            jobs: &self.jobs,
            streams: &self.streams,
            requests: &self.requests,
            automation: Some(&self.automation).filter(|a| **a != Automation::default()),
        };
        let mut hashing = Hashing::default();
        minicbor::encode(hashed, &mut hashing).expect("a digest takes every byte");
        let digest = hashing.0.finalize();
        digest.iter().fold(String::with_capacity(64), |mut text, byte| {
            write!(text, "{byte:02x}").expect("writing to memory does not fail");
            text
        })
    }
}

/// Writes a state's snapshot as it comes.
///
/// # Errors
/// When `to` takes no more.
pub(crate) fn write<W: Write>(state: &State, to: W) -> Result<(), W::Error> {
    let written = Written { version: SNAPSHOT_VERSION, state };
    match minicbor::encode(written, to) {
        Ok(()) => Ok(()),
        Err(error) => Err(error.into_write().expect("a state can be written whole")),
    }
}

/// A digest over everything that is written to it.
#[derive(Default)]
pub(crate) struct Hashing(pub(crate) Sha256);

impl Write for Hashing {
    type Error = Infallible;

    fn write_all(&mut self, bytes: &[u8]) -> Result<(), Infallible> {
        self.0.update(bytes);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Timestamp;

    #[test]
    fn time_that_passes_between_entries_leaves_the_hash_alone() {
        let mut state = State::default();
        let before = state.hash();
        state.pass(Timestamp(1_796_054_400_000), 700);
        assert_eq!(state.hash(), before);
    }
}
