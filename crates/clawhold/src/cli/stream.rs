//! Streams: events in order, and how far each role has come.

use std::iter::Peekable;
use std::path::{Path, PathBuf};

use clap::{ArgGroup, Args, Subcommand};
use clawhold_client::{Client, ClientError};
use serde::Serialize;

use crate::api::Json;
use crate::api::page::PageQuery;
use crate::api::stream::{Append as Request, Event, EventQuery, SetStream, Stream as View};
use crate::cli::lines::{BATCH_BYTES_MAX, BATCH_ITEMS_MAX, Lines, aside, name};
use crate::cli::list::{Limit, meant};
use crate::context::Context;
use crate::duration::{ANY, Span};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::number;
use crate::output::{Output, Reply, Style};
use crate::table::Table;
use crate::text::counted;

/// Milliseconds that one look at the end of a stream waits for the next event.
const FOLLOW_WAIT_MS: u64 = 20_000;
/// Events of one page.
const PAGE: u64 = 1_000;

/// Streams: events in order, and how far each role has come
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  clawhold stream list")]
pub(crate) struct Stream {
    #[command(subcommand)]
    word: Word,
}

#[derive(Debug, Subcommand)]
enum Word {
    /// List the streams
    #[command(after_help = "Example:\n  clawhold stream list")]
    List(Limit),
    /// Append an event, or many from a file; the stream is made when it is missing
    #[command(
        after_help = "Examples:\n  clawhold stream append orders --payload '{\"id\":7}'\n  clawhold stream append orders --file orders.ndjson"
    )]
    Append(Append),
    /// Read events that are there
    #[command(after_help = "Example:\n  clawhold stream read orders --after 100 --limit 10")]
    Read(Read),
    /// Read events as they come, until interrupted
    ///
    /// With --json each event is one document on a line of its own, for there is no end.
    #[command(
        after_help = "Examples:\n  clawhold stream follow orders\n  clawhold stream follow orders --after 0 --count 10 --json"
    )]
    Follow(Follow),
    /// Show how far each role has come
    #[command(after_help = "Example:\n  clawhold stream position orders")]
    Position(Named),
    /// Make a stream or set what it keeps; what is not named stays as it is
    #[command(
        after_help = "Example:\n  clawhold stream set orders --events-max 100000 --age-max 7d"
    )]
    Set(Set),
    /// Remove a stream that no role is at work on
    #[command(after_help = "Example:\n  clawhold stream remove orders")]
    Remove(Named),
}

#[derive(Debug, Args)]
struct Named {
    /// The stream
    stream: String,
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("event").required(true).args(["payload", "text", "file"]))]
struct Append {
    /// The stream
    stream: String,
    /// The event as JSON
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    payload: Option<String>,
    /// The event as text, kept as a JSON string
    #[arg(long, value_name = "STRING", allow_hyphen_values = true)]
    text: Option<String>,
    /// A file with one event a line, as JSON; - for standard input
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// The number that the first event must get; refused otherwise
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = number::id())]
    expected: Option<u64>,
}

#[derive(Debug, Args)]
struct Read {
    /// The stream
    stream: String,
    /// Events after this number
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = number::any())]
    after: Option<u64>,
    /// Events at most
    #[arg(long, value_name = "N", default_value_t = 100, allow_negative_numbers = true, value_parser = number::within(1_u64, 1_000_000))]
    limit: u64,
}

#[derive(Debug, Args)]
struct Follow {
    /// The stream
    stream: String,
    /// Events after this number; those to come when absent
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = number::any())]
    after: Option<u64>,
    /// Stop after so many
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = number::id())]
    count: Option<u64>,
}

#[derive(Debug, Args)]
struct Set {
    /// The stream
    stream: String,
    /// Events kept
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = number::any())]
    events_max: Option<u64>,
    /// Bytes kept
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = number::any())]
    bytes_max: Option<u64>,
    /// How long events are kept; 0s for no limit
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = ANY.parser())]
    age_max: Option<Span>,
}

#[derive(Serialize)]
struct Appended<'a> {
    stream: &'a str,
    events: u64,
    last: Option<u64>,
}

/// A stream that was removed.
#[derive(Serialize)]
struct Removed<'a> {
    stream: &'a str,
    position: Option<u64>,
}

/// Events as they were read.
#[derive(Serialize)]
struct Page {
    events: Vec<Event>,
    first: u64,
    last: u64,
}

