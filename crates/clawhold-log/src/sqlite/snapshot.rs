//! Snapshots in the database: pieces first, one short transaction each, then the mark that makes
//! them visible.
//!
//! What is not marked as whole, a snapshot that was never finished or one that is retired, is
//! deleted in short transactions once another is whole.

use rusqlite::{Connection, OptionalExtension, Transaction, params};

use super::{Decision, SnapshotMark, SqliteLog, failure, head, number, row};
use crate::check::check_snapshot;
use crate::limits::{RETIRE_CHUNKS_MAX, SNAPSHOT_GENERATIONS};
use crate::snapshot::{Cutter, Joiner};
use crate::{Epoch, FrameError, LogError, Number, Snapshot};

/// A snapshot that is marked as whole.
#[derive(Clone, Copy, Debug)]
pub(super) struct Generation {
    id: i64,
    pub(super) at: Number,
    epoch: Epoch,
}

impl Generation {
    pub(super) fn mark(self) -> SnapshotMark {
        SnapshotMark { id: self.id, at: self.at, epoch: self.epoch }
    }
}

/// Stores a snapshot; see [`Log::put_snapshot`](crate::Log::put_snapshot).
pub(super) fn put(
    log: &mut SqliteLog,
    at: Number,
    epoch: Epoch,
    chunks: &mut dyn Iterator<Item = Vec<u8>>,
) -> Result<(), LogError> {
    let id = log.writing_again(|transaction| begin(transaction, at, epoch))?;
    let filled = fill(log, id, &mut Cutter::new(at, epoch, chunks));
    if filled.is_err() {
        // What cannot be deleted here is deleted after the next snapshot.
        while let Ok(true) = log.writing_again(|transaction| delete_step(transaction, id)) {}
        return filled;
    }
    while log.writing_again(retire_step)? {}
    Ok(())
}

fn fill(log: &mut SqliteLog, id: i64, cutter: &mut Cutter<'_>) -> Result<(), LogError> {
    let at = cutter.at();
    for (encoded, place) in cutter.zip(0_u32..) {
        log.writing_again(|transaction| add(transaction, id, place, &encoded))?;
    }
    // Reading the generations back takes time, so it is done before the write lock is taken.
    let damaged = log.reading(damaged)?;
    log.writing_again(|transaction| finish(transaction, id, at, &damaged))
}

/// Returns the newest snapshot that is intact.
pub(super) fn latest(transaction: &Transaction<'_>) -> Result<Option<Snapshot>, LogError> {
    let mut damage = None;
    for generation in generations(transaction)? {
        match of(transaction, generation.mark())? {
            Ok(snapshot) => return Ok(Some(snapshot)),
            Err(source) => damage = damage.or(Some(source)),
        }
    }
    let first = head(transaction)?.first;
    match damage {
        Some(source) if Number(1) < first => Err(LogError::SnapshotsDamaged { first, source }),
        Some(_) | None => Ok(None),
    }
}

/// Returns a snapshot, or what is wrong with it.
pub(super) fn of(
    transaction: &Transaction<'_>,
    mark: SnapshotMark,
) -> Result<Result<Snapshot, FrameError>, LogError> {
    let mut joiner = Joiner::new(mark.at, mark.epoch);
    let pushed = each_chunk(transaction, mark.id, |encoded| joiner.push(encoded))?;
    Ok(pushed.and_then(|()| joiner.finish()))
}

/// Returns the snapshots that are marked as whole, newest first.
pub(super) fn generations(connection: &Connection) -> Result<Vec<Generation>, LogError> {
    let sql = "SELECT id, at, epoch FROM snapshot WHERE whole = 1 ORDER BY id DESC";
    let mut select = connection.prepare_cached(sql).map_err(failure)?;
    let rows = select.query_map([], |row| {
        let epoch = Epoch(number(row.get(2)?).0);
        Ok(Generation { id: row.get(0)?, at: number(row.get(1)?), epoch })
    });
    rows.map_err(failure)?.collect::<Result<_, _>>().map_err(failure)
}

fn begin(
    transaction: &Transaction<'_>,
    at: Number,
    epoch: Epoch,
) -> Result<Decision<i64>, LogError> {
    check_place(transaction, at)?;
    let sql = "INSERT INTO snapshot (at, epoch, whole) VALUES (?1, ?2, 0)";
    transaction.execute(sql, [row(at.0), row(epoch.0)]).map_err(failure)?;
    Ok(Decision::Commit(transaction.last_insert_rowid()))
}

