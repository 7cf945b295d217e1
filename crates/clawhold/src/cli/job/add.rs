//! Jobs as they are asked for on the command line.

use std::path::PathBuf;

use clap::{ArgGroup, Args};
use clawhold_client::Client;
use serde::Serialize;

use super::file::{Format, Jobs, Source};
use crate::api::Json;
use crate::api::job::{Enqueue, NewJob};
use crate::cli::lines::{BATCH_BYTES_MAX, BATCH_ITEMS_MAX, aside, name, read_whole};
use crate::context::Context;
use crate::duration::{ANY, SOME, Span};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::moment::{self, BadMoment};
use crate::number;
use crate::output::{Reply, Style};
use crate::text::counted;

/// Bytes that a job takes beside its payload, two keys included.
const JOB_BYTES: usize = 1_024;

/// What to add.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("content").required(true).args(["payload", "text", "payload_file", "file"]))]
pub(crate) struct Add {
    /// The queue; made when it is missing
    #[arg(required_unless_present = "file")]
    queue: Option<String>,
    /// The payload as JSON
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    payload: Option<String>,
    /// The payload as text, kept as a JSON string
    #[arg(long, value_name = "STRING", allow_hyphen_values = true)]
    text: Option<String>,
    /// A file with the payload as JSON; - for standard input
    #[arg(long, value_name = "FILE")]
    payload_file: Option<PathBuf>,
    /// A file with one job a line, NDJSON or CSV; - for standard input
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// How the file is written; by its ending when absent, NDJSON unless that is .csv
    #[arg(long, value_name = "FORMAT", requires = "file")]
    format: Option<Format>,
    /// A name for this run: adding the same file again under it within a day adds nothing twice
    #[arg(long, value_name = "ID", requires = "file", value_parser = parse_run_id)]
    run_id: Option<String>,
    #[command(flatten)]
    rule: Rule,
}

/// What may be said of each job.
#[derive(Clone, Debug, Args)]
pub(crate) struct Rule {
    /// Higher goes first, -100 to 100; 0 when absent
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = number::within(-100_i64, 100))]
    pub(crate) priority: Option<i64>,
    /// How long it must wait before it may run
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = ANY.parser(), conflicts_with = "run_at")]
    pub(crate) delay: Option<Span>,
    /// The moment before which it may not run, such as 2026-12-01T10:00:00Z
    #[arg(long, value_name = "MOMENT", value_parser = parse_moment)]
    pub(crate) run_at: Option<String>,
    /// While a live job of the queue bears this key, an equal job is that job
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    pub(crate) unique: Option<String>,
    /// Jobs of one queue that bear the same key run one after the other
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    pub(crate) order: Option<String>,
    /// Failed runs after which it is dead, 1 to 10000; 5 when absent
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = number::within(1_u64, 10_000))]
    pub(crate) attempts: Option<u64>,
    /// How long before the first retry, doubled with each; 1s when absent
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = ANY.parser())]
    pub(crate) backoff: Option<Span>,
    /// How long before any retry at most; 1h when absent
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = ANY.parser())]
    pub(crate) backoff_max: Option<Span>,
    /// How long one run may take; no limit when absent
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = SOME.parser())]
    pub(crate) timeout: Option<Span>,
}

/// What a file came to.
#[derive(Debug, Default, Serialize)]
struct Added {
    /// Jobs that the server accepted or knew already.
    jobs: u64,
    /// Those of them that were there before, by their unique key.
    existing: u64,
    first_id: Option<u64>,
    last_id: Option<u64>,
    run_id: String,
}

