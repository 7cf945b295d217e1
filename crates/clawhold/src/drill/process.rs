//! One process of a drill: started in a group of its own, and ended with the drill.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::sync::mpsc;

use crate::hidden;

/// How often the end of a process is looked for.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// Lines that may wait to be read; a process that says more waits.
const LINES_MAX: usize = 1_024;

/// A line that a process said, and when.
#[derive(Clone, Debug)]
pub(super) struct Said {
    /// Who.
    pub(super) name: String,
    /// When it was read.
    pub(super) at: Instant,
    /// What; none once it has said all.
    pub(super) line: Option<String>,
}

/// A process of a drill. Dropping it kills its group.
#[derive(Debug)]
pub(super) struct Process {
    /// What the drill calls it.
    pub(super) name: String,
    child: Child,
    ended: bool,
}

/// Where the lines of processes go.
pub(super) type Lines = mpsc::Sender<Said>;

/// Returns the channel of lines.
pub(super) fn lines() -> (Lines, mpsc::Receiver<Said>) {
    mpsc::channel(LINES_MAX)
}

impl Process {
    /// Starts `words` of this program, with `variables` and what it complains about in `logs`.
    ///
    /// It must be called on a thread that lives as long as the drill: the kernel ends the
    /// process with that thread.
    ///
    /// # Errors
    /// When the process cannot be started.
    pub(super) fn start(
        name: &str,
        words: &[std::ffi::OsString],
        variables: &[(&str, std::ffi::OsString)],
        logs: &Path,
        lines: Option<Lines>,
    ) -> io::Result<Self> {
        let log =
            File::options().create(true).append(true).open(logs.join(format!("{name}.log")))?;
        let mut command = hidden::bound_command(&[Path::new("/proc/self/exe")]);
        for (key, _) in std::env::vars_os() {
            if key.to_str().is_some_and(|key| key.starts_with("CLAWHOLD_")) {
                command.env_remove(key);
            }
        }
        let output = if lines.is_some() { Stdio::piped() } else { log.try_clone()?.into() };
        let mut child = command
            .args(words)
            .envs(variables.iter().map(|(key, value)| (*key, value)))
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(log)
            .process_group(0)
            .spawn()?;
        if let (Some(lines), Some(output)) = (lines, child.stdout.take()) {
            let name = name.to_owned();
            thread::spawn(move || {
                for line in BufReader::new(output).lines() {
                    let Ok(line) = line else { break };
                    let said = Said { name: name.clone(), at: Instant::now(), line: Some(line) };
                    if lines.blocking_send(said).is_err() {
                        return;
                    }
                }
                let _ = lines.blocking_send(Said { name, at: Instant::now(), line: None });
            });
        }
        Ok(Self { name: name.to_owned(), child, ended: false })
    }

    /// Stops the process where it is, with everything it started.
    pub(super) fn freeze(&self) {
        self.signal(Signal::STOP);
    }

    /// Lets a frozen process go on.
    pub(super) fn thaw(&self) {
        self.signal(Signal::CONT);
    }

    /// Asks the process itself, and nothing it started, to end.
    pub(super) fn terminate(&self) {
        let _ = rustix::process::kill_process(Pid::from_child(&self.child), Signal::TERM);
    }

    /// Kills the process itself with -9, and nothing it started.
    pub(super) fn kill(&mut self) {
        // It may have ended by itself; what is wanted is that it has.
        let _ = self.child.kill();
    }

    /// Waits for its end; none when it has not ended after `time`.
    ///
    /// # Errors
    /// When the system does not tell.
    pub(super) async fn ended(&mut self, time: Duration) -> io::Result<Option<ExitStatus>> {
        let since = Instant::now();
        while since.elapsed() < time {
            if let Some(status) = self.child.try_wait()? {
                self.ended = true;
                return Ok(Some(status));
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        Ok(None)
    }

    /// Returns how it ended, if it has.
    pub(super) fn status(&mut self) -> Option<ExitStatus> {
        let status = self.child.try_wait().ok().flatten();
        self.ended |= status.is_some();
        status
    }

    fn signal(&self, signal: Signal) {
        if !self.ended {
            let _ = kill_process_group(Pid::from_child(&self.child), signal);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        let _ = self.child.wait();
    }
}
