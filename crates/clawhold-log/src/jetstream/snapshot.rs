//! Snapshots in the second stream: pieces first, one message each, then the shelf that names
//! them.
//!
//! A piece is taken only right after the one before, and a shelf only in the place of the one
//! that was read; so a piece that is sent again lands once, and of two snapshots that are made at
//! a time the one that is whole first is kept. Pieces that no shelf names are purged once a later
//! snapshot is whole.

use std::time::Instant;

use async_nats::jetstream::message::StreamMessage;
use futures_util::StreamExt;

use super::link::{Expected, Link, Published, run};
use super::records::{self, last_of, next_of};
use super::shelf::{Generation, Name, Shelf};
use crate::check::check_snapshot;
use crate::limits::{JETSTREAM_PIECE_WAIT_MAX, JETSTREAM_POLL, SNAPSHOT_GENERATIONS};
use crate::snapshot::{Cutter, Joiner};
use crate::{Epoch, FrameError, Head, LogError, Number, Snapshot};

/// How often a reader begins again because what it read was retired meanwhile.
const REREADS_MAX: usize = 10;

/// The shelf as it was read.
struct Placed {
    shelf: Shelf,
    /// The sequence of its message; 0 if there is none.
    sequence: u64,
}

/// Stores a snapshot; see [`Log::put_snapshot`](crate::Log::put_snapshot).
pub(super) fn put(
    link: &Link,
    last: Number,
    at: Number,
    epoch: Epoch,
    chunks: &mut dyn Iterator<Item = Vec<u8>>,
) -> Result<(), LogError> {
    let before = run(placed(link))?;
    let newest = before.shelf.generations.first().map_or(Number(0), |kept| kept.at);
    check_snapshot(at, newest, last)?;
    let begun = run(records::state(link, &link.snapshots))?.last_sequence;
    let drawn = getrandom::u64().map_err(|error| LogError::Engine(Box::new(error)))?;
    let name = Name { begun, drawn };
    let subject = format!("{}{}", link.subjects.piece, name.token());
    let filled = fill(link, &subject, &mut Cutter::new(at, epoch, chunks));
    let finished = filled.and_then(|pieces| {
        let generation = Generation { at, epoch, pieces, name };
        run(finish(link, &before, generation))
    });
    if finished.is_err() {
        // What cannot be purged here is purged after the next snapshot.
        let _ = run(async { link.snapshots.purge().filter(subject).await });
        return finished;
    }
    run(retire(link));
    Ok(())
}

/// Returns the newest snapshot that is intact.
pub(super) async fn latest(link: &Link, head: Head) -> Result<Option<Snapshot>, LogError> {
    let mut read = placed(link).await?;
    for _ in 0..REREADS_MAX {
        let mut damage = None;
        for generation in &read.shelf.generations {
            match of(link, *generation).await? {
                Ok(snapshot) => return Ok(Some(snapshot)),
                Err(source) => damage = damage.or(Some(source)),
            }
        }
        // A snapshot that was retired while it was read is not damaged.
        let again = placed(link).await?;
        if again.sequence != read.sequence {
            read = again;
            continue;
        }
        let first = head.first;
        return match damage {
            Some(source) if Number(1) < first => Err(LogError::SnapshotsDamaged { first, source }),
            Some(_) | None => Ok(None),
        };
    }
    Err(LogError::Busy)
}

/// Returns the last record that is contained in all kept snapshots, if as many are kept as should.
pub(super) async fn contained(link: &Link) -> Result<Option<Number>, LogError> {
    let kept = placed(link).await?.shelf.generations;
    Ok(kept.get(SNAPSHOT_GENERATIONS - 1).map(|older| older.at))
}

async fn placed(link: &Link) -> Result<Placed, LogError> {
    let Some(message) = last_of(link, &link.snapshots, &link.subjects.kept).await? else {
        return Ok(Placed { shelf: Shelf::default(), sequence: 0 });
    };
    let sequence = message.sequence;
    match Shelf::decode(&message.payload) {
        Ok(shelf) => Ok(Placed { shelf, sequence }),
        Err(source) => Err(LogError::Engine(Box::new(source))),
    }
}

/// Sends the pieces, and returns how many.
fn fill(link: &Link, subject: &str, cutter: &mut Cutter<'_>) -> Result<u32, LogError> {
    let mut before = 0;
    let mut count = 0;
    for piece in cutter {
        before = run(send(link, subject, before, piece))?;
        count += 1;
    }
    Ok(count)
}

/// Sends a message that follows the one at `before` of its subject, until it is there.
async fn send(link: &Link, subject: &str, before: u64, bytes: Vec<u8>) -> Result<u64, LogError> {
    let started = Instant::now();
    loop {
        let expected = Expected::LastOfSubject(before);
        let doubt = match link.publish(subject.to_owned(), expected, bytes.clone()).await {
            Ok(Published::At(sequence)) => return Ok(sequence),
            Ok(Published::Refused) => {
                let there = last_of(link, &link.snapshots, subject).await?;
                let own = |there: &StreamMessage| there.payload == bytes;
                let landed = there.filter(|there| before < there.sequence && own(there));
                let Some(landed) = landed else { return Err(LogError::SnapshotDisplaced) };
                return Ok(landed.sequence);
            }
            Ok(Published::Unknown(cause)) => LogError::Engine(cause.into()),
            Err(error @ LogError::Full) => return Err(error),
            Err(error) => error,
        };
        if JETSTREAM_PIECE_WAIT_MAX < started.elapsed() {
            return Err(doubt);
        }
        tokio::time::sleep(JETSTREAM_POLL).await;
    }
}

/// Puts a whole snapshot on the shelf, beside the newest other that is intact.
async fn finish(link: &Link, before: &Placed, own: Generation) -> Result<(), LogError> {
    let mut generations = vec![own];
    for other in &before.shelf.generations {
        if generations.len() < SNAPSHOT_GENERATIONS && of(link, *other).await?.is_ok() {
            generations.push(*other);
        }
    }
    let shelf = Shelf { generations };
    send(link, &link.subjects.kept, before.sequence, shelf.encode()).await.map(drop)
}

/// Returns a snapshot, or what is wrong with it.
async fn of(link: &Link, generation: Generation) -> Result<Result<Snapshot, FrameError>, LogError> {
    let subject = format!("{}{}", link.subjects.piece, generation.name.token());
    let mut joiner = Joiner::new(generation.at, generation.epoch);
    let mut next = 1;
    for _ in 0..generation.pieces {
        let Some(piece) = next_of(link, &link.snapshots, &subject, next).await? else { break };
        next = piece.sequence + 1;
        if let Err(error) = joiner.push(&piece.payload) {
            return Ok(Err(error));
        }
    }
    Ok(joiner.finish())
}

/// Purges the pieces of snapshots that were begun before the shelf was made and are not on it.
/// What stays after a failure goes after the next snapshot.
async fn retire(link: &Link) {
    let Ok(placed) = placed(link).await else { return };
    let subjects = &link.subjects;
    let Ok(mut pieces) = link.snapshots.info_with_subjects(format!("{}*", subjects.piece)).await
    else {
        return;
    };
    while let Some(Ok((subject, _))) = pieces.next().await {
        let Some(token) = subject.strip_prefix(&subjects.piece) else { continue };
        let Some(name) = Name::parse(token) else { continue };
        let kept = placed.shelf.generations.iter().any(|kept| kept.name == name);
        if !kept && name.begun < placed.sequence {
            let _ = link.snapshots.purge().filter(&subject).await;
        }
    }
    let _ = link.snapshots.purge().filter(&subjects.kept).keep(2).await;
}
