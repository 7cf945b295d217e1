//! One line of the exact form: a name and its arguments, `name key=value key="a value"`.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use super::{near, slot};
use crate::limits;
use crate::operation::{OnFail, Subject};
use crate::units::{BadText, Name, Text, Title};

/// Why a text is not in the exact form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExactTrouble {
    /// There is nothing.
    #[error("is empty; write an operation, as job.return_held worker=run")]
    Empty,
    /// There is no such operation.
    #[error("no {kind} is named {name:?}{}", meant_text(.near.as_deref()))]
    UnknownName {
        /// What is looked for: operation, view or detector.
        kind: &'static str,
        /// As typed.
        name: String,
        /// What may be meant.
        near: Option<String>,
    },
    /// A word is no argument.
    #[error("{text:?} is no argument; write key=value")]
    NotAnArgument {
        /// The word.
        text: String,
    },
    /// The operation takes no such argument.
    #[error(
        "{name} takes no argument {argument:?}; it takes {known}{}",
        meant_text(.near.as_deref())
    )]
    UnknownArgument {
        /// The operation.
        name: String,
        /// As typed.
        argument: String,
        /// What may be meant.
        near: Option<String>,
        /// What it takes.
        known: String,
    },
    /// An argument is given twice.
    #[error("{argument} is given twice; give it once")]
    Twice {
        /// The argument.
        argument: String,
    },
    /// An argument is missing.
    #[error("{name} needs {argument}; write {argument}=…")]
    Missing {
        /// The operation.
        name: String,
        /// The argument.
        argument: &'static str,
    },
    /// A value is no duration within its range.
    #[error(
        "{argument}={value} is no duration from {min} to 3650d; write it as 500ms, 30s, 5m, 1h"
    )]
    BadDuration {
        /// The argument.
        argument: &'static str,
        /// As typed.
        value: String,
        /// The shortest.
        min: &'static str,
    },
    /// A value is no number within its range.
    #[error("{argument}={value} is no whole number from {min} to {max}")]
    BadNumber {
        /// The argument.
        argument: &'static str,
        /// As typed.
        value: String,
        /// The lowest.
        min: u64,
        /// The highest.
        max: u64,
    },
    /// A value is no name.
    #[error("{argument}={value:?} {why}")]
    BadText {
        /// The argument.
        argument: &'static str,
        /// As typed.
        value: String,
        /// Which rule it breaks.
        why: BadText,
    },
    /// A value names the trigger's something else.
    #[error(
        "{argument}={value} is not what triggers give here; write {argument}=trigger.{argument} or {argument}=run"
    )]
    WrongTrigger {
        /// The argument.
        argument: &'static str,
        /// As typed.
        value: String,
    },
    /// A value is none of the words that it may be.
    #[error("on_fail={value} is none of stop, continue, ask{}", meant_text(.near.as_deref()))]
    BadOnFail {
        /// As typed.
        value: String,
        /// What may be meant.
        near: Option<String>,
    },
    /// A quote is not closed.
    #[error("the quote that opens at character {at} is not closed")]
    OpenQuote {
        /// Where, in characters from 1.
        at: usize,
    },
    /// The condition is none.
    #[error("the condition of wait.until is none: {why}")]
    BadCondition {
        /// What is wrong with it.
        why: String,
    },
}

fn meant_text(near: Option<&str>) -> String {
    near.map_or_else(String::new, |near| alloc::format!("; did you mean {near:?}?"))
}

/// A line, read and not yet understood.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) name: String,
    arguments: Vec<Argument>,
}

#[derive(Debug)]
struct Argument {
    key: String,
    value: String,
    is_quoted: bool,
}

/// Most of what one detector may count.
const COUNT_MAX: u64 = 1_000_000_000;

