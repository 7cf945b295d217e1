//! Conditions: checked, explained, and the fields that they may read.
//!
//! A condition that is wrong is a `bad_condition` problem, whose `lines` show the text with a caret
//! under the place.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Target;

/// Checks a condition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckCondition {
    /// The condition.
    pub condition: String,
}

/// A condition that is right.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CheckedCondition {
    /// As it was typed.
    pub condition: String,
    /// In the one form that every spelling has.
    pub canonical: String,
    /// What it is about: `role`, `worker`, `queue` or `job`; null when it is about the whole.
    pub target: Option<String>,
    /// The fields that it reads.
    pub fields: Vec<String>,
}

/// The fields that conditions may read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConditionFields {
    /// The fields, by name.
    pub items: Vec<ConditionField>,
}

/// One field that conditions may read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConditionField {
    /// Its name: `worker.held_jobs`.
    pub name: String,
    /// The type of its value: `bool`, `int`, `string`, `duration` and the like.
    pub kind: String,
    /// What it tells.
    pub about: String,
    /// The values that it may have, where there are few.
    pub values: Vec<String>,
}

/// Explains a condition: what it says of each target, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ExplainCondition {
    /// The condition.
    pub condition: String,
    /// The target that is meant, as people call it; all of them, at most 100, when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
}

/// What a condition says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ExplainedCondition {
    /// In the one form that every spelling has.
    pub canonical: String,
    /// What it says of each target, at most 100.
    pub targets: Vec<ExplainedTarget>,
    /// How many targets there are.
    pub targets_count: u64,
}

/// What a condition says of one target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ExplainedTarget {
    /// The target; null when the condition is about the whole.
    pub target: Option<Target>,
    /// `true`, `false` or `unknown`.
    pub verdict: String,
    /// The parts and the fields with their values, a line each.
    pub lines: Vec<String>,
}
