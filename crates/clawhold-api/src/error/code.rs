//! Error codes: one for each thing a caller would do differently.

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What went wrong, as a word that does not change.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    /// The path, query or a header is not what it should be.
    BadRequest,
    /// The body is not JSON, or not of the shape that is asked for.
    BadJson,
    /// The body is not announced as JSON.
    UnsupportedMediaType,
    /// The body is too large.
    BodyTooLarge,
    /// A field lies outside its range.
    OutOfRange,
    /// The thing named does not exist.
    NotFound,
    /// The path does not know this method.
    MethodNotAllowed,
    /// No token was sent, or an unknown one.
    Unauthorized,
    /// The token does not allow this.
    Forbidden,
    /// The request came for a host, or from an origin, that this server does not answer to.
    HostRefused,
    /// The fencing token has been overtaken: stop acting.
    StaleToken,
    /// Another session holds the role.
    RoleHeld,
    /// Nobody holds the role.
    RoleVacant,
    /// The successor named does not wait for the role.
    NotCandidate,
    /// Nobody can take the role over.
    NoCandidate,
    /// The session is over: open another.
    NoSession,
    /// Another claim owns the job: stop working on it.
    Superseded,
    /// The job is not in a state that allows this.
    JobState,
    /// The worker is not in a state that allows this.
    WorkerState,
    /// The worker leaves and gets no new job.
    Draining,
    /// A live job bears the same unique key and another payload.
    KeyConflict,
    /// A newer checkpoint is kept.
    OldCheckpoint,
    /// A limit of the whole is reached.
    Full,
    /// The same request id came before with another request.
    RequestConflict,
    /// The position would not move forward.
    PositionBehind,
    /// The position lies beyond the end of the stream.
    BeyondEnd,
    /// The events asked for are no longer kept.
    BelowFloor,
    /// Events would have to go that a role has not dealt with.
    StreamFull,
    /// The stream ends elsewhere than the caller expects.
    NotNext,
    /// The thing is in use.
    InUse,
    /// Several things bear this name: use the id.
    AmbiguousName,
    /// The lease has not lapsed.
    NotLapsed,
    /// The takeover does not follow the current term.
    WrongEpoch,
    /// A definition of this name is there: change it instead.
    Exists,
    /// A definition is there whose name a person would take for this one.
    SimilarName,
    /// The definition was changed in the meantime.
    WrongVersion,
    /// The words start something else.
    TriggerTaken,
    /// A run does not know what it is about, and does not guess.
    NeedsParam,
    /// A parameter names something that is not what the run needs, or several things.
    BadParam,
    /// A fix is kept from running by its limits.
    Blocked,
    /// The run is not in a state that allows this.
    RunState,
    /// Somebody was first to say yes or no.
    AlreadyDecided,
    /// The plan is not the one that was seen.
    PlanChanged,
    /// This person's word does not count here.
    NotAllowed,
    /// A condition is wrong: `lines` show where.
    BadCondition,
    /// Sentences or steps are not understood, or do not fit together.
    BadPlan,
    /// The request is not signed, wrongly signed, too old, or came before.
    BadSignature,
    /// This server is not the active one.
    NotActive,
    /// The server has more to do than it can take.
    Overloaded,
    /// The request may have been carried out or not.
    OutcomeUnknown,
    /// The server is stopping.
    Stopping,
    /// The log cannot be written.
    Storage,
    /// A fault of the server.
    Internal,
}

