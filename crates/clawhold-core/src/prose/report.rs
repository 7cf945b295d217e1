//! What a text became, sentence by sentence, and why not more.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use super::order::{self, OrderTrouble};
use super::veto::VetoKind;
use crate::operation::{Operation, Plan, Reading};

/// A text as a plan, with a report on each of its sentences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiled {
    /// The plan, ready to be stored.
    pub plan: Plan,
    /// One report a sentence, in order.
    pub sentences: Vec<SentenceReport>,
    /// What the text itself says about the order of its steps.
    pub told: Vec<Told>,
    /// Acceptances that name no suggestion, as given.
    pub unused: Vec<(usize, usize)>,
}

impl Compiled {
    /// Returns `Ok` when the plan keeps the invariants and the order that its own text states.
    ///
    /// # Errors
    /// [`OrderTrouble`] names the steps and what to write instead.
    pub fn check_order(&self) -> Result<(), OrderTrouble> {
        order::check_order(&self.plan)?;
        order::check_told(&self.plan, &self.told)
    }

    /// Tells whether every sentence became an operation that the program carries out.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.plan.is_complete()
    }
}

/// What one sentence became.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentenceReport {
    /// Its number, from 1; the first half of `--accept 2=1`.
    pub number: usize,
    /// As it was typed.
    pub text: String,
    /// What it became.
    pub operations: Vec<Operation>,
    /// How.
    pub reading: Reading,
    /// Why it was not understood, also where a suggestion was accepted.
    pub trouble: Option<NotUnderstood>,
}

/// An order of two steps that a sentence states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// The number of the sentence.
    pub sentence: usize,
    /// The operation that comes first, by its name.
    pub first: &'static str,
    /// The operation that comes after it, by its name.
    pub second: &'static str,
    /// The sentence takes for granted that the first is done.
    pub needs_first: bool,
}

/// Why a sentence was not understood, and what is near.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NotUnderstood {
    /// Words that the table does not hold.
    pub unknown: Vec<String>,
    /// The word that forbids the sentence.
    pub veto: Option<Veto>,
    /// What it may mean, in the exact form, where it may mean two things.
    pub ties: Box<[String]>,
    /// What else is the matter.
    pub hint: Option<Hint>,
    /// What is near, best first. The number for `--accept` counts from 1.
    pub nearest: Vec<Nearest>,
}

/// A word that forbids its sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Veto {
    /// The word, in lower case.
    pub word: Box<str>,
    /// Why it forbids.
    pub kind: VetoKind,
}

/// What is the matter, beyond words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hint {
    /// There is nothing.
    Empty,
    /// It is longer than a step may be.
    Long,
    /// Each word is known, their order is not.
    Order,
    /// Several of its parts are not understood.
    Parts,
    /// There is more than one sentence where one is wanted.
    OneSentence,
    /// It may mean several that the text names.
    Which(Vec<String>),
    /// A word stands where a name stands, and is none without quotes.
    Name(String),
    /// The exact form has a mistake.
    Exact(String),
}

/// What a sentence may have meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nearest {
    /// In the exact form; several with `;` between them.
    pub exact: String,
    /// A sentence that says it.
    pub example: &'static str,
}

impl fmt::Display for NotUnderstood {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Parts { f, between: "" };
        if let Some(veto) = &self.veto {
            parts.say(format_args!("{:?} {}", veto.word, veto.kind.says()))?;
        }
        match self.unknown.as_slice() {
            [] => {}
            [word] => parts.say(format_args!("unknown word: {word}"))?,
            words => parts.say(format_args!("unknown words: {}", words.join(", ")))?,
        }
        if !self.ties.is_empty() {
            let ties = self.ties.join(" or ");
            parts.say(format_args!("it may mean {ties}; write the one you mean"))?;
        }
        if let Some(hint) = &self.hint {
            parts.say(format_args!("{hint}"))?;
        }
        for (at, near) in self.nearest.iter().enumerate() {
            let lead = if at == 0 { "nearest: " } else { "" };
            parts.say(format_args!("{lead}{} {} ({:?})", at + 1, near.exact, near.example))?;
        }
        Ok(())
    }
}

impl core::error::Error for NotUnderstood {}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("there is nothing to read"),
            Self::Long => f.write_str("it is too long for one step; write shorter sentences"),
            Self::Order => {
                f.write_str("each word is known, but no pattern explains them in this order")
            }
            Self::Parts => {
                f.write_str("several of its parts are not understood; write a sentence for each")
            }
            Self::OneSentence => f.write_str("one sentence is wanted here"),
            Self::Which(names) => {
                write!(f, "the text names {}; say which one is meant", names.join(" and "))
            }
            Self::Name(word) => write!(f, "if {word} is a name, write it in quotes: {word:?}"),
            Self::Exact(why) => f.write_str(why),
        }
    }
}

struct Parts<'a, 'b> {
    f: &'a mut fmt::Formatter<'b>,
    between: &'static str,
}

impl Parts<'_, '_> {
    fn say(&mut self, part: fmt::Arguments<'_>) -> fmt::Result {
        self.f.write_str(self.between)?;
        self.between = "; ";
        self.f.write_fmt(part)
    }
}