impl Stream {
    /// Does what was asked.
    pub(crate) async fn run(self, context: &Context) -> Result<Reply, Failure> {
        let client = context.client().await?;
        match self.word {
            Word::List(limit) => list(client, limit).await,
            Word::Append(append) => append.run(client, context).await,
            Word::Read(read) => self::read(client, read).await,
            Word::Follow(follow) => follow.run(client, &context.output).await,
            Word::Position(Named { stream }) => positions(client, &stream).await,
            Word::Set(set) => self::set(client, set).await,
            Word::Remove(Named { stream }) => remove(client, &stream).await,
        }
    }
}

async fn missing(error: ClientError, client: &Client, stream: &str) -> Failure {
    meant(error, stream, client.streams(&PageQuery::default()), |stream| stream.name.as_str()).await
}

async fn view(client: &Client, stream: &str) -> Result<View, Failure> {
    match client.stream(stream).await {
        Ok(view) => Ok(view),
        Err(error) => Err(missing(error, client, stream).await),
    }
}

async fn list(client: &Client, limit: Limit) -> Result<Reply, Failure> {
    let query = PageQuery { limit: limit.page(), ..PageQuery::default() };
    let rows = limit.rows(client.streams(&query)).await?;
    let mut table = Table::new(&["STREAM", "FIRST", "LAST", "BYTES", "KEEPS", "ROLES"]);
    for stream in &rows.items {
        table.row([
            stream.name.clone(),
            stream.first.to_string(),
            stream.last.to_string(),
            stream.bytes.to_string(),
            keeps(stream),
            stream.positions_count.to_string(),
        ]);
    }
    Ok(rows.reply(table, "there is no stream"))
}

/// Returns what a stream keeps, in words.
fn keeps(stream: &View) -> String {
    let set = &stream.settings;
    let kept = format!("{} events, {} bytes", set.events_max, set.bytes_max);
    if set.age_ms_max == 0 { kept } else { format!("{kept}, {}", Span(set.age_ms_max)) }
}

impl Append {
    async fn run(self, client: &Client, context: &Context) -> Result<Reply, Failure> {
        let json = |text: &str, what: &str| {
            Json::parse(text.trim_ascii()).map_err(|error| {
                Failure::usage(format!("{what} is not one JSON value")).because(&error)
            })
        };
        let event = match (&self.payload, &self.text) {
            (Some(payload), _) => json(payload, "--payload")?,
            (None, Some(text)) => Json::of(text)
                .map_err(|error| Failure::usage("--text is no text").because(&error))?,
            (None, None) => return self.file(client, context).await,
        };
        let request = Request { events: vec![event], expected: self.expected };
        let last = client.append(&self.stream, &request).await?.last;
        let done = Appended { stream: &self.stream, events: 1, last: Some(last) };
        Ok(Reply::of(&done).line(format!("event {last} is appended to {}", self.stream)))
    }

    /// Appends the lines of a file in batches, each exactly once: a batch after the first says
    /// which number it must get.
    async fn file(self, client: &Client, context: &Context) -> Result<Reply, Failure> {
        let Some(path) = &self.file else { return Err(Failure::usage("no event is given")) };
        let mut lines = Lines::open(path)?.peekable();
        let progress = context.output.progress();
        let (mut count, mut last, mut expected) = (0_u64, None, self.expected);
        loop {
            let path = path.clone();
            let batch;
            (batch, lines) = aside(move || Batch::read(lines, &path)).await?;
            let sent = batch.events.len() as u64;
            if sent > 0 {
                let request = Request { events: batch.events, expected };
                let done = client.append(&self.stream, &request).await;
                let end = done.map_err(|error| told(error.into(), count))?.last;
                count += sent;
                last = Some(end);
                expected = expected.map(|_| end + 1);
                progress.show(&format!("{} appended", counted(count, "event")));
            }
            match batch.failure {
                Some(failure) => return Err(told(failure, count)),
                None if sent == 0 => break,
                None => {}
            }
        }
        drop(progress);
        let done = Appended { stream: &self.stream, events: count, last };
        let line = format!("{} appended to {}", counted(count, "event"), self.stream);
        Ok(Reply::of(&done).line(line))
    }
}

/// Events that are sent in one request.
#[derive(Default)]
struct Batch {
    events: Vec<Json>,
    /// Why there is no more.
    failure: Option<Failure>,
}

