//! Prose to typed operations: every content word explained, or nothing.
//!
//! A sentence is held against a table of patterns that spell out each word. What one of them
//! explains to the last word becomes an operation; everything else becomes a step that a person
//! confirms, or a job for the agent that it names. Near matches are only ever suggested. What an
//! operation does is decided in `run`; the exact form, `job.return_held worker=run`, is always
//! there.

mod compile;
mod exact;
mod grammar;
mod line;
mod near;
mod order;
mod pattern;
mod phrases;
mod render;
mod report;
mod slot;
mod subject;
mod table;
#[cfg(test)]
mod tests;
mod verbs;
mod veto;
mod view;
mod watch;
mod words;

pub use compile::plan;
pub use exact::exact;
pub use line::ExactTrouble;
pub use order::{OrderTrouble, check_order};
pub use report::{Compiled, Hint, Nearest, NotUnderstood, SentenceReport, Told, Veto};
pub use veto::VetoKind;
pub use view::views;
pub use watch::detector;

/// The version of the phrase table. It rises with each change of what a text compiles to; stored
/// plans keep theirs.
pub const TABLE: u32 = 1;

/// Sentences of one text that are read; what follows them is one step that is not understood.
pub const SENTENCES_MAX: usize = 100;
/// Words of one sentence that are read.
pub const WORDS_MAX: usize = 120;
/// Suggestions for one sentence.
pub const NEAREST_MAX: usize = 3;
