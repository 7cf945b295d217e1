//! Automation: what operators have told the program, what ran, what alerts, and what was said.

pub mod alert;
pub mod condition;
pub mod definition;
pub mod inbox;
pub mod plan;
pub mod run;
pub mod transfer;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A kind of definition.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Noun {
    /// Who does jobs that are written in words.
    Agent,
    /// What is answered to a word in a chat or a shell.
    Command,
    /// What is worth a person's attention.
    AlertRule,
    /// Where alerts go.
    AlertRoute,
    /// What is done when a condition holds.
    AutoFix,
    /// What is done when a person asks.
    Runbook,
    /// Where messages go.
    Channel,
    /// A cluster that commands ask.
    Source,
}

impl Noun {
    /// Every kind, in the order in which an export lists them.
    pub const ALL: [Self; 8] = [
        Self::Agent,
        Self::Command,
        Self::AlertRule,
        Self::AlertRoute,
        Self::AutoFix,
        Self::Runbook,
        Self::Channel,
        Self::Source,
    ];

    /// Returns the word for this kind, as people type it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Command => "command",
            Self::AlertRule => "alert-rule",
            Self::AlertRoute => "alert-route",
            Self::AutoFix => "auto-fix",
            Self::Runbook => "runbook",
            Self::Channel => "channel",
            Self::Source => "source",
        }
    }

    /// Returns the word for several of this kind, as paths use it.
    #[must_use]
    pub fn plural(self) -> &'static str {
        match self {
            Self::Agent => "agents",
            Self::Command => "commands",
            Self::AlertRule => "alert-rules",
            Self::AlertRoute => "alert-routes",
            Self::AutoFix => "auto-fixes",
            Self::Runbook => "runbooks",
            Self::Channel => "channels",
            Self::Source => "sources",
        }
    }

    /// Returns the kind that `word` stands for.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|noun| noun.as_str() == word)
    }
}

impl std::fmt::Display for Noun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a rule, a fix, a run or an alert is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Target {
    /// `role`, `worker`, `queue` or `job`.
    pub kind: String,
    /// What people call it.
    pub name: String,
    /// Its number, when it is a worker or a job.
    pub id: Option<u64>,
}

/// All automation, in numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AutomationStatus {
    /// The pause in force; null when runs start of themselves.
    pub paused: Option<AutomationPause>,
    /// Runs that have not ended.
    pub runs_live: u64,
    /// Runs that wait for people to agree.
    pub runs_asking: u64,
    /// Alerts that fire.
    pub alerts_firing: u64,
    /// Messages that nobody has read.
    pub unread: u64,
    /// Messages on their way to a sink.
    pub deliveries_waiting: u64,
    /// Messages that no sink took.
    pub deliveries_failed: u64,
    /// Milliseconds until a server that has just taken over starts runs of itself; 0 when it does.
    pub settling_ms: u64,
}

/// A pause of all automation: no run starts of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AutomationPause {
    /// Since when.
    pub since: String,
    /// When it ends by itself; null when it is to be taken back.
    pub until: Option<String>,
    /// Why.
    pub reason: String,
    /// Who paused it.
    pub actor: Option<String>,
}

/// Lets no run start of itself. Runs under way go on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PauseAutomation {
    /// Milliseconds; until it is taken back when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub for_ms: Option<u64>,
    /// Why, for those who wonder.
    #[serde(default)]
    pub reason: String,
}
