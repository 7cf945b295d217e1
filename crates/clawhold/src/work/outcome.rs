//! What the end of a job's program means.

use crate::lead::control::End;

/// The exit code of a program that could not do its job this time: try again later.
pub(crate) const TRY_LATER: u8 = 75;
/// The exit code of a job that no try will help: it becomes a dead letter.
pub(crate) const DEAD_LETTER: u8 = 65;
/// The exit code that hands the job back as it came.
pub(crate) const HAND_BACK: u8 = 99;
/// Bytes of an error text that the server takes.
pub(crate) const ERROR_BYTES_MAX: usize = 2_048;

/// What the end of a program means for its job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// The work is done.
    Done,
    /// It waits for a while; no attempt is burned.
    Later,
    /// It is dead.
    Dead,
    /// It goes back to its queue; no attempt is burned.
    HandBack,
    /// The try failed.
    Failed,
}

impl Meaning {
    /// Returns what `end` means. While a worker leaves, a program that its SIGTERM or SIGKILL
    /// ended hands its job back.
    pub(crate) fn of(end: End, leaving: bool) -> Self {
        match end {
            End::Code(0) => Self::Done,
            End::Code(TRY_LATER) => Self::Later,
            End::Code(DEAD_LETTER) => Self::Dead,
            End::Code(HAND_BACK) => Self::HandBack,
            // 128 + 15 is a shell whose own child was ended by SIGTERM.
            End::Signal(9 | 15) | End::Code(143) if leaving => Self::HandBack,
            End::Code(_) | End::Signal(_) => Self::Failed,
        }
    }
}

/// Returns the error text of a failed try: how the program ended and the last lines that it wrote
/// to standard error, within what the server takes.
pub(crate) fn error_text(end: End, stderr: &str) -> String {
    let head = format!("the program ended with {end}");
    let tail = stderr.trim();
    if tail.is_empty() {
        return head;
    }
    let room = ERROR_BYTES_MAX - head.len() - 2;
    format!("{head}: {}", last_bytes(tail, room))
}

/// Returns the end of `text` that fits `bytes_max`, from the beginning of a line if there is one.
fn last_bytes(text: &str, bytes_max: usize) -> &str {
    if text.len() <= bytes_max {
        return text;
    }
    let mut from = text.len() - bytes_max;
    while !text.is_char_boundary(from) {
        from += 1;
    }
    let tail = &text[from..];
    tail.split_once('\n').map_or(tail, |(_, lines)| lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_documented_code_has_its_meaning() {
        let meaning = |code| Meaning::of(End::Code(code), false);
        assert_eq!(meaning(0), Meaning::Done);
        assert_eq!(meaning(75), Meaning::Later);
        assert_eq!(meaning(65), Meaning::Dead);
        assert_eq!(meaning(99), Meaning::HandBack);
        assert_eq!(meaning(1), Meaning::Failed);
        assert_eq!(meaning(143), Meaning::Failed);
        assert_eq!(Meaning::of(End::Signal(11), true), Meaning::Failed);
    }

    #[test]
    fn a_program_that_was_ended_while_its_worker_leaves_hands_back() {
        for end in [End::Signal(15), End::Signal(9), End::Code(143)] {
            assert_eq!(Meaning::of(end, true), Meaning::HandBack);
            assert_eq!(Meaning::of(end, false), Meaning::Failed);
        }
        assert_eq!(Meaning::of(End::Code(0), true), Meaning::Done);
    }

    #[test]
    fn an_error_keeps_the_last_lines_within_the_limit() {
        assert_eq!(error_text(End::Code(3), " \n"), "the program ended with code 3");
        assert_eq!(error_text(End::Signal(11), "boom\n"), "the program ended with signal 11: boom");
        let long = format!("{}\nlast ü line\n", "ü".repeat(3_000));
        assert_eq!(error_text(End::Code(1), &long), "the program ended with code 1: last ü line");
        let one_line = "ü".repeat(3_000);
        assert!(error_text(End::Code(1), &one_line).len() <= ERROR_BYTES_MAX);
    }
}
