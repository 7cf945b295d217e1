//! One term: from asking for the role to the end of the child that acted under it.

use std::ffi::OsString;
use std::time::Duration;

use clawhold_client::api::Code;
use clawhold_client::{AcquireOptions, Client, Leader, LeaderEvent, Session};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Interval, MissedTickBehavior, interval};

use super::boottime;
use super::child::{Child, Start};
use super::control::{Cause, End, Report};
use super::lease_file::{HeldLease, Lease};
use super::line::{Line, StopReason};
use super::{Args, Stop, TermError};
use crate::context::Context;
use crate::exit::Exit;

/// The part of the ttl that is left, at least, when a child that cannot be kept is told to stop.
const NOTICE_PART: u64 = 3;
/// The part of the ttl after which it is looked for a later deadline.
const LOOK_PART: u64 = 20;

/// What follows a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum After {
    /// The program ends.
    Exit(Exit),
    /// The role went to somebody else: stand in line again.
    Again,
}

/// One attempt to lead and what comes of it.
pub(super) struct Term<'a> {
    pub(super) args: &'a Args,
    pub(super) context: &'a Context,
    pub(super) session: &'a Session,
}

impl Term<'_> {
    /// Waits for the role, has the child act, and gives the role up or loses it.
    pub(super) async fn serve(&self, stop: &mut Stop) -> Result<After, TermError> {
        let role = self.args.role.as_str();
        let warm = if self.args.standby { Some(self.start_warm().await?) } else { None };
        let mut wait = Wait { child: warm };
        let leader = tokio::select! {
            leader = self.acquire() => leader?,
            (end, _) = wait.child_ended() => {
                self.note(&format!("the standby's program ended with {end}"));
                return Ok(After::Exit(Exit::Program(end.shell_code())));
            }
            exit = stop.asked() => {
                wait.stop(self.args.grace.0).await;
                return Ok(After::Exit(exit));
            }
        };
        let position = leader.position().unwrap_or(0);
        self.note(&format!(
            "leads {role:?} with token {} from position {position}",
            leader.token()
        ));
        let held = HeldLease { token: leader.token(), deadline_ms: leader.deadline_ms() };
        let mut child = match wait.child.take() {
            Some(child) => child,
            None => self.start_leading(held, position)?,
        };
        child.promote(held, position).await;
        let watch = PositionWatch::start(self, leader.ttl());
        Acting { term: self, leader, child, stopping: None, told: false }.act(stop, watch).await
    }

    async fn acquire(&self) -> Result<Leader, TermError> {
        let options = AcquireOptions {
            ttl: Some(self.args.ttl.duration()),
            wait: Duration::MAX,
            stream: self.args.stream.clone(),
        };
        Ok(self.session.acquire(&self.args.role, &options).await?)
    }

    async fn start_warm(&self) -> Result<Child, TermError> {
        let position = recorded(self.session.client(), self.args).await?;
        let mut child = Child::start(self.start(None, position))?;
        let (role, stream) = (self.args.role.clone(), self.args.stream.clone());
        child.say(&Line::Standby { role, stream, position }).await;
        Ok(child)
    }

    fn start_leading(&self, held: HeldLease, position: u64) -> Result<Child, TermError> {
        Ok(Child::start(self.start(Some(held), position))?)
    }

    fn start(&self, held: Option<HeldLease>, position: u64) -> Start<'_> {
        let args = self.args;
        let mut variables: Vec<(&'static str, OsString)> = vec![
            ("CLAWHOLD_ROLE", args.role.clone().into()),
            ("CLAWHOLD_POSITION", position.to_string().into()),
            ("CLAWHOLD_SESSION", self.session.key().as_str().into()),
            ("CLAWHOLD_SERVER", self.session.client().urls().join(",").into()),
        ];
        if let Some(stream) = &args.stream {
            variables.push(("CLAWHOLD_STREAM", stream.clone().into()));
        }
        if let Some(held) = held {
            variables.push(("CLAWHOLD_TOKEN", held.token.to_string().into()));
            variables.push(("CLAWHOLD_DEADLINE", held.deadline_ms.to_string().into()));
        }
        if let Ok(Some(file)) = self.context.config().map(|config| config.token_file) {
            variables.push(("CLAWHOLD_TOKEN_FILE", file.into_os_string()));
        }
        let notice_ms = args.grace.0.min(args.ttl.0 / NOTICE_PART);
        let (role, stream) = (args.role.clone(), args.stream.clone());
        let lease = Lease { role, stream, held, position };
        Start { command: &args.command, lines: args.standby, notice_ms, variables, lease }
    }

    fn note(&self, text: &str) {
        self.context.output.note(&format!("clawhold: {text}"));
    }
}

