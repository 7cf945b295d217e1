//! Words that forbid a whole sentence, unless a pattern spells them out.
//!
//! A pattern is held against every word, so a word of this list never slips by. The list tells
//! the person why, and keeps such words out of messages without quotes.

use alloc::collections::BTreeSet;

use super::words::{Kind, Sentence};

/// Why a word forbids its sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VetoKind {
    /// It says not to.
    Negation,
    /// It leaves something out.
    Exception,
    /// It says when.
    Condition,
    /// It asks.
    Question,
    /// It speaks about doing instead of asking for it.
    Meta,
    /// It says how much or how often.
    Quantity,
    /// It reaches further than one run does.
    Scope,
    /// It names a time.
    Time,
    /// It leaves a choice.
    Choice,
}

impl VetoKind {
    /// Returns what such a word does, to be said after it.
    #[must_use]
    pub fn says(self) -> &'static str {
        match self {
            Self::Negation => "says not to; a step is something to do",
            Self::Exception => "makes an exception; a step is done whole",
            Self::Condition => "makes it depend; conditions belong to --condition",
            Self::Question => "asks; a step is an order",
            Self::Meta => "speaks about doing it; a step is the order itself",
            Self::Quantity => "says how much or how often; a step is done once, whole",
            Self::Scope => "reaches further than the one that a run is about",
            Self::Time => "names a time; a step follows the one before",
            Self::Choice => "leaves a choice; a step is one thing",
        }
    }

    /// Tells whether an operation may be suggested in the sentence's place: only where it asks
    /// for an act, now, and without a reservation that the suggestion would drop.
    pub(super) fn allows_suggestion(self) -> bool {
        match self {
            Self::Negation
            | Self::Exception
            | Self::Condition
            | Self::Question
            | Self::Meta
            | Self::Time
            | Self::Choice => false,
            Self::Quantity | Self::Scope => true,
        }
    }
}

const WORDS: &[(VetoKind, &[&str])] = &[
    (
        VetoKind::Negation,
        &[
            "not", "never", "no", "none", "nothing", "nobody", "neither", "nor", "refuse", "avoid",
            "prevent", "forbid", "forget", "skip", "ignore", "refrain", "hardly",
        ],
    ),
    (
        VetoKind::Exception,
        &[
            "without",
            "unless",
            "except",
            "excepting",
            "excluding",
            "but",
            "besides",
            "instead",
            "rather",
            "other",
            "otherwise",
            "only",
        ],
    ),
    (
        VetoKind::Condition,
        &[
            "if", "when", "while", "until", "till", "whenever", "provided", "assuming", "given",
            "because", "since", "in-case", "where",
        ],
    ),
    (
        VetoKind::Question,
        &["should", "shall", "whether", "how", "why", "does", "did", "was", "were"],
    ),
    (
        VetoKind::Meta,
        &[
            "ask",
            "explain",
            "undo",
            "consider",
            "pretend",
            "say",
            "describe",
            "suggest",
            "imagine",
            "simulate",
            "try",
            "remember",
            "discuss",
            "propose",
            "think",
            "want",
            "wants",
            "wanted",
            "learn",
            "rehearse",
            "reconsider",
            "test",
            "quote",
        ],
    ),
    (
        VetoKind::Quantity,
        &[
            "half",
            "some",
            "most",
            "twice",
            "thrice",
            "few",
            "several",
            "many",
            "part",
            "partly",
            "times",
            "percent",
            "repeatedly",
            "sometimes",
            "often",
            "usually",
            "always",
            "again-and-again",
            "everything",
        ],
    ),
    (VetoKind::Scope, &["workers", "roles", "queues", "everyone", "everybody", "everywhere"]),
    (
        VetoKind::Time,
        &[
            "tomorrow",
            "later",
            "tonight",
            "today",
            "yesterday",
            "soon",
            "daily",
            "hourly",
            "weekly",
            "monthly",
            "monday",
            "tuesday",
            "wednesday",
            "thursday",
            "friday",
            "saturday",
            "sunday",
            "noon",
            "midnight",
            "sundays",
            "weekends",
            "weekend",
        ],
    ),
    (
        VetoKind::Choice,
        &[
            "or",
            "either",
            "maybe",
            "perhaps",
            "possibly",
            "probably",
            "might",
            "could",
            "would",
            "may",
            "can",
            "optionally",
        ],
    ),
];

/// Returns why `word` forbids its sentence, if it does.
pub(super) fn of_word(word: &str) -> Option<VetoKind> {
    let list = WORDS.iter().find(|(_, words)| words.contains(&word));
    list.map(|(kind, _)| *kind)
}

/// Returns the word that forbids the sentence, and why: the first that the table never explains,
/// or else the first of all.
pub(super) fn of_sentence<'a>(
    sentence: &'a Sentence,
    known: &BTreeSet<&'static str>,
) -> Option<(&'a str, VetoKind)> {
    if sentence.is_question {
        return Some(("?", VetoKind::Question));
    }
    let words = || sentence.tokens.iter().filter(|token| token.kind == Kind::Word);
    let vetoes = || words().filter_map(|token| of_word(&token.word).map(|k| (&*token.word, k)));
    let foreign = vetoes().find(|(word, _)| !known.contains(word));
    foreign.or_else(|| vetoes().next()).or_else(|| {
        let pairs = words().zip(words().skip(1));
        let mut wide = pairs.filter(|(first, second)| {
            matches!(first.word.as_str(), "every" | "each" | "any" | "all" | "another")
                && matches!(second.word.as_str(), "worker" | "role" | "queue" | "lease" | "leader")
        });
        wide.next().map(|(first, _)| (&*first.word, VetoKind::Scope))
    })
}
