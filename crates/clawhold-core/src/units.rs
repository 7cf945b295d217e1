//! The numbers and names that everything else is made of.
//!
//! Each number that could be confused with another is a type of its own. Names are
//! compared byte for byte; what a name may look like is decided here, once.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;

use minicbor::{Decode, Encode};

use crate::limits;

macro_rules! number {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode,
        )]
        #[cbor(transparent)]
        pub struct $name(#[n(0)] pub u64);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }
    };
}

number! {
    /// The place of one entry (one command) in the log: 1, 2, 3 … without a hole.
    Position
}
number! {
    /// The number of one record (one batch of entries) in the log.
    RecordNumber
}
number! {
    /// The number of a server's term as the active one. Rises by one with each takeover.
    Epoch
}
number! {
    /// A fencing token: the position of the entry that granted the role, or the next free number
    /// when one entry grants several. Never falls, never repeats, not even across roles.
    Token
}
number! {
    /// Wall time in milliseconds since 1970-01-01T00:00:00Z. Never runs back in the log.
    Timestamp
}
number! {
    /// Milliseconds during which some active server has served this log. Stands still while none
    /// does, so an outage expires nobody.
    Served
}
number! {
    /// A session as the server issued it: one incarnation of one process.
    SessionId
}
number! {
    /// A job, numbered in the order of acceptance.
    JobId
}
number! {
    /// One claim of one job. Rises with each claim of that job and is never repeated.
    ClaimNumber
}
number! {
    /// The number of an event in its stream: 1, 2, 3 … without a hole.
    EventNumber
}

number! {
    /// A run: the position of the entry that asked for it, or the next free number when one entry
    /// asks for several.
    RunId
}
number! {
    /// An alert, numbered in the order in which they began.
    AlertId
}
number! {
    /// A message, numbered in the order in which they were written.
    MessageId
}

impl Timestamp {
    /// Returns the time of day, for people: `14:02:11 UTC`.
    #[must_use]
    pub fn time_of_day(self) -> String {
        let seconds = self.0 / 1_000 % 86_400;
        alloc::format!("{:02}:{:02}:{:02} UTC", seconds / 3_600, seconds / 60 % 60, seconds % 60)
    }

    /// Returns this time moved `ms` milliseconds on, at most to the end of time.
    #[must_use]
    pub fn after(self, ms: u64) -> Self {
        Self(self.0.saturating_add(ms))
    }
}

impl Served {
    /// Returns this time moved `ms` milliseconds on, at most to the end of time.
    #[must_use]
    pub fn after(self, ms: u64) -> Self {
        Self(self.0.saturating_add(ms))
    }

    /// Returns the milliseconds from `earlier` to this time, zero when that lies ahead.
    #[must_use]
    pub fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// When and where an entry stands: the only clock that a command may read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Stamp {
    /// Wall time, for schedules and displays.
    #[n(0)]
    pub at: Timestamp,
    /// Time served, for leases, claims and sessions.
    #[n(1)]
    pub served: Served,
    /// The entry's place in the log.
    #[n(2)]
    pub position: Position,
}