impl Code {
    /// Every code.
    pub const ALL: [Self; 53] = [
        Self::BadRequest,
        Self::BadJson,
        Self::UnsupportedMediaType,
        Self::BodyTooLarge,
        Self::OutOfRange,
        Self::NotFound,
        Self::MethodNotAllowed,
        Self::Unauthorized,
        Self::Forbidden,
        Self::HostRefused,
        Self::StaleToken,
        Self::RoleHeld,
        Self::RoleVacant,
        Self::NotCandidate,
        Self::NoCandidate,
        Self::NoSession,
        Self::Superseded,
        Self::JobState,
        Self::WorkerState,
        Self::Draining,
        Self::KeyConflict,
        Self::OldCheckpoint,
        Self::Full,
        Self::RequestConflict,
        Self::PositionBehind,
        Self::BeyondEnd,
        Self::BelowFloor,
        Self::StreamFull,
        Self::NotNext,
        Self::InUse,
        Self::AmbiguousName,
        Self::NotLapsed,
        Self::WrongEpoch,
        Self::Exists,
        Self::SimilarName,
        Self::WrongVersion,
        Self::TriggerTaken,
        Self::NeedsParam,
        Self::BadParam,
        Self::Blocked,
        Self::RunState,
        Self::AlreadyDecided,
        Self::PlanChanged,
        Self::NotAllowed,
        Self::BadCondition,
        Self::BadPlan,
        Self::BadSignature,
        Self::NotActive,
        Self::Overloaded,
        Self::OutcomeUnknown,
        Self::Stopping,
        Self::Storage,
        Self::Internal,
    ];

    /// Returns the HTTP status.
    #[must_use]
    pub fn status(self) -> u16 {
        match self {
            Self::BadRequest | Self::BadJson => 400,
            Self::Unauthorized | Self::BadSignature => 401,
            Self::Forbidden | Self::NotAllowed => 403,
            Self::NotFound => 404,
            Self::MethodNotAllowed => 405,
            Self::StaleToken
            | Self::RoleHeld
            | Self::RoleVacant
            | Self::NotCandidate
            | Self::NoCandidate
            | Self::NoSession
            | Self::Superseded
            | Self::JobState
            | Self::WorkerState
            | Self::Draining
            | Self::KeyConflict
            | Self::OldCheckpoint
            | Self::RequestConflict
            | Self::PositionBehind
            | Self::NotNext
            | Self::InUse
            | Self::AmbiguousName
            | Self::NotLapsed
            | Self::WrongEpoch
            | Self::Exists
            | Self::SimilarName
            | Self::WrongVersion
            | Self::TriggerTaken
            | Self::Blocked
            | Self::RunState
            | Self::AlreadyDecided
            | Self::PlanChanged => 409,
            Self::BelowFloor => 410,
            Self::BodyTooLarge => 413,
            Self::UnsupportedMediaType => 415,
            Self::BeyondEnd => 416,
            Self::HostRefused => 421,
            Self::OutOfRange
            | Self::NeedsParam
            | Self::BadParam
            | Self::BadCondition
            | Self::BadPlan => 422,
            Self::Overloaded => 429,
            Self::Internal => 500,
            Self::NotActive | Self::OutcomeUnknown | Self::Stopping | Self::Storage => 503,
            Self::Full | Self::StreamFull => 507,
        }
    }

    /// Tells whether the same request, sent again with the same request id, may well succeed
    /// without anybody changing anything.
    #[must_use]
    pub fn retry_is_sensible(self) -> bool {
        match self {
            Self::NotActive
            | Self::Overloaded
            | Self::OutcomeUnknown
            | Self::Stopping
            | Self::Storage => true,
            Self::BadRequest
            | Self::BadJson
            | Self::UnsupportedMediaType
            | Self::BodyTooLarge
            | Self::OutOfRange
            | Self::NotFound
            | Self::MethodNotAllowed
            | Self::Unauthorized
            | Self::Forbidden
            | Self::HostRefused
            | Self::StaleToken
            | Self::RoleHeld
            | Self::RoleVacant
            | Self::NotCandidate
            | Self::NoCandidate
            | Self::NoSession
            | Self::Superseded
            | Self::JobState
            | Self::WorkerState
            | Self::Draining
            | Self::KeyConflict
            | Self::OldCheckpoint
            | Self::Full
            | Self::RequestConflict
            | Self::PositionBehind
            | Self::BeyondEnd
            | Self::BelowFloor
            | Self::StreamFull
            | Self::NotNext
            | Self::InUse
            | Self::AmbiguousName
            | Self::NotLapsed
            | Self::WrongEpoch
            | Self::Exists
            | Self::SimilarName
            | Self::WrongVersion
            | Self::TriggerTaken
            | Self::NeedsParam
            | Self::BadParam
            | Self::Blocked
            | Self::RunState
            | Self::AlreadyDecided
            | Self::PlanChanged
            | Self::NotAllowed
            | Self::BadCondition
            | Self::BadPlan
            | Self::BadSignature
            | Self::Internal => false,
        }
    }

