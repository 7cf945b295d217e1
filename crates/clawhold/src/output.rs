//! What the program prints, and the only place that prints.
//!
//! A command returns a [`Reply`]. With `--json` its one document goes to standard output, and
//! nothing else does; otherwise its blocks are written for people, on a terminal with colour.
//! Whatever came from others is made safe to look at first. A closed pipe ends the output, not
//! the program.

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::ValueEnum;
use serde::Serialize;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::table::{Sheet, Table};
use crate::text::{visible, visible_lines};

/// How often a progress line is drawn.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);

/// When colour is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless the environment says otherwise.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// How a piece of text stands out. The words alone say everything as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// As it is.
    Plain,
    /// A head.
    Bold,
    /// All is well.
    Good,
    /// Something to look at.
    Warn,
    /// Something is wrong.
    Bad,
}

/// Where colour is used.
#[derive(Clone, Copy, Debug)]
struct Colors {
    /// On standard output.
    out: bool,
    /// On standard error.
    err: bool,
}

/// Where and how to print.
#[derive(Debug)]
pub(crate) struct Output {
    json: bool,
    color: Colors,
    progress: bool,
    width: Option<usize>,
    closed: AtomicBool,
    broken: AtomicBool,
}

/// What a command has to say: one document, the same for people, and how the program ends.
#[derive(Debug)]
pub(crate) struct Reply {
    json: Option<String>,
    blocks: Vec<Block>,
    exit: Exit,
}

#[derive(Debug)]
enum Block {
    Line(Style, String),
    Raw(String),
    Table(Table),
    Sheet(Sheet),
}

impl Reply {
    /// Returns a reply whose document is `value`.
    pub(crate) fn of<T: Serialize + ?Sized>(value: &T) -> Self {
        let json = serde_json::to_string(value).expect("what the API speaks is always JSON");
        Self { json: Some(json), blocks: Vec::new(), exit: Exit::Done }
    }

    /// Returns a reply of a command that has printed all it has to say.
    pub(crate) fn silent(exit: Exit) -> Self {
        Self { json: None, blocks: Vec::new(), exit }
    }

    /// Adds a line.
    pub(crate) fn line(self, text: impl Into<String>) -> Self {
        self.styled(Style::Plain, text)
    }

    /// Adds a line that stands out.
    pub(crate) fn styled(mut self, style: Style, text: impl Into<String>) -> Self {
        self.blocks.push(Block::Line(style, text.into()));
        self
    }

    /// Adds a line before all others.
    pub(crate) fn first(mut self, text: impl Into<String>) -> Self {
        self.blocks.insert(0, Block::Line(Style::Plain, text.into()));
        self
    }

    /// Adds lines of the program's own making, as they are.
    pub(crate) fn raw(mut self, text: impl Into<String>) -> Self {
        self.blocks.push(Block::Raw(text.into()));
        self
    }

    /// Adds a table.
    pub(crate) fn table(mut self, table: Table) -> Self {
        self.blocks.push(Block::Table(table));
        self
    }

    /// Adds the fields of one thing.
    pub(crate) fn sheet(mut self, sheet: Sheet) -> Self {
        self.blocks.push(Block::Sheet(sheet));
        self
    }

    /// Ends the program otherwise than well.
    pub(crate) fn exit(mut self, exit: Exit) -> Self {
        self.exit = exit;
        self
    }
}

impl Output {
    /// Returns what prints as the flags and the environment ask.
    pub(crate) fn new(json: bool, color: Color) -> Self {
        let (out, err) = (io::stdout().is_terminal(), io::stderr().is_terminal());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        Self {
            json,
            color: Colors { out: is_colored(color, out), err: is_colored(color, err) },
            progress: err && !dumb && !json,
            width: if out { terminal_width() } else { None },
            closed: AtomicBool::new(false),
            broken: AtomicBool::new(false),
        }
    }

    /// Tells whether `--json` was asked.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// Tells whether nobody reads standard output any more.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    /// Tells whether colour is used on standard output.
    pub(crate) fn is_colored(&self) -> bool {
        self.color.out
    }

    /// Prints a reply and returns how the program ends.
    pub(crate) fn reply(&self, reply: Reply) -> Exit {
        if self.json {
            if let Some(json) = reply.json {
                self.write_out(&format!("{json}\n"));
            }
        } else {
            let text: String = reply.blocks.iter().map(|block| self.render(block)).collect();
            self.write_out(&text);
        }
        if self.broken.load(Ordering::Relaxed) && reply.exit == Exit::Done {
            return Exit::Failed;
        }
        reply.exit
    }

