//! What somebody may have meant: names that are near the one that was typed.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::mem;

use super::field::{Field, Root};

/// Characters beyond which a word is near nothing.
const COMPARED_MAX: usize = 64;

/// What people type, and the field that says it.
const SYNONYMS: [(&str, Field); 20] = [
    ("lease.name", Field::LeaseRole),
    ("lease.lapsed", Field::LeaseExpired),
    ("lease.free", Field::LeaseVacant),
    ("lease.owner", Field::LeaseHolder),
    ("lease.leader", Field::LeaseHolder),
    ("standby.number", Field::StandbyCount),
    ("worker.draining", Field::WorkerLeaving),
    ("worker.status", Field::WorkerState),
    ("worker.jobs", Field::WorkerHeldJobs),
    ("worker.host", Field::WorkerPlace),
    ("worker.capacity", Field::WorkerSlots),
    ("queue.size", Field::QueueDepth),
    ("queue.length", Field::QueueDepth),
    ("queue.waiting", Field::QueueDepth),
    ("queue.pending", Field::QueueDepth),
    ("queue.age", Field::QueueOldestAge),
    ("job.status", Field::JobState),
    ("job.retries", Field::JobAttempts),
    ("job.owner", Field::JobHolder),
    ("job.worker", Field::JobHolder),
];

/// Returns the field that was probably meant by a name that is none.
pub(super) fn field(typed: &str) -> Option<Field> {
    let of_role = typed.strip_prefix("role.").map(|short| format!("lease.{short}"));
    let typed = of_role.as_deref().unwrap_or(typed);
    let plain = plain(typed);
    let all = || Field::ALL.iter().copied();
    let synonym = || SYNONYMS.iter().find(|(name, _)| *name == typed).map(|(_, field)| *field);
    let spelt = || all().find(|field| self::plain(field.name()) == plain);
    let Some((root, short)) = typed.split_once('.') else {
        let same = all().find(|field| self::plain(field.short_name()) == plain);
        let long = typed.chars().count() >= 4;
        return same.or_else(|| nearest(typed, all().filter(|_| long), Field::short_name));
    };
    synonym().or_else(spelt).or_else(|| {
        let root = nearest(root, Root::ALL.into_iter(), Root::name)?;
        nearest(short, root.fields(), Field::short_name)
    })
}

/// Returns the nearest of some words.
pub(super) fn word(typed: &str, words: &[&'static str]) -> Option<&'static str> {
    nearest(&typed.to_lowercase(), words.iter().copied(), |word| word)
}

/// Returns the nearest of `items` by name, if one is near enough.
fn nearest<T: Copy>(
    typed: &str,
    items: impl Iterator<Item = T>,
    name: impl Fn(T) -> &'static str,
) -> Option<T> {
    let typed: Vec<char> = typed.chars().take(COMPARED_MAX + 1).collect();
    if typed.len() > COMPARED_MAX {
        return None;
    }
    let reach = (typed.len() / 3).max(1);
    let measured = items.map(|item| (distance(&typed, name(item)), item));
    let near = measured.filter(|(distance, _)| *distance <= reach);
    near.min_by_key(|(distance, _)| *distance).map(|(_, item)| item)
}

/// Counts the insertions, deletions, replacements and swaps of neighbours from one to the other.
fn distance(from: &[char], to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut before = Vec::new();
    let mut last: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.iter().enumerate() {
        let mut row = vec![i + 1; to.len() + 1];
        for (j, b) in to.iter().enumerate() {
            let replaced = last[j] + usize::from(a != b);
            row[j + 1] = replaced.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && from[i - 1] == *b && to[j - 1] == *a {
                row[j + 1] = row[j + 1].min(before[j - 1] + 1);
            }
        }
        before = mem::replace(&mut last, row);
    }
    last[to.len()]
}

/// Returns a name without what people vary: case, `_` and `-`.
fn plain(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '_' | '-')).flat_map(char::to_lowercase).collect()
}
