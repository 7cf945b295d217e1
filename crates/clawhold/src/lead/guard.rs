//! `__guard NOTICE_MS lines|null CMD…`: runs the child of `lead` and ends it in time.
//!
//! The guard is a process of its own, so that the child dies before the lease's deadline even if
//! `lead` is killed or frozen: the end of the control socket, or a deadline that was not moved,
//! kills the child's process group and all that it left behind. Decides nothing about the lease.

mod alarm;
mod descendants;

use std::ffi::{OsStr, OsString};
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ExitCode, Stdio};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread;

use rustix::process::{Pid, Signal, kill_process_group, set_child_subreaper};

use self::alarm::Alarm;
use super::boottime;
use super::control::{Cause, End, Order, Report};
use super::lease_file::{self, LEASE_FILE};
use super::line::{Line, StopReason};
use crate::hidden;

/// Milliseconds before the deadline at which the child is killed, so that it has ended by then.
pub(crate) const KILL_LEAD_MS: u64 = 20;
/// Events and lines that may wait; a full queue holds the sender back.
const WAITING_MAX: usize = 64;

/// Runs the guard until its child and everything that it started has ended.
pub(crate) fn run(arguments: &[OsString]) -> ExitCode {
    let [notice_ms, input, command @ ..] = arguments else { return ExitCode::FAILURE };
    let Some(notice_ms) = notice_ms.to_str().and_then(|text| text.parse().ok()) else {
        return ExitCode::FAILURE;
    };
    let Ok(control) = io::stdin().as_fd().try_clone_to_owned().map(UnixStream::from) else {
        return ExitCode::FAILURE;
    };
    let job = Job { notice_ms, lines: input == "lines", command };
    match watch(&job, &control) {
        Ok((end, cause)) => {
            report(&control, &Report::Ended { end, cause });
            ExitCode::from(end.shell_code())
        }
        Err(error) => {
            report(&control, &Report::Failed(error.to_string()));
            ExitCode::FAILURE
        }
    }
}

/// What the guard was started for.
struct Job<'a> {
    /// Milliseconds before the deadline at which the child gets SIGTERM.
    notice_ms: u64,
    /// Whether the child's standard input carries lines; it is empty otherwise.
    lines: bool,
    command: &'a [OsString],
}

/// Something that the guard has to deal with.
#[derive(Debug)]
enum Event {
    Ordered(Order),
    /// The other end of the control socket is gone.
    Orphaned,
    Rang,
    Ended(End),
}

fn watch(job: &Job<'_>, control: &UnixStream) -> io::Result<(End, Cause)> {
    let (events, inbox) = mpsc::sync_channel(WAITING_MAX);
    let alarm = Alarm::start({
        let events = events.clone();
        move || events.send(Event::Rang).is_ok()
    })?;
    let orders = BufReader::new(control.try_clone()?);
    // Orphans of the child become children of the guard, which finds and ends them.
    set_child_subreaper(Some(rustix::process::getpid()))?;
    let mut child = spawn(job)?;
    report(control, &Report::Started { pid: child.id() });
    let group = Pid::from_child(&child);
    let lines = child.stdin.take().map(write_lines);
    let mut guard = Guard {
        group,
        notice_ms: job.notice_ms,
        deadline_ms: None,
        kill_at_ms: None,
        cause: Cause::Itself,
        killed: false,
        orphaned: false,
        lines,
    };
    read_orders(orders, events.clone());
    wait_for_end(child, events);
    let end = guard.keep(&inbox, &alarm, control);
    descendants::end_all(group);
    if guard.orphaned {
        remove_lease_file();
    }
    Ok((end, guard.cause))
}

fn spawn(job: &Job<'_>) -> io::Result<Child> {
    let words: Vec<&OsStr> = job.command.iter().map(OsString::as_os_str).collect();
    let input = if job.lines { Stdio::piped() } else { Stdio::null() };
    hidden::bound_command(&words).stdin(input).process_group(0).spawn()
}

/// Writes lines to the child's standard input, on a thread of its own: a child that does not
/// read must not hold the guard up.
fn write_lines(mut input: ChildStdin) -> SyncSender<String> {
    let (lines, outbox) = mpsc::sync_channel::<String>(WAITING_MAX);
    thread::spawn(move || {
        for line in outbox {
            if writeln!(input, "{line}").and_then(|()| input.flush()).is_err() {
                // The child has closed its input. It gets no more lines.
                return;
            }
        }
    });
    lines
}

fn read_orders(orders: BufReader<UnixStream>, events: SyncSender<Event>) {
    thread::spawn(move || {
        for line in orders.lines() {
            let Ok(line) = line else { break };
            let Some(order) = Order::parse(&line) else { continue };
            if events.send(Event::Ordered(order)).is_err() {
                return;
            }
        }
        let _ = events.send(Event::Orphaned);
    });
}

fn wait_for_end(mut child: Child, events: SyncSender<Event>) {
    thread::spawn(move || {
        let end = child.wait().map_or(End::Code(u8::MAX), End::of);
        let _ = events.send(Event::Ended(end));
    });
}

