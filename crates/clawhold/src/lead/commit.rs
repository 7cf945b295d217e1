//! `commit`: the atomic step of a coordinator, for programs that `lead` runs.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use clawhold_client::api::job::NewJob;
use clawhold_client::api::stream::{Commit, NewPosition, StreamAppend};
use clawhold_client::api::{Json, SessionKey};

use super::lease_file::{LEASE_FILE, Lease};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::Reply;
use crate::text::counted;

/// Bytes of a file of jobs: more than one step takes.
const FILE_BYTES_MAX: u64 = 1_024 * 1_024;

/// Record a position, add jobs and append events under a role's token: all of it or nothing
///
/// Within a program that `lead` runs, everything but the work itself is known from the environment
/// and the lease file. A token that was overtaken changes nothing and ends with 4.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  clawhold commit --position 12 --job 'mail={\"to\":\"ana\"}'\n  \
    clawhold commit --token 57 --stream files --position 13 --jobs jobs.ndjson"
)]
pub(crate) struct Args {
    /// The role under which to act
    #[arg(long, value_name = "ROLE", env = "CLAWHOLD_ROLE")]
    role: Option<String>,
    /// The fencing token; that of the lease file when absent
    #[arg(long, value_name = "N", env = "CLAWHOLD_TOKEN")]
    token: Option<u64>,
    /// The proof of being the session that holds the role
    #[arg(long, value_name = "KEY", env = "CLAWHOLD_SESSION", hide_env_values = true)]
    session: Option<String>,
    /// The stream that the position is of
    #[arg(long, value_name = "STREAM", env = "CLAWHOLD_STREAM")]
    stream: Option<String>,
    /// Every event up to this one has been dealt with
    #[arg(long, value_name = "N")]
    position: Option<u64>,
    /// A job to add, as QUEUE=JSON; may be repeated
    #[arg(long, value_name = "QUEUE=JSON")]
    job: Vec<String>,
    /// A file of jobs, one JSON object a line as the API has them; - for standard input
    #[arg(long, value_name = "FILE")]
    jobs: Option<PathBuf>,
    /// An event to append, as STREAM=JSON; may be repeated
    #[arg(long, value_name = "STREAM=JSON")]
    append: Vec<String>,
}

impl Args {
    /// Takes the step.
    ///
    /// # Errors
    /// When something that is needed is not said, or the server refuses.
    pub(crate) async fn run(self, context: &Context) -> Result<Reply, Failure> {
        let commit = self.read()?;
        let position = commit.position.as_ref().map(|position| position.through);
        let written = context.client().await?.commit(&commit).await?;
        let mut line = match position {
            Some(through) => format!("recorded position {through}"),
            None => "committed".to_owned(),
        };
        if !written.jobs.is_empty() {
            let ids: Vec<String> = written.jobs.iter().map(|job| job.id.to_string()).collect();
            let count = u64::try_from(ids.len()).unwrap_or(u64::MAX);
            line.push_str(&format!(", added {}: {}", counted(count, "job"), ids.join(" ")));
        }
        Ok(Reply::of(&written.reply).line(line))
    }

    fn read(self) -> Result<Commit, Failure> {
        let lease = lease_text(std::env::var_os(LEASE_FILE))?;
        let field = |key: &str| lease.as_deref().and_then(|text| Lease::field(text, key));
        let token = self.token.or_else(|| field("token").and_then(|token| token.parse().ok()));
        let role = self.role.or_else(|| field("role").map(str::to_owned));
        let stream = self.stream.or_else(|| field("stream").map(str::to_owned));
        let position = match self.position {
            None => None,
            Some(through) => {
                Some(NewPosition { stream: need(stream, "--stream", "STREAM")?, through })
            }
        };
        let mut jobs = read_jobs(self.jobs.as_deref())?;
        for job in &self.job {
            let (queue, payload) = split(job, "--job", "QUEUE=JSON")?;
            jobs.push(NewJob::new(queue, payload));
        }
        let mut appends: Vec<StreamAppend> = Vec::new();
        for append in &self.append {
            let (stream, event) = split(append, "--append", "STREAM=JSON")?;
            match appends.iter_mut().find(|one| one.stream == stream) {
                Some(one) => one.events.push(event),
                None => {
                    let events = vec![event];
                    appends.push(StreamAppend { stream, events, expected: None });
                }
            }
        }
        if position.is_none() && jobs.is_empty() && appends.is_empty() {
            let next = "give --position N, --job QUEUE=JSON, --jobs FILE or --append STREAM=JSON";
            return Err(Failure::usage("there is nothing to commit").next(next));
        }
        Ok(Commit {
            role: need(role, "--role", "ROLE")?,
            session: SessionKey(need(self.session, "--session", "KEY")?),
            token: need(token, "--token", "N")?,
            position,
            jobs,
            appends,
        })
    }
}

fn need<T>(value: Option<T>, flag: &str, what: &str) -> Result<T, Failure> {
    value.ok_or_else(|| {
        Failure::usage(format!("{flag} is not given")).next(format!(
            "give {flag} {what}, or call this from a program that `clawhold lead` runs"
        ))
    })
}

/// Returns the text of the lease file, if there is one.
fn lease_text(path: Option<OsString>) -> Result<Option<String>, Failure> {
    let Some(path) = path else { return Ok(None) };
    match fs::read_to_string(&path) {
        Ok(text) => Ok(Some(text)),
        // Its `lead` has ended. What the flags say may do.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => {
            let shown = path.to_string_lossy();
            Err(Failure::failed(format!("cannot read the lease file {shown:?}")).because(&error))
        }
    }
}

fn split(text: &str, flag: &str, shape: &str) -> Result<(String, Json), Failure> {
    let next = format!("write {flag} '{shape}'");
    let Some((name, json)) = text.split_once('=') else {
        return Err(Failure::usage(format!("{flag} {text:?} has no `=`")).next(next));
    };
    let json = Json::parse(json).map_err(|error| {
        Failure::usage(format!("{flag} {text:?} has no JSON after `=`")).because(&error).next(next)
    })?;
    Ok((name.to_owned(), json))
}

fn read_jobs(path: Option<&Path>) -> Result<Vec<NewJob>, Failure> {
    let Some(path) = path else { return Ok(Vec::new()) };
    let shown = path.display();
    let text = read_text(path)
        .map_err(|error| Failure::usage(format!("cannot read --jobs {shown}")).because(&error))?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(at, line)| {
            serde_json::from_str(line).map_err(|error| {
                Failure::usage(format!("line {} of --jobs {shown} is no job", at + 1))
                    .because(&error)
                    .next("write one object a line such as {\"queue\":\"mail\",\"payload\":1}")
            })
        })
        .collect()
}

fn read_text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    let input: Box<dyn Read> = if path == Path::new("-") {
        Box::new(io::stdin())
    } else {
        Box::new(fs::File::open(path)?)
    };
    let read = input.take(FILE_BYTES_MAX + 1).read_to_string(&mut text)?;
    if u64::try_from(read).is_ok_and(|read| FILE_BYTES_MAX < read) {
        let text = format!("it has more than {FILE_BYTES_MAX} bytes, more than one step takes");
        return Err(io::Error::other(text));
    }
    Ok(text)
}
