//! One process under faults: started, killed, frozen and started again, with its words in a file.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::shim::Control;

/// The program.
pub(crate) const CLAWHOLD: &str = env!("CARGO_BIN_EXE_clawhold");
/// The helper of the program that becomes a command which dies with the one who started it.
const EXEC: &str = "__exec";
/// How often the end of a process is looked for.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// What a process is started with, again and again.
#[derive(Debug)]
pub(crate) struct Recipe {
    /// What the test calls it.
    pub(crate) name: String,
    /// The command and its arguments.
    pub(crate) words: Vec<String>,
    /// What its environment says.
    pub(crate) variables: Vec<(&'static str, String)>,
    /// Where it runs, and where what it says is kept.
    pub(crate) folder: PathBuf,
}

/// A process. Dropping it kills it and everything that it started.
#[derive(Debug)]
pub(crate) struct Process {
    recipe: Recipe,
    /// What it sees of its disk and its wall clock.
    pub(crate) control: Control,
    child: Option<Child>,
    /// Processes that are frozen with it.
    frozen: Vec<Pid>,
}

impl Process {
    /// Starts a process. To be called on the thread of the test: the kernel ends the process with
    /// that thread.
    pub(crate) fn start(recipe: Recipe, control: Control) -> Self {
        let mut process = Self { recipe, control, child: None, frozen: Vec::new() };
        process.restart();
        process
    }

    /// Starts it once more after it has ended.
    pub(crate) fn restart(&mut self) {
        assert!(!self.is_running(), "{} runs", self.name());
        let Recipe { name, words, variables, folder } = &self.recipe;
        let log = folder.join(format!("{name}.log"));
        let log = File::options().create(true).append(true).open(log).unwrap();
        let mut command = Command::new(CLAWHOLD);
        command.args([EXEC, &std::process::id().to_string()]).args(words);
        command.env_clear().env("HOME", folder).env("PATH", "/usr/bin:/bin").env("TMPDIR", folder);
        command.envs(variables.iter().map(|(key, value)| (*key, value)));
        self.control.apply(&mut command);
        command.current_dir(folder).stdin(Stdio::null()).stdout(log.try_clone().unwrap());
        self.child = Some(command.stderr(log).spawn().unwrap());
        self.frozen.clear();
    }

    pub(crate) fn name(&self) -> &str {
        &self.recipe.name
    }

    pub(crate) fn pid(&self) -> Option<Pid> {
        self.child.as_ref().map(Pid::from_child)
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.child.as_mut().is_some_and(|child| child.try_wait().unwrap().is_none())
    }

    /// Kills it with -9 and waits until it is gone.
    pub(crate) fn kill(&mut self) {
        let Some(child) = &mut self.child else { return };
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Asks it to end.
    pub(crate) fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Waits for its end.
    pub(crate) fn ended(&mut self, patience: Duration) -> Option<ExitStatus> {
        let child = self.child.as_mut()?;
        let since = Instant::now();
        loop {
            match child.try_wait().unwrap() {
                Some(status) => return Some(status),
                None if patience < since.elapsed() => return None,
                None => thread::sleep(LOOK_EVERY),
            }
        }
    }

    /// Stops it where it is, alone.
    pub(crate) fn freeze(&mut self) {
        self.signal(Signal::STOP);
        self.frozen = self.pid().into_iter().collect();
    }

    /// Stops it and everything it started where they are, as a machine that is suspended.
    pub(crate) fn freeze_all(&mut self) {
        let all: Vec<Pid> = self.pid().into_iter().flat_map(tree).collect();
        for pid in &all {
            // One that has ended meanwhile stands as still.
            let _ = kill_process(*pid, Signal::STOP);
        }
        self.frozen = all;
    }

    /// Lets what is frozen go on.
    pub(crate) fn thaw(&mut self) {
        for pid in self.frozen.drain(..) {
            let _ = kill_process(pid, Signal::CONT);
        }
    }

    fn signal(&self, signal: Signal) {
        if let Some(pid) = self.pid() {
            // It may have ended by itself, and is not reaped before that was looked for.
            let _ = kill_process(pid, signal);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.thaw();
        let started: Vec<Pid> = self.pid().into_iter().flat_map(tree).collect();
        if self.is_running() {
            self.kill();
        }
        for pid in started.into_iter().skip(1) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// Returns a process and its descendants, each after the one that started it.
pub(crate) fn tree(root: Pid) -> Vec<Pid> {
    let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        if let Some(parent) = parent(&entry.path()) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut found = vec![root.as_raw_pid()];
    let mut at = 0;
    while let Some(pid) = found.get(at) {
        found.extend(children.remove(pid).unwrap_or_default());
        at += 1;
    }
    found.into_iter().filter_map(Pid::from_raw).collect()
}

/// Returns the parent of the process that `folder` below `/proc` describes.
fn parent(folder: &Path) -> Option<i32> {
    let stat = fs::read_to_string(folder.join("stat")).ok()?;
    // The name stands in parentheses and may hold anything; the parent is the second word after.
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(1)?.parse().ok()
}
