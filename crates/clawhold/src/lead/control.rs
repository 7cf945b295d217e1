//! What `lead` orders its guard, and what the guard reports: one line each.

use std::fmt;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// One order to the guard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// The child must have ended by this moment, in milliseconds of `CLOCK_BOOTTIME`.
    Deadline(u64),
    /// The child gets this line on its standard input.
    Say(String),
    /// The child gets SIGTERM at once and SIGKILL after so many milliseconds.
    Stop {
        /// Milliseconds until SIGKILL.
        grace_ms: u64,
    },
    /// The child gets SIGKILL at once.
    Kill,
}

impl Order {
    /// Returns the order that `line` stands for.
    pub(crate) fn parse(line: &str) -> Option<Self> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "deadline" => rest.parse().ok().map(Self::Deadline),
            "say" => Some(Self::Say(rest.to_owned())),
            "stop" => rest.parse().ok().map(|grace_ms| Self::Stop { grace_ms }),
            "kill" => Some(Self::Kill),
            _ => None,
        }
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Deadline(at_ms) => write!(f, "deadline {at_ms}"),
            Self::Say(text) => write!(f, "say {text}"),
            Self::Stop { grace_ms } => write!(f, "stop {grace_ms}"),
            Self::Kill => f.write_str("kill"),
        }
    }
}

/// One report of the guard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Report {
    /// The child runs; its process id is the id of its process group.
    Started {
        /// The process id.
        pid: u32,
    },
    /// The child could not be started.
    Failed(String),
    /// The lease was not renewed in time, and the child has got SIGTERM.
    Lapsing {
        /// Milliseconds until SIGKILL.
        left_ms: u64,
    },
    /// The child and everything it started has ended.
    Ended {
        /// How.
        end: End,
        /// At whose instance.
        cause: Cause,
    },
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// By itself, with this code.
    Code(u8),
    /// By this signal.
    Signal(u8),
}

impl End {
    /// Returns how the process of `status` ended.
    pub(crate) fn of(status: ExitStatus) -> Self {
        let narrow = |number: i32| u8::try_from(number).unwrap_or(u8::MAX);
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Code(narrow(code)),
            (None, Some(signal)) => Self::Signal(narrow(signal)),
            (None, None) => Self::Code(u8::MAX),
        }
    }

    /// Returns the exit code that a shell would show for this end.
    pub(crate) fn shell_code(self) -> u8 {
        match self {
            Self::Code(code) => code,
            Self::Signal(signal) => 128_u8.saturating_add(signal),
        }
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "code {code}"),
            Self::Signal(signal) => write!(f, "signal {signal}"),
        }
    }
}

/// At whose instance a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// Its own.
    Itself,
    /// It was ordered to stop.
    Ordered,
    /// Its lease was not renewed in time.
    Lapsed,
}

impl Report {
    /// Returns the report that `line` stands for.
    pub(crate) fn parse(line: &str) -> Option<Self> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "started" => rest.parse().ok().map(|pid| Self::Started { pid }),
            "failed" => Some(Self::Failed(rest.to_owned())),
            "lapsing" => rest.parse().ok().map(|left_ms| Self::Lapsing { left_ms }),
            "ended" => parse_ended(rest),
            _ => None,
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Started { pid } => write!(f, "started {pid}"),
            Self::Failed(text) => write!(f, "failed {}", text.replace(['\n', '\r'], " ")),
            Self::Lapsing { left_ms } => write!(f, "lapsing {left_ms}"),
            Self::Ended { end, cause } => {
                let cause = match cause {
                    Cause::Itself => "itself",
                    Cause::Ordered => "ordered",
                    Cause::Lapsed => "lapsed",
                };
                write!(f, "ended {end} {cause}")
            }
        }
    }
}

fn parse_ended(text: &str) -> Option<Report> {
    let mut words = text.split(' ');
    let kind = words.next()?;
    let number = words.next()?.parse().ok()?;
    let end = match kind {
        "code" => End::Code(number),
        "signal" => End::Signal(number),
        _ => return None,
    };
    let cause = match words.next()? {
        "itself" => Cause::Itself,
        "ordered" => Cause::Ordered,
        "lapsed" => Cause::Lapsed,
        _ => return None,
    };
    Some(Report::Ended { end, cause })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_reads_back() {
        let say = Order::Say("promoted token=5 position=0 deadline_ms=7".to_owned());
        for order in [Order::Deadline(12), say, Order::Stop { grace_ms: 500 }, Order::Kill] {
            assert_eq!(Order::parse(&order.to_string()), Some(order));
        }
        assert_eq!(Order::parse("deadline soon"), None);
        assert_eq!(Order::parse(""), None);
    }

    #[test]
    fn every_report_reads_back() {
        let mut reports = vec![
            Report::Started { pid: 12 },
            Report::Failed("no such file".to_owned()),
            Report::Lapsing { left_ms: 300 },
        ];
        for cause in [Cause::Itself, Cause::Ordered, Cause::Lapsed] {
            reports.push(Report::Ended { end: End::Code(3), cause });
            reports.push(Report::Ended { end: End::Signal(9), cause });
        }
        for report in reports {
            assert_eq!(Report::parse(&report.to_string()), Some(report));
        }
        assert_eq!(Report::parse("ended code 3"), None);
    }

    #[test]
    fn a_signal_shows_as_in_a_shell() {
        assert_eq!(End::Signal(9).shell_code(), 137);
        assert_eq!(End::Code(3).shell_code(), 3);
    }
}
