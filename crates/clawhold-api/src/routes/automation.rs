//! The paths of automation.

use crate::automation::Noun;

/// The paths that every kind of definition has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NounRoutes {
    /// All of the kind.
    pub all: &'static str,
    /// One of them.
    pub one: &'static str,
    /// Puts it in force.
    pub enable: &'static str,
    /// Puts it out of force.
    pub disable: &'static str,
    /// Puts an earlier version in force again.
    pub revert: &'static str,
    /// What became of it.
    pub history: &'static str,
    /// Tries it.
    pub test: &'static str,
}

/// Returns the paths that a kind of definition has.
#[must_use]
pub const fn of(noun: Noun) -> NounRoutes {
    match noun {
        Noun::Agent => AGENTS,
        Noun::Command => COMMANDS,
        Noun::AlertRule => ALERT_RULES,
        Noun::AlertRoute => ALERT_ROUTES,
        Noun::AutoFix => AUTO_FIXES,
        Noun::Runbook => RUNBOOKS,
        Noun::Channel => CHANNELS,
        Noun::Source => SOURCES,
    }
}

/// The paths of agents.
pub const AGENTS: NounRoutes = NounRoutes {
    all: "/v1/agents",
    one: "/v1/agents/{name}",
    enable: "/v1/agents/{name}/enable",
    disable: "/v1/agents/{name}/disable",
    revert: "/v1/agents/{name}/revert",
    history: "/v1/agents/{name}/history",
    test: "/v1/agents/{name}/test",
};
/// The paths of commands.
pub const COMMANDS: NounRoutes = NounRoutes {
    all: "/v1/commands",
    one: "/v1/commands/{name}",
    enable: "/v1/commands/{name}/enable",
    disable: "/v1/commands/{name}/disable",
    revert: "/v1/commands/{name}/revert",
    history: "/v1/commands/{name}/history",
    test: "/v1/commands/{name}/test",
};
/// The paths of alert rules.
pub const ALERT_RULES: NounRoutes = NounRoutes {
    all: "/v1/alert-rules",
    one: "/v1/alert-rules/{name}",
    enable: "/v1/alert-rules/{name}/enable",
    disable: "/v1/alert-rules/{name}/disable",
    revert: "/v1/alert-rules/{name}/revert",
    history: "/v1/alert-rules/{name}/history",
    test: "/v1/alert-rules/{name}/test",
};
/// The paths of alert routes.
pub const ALERT_ROUTES: NounRoutes = NounRoutes {
    all: "/v1/alert-routes",
    one: "/v1/alert-routes/{name}",
    enable: "/v1/alert-routes/{name}/enable",
    disable: "/v1/alert-routes/{name}/disable",
    revert: "/v1/alert-routes/{name}/revert",
    history: "/v1/alert-routes/{name}/history",
    test: "/v1/alert-routes/{name}/test",
};
/// The paths of auto-fixes.
pub const AUTO_FIXES: NounRoutes = NounRoutes {
    all: "/v1/auto-fixes",
    one: "/v1/auto-fixes/{name}",
    enable: "/v1/auto-fixes/{name}/enable",
    disable: "/v1/auto-fixes/{name}/disable",
    revert: "/v1/auto-fixes/{name}/revert",
    history: "/v1/auto-fixes/{name}/history",
    test: "/v1/auto-fixes/{name}/test",
};
/// The paths of runbooks.
pub const RUNBOOKS: NounRoutes = NounRoutes {
    all: "/v1/runbooks",
    one: "/v1/runbooks/{name}",
    enable: "/v1/runbooks/{name}/enable",
    disable: "/v1/runbooks/{name}/disable",
    revert: "/v1/runbooks/{name}/revert",
    history: "/v1/runbooks/{name}/history",
    test: "/v1/runbooks/{name}/test",
};
/// The paths of channels.
pub const CHANNELS: NounRoutes = NounRoutes {
    all: "/v1/channels",
    one: "/v1/channels/{name}",
    enable: "/v1/channels/{name}/enable",
    disable: "/v1/channels/{name}/disable",
    revert: "/v1/channels/{name}/revert",
    history: "/v1/channels/{name}/history",
    test: "/v1/channels/{name}/test",
};
/// The paths of sources.
pub const SOURCES: NounRoutes = NounRoutes {
    all: "/v1/sources",
    one: "/v1/sources/{name}",
    enable: "/v1/sources/{name}/enable",
    disable: "/v1/sources/{name}/disable",
    revert: "/v1/sources/{name}/revert",
    history: "/v1/sources/{name}/history",
    test: "/v1/sources/{name}/test",
};
/// Tells an agent something more.
pub const AGENT_MESSAGES: &str = "/v1/agents/{name}/messages";
/// Plays the log again for an alert rule.
pub const ALERT_RULE_BACKTEST: &str = "/v1/alert-rules/{name}/backtest";
/// Plays the log again for an auto-fix.
pub const AUTO_FIX_BACKTEST: &str = "/v1/auto-fixes/{name}/backtest";
/// Runs an auto-fix.
pub const AUTO_FIX_RUN: &str = "/v1/auto-fixes/{name}/run";
/// Forgets the failures and used-up limits of an auto-fix.
pub const AUTO_FIX_RESET: &str = "/v1/auto-fixes/{name}/reset";
/// Runs a runbook.
pub const RUNBOOK_RUN: &str = "/v1/runbooks/{name}/run";
/// Runs what words start.
pub const RUN_TEXT: &str = "/v1/run";
/// Runs.
pub const RUNS: &str = "/v1/runs";
/// One run.
pub const RUN: &str = "/v1/runs/{run}";
/// Calls a run off.
pub const RUN_CANCEL: &str = "/v1/runs/{run}/cancel";
/// Lets a run go on.
pub const RUN_RESUME: &str = "/v1/runs/{run}/resume";
/// Says yes or no to a run that asks.
pub const RUN_DECIDE: &str = "/v1/runs/{run}/decide";
/// What was decided about auto-fixes.
pub const DECISIONS: &str = "/v1/decisions";
/// Alerts.
pub const ALERTS: &str = "/v1/alerts";
/// One alert.
pub const ALERT: &str = "/v1/alerts/{alert}";
/// Says that somebody looks at an alert.
pub const ALERT_ACK: &str = "/v1/alerts/{alert}/ack";
/// Silences.
pub const SILENCES: &str = "/v1/silences";
/// One silence.
pub const SILENCE: &str = "/v1/silences/{silence}";
/// Messages.
pub const INBOX: &str = "/v1/inbox";
/// Says how far the inbox was read.
pub const INBOX_READ: &str = "/v1/inbox/read";
/// One message.
pub const INBOX_MESSAGE: &str = "/v1/inbox/messages/{message}";
/// Messages on their way to sinks.
pub const DELIVERIES: &str = "/v1/deliveries";
/// Tries a message again.
pub const DELIVERY_RETRY: &str = "/v1/deliveries/{message}/retry";
/// All automation, in numbers.
pub const AUTOMATION: &str = "/v1/automation";
/// Lets no run start of itself.
pub const AUTOMATION_PAUSE: &str = "/v1/automation/pause";
/// Lets runs start of themselves again.
pub const AUTOMATION_UNPAUSE: &str = "/v1/automation/unpause";
/// Checks a condition.
pub const CONDITION_CHECK: &str = "/v1/conditions/check";
/// The fields that conditions may read.
pub const CONDITION_FIELDS: &str = "/v1/conditions/fields";
/// Explains a condition.
pub const CONDITION_EXPLAIN: &str = "/v1/conditions/explain";
/// Definitions as one document.
pub const EXPORT: &str = "/v1/export";
/// Makes definitions as in a document.
pub const IMPORT: &str = "/v1/import";
/// Requests of Slack for a channel: slash commands, signed by it.
pub const HOOK_SLACK: &str = "/v1/hooks/slack/{channel}";
/// Updates of a Telegram bot for a channel.
pub const HOOK_TELEGRAM: &str = "/v1/hooks/telegram/{channel}";
/// Signed requests of anything else for a channel.
pub const HOOK: &str = "/v1/hooks/{channel}";