impl Add {
    /// Adds what was asked.
    pub(crate) async fn run(mut self, context: &Context) -> Result<Reply, Failure> {
        if let Some(path) = self.file.take() {
            return self.file(&path, context).await;
        }
        let payload = self.payload().await?;
        let queue = self.queue.take().unwrap_or_default();
        let asked = self.rule.job(queue, payload);
        let when = match (&asked.run_at, self.rule.delay) {
            (Some(moment), _) => format!(", not before {moment}"),
            (None, Some(delay)) => format!(", not before {delay} from now"),
            (None, None) => String::new(),
        };
        let client = context.client().await?;
        let added = client.enqueue(&Enqueue { jobs: vec![asked] }).await?;
        let job = added.jobs.first().copied();
        let job = job.ok_or_else(|| Failure::failed("the server accepted no job"))?;
        let line = if job.existing {
            format!("job {} was there before, under the same unique key", job.id)
        } else {
            format!("job {} is accepted{when}", job.id)
        };
        Ok(Reply::of(&job).line(line))
    }

    async fn payload(&mut self) -> Result<Json, Failure> {
        if let Some(text) = self.text.take() {
            return Json::of(&text)
                .map_err(|error| Failure::usage("--text is no text").because(&error));
        }
        let (what, text) = match (self.payload.take(), self.payload_file.take()) {
            (Some(payload), _) => ("--payload".to_owned(), payload),
            (None, Some(path)) => (name(&path), aside(move || read_whole(&path)).await??),
            (None, None) => return Err(Failure::usage("no payload is given")),
        };
        Json::parse(text.trim_ascii()).map_err(|error| {
            Failure::usage(format!("{what} is not one JSON value"))
                .because(&error)
                .next("give text that is no JSON by --text")
        })
    }

    async fn file(self, path: &std::path::Path, context: &Context) -> Result<Reply, Failure> {
        let source = Source::new(path, self.format, self.queue.clone(), self.rule.clone());
        if source.can_be_read_twice() {
            check(&source, context)?;
        }
        let client = context.client().await?;
        let run_id = self.run_id.clone().unwrap_or_else(|| client.new_key());
        let mut added = Added { run_id, ..Added::default() };
        let done = add(client, &source, &mut added, context).await;
        match done {
            Ok(()) => Ok(reply(&added)),
            Err(failure) => Err(explain(failure, &added, source.can_be_read_twice())),
        }
    }
}

impl Rule {
    /// Returns the job that these flags ask for.
    pub(crate) fn job(&self, queue: String, payload: Json) -> NewJob {
        let rule = self.clone();
        NewJob {
            queue,
            payload,
            priority: rule.priority,
            delay_ms: rule.delay.map(|span| span.0),
            run_at: rule.run_at,
            unique_key: rule.unique,
            order_key: rule.order,
            attempts_max: rule.attempts,
            backoff_ms: rule.backoff.map(|span| span.0),
            backoff_max_ms: rule.backoff_max.map(|span| span.0),
            timeout_ms: rule.timeout.map(|span| span.0),
        }
    }
}

/// Reads the file to its end, so that a bad line is found before the first job is added.
fn check(source: &Source, context: &Context) -> Result<(), Failure> {
    let progress = context.output.progress();
    for (count, job) in source.open()?.enumerate() {
        job?;
        progress.show(&format!("{} checked", counted(count as u64 + 1, "line")));
    }
    Ok(())
}

/// Adds the jobs of a file batch by batch, each under a key of its own: a batch that is sent
/// again is carried out once.
async fn add(
    client: &Client,
    source: &Source,
    added: &mut Added,
    context: &Context,
) -> Result<(), Failure> {
    let progress = context.output.progress();
    let mut rest = Rest { jobs: source.open()?, carried: None };
    for number in 0_u64.. {
        let batch;
        (batch, rest) = aside(move || rest.batch()).await?;
        if batch.jobs.is_empty() {
            if let Some(failure) = batch.failure {
                return Err(failure);
            }
            break;
        }
        let key = format!("{}-{number}", added.run_id);
        let request = Enqueue { jobs: batch.jobs };
        let reply = client.keyed(&key).enqueue(&request).await;
        let reply = reply.map_err(|error| at_line(error.into(), source, &batch.lines))?;
        added.jobs += reply.jobs.len() as u64;
        added.existing += reply.jobs.iter().filter(|job| job.existing).count() as u64;
        added.first_id = added.first_id.or(reply.jobs.first().map(|job| job.id));
        added.last_id = reply.jobs.last().map(|job| job.id).or(added.last_id);
        progress.show(&format!("{} added", counted(added.jobs, "job")));
        if let Some(failure) = batch.failure {
            return Err(failure);
        }
    }
    Ok(())
}