/// Returns the position recorded for the role; 0 before the first.
async fn recorded(client: &Client, args: &Args) -> Result<u64, TermError> {
    let Some(stream) = &args.stream else { return Ok(0) };
    match client.positions(stream).await {
        Ok(positions) => {
            let mut positions = positions.positions.into_iter();
            Ok(positions.find(|one| one.role == args.role).map_or(0, |one| one.through))
        }
        Err(error) if error.is(Code::NotFound) => Ok(0),
        Err(error) => Err(error.into()),
    }
}

/// Waiting for the role, with a warm child or without.
struct Wait {
    child: Option<Child>,
}

impl Wait {
    /// Waits until the warm child has ended; for ever if there is none.
    async fn child_ended(&mut self) -> (End, Cause) {
        match &mut self.child {
            Some(child) => child.ended().await,
            None => std::future::pending().await,
        }
    }

    async fn stop(&mut self, grace_ms: u64) {
        if let Some(child) = &mut self.child {
            child.stop(StopReason::Ending, grace_ms).await;
            child.ended().await;
        }
    }
}

/// Why the child of a leader was asked to stop.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Stopping {
    /// `lead` ends this way.
    Ending(Exit),
    /// A hand-over was asked, to this session or to the most caught-up standby.
    HandOver(Option<u64>),
    /// The lease is over.
    Lost,
}

/// A child that acts under a lease.
struct Acting<'a> {
    term: &'a Term<'a>,
    leader: Leader,
    child: Child,
    stopping: Option<Stopping>,
    /// Whether the loss of the lease was told.
    told: bool,
}

