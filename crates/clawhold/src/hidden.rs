//! The helper processes that the program starts of itself. People do not call them.
//!
//! They are told apart by their first argument before anything else is set up, so that starting
//! one costs little more than an exec.

mod exec;
mod keeper;

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};

pub(crate) use keeper::Keeper;

use crate::{drill, lead};

/// The helper that watches over the child of `lead`.
pub(crate) const GUARD: &str = "__guard";
/// The helper that becomes a program which dies with its parent.
pub(crate) const EXEC: &str = "__exec";
/// The helper that ends what a killed parent left behind.
pub(crate) const KEEPER: &str = "__keeper";
/// The coordinator of a drill.
pub(crate) const DRILL_INDEXER: &str = "__drill-indexer";
/// The program that a drill's workers run for each file.
pub(crate) const DRILL_INDEX: &str = "__drill-index";

/// Runs the helper that `arguments` (without the program's name) ask for, if they ask for one.
pub(crate) fn run(arguments: &[OsString]) -> Option<ExitCode> {
    let (word, rest) = arguments.split_first()?;
    match word.to_str()? {
        GUARD => Some(lead::guard::run(rest)),
        EXEC => Some(exec::run(rest)),
        KEEPER => Some(keeper::run(rest)),
        DRILL_INDEXER => Some(drill::indexer::run(rest)),
        DRILL_INDEX => Some(drill::program::run(rest)),
        _ => None,
    }
}

/// Returns a command that starts `helper` of this very program, even if its file was replaced
/// meanwhile.
pub(crate) fn command(helper: &str) -> Command {
    let running = Path::new("/proc/self/exe");
    let mut command = if running.exists() {
        Command::new(running)
    } else {
        Command::new(std::env::current_exe().unwrap_or_else(|_| "clawhold".into()))
    };
    command.arg0("clawhold").arg(helper);
    command
}

/// Returns a command that runs `words` so that it is killed when this process ends.
///
/// The kernel watches the thread that starts it: start it from one that lives as long as the
/// process.
pub(crate) fn bound_command(words: &[impl AsRef<OsStr>]) -> Command {
    let mut command = command(EXEC);
    command.arg(std::process::id().to_string()).args(words);
    command
}
