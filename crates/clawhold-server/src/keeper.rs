//! The thread that keeps snapshots: it writes the state as it was at one record, piece by piece,
//! and drops the records that the kept snapshots make needless.
//!
//! It has a handle of its own on the log, so that no append waits for more than one piece. One
//! snapshot is written at a time, and one more may wait. A failure is told and costs nothing but a
//! longer log: the next snapshot is tried when it is due.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SendError, SyncSender, sync_channel};

use clawhold_core::frozen::Frozen;
use clawhold_core::units::RecordNumber;
use clawhold_log::{Epoch, Log, LogError, Number};
use tracing::{info, warn};

use crate::clock;
use clawhold_log::chain;

/// Bytes of one piece.
const PIECE_BYTES: usize = 256 * 1_024;
/// Pieces that may wait to be stored.
const PIECES_MAX: usize = 4;

/// A state to keep, as of one record.
#[derive(Debug)]
pub(crate) struct Snapshot {
    /// The last record that is contained in it.
    pub(crate) at: RecordNumber,
    /// The state after that record.
    pub(crate) state: Frozen,
}

/// The way to the thread.
#[derive(Clone, Debug)]
pub(crate) struct Keep {
    snapshots: SyncSender<Snapshot>,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    busy: AtomicBool,
    /// Bytes of the snapshot that was stored last.
    bytes: AtomicUsize,
}

/// What the thread works with.
#[derive(Debug)]
pub(crate) struct Keeper {
    log: Box<dyn Log>,
    snapshots: Receiver<Snapshot>,
    shared: Arc<Shared>,
}

impl Keep {
    /// Tells whether the thread still has a snapshot to write.
    pub(crate) fn is_busy(&self) -> bool {
        self.shared.busy.load(Ordering::Acquire)
    }

    /// Returns the bytes of the snapshot that was stored last; 0 before there was one.
    pub(crate) fn last_bytes(&self) -> usize {
        self.shared.bytes.load(Ordering::Acquire)
    }

    /// Hands a snapshot over. Waits for the one before.
    pub(crate) fn keep(&self, snapshot: Snapshot) {
        self.shared.busy.store(true, Ordering::Release);
        if self.snapshots.send(snapshot).is_err() {
            warn!("the thread that keeps snapshots is gone");
        }
    }
}

impl Keeper {
    /// Returns the thread's work, and the way to it.
    pub(crate) fn new(log: Box<dyn Log>) -> (Self, Keep) {
        let (sender, snapshots) = sync_channel(0);
        let shared = Arc::<Shared>::default();
        let keep = Keep { snapshots: sender, shared: Arc::clone(&shared) };
        (Self { log, snapshots, shared }, keep)
    }

    /// Works until nobody can ask for a snapshot any more.
    pub(crate) fn run(mut self) {
        while let Ok(snapshot) = self.snapshots.recv() {
            let at = snapshot.at.0;
            let started_ms = clock::now().uptime_ms;
            match self.store(snapshot) {
                Ok(bytes) => {
                    self.shared.bytes.store(bytes, Ordering::Release);
                    let ms = clock::now().uptime_ms.saturating_sub(started_ms);
                    info!(at, bytes, ms, "a snapshot was stored");
                    self.trim(Number(at));
                }
                Err(error) => warn!(at, error = %chain(&error), "a snapshot could not be stored"),
            }
            self.shared.busy.store(false, Ordering::Release);
        }
    }

    /// Stores a snapshot and returns its bytes. One thread writes while the other stores.
    fn store(&mut self, snapshot: Snapshot) -> Result<usize, LogError> {
        let Snapshot { at, state } = snapshot;
        let epoch = Epoch(state.epoch().0);
        let mut bytes = 0;
        let (sender, pieces) = sync_channel(PIECES_MAX);
        std::thread::scope(|scope| {
            scope.spawn(move || {
                // Whoever takes the pieces says why it took no more.
                let _ = cut(&state, &sender);
            });
            let mut pieces = pieces.into_iter().inspect(|piece: &Vec<u8>| bytes += piece.len());
            self.log.put_snapshot(Number(at.0), epoch, &mut pieces)
        })?;
        Ok(bytes)
    }

    /// Drops what the snapshots make needless, a bounded step at a time.
    fn trim(&mut self, upto: Number) {
        loop {
            match self.log.trim(upto) {
                Ok(0) => return,
                Ok(_) => {}
                Err(error) => {
                    warn!(error = %chain(&error), "old records could not be dropped");
                    return;
                }
            }
        }
    }
}

/// Writes the state in pieces.
fn cut(state: &Frozen, to: &SyncSender<Vec<u8>>) -> Result<(), SendError<Vec<u8>>> {
    let mut piece = Vec::with_capacity(PIECE_BYTES);
    state.write(|mut bytes| {
        while piece.len() + bytes.len() > PIECE_BYTES {
            let (fits, rest) = bytes.split_at(PIECE_BYTES - piece.len());
            piece.extend_from_slice(fits);
            bytes = rest;
            to.send(std::mem::replace(&mut piece, Vec::with_capacity(PIECE_BYTES)))?;
        }
        piece.extend_from_slice(bytes);
        Ok(())
    })?;
    to.send(piece)
}
