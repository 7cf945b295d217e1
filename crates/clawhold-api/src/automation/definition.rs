//! Definitions: what operators have told the program, by kind and name, with every version.
//!
//! The body that adds one is the body that shows it and that a file carries, so what was exported
//! can be imported. A change names only what it changes.

mod agent;
mod alert_route;
mod alert_rule;
mod auto_fix;
mod channel;
mod command;
mod runbook;
mod source;

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::alert::Alert;
use super::plan::PlanStep;
use super::run::{Decision, Run};
use super::{Noun, Target};
use crate::json::Json;

pub use agent::{Agent, AgentPatch, AppendMessage};
pub use alert_route::{AlertRoute, AlertRoutePatch};
pub use alert_rule::{AlertRule, AlertRulePatch};
pub use auto_fix::{AutoFix, AutoFixPatch, FixState, FixTarget, ResetFix};
pub use channel::{Channel, ChannelPatch, ChatUser, HIDDEN, Sink};
pub use command::{Command, CommandPatch};
pub use runbook::{Runbook, RunbookPatch};
pub use source::{Source, SourcePatch};

/// What a definition says, in the form in which it is added and exported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Spec {
    /// An agent.
    Agent(Agent),
    /// A command.
    Command(Command),
    /// An alert rule.
    AlertRule(AlertRule),
    /// An alert route.
    AlertRoute(AlertRoute),
    /// An auto-fix.
    AutoFix(AutoFix),
    /// A runbook.
    Runbook(Runbook),
    /// A channel.
    Channel(Channel),
    /// A source.
    Source(Source),
}

impl Spec {
    /// Returns the kind that it is of.
    #[must_use]
    pub fn noun(&self) -> Noun {
        match self {
            Self::Agent(_) => Noun::Agent,
            Self::Command(_) => Noun::Command,
            Self::AlertRule(_) => Noun::AlertRule,
            Self::AlertRoute(_) => Noun::AlertRoute,
            Self::AutoFix(_) => Noun::AutoFix,
            Self::Runbook(_) => Noun::Runbook,
            Self::Channel(_) => Noun::Channel,
            Self::Source(_) => Noun::Source,
        }
    }

    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Agent(agent) => &agent.name,
            Self::Command(command) => &command.name,
            Self::AlertRule(rule) => &rule.name,
            Self::AlertRoute(route) => &route.name,
            Self::AutoFix(fix) => &fix.name,
            Self::Runbook(runbook) => &runbook.name,
            Self::Channel(channel) => &channel.name,
            Self::Source(source) => &source.name,
        }
    }
}

/// One definition, as it is now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Definition {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: Noun,
    /// Whether it is in force.
    pub enabled: bool,
    /// The version in force. Rises with every change. 0 for what would be added.
    pub version: u64,
    /// When it was made.
    pub created: String,
    /// When it was last changed.
    pub changed: String,
    /// What it says.
    pub spec: Spec,
    /// What its sentences became: steps, views, or what is watched. Empty for kinds without.
    pub plan: Vec<PlanStep>,
    /// The hash of the plan, to which an approval is bound; empty without a plan that runs.
    pub plan_hash: String,
    /// What is not as the operator may expect, a sentence each: not connected, not understood.
    pub warnings: Vec<String>,
    /// What else there is to know, a sentence each.
    pub notes: Vec<String>,
    /// Where an auto-fix stands; null for every other kind.
    pub fix: Option<FixState>,
}

/// How a definition is added or changed.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema, IntoParams,
)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DefineQuery {
    /// Whether what is not understood is refused; it is kept as a step for a person when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strict: Option<bool>,
    /// Whether nothing is kept and the answer only shows what would be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dry_run: Option<bool>,
}

/// What came of a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Defined {
    /// Whether it is new.
    pub added: bool,
    /// Whether anything is different.
    pub changed: bool,
    /// What is different, field by field; empty when it is new.
    pub difference: Vec<FieldChange>,
    /// The definition as it is now.
    pub definition: Definition,
}

/// One field of a definition that is different.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FieldChange {
    /// The field.
    pub field: String,
    /// What it said; null when it said nothing.
    pub before: Json,
    /// What it says; null when it says nothing.
    pub after: Json,
}

/// Which definitions are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DefinitionQuery {
    /// Only those that bear this tag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// Only those in whose name or text this occurs, in any case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<String>,
    /// `next_cursor` of the page before; the first page when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Rows wanted, 1 to 1000; 100 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1, maximum = 1000, default = 100)]
    pub limit: Option<u64>,
}

