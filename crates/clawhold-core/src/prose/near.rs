//! What a sentence that is not understood may have meant.
//!
//! Suggestions only: nothing here ever runs without a person's word.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

/// Words that say nothing about which operation is meant.
const GLUE: &[&str] = &[
    "a", "an", "the", "this", "that", "it", "its", "their", "they", "them", "is", "are", "be",
    "been", "being", "has", "have", "had", "of", "to", "for", "in", "on", "at", "from", "with",
    "by", "and", "or", "so", "then", "now", "all", "each", "every", "any", "one", "please",
    "first", "do", "not", "no", "so", "can", "'s", ",", "as", "again", "current", "before",
    "after", "once", "only", "made",
];

/// Something to suggest.
#[derive(Debug)]
pub(super) struct Idea {
    /// Words that the table explains for it.
    pub(super) words: BTreeSet<&'static str>,
    /// Words that the table does not hold and that come near it.
    pub(super) hints: &'static str,
}

/// Returns the ideas that share most with `words`, best first.
pub(super) fn rank(words: &[&str], ideas: &[Idea], most: usize) -> Vec<usize> {
    let mut scores: Vec<(u64, usize)> = (0..ideas.len()).map(|at| (0, at)).collect();
    for word in words.iter().filter(|word| !GLUE.contains(word)) {
        let weights = weights(word, ideas);
        scores.iter_mut().zip(weights).for_each(|((score, _), weight)| *score += weight);
    }
    scores.sort_by(|(a, at_a), (b, at_b)| b.cmp(a).then(at_a.cmp(at_b)));
    let best = scores.first().map_or(0, |(score, _)| *score);
    // What shares less than a third of what the best shares is noise.
    let near = scores.into_iter().filter(|(score, _)| *score >= 8 && score * 3 >= best);
    near.take(most).map(|(_, at)| at).collect()
}

/// Returns how much a word says for each idea: the more, the fewer ideas it says it for.
fn weights(word: &str, ideas: &[Idea]) -> Vec<u64> {
    let hints = |idea: &Idea| idea.hints.split(' ').any(|hint| hint == word);
    let holds = |idea: &Idea| idea.words.contains(word);
    let slips = |idea: &Idea| idea.words.iter().any(|known| is_slip(word, known));
    let is_known = ideas.iter().any(|idea| holds(idea) || hints(idea));
    let says: Vec<u64> = ideas
        .iter()
        .map(|idea| {
            let says = if is_known { 60 } else { 30 };
            let matches = if is_known { holds(idea) || hints(idea) } else { slips(idea) };
            if matches { says } else { 0 }
        })
        .collect();
    let shared = says.iter().filter(|says| **says > 0).count() as u64;
    says.into_iter().map(|says| says / shared.max(1)).collect()
}

/// Tells whether the two differ by one letter: added, left out, changed, or swapped.
fn is_slip(word: &str, known: &str) -> bool {
    let (mut a, mut b) = (word.as_bytes(), known.as_bytes());
    if a.len() < 4 || b.len() < 4 || a.len().abs_diff(b.len()) > 1 || word == known {
        return false;
    }
    while let ([first, rest @ ..], [other, others @ ..]) = (a, b) {
        if first != other {
            break;
        }
        (a, b) = (rest, others);
    }
    while let ([rest @ .., last], [others @ .., other]) = (a, b) {
        if last != other {
            break;
        }
        (a, b) = (rest, others);
    }
    match (a, b) {
        ([] | [_], [] | [_]) => true,
        ([one, two], [other, another]) => one == another && two == other,
        _ => false,
    }
}

/// Returns the name that comes nearest to `typed`, if one is near enough to be meant.
pub(super) fn meant<'a>(typed: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let near = names.map(|name| (edits(typed, name), name));
    let best = near.min_by_key(|(edits, _)| *edits);
    best.filter(|(edits, name)| *edits <= 1 + name.len() / 5).map(|(_, name)| name)
}

/// Returns how many letters were added, left out, changed or swapped with their neighbour.
pub(super) fn edits(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(64).collect(), b.chars().collect());
    let mut rows: Vec<Vec<usize>> = Vec::from([(0..=b.len()).collect()]);
    for i in 1..=a.len() {
        let mut row = Vec::from([i]);
        for j in 1..=b.len() {
            let same = usize::from(a[i - 1] != b[j - 1]);
            let mut least = (rows[i - 1][j] + 1).min(row[j - 1] + 1).min(rows[i - 1][j - 1] + same);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}
