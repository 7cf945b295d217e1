//! `__exec PARENT CMD…`: becomes CMD, which the kernel kills when the parent dies.

use std::ffi::OsString;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};

/// The exit code of a program that was not found, as shells have it.
const NOT_FOUND: u8 = 127;
/// The exit code of a program that could not be run, as shells have it.
const NOT_RUN: u8 = 126;

/// Runs the helper; returns only when CMD could not be started.
pub(super) fn run(arguments: &[OsString]) -> ExitCode {
    let [parent, program, rest @ ..] = arguments else {
        return complain("__exec takes the parent's process id and a command");
    };
    let parent = parent.to_str().and_then(|text| text.parse().ok()).and_then(Pid::from_raw);
    if let Err(error) = set_parent_process_death_signal(Some(Signal::KILL)) {
        return complain(&format!("cannot ask to end with the parent: {error}"));
    }
    // The parent may have died before the kernel was asked.
    if getppid() != parent {
        return ExitCode::from(NOT_RUN);
    }
    let error = Command::new(program).args(rest).exec();
    let name = program.to_string_lossy();
    let _ = writeln!(std::io::stderr(), "clawhold: cannot start {name:?}: {error}");
    let code = if error.kind() == std::io::ErrorKind::NotFound { NOT_FOUND } else { NOT_RUN };
    ExitCode::from(code)
}

fn complain(text: &str) -> ExitCode {
    // Nobody is left to tell when standard error is closed.
    let _ = writeln!(std::io::stderr(), "clawhold: {text}");
    ExitCode::from(NOT_RUN)
}