/// Puts an earlier version in force again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Revert {
    /// The version.
    pub to: u64,
}

/// What became of a definition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct History {
    /// The latest versions, oldest first, at most 20.
    pub versions: Vec<Version>,
    /// The latest runs, oldest first, at most 100: of an auto-fix or a runbook.
    pub runs: Vec<Run>,
    /// The latest decisions, oldest first, at most 100: of an auto-fix.
    pub decisions: Vec<Decision>,
    /// The latest alerts, oldest first, at most 100: of an alert rule.
    pub alerts: Vec<Alert>,
}

/// One version of a definition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Version {
    /// Its number.
    pub number: u64,
    /// When it was made.
    pub at: String,
    /// Who made it.
    pub actor: Option<String>,
    /// What was done: `added`, `edited`, `enabled`, `disabled`, `imported` or
    /// `reverted to version 3`.
    pub act: String,
    /// What it says.
    pub spec: Spec,
    /// What is different from the version before, field by field.
    pub difference: Vec<FieldChange>,
}

/// Tries a definition. A fix or a runbook is only shown as it would run; a command is answered; a
/// channel or a route gets a message; a source is asked who it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Test {
    /// The target that is meant, as people call it; all that match when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
}

/// What came of a try.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Tested {
    /// Whether it does, or would do, what it says.
    pub ok: bool,
    /// What was seen, a line each.
    pub lines: Vec<String>,
    /// For a fix: each target, and what would be decided.
    pub targets: Vec<TestedTarget>,
    /// The steps with the arguments that they would get.
    pub plan: Vec<PlanStep>,
}

/// One target of a fix that was tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TestedTarget {
    /// The target.
    pub target: Target,
    /// Whether the condition holds: `true`, `false` or `unknown`.
    pub verdict: String,
    /// The fields and their values.
    pub evidence: String,
    /// What would be decided: `started`, or the code of what keeps it from running.
    pub reason: String,
    /// The facts.
    pub detail: String,
}

/// Plays the log again and tells what a rule or a fix would have done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Backtest {
    /// Milliseconds to look back; 24 hours when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_ms: Option<u64>,
}

/// What a rule or a fix would have done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Backtested {
    /// From when the log was played.
    pub from: String,
    /// Until when.
    pub to: String,
    /// Entries that were played.
    pub entries: u64,
    /// Entries in which the fields that it reads had a value.
    pub entries_with_fields: u64,
    /// How often it would have fired, or its condition became true.
    pub matches: u64,
    /// What would have been decided how often, by code; `started` for runs. Empty for a rule.
    pub decided: Vec<DecidedCount>,
    /// The moments, oldest first, at most 100.
    pub moments: Vec<BacktestMoment>,
}

/// How often something would have been decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DecidedCount {
    /// The code.
    pub reason: String,
    /// How often.
    pub count: u64,
}

/// One moment at which a rule would have fired or a fix would have been looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BacktestMoment {
    /// When.
    pub at: String,
    /// About what.
    pub target: String,
    /// The code of what would have been decided, or `firing`.
    pub reason: String,
    /// The facts.
    pub detail: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_definition_says_reads_back_as_it_was_written() {
        let text = r##"{"kind":"auto-fix","name":"Promote Standby","condition":"lease.expired == true","action":"Promote the warm standby.","four_eyes":false,"observe":false,"notify":["#ops-info"],"max_runs":["6 per day"],"cooldown":"15m"}"##;
        let spec: Spec = serde_json::from_str(text).unwrap();
        assert_eq!((spec.noun(), spec.name()), (Noun::AutoFix, "Promote Standby"));
        assert_eq!(serde_json::to_string(&spec).unwrap(), text);
    }

    #[test]
    fn a_field_that_is_mistyped_is_refused_inside_a_definition_as_well() {
        let text = r#"{"kind":"runbook","name":"Rebalance","stepz":"Stop the worker."}"#;
        let error = serde_json::from_str::<Spec>(text).unwrap_err().to_string();
        assert!(error.contains("stepz"), "{error}");
        let text = r#"{"name":"x","sink":{"kind":"slack","uri":"https://example.org"}}"#;
        let error = serde_json::from_str::<Channel>(text).unwrap_err().to_string();
        assert!(error.contains("uri"), "{error}");
    }
}