/// Jobs that are sent in one request.
struct Batch {
    jobs: Vec<NewJob>,
    /// The line of each.
    lines: Vec<u64>,
    /// Why there is no more.
    failure: Option<Failure>,
}

/// The jobs that are still to be sent.
struct Rest {
    jobs: Jobs,
    /// One that was read and did not fit the batch before.
    carried: Option<(u64, NewJob)>,
}

impl Rest {
    /// Returns as many jobs as fit one request, and the rest.
    fn batch(mut self) -> (Batch, Self) {
        let mut batch = Batch { jobs: Vec::new(), lines: Vec::new(), failure: None };
        let mut bytes = 0;
        for _ in 0..BATCH_ITEMS_MAX {
            let next = match self.carried.take() {
                Some(next) => next,
                None => match self.jobs.next() {
                    None => break,
                    Some(Ok(next)) => next,
                    Some(Err(failure)) => {
                        batch.failure = Some(failure);
                        break;
                    }
                },
            };
            bytes += next.1.payload.get().len() + JOB_BYTES;
            if bytes > BATCH_BYTES_MAX && !batch.jobs.is_empty() {
                self.carried = Some(next);
                break;
            }
            batch.lines.push(next.0);
            batch.jobs.push(next.1);
        }
        (batch, self)
    }
}

/// Names the line that the server speaks of as `jobs[N]`.
fn at_line(failure: Failure, source: &Source, lines: &[u64]) -> Failure {
    let field = failure.field().and_then(|field| field.strip_prefix("jobs["));
    let index = field.and_then(|field| field.split_once(']')?.0.parse::<usize>().ok());
    let Some((index, line)) = index.and_then(|index| Some((index, lines.get(index)?))) else {
        return failure;
    };
    failure.without(&format!("jobs[{index}].")).within(&format!("{} line {line}", source.name()))
}

/// Adds to a failure what was added before it, and how to go on.
fn explain(failure: Failure, added: &Added, again: bool) -> Failure {
    let sure = failure.exit() != Exit::Unreachable;
    if added.jobs == 0 && sure {
        return failure.next("nothing was added");
    }
    let next = if again {
        format!(
            "{} added; once that is put right, add the same file with --run-id {}: nothing is added twice as long as the lines before are the same",
            counted(added.jobs, "job"),
            added.run_id
        )
    } else {
        format!("{} added before that; add only the lines after", counted(added.jobs, "job"))
    };
    failure.next(next)
}

fn reply(added: &Added) -> Reply {
    let reply = Reply::of(added);
    let (Some(first), Some(last)) = (added.first_id, added.last_id) else {
        return reply.line("there is no job in the file");
    };
    let line = format!("{} accepted, {first} to {last}", counted(added.jobs, "job"));
    let reply = reply.styled(Style::Good, line);
    if added.existing == 0 {
        return reply;
    }
    reply.line(format!("{} of them were there before, under the same unique key", added.existing))
}

fn parse_moment(text: &str) -> Result<String, BadMoment> {
    moment::parse(text)
}

/// Reads the name of a run: it must leave room for the number of a batch in a request id.
fn parse_run_id(text: &str) -> Result<String, String> {
    let fits = !text.is_empty() && text.len() <= 48 && text.bytes().all(|b| b.is_ascii_graphic());
    if fits {
        Ok(text.to_owned())
    } else {
        Err("allowed is 1 to 48 visible ASCII characters".to_owned())
    }
}
