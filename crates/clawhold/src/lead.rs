//! `lead`: runs a program only while it holds a role.
//!
//! The lease is the client's business; this word ties a child to it. The child runs under a guard
//! process that ends it before the deadline, whatever becomes of this one. Its end releases the
//! role; the loss of the role ends it.

pub(crate) mod boottime;
mod child;
pub(crate) mod commit;
pub(crate) mod control;
pub(crate) mod guard;
mod lease_file;
mod line;
mod term;

use std::ffi::OsString;
use std::time::Duration;

use clawhold_client::{AcquireError, Backoff, Session, SessionOptions};
use tokio::signal::unix::{Signal, SignalKind, signal};

use self::term::{After, Term};
use crate::context::Context;
use crate::duration::{self, Bounds, Span};
use crate::exit::Exit;
use crate::failure::Failure;

/// The ttl of a session when the lease's is shorter: the session outlives the lease.
const SESSION_TTL_MS_MIN: u64 = 10_000;
/// The time that a child may be given to stop: none to an hour.
const GRACE: Bounds = Bounds { min: Span(0), max: Span(3_600_000) };

/// Run a program only while it holds a role
///
/// CMD starts when the role is granted, and is stopped and then killed before the lease's deadline
/// if it is not renewed. With --standby CMD starts at once, warm, and is told on its standard input
/// when it is promoted. When CMD ends, the role is released and `lead` ends with CMD's exit code.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  clawhold lead indexer -- ./indexer.sh\n  \
    clawhold lead indexer --ttl 2s --standby --stream files -- ./indexer.sh\n\n\
    CMD finds CLAWHOLD_ROLE, CLAWHOLD_TOKEN, CLAWHOLD_POSITION, CLAWHOLD_DEADLINE (milliseconds of \
    CLOCK_BOOTTIME), CLAWHOLD_SESSION, CLAWHOLD_SERVER, CLAWHOLD_STREAM and CLAWHOLD_LEASE_FILE in \
    its environment. `clawhold commit` records a position and adds jobs under its token.")]
pub(crate) struct Args {
    /// The role
    #[arg(value_name = "ROLE")]
    role: String,
    /// The time of the lease: without renewal the role is free after it
    #[arg(long, value_name = "SPAN", default_value = "10s",
        value_parser = duration::TTL.parser())]
    ttl: Span,
    /// Start CMD at once and tell it by lines on its standard input when it is promoted
    #[arg(long)]
    standby: bool,
    /// The stream whose recorded position CMD resumes from
    #[arg(long, value_name = "STREAM")]
    stream: Option<String>,
    /// The time from SIGTERM to SIGKILL when CMD has to stop; less when the deadline is nearer
    #[arg(long, value_name = "SPAN", default_value = "5s", value_parser = GRACE.parser())]
    grace: Span,
    /// End after the first loss or hand-over instead of standing in line again
    #[arg(long)]
    once: bool,
    /// What others see in lists; host and process id when absent
    #[arg(long, value_name = "LABEL")]
    label: Option<String>,
    /// The program and its arguments
    #[arg(value_name = "CMD", last = true, required = true)]
    command: Vec<OsString>,
}

/// Leads, again and again, until the program or the one who called ends it.
///
/// # Errors
/// When the role cannot be asked for or the program cannot be watched.
pub(crate) async fn run(args: Args, context: &Context) -> Result<Exit, Failure> {
    let mut stop = Stop::listen()?;
    // The first session tells what is wrong; later ones wait for the server to come back.
    let client = tokio::select! {
        client = context.client() => client?,
        exit = stop.asked() => return Ok(exit),
    };
    let mut session = tokio::select! {
        session = Session::open(client, options(&args)) => session?,
        exit = stop.asked() => return Ok(exit),
    };
    loop {
        let term = Term { args: &args, context, session: &session };
        let exit = match Box::pin(term.serve(&mut stop)).await {
            Ok(After::Exit(exit)) => Some(exit),
            Ok(After::Again) => args.once.then_some(Exit::Done),
            Err(error) if is_session_over(&error) => None,
            Err(error) => return Err(error.into()),
        };
        if let Some(exit) = exit {
            // Ends what the session still waits for. The process ends in any case.
            let _ = tokio::time::timeout(Duration::from_secs(2), session.close()).await;
            return Ok(exit);
        }
        if session.end().is_some() {
            session = tokio::select! {
                session = open_again(&args, session.client()) => session?,
                exit = stop.asked() => return Ok(exit),
            };
        }
    }
}

fn options(args: &Args) -> SessionOptions {
    SessionOptions {
        label: args.label.clone().unwrap_or_default(),
        ttl: Some(Duration::from_millis(args.ttl.0.max(SESSION_TTL_MS_MIN))),
        ..SessionOptions::default()
    }
}

/// Opens the next session, however long the servers are away.
async fn open_again(args: &Args, client: &clawhold_client::Client) -> Result<Session, Failure> {
    for tries in 1..=u32::MAX {
        match Session::open(client, options(args)).await {
            Err(error) if error.retry_is_sensible() => {
                tracing::warn!(%error, tries, "cannot open a session, trying again");
                tokio::time::sleep(Backoff::default().pause(tries)).await;
            }
            done => return Ok(done?),
        }
    }
    Err(Failure::failed("cannot open a session"))
}

/// Why a term could not go on.
#[derive(Debug, thiserror::Error)]
enum TermError {
    #[error(transparent)]
    Acquire(#[from] AcquireError),
    #[error("cannot run the program under a guard")]
    Child(#[from] std::io::Error),
    #[error("cannot read the role")]
    Read(#[from] clawhold_client::ClientError),
}

fn is_session_over(error: &TermError) -> bool {
    matches!(error, TermError::Acquire(AcquireError::SessionOver { .. }))
}

impl From<TermError> for Failure {
    fn from(error: TermError) -> Self {
        match error {
            TermError::Acquire(AcquireError::Client(error)) | TermError::Read(error) => {
                error.into()
            }
            TermError::Acquire(error) => Self::failed("cannot lead").because(&error),
            TermError::Child(error) => {
                Self::failed("cannot run the program under a guard").because(&error)
            }
        }
    }
}

/// The signals that ask `lead` to end.
#[derive(Debug)]
struct Stop {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

impl Stop {
    fn listen() -> Result<Self, Failure> {
        let listen = |kind| {
            signal(kind).map_err(|e| Failure::failed("cannot listen to signals").because(&e))
        };
        Ok(Self {
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
            hang_up: listen(SignalKind::hangup())?,
        })
    }

    /// Waits until somebody asks, and returns how the program ends.
    async fn asked(&mut self) -> Exit {
        tokio::select! {
            _ = self.terminate.recv() => Exit::Done,
            _ = self.interrupt.recv() => Exit::Interrupted,
            _ = self.hang_up.recv() => Exit::Done,
        }
    }
}
