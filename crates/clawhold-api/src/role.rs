//! Roles: one holder each, a fencing token that only rises, and who stands by.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::session::{Asked, SessionKey};

/// Candidates that one reply lists; `candidates_count` counts them all.
pub const CANDIDATES_LISTED_MAX: usize = 100;

/// One role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Role {
    /// Its name.
    pub name: String,
    /// Milliseconds of a lease when the one who asks says nothing.
    pub ttl_ms: u64,
    /// Events that a standby may lag behind and still be promoted; null for no limit.
    pub lag_events_max: Option<u64>,
    /// The highest token ever granted. Never falls.
    pub token: u64,
    /// Who holds it; null when it is vacant.
    pub holder: Option<Holder>,
    /// Who stands by, the longest wait first; at most 100.
    pub candidates: Vec<Candidate>,
    /// How many stand by.
    pub candidates_count: u64,
    /// The positions recorded under this role, one for each stream.
    pub positions: Vec<RecordedPosition>,
    /// Who promotes a standby when the lease lapses.
    #[serde(default)]
    pub promotion: Promotion,
    /// Who would promote, in words: the name of an auto-fix, or `the lapse itself`; null when
    /// nobody would.
    #[serde(default)]
    pub promoter: Option<String>,
    /// What is left of the limits of that auto-fix, in words; null when it has none.
    #[serde(default)]
    pub promoter_left: Option<String>,
    /// Why nobody would promote, in words; null when somebody would.
    #[serde(default)]
    pub promoter_blocked: Option<String>,
    /// Since when the role has been vacant by the operator's own limits; null when it is not.
    #[serde(default)]
    pub withheld_since: Option<String>,
}

/// Who promotes a standby when the lease of a role lapses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Promotion {
    /// An auto-fix that promotes for the role, within its limits; the lapse itself without one.
    #[default]
    Auto,
    /// The lapse itself, at once, whatever auto-fixes there are.
    Native,
    /// An auto-fix alone.
    Policy,
}

impl Promotion {
    /// Returns the word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Native => "native",
            Self::Policy => "policy",
        }
    }
}

/// Who holds a role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Holder {
    /// The session.
    pub id: u64,
    /// What people call it.
    pub label: String,
    /// The token of the grant.
    pub token: u64,
    /// When it was granted.
    pub since: String,
    /// Milliseconds of the lease.
    pub ttl_ms: u64,
    /// Milliseconds until the lease lapses, if no beat comes.
    pub left_ms: u64,
    /// The hand-over that somebody asked for.
    pub asked: Option<Asked>,
}

/// One that stands by for a role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Candidate {
    /// The session.
    pub id: u64,
    /// What people call it.
    pub label: String,
    /// Since when it waits.
    pub since: String,
    /// The stream it consumes, if it said so.
    pub stream: Option<String>,
    /// The last event it reported to have consumed.
    pub consumed: Option<u64>,
    /// Events between that one and the stream's end.
    pub lag: Option<u64>,
    /// Milliseconds since its last beat; null when the active server has not heard of it since
    /// it took over.
    pub silent_ms: Option<u64>,
}

/// A position as it was recorded under a role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RecordedPosition {
    /// The stream.
    pub stream: String,
    /// Every event up to this one, itself included, has been dealt with.
    pub through: u64,
    /// The token it was recorded under.
    pub token: u64,
    /// Events between that one and the stream's end.
    pub lag: u64,
}

/// Sets what is known of a role. What is absent stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SetRole {
    /// Milliseconds of a lease when the one who asks says nothing, 200 to 86400000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// Events that a standby may lag behind and still be promoted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lag_events_max: Option<u64>,
    /// Who promotes a standby when the lease lapses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub promotion: Option<Promotion>,
}

/// Asks for a role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Acquire {
    /// Who asks.
    pub session: SessionKey,
    /// Milliseconds of the lease, 200 to 86400000; the role's own when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// Milliseconds to wait for the role while another session holds it, 0 to 60000; 0 when
    /// absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
    /// Whether to stay in line after the wait ended. The answer is then `waiting`, and the grant
    /// is told by a beat.
    #[serde(default)]
    pub stand_by: bool,
    /// The stream that leader and standby consume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<String>,
}

/// What came of asking for a role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Acquired {
    /// Whether the role was granted.
    pub outcome: AcquireOutcome,
    /// The token: of the grant, or of the holder that is waited for.
    pub token: u64,
    /// Milliseconds of the lease, counted from before the request was sent; when waiting, those
    /// of the holder's lease.
    pub ttl_ms: u64,
    /// Who holds it, when that is somebody else.
    pub holder: Option<HolderName>,
    /// The position recorded for this role in the stream that was named, as of the grant: resume
    /// after it. 0 when nothing was recorded; null when no stream was named or nothing granted.
    pub position: Option<u64>,
}

/// Whether a role was granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AcquireOutcome {
    /// It was granted.
    Granted,
    /// Another session holds it; this one stands in line.
    Waiting,
}

/// Who holds a role, in short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HolderName {
    /// The session.
    pub id: u64,
    /// What people call it.
    pub label: String,
    /// The token of the grant.
    pub token: u64,
}

/// Stops waiting for a role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Withdraw {
    /// Who waits.
    pub session: SessionKey,
}

/// Gives a role up; the next candidate gets it in the same entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Release {
    /// Who holds it.
    pub session: SessionKey,
    /// The token of the grant.
    pub token: u64,
}

/// A role as it was released.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Released {
    /// Who got it in the same entry; null when nobody waited.
    pub next: Option<NextHolder>,
}

/// Who holds a role next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NextHolder {
    /// The session's id.
    pub session: u64,
    /// The token of its grant.
    pub token: u64,
}

/// Gives a role to a candidate, in one entry.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct HandOver {
    /// The holder's key when the holder hands over; absent when an operator does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionKey>,
    /// The token that the caller believes to be current; absent skips the check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<u64>,
    /// The candidate that gets it, by id or by a label that one candidate bears; the most
    /// caught-up one when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
}

/// Asks the holder to finish and hand over.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AskHandOver {
    /// The candidate that should get it, as in a hand-over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Milliseconds until the request lapses and the holder keeps the role, 1 to 86400000; 30000
    /// when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within_ms: Option<u64>,
}

/// What became of a role, oldest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RoleHistory {
    /// The role.
    pub role: String,
    /// The latest changes, at most 100.
    pub items: Vec<RoleChange>,
}

/// One change of a role's holder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RoleChange {
    /// Where in the log.
    pub position: u64,
    /// When.
    pub at: String,
    /// What happened: `acquired`, `promoted`, `handed over`, `released`, `lapsed`,
    /// `session closed`, `session lost`, `removed`, `hand-over asked` or `hand-over missed`.
    pub cause: String,
    /// Who held or got it, if the change is about somebody.
    pub holder: Option<HolderName>,
    /// The token that was granted or that ended.
    pub token: u64,
}