/// Every path of automation that is not in [`NounRoutes`].
pub const ALL: &[&str] = &[
    AGENT_MESSAGES,
    ALERT_RULE_BACKTEST,
    AUTO_FIX_BACKTEST,
    AUTO_FIX_RUN,
    AUTO_FIX_RESET,
    RUNBOOK_RUN,
    RUN_TEXT,
    RUNS,
    RUN,
    RUN_CANCEL,
    RUN_RESUME,
    RUN_DECIDE,
    DECISIONS,
    ALERTS,
    ALERT,
    ALERT_ACK,
    SILENCES,
    SILENCE,
    INBOX,
    INBOX_READ,
    INBOX_MESSAGE,
    DELIVERIES,
    DELIVERY_RETRY,
    AUTOMATION,
    AUTOMATION_PAUSE,
    AUTOMATION_UNPAUSE,
    CONDITION_CHECK,
    CONDITION_FIELDS,
    CONDITION_EXPLAIN,
    EXPORT,
    IMPORT,
    HOOK_SLACK,
    HOOK_TELEGRAM,
    HOOK,
];

/// Returns every path of automation.
pub fn all() -> impl Iterator<Item = &'static str> {
    let nouns = Noun::ALL.into_iter().map(of).flat_map(|noun| {
        let NounRoutes { all, one, enable, disable, revert, history, test } = noun;
        [all, one, enable, disable, revert, history, test]
    });
    nouns.chain(ALL.iter().copied())
}
