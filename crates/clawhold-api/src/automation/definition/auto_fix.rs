//! Auto-fixes: what is done when a condition holds, under which limits.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::automation::Target;

/// An auto-fix. What it does is said in words, in the exact form, or both: the words first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AutoFix {
    /// Its name.
    pub name: String,
    /// When: `worker.leaving = true and worker.held_jobs > 0`.
    pub condition: String,
    /// What, in words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub action: String,
    /// What, in the exact form: `job.return_held worker=trigger.worker`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<String>,
    /// What is taken for sentences that are not understood, as `2=1` or `2=job.return_held`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accept: Vec<String>,
    /// Who is asked: `auto` for nobody, `ask`, `ask:2`, `ask:@group`, or `never`; `ask` when
    /// absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<String>,
    /// Milliseconds that an approval waits for an answer; 30 minutes when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_expiry_ms: Option<u64>,
    /// Whether whoever last edited it may not approve it.
    #[serde(default)]
    pub four_eyes: bool,
    /// Whether it only says that it would have run.
    #[serde(default)]
    pub observe: bool,
    /// Channels it is told to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notify: Vec<String>,
    /// How many runs may start within any such period: `6 per day`. All of them hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub max_runs: Vec<String>,
    /// The same, for each target by itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub max_runs_per_target: Vec<String>,
    /// How long it rests on a target after a run: `15m`; `5m per rule` on every target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cooldown: Option<String>,
    /// What happens to a run when a step fails: `stop`, `continue` or `ask`; `stop` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_fail: Option<String>,
    /// Whether it is in force; as it is, or in force when it is new, when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
}

/// Changes an auto-fix. What is absent stays as it is; what is empty is taken away.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AutoFixPatch {
    /// When.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// What, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// What, in the exact form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<Vec<String>>,
    /// What is taken for sentences that are not understood.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accept: Option<Vec<String>>,
    /// Who is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<String>,
    /// Milliseconds that an approval waits for an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_expiry_ms: Option<u64>,
    /// Whether whoever last edited it may not approve it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub four_eyes: Option<bool>,
    /// Whether it only says that it would have run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observe: Option<bool>,
    /// Channels it is told to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notify: Option<Vec<String>>,
    /// How many runs may start within any such period.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_runs: Option<Vec<String>>,
    /// The same, for each target by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_runs_per_target: Option<Vec<String>>,
    /// How long it rests after a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cooldown: Option<String>,
    /// What happens to a run when a step fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_fail: Option<String>,
    /// The version that is to be changed; whichever it is when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
}

/// Where an auto-fix stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FixState {
    /// What is left of each of its limits, in words: `4 of 6 per day left`.
    pub left: Vec<String>,
    /// When a limit that is used up frees; null when none is.
    pub free_at: Option<String>,
    /// What is known of its targets, at most 100: where its condition holds, where it rests or is
    /// tripped.
    pub targets: Vec<FixTarget>,
}

/// What is known of one fix and one target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FixTarget {
    /// The target.
    pub target: Target,
    /// Since when the condition holds; null when it does not.
    pub since: Option<String>,
    /// What was decided last, by its code; null when nothing was.
    pub reason: Option<String>,
    /// The facts of that.
    pub detail: String,
    /// When it may run, if that is known.
    pub free_at: Option<String>,
    /// When the last run ended.
    pub last_ended: Option<String>,
    /// Runs that failed in a row.
    pub failures: u32,
    /// Since when it is tripped; null when it is not.
    pub tripped: Option<String>,
}

/// Forgets the failures and used-up limits of a fix.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ResetFix {
    /// The target, as people call it; all of them when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
}
