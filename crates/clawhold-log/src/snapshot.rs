//! Cutting a snapshot into checked pieces, and joining them again.

use crate::frame::{self, Chunk};
use crate::limits::SNAPSHOT_CHUNK_BYTES_MAX;
use crate::{Epoch, FrameError, Number, Snapshot};

/// Yields the encoded pieces of a snapshot: each of the largest size but the last, which says
/// so. An empty snapshot is one empty piece.
pub(crate) struct Cutter<'a> {
    at: Number,
    epoch: Epoch,
    place: u32,
    chunks: &'a mut dyn Iterator<Item = Vec<u8>>,
    pending: Vec<u8>,
    ended: bool,
}

impl<'a> Cutter<'a> {
    pub(crate) fn new(
        at: Number,
        epoch: Epoch,
        chunks: &'a mut dyn Iterator<Item = Vec<u8>>,
    ) -> Self {
        Self { at, epoch, place: 0, chunks, pending: Vec::new(), ended: false }
    }

    /// Returns the last record that the snapshot contains.
    #[cfg(any(feature = "postgres", feature = "sqlite"))]
    pub(crate) fn at(&self) -> Number {
        self.at
    }

    /// Collects more than one piece's worth, so that it is known whether the next is the last.
    fn fill(&mut self) {
        while self.pending.len() <= SNAPSHOT_CHUNK_BYTES_MAX {
            let Some(more) = self.chunks.next() else { return };
            self.pending.extend_from_slice(&more);
        }
    }
}

impl Iterator for Cutter<'_> {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        if self.ended {
            return None;
        }
        self.fill();
        let rest = self.pending.split_off(self.pending.len().min(SNAPSHOT_CHUNK_BYTES_MAX));
        let body = std::mem::replace(&mut self.pending, rest);
        self.ended = self.pending.is_empty();
        let (at, epoch, place, last) = (self.at, self.epoch, self.place, self.ended);
        self.place += 1;
        Some(frame::encode_chunk(&Chunk { at, epoch, place, last, body }))
    }
}

/// Takes the pieces of a snapshot in order and refuses any that is damaged or out of place.
pub(crate) struct Joiner {
    snapshot: Snapshot,
    place: u32,
    ended: bool,
}

impl Joiner {
    pub(crate) fn new(at: Number, epoch: Epoch) -> Self {
        Self { snapshot: Snapshot { at, epoch, bytes: Vec::new() }, place: 0, ended: false }
    }

    /// Checks one piece and keeps it.
    pub(crate) fn push(&mut self, encoded: &[u8]) -> Result<(), FrameError> {
        let chunk = self.check(encoded)?;
        self.snapshot.bytes.extend_from_slice(&chunk.body);
        Ok(())
    }

    /// Checks one piece without keeping it.
    pub(crate) fn check(&mut self, encoded: &[u8]) -> Result<Chunk, FrameError> {
        let chunk = frame::decode_chunk(encoded)?;
        let misplaced = |expected, found| Err(FrameError::Misplaced { expected, found });
        if chunk.at != self.snapshot.at {
            return misplaced(self.snapshot.at.0, chunk.at.0);
        }
        if chunk.epoch != self.snapshot.epoch {
            return misplaced(self.snapshot.epoch.0, chunk.epoch.0);
        }
        if chunk.place != self.place || self.ended {
            return misplaced(u64::from(self.place), u64::from(chunk.place));
        }
        self.place += 1;
        self.ended = chunk.last;
        Ok(chunk)
    }

    /// Returns the snapshot if its last piece was seen.
    pub(crate) fn finish(self) -> Result<Snapshot, FrameError> {
        if !self.ended {
            let found = self.snapshot.bytes.len();
            return Err(FrameError::Torn { expected: found.saturating_add(1), found });
        }
        Ok(self.snapshot)
    }
}
