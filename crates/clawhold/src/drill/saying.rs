//! What an indexer of a drill says on its standard output, a line each.

use std::fmt;

/// One thing that an indexer says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Saying {
    /// It stands by.
    StandingBy,
    /// It leads.
    Leading {
        /// Under this token.
        token: u64,
        /// From after this position.
        position: u64,
    },
    /// It has learned that it leads no more.
    Lost {
        /// Under this token.
        token: u64,
    },
    /// It has tried a write under an overtaken token.
    StaleWrite {
        /// The token.
        token: u64,
        /// The code of the refusal; none if the write was accepted.
        refused: Option<String>,
    },
}

impl Saying {
    /// Returns what `line` says.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let word = words.next()?;
        let mut number = || words.next()?.parse().ok();
        match word {
            "standing-by" => Some(Self::StandingBy),
            "leading" => Some(Self::Leading { token: number()?, position: number()? }),
            "lost" => Some(Self::Lost { token: number()? }),
            "stale-write-accepted" => Some(Self::StaleWrite { token: number()?, refused: None }),
            "stale-write-refused" => {
                let token = number()?;
                Some(Self::StaleWrite { token, refused: Some(words.next()?.to_owned()) })
            }
            _ => None,
        }
    }
}

impl fmt::Display for Saying {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StandingBy => f.write_str("standing-by"),
            Self::Leading { token, position } => write!(f, "leading {token} {position}"),
            Self::Lost { token } => write!(f, "lost {token}"),
            Self::StaleWrite { token, refused: None } => {
                write!(f, "stale-write-accepted {token}")
            }
            Self::StaleWrite { token, refused: Some(code) } => {
                write!(f, "stale-write-refused {token} {code}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_saying_reads_back() {
        let sayings = [
            Saying::StandingBy,
            Saying::Leading { token: 7, position: 0 },
            Saying::Lost { token: 7 },
            Saying::StaleWrite { token: 7, refused: None },
            Saying::StaleWrite { token: 7, refused: Some("stale_token".to_owned()) },
        ];
        for saying in sayings {
            assert_eq!(Saying::parse(&saying.to_string()), Some(saying));
        }
        assert_eq!(Saying::parse("leading soon"), None);
    }
}
