//! What is wrong with a condition, shown in the text as it was typed.

use alloc::boxed::Box;
use alloc::string::String;
use core::fmt;
use core::iter;

/// Characters of a line that are shown around the place.
const SHOWN_MAX: usize = 120;

/// A place in a text: from byte `start` up to, not including, byte `end`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Span {
    pub(super) fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    /// Returns the place from the beginning of this one to the end of another.
    pub(super) fn to(self, other: Self) -> Self {
        Self { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    pub(super) fn of(self, text: &str) -> &str {
        &text[self.start..self.end]
    }
}

/// Why a text is no condition.
///
/// Shown, it draws a caret under the place in the text as it was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// What is wrong.
    pub message: Box<str>,
    /// What to write instead.
    pub help: Option<Box<str>>,
    /// The byte at which the place begins.
    pub start: usize,
    /// The byte before which the place ends. Not less than `start`.
    pub end: usize,
    /// The line, counted from 1.
    pub line: usize,
    /// The column in characters, counted from 1.
    pub column: usize,
    /// The line, or the part of it around the place, fit to be shown.
    shown: Box<str>,
    /// Characters of `shown` before the place.
    indent: usize,
    /// Characters of the place within `shown`, at least 1.
    width: usize,
}

impl Trouble {
    pub(super) fn at(text: &str, span: Span, message: impl Into<Box<str>>) -> Self {
        let before = &text[..span.start];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let column = text[line_start..span.start].chars().count();
        let skipped = if column < SHOWN_MAX { 0 } else { column - SHOWN_MAX / 2 };
        let rest = text[line_start..].chars().take_while(|c| *c != '\n').skip(skipped);
        let mut shown: String = rest.clone().take(SHOWN_MAX).map(visible).collect();
        if rest.clone().nth(SHOWN_MAX).is_some() {
            shown.push('…');
        }
        let lead = usize::from(skipped > 0);
        if lead > 0 {
            shown.insert(0, '…');
        }
        let indent = column - skipped + lead;
        let place = text[span.start..span.end].chars().take_while(|c| *c != '\n');
        let width = place.take(SHOWN_MAX.saturating_sub(indent)).count().max(1);
        Self {
            message: message.into(),
            help: None,
            start: span.start,
            end: span.end,
            line: before.matches('\n').count() + 1,
            column: column + 1,
            shown: shown.trim_end().into(),
            indent,
            width,
        }
    }

    pub(super) fn help(mut self, help: impl Into<Box<str>>) -> Self {
        self.help = Some(help.into());
        self
    }

    pub(super) fn help_if(self, help: Option<impl Into<Box<str>>>) -> Self {
        match help {
            Some(help) => self.help(help),
            None => self,
        }
    }

    fn draw(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lead = self.shown.chars().chain(iter::repeat(' ')).take(self.indent);
        let lead: String = lead.map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
        write!(f, "\n  {}\n  {lead}{:^<2$}", self.shown, "", self.width)
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (line {}, column {})", self.message, self.line, self.column)?;
        if !self.shown.is_empty() {
            self.draw(f)?;
        }
        match &self.help {
            Some(help) => write!(f, "\n  help: {help}"),
            None => Ok(()),
        }
    }
}

impl core::error::Error for Trouble {}

/// Returns what stands for a character when it is shown: one that would move the cursor or hide
/// the rest is replaced.
fn visible(c: char) -> char {
    let hides = matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    if (c.is_control() && c != '\t') || hides { '\u{fffd}' } else { c }
}