/// The child and when it has to end.
struct Guard {
    group: Pid,
    notice_ms: u64,
    /// When the child must have ended; unset while it stands by.
    deadline_ms: Option<u64>,
    /// When the child is killed because it was told to stop. Only moves forward in urgency.
    kill_at_ms: Option<u64>,
    cause: Cause,
    killed: bool,
    /// `lead` has died.
    orphaned: bool,
    lines: Option<SyncSender<String>>,
}

impl Guard {
    fn keep(&mut self, inbox: &Receiver<Event>, alarm: &Alarm, control: &UnixStream) -> End {
        loop {
            self.look_at_the_clock(control);
            alarm.set(self.next_moment());
            match inbox.recv() {
                Ok(Event::Ordered(order)) => self.obey(order),
                Ok(Event::Orphaned) => {
                    self.orphaned = true;
                    self.kill(Cause::Ordered);
                }
                Ok(Event::Rang) => {}
                Ok(Event::Ended(end)) => return end,
                // The thread that waits for the child holds a sender until it has sent.
                Err(mpsc::RecvError) => return End::Code(u8::MAX),
            }
        }
    }

    fn obey(&mut self, order: Order) {
        match order {
            Order::Deadline(at_ms) => self.deadline_ms = Some(at_ms),
            Order::Say(line) => self.say(line),
            Order::Stop { grace_ms } => self.stop(grace_ms),
            Order::Kill => self.kill(Cause::Ordered),
        }
    }

    fn say(&mut self, line: String) {
        // A child that lets lines pile up gets no more of them; its deadline holds all the same.
        let full = self.lines.as_ref().is_some_and(|lines| lines.try_send(line).is_err());
        if full {
            self.lines = None;
        }
    }

    fn stop(&mut self, grace_ms: u64) {
        if self.cause == Cause::Itself {
            self.cause = Cause::Ordered;
        }
        self.terminate(boottime::now_ms().saturating_add(grace_ms));
    }

    /// Sends SIGTERM, unless it was sent, and sets the moment of the kill, which is never put off.
    fn terminate(&mut self, kill_at_ms: u64) {
        if self.kill_at_ms.is_none() {
            self.signal(Signal::TERM);
            // A stopped process does not see SIGTERM.
            self.signal(Signal::CONT);
        }
        let before = self.kill_at_ms.unwrap_or(u64::MAX);
        self.kill_at_ms = Some(before.min(kill_at_ms));
    }

    fn look_at_the_clock(&mut self, control: &UnixStream) {
        let now_ms = boottime::now_ms();
        let last_ms = self.deadline_ms.map(|at_ms| at_ms.saturating_sub(KILL_LEAD_MS));
        if last_ms.is_some_and(|at_ms| at_ms <= now_ms) {
            return self.kill(Cause::Lapsed);
        }
        if self.kill_at_ms.is_some_and(|at_ms| at_ms <= now_ms) {
            return self.kill(self.cause);
        }
        let Some(last_ms) = last_ms.filter(|_| self.kill_at_ms.is_none()) else { return };
        if self.notice_at_ms() <= Some(now_ms) {
            let left_ms = last_ms - now_ms;
            self.cause = Cause::Lapsed;
            self.say(Line::Stop { left_ms, reason: StopReason::Lapsing }.to_string());
            self.terminate(last_ms);
            report(control, &Report::Lapsing { left_ms });
        }
    }

    fn notice_at_ms(&self) -> Option<u64> {
        self.deadline_ms.map(|at_ms| at_ms.saturating_sub(self.notice_ms.max(KILL_LEAD_MS)))
    }

    fn next_moment(&self) -> Option<u64> {
        if self.killed {
            return None;
        }
        let last_ms = self.deadline_ms.map(|at_ms| at_ms.saturating_sub(KILL_LEAD_MS));
        let notice_ms = self.notice_at_ms().filter(|_| self.kill_at_ms.is_none());
        [last_ms, notice_ms, self.kill_at_ms].into_iter().flatten().min()
    }

    fn kill(&mut self, cause: Cause) {
        if !self.killed {
            self.killed = true;
            self.cause = cause;
            self.signal(Signal::KILL);
        }
    }

    fn signal(&self, signal: Signal) {
        // A group that has ended already is what is wanted.
        let _ = kill_process_group(self.group, signal);
    }
}

/// Removes the lease file with its folder, as `lead` would have done.
fn remove_lease_file() {
    let Some(file) = std::env::var_os(LEASE_FILE).map(PathBuf::from) else { return };
    // The folder goes only if nobody else has put anything there.
    let _ = std::fs::remove_file(&file);
    let _ = std::fs::remove_file(lease_file::next_to(&file));
    let _ = file.parent().map(std::fs::remove_dir);
}

fn report(mut control: &UnixStream, report: &Report) {
    // `lead` may be gone; the child is ended all the same.
    let _ = control.write_all(format!("{report}\n").as_bytes());
}
