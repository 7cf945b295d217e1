//! What failed elsewhere, tried on the program as its users run it.

mod audit;
mod cli;
mod standby;
mod storage;

use crate::place::{CLAWHOLD, Place, Said, said};

impl Place {
    /// Runs words that no shell has split, and that may hold anything but NUL.
    fn words(&self, words: &[&str]) -> Said {
        let mut command = self.command(CLAWHOLD);
        command.args(words);
        said(command, b"")
    }
}
