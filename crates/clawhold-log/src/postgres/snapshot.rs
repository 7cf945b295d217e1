//! Snapshots in the database: pieces first, one short transaction each, then the mark that makes
//! them visible.
//!
//! What is not marked as whole, a snapshot that was never finished or one that is retired, is
//! deleted in short transactions once another is whole. Whoever reads one sees the database as it
//! was when the reading began, so a retirement meanwhile tears nothing.

use tokio_postgres::types::Type;
use tokio_postgres::{Client, GenericClient, Transaction};

use super::address::Address;
use super::records::{head_of, number, row};
use super::trouble::Trouble;
use super::{PostgresLog, Work};
use crate::check::check_snapshot;
use crate::limits::{RETIRE_CHUNKS_MAX, SNAPSHOT_GENERATIONS, SNAPSHOT_PAGE_CHUNKS};
use crate::snapshot::{Cutter, Joiner};
use crate::{Epoch, FrameError, Head, LogError, Number, Snapshot};

/// A snapshot that is marked as whole.
#[derive(Clone, Copy, Debug)]
pub(super) struct Generation {
    id: i64,
    pub(super) at: Number,
    epoch: Epoch,
}

/// Stores a snapshot; see [`Log::put_snapshot`](crate::Log::put_snapshot).
pub(super) fn put(
    log: &mut PostgresLog,
    at: Number,
    epoch: Epoch,
    chunks: &mut dyn Iterator<Item = Vec<u8>>,
) -> Result<(), LogError> {
    let id = log.on(async |work, address| begin(&work.session.client, address, at, epoch).await)?;
    let filled = fill(log, id, &mut Cutter::new(at, epoch, chunks));
    if filled.is_err() {
        // What cannot be deleted here is deleted after the next snapshot.
        while let Ok(true) =
            log.on(async |work, address| delete_step(&work.session.client, address, id).await)
        {
        }
        return filled;
    }
    while log.on(async |work, address| retire_step(&work.session.client, address).await)? {}
    Ok(())
}

fn fill(log: &mut PostgresLog, id: i64, cutter: &mut Cutter<'_>) -> Result<(), LogError> {
    let at = cutter.at();
    for (encoded, place) in cutter.zip(0_i32..) {
        log.on(async |work, address| {
            let sql = address.sql(
                "INSERT INTO @chunk (snapshot, place, frame)
                 SELECT id, $2, $3 FROM @snapshot WHERE id = $1",
            );
            let values =
                [(&id as _, Type::INT8), (&place as _, Type::INT4), (&encoded as _, Type::BYTEA)];
            match work.session.client.execute_typed(&sql, &values).await? {
                0 => Err(LogError::SnapshotDisplaced.into()),
                _ => Ok(()),
            }
        })?;
    }
    // Reading the generations back takes time, so it is done before anything is locked.
    let damaged = damaged(log)?;
    log.on(async |work, address| finish(work, address, id, at, &damaged).await)
}

/// Returns the newest snapshot that is intact.
pub(super) fn latest(log: &mut PostgresLog) -> Result<Option<Snapshot>, LogError> {
    for _ in 0..LOOKS_MAX {
        match latest_once(log) {
            // Newer ones have taken its place.
            Err(LogError::SnapshotDisplaced) => {}
            looked => return looked,
        }
    }
    Err(LogError::SnapshotDisplaced)
}

/// How often a reader whose snapshot is replaced by newer ones begins again.
const LOOKS_MAX: u32 = 10;

fn latest_once(log: &mut PostgresLog) -> Result<Option<Snapshot>, LogError> {
    let mut damage = None;
    for generation in kept(log)? {
        match join(log, generation, true)? {
            Ok(snapshot) => return Ok(Some(snapshot)),
            Err(source) => damage = damage.or(Some(source)),
        }
    }
    let first = log.on(async |work, address| head(&work.session.client, address).await)?.first;
    match damage {
        Some(source) if Number(1) < first => Err(LogError::SnapshotsDamaged { first, source }),
        Some(_) | None => Ok(None),
    }
}

