//! Values in a sentence: names, durations, numbers, channels, messages.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

use super::pattern::Found;
use super::words::{self, Kind, Sentence, Token};
use super::{verbs, veto};
use crate::limits;
use crate::operation::Subject;
use crate::units::{Name, Text, Title};

/// The names of the slots.
#[cfg(test)]
pub(super) const NAMES: &[&str] =
    &["worker", "role", "queue", "job", "channel", "message", "quote", "span", "count", "over"];

/// A value that a slot met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    slot: &'static str,
    text: String,
    number: u64,
}

/// The values of one clause.
#[derive(Clone, Copy, Debug)]
pub(super) struct Marks<'a>(pub(super) &'a [Mark]);

impl Marks<'_> {
    fn get(&self, slot: &str) -> Option<&Mark> {
        self.0.iter().find(|mark| mark.slot == slot)
    }

    /// Returns whom the slot names, or the one that the run is about.
    pub(super) fn subject(&self, slot: &str) -> Subject {
        self.get(slot).map_or(Subject::Run, |mark| Subject::Named(Text::cut(&mark.text)))
    }

    pub(super) fn text(&self, slot: &str) -> Option<Text> {
        self.get(slot).map(|mark| Text::cut(&mark.text))
    }

    pub(super) fn title(&self, slot: &str) -> Option<Title> {
        self.get(slot).and_then(|mark| Title::parse(&mark.text).ok())
    }

    pub(super) fn span_ms(&self) -> Option<u64> {
        self.get("span").map(|mark| mark.number)
    }

    /// Returns the number that is said, one more where it is to be exceeded.
    pub(super) fn count(&self) -> Option<u64> {
        let over = self.get("over").map(|mark| mark.number.saturating_add(1));
        over.or_else(|| self.get("count").map(|mark| mark.number))
    }
}

/// Returns how the slot takes words of `sentence` from `from` on.
pub(super) fn find(slot: &'static str, sentence: &Sentence, from: &Found) -> Vec<Found> {
    let rest = sentence.tokens.get(from.end..).unwrap_or_default();
    let Some(first) = rest.first() else { return Vec::new() };
    let taken = match slot {
        "worker" => name(first, true),
        "job" => job(first).or_else(|| name(first, true)),
        "role" | "queue" => name(first, false),
        "channel" => channel(first),
        "message" => message(sentence, rest),
        "quote" => quote(first),
        "span" => span(rest),
        "count" | "over" => count(first),
        _ => None,
    };
    let found = taken.map(|taken| {
        let mut marks = from.marks.clone();
        marks.push(Mark { slot, text: taken.text, number: taken.number });
        Found { end: from.end + taken.len, marks }
    });
    found.into_iter().collect()
}

struct Taken {
    len: usize,
    text: String,
    number: u64,
}

impl Taken {
    fn text(len: usize, text: &str) -> Self {
        Self { len, text: text.to_owned(), number: 0 }
    }

    fn number(len: usize, number: u64) -> Self {
        Self { len, text: String::new(), number }
    }
}

fn name(token: &Token, may_be_number: bool) -> Option<Taken> {
    let is_number = may_be_number && token.raw.bytes().all(|byte| byte.is_ascii_digit());
    let stands = match token.kind {
        Kind::Quoted => true,
        Kind::Word => is_number || words::is_name_like(&token.raw),
        Kind::Comma | Kind::Other => false,
    };
    let name = Name::parse(&token.raw).ok().filter(|_| stands);
    name.map(|name| Taken::text(1, name.as_str()))
}

/// Takes the number of a job, as `#17`.
fn job(token: &Token) -> Option<Taken> {
    let number = token.raw.strip_prefix('#').filter(|_| token.kind == Kind::Word)?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| Taken::text(1, number))
}

fn channel(token: &Token) -> Option<Taken> {
    let stands = match token.kind {
        Kind::Quoted => true,
        Kind::Word => token.raw.len() > 1 && token.raw.starts_with('#'),
        Kind::Comma | Kind::Other => false,
    };
    let title = Title::parse(&token.raw).ok().filter(|_| stands);
    title.map(|title| Taken::text(1, title.as_str()))
}

/// Takes the rest of the sentence as what is to be said. Without quotes, it may hold nothing that
/// could change or add to the order.
fn message(sentence: &Sentence, rest: &[Token]) -> Option<Taken> {
    let first = rest.first()?;
    if first.kind == Kind::Quoted {
        return quote(first);
    }
    let is_plain = rest.iter().all(|token| {
        matches!(token.kind, Kind::Word | Kind::Comma)
            && !matches!(token.word.as_str(), "then" | "before" | "after" | "also" | "finally")
            && veto::of_word(&token.word).is_none()
    });
    let mut pairs = rest.iter().zip(rest.iter().skip(1));
    let is_joined = pairs.any(|(join, verb)| {
        matches!(join.word.as_str(), "," | "and") && verbs::doing(&verb.word).is_some()
    });
    let said = sentence.text[first.start..].trim_end_matches(['.', '!', ';', ' ']);
    (is_plain && !is_joined).then(|| Taken::text(rest.len(), said))
}

fn quote(token: &Token) -> Option<Taken> {
    let text = Text::parse(&token.raw).ok().filter(|_| token.kind == Kind::Quoted);
    text.map(|text| Taken::text(1, text.as_str()))
}

fn span(rest: &[Token]) -> Option<Taken> {
    let first = rest.first().filter(|token| token.kind == Kind::Word)?;
    if let Some(ms) = compact_span(&first.word) {
        return Some(Taken::number(1, ms));
    }
    let unit = words::unit_ms(&rest.get(1)?.word)?;
    let ms = words::number(&first.word)?.checked_mul(unit)?;
    (ms <= limits::DURATION_MS_MAX).then(|| Taken::number(2, ms))
}

/// Returns the milliseconds of a duration in one word, as `30s`.
pub(super) fn compact_span(word: &str) -> Option<u64> {
    let unit_at = word.find(|c: char| !c.is_ascii_digit())?;
    let (digits, unit) = word.split_at(unit_at);
    let ms = digits.parse::<u64>().ok()?.checked_mul(words::unit_ms(unit)?)?;
    (ms <= limits::DURATION_MS_MAX).then_some(ms)
}

fn count(token: &Token) -> Option<Taken> {
    let number = words::number(&token.word).filter(|_| token.kind == Kind::Word);
    number.map(|number| Taken::number(1, number))
}
