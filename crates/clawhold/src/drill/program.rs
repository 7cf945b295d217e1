//! `__drill-index`: the program that a drill's workers run for each file.
//!
//! It is an ordinary job program: the payload on standard input, the result and the checkpoint in
//! files that its environment names. While the file named by `CLAWHOLD_DRILL_HOLD` exists it stays
//! in the middle of its job, so that a fault meets a worker with work in hand.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::index::{Checkpoint, Index, Progress};
use super::path_text;

/// The variable that names the file which holds the program in the middle of its job.
pub(super) const HOLD: &str = "CLAWHOLD_DRILL_HOLD";
/// What the program adds to the name of that file to say that it was held.
pub(super) const CAUGHT: &str = ".caught";
/// The exit code of a job that makes no sense: trying again is pointless.
const DEAD_LETTER: u8 = 65;
/// For how long the program lets itself be held.
const HOLD_MAX: Duration = Duration::from_secs(20);

/// What a drill's job carries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Payload {
    /// The file's path, as `path_text` writes it.
    pub(super) file: String,
}

/// Indexes one file.
pub(crate) fn run(_: &[OsString]) -> ExitCode {
    match index() {
        Ok(code) => code,
        Err(error) => {
            let _ = writeln!(io::stderr(), "{error}");
            ExitCode::FAILURE
        }
    }
}

fn index() -> io::Result<ExitCode> {
    let mut text = String::new();
    io::stdin().read_to_string(&mut text)?;
    let payload: Option<Payload> = serde_json::from_str(&text).ok();
    let Some(path) = payload.and_then(|payload| path_text::decode(&payload.file)) else {
        writeln!(io::stderr(), "the payload names no file: {text}")?;
        return Ok(ExitCode::from(DEAD_LETTER));
    };
    let checkpoint = variable("CLAWHOLD_CHECKPOINT_FILE")?;
    let result = variable("CLAWHOLD_RESULT_FILE")?;
    let mut progress = read_checkpoint(&checkpoint).unwrap_or_else(Progress::start);
    let index = match progress.read_on(&path, &mut |so_far| {
        hold(so_far, &checkpoint);
        true
    }) {
        Ok(_) => {
            hold(&progress, &checkpoint);
            progress.finish()
        }
        Err(error) => Index::unreadable(&error),
    };
    fs::write(result, serde_json::to_vec(&index)?)?;
    Ok(ExitCode::SUCCESS)
}

fn read_checkpoint(path: &Path) -> Option<Progress> {
    let text = fs::read_to_string(path).ok()?;
    let checkpoint: Checkpoint = serde_json::from_str(&text).ok()?;
    Progress::resume(&checkpoint)
}

/// Writes a checkpoint and waits, while the drill wants this program to be held.
fn hold(progress: &Progress, checkpoint: &Path) {
    let Some(held) = std::env::var_os(HOLD).map(PathBuf::from).filter(|path| path.exists()) else {
        return;
    };
    let Ok(text) = serde_json::to_vec(&progress.checkpoint()) else { return };
    if fs::write(checkpoint, text).is_err() {
        return;
    }
    let mut caught = held.clone().into_os_string();
    caught.push(CAUGHT);
    let job = std::env::var("CLAWHOLD_JOB").unwrap_or_default();
    // The drill goes on without this job when it is not told.
    let _ = fs::write(caught, job);
    let since = Instant::now();
    while held.exists() && since.elapsed() < HOLD_MAX {
        thread::sleep(Duration::from_millis(5));
    }
}

fn variable(name: &str) -> io::Result<PathBuf> {
    std::env::var_os(name)
        .map(PathBuf::from)
        .ok_or_else(|| io::Error::other(format!("{name} is not set: is this a worker's job?")))
}
