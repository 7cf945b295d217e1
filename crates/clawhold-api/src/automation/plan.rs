//! Plans: what the sentences of an operator became, one typed operation each.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// One step of a plan: of a fix or a runbook, a view of a command, or the detector of a rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PlanStep {
    /// Its number, from 1.
    pub number: u32,
    /// What it does: `worker.stop_intake`, `show.holder`, `two_leaders`.
    pub operation: String,
    /// What it does it to, as the exact form writes it: `worker=<asked at run>`.
    pub arguments: String,
    /// The sentence that asks for it, as it was typed; empty when it was given in the exact form.
    pub sentence: String,
    /// How the sentence became this step.
    pub reading: Reading,
    /// How much it may do.
    pub class: Class,
    /// What is not understood, in words; empty when all is.
    pub why: String,
    /// The operations that come near, the nearest first.
    pub nearest: Vec<Nearest>,
    /// Milliseconds that it may take; null when the operation's own bound holds.
    pub timeout_ms: Option<u64>,
    /// What happens to the run when it fails.
    pub on_fail: OnFail,
}

/// How a sentence became a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reading {
    /// Every word of it is explained.
    Understood,
    /// It was given in the exact form.
    Exact,
    /// It was accepted as the nearest operation by a person.
    Accepted,
    /// It names an agent, who gets it as a job.
    Agent,
    /// It was not understood; a person confirms it.
    NotUnderstood,
}

impl Reading {
    /// Returns the word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Understood => "understood",
            Self::Exact => "exact",
            Self::Accepted => "accepted",
            Self::Agent => "agent",
            Self::NotUnderstood => "not_understood",
        }
    }
}

/// How much an operation may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// It changes nothing.
    Read,
    /// It is idempotent and fenced by tokens and claims.
    Safe,
    /// It takes something away from one who has it.
    Disruptive,
    /// It acts outside, where nothing fences it.
    External,
}

/// What happens to a run when a step fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnFail {
    /// The run ends as failed.
    #[default]
    Stop,
    /// The next step follows.
    Continue,
    /// A person is asked whether to go on.
    Ask,
}

impl OnFail {
    /// Returns the word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Continue => "continue",
            Self::Ask => "ask",
        }
    }
}

/// An operation that comes near to a sentence that is not understood. It runs only when somebody
/// accepts it: `accept: ["2=1"]` takes the first for the second sentence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Nearest {
    /// Its number among them, from 1.
    pub number: u32,
    /// The operation.
    pub operation: String,
    /// A sentence that means it.
    pub example: String,
}
