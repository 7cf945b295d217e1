//! What a rule would have found in what has happened: the log applied to a copy of the state, with
//! the same evaluation and no message that leaves.

use alloc::vec::Vec;

use super::find::Rule;
use crate::catalog::{AlertRule, Definition, Noun, Spec};
use crate::change::What;
use crate::command::{Automate, Command, Define, RemoveDefinition, Request};
use crate::state::State;
use crate::units::{Stamp, Text, Title};

/// Alerts of a backtest that are named; the rest is counted.
const FIRED_MAX: usize = 20;

/// What a rule would have found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Backtest {
    /// Entries that were applied.
    pub entries: u64,
    /// Entries that touched what the rule watches, whether or not they made it hold.
    pub touched: u64,
    /// How often it would have fired.
    pub fired: u64,
    /// The first of them.
    pub first: Vec<Fired>,
}

/// One time that a rule would have fired.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fired {
    /// When.
    pub stamp: Stamp,
    /// For which group.
    pub group: Text,
    /// What was wrong.
    pub summary: Text,
}

/// Applies what followed a state and tells what a rule would have found in it.
///
/// # Panics
/// When the entries do not follow the state without a hole.
#[must_use]
pub fn backtest(
    mut state: State,
    title: &Title,
    rule: &AlertRule,
    entries: impl Iterator<Item = (Stamp, Request)>,
) -> Backtest {
    let key = (Noun::AlertRule, title.clone());
    let definition = Definition {
        title: title.clone(),
        enabled: true,
        version: 1,
        spec: Spec::AlertRule(rule.clone()),
        created: state.last(),
        changed: state.last(),
        versions: alloc::collections::VecDeque::new(),
    };
    let alerts = &mut state.automation.alerts;
    alerts.live.retain(|(rule, _), _| rule != title);
    alerts.open.retain(|(rule, _), _| rule != title);
    alerts.watched.retain(|(rule, _), _| rule != title);
    let catalog = &mut state.automation.catalog.by_title;
    catalog.retain(|(noun, _), _| *noun != Noun::AlertRule);
    catalog.insert(key, definition);
    let mut test = Backtest::default();
    for (stamp, mut request) in entries {
        if redefines(title, &request.command) {
            request.command = Command::Tick;
        }
        let applied = state.apply(stamp, &request);
        test.entries += 1;
        let mut found = Vec::new();
        let definition = state.automation.catalog.get(Noun::AlertRule, title);
        if let Some(rule) = definition.and_then(Rule::of) {
            state.find(rule, &applied.changes, &mut found);
        }
        let touched = |what: &What| state.fired_by(title, what).is_some();
        let moved = applied.changes.iter().any(|change| touched(&change.what));
        test.touched += u64::from(moved || !found.is_empty());
        let mut last = None;
        for change in &applied.changes {
            let fired = state.fired_by(title, &change.what);
            let fired = fired.filter(|alert| alert.fired == Some(stamp) && last != Some(alert.id));
            let Some(alert) = fired else { continue };
            last = Some(alert.id);
            test.fired += 1;
            if test.first.len() < FIRED_MAX {
                let (group, summary) = (alert.group.clone(), alert.summary.clone());
                test.first.push(Fired { stamp, group, summary });
            }
        }
    }
    test
}

impl State {
    /// Returns the alert of a rule that a change is about.
    fn fired_by(&self, title: &Title, what: &What) -> Option<&super::Alert> {
        let What::Alert { alert } = what else { return None };
        self.automation.alerts.get(*alert).filter(|alert| alert.rule == *title)
    }
}

/// Tells whether a command would put another rule in the place of the one that is tried.
fn redefines(title: &Title, command: &Command) -> bool {
    let Command::Automate(automate) = command else { return false };
    let is_it = |noun: Noun, name: &Title| noun == Noun::AlertRule && name == title;
    let is_defined = |define: &Define| is_it(define.spec.noun(), &define.title);
    let is_removed = |remove: &RemoveDefinition| is_it(remove.noun, &remove.title);
    if let Automate::Define(define) = &**automate {
        is_defined(define)
    } else if let Automate::RemoveDefinition(remove) = &**automate {
        is_removed(remove)
    } else if let Automate::EnableDefinition(enable) = &**automate {
        is_it(enable.noun, &enable.title)
    } else if let Automate::RevertDefinition(revert) = &**automate {
        is_it(revert.noun, &revert.title)
    } else if let Automate::Import(import) = &**automate {
        import.definitions.iter().any(is_defined) || import.remove.iter().any(is_removed)
    } else {
        false
    }
}
