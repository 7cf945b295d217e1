//! The child of `lead`, as `lead` sees it: a guard process that is told what to do.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdStream;
use std::os::unix::process::CommandExt;
use std::process::{Child as Process, Stdio};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

use super::boottime;
use super::control::{Cause, End, Order, Report};
use super::lease_file::{HeldLease, LEASE_FILE, Lease, LeaseFile};
use super::line::{Line, StopReason};
use crate::hidden;

/// What a child is started with.
#[derive(Debug)]
pub(super) struct Start<'a> {
    /// The program and its arguments.
    pub(super) command: &'a [OsString],
    /// Whether its standard input carries lines.
    pub(super) lines: bool,
    /// Milliseconds before an unmoved deadline at which it gets SIGTERM.
    pub(super) notice_ms: u64,
    /// What its environment says besides the lease file.
    pub(super) variables: Vec<(&'static str, OsString)>,
    /// What its lease file says at first.
    pub(super) lease: Lease,
}

/// A running child. Dropping it ends the child at once.
#[derive(Debug)]
pub(super) struct Child {
    orders: OwnedWriteHalf,
    reports: Lines<BufReader<OwnedReadHalf>>,
    guard: Option<Process>,
    group: Option<Pid>,
    lease: Lease,
    file: LeaseFile,
    lines: bool,
}

impl Child {
    /// Starts a child under a guard.
    ///
    /// # Errors
    /// When the guard or the lease file cannot be made.
    pub(super) fn start(start: Start<'_>) -> io::Result<Self> {
        let file = LeaseFile::create()?;
        file.write(&start.lease)?;
        let (ours, theirs) = StdStream::pair()?;
        ours.set_nonblocking(true)?;
        let guard = hidden::command(hidden::GUARD)
            .arg(start.notice_ms.to_string())
            .arg(if start.lines { "lines" } else { "null" })
            .args(start.command)
            .envs(start.variables)
            .env(LEASE_FILE, file.path())
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            // Of its own, so that Ctrl-C in a terminal reaches `lead` alone.
            .process_group(0)
            .spawn()?;
        let (reports, orders) = UnixStream::from_std(ours)?.into_split();
        let reports = BufReader::new(reports).lines();
        let (lease, lines) = (start.lease, start.lines);
        Ok(Self { orders, reports, guard: Some(guard), group: None, lease, file, lines })
    }

    /// Waits for the next report. When the guard is gone, the child is taken to have ended.
    pub(super) async fn report(&mut self) -> Report {
        loop {
            let line = self.reports.next_line().await.ok().flatten();
            let Some(line) = line else {
                // A guard that was killed takes the child with it; its group may have others.
                self.kill_group();
                return Report::Ended { end: End::Signal(9), cause: Cause::Ordered };
            };
            match Report::parse(&line) {
                Some(Report::Started { pid }) => {
                    self.group = i32::try_from(pid).ok().and_then(Pid::from_raw);
                }
                Some(report) => return report,
                None => {}
            }
        }
    }

    /// Tells the child that it leads.
    pub(super) async fn promote(&mut self, held: HeldLease, position: u64) {
        self.order(&Order::Deadline(held.deadline_ms)).await;
        self.lease.held = Some(held);
        self.lease.position = position;
        self.keep_file();
        let HeldLease { token, deadline_ms } = held;
        self.say(&Line::Promoted { token, position, deadline_ms }).await;
    }

    /// Moves the deadline, when it is another.
    pub(super) async fn renew(&mut self, deadline_ms: u64) {
        let Some(held) = self.lease.held.as_mut() else { return };
        if held.deadline_ms == deadline_ms {
            return;
        }
        held.deadline_ms = deadline_ms;
        self.order(&Order::Deadline(deadline_ms)).await;
        self.keep_file();
        self.say(&Line::Deadline { deadline_ms }).await;
    }

    /// Writes a position that the child has recorded into its lease file.
    pub(super) fn moved_on(&mut self, position: u64) {
        if self.lease.position < position {
            self.lease.position = position;
            self.keep_file();
        }
    }

    /// Kills the child itself when its deadline has passed and the guard has not.
    pub(super) fn check_deadline(&self) {
        let deadline_ms = self.lease.held.map(|held| held.deadline_ms);
        if deadline_ms.is_some_and(|deadline_ms| deadline_ms <= boottime::now_ms()) {
            self.kill_group();
        }
    }

    /// Asks the child to end, with SIGKILL after `grace_ms`.
    pub(super) async fn stop(&mut self, reason: StopReason, grace_ms: u64) {
        self.say(&Line::Stop { left_ms: grace_ms, reason }).await;
        self.order(&Order::Stop { grace_ms }).await;
    }

    /// Kills the child at once.
    pub(super) async fn kill(&mut self) {
        self.order(&Order::Kill).await;
    }

    /// Waits until the child has ended.
    pub(super) async fn ended(&mut self) -> (End, Cause) {
        loop {
            match self.report().await {
                Report::Ended { end, cause } => return (end, cause),
                Report::Failed(_) => return (End::Code(126), Cause::Itself),
                Report::Started { .. } | Report::Lapsing { .. } => {}
            }
        }
    }

    /// Says a line to the child, if its standard input carries lines.
    pub(super) async fn say(&mut self, line: &Line) {
        if self.lines {
            self.order(&Order::Say(line.to_string())).await;
        }
    }

    async fn order(&mut self, order: &Order) {
        // A guard that is gone has ended the child; its last report says so.
        let _ = self.orders.write_all(format!("{order}\n").as_bytes()).await;
    }

    fn keep_file(&self) {
        if let Err(error) = self.file.write(&self.lease) {
            tracing::warn!(%error, "cannot write the lease file");
        }
    }

    fn kill_group(&self) {
        if let Some(group) = self.group {
            // It may have ended; what is wanted is that it has.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // The guard ends by itself once the socket is closed; it is reaped so that no zombie
        // stays while `lead` goes on.
        if let Some(mut guard) = self.guard.take() {
            std::thread::spawn(move || guard.wait());
        }
    }
}
