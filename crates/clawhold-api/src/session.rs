//! Sessions: one incarnation of one process, and the beat that keeps all it holds.

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Proof of being a session, as the server issued it: `<id>.<16 hex digits>`.
///
/// It stands in bodies only, never in a path, and is never shown: its `Debug` hides the secret.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(transparent)]
#[schema(example = "1207.9f86d081884c7d65", pattern = "^[1-9][0-9]{0,15}\\.[0-9a-f]{16}$")]
pub struct SessionKey(pub String);

impl SessionKey {
    /// Returns the key's text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the part before the secret: the session's id as text.
    #[must_use]
    pub fn id_text(&self) -> &str {
        self.0.split_once('.').map_or("", |(id, _)| id)
    }
}

impl fmt::Debug for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SessionKey({}.…)", self.id_text())
    }
}

/// Opens a session. One with queues is a worker.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OpenSession {
    /// What people call it, not by digits alone. A label is no identity: several sessions may bear
    /// the same.
    pub label: String,
    /// Milliseconds without a beat after which the session is lost, 200 to 86400000; 10000 when
    /// absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// The queues it works on, at most 100.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queues: Vec<String>,
    /// Jobs it may hold at once, 1 to 1000 for a worker; 1 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slots: Option<u64>,
    /// The agent that does its work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Where it runs, for people: host and pid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
}

/// A session as it was opened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OpenedSession {
    /// The key that every later call of this session carries.
    pub session: SessionKey,
    /// The session's id, which others see.
    pub id: u64,
    /// Milliseconds without a beat after which the session is lost.
    pub ttl_ms: u64,
    /// Milliseconds after which the next beat is due: a third of `ttl_ms`.
    pub beat_ms: u64,
}

/// Reports what a session believes and renews everything it holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Beat {
    /// Who.
    pub session: SessionKey,
    /// The roles it believes to lead.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub leads: Vec<LeadClaim>,
    /// The jobs it holds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub holds: Vec<Hold>,
    /// How far it has come with the stream of each role it stands by for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub consumed: Vec<Consumed>,
}

/// A role that a session believes to lead.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LeadClaim {
    /// The role.
    pub role: String,
    /// The token it acts under.
    pub token: u64,
    /// Whether it does not act at this moment, because the lease is not confirmed yet, or no more
    /// in time, or about to be handed over: it asks whether the lease goes on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub suspended: bool,
}

/// A job under the claim that a session holds it by.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(deny_unknown_fields)]
pub struct Hold {
    /// The job.
    pub job: u64,
    /// The claim.
    pub claim: u64,
}

/// How far a standby has come with its role's stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Consumed {
    /// The role it stands by for.
    pub role: String,
    /// The last event it has consumed.
    pub through: u64,
}

/// What a beat did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BeatReply {
    /// Milliseconds, counted from before the beat was sent, for which the session lives.
    pub valid_ms: u64,
    /// One line for each role listed in `leads`.
    pub leads: Vec<LeadReply>,
    /// Jobs listed in `holds` that another claim owns, or none: stop working on them.
    pub superseded: Vec<Hold>,
    /// Jobs listed in `holds` that should stop: they were cancelled.
    pub cancelled: Vec<Hold>,
    /// The drain in force: take no job, finish or hand back what is held.
    pub drain: Option<Drain>,
    /// Roles this session was granted while it waited and that it did not list.
    pub granted: Vec<Grant>,
}

/// What a beat did for one role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LeadReply {
    /// The role.
    pub role: String,
    /// The token that was listed.
    pub token: u64,
    /// Whether the lease goes on.
    pub outcome: LeadOutcome,
    /// Milliseconds, counted from before the beat was sent, for which the lease is held; 0 when
    /// it is lost.
    pub valid_ms: u64,
    /// The highest token ever granted for this role.
    pub latest_token: u64,
    /// The hand-over that somebody asked for: finish, then hand over.
    pub asked: Option<Asked>,
}

/// Whether a lease goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum LeadOutcome {
    /// It goes on for `valid_ms`.
    Renewed,
    /// It is over: stop acting at once.
    Lost,
}

/// A hand-over that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Asked {
    /// The session that gets the role; null for the most caught-up standby.
    pub to: Option<u64>,
    /// Milliseconds until the request lapses and the holder keeps the role.
    pub left_ms: u64,
}

/// A drain in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Drain {
    /// Milliseconds until what is still held is taken back.
    pub left_ms: u64,
    /// Why.
    pub reason: String,
}

/// A role as it was granted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Grant {
    /// The role.
    pub role: String,
    /// The fencing token.
    pub token: u64,
    /// Milliseconds of the lease from the last renewal on.
    pub ttl_ms: u64,
}

/// Ends a session in good order: what it still holds goes back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CloseSession {
    /// The session.
    pub session: SessionKey,
}

/// A live session as others see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Session {
    /// Its id.
    pub id: u64,
    /// What people call it.
    pub label: String,
    /// Milliseconds without a beat after which it is lost.
    pub ttl_ms: u64,
    /// The queues it works on; empty for a session that is no worker.
    pub queues: Vec<String>,
    /// When it was opened.
    pub opened: String,
    /// Where it runs, for people.
    pub place: String,
    /// Milliseconds since its last beat; null when the active server has not heard of it since
    /// it took over.
    pub silent_ms: Option<u64>,
}
