//! Refusals and failures as problems: the only place that gives a code to either.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use clawhold_api::error::{Code, Problem};
use clawhold_core::State;
use clawhold_core::answer::{Kind, Refusal};
use clawhold_core::catalog::Noun;

use super::automation::near;
use crate::clock;
use crate::driver::Failure;

/// A request that was declined, with everything its caller is told.
#[derive(Clone, Debug)]
pub(crate) struct Rejected(pub(crate) Box<Problem>);

impl Rejected {
    /// Returns a problem without further facts.
    pub(super) fn new(code: Code, detail: impl Into<String>) -> Self {
        Self(Box::new(Problem::new(code, detail)))
    }

    /// Returns a problem with one field.
    pub(super) fn field(field: &str, value: &str, allowed: &str) -> Self {
        Self(Box::new(Problem::field(Code::OutOfRange, field, value, allowed)))
    }

    /// Returns a refusal with what the state adds to it: the names that come near to one that is
    /// not there.
    pub(super) fn known(state: &State, refusal: &Refusal) -> Self {
        let mut problem = problem_of(refusal);
        if let Refusal::NotFound { kind, name } = refusal
            && let Some(noun) = noun_of(*kind)
        {
            let catalog = state.automation().catalog();
            let titles = catalog.list(noun, None).map(|known| known.title.as_str());
            problem.choices = near(name, titles);
            problem.noun = Some(noun.as_str().to_owned());
            problem.name = Some(name.to_string());
        }
        Self(Box::new(problem))
    }

    /// Returns the fault of an answer that does not belong to its command.
    pub(super) fn broken(command: &str) -> Self {
        Self::new(Code::Internal, format!("the answer does not belong to {command}"))
    }
}

impl From<Problem> for Rejected {
    fn from(problem: Problem) -> Self {
        Self(Box::new(problem))
    }
}

impl From<&Refusal> for Rejected {
    fn from(refusal: &Refusal) -> Self {
        Self(Box::new(problem_of(refusal)))
    }
}

impl From<Failure> for Rejected {
    fn from(failure: Failure) -> Self {
        let (code, detail, active_url) = match failure {
            Failure::NotActive { active_url } => (Code::NotActive, not_active(), active_url),
            Failure::Overloaded => {
                let detail = "too many requests wait for the log; ask again in a moment";
                (Code::Overloaded, detail.to_owned(), None)
            }
            Failure::OutcomeUnknown => {
                let detail = "whether this happened is not known yet; \
                              ask again with the same Idempotency-Key";
                (Code::OutcomeUnknown, detail.to_owned(), None)
            }
            Failure::Stopping => {
                let detail = "this server stops; ask again, another one takes over";
                (Code::Stopping, detail.to_owned(), None)
            }
            Failure::Storage { text } => {
                (Code::Storage, format!("the log cannot be written: {text}"), None)
            }
        };
        Self(Box::new(Problem { active_url, ..Problem::new(code, detail) }))
    }
}

impl IntoResponse for Rejected {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.0.status);
        let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = serde_json::to_vec(&self.0).unwrap_or_default();
        let mut response = (status, body).into_response();
        let headers = response.headers_mut();
        let kind = HeaderValue::from_static(clawhold_api::routes::PROBLEM_JSON);
        headers.insert(header::CONTENT_TYPE, kind);
        if self.0.retryable {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}

fn not_active() -> String {
    "this server is not the active one and knows none; ask again in a moment".to_owned()
}

