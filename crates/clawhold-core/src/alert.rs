//! Alerts: what deserves a person's attention, from the first sign to the end.
//!
//! Inactive, pending, firing, recovering, resolved; acknowledged, silenced, inhibited and flapping
//! lie over that. All of it is in the log, so a takeover neither forgets nor repeats one.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use minicbor::{Decode, Encode};

use crate::catalog::{Grouping, Severity};
use crate::units::{AlertId, Name, Stamp, Text, Timestamp, Title};

/// Where an alert is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub enum AlertState {
    /// What it watches holds, not yet for long enough.
    #[n(0)]
    Pending,
    /// It fires.
    #[n(1)]
    Firing,
    /// What it watches has ceased to hold, not yet for long enough.
    #[n(2)]
    Recovering,
    /// It is over.
    #[n(3)]
    Resolved,
}

impl AlertState {
    /// Returns the word for it, as people and the wire use it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Firing => "firing",
            Self::Recovering => "recovering",
            Self::Resolved => "resolved",
        }
    }
}

/// One alert: one rule, one group.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Alert {
    /// Its number.
    #[n(0)]
    pub id: AlertId,
    /// The rule, or the name of what the program itself watches.
    #[n(1)]
    pub rule: Title,
    /// The version of the rule; 0 for what the program itself watches.
    #[n(2)]
    pub version: u64,
    /// The group's name: a role, a queue, a worker.
    #[n(3)]
    pub group: Text,
    /// What the group is; `None` when there is one for all.
    #[n(4)]
    pub grouping: Option<Grouping>,
    /// How bad it is.
    #[n(5)]
    pub severity: Severity,
    /// Where it is.
    #[n(6)]
    pub state: AlertState,
    /// Since when it holds.
    #[n(7)]
    pub since: Stamp,
    /// When it fired.
    #[n(8)]
    pub fired: Option<Stamp>,
    /// When it was over.
    #[n(9)]
    pub ended: Option<Stamp>,
    /// When what it watches was last seen.
    #[n(10)]
    pub seen: Stamp,
    /// What is wrong, in one line.
    #[n(11)]
    pub summary: Text,
    /// The facts, a line each, the latest.
    #[n(12)]
    pub details: Vec<Text>,
    /// How often what it watches was seen.
    #[n(13)]
    pub count: u64,
    /// Who has said that they look at it, and when.
    #[n(14)]
    pub acked: Option<(Name, Stamp)>,
    /// When it changed between firing and not, within the time that flapping looks back.
    #[n(15)]
    pub turns: VecDeque<Timestamp>,
    /// Whether it flaps.
    #[n(16)]
    pub flapping: bool,
    /// When it was last told.
    #[n(17)]
    pub told: Option<Timestamp>,
    /// Whether somebody was told that it fires, so that the end is told as well.
    #[n(18)]
    pub is_open: bool,
    /// Where it is told.
    #[n(19)]
    pub channels: Vec<Title>,
}

/// A silence: alerts that are not told for a while.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Silence {
    /// Its number: the position of the entry that made it.
    #[n(0)]
    pub id: u64,
    /// The rule; all of them when not said.
    #[n(1)]
    pub rule: Option<Title>,
    /// The group; all of them when not said.
    #[n(2)]
    pub group: Option<Text>,
    /// Why.
    #[n(3)]
    pub reason: Text,
    /// When it ends.
    #[n(4)]
    pub until: Timestamp,
    /// Whether it ends as soon as what it silences is over.
    #[n(5)]
    pub until_resolved: bool,
    /// Who made it.
    #[n(6)]
    pub actor: Option<Name>,
    /// When it was made.
    #[n(7)]
    pub stamp: Stamp,
}

/// All alerts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Alerts {
    /// Those that are not over, by rule and group.
    #[n(0)]
    pub(crate) live: BTreeMap<(Title, Text), Alert>,
    /// Those that are over, the latest, oldest first.
    #[n(1)]
    pub(crate) ended: VecDeque<Alert>,
    /// The last number given.
    #[n(2)]
    pub(crate) latest: AlertId,
    /// The silences in force.
    #[n(3)]
    pub(crate) silences: BTreeMap<u64, Silence>,
    /// What detectors remember of each rule and group: the moments within its window.
    #[n(4)]
    pub(crate) moments: BTreeMap<(Title, Text), VecDeque<Timestamp>>,
}

impl Alerts {
    /// Returns the alerts that are not over, by rule and group.
    pub fn live(&self) -> impl Iterator<Item = &Alert> {
        self.live.values()
    }

    /// Returns the alerts that are over, oldest first.
    pub fn ended(&self) -> impl DoubleEndedIterator<Item = &Alert> {
        self.ended.iter()
    }

    /// Returns an alert.
    #[must_use]
    pub fn get(&self, id: AlertId) -> Option<&Alert> {
        let live = self.live.values().find(|alert| alert.id == id);
        live.or_else(|| self.ended.iter().find(|alert| alert.id == id))
    }

    /// Returns the silences in force.
    pub fn silences(&self) -> impl Iterator<Item = &Silence> {
        self.silences.values()
    }
}

/// Raised.
#[derive(Clone, Debug)]
pub(crate) struct Raised {
    pub(crate) title: Title,
    pub(crate) group: Text,
    pub(crate) grouping: Option<Grouping>,
    pub(crate) severity: Severity,
    pub(crate) summary: Text,
    pub(crate) details: Vec<Text>,
    pub(crate) channels: Vec<Title>,
}
