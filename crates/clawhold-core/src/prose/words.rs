//! A text as sentences, a sentence as words.
//!
//! Letters are folded, quotes and dashes made one, contractions opened. Nothing is dropped:
//! whatever is neither a word nor a comma stays as a token that no pattern explains.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

/// One word of a sentence, or what stands between words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    /// Folded to lower case.
    pub(super) word: String,
    /// As it was typed, without its quotes.
    pub(super) raw: String,
    /// Where it begins, in bytes of its sentence.
    pub(super) start: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Word,
    Quoted,
    Comma,
    /// A mark that no pattern explains.
    Other,
}

/// One sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sentence {
    /// As it was typed, with the mark that ends it.
    pub(super) text: String,
    pub(super) tokens: Vec<Token>,
    pub(super) is_question: bool,
}

/// Returns the sentences of a text. A line break ends none, unless it is followed by an empty
/// line or by the mark of a list, so that a wrapped sentence is never read as two.
pub(super) fn sentences(text: &str) -> Vec<Sentence> {
    let mut reader = Reader { text, at: 0, begin: None, tokens: Vec::new(), done: Vec::new() };
    reader.skip_list_mark();
    while let Some(c) = reader.peek() {
        reader.read(c);
    }
    reader.end(text.len(), false);
    reader.done
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    /// Where the sentence that is being read begins.
    begin: Option<usize>,
    tokens: Vec<Token>,
    done: Vec<Sentence>,
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn follows(&self, c: char) -> Option<char> {
        self.text[self.at + c.len_utf8()..].chars().next()
    }

    fn read(&mut self, c: char) {
        match c {
            '\n' => self.read_break(),
            _ if c.is_whitespace() => self.at += c.len_utf8(),
            '.' if self.follows(c) == Some('.') => self.read_dots(),
            '.' | '!' | ';' | '?' => {
                self.at += 1;
                self.end(self.at, c == '?');
                self.skip_list_mark();
            }
            ',' => self.push(Kind::Comma, ",", 1),
            '\u{2013}' | '\u{2014}' => self.push(Kind::Comma, ",", c.len_utf8()),
            '-' if self.follows(c).is_none_or(char::is_whitespace) => {
                self.push(Kind::Comma, ",", 1);
            }
            '"' | '`' | '\'' | '\u{201c}' | '\u{2018}' => self.read_quoted(c),
            _ if is_word(c) => self.read_word(),
            _ => self.push_same(Kind::Other, c.len_utf8()),
        }
    }

    fn read_break(&mut self) {
        self.at += 1;
        let line = self.rest().trim_start_matches([' ', '\t', '\r']);
        if line.starts_with('\n') || list_mark(line) > 0 {
            self.end(self.at, false);
            self.skip_list_mark();
        }
    }

    fn read_dots(&mut self) {
        let dots = self.rest().len() - self.rest().trim_start_matches('.').len();
        self.push_same(Kind::Other, dots);
    }

    fn read_quoted(&mut self, open: char) {
        let close = match open {
            '\u{201c}' => '\u{201d}',
            '\u{2018}' => '\u{2019}',
            same => same,
        };
        let inside = &self.text[self.at + open.len_utf8()..];
        let is_apostrophe = matches!(close, '\'' | '\u{2019}');
        let end = inside.match_indices(close).map(|(end, _)| end).find(|end| {
            let next = inside[end + close.len_utf8()..].chars().next();
            !(is_apostrophe && next.is_some_and(char::is_alphanumeric))
        });
        match end {
            Some(end) if !inside[..end].trim().is_empty() => {
                let len = open.len_utf8() + end + close.len_utf8();
                let inside = inside[..end].to_owned();
                self.push(Kind::Quoted, &inside, len);
            }
            _ => self.push_same(Kind::Other, open.len_utf8()),
        }
    }

    fn read_word(&mut self) {
        let rest = self.rest();
        let mut end = rest.len();
        let mut chars = rest.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            let next_is_word = chars.peek().is_some_and(|(_, c)| c.is_alphanumeric());
            let inner = match c {
                '.' | ':' | '\'' | '\u{2019}' | '/' => next_is_word,
                ',' => {
                    let before = rest[..at].chars().next_back();
                    before.is_some_and(|c| c.is_ascii_digit())
                        && chars.peek().is_some_and(|(_, c)| c.is_ascii_digit())
                }
                _ => is_word(c),
            };
            if !inner {
                end = at;
                break;
            }
        }
        let raw = rest[..end].replace('\u{2019}', "'");
        self.push_words(&raw, end);
    }

    /// Adds a word, its contraction opened, its possessive apart.
    fn push_words(&mut self, raw: &str, len: usize) {
        let word = raw.to_ascii_lowercase();
        if let Some((_, opened)) = CONTRACTIONS.iter().find(|(short, _)| *short == word) {
            for part in *opened {
                self.push(Kind::Word, part, 0);
            }
            self.at += len;
        } else if let Some(owner) = raw.strip_suffix("'s").or_else(|| raw.strip_suffix("'S")) {
            self.push(Kind::Word, owner, 0);
            self.push(Kind::Word, "'s", len);
        } else {
            self.push(Kind::Word, raw, len);
        }
    }

    fn push_same(&mut self, kind: Kind, len: usize) {
        let raw = self.rest()[..len].to_owned();
        self.push(kind, &raw, len);
    }

    fn push(&mut self, kind: Kind, raw: &str, len: usize) {
        let begin = *self.begin.get_or_insert(self.at);
        self.tokens.push(Token {
            kind,
            word: raw.to_ascii_lowercase(),
            raw: raw.to_owned(),
            start: self.at - begin,
        });
        self.at += len;
    }

    fn end(&mut self, end: usize, is_question: bool) {
        let Some(begin) = self.begin.take() else {
            // A mark without a sentence, as the second of "?!", belongs to the one before.
            if let Some(last) = self.done.last_mut() {
                last.is_question |= is_question;
            }
            return;
        };
        self.done.push(Sentence {
            text: self.text[begin..end].trim_end().to_owned(),
            tokens: core::mem::take(&mut self.tokens),
            is_question,
        });
    }

    fn skip_list_mark(&mut self) {
        let rest = self.rest();
        let line = rest.trim_start();
        self.at += rest.len() - line.len() + list_mark(line);
    }
}