/// Adds a piece, unless the snapshot was taken away meanwhile.
fn add(
    transaction: &Transaction<'_>,
    id: i64,
    place: u32,
    encoded: &[u8],
) -> Result<Decision<()>, LogError> {
    let sql = "INSERT INTO chunk (snapshot, place, frame)
               SELECT ?1, ?2, ?3 WHERE EXISTS (SELECT 1 FROM snapshot WHERE id = ?1)";
    let added = transaction.execute(sql, params![id, place, encoded]).map_err(failure)?;
    if added == 0 {
        return Err(LogError::SnapshotDisplaced);
    }
    Ok(Decision::Commit(()))
}

/// Makes the snapshot visible, and hides those that are surplus. Of the others the damaged ones
/// are surplus first.
fn finish(
    transaction: &Transaction<'_>,
    id: i64,
    at: Number,
    damaged: &[i64],
) -> Result<Decision<()>, LogError> {
    check_place(transaction, at)?;
    let hide = "UPDATE snapshot SET whole = 0 WHERE id = ?1";
    for generation in damaged {
        transaction.execute(hide, [generation]).map_err(failure)?;
    }
    for surplus in generations(transaction)?.iter().skip(SNAPSHOT_GENERATIONS - 1) {
        transaction.execute(hide, [surplus.id]).map_err(failure)?;
    }
    let show = "UPDATE snapshot SET whole = 1 WHERE id = ?1";
    if transaction.execute(show, [id]).map_err(failure)? == 0 {
        return Err(LogError::SnapshotDisplaced);
    }
    Ok(Decision::Commit(()))
}

/// Deletes a few pieces of a snapshot that is older than the newest whole one and not whole
/// itself; returns whether there was one.
fn retire_step(transaction: &Transaction<'_>) -> Result<Decision<bool>, LogError> {
    let sql = "SELECT id FROM snapshot WHERE whole = 0
               AND id < (SELECT max(id) FROM snapshot WHERE whole = 1) LIMIT 1";
    let found = transaction.query_row(sql, [], |row| row.get(0)).optional().map_err(failure)?;
    match found {
        Some(id) => delete_step(transaction, id),
        None => Ok(Decision::Leave(false)),
    }
}

/// Deletes a few pieces of a snapshot that is not whole, or the snapshot if it has none left;
/// returns whether there was anything.
fn delete_step(transaction: &Transaction<'_>, id: i64) -> Result<Decision<bool>, LogError> {
    let pieces = "DELETE FROM chunk WHERE rowid IN
                  (SELECT rowid FROM chunk WHERE snapshot = ?1 LIMIT ?2)
                  AND NOT EXISTS (SELECT 1 FROM snapshot WHERE id = ?1 AND whole = 1)";
    let mut deleted =
        transaction.execute(pieces, params![id, RETIRE_CHUNKS_MAX]).map_err(failure)?;
    if deleted == 0 {
        let mark = "DELETE FROM snapshot WHERE id = ?1 AND whole = 0";
        deleted = transaction.execute(mark, [id]).map_err(failure)?;
    }
    Ok(if deleted == 0 { Decision::Leave(false) } else { Decision::Commit(true) })
}

fn damaged(transaction: &Transaction<'_>) -> Result<Vec<i64>, LogError> {
    let mut damaged = Vec::new();
    for generation in generations(transaction)? {
        let mut joiner = Joiner::new(generation.at, generation.epoch);
        let checked =
            each_chunk(transaction, generation.id, |encoded| joiner.check(encoded).map(drop))?;
        if checked.and_then(|()| joiner.finish()).is_err() {
            damaged.push(generation.id);
        }
    }
    Ok(damaged)
}

/// Shows each piece of a snapshot to `take` until one is refused.
fn each_chunk(
    transaction: &Transaction<'_>,
    id: i64,
    mut take: impl FnMut(&[u8]) -> Result<(), FrameError>,
) -> Result<Result<(), FrameError>, LogError> {
    let sql = "SELECT frame FROM chunk WHERE snapshot = ?1 ORDER BY place";
    let mut select = transaction.prepare_cached(sql).map_err(failure)?;
    let mut rows = select.query([id]).map_err(failure)?;
    while let Some(row) = rows.next().map_err(failure)? {
        let encoded = row.get_ref(0).map_err(failure)?;
        let Ok(encoded) = encoded.as_blob() else { return Ok(Err(FrameError::Foreign)) };
        if let Err(error) = take(encoded) {
            return Ok(Err(error));
        }
    }
    Ok(Ok(()))
}

fn check_place(connection: &Connection, at: Number) -> Result<(), LogError> {
    let newest = generations(connection)?.first().map_or(Number(0), |kept| kept.at);
    check_snapshot(at, newest, head(connection)?.last)
}
