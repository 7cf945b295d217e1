//! Makes a failing script small: leaves out what it can while the failure stays.
//!
//! Halves, quarters and single acts are left out in turn, as delta debugging does. What counts as
//! the same failure is its kind, not its numbers.

use crate::script::Script;
use crate::world::{Outcome, World};

/// Worlds that are run at most to make one script small.
const RUNS_MAX: u64 = 600;

/// Returns the smallest script found that still fails alike, and what it breaks.
pub(crate) fn shrink(script: &Script, outcome: &Outcome) -> (Script, Outcome) {
    let Some(kind) = kind(outcome) else { return (script.clone(), outcome.clone()) };
    let mut runs_left = RUNS_MAX;
    let mut best = (script.clone(), outcome.clone());
    let mut pieces = 2;
    while runs_left > 0 && !best.0.acts.is_empty() {
        let count = best.0.acts.len();
        let size = count.div_ceil(pieces);
        let found = (0..count.div_ceil(size)).find_map(|piece| {
            runs_left = runs_left.checked_sub(1)?;
            let tried = without(&best.0, piece * size, size);
            let outcome = World::new(tried.clone()).run();
            (self::kind(&outcome).as_ref() == Some(&kind)).then_some((tried, outcome))
        });
        match found {
            Some(smaller) => {
                best = smaller;
                pieces = pieces.saturating_sub(1).max(2);
            }
            None if size == 1 => break,
            None => pieces = (pieces * 2).min(count),
        }
    }
    best
}

fn without(script: &Script, from: usize, count: usize) -> Script {
    let end = (from + count).min(script.acts.len());
    let mut acts = script.acts.clone();
    acts.drain(from..end);
    Script { acts, ..script.clone() }
}

/// Returns the first broken promise without its numbers.
fn kind(outcome: &Outcome) -> Option<String> {
    let first = outcome.broken.first()?;
    let words = first.split(|c: char| !(c.is_ascii_alphabetic() || c == ' '));
    let kind: String = words.collect();
    Some(kind.chars().take(60).collect())
}
