//! The lines that a warm standby reads on its standard input.
//!
//! `docs/lead-protocol.md` describes them for people. A line is a word and fields `key=value`,
//! parted by single spaces; a reader passes over words and fields that it does not know.

use std::fmt;

/// The version of the protocol, the second word of the first line.
pub(crate) const VERSION: u32 = 1;

/// One line to the child.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// The first line: the child stands by.
    Standby {
        /// The role that it stands by for.
        role: String,
        /// The stream whose position is recorded, if one was named.
        stream: Option<String>,
        /// The position recorded so far; 0 before the first.
        position: u64,
    },
    /// The role is held: act.
    Promoted {
        /// The fencing token.
        token: u64,
        /// The position to resume after.
        position: u64,
        /// When to have stopped, in milliseconds of `CLOCK_BOOTTIME`.
        deadline_ms: u64,
    },
    /// The lease was renewed.
    Deadline {
        /// When to have stopped, in milliseconds of `CLOCK_BOOTTIME`.
        deadline_ms: u64,
    },
    /// Finish and exit: SIGTERM follows at once, SIGKILL after `left_ms`.
    Stop {
        /// Milliseconds until the kill.
        left_ms: u64,
        /// Why.
        reason: StopReason,
    },
}

/// Why a child is told to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StopReason {
    /// Somebody asked for a hand-over.
    HandOver,
    /// `lead` itself was asked to end.
    Ending,
    /// The lease is not renewed and will lapse.
    Lapsing,
}

impl StopReason {
    /// Returns the word for this reason.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::HandOver => "hand-over",
            Self::Ending => "ending",
            Self::Lapsing => "lapsing",
        }
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Standby { role, stream, position } => {
                write!(f, "clawhold {VERSION} standby role={role}")?;
                if let Some(stream) = stream {
                    write!(f, " stream={stream}")?;
                }
                write!(f, " position={position}")
            }
            Self::Promoted { token, position, deadline_ms } => {
                write!(f, "promoted token={token} position={position} deadline_ms={deadline_ms}")
            }
            Self::Deadline { deadline_ms } => write!(f, "deadline deadline_ms={deadline_ms}"),
            Self::Stop { left_ms, reason } => {
                write!(f, "stop left_ms={left_ms} reason={}", reason.as_str())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_a_word_and_fields() {
        let role = "indexer".to_owned();
        let stream = Some("files".to_owned());
        let first = Line::Standby { role: role.clone(), stream, position: 12 };
        assert_eq!(first.to_string(), "clawhold 1 standby role=indexer stream=files position=12");
        let bare = Line::Standby { role, stream: None, position: 0 };
        assert_eq!(bare.to_string(), "clawhold 1 standby role=indexer position=0");
        let promoted = Line::Promoted { token: 57, position: 12, deadline_ms: 99_000 };
        assert_eq!(promoted.to_string(), "promoted token=57 position=12 deadline_ms=99000");
        let deadline = Line::Deadline { deadline_ms: 99_500 };
        assert_eq!(deadline.to_string(), "deadline deadline_ms=99500");
        let stop = Line::Stop { left_ms: 5_000, reason: StopReason::HandOver };
        assert_eq!(stop.to_string(), "stop left_ms=5000 reason=hand-over");
    }
}
