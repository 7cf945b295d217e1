//! What alert rules ask of conditions.

use alloc::vec::Vec;

use crate::change::Change;
use crate::condition::Condition;
use crate::run::Target;
use crate::state::State;

impl State {
    /// Tells whether a condition holds for a target; `None` when that is not known.
    pub(super) fn condition_reading(&self, _: &Condition, _: &Target) -> Option<bool> {
        None
    }

    /// Returns everything that a condition may hold for.
    pub(super) fn condition_targets(&self, _: &Condition) -> Vec<Target> {
        Vec::new()
    }

    /// Returns what a condition may hold for and the changes touch.
    pub(super) fn condition_touched(&self, _: &Condition, _: &[Change]) -> Vec<Target> {
        Vec::new()
    }
}

/// Tells whether a condition may change by the passing of time alone.
pub(super) fn is_timed(_: &Condition) -> bool {
    false
}
