//! What alert rules ask of conditions.

use alloc::vec::Vec;

use crate::change::Change;
use crate::condition::{Condition, Truth};
use crate::run::Target;
use crate::state::State;

impl State {
    /// Tells whether a condition holds for a target; `None` when that is not known.
    pub(super) fn condition_reading(&self, condition: &Condition, target: &Target) -> Option<bool> {
        match self.condition_holds(condition, target) {
            Truth::True => Some(true),
            Truth::False => Some(false),
            Truth::Unknown => None,
        }
    }

    /// Returns everything that a condition may hold for.
    pub(super) fn condition_targets(&self, condition: &Condition) -> Vec<Target> {
        self.targets(condition.target())
    }

    /// Returns what a condition may hold for and the changes touch.
    pub(super) fn condition_touched(
        &self,
        condition: &Condition,
        changes: &[Change],
    ) -> Vec<Target> {
        let touched = self.touched(changes).into_iter();
        touched.filter(|target| target.kind() == condition.target()).collect()
    }
}

/// Tells whether a condition may change by the passing of time alone.
pub(super) fn is_timed(condition: &Condition) -> bool {
    condition.is_timed()
}
