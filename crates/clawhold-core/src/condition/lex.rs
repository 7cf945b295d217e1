//! A text cut into tokens, each with its place.
//!
//! What chat programs make of a text is read as it was meant: smart quotes, no-break spaces, `≠`,
//! `≤`, `≥`. Whether a word is an operator is decided in `parse`: after a dot it never is.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::advice;
use super::duration::{self, BadDuration};
use super::trouble::{Span, Trouble};
use super::{BYTES_MAX, TOKENS_MAX};

/// A token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    Word(&'a str),
    /// A whole number, not above 2^63.
    Int(u64),
    /// Milliseconds.
    Duration(u64),
    Text(Cow<'a, str>),
    /// An operator or a bracket.
    Sign(Sign),
    End,
}

/// An operator or a bracket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    Dot,
    Comma,
    Open,
    Close,
    OpenList,
    CloseList,
    And,
    Or,
    Not,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Plus,
    Minus,
    Star,
    Slash,
    Percent,
}

/// Every sign as it may be typed; a longer one stands before those that it begins with.
const SIGNS: [(&str, Sign); 25] = [
    ("&&", Sign::And),
    ("||", Sign::Or),
    ("==", Sign::Equal),
    ("!=", Sign::NotEqual),
    ("<>", Sign::NotEqual),
    ("≠", Sign::NotEqual),
    ("<=", Sign::LessEqual),
    ("≤", Sign::LessEqual),
    (">=", Sign::GreaterEqual),
    ("≥", Sign::GreaterEqual),
    ("=", Sign::Equal),
    ("<", Sign::Less),
    (">", Sign::Greater),
    ("!", Sign::Not),
    (".", Sign::Dot),
    (",", Sign::Comma),
    ("(", Sign::Open),
    (")", Sign::Close),
    ("[", Sign::OpenList),
    ("]", Sign::CloseList),
    ("+", Sign::Plus),
    ("-", Sign::Minus),
    ("*", Sign::Star),
    ("/", Sign::Slash),
    ("%", Sign::Percent),
];

/// What looks like a sign and is none, and what is meant.
const WRONG_SIGNS: [(&str, &str); 15] = [
    ("===", "write == for equal"),
    ("!==", "write != for not equal"),
    ("=>", "write >= for at least"),
    ("=<", "write <= for at most"),
    ("=!", "write != for not equal"),
    ("&", "write and, or &&"),
    ("|", "write or, or ||"),
    ("?", "a condition has no choice; write it with and, or, not"),
    ("{", "a condition has no maps"),
    ("}", "a condition has no maps"),
    (";", "join two conditions with and, or with or"),
    (":", "a condition has no `:`; write = to compare"),
    ("`", "put text in quotes: \"…\""),
    ("~", "a condition has no patterns; write contains, startsWith or endsWith"),
    ("−", "write - for minus"),
];

/// Quotes that open a text, and what closes it.
const QUOTES: [(char, &[char]); 9] = [
    ('"', &['"']),
    ('\'', &['\'']),
    ('“', &['”', '“']),
    ('”', &['”']),
    ('„', &['“', '”']),
    ('‘', &['’', '‘']),
    ('’', &['’']),
    ('‚', &['‘', '’']),
    ('«', &['»']),
];

