//! When a request is sent again, and after which pause.
//!
//! Two questions decide, never the text of a message: is the same request sensible to send again,
//! and is it certain that nothing happened?

use std::time::Duration;

use crate::error::ClientError;

/// What to do after a try that did not succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing changed and nothing will: tell the caller.
    GiveUp,
    /// Nothing happened: send it again.
    Again,
    /// It may have been carried out: send it again with the same key, so that it is not carried
    /// out twice, and never call it failed.
    AgainUnknown,
}

impl Verdict {
    /// Returns what to do after a try that ended with `error`.
    #[must_use]
    pub fn of(error: &ClientError) -> Self {
        match (error.retry_is_sensible(), error.nothing_happened()) {
            (false, _) => Self::GiveUp,
            (true, true) => Self::Again,
            (true, false) => Self::AgainUnknown,
        }
    }
}

/// Pauses that double from the first to the longest, each cut at random to between a half and all
/// of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// Milliseconds of the first pause.
    pub first_ms: u64,
    /// Milliseconds of the longest pause.
    pub longest_ms: u64,
}

/// The longest pause is short beside a server's hold: who waits for a takeover hears of it soon.
impl Default for Backoff {
    fn default() -> Self {
        Self { first_ms: 50, longest_ms: 250 }
    }
}

impl Backoff {
    /// Returns the milliseconds before try `n + 1`, before chance is applied; `n` counts the
    /// tries so far. Never falls as `n` rises, and is 1 at least.
    #[must_use]
    pub fn ceiling_ms(&self, tries: u32) -> u64 {
        let doublings = tries.saturating_sub(1).min(63);
        let longest_ms = self.longest_ms.max(1);
        self.first_ms.max(1).saturating_mul(1 << doublings).min(longest_ms)
    }

    /// Returns the pause before try `n + 1`; `n` counts the tries so far.
    #[must_use]
    pub fn pause(&self, tries: u32) -> Duration {
        let ceiling_ms = self.ceiling_ms(tries);
        Duration::from_millis(fastrand::u64(ceiling_ms.div_ceil(2)..=ceiling_ms))
    }
}

#[cfg(test)]
mod tests {
    use clawhold_api::{Code, Problem};

    use super::*;

    fn refused(code: Code) -> ClientError {
        ClientError::Refused(Box::new(Problem::new(code, "x")))
    }

    #[test]
    fn a_retry_follows_the_code_alone() {
        for code in Code::ALL {
            let expected = match code {
                Code::NotActive | Code::Overloaded | Code::Stopping | Code::Storage => {
                    Verdict::Again
                }
                Code::OutcomeUnknown => Verdict::AgainUnknown,
                Code::BadRequest
                | Code::BadJson
                | Code::UnsupportedMediaType
                | Code::BodyTooLarge
                | Code::OutOfRange
                | Code::NotFound
                | Code::MethodNotAllowed
                | Code::Unauthorized
                | Code::Forbidden
                | Code::HostRefused
                | Code::StaleToken
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
                | Code::NeedsParam
                | Code::BadParam
                | Code::Blocked
                | Code::RunState
                | Code::AlreadyDecided
                | Code::PlanChanged
                | Code::NotAllowed
                | Code::BadCondition
                | Code::BadPlan
                | Code::BadSignature
                | Code::Internal => Verdict::GiveUp,
            };
            assert_eq!(Verdict::of(&refused(code)), expected, "{code}");
        }
    }

    #[test]
    fn a_write_without_an_answer_is_unknown_and_a_read_is_not() {
        let lost = |reads| ClientError::NoAnswer {
            url: "u".to_owned(),
            call: "c".to_owned(),
            reads,
            source: None,
        };
        assert_eq!(Verdict::of(&lost(false)), Verdict::AgainUnknown);
        assert_eq!(Verdict::of(&lost(true)), Verdict::Again);
    }

    #[test]
    fn pauses_never_shrink_overflow_or_vanish() {
        let backoffs = [
            Backoff::default(),
            Backoff { first_ms: 0, longest_ms: 0 },
            Backoff { first_ms: 1, longest_ms: u64::MAX },
            Backoff { first_ms: u64::MAX, longest_ms: u64::MAX },
            Backoff { first_ms: 5_000, longest_ms: 10 },
        ];
        for backoff in backoffs {
            let mut before = 0;
            for tries in (0..=2_000).chain([u32::MAX]) {
                let ceiling = backoff.ceiling_ms(tries);
                assert!(before <= ceiling, "{backoff:?} at {tries}");
                assert!(1 <= ceiling && ceiling <= backoff.longest_ms.max(1), "{backoff:?}");
                let pause = backoff.pause(tries);
                assert!(pause <= Duration::from_millis(ceiling), "{backoff:?} at {tries}");
                assert!(pause >= Duration::from_millis(ceiling / 2), "{backoff:?} at {tries}");
                before = ceiling;
            }
        }
        assert_eq!(Backoff::default().ceiling_ms(1), 50);
        assert_eq!(Backoff::default().ceiling_ms(2), 100);
        assert_eq!(Backoff::default().ceiling_ms(40), 250);
    }
}
