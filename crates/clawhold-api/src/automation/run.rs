//! Runs: plans under way, one step after the other, and what was decided about fixes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::plan::{OnFail, Reading};
use super::{Noun, Target};
use crate::json::Json;

/// What a run is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// It waits for people to agree.
    Asking,
    /// A step is under way.
    Running,
    /// Every step did what it says.
    Succeeded,
    /// A step failed.
    Failed,
    /// Every step was taken, and of one it is not known how it ended.
    Unknown,
    /// Somebody called it off.
    Cancelled,
    /// The condition cleared while it waited for people to agree.
    Withdrawn,
    /// Nobody answered in time.
    Expired,
    /// Somebody said no.
    Rejected,
}

impl RunState {
    /// Every state.
    pub const ALL: [Self; 9] = [
        Self::Asking,
        Self::Running,
        Self::Succeeded,
        Self::Failed,
        Self::Unknown,
        Self::Cancelled,
        Self::Withdrawn,
        Self::Expired,
        Self::Rejected,
    ];

    /// Tells whether nothing follows.
    #[must_use]
    pub fn is_ended(self) -> bool {
        !matches!(self, Self::Asking | Self::Running)
    }

    /// Returns the word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Asking => "asking",
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
            Self::Cancelled => "cancelled",
            Self::Withdrawn => "withdrawn",
            Self::Expired => "expired",
            Self::Rejected => "rejected",
        }
    }

    /// Returns the state that `word` stands for.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }
}

/// What a step is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepState {
    /// It has not begun.
    Pending,
    /// It is under way.
    Running,
    /// A person or an agent is to do it.
    Waiting,
    /// It did what it says.
    Done,
    /// It did not.
    Failed,
    /// It is not known whether it did.
    Unknown,
    /// It was left out.
    Skipped,
}

impl StepState {
    /// Returns the word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
            Self::Skipped => "skipped",
        }
    }
}

/// One plan under way, or one that has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Run {
    /// Its number.
    pub id: u64,
    /// Whether it is of an auto-fix or a runbook.
    pub kind: Noun,
    /// The name of that.
    pub name: String,
    /// The version of that.
    pub version: u64,
    /// What the fix was about.
    pub target: Option<Target>,
    /// What its steps are about: `role`, `worker`, `queue`, `job`.
    pub params: BTreeMap<String, String>,
    /// Why it was asked for: `condition`, `trigger` or `hand`.
    pub origin: String,
    /// Who asked.
    pub actor: Option<String>,
    /// What it is doing.
    pub state: RunState,
    /// Why it ended, if there is more to say than its state.
    pub why: String,
    /// What it waits for, in words: `two people to agree`, `a person to confirm step 3`; empty when
    /// it waits for nobody.
    pub waits_for: String,
    /// Its steps.
    pub steps: Vec<RunStep>,
    /// The number of the step under way; null when it has not started or has ended.
    pub step: Option<u32>,
    /// The plan's hash, to which an approval is bound.
    pub plan_hash: String,
    /// When it was asked for.
    pub asked: String,
    /// When it started, after people agreed.
    pub started: Option<String>,
    /// When it ended.
    pub ended: Option<String>,
    /// The fields and values that made the condition hold.
    pub evidence: String,
    /// Why limits were set aside, if they were.
    pub override_reason: Option<String>,
    /// What people said.
    pub votes: Vec<Vote>,
    /// When an approval that nobody gave is void.
    pub answer_by: Option<String>,
    /// The jobs that it returned, at most 1000.
    pub returned: Vec<u64>,
    /// How many jobs it returned.
    pub returned_count: u64,
    /// The channels that it tells.
    pub notify: Vec<String>,
}

/// One step of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunStep {
    /// Its number, from 1.
    pub number: u32,
    /// What it does: `worker.stop_intake`.
    pub operation: String,
    /// What it does it to, as the exact form writes it.
    pub arguments: String,
    /// The sentence that asks for it.
    pub sentence: String,
    /// How the sentence became this step.
    pub reading: Reading,
    /// What happens to the run when it fails.
    pub on_fail: OnFail,
    /// What it is doing.
    pub state: StepState,
    /// When it began.
    pub started: Option<String>,
    /// When it ended.
    pub ended: Option<String>,
    /// How often it was tried.
    pub attempts: u32,
    /// What it did and found, a line each, at most 50.
    pub output: Vec<String>,
    /// The job that an agent has for it.
    pub job: Option<u64>,
    /// The message that it sent.
    pub message: Option<u64>,
}

