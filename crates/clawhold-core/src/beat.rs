//! Beats: what sessions report, kept in the active server's memory and never logged.
//!
//! One beat renews everything its session holds. What a beat means is decided in `renewal`.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use crate::answer::Granted;
use crate::command::{SessionKey, Successor};
use crate::units::{ClaimNumber, EventNumber, JobId, Name, RunId, Served, SessionId, Text, Token};

/// What a session reports in one beat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beat {
    /// Who.
    pub session: SessionKey,
    /// The roles it believes to lead, each under a token.
    pub leads: Vec<(Name, Token)>,
    /// Those of them for which it does not act at this moment and asks whether it still leads.
    pub suspended: Vec<Name>,
    /// The jobs it holds, each under a claim.
    pub holds: Vec<(JobId, ClaimNumber)>,
    /// How far it has come with the stream of each role it stands by for.
    pub consumed: Vec<(Name, EventNumber)>,
}

/// What a session is told in return.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BeatAnswer {
    /// Milliseconds for which the session is safe, from before the beat was sent.
    pub valid_ms: u64,
    /// One for each role reported, in the order reported.
    pub leads: Vec<LeadAnswer>,
    /// Roles it was granted and did not report.
    pub granted: Vec<(Name, Granted)>,
    /// Jobs it reported and does not hold: their handlers must stop.
    pub superseded: Vec<(JobId, ClaimNumber)>,
    /// Jobs it holds that were cancelled.
    pub cancelled: Vec<(JobId, ClaimNumber)>,
    /// The drain in force.
    pub drain: Option<DrainAnswer>,
}

/// What became of one lease that was reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeadAnswer {
    /// The role.
    pub role: Name,
    /// The token reported.
    pub token: Token,
    /// Whether it holds.
    pub outcome: LeadOutcome,
}

/// Whether a lease holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeadOutcome {
    /// It holds for so long from before the beat was sent.
    Renewed {
        /// Milliseconds.
        valid_ms: u64,
        /// A hand-over that was asked, and the milliseconds left for it.
        asked: Option<(Successor, u64)>,
    },
    /// It is over.
    Lost {
        /// The latest token of the role.
        latest: Token,
    },
}

/// A drain, as its worker is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrainAnswer {
    /// Milliseconds until what is still held is taken back.
    pub left_ms: u64,
    /// Why.
    pub reason: Text,
}

/// What a session last reported, as the active server keeps it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// When it came in.
    pub heard: Served,
    /// The roles it believes to lead, and when each of them was last renewed.
    pub leads: BTreeMap<Name, Lead>,
    /// The jobs it holds.
    pub holds: BTreeMap<JobId, ClaimNumber>,
    /// How far it has come with the stream of each role it stands by for.
    pub consumed: BTreeMap<Name, EventNumber>,
    /// Leases that an earlier beat renewed and this one does not name: it may have been sent
    /// before that one and overtaken on its way, so it takes nothing from them.
    pub(crate) unnamed: BTreeMap<Name, Lead>,
}

/// A belief to lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lead {
    /// The token it acts under.
    pub token: Token,
    /// When the lease was last renewed, if it was.
    pub renewed: Option<Served>,
    /// Whether it acts, or only asks whether it still leads.
    pub acts: bool,
}

/// What may lapse.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Timer {
    /// A lease, as of one grant.
    Lease(Name, Token),
    /// A session.
    Session(SessionId),
}

/// The reports of all sessions heard of since the takeover.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Beats {
    pub(crate) reports: BTreeMap<SessionId, Report>,
    /// What is on its way to the log to end.
    pub(crate) ending: BTreeSet<Timer>,
    /// Claims to lead that were answered with the loss of the lease, and when such a claim was
    /// last recorded.
    pub(crate) told: BTreeMap<(SessionId, Name, Token), Option<Served>>,
    /// When evidence for a step was last recorded.
    pub(crate) witnessed: BTreeMap<(RunId, u32), Served>,
    /// When to look at what may lapse.
    pub(crate) timers: BTreeSet<(Served, Timer)>,
}

impl Beats {
    /// Returns what a session last reported.
    #[must_use]
    pub fn report(&self, session: SessionId) -> Option<&Report> {
        self.reports.get(&session)
    }

    /// Returns the reports of all sessions heard of, by session.
    pub fn reports(&self) -> impl Iterator<Item = (SessionId, &Report)> {
        self.reports.iter().map(|(session, report)| (*session, report))
    }
}