impl Line {
    pub(super) fn read(text: &str) -> Result<Self, ExactTrouble> {
        let mut words = split(text)?.into_iter();
        let first = words.next().ok_or(ExactTrouble::Empty)?;
        let mut arguments: Vec<Argument> = Vec::new();
        for word in words {
            let (key, value) = word
                .text
                .split_once('=')
                .filter(|(key, _)| !key.is_empty() && word.quote_at.is_none_or(|at| at > key.len()))
                .ok_or_else(|| ExactTrouble::NotAnArgument { text: word.text.clone() })?;
            if arguments.iter().any(|argument| argument.key == key) {
                return Err(ExactTrouble::Twice { argument: key.to_owned() });
            }
            let is_quoted = word.quote_at.is_some();
            arguments.push(Argument { key: key.to_owned(), value: value.to_owned(), is_quoted });
        }
        Ok(Self { name: first.text, arguments })
    }

    /// Returns `Ok` when each argument is one of `known`.
    pub(super) fn check(&self, known: &[&'static str]) -> Result<(), ExactTrouble> {
        let odd = self.arguments.iter().find(|argument| !known.contains(&argument.key.as_str()));
        odd.map_or(Ok(()), |odd| {
            let near = near::meant(&odd.key, known.iter().copied());
            Err(ExactTrouble::UnknownArgument {
                name: self.name.clone(),
                argument: odd.key.clone(),
                near: near.map(ToOwned::to_owned),
                known: if known.is_empty() { "none".to_owned() } else { known.join(", ") },
            })
        })
    }

    fn get(&self, key: &str) -> Option<&Argument> {
        self.arguments.iter().find(|argument| argument.key == key)
    }

    /// Returns whom `key` names: the one that the run is about when it is not given.
    pub(super) fn subject(&self, key: &'static str) -> Result<Subject, ExactTrouble> {
        let Some(argument) = self.get(key) else { return Ok(Subject::Run) };
        if !argument.is_quoted {
            if argument.value == "run" {
                return Ok(Subject::Run);
            }
            if let Some(what) = argument.value.strip_prefix("trigger.") {
                let value = argument.value.clone();
                let wrong = ExactTrouble::WrongTrigger { argument: key, value };
                return if what == key { Ok(Subject::Run) } else { Err(wrong) };
            }
        }
        self.name_of(key, argument).map(Subject::Named)
    }

    pub(super) fn name(&self, key: &'static str) -> Result<Option<Text>, ExactTrouble> {
        self.get(key).map(|argument| self.name_of(key, argument)).transpose()
    }

    fn name_of(&self, key: &'static str, argument: &Argument) -> Result<Text, ExactTrouble> {
        let value = &argument.value;
        let name = Name::parse(value).map_err(|why| bad_text(key, value, why))?;
        Ok(Text::cut(name.as_str()))
    }

    pub(super) fn title(&self, key: &'static str) -> Result<Option<Title>, ExactTrouble> {
        let parse = |argument: &Argument| {
            Title::parse(&argument.value).map_err(|why| bad_text(key, &argument.value, why))
        };
        self.get(key).map(parse).transpose()
    }

    pub(super) fn text(&self, key: &'static str) -> Result<Option<Text>, ExactTrouble> {
        let parse = |argument: &Argument| {
            let value = &argument.value;
            let is_empty = value.trim().is_empty();
            let text = if is_empty { Err(BadText::Empty) } else { Text::parse(value) };
            text.map_err(|why| bad_text(key, value, why))
        };
        self.get(key).map(parse).transpose()
    }

    /// Returns the milliseconds of a duration, at least 1 where `may_be_zero` does not stand.
    pub(super) fn span_ms(
        &self,
        key: &'static str,
        shortest: Shortest,
    ) -> Result<Option<u64>, ExactTrouble> {
        let Some(argument) = self.get(key) else { return Ok(None) };
        let (least, min) = match shortest {
            Shortest::Zero => (0, "0s"),
            Shortest::One => (1, "1ms"),
        };
        let ms = slot::compact_span(&argument.value).filter(|ms| *ms >= least);
        let value = argument.value.clone();
        ms.map(Some).ok_or(ExactTrouble::BadDuration { argument: key, value, min })
    }

    pub(super) fn count(&self, key: &'static str, min: u64) -> Result<Option<u64>, ExactTrouble> {
        let Some(argument) = self.get(key) else { return Ok(None) };
        let number = argument.value.parse().ok().filter(|n| (min..=COUNT_MAX).contains(n));
        let value = argument.value.clone();
        let bad = ExactTrouble::BadNumber { argument: key, value, min, max: COUNT_MAX };
        number.map(Some).ok_or(bad)
    }

    pub(super) fn on_fail(&self) -> Result<OnFail, ExactTrouble> {
        let Some(argument) = self.get("on_fail") else { return Ok(OnFail::Stop) };
        match argument.value.as_str() {
            "stop" => Ok(OnFail::Stop),
            "continue" => Ok(OnFail::Continue),
            "ask" => Ok(OnFail::Ask),
            odd => {
                let near = near::meant(odd, ["stop", "continue", "ask"].into_iter());
                let near = near.map(ToOwned::to_owned);
                Err(ExactTrouble::BadOnFail { value: odd.to_owned(), near })
            }
        }
    }

    /// Returns the value, or that it is missing.
    pub(super) fn needed<T>(
        &self,
        argument: &'static str,
        value: Option<T>,
    ) -> Result<T, ExactTrouble> {
        value.ok_or_else(|| ExactTrouble::Missing { name: self.name.clone(), argument })
    }
}

/// How short a duration may be.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shortest {
    Zero,
    One,
}

