//! What a child left running: found by its parent and ended.

use std::fs;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, RawPid, Signal, getpid, kill_process, kill_process_group};

/// Rounds of looking for processes; each generation of orphans takes one.
const ROUNDS_MAX: u32 = 500;
/// Pause between two rounds.
const PAUSE: Duration = Duration::from_millis(2);

/// Kills the process group and every process that became a child of this one, until none is left.
pub(super) fn end_all(group: Pid) {
    for _ in 0..ROUNDS_MAX {
        let orphans = live_children(getpid());
        let group_lives = kill_process_group(group, Signal::KILL).is_ok();
        if orphans.is_empty() && !group_lives {
            return;
        }
        for orphan in orphans {
            // It may have ended by itself.
            let _ = kill_process(orphan, Signal::KILL);
        }
        reap();
        thread::sleep(PAUSE);
    }
}

fn live_children(parent: Pid) -> Vec<Pid> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<RawPid>().ok())
        .filter(|pid| parent_of_live(*pid) == Some(parent.as_raw_pid()))
        .filter_map(Pid::from_raw)
        .collect()
}

/// Returns the parent of the process `pid` unless that is a zombie.
fn parent_of_live(pid: RawPid) -> Option<RawPid> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may contain anything, even parentheses.
    let (_, rest) = stat.rsplit_once(") ")?;
    let mut words = rest.split(' ');
    let state = words.next()?;
    let parent = words.next()?.parse().ok()?;
    (state != "Z").then_some(parent)
}

/// Takes leave of children that have ended: the members of a group live on as zombies.
fn reap() {
    use rustix::process::{WaitOptions, wait};
    while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
}