impl Acting<'_> {
    async fn act(mut self, stop: &mut Stop, mut watch: PositionWatch) -> Result<After, TermError> {
        let mut look = look(self.leader.ttl());
        loop {
            tokio::select! {
                report = self.child.report() => match report {
                    Report::Ended { end, cause } => return Ok(self.child_ended(end, cause).await),
                    Report::Failed(text) => return Ok(self.child_failed(&text).await),
                    Report::Lapsing { left_ms } => self.term.note(&format!(
                        "the lease is not renewed; the program has {left_ms} ms to stop"
                    )),
                    Report::Started { .. } => {}
                },
                event = self.leader.event(), if !self.told => self.hear(event).await,
                position = watch.moved() => self.child.moved_on(position),
                exit = stop.asked() => self.end(exit).await,
                _ = look.tick() => {
                    self.child.renew(self.leader.deadline_ms()).await;
                    self.child.check_deadline();
                }
            }
        }
    }

    async fn hear(&mut self, event: LeaderEvent) {
        match event {
            LeaderEvent::Asked { to, deadline_ms } => {
                if self.stopping.is_none() {
                    let left_ms = deadline_ms.saturating_sub(boottime::now_ms());
                    let grace_ms = self.term.args.grace.0.min(left_ms);
                    self.stopping = Some(Stopping::HandOver(to));
                    self.child.stop(StopReason::HandOver, grace_ms).await;
                }
            }
            LeaderEvent::Lost(ending) => {
                self.told = true;
                self.term.note(&format!("lost {:?}: {ending}", self.leader.role()));
                self.stopping = Some(Stopping::Lost);
                self.child.kill().await;
            }
            // The guard ends a child whose deadline passes. One that was told to stop because of
            // a request that lapsed meanwhile stops all the same.
            LeaderEvent::AskLapsed | LeaderEvent::Suspended | LeaderEvent::Resumed => {}
        }
    }

    /// Ends because somebody asked; at once when they ask a second time.
    async fn end(&mut self, exit: Exit) {
        if let Some(Stopping::Ending(_)) = self.stopping {
            self.child.kill().await;
        } else {
            self.stopping = Some(Stopping::Ending(exit));
            self.child.stop(StopReason::Ending, self.term.args.grace.0).await;
        }
    }

    async fn child_failed(self, text: &str) -> After {
        self.term.note(&format!("cannot run the program: {text}"));
        self.release().await;
        After::Exit(Exit::Program(126))
    }

    async fn child_ended(mut self, end: End, cause: Cause) -> After {
        match (self.stopping.take(), cause) {
            (Some(Stopping::Lost), _) => After::Again,
            (Some(Stopping::Ending(exit)), _) => {
                self.release().await;
                After::Exit(exit)
            }
            (Some(Stopping::HandOver(to)), _) => {
                self.hand_over(to).await;
                After::Again
            }
            (None, Cause::Lapsed) => {
                self.term.note("the program was stopped before the deadline of the lease");
                self.release().await;
                After::Again
            }
            (None, Cause::Itself | Cause::Ordered) => {
                self.term.note(&format!("the program ended with {end}; the role is released"));
                self.release().await;
                After::Exit(Exit::Program(end.shell_code()))
            }
        }
    }

    async fn hand_over(mut self, to: Option<u64>) {
        let successor = to.map(|session| session.to_string());
        match self.leader.hand_over(successor.as_deref()).await {
            Ok(next) => self.term.note(&format!(
                "handed over to session {} with token {}",
                next.session, next.token
            )),
            Err(error) => {
                // The program has stopped: whoever can take the role shall have it.
                self.term.note(&format!("cannot hand over: {error}; the role is released"));
                self.release().await;
            }
        }
    }

    async fn release(self) {
        // A lease of this length has lapsed by then in any case.
        let released = tokio::time::timeout(self.term.args.ttl.duration(), self.leader.release());
        if let Ok(Err(error)) = released.await {
            self.term.note(&format!("the role was not released: {error}"));
        }
    }
}

/// Returns the beat in which it is looked for a later deadline.
fn look(ttl: Duration) -> Interval {
    let part = ttl / u32::try_from(LOOK_PART).unwrap_or(1);
    let mut look = interval(part.clamp(Duration::from_millis(10), Duration::from_millis(250)));
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    look
}

/// Follows the position that the child records, for its lease file.
struct PositionWatch {
    positions: watch::Receiver<u64>,
    task: JoinHandle<()>,
}

impl PositionWatch {
    fn start(term: &Term<'_>, ttl: Duration) -> Self {
        let (sender, positions) = watch::channel(0);
        let (client, role) = (term.session.client().clone(), term.args.role.clone());
        let stream = term.args.stream.clone();
        let pause = (ttl / 3).max(Duration::from_millis(500));
        let task = tokio::spawn(async move {
            let Some(stream) = stream else { return std::future::pending().await };
            loop {
                tokio::time::sleep(pause).await;
                // What cannot be read this time is read the next.
                let Ok(read) = client.positions(&stream).await else { continue };
                if let Some(position) = read.positions.iter().find(|one| one.role == role) {
                    sender.send_replace(position.through);
                }
            }
        });
        Self { positions, task }
    }

    /// Waits until the position has moved, and returns it.
    async fn moved(&mut self) -> u64 {
        match self.positions.changed().await {
            Ok(()) => *self.positions.borrow_and_update(),
            Err(_) => std::future::pending().await,
        }
    }
}

impl Drop for PositionWatch {
    fn drop(&mut self) {
        self.task.abort();
    }
}
