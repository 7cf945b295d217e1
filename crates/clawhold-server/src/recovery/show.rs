//! The entries of a log, for people.

use std::collections::VecDeque;

use clawhold_core::replay::Replayed;
use clawhold_core::units::Position;
use serde::Serialize;

use super::history::History;
use super::{RecoveryError, words};
use crate::clock;

/// Which entries to show.
#[derive(Clone, Copy, Debug)]
pub struct Range {
    /// The first position; the newest entries when not said.
    pub from: Option<u64>,
    /// How many.
    pub limit: usize,
}

/// Entries of a log.
#[derive(Clone, Debug, Serialize)]
pub struct Page {
    /// The first position that can be shown.
    pub first: u64,
    /// The position of the newest entry.
    pub last: u64,
    /// Them, oldest first.
    pub entries: Vec<Entry>,
}

/// One entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// Its position.
    pub position: u64,
    /// The record that holds it.
    pub record: u64,
    /// When it was written, RFC 3339.
    pub at: String,
    /// Who asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// The id of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// What kind of command it is.
    pub command: &'static str,
    /// What was asked, in words.
    pub asked: String,
    /// Why it was refused, if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// Whether the answer is that of an earlier entry with the same request id.
    pub replayed: bool,
    /// What changed, in words.
    pub effects: Vec<String>,
}

impl Entry {
    fn of(replayed: &Replayed<'_>) -> Self {
        let (request, applied) = (replayed.request, replayed.applied);
        Self {
            position: replayed.stamp.position.0,
            record: replayed.record.0,
            at: clock::rfc3339(replayed.stamp.at),
            actor: request.actor.as_ref().map(ToString::to_string),
            request_id: request.id.as_ref().map(|id| id.as_str().to_owned()),
            command: words::kind(&request.command),
            asked: words::command(&request.command),
            refused: applied.answer.as_ref().err().map(ToString::to_string),
            replayed: applied.replayed,
            effects: applied.changes.iter().map(|change| words::what(&change.what)).collect(),
        }
    }
}

/// Returns entries of a store's log.
///
/// # Errors
/// [`RecoveryError`] when the store cannot be read or the position cannot be reached.
pub fn show(store: &str, range: Range) -> Result<Page, RecoveryError> {
    let mut history = History::open(store)?;
    let last = history.head()?.last;
    let from = range.from.unwrap_or(u64::MAX);
    // The entry at a position comes after the state before it.
    let (base, first) = history.base_before(Position(from.saturating_sub(1)))?;
    let first = first.0.saturating_add(1);
    let Some(base) = base else {
        let last = end(&mut history)?;
        return Err(RecoveryError::OutOfReach { position: from, first, last });
    };
    let base = if range.from.is_some() { base } else { older(&mut history, base, range.limit)? };
    let mut entries = VecDeque::new();
    let mut replay = base.replay();
    history.replay(
        &mut replay,
        last,
        |_, replayed| {
            let wanted = match range.from {
                Some(from) => from <= replayed.stamp.position.0 && entries.len() < range.limit,
                None => true,
            };
            if wanted {
                entries.push_back(Entry::of(&replayed));
            }
            if entries.len() > range.limit {
                entries.pop_front();
            }
        },
        |_, _| Ok(()),
    )?;
    let last = replay.state().last().position.0;
    if range.from.is_some_and(|from| from > last) {
        return Err(RecoveryError::OutOfReach { position: from, first, last });
    }
    Ok(Page { first, last, entries: entries.into() })
}

/// Returns an older base when the newest has too few entries after it.
fn older(
    history: &mut History,
    newest: super::history::Base,
    limit: usize,
) -> Result<super::history::Base, RecoveryError> {
    let head = history.head()?;
    let after = head.last.0.saturating_sub(newest.at.0);
    if usize::try_from(after).is_ok_and(|after| limit <= after) {
        return Ok(newest);
    }
    Ok(history.bases()?.pop().unwrap_or(newest))
}

fn end(history: &mut History) -> Result<u64, RecoveryError> {
    let last = history.head()?.last;
    let (base, _) = history.base_before(Position(u64::MAX))?;
    let Some(base) = base else { return Ok(0) };
    let mut replay = base.replay();
    history.replay(&mut replay, last, |_, _| {}, |_, _| Ok(()))?;
    Ok(replay.state().last().position.0)
}