fn damaged(log: &mut PostgresLog) -> Result<Vec<i64>, LogError> {
    let mut damaged = Vec::new();
    for generation in kept(log)? {
        match join(log, generation, false) {
            Ok(Err(_)) => damaged.push(generation.id),
            Ok(Ok(_)) | Err(LogError::SnapshotDisplaced) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(damaged)
}

fn kept(log: &mut PostgresLog) -> Result<Vec<Generation>, LogError> {
    log.on(async |work, address| generations(&work.session.client, address).await)
}

/// Reads a snapshot, a few pieces at a time, and keeps it if `keep` says so.
///
/// The snapshot may be retired meanwhile; then it is not called damaged but gone, which is as good
/// as there is: a newer one is whole.
fn join(
    log: &mut PostgresLog,
    generation: Generation,
    keep: bool,
) -> Result<Result<Snapshot, FrameError>, LogError> {
    let mut joiner = Joiner::new(generation.at, generation.epoch);
    let mut place = 0_i32;
    loop {
        let pieces = log.on(async |work, address| {
            pieces(&work.session.client, address, generation.id, place).await
        })?;
        let Some(pieces) = pieces else { return Err(LogError::SnapshotDisplaced) };
        let count = pieces.len();
        for piece in pieces {
            let taken = if keep { joiner.push(&piece) } else { joiner.check(&piece).map(drop) };
            if let Err(error) = taken {
                return Ok(Err(error));
            }
        }
        place += i32::try_from(count).unwrap_or(i32::MAX);
        if i64::try_from(count).unwrap_or(i64::MAX) < SNAPSHOT_PAGE_CHUNKS {
            return Ok(joiner.finish());
        }
    }
}

/// Returns the next pieces of a snapshot; nothing when it is not whole any more.
async fn pieces(
    client: &Client,
    address: &Address,
    id: i64,
    place: i32,
) -> Result<Option<Vec<Vec<u8>>>, Trouble> {
    // One statement is one view: the pieces are all there if the mark is.
    let sql = address.sql(
        "SELECT frame FROM @snapshot LEFT JOIN LATERAL
             (SELECT place, frame FROM @chunk WHERE snapshot = $1 AND place >= $2
              ORDER BY place LIMIT $3) piece ON true
         WHERE id = $1 AND whole ORDER BY place",
    );
    let values = [
        (&id as _, Type::INT8),
        (&place as _, Type::INT4),
        (&SNAPSHOT_PAGE_CHUNKS as _, Type::INT8),
    ];
    let rows = client.query_typed(&sql, &values).await?;
    if rows.is_empty() {
        return Ok(None);
    }
    let frames = rows.iter().map(|row| row.try_get::<_, Option<Vec<u8>>>(0));
    let frames: Vec<_> = frames.collect::<Result<_, _>>()?;
    Ok(Some(frames.into_iter().flatten().collect()))
}

/// Returns the snapshots that are marked as whole, newest first.
pub(super) async fn generations(
    client: &impl GenericClient,
    address: &Address,
) -> Result<Vec<Generation>, Trouble> {
    let sql = address.sql("SELECT id, at, epoch FROM @snapshot WHERE whole ORDER BY id DESC");
    let rows = client.query_typed(&sql, &[]).await?;
    rows.iter()
        .map(|row| {
            let epoch = Epoch(number(row.try_get(2)?).0);
            Ok(Generation { id: row.try_get(0)?, at: number(row.try_get(1)?), epoch })
        })
        .collect()
}

async fn head(client: &impl GenericClient, address: &Address) -> Result<Head, Trouble> {
    let sql = address.sql("SELECT last, epoch, first FROM @head WHERE one = 1");
    head_of(&client.query_typed_one(&sql, &[]).await?)
}

async fn begin(
    client: &Client,
    address: &Address,
    at: Number,
    epoch: Epoch,
) -> Result<i64, Trouble> {
    check_place(client, address, at).await?;
    let sql =
        address.sql("INSERT INTO @snapshot (at, epoch, whole) VALUES ($1, $2, false) RETURNING id");
    let (at, epoch) = (row(at.0), row(epoch.0));
    let values = [(&at as _, Type::INT8), (&epoch as _, Type::INT8)];
    Ok(client.query_typed_one(&sql, &values).await?.try_get(0)?)
}

/// Makes the snapshot visible, and hides those that are surplus. Of the others the damaged ones
/// are surplus first.
async fn finish(
    work: &mut Work,
    address: &Address,
    id: i64,
    at: Number,
    damaged: &[i64],
) -> Result<(), Trouble> {
    let transaction = work.session.client.transaction().await?;
    // Two that end at once: one waits for the other.
    transaction
        .batch_execute(&address.sql("SELECT 1 FROM @store WHERE one = 1 FOR UPDATE"))
        .await?;
    check_place(&transaction, address, at).await?;
    for generation in damaged {
        mark(&transaction, address, *generation, false).await?;
    }
    let kept = generations(&transaction, address).await?;
    for surplus in kept.iter().skip(SNAPSHOT_GENERATIONS - 1) {
        mark(&transaction, address, surplus.id, false).await?;
    }
    if !mark(&transaction, address, id, true).await? {
        return Err(LogError::SnapshotDisplaced.into());
    }
    Ok(transaction.commit().await?)
}

async fn mark(
    transaction: &Transaction<'_>,
    address: &Address,
    id: i64,
    whole: bool,
) -> Result<bool, Trouble> {
    let sql = address.sql("UPDATE @snapshot SET whole = $2 WHERE id = $1");
    let values = [(&id as _, Type::INT8), (&whole as _, Type::BOOL)];
    Ok(transaction.execute_typed(&sql, &values).await? == 1)
}

/// Deletes a few pieces of a snapshot that is older than the newest whole one and not whole
/// itself; returns whether there was one.
async fn retire_step(client: &Client, address: &Address) -> Result<bool, Trouble> {
    let sql = address.sql(
        "SELECT id FROM @snapshot WHERE NOT whole
             AND id < (SELECT max(id) FROM @snapshot WHERE whole) LIMIT 1",
    );
    match client.query_typed_opt(&sql, &[]).await? {
        Some(row) => delete_step(client, address, row.try_get(0)?).await,
        None => Ok(false),
    }
}

/// Deletes a few pieces of a snapshot that is not whole, or the snapshot if it has none left;
/// returns whether there was anything.
async fn delete_step(client: &Client, address: &Address, id: i64) -> Result<bool, Trouble> {
    let sql = address.sql(
        "DELETE FROM @chunk WHERE snapshot = $1 AND place IN
             (SELECT place FROM @chunk WHERE snapshot = $1 LIMIT $2)
             AND NOT EXISTS (SELECT 1 FROM @snapshot WHERE id = $1 AND whole)",
    );
    let most = i64::from(RETIRE_CHUNKS_MAX);
    let values = [(&id as _, Type::INT8), (&most as _, Type::INT8)];
    if client.execute_typed(&sql, &values).await? > 0 {
        return Ok(true);
    }
    let sql = address.sql("DELETE FROM @snapshot WHERE id = $1 AND NOT whole");
    Ok(client.execute_typed(&sql, &[(&id as _, Type::INT8)]).await? > 0)
}

async fn check_place(
    client: &impl GenericClient,
    address: &Address,
    at: Number,
) -> Result<(), Trouble> {
    let kept = generations(client, address).await?;
    let newest = kept.first().map_or(Number(0), |kept| kept.at);
    Ok(check_snapshot(at, newest, head(client, address).await?.last)?)
}
