//! What the program ends with: one code for each thing a script would do differently.

use std::process::ExitCode;

use crate::api::Code;

/// How the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// What was asked is done.
    Done,
    /// It was tried and failed, or a check found something.
    Failed,
    /// The command line is not what it should be.
    Usage,
    /// The thing named does not exist.
    NotFound,
    /// The request was understood and declined.
    Refused,
    /// No token, an unknown one, or one that does not allow this.
    Denied,
    /// No server could be reached, it did not answer in time, or the outcome is unknown.
    Unreachable,
    /// Somebody pressed Ctrl-C.
    Interrupted,
    /// A program that was run for the caller ended with this code.
    Program(u8),
}

/// The codes as the documentation lists them.
pub(crate) const TABLE: [(Exit, &str); 8] = [
    (Exit::Done, "done"),
    (Exit::Failed, "failed, or a check found something"),
    (Exit::Usage, "the command line is not what it should be"),
    (Exit::NotFound, "there is no such thing"),
    (Exit::Refused, "refused: a stale token, held by another, superseded, in use, full"),
    (Exit::Denied, "no token, or one that does not allow this"),
    (Exit::Unreachable, "no server, no answer in time, or an unknown outcome"),
    (Exit::Interrupted, "interrupted"),
];

impl Exit {
    /// Returns the number that the caller sees.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::NotFound => 3,
            Self::Refused => 4,
            Self::Denied => 5,
            Self::Unreachable => 6,
            Self::Interrupted => 130,
            Self::Program(code) => code,
        }
    }

    /// Returns how the program ends after the server answered with `code`.
    pub(crate) fn of(code: Code) -> Self {
        match code {
            Code::BadRequest
            | Code::BadJson
            | Code::UnsupportedMediaType
            | Code::BodyTooLarge
            | Code::OutOfRange
            | Code::MethodNotAllowed
            | Code::NeedsParam
            | Code::BadParam
            | Code::BadCondition
            | Code::BadPlan => Self::Usage,
            Code::NotFound => Self::NotFound,
            Code::Unauthorized
            | Code::Forbidden
            | Code::HostRefused
            | Code::NotAllowed
            | Code::BadSignature => Self::Denied,
            Code::StaleToken
            | Code::RoleHeld
            | Code::RoleVacant
            | Code::NotCandidate
            | Code::NoCandidate
            | Code::NoSession
            | Code::Superseded
            | Code::JobState
            | Code::WorkerState
            | Code::Draining
            | Code::KeyConflict
            | Code::OldCheckpoint
            | Code::Full
            | Code::RequestConflict
            | Code::PositionBehind
            | Code::BeyondEnd
            | Code::BelowFloor
            | Code::StreamFull
            | Code::NotNext
            | Code::InUse
            | Code::AmbiguousName
            | Code::NotLapsed
            | Code::WrongEpoch
            | Code::Exists
            | Code::SimilarName
            | Code::WrongVersion
            | Code::TriggerTaken
            | Code::Blocked
            | Code::RunState
            | Code::AlreadyDecided
            | Code::PlanChanged => Self::Refused,
            Code::NotActive
            | Code::Overloaded
            | Code::OutcomeUnknown
            | Code::Stopping
            | Code::Storage => Self::Unreachable,
            Code::Internal => Self::Failed,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// Returns the table of codes as `--help` shows it.
pub(crate) fn help() -> String {
    let mut help = "Exit codes:\n".to_owned();
    for (exit, meaning) in TABLE {
        help.push_str(&format!("  {:>3}  {meaning}\n", exit.code()));
    }
    help.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn each_kind_of_end_has_a_code_of_its_own() {
        expect![[r#"
            Exit codes:
                0  done
                1  failed, or a check found something
                2  the command line is not what it should be
                3  there is no such thing
                4  refused: a stale token, held by another, superseded, in use, full
                5  no token, or one that does not allow this
                6  no server, no answer in time, or an unknown outcome
              130  interrupted"#]]
        .assert_eq(&help());
    }

    #[test]
    fn every_error_of_the_server_ends_the_program_with_a_code_that_fits_its_status() {
        for code in Code::ALL {
            let fits = match Exit::of(code) {
                Exit::Usage => matches!(code.status(), 400 | 405 | 413 | 415 | 422),
                Exit::NotFound => code.status() == 404,
                Exit::Denied => matches!(code.status(), 401 | 403 | 421),
                Exit::Refused => matches!(code.status(), 409 | 410 | 416 | 507),
                Exit::Unreachable => matches!(code.status(), 429 | 503),
                Exit::Failed => code.status() == 500,
                Exit::Done | Exit::Interrupted | Exit::Program(_) => false,
            };
            assert!(fits, "{code} with status {}", code.status());
        }
    }
}
