//! The latest changes, kept so that a reader that was cut off can go on where it was.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use clawhold_core::change::{Change, What};
use clawhold_core::units::Position;
use tokio::sync::watch;

/// Changes kept, but for those that came with the oldest of them.
const CHANGES_MAX: usize = 50_000;
/// Changes that one look brings, beyond those of its last position.
const LOOK_MAX: usize = 500;

/// The latest changes.
#[derive(Debug)]
pub(super) struct Recent {
    kept: Mutex<Kept>,
    latest: watch::Sender<Position>,
}

#[derive(Debug, Default)]
struct Kept {
    /// Every change after this position, up to the latest, is kept.
    floor: Position,
    /// As they came, each with whole positions.
    batches: VecDeque<Arc<[Change]>>,
    /// Changes in the batches.
    count: usize,
}

/// What a reader finds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// These come next, all changes of each position together; maybe none.
    Changes(Vec<Change>),
    /// What comes next is no longer kept; all is known up to this position again.
    Gone(Position),
}

impl Kept {
    fn drop_oldest(&mut self) {
        let Some(batch) = self.batches.pop_front() else { return };
        self.count -= batch.len();
        self.floor = batch.last().map_or(self.floor, |last| last.position.max(self.floor));
    }
}

impl Default for Recent {
    fn default() -> Self {
        Self { kept: Mutex::default(), latest: watch::Sender::new(Position(0)) }
    }
}

impl Recent {
    /// Forgets everything up to `position`: changes were missed.
    pub(super) fn skip_to(&self, position: Position) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.floor = kept.floor.max(position);
        let floor = kept.floor;
        while kept
            .batches
            .front()
            .and_then(|batch| batch.last())
            .is_some_and(|c| c.position <= floor)
        {
            kept.drop_oldest();
        }
        drop(kept);
        self.tell(position);
    }

    /// Keeps changes, in the order of their positions.
    pub(super) fn keep(&self, changes: &Arc<[Change]>) {
        let Some(last) = changes.last().map(|change| change.position) else { return };
        let restored = changes.iter().rev().find_map(|change| {
            if let What::Restored { through } = change.what { Some(through) } else { None }
        });
        if let Some(through) = restored {
            // What a reader knows of the positions before may be of a time that is lost.
            self.skip_to(through);
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.count += changes.len();
        kept.batches.push_back(Arc::clone(changes));
        while kept.count > CHANGES_MAX && kept.batches.len() > 1 {
            kept.drop_oldest();
        }
        drop(kept);
        self.tell(last);
    }

    /// Returns the position that the latest change is known up to.
    pub(super) fn latest(&self) -> Position {
        *self.latest.borrow()
    }

    /// Returns a receiver that is woken when there are more changes.
    pub(super) fn subscribe(&self) -> watch::Receiver<Position> {
        self.latest.subscribe()
    }

    /// Returns what comes after `after`.
    pub(super) fn after(&self, after: Position) -> Found {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let latest = self.latest();
        if after < kept.floor || after > latest {
            return Found::Gone(latest.max(kept.floor));
        }
        let from = kept
            .batches
            .partition_point(|batch| batch.last().is_none_or(|change| change.position <= after));
        let changes = kept.batches.range(from..).flat_map(|batch| batch.iter());
        let mut found: Vec<Change> = Vec::new();
        for change in changes.filter(|change| change.position > after) {
            let full = found.len() >= LOOK_MAX;
            if full && found.last().is_some_and(|last| last.position != change.position) {
                break;
            }
            found.push(change.clone());
        }
        Found::Changes(found)
    }

    fn tell(&self, position: Position) {
        self.latest.send_if_modified(|latest| {
            let moved = position > *latest;
            *latest = position.max(*latest);
            moved
        });
    }
}

#[cfg(test)]
mod tests {
    use clawhold_core::change::What;

    use super::*;

    fn change(position: u64) -> Change {
        Change { position: Position(position), what: What::Server }
    }

    #[test]
    fn a_reader_goes_on_where_it_was_and_gets_whole_positions() {
        let recent = Recent::default();
        recent.skip_to(Position(10));
        recent.keep(&[change(9), change(11), change(11), change(14)].into());
        let found = recent.after(Position(10));
        assert_eq!(found, Found::Changes(vec![change(11), change(11), change(14)]));
        assert_eq!(recent.after(Position(11)), Found::Changes(vec![change(14)]));
        assert_eq!(recent.after(Position(14)), Found::Changes(Vec::new()));
    }

    #[test]
    fn a_reader_that_is_too_far_behind_or_ahead_is_told_so() {
        let recent = Recent::default();
        recent.skip_to(Position(10));
        assert_eq!(recent.after(Position(9)), Found::Gone(Position(10)));
        assert_eq!(recent.after(Position(99)), Found::Gone(Position(10)));
    }

    #[test]
    fn the_oldest_positions_go_as_a_whole() {
        let recent = Recent::default();
        for position in 1..=CHANGES_MAX as u64 {
            recent.keep(&[change(position), change(position)].into());
        }
        let floor = CHANGES_MAX as u64 / 2;
        assert_eq!(recent.after(Position(floor - 1)), Found::Gone(recent.latest()));
        let Found::Changes(found) = recent.after(Position(floor)) else { panic!("kept") };
        assert_eq!(found.len(), LOOK_MAX);
        assert_eq!(found[0].position, Position(floor + 1));
    }
}
