//! Runbooks: what is done when a person asks.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A runbook. What it does is said in words, in the exact form, or both: the words first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Runbook {
    /// Its name.
    pub name: String,
    /// The words that start it: `/runbook rebalance`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trigger: Option<String>,
    /// What it is found by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// What is done, in words, a sentence each.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub steps: String,
    /// What is done, in the exact form, a step each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub step: Vec<String>,
    /// What is taken for sentences that are not understood, as `2=1` or `2=job.return_held`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accept: Vec<String>,
    /// What happens to a run when a step fails: `stop`, `continue` or `ask`; `stop` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_fail: Option<String>,
    /// Channels it is told to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notify: Vec<String>,
    /// Whether it is in force; as it is, or in force when it is new, when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
}

/// Changes a runbook. What is absent stays as it is; what is empty is taken away.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RunbookPatch {
    /// The words that start it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trigger: Option<String>,
    /// What it is found by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,
    /// What is done, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<String>,
    /// What is done, in the exact form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<Vec<String>>,
    /// What is taken for sentences that are not understood.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accept: Option<Vec<String>>,
    /// What happens to a run when a step fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_fail: Option<String>,
    /// Channels it is told to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notify: Option<Vec<String>>,
    /// The version that is to be changed; whichever it is when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
}
