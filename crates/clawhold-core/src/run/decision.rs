//! Decisions about fixes, and what is kept in mind of each fix and target.

use alloc::collections::VecDeque;

use minicbor::{Decode, Encode};

use super::Target;
use crate::units::{RunId, Stamp, Text, Timestamp, Title};

/// Why a fix did not run, or that it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub enum Reason {
    /// It started.
    #[n(0)]
    Started,
    /// All automation is paused.
    #[n(1)]
    Paused,
    /// It is not in force.
    #[n(2)]
    Disabled,
    /// A server has just taken over: renewals could not arrive.
    #[n(3)]
    Settling,
    /// The condition ceased to hold.
    #[n(4)]
    ConditionCleared,
    /// A field that the condition needs has no value.
    #[n(5)]
    UnknownValue,
    /// Another run acts on the target, or too many run at once.
    #[n(6)]
    TargetBusy,
    /// It failed too often on this target.
    #[n(7)]
    Tripped,
    /// Too many targets match at once: this looks like one cause.
    #[n(8)]
    FleetBreaker,
    /// It rests after its last run.
    #[n(9)]
    Cooldown,
    /// Its runs for the period are used up.
    #[n(10)]
    Budget,
    /// It waits for people to agree.
    #[n(11)]
    AwaitingApproval,
    /// Somebody said no.
    #[n(12)]
    ApprovalRejected,
    /// Nobody answered in time.
    #[n(13)]
    ApprovalExpired,
    /// It only observes.
    #[n(14)]
    ObserveOnly,
    /// A sentence of its plan is not understood.
    #[n(15)]
    PlanIncomplete,
    /// Nobody can take the role over.
    #[n(16)]
    NoStandby,
}

impl Reason {
    /// Returns the stable code for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Started => "started",
            Self::Paused => "paused",
            Self::Disabled => "disabled",
            Self::Settling => "settling",
            Self::ConditionCleared => "condition_cleared",
            Self::UnknownValue => "unknown_value",
            Self::TargetBusy => "target_busy",
            Self::Tripped => "tripped",
            Self::FleetBreaker => "fleet_breaker",
            Self::Cooldown => "cooldown",
            Self::Budget => "budget",
            Self::AwaitingApproval => "awaiting_approval",
            Self::ApprovalRejected => "approval_rejected",
            Self::ApprovalExpired => "approval_expired",
            Self::ObserveOnly => "observe_only",
            Self::PlanIncomplete => "plan_incomplete",
            Self::NoStandby => "no_standby",
        }
    }
}

/// One decision about a fix and a target. Repeats of one reason are folded.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Decision {
    /// The fix.
    #[n(0)]
    pub title: Title,
    /// Its version.
    #[n(1)]
    pub version: u64,
    /// What it was about.
    #[n(2)]
    pub target: Target,
    /// What people call that.
    #[n(3)]
    pub name: Text,
    /// What was decided.
    #[n(4)]
    pub reason: Reason,
    /// The facts, in words: the limit, when it frees.
    #[n(5)]
    pub detail: Text,
    /// The fields and values that made the condition hold.
    #[n(6)]
    pub evidence: Text,
    /// When it was decided first.
    #[n(7)]
    pub first: Stamp,
    /// When it was decided last.
    #[n(8)]
    pub last: Stamp,
    /// How often.
    #[n(9)]
    pub count: u64,
    /// The run, if one was asked for.
    #[n(10)]
    pub run: Option<RunId>,
    /// When it may run, if that is known.
    #[n(11)]
    pub free_at: Option<Timestamp>,
}

/// What is known of one fix and one target.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Instance {
    /// Since when the condition holds.
    #[n(0)]
    pub since: Option<Stamp>,
    /// What was decided last.
    #[n(1)]
    pub decided: Option<Decision>,
    /// When the last run ended.
    #[n(2)]
    pub last_end: Option<Timestamp>,
    /// Runs that failed in a row.
    #[n(3)]
    pub failures: u32,
    /// When it was tripped.
    #[n(4)]
    pub tripped: Option<Timestamp>,
    /// Since when the condition has not held.
    #[n(5)]
    pub healthy_since: Option<Timestamp>,
    /// When runs on this target started, for limits per target.
    #[n(6)]
    pub starts: VecDeque<Timestamp>,
    /// Whether the block was told.
    #[n(7)]
    pub told: bool,
    /// When to look again.
    #[n(8)]
    pub look_at: Option<Timestamp>,
    /// When people last said no, or nothing, to it.
    #[n(9)]
    pub refused: Option<Timestamp>,
}
