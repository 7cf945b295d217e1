//! From the command line to the exit code.

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

use clap::error::{ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches};
use serde::Serialize;
use tracing_subscriber::EnvFilter;

use crate::cli::{self, Cli, Word};
use crate::context::{Context, Habit};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::hidden;
use crate::interrupt::{self, interrupted};
use crate::output::{Color, Output, Reply};
use crate::passthrough;
use crate::text::{visible, visible_lines};

/// How long what still runs in the background may take to end.
const END_PATIENCE: Duration = Duration::from_millis(200);

/// Runs the program and returns how it ends.
#[must_use]
pub fn main() -> ExitCode {
    let argv: Vec<OsString> = std::env::args_os().collect();
    if let Some(code) = hidden::run(argv.get(1..).unwrap_or_default()) {
        return code;
    }
    if let Err(failure) = passthrough::hand_on(&argv) {
        return early(&argv).fail(&failure).into();
    }
    let parsed = Cli::command().try_get_matches_from(&argv);
    let parsed = parsed
        .and_then(|matches| Ok((Cli::from_arg_matches(&matches)?, cli::only_reads(&matches))));
    match parsed {
        Ok((cli, reads)) => run(cli, reads).into(),
        Err(error) => explain(error, &argv).into(),
    }
}

fn run(mut cli: Cli, reads: bool) -> Exit {
    cli.word.take_flags(&mut cli.common.place);
    let output = Output::new(cli.common.json, cli.common.color);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            return output.fail(&Failure::failed("cannot start threads").because(&error));
        }
    };
    let exit = runtime.block_on(async {
        let minds = cli.word.minds_signals();
        let context = Context::new(output, cli.common.place, Habit { runs_on: minds, reads });
        if !matches!(cli.word, Word::Serve(_)) {
            log_if_asked();
        }
        // Boxed, for the futures of all the words together are large.
        let word = Box::pin(cli::run(cli.word, &context));
        let done = tokio::select! {
            done = word => done,
            () = interrupted(), if !minds => Err(interrupt::failure(reads)),
        };
        let left = context.leave().await;
        let done = done.and_then(|reply| left.map(|()| reply));
        match done {
            Ok(reply) => context.output.reply(reply),
            Err(failure) => context.output.fail(&failure),
        }
    });
    // A thread that reads standard input never ends by itself.
    runtime.shutdown_timeout(END_PATIENCE);
    exit
}

/// Writes a log to standard error if the environment asks for one. By default a command is quiet.
fn log_if_asked() {
    let Ok(filter) = EnvFilter::try_from_env("CLAWHOLD_LOG") else { return };
    // Only the first of two subscribers counts, and there is no first one.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .try_init();
}

#[derive(Serialize)]
struct Help<'a> {
    help: &'a str,
}

/// Prints what clap has to say: help that was asked for, or what is wrong with the command line.
fn explain(mut error: clap::Error, argv: &[OsString]) -> Exit {
    let output = early(argv);
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        let text = error.render();
        if output.is_json() {
            return output.reply(Reply::of(&Help { help: &text.to_string() }));
        }
        let text = if output.is_colored() { text.ansi().to_string() } else { text.to_string() };
        return output.reply(Reply::silent(Exit::Done).raw(text));
    }
    if matches!(error.kind(), ErrorKind::InvalidSubcommand)
        && let Some(failure) = passthrough::nobody(argv)
    {
        return output.fail(&failure);
    }
    escape(&mut error);
    output.fail(&usage(&error))
}

/// Returns the failure that a wrong command line is.
fn usage(error: &clap::Error) -> Failure {
    let text = error.render().to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text).trim_end();
    let text = text.strip_suffix("For more information, try '--help'.").unwrap_or(text);
    Failure::usage(visible_lines(text.trim_end())).next("see the same command with --help")
}

/// Makes what was typed safe to look at before it is repeated.
fn escape(error: &mut clap::Error) {
    let typed: Vec<_> = error
        .context()
        .filter_map(|(kind, value)| {
            let ContextValue::String(text) = value else { return None };
            Some((kind, visible(text).into_owned()))
        })
        .collect();
    for (kind, text) in typed {
        error.insert(kind, ContextValue::String(text));
    }
}

/// Returns the output that the arguments ask for when they cannot be read as a whole.
fn early(argv: &[OsString]) -> Output {
    let flags = || argv.iter().skip(1).take_while(|argument| *argument != "--");
    let json = flags().any(|argument| argument == "--json");
    let color = flags().zip(flags().skip(1)).find_map(|(flag, value)| {
        let value = match flag.to_str()? {
            "--color" => value.to_str()?,
            flag => flag.strip_prefix("--color=")?,
        };
        <Color as clap::ValueEnum>::from_str(value, false).ok()
    });
    Output::new(json, color.unwrap_or_default())
}