fn bad_text(argument: &'static str, value: &str, why: BadText) -> ExactTrouble {
    ExactTrouble::BadText { argument, value: value.to_owned(), why }
}

#[derive(Debug)]
struct Word {
    text: String,
    /// Where its first quote stands, in bytes of the word.
    quote_at: Option<usize>,
}

/// Splits a line at spaces outside quotes. Within quotes, `\"`, `\\` and `\n` are one character.
fn split(text: &str) -> Result<Vec<Word>, ExactTrouble> {
    let mut words: Vec<Word> = Vec::new();
    let mut open: Option<Word> = None;
    let mut chars = text.chars().enumerate();
    while let Some((at, c)) = chars.next() {
        if c.is_whitespace() {
            words.extend(open.take());
            continue;
        }
        let word = open.get_or_insert_with(|| Word { text: String::new(), quote_at: None });
        if c != '"' {
            word.text.push(c);
            continue;
        }
        word.quote_at.get_or_insert(word.text.len());
        loop {
            match chars.next() {
                None => return Err(ExactTrouble::OpenQuote { at: at + 1 }),
                Some((_, '"')) => break,
                Some((_, '\\')) => match chars.next() {
                    Some((_, 'n')) => word.text.push('\n'),
                    Some((_, escaped)) => word.text.push(escaped),
                    None => return Err(ExactTrouble::OpenQuote { at: at + 1 }),
                },
                Some((_, c)) => word.text.push(c),
            }
        }
    }
    words.extend(open);
    Ok(words)
}

/// Returns whether a value needs quotes to be read as itself.
pub(super) fn needs_quotes(value: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-:@#/+".contains(c);
    value.is_empty() || !value.chars().all(is_plain)
}

/// Returns the value in quotes.
pub(super) fn quoted(value: &str) -> Box<str> {
    let mut text = String::from("\"");
    for c in value.chars() {
        match c {
            '"' | '\\' => text.extend(['\\', c]),
            '\n' => text.push_str("\\n"),
            _ => text.push(c),
        }
    }
    text.push('"');
    text.into_boxed_str()
}

/// Returns how a duration is written: in the largest unit that needs no fraction.
pub(super) fn span(ms: u64) -> String {
    const UNITS: &[(u64, &str)] =
        &[(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s")];
    if ms == 0 {
        return "0s".to_owned();
    }
    let whole = UNITS.iter().find(|(unit, _)| ms.is_multiple_of(*unit));
    whole.map_or_else(
        || alloc::format!("{ms}ms"),
        |(unit, name)| alloc::format!("{}{name}", ms / unit),
    )
}

const _: () = assert!(limits::DURATION_MS_MAX == 3_650 * 86_400_000, "the range in the messages");
