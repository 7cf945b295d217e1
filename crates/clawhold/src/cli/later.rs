//! Words that are ours and not built yet.

use std::ffi::OsString;

use clap::Args;

use crate::failure::Failure;

/// Whatever follows such a word.
#[derive(Debug, Args)]
pub(crate) struct Later {
    /// Anything
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

impl Later {
    /// Tells whether `--json` is among the words.
    pub(crate) fn asks_for_json(&self) -> bool {
        self.words.iter().any(|word| word == "--json")
    }
}

/// Returns what such a word answers.
pub(crate) fn failure(word: &str) -> Failure {
    Failure::usage(format!("`{word}` is not part of this version"))
        .next("see `clawhold --help` for what is")
}
