//! What alert rules ask of conditions.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use super::Subject;
use super::find::Rule;
use crate::change::{Change, What};
use crate::condition::{Condition, Field, TargetKind};
use crate::run::Target;
use crate::state::State;

impl State {
    /// Returns what a condition may hold for and the changes touch, and the workers for which it
    /// holds when a job moved: what a job leaves is not named by its change.
    pub(super) fn condition_touched(
        &self,
        rule: Rule<'_>,
        condition: &Condition,
        changes: &[Change],
    ) -> BTreeSet<Target> {
        let kind = condition.target();
        let mut touched = self.touched(changes);
        touched.retain(|target| target.kind() == kind);
        let jobs_moved = changes.iter().any(|change| matches!(change.what, What::Job { .. }));
        if jobs_moved && kind == TargetKind::Worker {
            touched.extend(self.open_targets(rule));
        }
        touched
    }

    /// Returns everything for which a rule holds.
    fn open_targets(&self, rule: Rule<'_>) -> impl Iterator<Item = Target> {
        let open = self.automation.alerts.of_rule(rule.title).flat_map(|alert| alert.open.keys());
        open.filter_map(|subject| match subject {
            Subject::Target(target) => Some(target.clone()),
            Subject::Channel(_) | Subject::Itself => None,
        })
    }

    /// Returns everything that a condition may hold for, and all for which it holds.
    pub(super) fn condition_targets(&self, rule: Rule<'_>, condition: &Condition) -> Vec<Target> {
        let mut targets = self.targets(condition.target());
        targets.extend(self.open_targets(rule));
        targets
    }
}

/// Tells whether a condition reads what standbys report: no value is then no news.
pub(super) fn rests_on_reports(condition: &Condition) -> bool {
    condition.fields().contains(Field::StandbyLag)
}