    /// Tells whether it is certain that the request changed nothing.
    #[must_use]
    pub fn nothing_happened(self) -> bool {
        match self {
            Self::OutcomeUnknown | Self::Internal => false,
            Self::BadRequest
            | Self::BadJson
            | Self::UnsupportedMediaType
            | Self::BodyTooLarge
            | Self::OutOfRange
            | Self::NotFound
            | Self::MethodNotAllowed
            | Self::Unauthorized
            | Self::Forbidden
            | Self::HostRefused
            | Self::StaleToken
            | Self::RoleHeld
            | Self::RoleVacant
            | Self::NotCandidate
            | Self::NoCandidate
            | Self::NoSession
            | Self::Superseded
            | Self::JobState
            | Self::WorkerState
            | Self::Draining
            | Self::KeyConflict
            | Self::OldCheckpoint
            | Self::Full
            | Self::RequestConflict
            | Self::PositionBehind
            | Self::BeyondEnd
            | Self::BelowFloor
            | Self::StreamFull
            | Self::NotNext
            | Self::InUse
            | Self::AmbiguousName
            | Self::NotLapsed
            | Self::WrongEpoch
            | Self::Exists
            | Self::SimilarName
            | Self::WrongVersion
            | Self::TriggerTaken
            | Self::NeedsParam
            | Self::BadParam
            | Self::Blocked
            | Self::RunState
            | Self::AlreadyDecided
            | Self::PlanChanged
            | Self::NotAllowed
            | Self::BadCondition
            | Self::BadPlan
            | Self::BadSignature
            | Self::NotActive
            | Self::Overloaded
            | Self::Stopping
            | Self::Storage => true,
        }
    }
}