/// The name of a role, queue, stream or worker.
///
/// 1 to 100 bytes of ASCII letters, digits and `. _ - : @`, beginning with a letter or a digit,
/// so that a name never looks like a flag or a path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
#[cbor(transparent)]
pub struct Name(#[cbor(n(0), with = "crate::shared::text")] Arc<str>);

impl Name {
    /// Returns the name, if `text` is one.
    ///
    /// # Errors
    /// [`BadText`] tells which rule `text` breaks.
    pub fn parse(text: &str) -> Result<Self, BadText> {
        check_len(text, limits::NAME_BYTES_MAX)?;
        let first = text.chars().next().ok_or(BadText::Empty)?;
        if !first.is_ascii_alphanumeric() {
            return Err(BadText::First(first));
        }
        let odd = text.chars().find(|c| !(c.is_ascii_alphanumeric() || "._-:@".contains(*c)));
        odd.map_or_else(|| Ok(Self(text.into())), |c| Err(BadText::Character(c)))
    }

    /// Returns the name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The name that people give to a rule, a runbook, an agent, a channel: 1 to 100 bytes, spaces
/// within allowed, without control or hidden characters. Compared byte for byte.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
#[cbor(transparent)]
pub struct Title(#[cbor(n(0), with = "crate::shared::text")] Arc<str>);

impl Title {
    /// Returns the title, if `text` is one.
    ///
    /// # Errors
    /// [`BadText`] tells which rule `text` breaks.
    pub fn parse(text: &str) -> Result<Self, BadText> {
        check_len(text, limits::NAME_BYTES_MAX)?;
        if text.trim() != text {
            return Err(BadText::Edge);
        }
        let odd = text.chars().find(|c| is_hidden(*c));
        odd.map_or_else(|| Ok(Self(text.into())), |c| Err(BadText::Character(c)))
    }

    /// Returns what comes before every title.
    pub(crate) fn lowest() -> Self {
        Self("".into())
    }

    /// Returns the title as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns what two titles have in common that a person would take for one another: letters
    /// in lower case, and neither spaces nor `-`, `_`, `.`.
    #[must_use]
    pub fn folded(&self) -> Box<str> {
        let kept = self.0.chars().filter(|c| !(c.is_whitespace() || "-_.".contains(*c)));
        kept.flat_map(char::to_lowercase).collect::<String>().into_boxed_str()
    }
}

impl fmt::Display for Title {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A unique key or an ordering key of a job: 1 to 256 bytes without control characters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
#[cbor(transparent)]
pub struct Key(#[n(0)] Box<str>);

impl Key {
    /// Returns the key, if `text` is one.
    ///
    /// # Errors
    /// [`BadText`] tells which rule `text` breaks.
    pub fn parse(text: &str) -> Result<Self, BadText> {
        check_len(text, limits::KEY_BYTES_MAX)?;
        let odd = text.chars().find(|c| is_hidden(*c));
        odd.map_or_else(|| Ok(Self(text.into())), |c| Err(BadText::Character(c)))
    }

    /// Returns the key as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The id a caller gives to one request, kept in the log so that a retry gets the first answer.
///
/// 1 to 64 visible ASCII characters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
#[cbor(transparent)]
pub struct RequestId(#[cbor(n(0), with = "crate::shared::text")] Arc<str>);

impl RequestId {
    /// Returns the request id, if `text` is one.
    ///
    /// # Errors
    /// [`BadText`] tells which rule `text` breaks.
    pub fn parse(text: &str) -> Result<Self, BadText> {
        check_len(text, limits::REQUEST_ID_BYTES_MAX)?;
        let odd = text.chars().find(|c| !c.is_ascii_graphic());
        odd.map_or_else(|| Ok(Self(text.into())), |c| Err(BadText::Character(c)))
    }

    /// Returns the request id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A line of text that people read: a reason, an error, a note. At most `TEXT_BYTES_MAX` bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
#[cbor(transparent)]
pub struct Text(#[n(0)] Box<str>);

impl Text {
    /// Returns the text, if it is within its limit.
    ///
    /// # Errors
    /// [`BadText::Long`] when it has more than `TEXT_BYTES_MAX` bytes.
    pub fn parse(text: &str) -> Result<Self, BadText> {
        if text.len() > limits::TEXT_BYTES_MAX {
            return Err(BadText::Long {
                bytes: text.len() as u64,
                max: limits::TEXT_BYTES_MAX as u64,
            });
        }
        Ok(Self(text.into()))
    }

    /// Returns the text cut to its limit at a character's border.
    #[must_use]
    pub fn cut(text: &str) -> Self {
        let mut end = text.len().min(limits::TEXT_BYTES_MAX);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        Self(text[..end].into())
    }

    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A text that is read as sentences: steps, an action, a message. At most `PROSE_BYTES_MAX` bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
#[cbor(transparent)]
pub struct Prose(#[n(0)] Box<str>);

impl Prose {
    /// Returns the text, if it is within its limit.
    ///
    /// # Errors
    /// [`BadText::Long`] when it has more than `PROSE_BYTES_MAX` bytes.
    pub fn parse(text: &str) -> Result<Self, BadText> {
        if text.len() > limits::PROSE_BYTES_MAX {
            return Err(BadText::Long {
                bytes: text.len() as u64,
                max: limits::PROSE_BYTES_MAX as u64,
            });
        }
        Ok(Self(text.into()))
    }

    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<Text> for String {
    fn from(text: Text) -> Self {
        text.0.into_string()
    }
}

/// Bytes that the core carries and never looks into.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
#[cbor(transparent)]
pub struct Bytes(
    #[n(0)]
    #[cbor(with = "boxed_bytes")]
    pub Box<[u8]>,
);

impl Bytes {
    /// Returns how many bytes there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Tells whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match core::str::from_utf8(&self.0) {
            Ok(text) if text.len() <= 80 => write!(f, "b{text:?}"),
            _ => write!(f, "{} bytes", self.0.len()),
        }
    }
}

impl From<&[u8]> for Bytes {
    fn from(bytes: &[u8]) -> Self {
        Self(bytes.into())
    }
}

impl From<&str> for Bytes {
    fn from(text: &str) -> Self {
        Self(text.as_bytes().into())
    }
}

/// Why a text is not what it was given for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadText {
    /// There is nothing.
    #[error("is empty")]
    Empty,
    /// There is too much.
    #[error("has {bytes} bytes, at most {max} are allowed")]
    Long {
        /// Bytes given.
        bytes: u64,
        /// Bytes allowed.
        max: u64,
    },
    /// The first character is not a letter or digit.
    #[error("begins with {0:?}, it must begin with an ASCII letter or digit")]
    First(char),
    /// It begins or ends with a space.
    #[error("begins or ends with a space")]
    Edge,
    /// A character is outside what is allowed.
    #[error("contains {0:?}, which is not allowed")]
    Character(char),
}

fn check_len(text: &str, max: usize) -> Result<(), BadText> {
    if text.is_empty() {
        return Err(BadText::Empty);
    }
    if text.len() > max {
        return Err(BadText::Long { bytes: text.len() as u64, max: max as u64 });
    }
    Ok(())
}

/// Tells whether a character would not be seen as itself: controls, line separators, direction
/// marks and zero-width characters.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

mod boxed_bytes {
    use alloc::boxed::Box;

    use minicbor::bytes::ByteSlice;
    use minicbor::decode::Error as DecodeError;
    use minicbor::encode::{Error as EncodeError, Write};
    use minicbor::{Decoder, Encoder};

    pub(super) fn encode<C, W: Write>(
        bytes: &[u8],
        e: &mut Encoder<W>,
        _: &mut C,
    ) -> Result<(), EncodeError<W::Error>> {
        e.bytes(bytes)?;
        Ok(())
    }

    pub(super) fn decode<C>(d: &mut Decoder<'_>, _: &mut C) -> Result<Box<[u8]>, DecodeError> {
        let bytes: &ByteSlice = d.bytes()?.into();
        Ok(Box::from(&bytes[..]))
    }
}
