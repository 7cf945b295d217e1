//! What can go wrong with a call, by what its caller would do differently.

use std::sync::Arc;

use clawhold_api::{Code, Problem};

/// Why a call did not succeed.
///
/// Two questions decide what to do: [`ClientError::retry_is_sensible`] and
/// [`ClientError::nothing_happened`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// A setting of the client is not what it should be.
    #[error("{name} {value:?} {reason}")]
    Setting {
        /// The setting.
        name: &'static str,
        /// What it was set to; empty for a secret.
        value: String,
        /// What is wrong with it, and what is allowed.
        reason: String,
    },
    /// The request cannot be written as JSON.
    #[error("the body of {call} cannot be written as JSON")]
    Body {
        /// The call.
        call: String,
        /// Why.
        source: serde_json::Error,
    },
    /// No server took the request.
    #[error("cannot reach {url} for {call}; check that a server runs there")]
    Unreachable {
        /// The server tried last.
        url: String,
        /// The call.
        call: String,
        /// Why.
        source: Arc<reqwest::Error>,
    },
    /// The request was sent and no answer came.
    #[error("no answer from {url} to {call}")]
    NoAnswer {
        /// The server.
        url: String,
        /// The call.
        call: String,
        /// Whether the call only reads.
        reads: bool,
        /// Why, unless the time was up.
        source: Option<reqwest::Error>,
    },
    /// The server declined.
    #[error(transparent)]
    Refused(Box<Problem>),
    /// The answer is not one that a Clawhold server gives.
    #[error("{url} answered {call} with status {status}: {reason}")]
    Strange {
        /// Who answered.
        url: String,
        /// The call.
        call: String,
        /// The HTTP status.
        status: u16,
        /// What is wrong with the answer.
        reason: String,
    },
    /// An earlier try may have been carried out, and no later one told.
    #[error("whether {call} was carried out is unknown after {tries} tries")]
    Unknown {
        /// The call.
        call: String,
        /// How often it was sent.
        tries: u32,
        /// How the last try ended.
        source: Box<Self>,
    },
    /// The thread of a session's beats cannot be started.
    #[error("cannot start the thread of a session's beats")]
    Thread(#[source] std::io::Error),
}

impl ClientError {
    /// Returns the server's problem, if it gave one.
    #[must_use]
    pub fn problem(&self) -> Option<&Problem> {
        match self {
            Self::Refused(problem) => Some(problem),
            Self::Setting { .. }
            | Self::Body { .. }
            | Self::Unreachable { .. }
            | Self::NoAnswer { .. }
            | Self::Strange { .. }
            | Self::Unknown { .. }
            | Self::Thread(_) => None,
        }
    }

    /// Returns the code of the server's problem, if it gave one.
    #[must_use]
    pub fn code(&self) -> Option<Code> {
        self.problem().map(|problem| problem.code)
    }

    /// Tells whether the server refused with this code.
    #[must_use]
    pub fn is(&self, code: Code) -> bool {
        self.code() == Some(code)
    }

    /// Tells whether the same request, sent again with the same key, may well succeed.
    #[must_use]
    pub fn retry_is_sensible(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::NoAnswer { .. } | Self::Unknown { .. } => true,
            Self::Refused(problem) => problem.code.retry_is_sensible(),
            Self::Strange { status, .. } => matches!(status, 502..=504),
            Self::Setting { .. } | Self::Body { .. } | Self::Thread(_) => false,
        }
    }

    /// Tells whether it is certain that the request changed nothing.
    #[must_use]
    pub fn nothing_happened(&self) -> bool {
        match self {
            Self::Setting { .. } | Self::Body { .. } | Self::Unreachable { .. } => true,
            Self::NoAnswer { reads, .. } => *reads,
            Self::Refused(problem) => problem.code.nothing_happened(),
            Self::Strange { .. } | Self::Unknown { .. } | Self::Thread(_) => false,
        }
    }

    /// Tells whether another server may do better.
    pub(crate) fn is_about_the_server(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::NoAnswer { .. } | Self::Strange { .. } => true,
            Self::Refused(problem) => matches!(
                problem.code,
                Code::NotActive | Code::Stopping | Code::OutcomeUnknown | Code::Storage
            ),
            Self::Setting { .. } | Self::Body { .. } | Self::Unknown { .. } | Self::Thread(_) => {
                false
            }
        }
    }

    /// Returns this error once more, for another one whom it concerns; causes become text.
    pub(crate) fn repeat(&self) -> Self {
        match self {
            Self::Refused(problem) => Self::Refused(problem.clone()),
            Self::NoAnswer { url, call, reads, .. } => {
                let (url, call) = (url.clone(), call.clone());
                Self::NoAnswer { url, call, reads: *reads, source: None }
            }
            Self::Strange { url, call, status, reason } => {
                let (url, call, reason) = (url.clone(), call.clone(), reason.clone());
                Self::Strange { url, call, status: *status, reason }
            }
            Self::Unknown { call, tries, source } => {
                let source = Box::new(source.repeat());
                Self::Unknown { call: call.clone(), tries: *tries, source }
            }
            Self::Unreachable { url, call, source } => {
                let (url, call, source) = (url.clone(), call.clone(), source.clone());
                Self::Unreachable { url, call, source }
            }
            Self::Setting { .. } | Self::Body { .. } | Self::Thread(_) => {
                let name = "request";
                Self::Setting { name, value: String::new(), reason: self.to_string() }
            }
        }
    }
}