impl Code {
    /// Returns the word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BadRequest => "bad_request",
            Self::BadJson => "bad_json",
            Self::UnsupportedMediaType => "unsupported_media_type",
            Self::BodyTooLarge => "body_too_large",
            Self::OutOfRange => "out_of_range",
            Self::NotFound => "not_found",
            Self::MethodNotAllowed => "method_not_allowed",
            Self::Unauthorized => "unauthorized",
            Self::Forbidden => "forbidden",
            Self::HostRefused => "host_refused",
            Self::StaleToken => "stale_token",
            Self::RoleHeld => "role_held",
            Self::RoleVacant => "role_vacant",
            Self::NotCandidate => "not_candidate",
            Self::NoCandidate => "no_candidate",
            Self::NoSession => "no_session",
            Self::Superseded => "superseded",
            Self::JobState => "job_state",
            Self::WorkerState => "worker_state",
            Self::Draining => "draining",
            Self::KeyConflict => "key_conflict",
            Self::OldCheckpoint => "old_checkpoint",
            Self::Full => "full",
            Self::RequestConflict => "request_conflict",
            Self::PositionBehind => "position_behind",
            Self::BeyondEnd => "beyond_end",
            Self::BelowFloor => "below_floor",
            Self::StreamFull => "stream_full",
            Self::NotNext => "not_next",
            Self::InUse => "in_use",
            Self::AmbiguousName => "ambiguous_name",
            Self::NotLapsed => "not_lapsed",
            Self::WrongEpoch => "wrong_epoch",
            Self::Exists => "exists",
            Self::SimilarName => "similar_name",
            Self::WrongVersion => "wrong_version",
            Self::TriggerTaken => "trigger_taken",
            Self::NeedsParam => "needs_param",
            Self::BadParam => "bad_param",
            Self::Blocked => "blocked",
            Self::RunState => "run_state",
            Self::AlreadyDecided => "already_decided",
            Self::PlanChanged => "plan_changed",
            Self::NotAllowed => "not_allowed",
            Self::BadCondition => "bad_condition",
            Self::BadPlan => "bad_plan",
            Self::BadSignature => "bad_signature",
            Self::NotActive => "not_active",
            Self::Overloaded => "overloaded",
            Self::OutcomeUnknown => "outcome_unknown",
            Self::Stopping => "stopping",
            Self::Storage => "storage",
            Self::Internal => "internal",
        }
    }

    /// Returns the code that `word` stands for.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.as_str() == word)
    }

    /// Returns what the code means, in one line.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::BadRequest => "the request is not what it should be",
            Self::BadJson => "the body is not what it should be",
            Self::UnsupportedMediaType => "the body is not announced as JSON",
            Self::BodyTooLarge => "the body is too large",
            Self::OutOfRange => "a field lies outside its range",
            Self::NotFound => "there is no such thing",
            Self::MethodNotAllowed => "the path does not know this method",
            Self::Unauthorized => "no token, or an unknown one",
            Self::Forbidden => "the token does not allow this",
            Self::HostRefused => "this server does not answer to this host or origin",
            Self::StaleToken => "the fencing token has been overtaken",
            Self::RoleHeld => "another session holds the role",
            Self::RoleVacant => "nobody holds the role",
            Self::NotCandidate => "the successor does not stand by for the role",
            Self::NoCandidate => "nobody can take the role over",
            Self::NoSession => "the session is over or was never issued",
            Self::Superseded => "another claim owns the job",
            Self::JobState => "the job is not in a state that allows this",
            Self::WorkerState => "the worker is not in a state that allows this",
            Self::Draining => "the worker leaves and gets no new job",
            Self::KeyConflict => "a live job bears this unique key with another payload",
            Self::OldCheckpoint => "a newer checkpoint is kept",
            Self::Full => "a limit is reached",
            Self::RequestConflict => "this request id was used for another request",
            Self::PositionBehind => "the position would not move forward",
            Self::BeyondEnd => "the position lies beyond the end of the stream",
            Self::BelowFloor => "the events are no longer kept",
            Self::StreamFull => "the stream is full of events that a role has not dealt with",
            Self::NotNext => "the stream ends elsewhere",
            Self::InUse => "the thing is in use",
            Self::AmbiguousName => "several things bear this name",
            Self::NotLapsed => "the lease has not lapsed",
            Self::WrongEpoch => "the takeover does not follow the current term",
            Self::Exists => "a definition of this name is there",
            Self::SimilarName => "a name that people would take for this one is there",
            Self::WrongVersion => "the definition was changed in the meantime",
            Self::TriggerTaken => "the words start something else",
            Self::NeedsParam => "the run does not know what it is about",
            Self::BadParam => "a parameter is not what the run needs",
            Self::Blocked => "the fix is kept from running",
            Self::RunState => "the run is not in a state that allows this",
            Self::AlreadyDecided => "somebody has decided already",
            Self::PlanChanged => "the plan is not the one that was seen",
            Self::NotAllowed => "this person may not decide this",
            Self::BadCondition => "the condition is wrong",
            Self::BadPlan => "the steps are not understood or do not fit together",
            Self::BadSignature => "the request is not signed as it must be",
            Self::NotActive => "this server is not the active one",
            Self::Overloaded => "the server has more to do than it can take",
            Self::OutcomeUnknown => "the request may have been carried out or not",
            Self::Stopping => "the server is stopping",
            Self::Storage => "the log cannot be written",
            Self::Internal => "a fault of the server",
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_listed_once_and_its_word_is_the_one_on_the_wire() {
        for code in Code::ALL {
            let word = serde_json::to_value(code).unwrap();
            assert_eq!(word, code.as_str());
            assert_eq!(Code::parse(code.as_str()), Some(code));
        }
        let mut sorted = Code::ALL.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), Code::ALL.len());
    }
}
