//! Alert rules: what is worth a person's attention.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An alert rule. It watches what its action says, or its condition when there is one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AlertRule {
    /// Its name.
    pub name: String,
    /// What it watches and why, in words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub action: String,
    /// What is taken for an action that is not understood, as `1=1` or `1=two_leaders`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accept: Vec<String>,
    /// What it watches, as a condition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// What its alerts are told apart by: `role`, `queue`, `worker` or `job`; the kind of the
    /// watched thing when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub group_by: Vec<String>,
    /// Milliseconds that are looked at together; 5 minutes when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_ms: Option<u64>,
    /// Milliseconds that it must hold before it fires; 0 for what is never to be, else 1 minute,
    /// when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub for_ms: Option<u64>,
    /// Milliseconds for which it goes on firing after it ceased to hold; the window, or 1 minute
    /// without one, when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_ms: Option<u64>,
    /// How bad it is: `critical`, `warning` or `info`; what fits to what it watches when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub severity: Option<String>,
    /// Channels it is told to, besides the routes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notify: Vec<String>,
    /// Rules whose alerts of the same group are not told while this one fires.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inhibits: Vec<String>,
    /// Whether it is in force; as it is, or in force when it is new, when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
}

/// Changes an alert rule. What is absent stays as it is; what is empty is taken away.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AlertRulePatch {
    /// What it watches and why, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// What is taken for an action that is not understood.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accept: Option<Vec<String>>,
    /// What it watches, as a condition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// What its alerts are told apart by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group_by: Option<Vec<String>>,
    /// Milliseconds that are looked at together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_ms: Option<u64>,
    /// Milliseconds that it must hold before it fires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub for_ms: Option<u64>,
    /// Milliseconds for which it goes on firing after it ceased to hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_ms: Option<u64>,
    /// How bad it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub severity: Option<String>,
    /// Channels it is told to, besides the routes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notify: Option<Vec<String>>,
    /// Rules that it keeps quiet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inhibits: Option<Vec<String>>,
    /// The version that is to be changed; whichever it is when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
}