/// Returns how many bytes the mark of a list takes at the start of a line: `-`, `*`, `1.`, `1)`.
fn list_mark(line: &str) -> usize {
    let spaced = |len: usize| line[len..].starts_with([' ', '\t']);
    if line.starts_with(['-', '*']) && spaced(1) {
        return 1;
    }
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let is_mark = (1..=3).contains(&digits) && line[digits..].starts_with(['.', ')']);
    if is_mark && spaced(digits + 1) { digits + 1 } else { 0 }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || "_-@#".contains(c)
}

const CONTRACTIONS: &[(&str, &[&str])] = &[
    ("don't", &["do", "not"]),
    ("doesn't", &["does", "not"]),
    ("didn't", &["did", "not"]),
    ("isn't", &["is", "not"]),
    ("aren't", &["are", "not"]),
    ("wasn't", &["was", "not"]),
    ("weren't", &["were", "not"]),
    ("hasn't", &["has", "not"]),
    ("haven't", &["have", "not"]),
    ("can't", &["can", "not"]),
    ("cannot", &["can", "not"]),
    ("won't", &["will", "not"]),
    ("wouldn't", &["would", "not"]),
    ("shouldn't", &["should", "not"]),
    ("couldn't", &["could", "not"]),
    ("mustn't", &["must", "not"]),
    ("it's", &["it", "is"]),
    ("that's", &["that", "is"]),
    ("who's", &["who", "is"]),
    ("what's", &["what", "is"]),
    ("there's", &["there", "is"]),
    ("nobody's", &["nobody", "is"]),
    ("let's", &["let", "us"]),
];

/// Words with a hyphen that are no names, by their first part.
const HYPHENED: &[&str] = &[
    "half", "mid", "part", "one", "by", "non", "semi", "self", "well", "pre", "post", "re", "over",
    "out", "up", "off", "un", "anti", "ex", "all", "some", "no", "not", "now", "then", "never",
    "left", "right", "high", "low", "first", "last", "two", "ever", "so", "full", "long", "short",
];

/// Tells whether a word that stands where a name may stand is one without quotes: it begins with a
/// letter and holds a digit or a mark that no English word holds.
pub(super) fn is_name_like(raw: &str) -> bool {
    let begins = raw.chars().next().is_some_and(|c| c.is_ascii_alphabetic());
    let marked = raw.chars().any(|c| c.is_ascii_digit() || "_.:@".contains(c));
    let hyphened = raw.split_once('-').is_some_and(|(first, rest)| {
        let word = first.to_ascii_lowercase();
        !rest.is_empty() && !HYPHENED.contains(&word.as_str()) && !rest.contains("-by-")
    });
    begins && (marked || hyphened)
}

/// Returns the number that a word says, in digits or in letters.
pub(super) fn number(word: &str) -> Option<u64> {
    const WORDS: &[(&str, u64)] = &[
        ("a", 1),
        ("an", 1),
        ("one", 1),
        ("two", 2),
        ("three", 3),
        ("four", 4),
        ("five", 5),
        ("six", 6),
        ("seven", 7),
        ("eight", 8),
        ("nine", 9),
        ("ten", 10),
        ("fifteen", 15),
        ("twenty", 20),
        ("thirty", 30),
        ("sixty", 60),
    ];
    let known = WORDS.iter().find(|(name, _)| *name == word).map(|(_, number)| *number);
    known.or_else(|| {
        let begins = word.chars().next().is_some_and(|c| c.is_ascii_digit());
        let digits = word.replace([',', '_'], "");
        digits.parse().ok().filter(|_| begins)
    })
}

/// Returns the milliseconds of a unit of time.
pub(super) fn unit_ms(unit: &str) -> Option<u64> {
    match unit {
        "ms" | "millisecond" | "milliseconds" => Some(1),
        "s" | "sec" | "secs" | "second" | "seconds" => Some(1_000),
        "m" | "min" | "mins" | "minute" | "minutes" => Some(60_000),
        "h" | "hour" | "hours" => Some(3_600_000),
        "d" | "day" | "days" => Some(86_400_000),
        _ => None,
    }
}
