//! The state as it was at one entry, to be read elsewhere while the state goes on.

use alloc::collections::BTreeMap;
use alloc::string::String;

use minicbor::encode::Write;

use crate::State;
use crate::audit::{Audit, audit};
use crate::beat::Beats;
use crate::job::{Counts, Jobs};
use crate::queue::QueueId;
use crate::snapshot;
use crate::units::{Epoch, Name, Position, Served};

/// The state as it was at one entry.
///
/// Making one costs little: it shares with the state whatever there is in large numbers, and
/// leaves out the indexes, which follow from the rest.
#[derive(Clone, Debug)]
pub struct Frozen {
    state: State,
    /// The counts that the indexes left out had of each queue.
    counts: BTreeMap<QueueId, Counts>,
}

impl State {
    /// Returns the state as it is now, to be read elsewhere.
    #[must_use]
    pub fn freeze(&self) -> Frozen {
        let queues = self.jobs.index.queues.iter();
        let counts = queues.map(|(id, queue)| (*id, queue.counts)).collect();
        let jobs = Jobs { kept: self.jobs.kept.clone(), index: Default::default() };
        let state = State {
            last: self.last,
            epoch: self.epoch,
            active: self.active.clone(),
            sessions: self.sessions.clone(),
            roles: self.roles.clone(),
            jobs,
            streams: self.streams.clone(),
            requests: self.requests.clone(),
            automation: self.automation.clone(),
        };
        Frozen { state, counts }
    }
}

impl Frozen {
    /// Returns the position of the last entry.
    #[must_use]
    pub fn position(&self) -> Position {
        self.state.last.position
    }

    /// Returns the term that was current.
    #[must_use]
    pub fn epoch(&self) -> Epoch {
        self.state.epoch
    }

    /// Returns the hash of the state; see [`State::hash`].
    #[must_use]
    pub fn hash(&self) -> String {
        self.state.hash()
    }

    /// Gives `take` the bytes from which [`State::restore`] makes the state, as they come.
    ///
    /// # Errors
    /// What `take` says when it takes no more.
    pub fn write<E>(&self, take: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        snapshot::write(&self.state, Taking(take))
    }

    /// Compares the record with what the workers reported, as [`audit`] does; the indexes are made
    /// anew, and what the live ones counted must be what these count.
    #[must_use]
    pub fn audit(self, beats: &Beats, queue: Option<&Name>, now: Served) -> Audit {
        let Self { mut state, counts } = self;
        state.jobs = Jobs::of(state.jobs.kept);
        let mut found = audit(&state, beats, queue, now);
        for (id, counted) in counts {
            found.compare(&state.jobs, id, counted, queue);
        }
        found
    }
}

struct Taking<F>(F);

impl<E, F: FnMut(&[u8]) -> Result<(), E>> Write for Taking<F> {
    type Error = E;

    fn write_all(&mut self, bytes: &[u8]) -> Result<(), E> {
        (self.0)(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::tests::play;

    #[test]
    fn a_frozen_state_stays_as_it_was_and_reads_back_whole() {
        let (mut world, _) = play(
            "
            0 open ana q
            0 add q a b c
            1 claim ana q
            ",
        );
        let frozen = world.state.freeze();
        let (hash, bytes) = (world.state.hash(), world.state.snapshot());
        world.play("2 add q d");
        world.play("3 settle ana done:1/1");
        assert_ne!(world.state.hash(), hash);
        assert_eq!(frozen.hash(), hash);
        let mut written = alloc::vec::Vec::new();
        let Ok(()) = frozen.write(|bytes| {
            written.extend_from_slice(bytes);
            Ok::<(), core::convert::Infallible>(())
        });
        assert_eq!(written, bytes);
        assert_eq!(State::restore(&written).unwrap().hash(), hash);
    }

    #[test]
    fn an_audit_elsewhere_finds_what_the_live_indexes_have_lost() {
        let (mut world, _) = play("0 open ana q\n0 add q a b");
        assert!(world.state.freeze().audit(&Beats::default(), None, Served(1)).is_clean());
        let queue = world.state.jobs.index.queues.values_mut().next().unwrap();
        queue.counts.queued -= 1;
        let found = world.state.freeze().audit(&Beats::default(), None, Served(1));
        assert_eq!(found.mismatch_count, 1);
        assert_eq!(
            found.mismatches[0].detail,
            "the index counts 1 live and 0 kept, there are 2 and 0"
        );
    }
}