    /// Prints a failure and returns how the program ends.
    pub(crate) fn fail(&self, failure: &Failure) -> Exit {
        if self.json {
            self.write_out(&format!("{}\n", failure.json()));
            return failure.exit();
        }
        let mut text = String::new();
        let head = paint(Style::Bad, "error:", self.color.err);
        let _ = writeln!(text, "{head} {}", visible_lines(failure.message()));
        let is_said = |line: &str| failure.message().contains(line);
        for line in failure.lines().iter().filter(|line| !is_said(line)) {
            let _ = writeln!(text, "  {}", visible(line));
        }
        for cause in failure.causes() {
            let _ = writeln!(text, "  because {}", visible(cause));
        }
        if let Some(next) = failure.next_step() {
            let _ = writeln!(text, "  next: {}", visible(next));
        }
        self.write_err(&text);
        failure.exit()
    }

    /// Prints one line for people to standard output, at once. With `--json` nothing is printed.
    pub(crate) fn say(&self, style: Style, text: &str) {
        if !self.json {
            self.write_out(&self.render(&Block::Line(style, text.to_owned())));
        }
    }

    /// Prints one document on one line to standard output, at once: for what has no end.
    pub(crate) fn document<T: Serialize + ?Sized>(&self, value: &T) {
        let json = serde_json::to_string(value).expect("what the API speaks is always JSON");
        self.write_out(&format!("{json}\n"));
    }

    /// Prints one line to standard error.
    pub(crate) fn note(&self, text: &str) {
        self.write_err(&format!("{}\n", visible(text)));
    }

    /// Prints a question to standard error; the answer is typed behind it.
    pub(crate) fn prompt(&self, question: &str) {
        self.write_err(&visible(question));
    }

    /// Returns what draws the progress of long work on standard error. It draws on a terminal
    /// only.
    pub(crate) fn progress(&self) -> Progress<'_> {
        Progress { output: self, last: Mutex::new(None) }
    }

    fn render(&self, block: &Block) -> String {
        match block {
            Block::Raw(text) => text.clone(),
            Block::Line(style, text) => {
                format!("{}\n", paint(*style, &visible(text), self.color.out))
            }
            Block::Sheet(sheet) => sheet.lines().iter().map(|line| format!("{line}\n")).collect(),
            Block::Table(table) => {
                let laid = table.lay_out(self.width);
                let head = laid.head.map(|head| paint(Style::Bold, &head, self.color.out));
                head.into_iter().chain(laid.lines).map(|line| format!("{line}\n")).collect()
            }
        }
    }

    fn write_out(&self, text: &str) {
        if self.is_closed() {
            return;
        }
        let mut out = io::stdout().lock();
        let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        let Err(error) = written else { return };
        self.closed.store(true, Ordering::Relaxed);
        if error.kind() != io::ErrorKind::BrokenPipe {
            self.broken.store(true, Ordering::Relaxed);
            self.write_err(&format!("error: cannot write to standard output: {error}\n"));
        }
    }

    fn write_err(&self, text: &str) {
        // Nothing is left to tell it to when standard error is gone.
        let _ = io::stderr().lock().write_all(text.as_bytes());
    }
}

/// Draws one line on standard error again and again. What is drawn goes when this is dropped.
#[derive(Debug)]
pub(crate) struct Progress<'a> {
    output: &'a Output,
    last: Mutex<Option<Instant>>,
}

impl Progress<'_> {
    /// Draws `text`, at most ten times a second.
    pub(crate) fn show(&self, text: &str) {
        if !self.output.progress {
            return;
        }
        let mut last = self.last.lock().expect("nobody panics while drawing");
        if last.is_some_and(|last| last.elapsed() < PROGRESS_EVERY) {
            return;
        }
        *last = Some(Instant::now());
        self.output.write_err(&format!("\r\u{1b}[2K{}", visible(text)));
    }

    /// Takes what is drawn away, so that a whole line can be printed.
    pub(crate) fn clear(&self) {
        let mut last = self.last.lock().expect("nobody panics while drawing");
        if last.take().is_some() {
            self.output.write_err("\r\u{1b}[2K");
        }
    }
}

impl Drop for Progress<'_> {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Returns `text` in its style.
fn paint(style: Style, text: &str, color: bool) -> String {
    let code = match style {
        Style::Plain => return text.to_owned(),
        Style::Bold => "1",
        Style::Good => "32",
        Style::Warn => "33",
        Style::Bad => "1;31",
    };
    if color { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
}

/// Tells whether to use colour: the flag first, then NO_COLOR, CLICOLOR_FORCE, TERM and the
/// terminal.
fn is_colored(color: Color, terminal: bool) -> bool {
    let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let forced = std::env::var_os("CLICOLOR_FORCE").is_some_and(|v| !v.is_empty() && v != "0");
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    match color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto if set("NO_COLOR") => false,
        Color::Auto => forced || (terminal && !dumb),
    }
}

fn terminal_width() -> Option<usize> {
    let (terminal_size::Width(width), _) = terminal_size::terminal_size()?;
    (width > 0).then_some(usize::from(width))
}
