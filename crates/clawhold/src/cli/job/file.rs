//! Jobs as a file has them, one a line.

use std::io::{BufRead, Read};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use serde::Deserialize;

use super::add::Rule;
use crate::api::Json;
use crate::api::job::NewJob;
use crate::cli::lines::{BOM, Lines, name, reader};
use crate::failure::Failure;
use crate::moment;

/// How a file of jobs is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// One JSON object a line
    Ndjson,
    /// Columns, named in the first line
    Csv,
}

/// A file of jobs, and what holds for a job that does not say otherwise.
#[derive(Debug)]
pub(crate) struct Source {
    path: PathBuf,
    format: Format,
    queue: Option<String>,
    rule: Rule,
}

/// The jobs of a file, each with the number of its line.
pub(crate) type Jobs = Box<dyn Iterator<Item = Result<(u64, NewJob), Failure>> + Send>;

/// One job as a line has it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    queue: Option<String>,
    payload: Option<Json>,
    text: Option<String>,
    priority: Option<i64>,
    delay_ms: Option<u64>,
    run_at: Option<String>,
    unique_key: Option<String>,
    order_key: Option<String>,
    attempts_max: Option<u64>,
    backoff_ms: Option<u64>,
    backoff_max_ms: Option<u64>,
    timeout_ms: Option<u64>,
}

impl Source {
    /// Returns the file at `path`.
    pub(crate) fn new(
        path: &Path,
        format: Option<Format>,
        queue: Option<String>,
        rule: Rule,
    ) -> Self {
        let csv = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("csv"));
        let by_ending = if csv { Format::Csv } else { Format::Ndjson };
        Self { path: path.to_owned(), format: format.unwrap_or(by_ending), queue, rule }
    }

    /// Tells whether the file is there to be read as often as one likes.
    pub(crate) fn can_be_read_twice(&self) -> bool {
        self.path != Path::new("-") && self.path.is_file()
    }

    /// Returns what people call the file.
    pub(crate) fn name(&self) -> String {
        name(&self.path)
    }

    /// Opens the file.
    ///
    /// # Errors
    /// When it cannot be opened, or has columns that there are not.
    pub(crate) fn open(&self) -> Result<Jobs, Failure> {
        let (queue, rule, name) = (self.queue.clone(), self.rule.clone(), name(&self.path));
        let lines: Box<dyn Iterator<Item = Result<(u64, Line), Failure>> + Send> = match self.format
        {
            Format::Ndjson => Box::new(ndjson(Lines::open(&self.path)?, name.clone())),
            Format::Csv => Box::new(csv(reader(&self.path)?, name.clone())?),
        };
        Ok(Box::new(lines.map(move |line| {
            let (number, line) = line?;
            let job = line.job(queue.as_deref(), &rule);
            let job = job.map_err(|what| at(&name, number, &what))?;
            Ok((number, job))
        })))
    }
}

impl Line {
    /// Returns the job, with what the line does not say taken from the flags.
    fn job(self, queue: Option<&str>, rule: &Rule) -> Result<NewJob, String> {
        let payload = match (self.payload, self.text) {
            (Some(_), Some(_)) => return Err("has both payload and text".to_owned()),
            (Some(payload), None) => payload,
            (None, Some(text)) => Json::of(&text).map_err(|error| error.to_string())?,
            (None, None) => return Err("has neither payload nor text".to_owned()),
        };
        let queue = self.queue.or_else(|| queue.map(str::to_owned));
        let queue = queue.ok_or("names no queue, and none is named on the command line")?;
        if self.delay_ms.is_some() && self.run_at.is_some() {
            return Err("has both delay_ms and run_at".to_owned());
        }
        let run_at = self
            .run_at
            .map(|text| moment::parse(&text).map_err(|error| format!("run_at {text:?} {error}")));
        let run_at = run_at.transpose()?;
        let usual = rule.job(queue, payload);
        let timed = self.delay_ms.is_some() || run_at.is_some();
        Ok(NewJob {
            priority: self.priority.or(usual.priority),
            delay_ms: if timed { self.delay_ms } else { usual.delay_ms },
            run_at: if timed { run_at } else { usual.run_at },
            unique_key: self.unique_key.or(usual.unique_key),
            order_key: self.order_key.or(usual.order_key),
            attempts_max: self.attempts_max.or(usual.attempts_max),
            backoff_ms: self.backoff_ms.or(usual.backoff_ms),
            backoff_max_ms: self.backoff_max_ms.or(usual.backoff_max_ms),
            timeout_ms: self.timeout_ms.or(usual.timeout_ms),
            queue: usual.queue,
            payload: usual.payload,
        })
    }
}