/// Returns a refusal as a problem with every fact that it carries.
pub(super) fn problem_of(refusal: &Refusal) -> Problem {
    let base = |code| Problem::new(code, refusal.to_string());
    match refusal {
        Refusal::StaleToken { latest, .. } => {
            Problem { latest_token: Some(latest.0), ..base(Code::StaleToken) }
        }
        Refusal::RoleHeld { holder, token } => {
            Problem { holder: Some(holder.0), latest_token: Some(token.0), ..base(Code::RoleHeld) }
        }
        Refusal::RoleVacant { latest } => {
            Problem { latest_token: Some(latest.0), ..base(Code::RoleVacant) }
        }
        Refusal::NotCandidate { session } => {
            Problem { session: Some(session.0), ..base(Code::NotCandidate) }
        }
        Refusal::NoCandidate => base(Code::NoCandidate),
        Refusal::NoSession { session } => {
            Problem { session: Some(session.0), ..base(Code::NoSession) }
        }
        Refusal::NotFound { .. } => base(Code::NotFound),
        Refusal::Superseded { job, latest, .. } => {
            Problem { job: Some(job.0), latest_claim: Some(latest.0), ..base(Code::Superseded) }
        }
        Refusal::JobState { job, state } => Problem {
            job: Some(job.0),
            state: Some(state.as_str().to_owned()),
            ..base(Code::JobState)
        },
        Refusal::KeyConflict { job } => Problem { job: Some(job.0), ..base(Code::KeyConflict) },
        Refusal::OldCheckpoint { latest, .. } => {
            Problem { latest_checkpoint: Some(*latest), ..base(Code::OldCheckpoint) }
        }
        Refusal::Draining => base(Code::Draining),
        Refusal::Full { count, max, .. } => {
            Problem { count: Some(*count), max: Some(*max), ..base(Code::Full) }
        }
        Refusal::OutOfRange { field, value, allowed } => {
            Problem::field(Code::OutOfRange, field, value, allowed)
        }
        Refusal::RequestConflict { .. }
        | Refusal::PositionBehind { .. }
        | Refusal::BeyondEnd { .. }
        | Refusal::BelowFloor { .. }
        | Refusal::StreamFull { .. }
        | Refusal::NotNext { .. }
        | Refusal::InUse { .. }
        | Refusal::WorkerState { .. }
        | Refusal::WrongEpoch { .. }
        | Refusal::NotLapsed => problem_of_order(refusal),
        Refusal::Exists { .. }
        | Refusal::Similar { .. }
        | Refusal::WrongVersion { .. }
        | Refusal::TriggerTaken { .. }
        | Refusal::NeedsParam { .. }
        | Refusal::Blocked { .. }
        | Refusal::RunState { .. }
        | Refusal::AlreadyDecided { .. }
        | Refusal::PlanChanged { .. }
        | Refusal::NotAllowed { .. }
        | Refusal::BadParam { .. } => problem_of_automation(refusal),
    }
}

/// Returns the problem of a refusal that is about order: positions, streams and states.
fn problem_of_order(refusal: &Refusal) -> Problem {
    let base = |code| Problem::new(code, refusal.to_string());
    match refusal {
        Refusal::RequestConflict { first } => {
            Problem { first_position: Some(first.0), ..base(Code::RequestConflict) }
        }
        Refusal::PositionBehind { recorded, .. } => {
            Problem { recorded: Some(recorded.0), ..base(Code::PositionBehind) }
        }
        Refusal::BeyondEnd { last, .. } => Problem { last: Some(last.0), ..base(Code::BeyondEnd) },
        Refusal::BelowFloor { first, .. } => {
            Problem { first: Some(first.0), ..base(Code::BelowFloor) }
        }
        Refusal::StreamFull { through, .. } => {
            Problem { recorded: Some(through.0), ..base(Code::StreamFull) }
        }
        Refusal::NotNext { next, .. } => Problem { next: Some(next.0), ..base(Code::NotNext) },
        Refusal::InUse { count, .. } => Problem { count: Some(*count), ..base(Code::InUse) },
        Refusal::WorkerState { state } => {
            Problem { state: Some(state.as_str().to_owned()), ..base(Code::WorkerState) }
        }
        Refusal::WrongEpoch { .. } => base(Code::WrongEpoch),
        Refusal::NotLapsed => base(Code::NotLapsed),
        Refusal::StaleToken { .. }
        | Refusal::RoleHeld { .. }
        | Refusal::RoleVacant { .. }
        | Refusal::NotCandidate { .. }
        | Refusal::NoCandidate
        | Refusal::NoSession { .. }
        | Refusal::NotFound { .. }
        | Refusal::Superseded { .. }
        | Refusal::JobState { .. }
        | Refusal::KeyConflict { .. }
        | Refusal::OldCheckpoint { .. }
        | Refusal::Draining
        | Refusal::Full { .. }
        | Refusal::OutOfRange { .. }
        | Refusal::Exists { .. }
        | Refusal::Similar { .. }
        | Refusal::WrongVersion { .. }
        | Refusal::TriggerTaken { .. }
        | Refusal::NeedsParam { .. }
        | Refusal::Blocked { .. }
        | Refusal::RunState { .. }
        | Refusal::AlreadyDecided { .. }
        | Refusal::PlanChanged { .. }
        | Refusal::NotAllowed { .. }
        | Refusal::BadParam { .. } => problem_of_automation(refusal),
    }
}

