//! Alerts: what deserves a person's attention, from the first sign to the end.
//!
//! Inactive, pending, firing, recovering, resolved; acknowledged, silenced, inhibited and flapping
//! lie over that. All of it is in the log, so a takeover neither forgets nor repeats one. What
//! detectors find is told in `find` and `level`, how an alert moves in `turn`, who hears of it in
//! `tell`.

mod backtest;
mod condition;
mod feed;
mod find;
mod level;
mod raise;
mod silence;
mod tell;
#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) mod transcript;
mod turn;
mod watch;

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use minicbor::{Decode, Encode};

use crate::catalog::{Grouping, Severity};
use crate::run::Target;
use crate::units::{AlertId, Name, Stamp, Text, Timestamp, Title};

pub use backtest::{Backtest, Fired, backtest};
pub(crate) use level::sink_fact;
pub(crate) use raise::Raised;

/// Milliseconds for which a turn counts as flapping: 30 minutes.
const FLAP_MS: u64 = 1_800_000;
/// Turns within that time that make an alert flap.
const FLAP_TURNS: usize = 4;
/// Milliseconds without a turn after which it flaps no more: 10 minutes.
const FLAP_QUIET_MS: u64 = 600_000;
/// Milliseconds that the first message of an alert waits for it to be over, unless it is critical.
const WAIT_MS: u64 = 10_000;
/// Milliseconds after which an alert that still fires is told again: 4 hours.
const REPEAT_MS: u64 = 14_400_000;
/// The same for a critical one that nobody has acknowledged: 1 hour.
const REPEAT_CRITICAL_MS: u64 = 3_600_000;
/// Facts of one alert that are named; the rest is counted.
const DETAILS_MAX: usize = 20;
/// Moments of one rule and group that are remembered.
const MOMENTS_MAX: u64 = 10_000;

/// What the program says of a rule that has too many alerts.
const ALERTS_LIMIT_TITLE: &str = "Alert Limit Reached";

/// An alert's key: the rule and the group.
type Key = (Title, Text);

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
    /// When what it watches ceased to hold.
    #[n(20)]
    pub(crate) ceased: Option<Timestamp>,
    /// What makes it hold, each with its fact; none for what is counted by moments.
    #[n(21)]
    pub(crate) open: BTreeMap<Subject, Text>,
    /// How often it was told.
    #[n(22)]
    pub(crate) tellings: u64,
    /// Whether a silence kept it from being told.
    #[n(23)]
    pub(crate) hushed: bool,
    /// Why it is over, if not because what it watches ceased to hold.
    #[n(24)]
    pub why: Text,
    /// Since when what it watches is not reported: it stays as it was.
    #[n(25)]
    pub no_data: Option<Timestamp>,
}

/// What can make an alert hold.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub(crate) enum Subject {
    /// A role, a worker, a queue, a job.
    #[n(0)]
    Target(#[n(0)] Target),
    /// A channel.
    #[n(1)]
    Channel(#[n(0)] Title),
    /// What the program watches by itself.
    #[n(2)]
    Itself,
}

/// What is remembered of a rule and a group, whether or not there is an alert.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub(crate) struct Watched {
    /// When what is counted was seen, within the rule's window, oldest first.
    #[n(0)]
    pub(crate) moments: VecDeque<Timestamp>,
    /// When the alerts before turned, within the time that flapping looks back.
    #[n(1)]
    pub(crate) turns: VecDeque<Timestamp>,
    /// When the returned jobs of the queue that the group names are looked at.
    #[n(2)]
    pub(crate) look: Option<Timestamp>,
    /// When the alert is to be looked at: its entry among what is due.
    #[n(3)]
    pub(crate) due: Option<Timestamp>,
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
    /// What is remembered of each rule and group.
    #[n(4)]
    pub(crate) watched: BTreeMap<(Title, Text), Watched>,
    /// The group whose alert a subject keeps open, for each rule. Derived from `live`.
    #[n(5)]
    #[cbor(default)]
    pub(crate) open: BTreeMap<(Title, Subject), Text>,
}

impl Alert {
    /// Tells whether it is a live one that fires, or has ceased a moment ago.
    fn fires(&self) -> bool {
        matches!(self.state, AlertState::Firing | AlertState::Recovering)
    }

    /// Tells whether the program itself watches for it.
    fn is_raised(&self) -> bool {
        self.version == 0
    }
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

    /// Returns the alerts of one rule that are not over.
    pub(crate) fn of_rule(&self, rule: &Title) -> impl Iterator<Item = &Alert> {
        let from = (rule.clone(), Text::default());
        let rule = rule.clone();
        let all = self.live.range(from..).take_while(move |((title, _), _)| *title == rule);
        all.map(|(_, alert)| alert)
    }

    /// Returns the silences in force.
    pub fn silences(&self) -> impl Iterator<Item = &Silence> {
        self.silences.values()
    }
}