impl Batch {
    /// Reads as many events as fit one request, and returns the lines that are left.
    fn read(mut lines: Peekable<Lines>, path: &Path) -> (Self, Peekable<Lines>) {
        let mut batch = Self::default();
        let mut bytes = 0;
        let fits = |batch: &Self, bytes: usize| {
            batch.events.is_empty()
                || (batch.events.len() < BATCH_ITEMS_MAX && bytes <= BATCH_BYTES_MAX)
        };
        while let Some(next) = lines.next_if(|next| {
            next.as_ref().map_or(true, |(_, line)| fits(&batch, bytes + line.len()))
        }) {
            let event = next.and_then(|(number, line)| {
                bytes += line.len();
                Json::parse(line.trim_ascii()).map_err(|error| {
                    let text = format!("{} line {number}: is not one JSON value", name(path));
                    Failure::usage(text).because(&error)
                })
            });
            match event {
                Ok(event) => batch.events.push(event),
                Err(failure) => {
                    batch.failure = Some(failure);
                    break;
                }
            }
        }
        (batch, lines)
    }
}

/// Adds to a failure what was appended before it.
fn told(failure: Failure, count: u64) -> Failure {
    match count {
        0 => failure.next("nothing was appended"),
        _ => failure.next(format!("{} appended before that", counted(count, "event"))),
    }
}

async fn read(client: &Client, read: Read) -> Result<Reply, Failure> {
    let mut page = Page { events: Vec::new(), first: 0, last: 0 };
    let mut after = read.after;
    for _ in 0..read.limit {
        let left = read.limit - page.events.len() as u64;
        let query = EventQuery { after, limit: Some(left.min(PAGE)), wait_ms: None };
        let some = match client.events(&read.stream, &query).await {
            Ok(some) => some,
            Err(error) => return Err(missing(error, client, &read.stream).await),
        };
        (page.first, page.last) = (some.first, some.last);
        let Some(end) = some.events.last().map(|event| event.number) else { break };
        page.events.extend(some.events);
        after = Some(end);
        if end >= page.last || page.events.len() as u64 >= read.limit {
            break;
        }
    }
    let reply = Reply::of(&page);
    if page.events.is_empty() {
        let text =
            format!("there is no event; the first kept is {}, the last {}", page.first, page.last);
        return Ok(reply.line(text));
    }
    Ok(page.events.iter().fold(reply, |reply, event| reply.line(line(event))))
}

fn line(event: &Event) -> String {
    format!("{}  {}", event.number, event.event.get())
}

impl Follow {
    async fn run(self, client: &Client, output: &Output) -> Result<Reply, Failure> {
        let mut after = match self.after {
            Some(after) => after,
            None => view(client, &self.stream).await?.last,
        };
        let mut left = self.count.unwrap_or(u64::MAX);
        while left > 0 && !output.is_closed() {
            let query = EventQuery {
                after: Some(after),
                limit: Some(left.min(PAGE)),
                wait_ms: Some(FOLLOW_WAIT_MS),
            };
            let some = match client.events(&self.stream, &query).await {
                Ok(some) => some,
                Err(error) => return Err(missing(error, client, &self.stream).await),
            };
            for event in &some.events {
                after = event.number;
                left -= 1;
                if output.is_json() {
                    output.document(event);
                } else {
                    output.say(Style::Plain, &line(event));
                }
            }
        }
        Ok(Reply::silent(Exit::Done))
    }
}

async fn positions(client: &Client, stream: &str) -> Result<Reply, Failure> {
    let positions = match client.positions(stream).await {
        Ok(positions) => positions,
        Err(error) => return Err(missing(error, client, stream).await),
    };
    let reply = Reply::of(&positions);
    if positions.positions.is_empty() {
        return Ok(reply.line("no role has recorded a position in this stream"));
    }
    let mut table = Table::new(&["ROLE", "THROUGH", "LAG", "UNDER TOKEN", "AT"]);
    for position in &positions.positions {
        table.row([
            position.role.clone(),
            position.through.to_string(),
            position.lag.to_string(),
            position.token.to_string(),
            position.at.clone(),
        ]);
    }
    Ok(reply.table(table))
}

async fn set(client: &Client, set: Set) -> Result<Reply, Failure> {
    let request = SetStream {
        events_max: set.events_max,
        bytes_max: set.bytes_max,
        age_ms_max: set.age_max.map(|span| span.0),
    };
    client.set_stream(&set.stream, &request).await?;
    let stream = view(client, &set.stream).await?;
    let line = format!("{} keeps {}", stream.name, keeps(&stream));
    Ok(Reply::of(&stream).line(line))
}

async fn remove(client: &Client, stream: &str) -> Result<Reply, Failure> {
    let position = match client.remove_stream(stream).await {
        Ok(done) => done.position,
        Err(error) => return Err(missing(error, client, stream).await),
    };
    let line = format!("{stream} is removed");
    Ok(Reply::of(&Removed { stream, position }).line(line))
}