/// Returns the problem of a refusal that is about definitions and runs.
fn problem_of_automation(refusal: &Refusal) -> Problem {
    let base = |code| Problem::new(code, refusal.to_string());
    let meant = |noun: &Noun, name: &str, problem: Problem| Problem {
        noun: Some(noun.as_str().to_owned()),
        name: Some(name.to_owned()),
        ..problem
    };
    #[expect(clippy::wildcard_enum_match_arm, reason = "each function knows one group")]
    match refusal {
        Refusal::Exists { noun, title, version } => {
            let problem = Problem { version: Some(*version), ..base(Code::Exists) };
            meant(noun, title, problem)
        }
        Refusal::Similar { noun, like, .. } => meant(noun, like, base(Code::SimilarName)),
        Refusal::WrongVersion { latest, .. } => {
            Problem { version: Some(*latest), ..base(Code::WrongVersion) }
        }
        Refusal::TriggerTaken { noun, title, .. } => meant(noun, title, base(Code::TriggerTaken)),
        Refusal::NeedsParam { param, choices } => Problem {
            param: Some(param.to_string()),
            choices: choices.iter().map(|choice| choice.as_str().to_owned()).collect(),
            ..base(Code::NeedsParam)
        },
        Refusal::Blocked { reason, free_at, .. } => Problem {
            reason: Some(reason.as_str().to_owned()),
            free_at: free_at.map(clock::rfc3339),
            ..base(Code::Blocked)
        },
        Refusal::RunState { run, state } => Problem {
            run: Some(run.0),
            state: Some(state.as_str().to_owned()),
            ..base(Code::RunState)
        },
        Refusal::AlreadyDecided { .. } => base(Code::AlreadyDecided),
        Refusal::PlanChanged { .. } => base(Code::PlanChanged),
        Refusal::NotAllowed { .. } => base(Code::NotAllowed),
        Refusal::BadParam { param, .. } => {
            Problem { param: Some(param.to_string()), ..base(Code::BadParam) }
        }
        _ => base(Code::Internal),
    }
}

/// Returns the kind of definition that a kind of thing is.
fn noun_of(kind: Kind) -> Option<Noun> {
    Noun::ALL.into_iter().find(|noun| Kind::of(*noun) == kind)
}

#[cfg(test)]
mod tests {
    use clawhold_core::units::{EventNumber, Token};

    use super::*;

    #[test]
    fn a_refusal_keeps_its_facts() {
        let stale = Refusal::StaleToken { presented: Token(3), latest: Token(9) };
        let problem = problem_of(&stale);
        assert_eq!(problem.code, Code::StaleToken);
        assert_eq!(problem.latest_token, Some(9));
        assert_eq!(problem.status, 409);
        assert!(problem.nothing_happened && !problem.retryable);
        let floor = Refusal::BelowFloor { presented: EventNumber(2), first: EventNumber(7) };
        let problem = problem_of(&floor);
        assert_eq!((problem.code, problem.first), (Code::BelowFloor, Some(7)));
    }

    #[test]
    fn an_unknown_outcome_is_not_called_a_failure() {
        let Rejected(problem) = Failure::OutcomeUnknown.into();
        assert!(!problem.nothing_happened && problem.retryable);
        let Rejected(problem) = Failure::Overloaded.into();
        assert!(problem.nothing_happened && problem.retryable);
        assert_eq!(problem.status, 429);
    }
}
