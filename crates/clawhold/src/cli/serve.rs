//! A server: the active one on its store, or a standby of it.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use clawhold_server::auth::Tokens;
use clawhold_server::{HOLD_MS_DEFAULT, HOLD_MS_MAX, HOLD_MS_MIN, Running, StartError};
use serde::Serialize;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

use crate::config::{self, Config};
use crate::context::Context;
use crate::duration::{Bounds, Span};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Reply, Style};

const HOLD: Bounds = Bounds { min: Span(HOLD_MS_MIN), max: Span(HOLD_MS_MAX) };

/// Run a server: the active one, or a standby of it
///
/// Several servers on one store are one active and the rest standby; any of them takes any
/// request. SIGTERM and Ctrl-C stop it in good order.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  clawhold serve\n  clawhold serve --store sqlite:/var/lib/clawhold/clawhold.db --listen 127.0.0.1:7718 --hold 2s"
)]
pub(crate) struct Serve {
    /// The address to listen on; port 0 takes a free one
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:7717")]
    listen: String,
    /// The URL under which other servers and commands reach this one
    #[arg(long, value_name = "URL")]
    advertise: Option<String>,
    /// How long the active server may be silent before a standby takes over
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, default_value_t = Span(HOLD_MS_DEFAULT), value_parser = HOLD.parser())]
    hold: Span,
    /// The file with the tokens that are known; without it only this host is served
    #[arg(long, value_name = "FILE")]
    tokens: Option<PathBuf>,
    /// Serve on NATS servers that may lose what they confirmed when they crash
    #[arg(long)]
    accept_loss_window: bool,
    /// How the log on standard error is written
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    log_format: LogFormat,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum LogFormat {
    /// For people
    Text,
    /// One JSON object a line
    Json,
}

#[derive(Serialize)]
struct Started<'a> {
    url: &'a str,
    store: &'a str,
}

impl Serve {
    /// Serves until a signal comes.
    pub(crate) async fn run(self, context: &Context) -> Result<Reply, Failure> {
        if !context.place().server.is_empty() {
            return Err(Failure::usage("serve takes a --store, no --server"));
        }
        self.log();
        // A server's memory grows all the time: zeroing 2 MiB at once took a third of its
        // processor. It is a matter of speed alone, so a kernel that refuses is left alone.
        let _ = rustix::thread::disable_transparent_huge_pages(true);
        let store = self.store(context)?;
        config::make_folder(&store)?;
        let mut interrupt = signal(SignalKind::interrupt()).map_err(no_signals)?;
        let mut terminate = signal(SignalKind::terminate()).map_err(no_signals)?;
        let running = self.start(&store).await?;
        let shown = clawhold_server::shown(&store);
        context.output.say(Style::Plain, &format!("serving {shown} at {}", running.url()));
        if context.output.is_json() {
            context.output.document(&Started { url: running.url(), store: &shown });
        }
        tokio::select! {
            () = running.ended() => {}
            _ = interrupt.recv() => tracing::info!("SIGINT: stops"),
            _ = terminate.recv() => tracing::info!("SIGTERM: stops"),
        }
        let stopped = tokio::select! {
            stopped = running.stop() => stopped,
            _ = interrupt.recv() => return Ok(Reply::silent(Exit::Interrupted)),
        };
        let Err(error) = stopped else { return Ok(Reply::silent(Exit::Done)) };
        let failure = Failure::failed("the server cannot go on")
            .because(&error)
            .next("`clawhold doctor` says what is wrong with the store and what to do");
        if context.output.is_json() {
            // The one document was written at the start.
            context.output.note(&failure.to_string());
            return Ok(Reply::silent(failure.exit()));
        }
        Err(failure)
    }

    /// Returns the URL of the store, with what the flags add to it.
    fn store(&self, context: &Context) -> Result<String, Failure> {
        let store = Config::load_store(context.place())?;
        if !self.accept_loss_window {
            return Ok(store);
        }
        if !store.starts_with("nats:") && !store.starts_with("tls:") {
            return Err(Failure::usage("--accept-loss-window is for a store in NATS")
                .next("leave it out: no other engine has such a window"));
        }
        let mark = if store.contains('?') { '&' } else { '?' };
        Ok(format!("{store}{mark}accept_loss_window=true"))
    }

    fn log(&self) {
        let filter = EnvFilter::try_from_env("CLAWHOLD_LOG").unwrap_or_else(|_| "info".into());
        let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
        // Only the first of two subscribers counts, and there is no first one.
        let _ = match self.log_format {
            LogFormat::Text => log.with_ansi(false).try_init(),
            LogFormat::Json => log.json().try_init(),
        };
    }

    async fn start(&self, store: &str) -> Result<Running, Failure> {
        let tokens = self.tokens.as_deref().map(Tokens::load).transpose();
        let tokens = tokens
            .map_err(|error| Failure::usage("cannot take the tokens").because(&error))?
            .unwrap_or_default();
        let listener = TcpListener::bind(&self.listen).await.map_err(|error| {
            Failure::failed(format!("cannot listen on {:?}", self.listen))
                .because(&error)
                .next("give --listen HOST:PORT with a free port, such as 127.0.0.1:0")
        })?;
        let config = clawhold_server::Config {
            store: store.to_owned(),
            state: config::state_folder().ok(),
            advertise: self.advertise.clone(),
            hold_ms: self.hold.0,
            tokens,
            notify: true,
        };
        clawhold_server::start(config, listener).await.map_err(|error| {
            let exit = match &error {
                StartError::Exposed { .. }
                | StartError::Hold { .. }
                | StartError::Advertise { .. } => Exit::Usage,
                StartError::Store { .. } | StartError::Snapshot { .. } | StartError::Io(_) => {
                    Exit::Failed
                }
            };
            Failure::new(exit, "cannot_start", "cannot start the server").because(&error)
        })
    }
}

fn no_signals(error: std::io::Error) -> Failure {
    Failure::failed("cannot listen for signals").because(&error)
}
