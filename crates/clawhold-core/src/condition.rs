//! Conditions: a small language about roles, workers, queues and jobs.
//!
//! A subset of CEL plus the spellings that people type (`=`, `and`, `or`, `not`, `is`, `<>`). A
//! text is checked in full when it is parsed: names, types, what it is about. What is kept is the
//! compiled form, so a later parser never changes a stored rule. A field without a value makes
//! what rests on it unknown. Where values come from is the caller's, through [`Facts`].

mod advice;
mod check;
mod duration;
mod field;
mod lex;
mod near;
mod op;
mod parse;
mod program;
mod show;
mod target;
mod trouble;
mod value;

#[cfg(test)]
mod tests;

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use minicbor::decode::Error as DecodeError;
use minicbor::encode::{Error as EncodeError, Write};
use minicbor::{Decode, Decoder, Encode, Encoder};

use self::op::Op;
use self::program::Program;

pub use self::field::{Field, FieldSet, Kind, Root};
pub use self::show::Explained;
pub use self::trouble::Trouble;
pub use self::value::{Facts, Truth, Value};

/// Bytes of a condition.
pub const BYTES_MAX: usize = 4_096;
/// Words, constants and signs of a condition.
pub const TOKENS_MAX: usize = 512;
/// Levels of brackets and negations in a condition.
pub const DEPTH_MAX: usize = 32;
/// Operations of a compiled condition. Each token makes one at most.
const OPS_MAX: usize = TOKENS_MAX;
/// Values on the stack at once: each level leaves at most six waiting.
const STACK_MAX: usize = 256;

/// What a condition is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
#[cbor(index_only)]
pub enum TargetKind {
    /// A role, with its lease and its standbys.
    #[n(0)]
    Role,
    /// A worker.
    #[n(1)]
    Worker,
    /// A queue.
    #[n(2)]
    Queue,
    /// A job, with its queue and its holder.
    #[n(3)]
    Job,
}

impl TargetKind {
    /// Returns the word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Role => "role",
            Self::Worker => "worker",
            Self::Queue => "queue",
            Self::Job => "job",
        }
    }
}

impl fmt::Display for TargetKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A condition, checked and ready to be evaluated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// As it was typed.
    text: Box<str>,
    target: TargetKind,
    program: Program,
}

impl Condition {
    /// Parses and checks a text.
    ///
    /// # Errors
    /// [`Trouble`] tells what is wrong, where, and what to write instead.
    pub fn parse(text: &str) -> Result<Self, Trouble> {
        let (ops, target) = parse::parse(text)?;
        let whole = trouble::Span::new(0, text.len());
        let program = Program::link(ops).map_err(|why| Trouble::at(text, whole, why))?;
        Ok(Self { text: text.into(), target, program })
    }

    /// Returns the condition as it was typed.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the condition as CEL, every habit spelt out.
    #[must_use]
    pub fn canonical(&self) -> String {
        show::canonical(&self.program.ops)
    }

    /// Returns what it is about.
    #[must_use]
    pub fn target(&self) -> TargetKind {
        self.target
    }

    /// Returns the fields that it reads.
    #[must_use]
    pub fn fields(&self) -> FieldSet {
        self.program.fields
    }

    /// Tells whether its truth may change by the passing of time alone.
    #[must_use]
    pub fn is_timed(&self) -> bool {
        self.fields().iter().any(Field::is_timed)
    }

    /// Tells whether it holds.
    ///
    /// What is missing makes a comparison unknown; `and` with something false is false all the
    /// same, `or` with something true is true. A division by zero and a result beyond 64 bits are
    /// unknown. Never allocates.
    #[must_use]
    pub fn eval(&self, facts: &impl Facts) -> Truth {
        self.program.eval(facts)
    }

    /// Returns each part with its value: the whole, then its parts from left to right.
    #[must_use]
    pub fn explain(&self, facts: &impl Facts) -> Vec<Explained> {
        show::explain(&self.program.ops, facts)
    }

    /// Returns the fields that it reads with their values, for the record:
    /// `worker.leaving = true, worker.held_jobs = 12`.
    #[must_use]
    pub fn evidence(&self, facts: &impl Facts) -> String {
        show::evidence(&self.program.ops, facts)
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A condition as it is stored.
#[derive(Decode)]
struct Stored<'b> {
    #[b(0)]
    text: &'b str,
    #[n(1)]
    ops: Vec<Op>,
}

impl<C> Encode<C> for Condition {
    fn encode<W: Write>(
        &self,
        e: &mut Encoder<W>,
        ctx: &mut C,
    ) -> Result<(), EncodeError<W::Error>> {
        e.array(2)?.str(&self.text)?;
        self.program.ops.encode(e, ctx)
    }
}

impl<'b, C> Decode<'b, C> for Condition {
    fn decode(d: &mut Decoder<'b>, ctx: &mut C) -> Result<Self, DecodeError> {
        let stored = Stored::decode(d, ctx)?;
        if stored.text.len() > BYTES_MAX {
            return Err(DecodeError::message("a condition that is too long"));
        }
        let program = Program::link(stored.ops).map_err(DecodeError::message)?;
        let mut roots: Vec<Root> = program.fields.iter().map(Field::root).collect();
        roots.dedup();
        let target = match target::of(&roots) {
            Ok(target) if !roots.is_empty() => target,
            Ok(_) | Err(_) => return Err(DecodeError::message("a condition about nothing")),
        };
        Ok(Self { text: stored.text.into(), target, program })
    }
}
