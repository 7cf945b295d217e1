//! Alerts: what deserves a person's attention, and the silences that keep it from being told.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// Where an alert is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AlertState {
    /// What it watches holds, not yet for long enough.
    Pending,
    /// It fires.
    Firing,
    /// What it watches has ceased to hold, not yet for long enough.
    Recovering,
    /// It is over.
    Resolved,
}

impl AlertState {
    /// Returns the word for it.
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Alert {
    /// Its number.
    pub id: u64,
    /// The rule, or the name of what the program itself watches.
    pub rule: String,
    /// The version of the rule; 0 for what the program itself watches.
    pub version: u64,
    /// What the group is: `role`, `queue`, `worker` or `job`; null when there is one for all.
    pub group_by: Option<String>,
    /// The group's name.
    pub group: String,
    /// How bad it is: `critical`, `warning` or `info`.
    pub severity: String,
    /// Where it is.
    pub state: AlertState,
    /// What is wrong, in one line.
    pub summary: String,
    /// The facts, a line each, the latest.
    pub details: Vec<String>,
    /// Since when it holds.
    pub since: String,
    /// When it fired.
    pub fired: Option<String>,
    /// When it was over.
    pub ended: Option<String>,
    /// When what it watches was last seen.
    pub seen: String,
    /// How often that was seen.
    pub count: u64,
    /// Who has said that they look at it.
    pub acked_by: Option<String>,
    /// When they said so.
    pub acked: Option<String>,
    /// The silence that keeps it from being told.
    pub silence: Option<u64>,
    /// The rule that keeps it from being told while it fires itself.
    pub inhibited_by: Option<String>,
    /// Whether it changes between firing and not too often to be told each time.
    pub flapping: bool,
    /// Since when what it watches is not reported: it stays as it was.
    #[serde(default)]
    pub no_data: Option<String>,
    /// Where it is told.
    pub channels: Vec<String>,
}

/// Which alerts are wanted: those that are not over first, then the newest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct AlertQuery {
    /// Only those of this rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Only those in this state: `pending`, `firing`, `recovering`, `resolved`, or `all`; those
    /// that are not over when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// `next_cursor` of the page before; the first page when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Rows wanted, 1 to 1000; 100 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1, maximum = 1000, default = 100)]
    pub limit: Option<u64>,
}

/// A silence: alerts that are not told for a while.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Silence {
    /// Its number.
    pub id: u64,
    /// The rule; null for all of them.
    pub rule: Option<String>,
    /// The group; null for all of them.
    pub group: Option<String>,
    /// Why.
    pub reason: String,
    /// When it ends.
    pub until: String,
    /// Whether it ends as soon as what it silences is over.
    pub until_resolved: bool,
    /// Who made it.
    pub actor: Option<String>,
    /// When it was made.
    pub created: String,
}

/// Keeps alerts from being told for a while. It has an end and a reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AddSilence {
    /// The rule; all of them when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The group; all of them when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Why.
    pub reason: String,
    /// Milliseconds that it lasts, 1 to 30 days.
    pub for_ms: u64,
    /// Whether it ends as soon as what it silences is over.
    #[serde(default)]
    pub until_resolved: bool,
}