/// One person's word about a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Vote {
    /// Who.
    pub actor: String,
    /// Whether they agree.
    pub agrees: bool,
    /// What they said.
    pub reason: String,
    /// When.
    pub at: String,
}

/// Which runs are wanted, newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct RunQuery {
    /// Only those of this kind: `auto-fix` or `runbook`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Only those of the definition of this name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Only those in this state, or `live` for all that have not ended.
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

/// Runs a fix or a runbook by its name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StartRun {
    /// What it is about, as people call it; the only thing that fits when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Values for `role`, `worker`, `queue` or `job`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub params: BTreeMap<String, String>,
    /// Why the limits of a fix are set aside; they hold when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub override_reason: Option<String>,
}

/// Runs what words start: the trigger of a command or a runbook, and what follows it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RunText {
    /// The words: `/runbook rebalance`.
    pub text: String,
    /// Values for `role`, `worker`, `queue` or `job`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub params: BTreeMap<String, String>,
}

/// What came of words: the answers of a command, or the run of a runbook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Ran {
    /// Whether it was a command or a runbook.
    pub kind: Noun,
    /// The name of that.
    pub name: String,
    /// What is shown, a line each.
    pub lines: Vec<String>,
    /// What each source answered to a command.
    pub answers: Vec<SourceAnswer>,
    /// The run of a runbook.
    pub run: Option<Run>,
}

/// What one source answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SourceAnswer {
    /// The source; null for this server when the command names none.
    pub source: Option<String>,
    /// Whether it answered.
    pub connected: bool,
    /// What it answered, a line each; why not, when it did not.
    pub lines: Vec<String>,
    /// The same as data: an object by the name of each view, such as `show.holder`. Null when it
    /// did not answer.
    pub data: Json,
}

/// Calls a run off. Its current step is not undone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CancelRun {
    /// Why, for those who wonder.
    #[serde(default)]
    pub reason: String,
}

/// Lets a run that has failed, is unknown or was cancelled go on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ResumeRun {
    /// The number of the step to go on from; the one that failed when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<u32>,
}

/// Says yes or no to a run that asks, or to the step that a person confirms.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Decide {
    /// Whether it may go on.
    pub agrees: bool,
    /// What there is to say.
    #[serde(default)]
    pub reason: String,
    /// The hash of the plan that was seen; whichever it is when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_hash: Option<String>,
}

/// One decision about a fix and a target. Repeats of one reason are folded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Decision {
    /// The fix.
    pub name: String,
    /// Its version.
    pub version: u64,
    /// What it was about.
    pub target: Target,
    /// `started`, or the code of what kept it from running: `paused`, `disabled`, `settling`,
    /// `condition_cleared`, `unknown_value`, `target_busy`, `tripped`, `fleet_breaker`,
    /// `cooldown`, `budget`, `awaiting_approval`, `approval_rejected`, `approval_expired`,
    /// `observe_only`, `plan_incomplete` or `no_standby`.
    pub reason: String,
    /// The facts, in words: the limit, when it frees.
    pub detail: String,
    /// The fields and values that made the condition hold.
    pub evidence: String,
    /// When it was decided first.
    pub first: String,
    /// When it was decided last.
    pub last: String,
    /// How often.
    pub count: u64,
    /// The run, if one was asked for.
    pub run: Option<u64>,
    /// When it may run, if that is known.
    pub free_at: Option<String>,
}

/// Which decisions are wanted, newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DecisionQuery {
    /// Only those about this fix.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Only those with this code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// `next_cursor` of the page before; the first page when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Rows wanted, 1 to 1000; 100 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1, maximum = 1000, default = 100)]
    pub limit: Option<u64>,
}
