//! `__keeper FOLDER`: kills the process groups and removes the folder that a killed parent left.
//!
//! The kernel ends a direct child with its parent; what that child started is not its business.
//! The keeper holds a pipe whose other end closes when the parent dies, however it dies.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io::{self, BufRead, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ExitCode, Stdio};
use std::sync::Mutex;

use rustix::process::{Pid, Signal, kill_process_group};

/// The parent's side of a keeper process.
#[derive(Debug)]
pub(crate) struct Keeper {
    pipe: Mutex<ChildStdin>,
    child: Child,
}

impl Keeper {
    /// Starts a keeper that removes `folder` when this process has died.
    ///
    /// # Errors
    /// When no process can be started.
    pub(crate) fn start(folder: &Path) -> io::Result<Self> {
        let mut child = super::command(super::KEEPER)
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .process_group(0)
            .spawn()?;
        let pipe = child.stdin.take().ok_or_else(|| io::Error::other("no pipe to the keeper"))?;
        Ok(Self { pipe: Mutex::new(pipe), child })
    }

    /// Has the process group `group` killed if this process dies.
    pub(crate) fn keep(&self, group: u32) {
        self.tell('+', group);
    }

    /// Forgets the process group `group`, which has ended.
    pub(crate) fn forget(&self, group: u32) {
        self.tell('-', group);
    }

    fn tell(&self, sign: char, group: u32) {
        // Without a keeper the kernel still ends the direct children.
        if let Ok(mut pipe) = self.pipe.lock() {
            let _ = pipe.write_all(format!("{sign}{group}\n").as_bytes());
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        // Whoever drops the keeper has ended its groups or forgotten them; what is still kept
        // would be killed by the end of the pipe in any case.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs the helper until its standard input ends.
pub(super) fn run(arguments: &[OsString]) -> ExitCode {
    let mut groups = BTreeSet::new();
    for line in io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        let Some((sign, group)) = line.split_at_checked(1) else { continue };
        let Some(group) = group.parse().ok().and_then(Pid::from_raw) else { continue };
        if sign == "+" {
            groups.insert(group.as_raw_pid());
        } else {
            groups.remove(&group.as_raw_pid());
        }
    }
    for group in groups.into_iter().filter_map(Pid::from_raw) {
        // A group that ended meanwhile is what is wanted.
        let _ = kill_process_group(group, Signal::KILL);
    }
    if let [folder] = arguments {
        // A parent that ended in good order has removed it.
        let _ = fs::remove_dir_all(folder);
    }
    ExitCode::SUCCESS
}
