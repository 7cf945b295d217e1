//! Real processes that are killed: what a leader's death costs.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::server::Server;

/// A `clawhold lead` with a child that notes when it begins to act.
#[derive(Debug)]
struct Lead {
    process: Child,
    note: PathBuf,
}

impl Lead {
    fn start(program: &Path, server: &Server, role: &str, ttl: &str, n: usize) -> io::Result<Self> {
        use std::os::unix::process::CommandExt;
        let note = server.folder().join(format!("{role}-{n}"));
        let act = format!(
            "echo $(date +%s%N) $$ > {0}.new; mv {0}.new {0}; exec sleep 1000",
            note.display()
        );
        let process = Command::new(program)
            .args(["--server", &server.url(), "lead", role, "--ttl", ttl])
            .args(["--", "sh", "-c", &act])
            .env("HOME", server.folder())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()?;
        Ok(Self { process, note })
    }

    /// Returns when its child began to act, in nanoseconds since 1970, and which process that is;
    /// waits for it.
    fn acting(&self) -> io::Result<(u128, Pid)> {
        let started = Instant::now();
        loop {
            if let Ok(text) = std::fs::read_to_string(&self.note)
                && let Some((nanos, child)) = text.trim().split_once(' ')
                && let (Ok(nanos), Ok(child)) = (nanos.parse(), child.parse())
                && let Some(child) = Pid::from_raw(child)
            {
                return Ok((nanos, child));
            }
            if started.elapsed() > Duration::from_secs(30) {
                return Err(io::Error::other("nobody began to act within 30 s"));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for Lead {
    fn drop(&mut self) {
        let _ = kill_process_group(Pid::from_child(&self.process), Signal::KILL);
        let _ = self.process.wait();
    }
}

/// What dies of a leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dies {
    /// `clawhold lead` itself: its lease has to lapse.
    Lead,
    /// Its child: the lease is released.
    Child,
}

/// Kills a leader or its child at once, `rounds` times; returns how long it took until the
/// successor's child acted, in milliseconds.
///
/// # Errors
/// When a process cannot be started, or nobody takes over.
pub fn deaths(
    program: &Path,
    server: &Server,
    dies: Dies,
    ttl: &str,
    rounds: usize,
) -> io::Result<Vec<f64>> {
    let role = format!("killed-{dies:?}-{ttl}").to_lowercase();
    let mut leader = Lead::start(program, server, &role, ttl, 0)?;
    let (_, mut child) = leader.acting()?;
    let mut took = Vec::with_capacity(rounds);
    for n in 1..=rounds {
        let successor = Lead::start(program, server, &role, ttl, n)?;
        std::thread::sleep(Duration::from_millis(300 + fastrand::u64(..300)));
        let killed = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let victim = match dies {
            Dies::Lead => Pid::from_child(&leader.process),
            Dies::Child => child,
        };
        kill_process(victim, Signal::KILL)?;
        let killed = killed.map_err(io::Error::other)?.as_nanos();
        let (acting, next) = successor.acting()?;
        took.push(acting.saturating_sub(killed) as f64 / 1e6);
        (leader, child) = (successor, next);
    }
    Ok(took)
}