/// Cuts a text into tokens; the last one is [`Token::End`].
pub(super) fn lex(text: &str) -> Result<Vec<(Token<'_>, Span)>, Trouble> {
    if text.len() > BYTES_MAX {
        let mut at = BYTES_MAX;
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        let bytes = text.len();
        let message = format!("the condition has {bytes} bytes, at most {BYTES_MAX} are allowed");
        return Err(Trouble::at(text, Span::new(at, at), message)
            .help("split it into several rules, or shorten a list"));
    }
    let mut lexer = Lexer { text, at: 0 };
    let mut tokens = Vec::with_capacity(text.len() / 4 + 2);
    loop {
        let (token, span) = lexer.next()?;
        let ended = token == Token::End;
        if !ended && tokens.len() == TOKENS_MAX {
            let message = format!("the condition has more than {TOKENS_MAX} words and signs");
            return Err(Trouble::at(text, span, message)
                .help("split it into several rules, or shorten a list"));
        }
        tokens.push((token, span));
        if ended {
            return Ok(tokens);
        }
    }
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn next(&mut self) -> Result<(Token<'a>, Span), Trouble> {
        let rest = self.rest().trim_start();
        self.at = self.text.len() - rest.len();
        let start = self.at;
        let Some(first) = rest.chars().next() else {
            return Ok((Token::End, Span::new(start, start)));
        };
        let token = if first.is_alphabetic() || first == '_' {
            Token::Word(self.take(|c| c.is_alphanumeric() || c == '_'))
        } else if first.is_ascii_digit() {
            self.number()?
        } else if let Some((_, closing)) = QUOTES.iter().find(|(quote, _)| *quote == first) {
            Token::Text(self.quoted(first, closing)?)
        } else {
            Token::Sign(self.sign(first)?)
        };
        Ok((token, Span::new(start, self.at)))
    }

    /// Takes the longest beginning made of such characters.
    fn take(&mut self, of: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c| !of(c)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn sign(&mut self, first: char) -> Result<Sign, Trouble> {
        let rest = self.rest();
        if let Some((wrong, help)) = WRONG_SIGNS.iter().find(|(wrong, _)| rest.starts_with(wrong))
            && !SIGNS[..2].iter().any(|(sign, _)| rest.starts_with(sign))
        {
            let span = Span::new(self.at, self.at + wrong.len());
            return Err(self.trouble(span, format!("`{wrong}` is no operator")).help(*help));
        }
        if let Some((typed, sign)) = SIGNS.iter().find(|(typed, _)| rest.starts_with(typed)) {
            self.at += typed.len();
            return Ok(*sign);
        }
        let span = Span::new(self.at, self.at + first.len_utf8());
        let code = u32::from(first);
        let message = match first {
            c if c.is_control() || matches!(c, '\u{200b}'..='\u{200f}' | '\u{feff}') => {
                format!("there is a hidden character, U+{code:04X}")
            }
            c => format!("`{c}` means nothing here"),
        };
        Err(self.trouble(span, message).help("put text in quotes: \"…\""))
    }

    /// Reads a whole number, or a span of time such as `1h30m`.
    fn number(&mut self) -> Result<Token<'a>, Trouble> {
        let start = self.at;
        let typed = self.take(|c| c.is_alphanumeric() || c == '_');
        let after = self.rest().strip_prefix('.');
        let fraction = after.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        if fraction {
            self.at += 1;
            self.take(char::is_alphanumeric);
        }
        let span = Span::new(start, self.at);
        let shown = span.of(self.text);
        if fraction {
            let message = format!("`{}` is not a whole number", advice::short(shown));
            return Err(self
                .trouble(span, message)
                .help("write it in a smaller unit: 90m for 1.5h"));
        }
        if typed.bytes().all(|b| b.is_ascii_digit()) {
            let number = typed.parse().ok().filter(|number| *number <= 1 << 63);
            let message =
                format!("{} is too large, at most {} is allowed", advice::short(typed), i64::MAX);
            return number.map(Token::Int).ok_or_else(|| self.trouble(span, message));
        }
        duration::parse(typed).map(Token::Duration).map_err(|bad| self.bad_duration(span, bad))
    }

    fn bad_duration(&self, span: Span, bad: BadDuration) -> Trouble {
        bad_duration(self.text, span, span.of(self.text), bad)
    }

    fn quoted(&mut self, opening: char, closing: &[char]) -> Result<Cow<'a, str>, Trouble> {
        let start = self.at;
        let body = start + opening.len_utf8();
        let mut owned: Option<String> = None;
        self.at = body;
        loop {
            let Some(c) = self.rest().chars().next().filter(|c| *c != '\n') else {
                let span = Span::new(start, self.at);
                let help = format!("end the text with {}", closing[0]);
                return Err(self.trouble(span, "this quote is never closed").help(help));
            };
            let at = self.at;
            self.at += c.len_utf8();
            if closing.contains(&c) {
                let plain = Cow::Borrowed(&self.text[body..at]);
                return Ok(owned.map_or(plain, Cow::Owned));
            }
            if c == '\\' {
                let mut text = owned.unwrap_or_else(|| self.text[body..at].into());
                text.push(self.escaped(at)?);
                owned = Some(text);
            } else if let Some(text) = &mut owned {
                text.push(c);
            }
        }
    }

    /// Reads what follows a backslash.
    fn escaped(&mut self, backslash: usize) -> Result<char, Trouble> {
        let c = self.rest().chars().next();
        self.at += c.map_or(0, char::len_utf8);
        match c {
            Some('n') => return Ok('\n'),
            Some('r') => return Ok('\r'),
            Some('t') => return Ok('\t'),
            Some(c @ ('\\' | '"' | '\'')) => return Ok(c),
            Some('u') => {
                let digits =
                    self.rest().get(..4).filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
                let code = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
                if let Some(c) = code.and_then(char::from_u32) {
                    self.at += 4;
                    return Ok(c);
                }
            }
            _ => {}
        }
        let span = Span::new(backslash, self.at);
        let message = format!("`{}` means nothing in a text", span.of(self.text));
        Err(self.trouble(span, message).help("write \\\\ for a backslash"))
    }

    fn trouble(&self, span: Span, message: impl Into<alloc::boxed::Box<str>>) -> Trouble {
        Trouble::at(self.text, span, message)
    }
}

/// Returns what is wrong with a span of time, `shown` as it was typed.
pub(super) fn bad_duration(text: &str, span: Span, shown: &str, bad: BadDuration) -> Trouble {
    let shown = advice::short(shown);
    match bad {
        BadDuration::Shape => {
            let message = format!("`{shown}` is neither a number nor a duration");
            Trouble::at(text, span, message)
                .help("durations are written 500ms, 30s, 15m, 1h, 7d or 1h30m; text in quotes")
        }
        BadDuration::Long => {
            let message = format!("`{shown}` is too long, at most 3650d are allowed");
            Trouble::at(text, span, message)
        }
    }
}