fn at(name: &str, line: u64, what: &str) -> Failure {
    Failure::usage(format!("{name} line {line}: {what}"))
}

fn ndjson(lines: Lines, name: String) -> impl Iterator<Item = Result<(u64, Line), Failure>> + Send {
    lines.map(move |line| {
        let (number, text) = line?;
        let line = serde_json::from_str(&text).map_err(|error| {
            // Each line is a document of its own: its line is always 1.
            let what = error.to_string().replace(" at line 1 column ", " at column ");
            at(&name, number, &what)
        })?;
        Ok((number, line))
    })
}

fn csv(
    mut reader: Box<dyn BufRead + Send>,
    name: String,
) -> Result<impl Iterator<Item = Result<(u64, Line), Failure>> + Send, Failure> {
    let cannot = |error: &dyn std::error::Error| {
        Failure::failed(format!("cannot read {name}")).because(error)
    };
    let start = reader.fill_buf().map_err(|error| cannot(&error))?;
    let mark = if start.starts_with(BOM) { BOM.len() } else { 0 };
    reader.consume(mark);
    let mut csv = ::csv::ReaderBuilder::new().from_reader(reader as Box<dyn Read + Send>);
    let head = csv.headers().map_err(|error| at(&name, 1, "is no head").because(&error))?.clone();
    for column in &head {
        if !COLUMNS.contains(&column) {
            let text = format!("there is no column {column:?}");
            let failure = at(&name, 1, &text);
            return Err(match crate::suggest::nearest(column, COLUMNS) {
                Some(meant) => failure.next(format!("did you mean {meant}?")),
                None => failure.next(format!("the columns are {}", COLUMNS.join(", "))),
            });
        }
        if head.iter().filter(|other| *other == column).count() > 1 {
            return Err(at(&name, 1, &format!("the column {column:?} is there twice")));
        }
    }
    Ok(csv.into_records().map(move |record| {
        let record = record.map_err(|error| {
            let line = error.position().map_or(0, ::csv::Position::line);
            at(&name, line, "is no row").because(&error)
        })?;
        let number = record.position().map_or(0, ::csv::Position::line);
        let line = row(&head, &record).map_err(|what| at(&name, number, &what))?;
        Ok((number, line))
    }))
}

/// The columns that a file may have.
const COLUMNS: [&str; 12] = [
    "queue",
    "payload",
    "text",
    "priority",
    "delay_ms",
    "run_at",
    "unique_key",
    "order_key",
    "attempts_max",
    "backoff_ms",
    "backoff_max_ms",
    "timeout_ms",
];

/// Reads a row. An empty cell says nothing, but for `text`, which may well be empty.
fn row(head: &::csv::StringRecord, record: &::csv::StringRecord) -> Result<Line, String> {
    let mut line = Line::default();
    for (column, cell) in head.iter().zip(record) {
        if cell.is_empty() && column != "text" {
            continue;
        }
        let number =
            || cell.parse().map_err(|_| format!("{column} is {cell:?}, which is no number"));
        match column {
            "queue" => line.queue = Some(cell.to_owned()),
            "payload" => {
                let payload = Json::parse(cell.trim_ascii());
                let payload = payload.map_err(|error| format!("payload is no JSON: {error}"))?;
                line.payload = Some(payload);
            }
            "text" => line.text = Some(cell.to_owned()),
            "priority" => {
                let priority = cell.parse();
                let priority =
                    priority.map_err(|_| format!("priority is {cell:?}, which is no number"))?;
                line.priority = Some(priority);
            }
            "delay_ms" => line.delay_ms = Some(number()?),
            "run_at" => line.run_at = Some(cell.to_owned()),
            "unique_key" => line.unique_key = Some(cell.to_owned()),
            "order_key" => line.order_key = Some(cell.to_owned()),
            "attempts_max" => line.attempts_max = Some(number()?),
            "backoff_ms" => line.backoff_ms = Some(number()?),
            "backoff_max_ms" => line.backoff_max_ms = Some(number()?),
            "timeout_ms" => line.timeout_ms = Some(number()?),
            _ => return Err(format!("there is no column {column:?}")),
        }
    }
    if line.payload.is_some() && line.text.as_deref() == Some("") {
        line.text = None;
    }
    Ok(line)
}
