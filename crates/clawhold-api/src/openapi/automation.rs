//! What the document says of automation.

use utoipa::ToSchema;

use super::operation::Operation;
use crate::automation::{
    AutomationStatus, Noun, PauseAutomation, alert, condition, definition, inbox, run, transfer,
};
use crate::page::{Done, Nothing};
use crate::routes::automation as routes;

/// Returns what every kind of definition has.
pub(super) fn about_definitions() -> Vec<Operation> {
    let bodies = [
        bodies::<definition::Agent, definition::AgentPatch>(Noun::Agent),
        bodies::<definition::Command, definition::CommandPatch>(Noun::Command),
        bodies::<definition::AlertRule, definition::AlertRulePatch>(Noun::AlertRule),
        bodies::<definition::AlertRoute, definition::AlertRoutePatch>(Noun::AlertRoute),
        bodies::<definition::AutoFix, definition::AutoFixPatch>(Noun::AutoFix),
        bodies::<definition::Runbook, definition::RunbookPatch>(Noun::Runbook),
        bodies::<definition::Channel, definition::ChannelPatch>(Noun::Channel),
        bodies::<definition::Source, definition::SourcePatch>(Noun::Source),
    ];
    let acts = Noun::ALL.into_iter().flat_map(acts);
    bodies.into_iter().flatten().chain(acts).collect()
}

/// Returns how definitions of one kind are added and changed.
fn bodies<Body: ToSchema, Patch: ToSchema>(noun: Noun) -> Vec<Operation> {
    let paths = routes::of(noun);
    vec![
        Operation::post(paths.all, &format!("Adds: {noun}"))
            .query::<definition::DefineQuery>()
            .body::<Body>()
            .reply::<definition::Defined>(),
        Operation::patch(paths.one, &format!("Changes what is named: {noun}"))
            .query::<definition::DefineQuery>()
            .body::<Patch>()
            .reply::<definition::Defined>(),
    ]
}

/// Returns what else is done with definitions of one kind.
fn acts(noun: Noun) -> Vec<Operation> {
    let (get, post) = (Operation::get, Operation::post);
    let paths = routes::of(noun);
    vec![
        get(paths.all, &format!("Lists: {noun}"))
            .query::<definition::DefinitionQuery>()
            .rows::<definition::Definition>(),
        get(paths.one, &format!("Shows: {noun}")).reply::<definition::Definition>(),
        Operation::delete(paths.one, &format!("Removes: {noun}")).reply::<Done>(),
        post(paths.enable, &format!("Puts in force: {noun}"))
            .body::<Nothing>()
            .reply::<definition::Defined>(),
        post(paths.disable, &format!("Puts out of force: {noun}"))
            .body::<Nothing>()
            .reply::<definition::Defined>(),
        post(paths.revert, &format!("Puts an earlier version in force again: {noun}"))
            .body::<definition::Revert>()
            .reply::<definition::Defined>(),
        get(paths.history, &format!("Tells what became of it: {noun}"))
            .reply::<definition::History>(),
        post(paths.test, &format!("Tries it: {noun}"))
            .body::<definition::Test>()
            .reply::<definition::Tested>(),
    ]
}

/// Returns what only some kinds of definitions have, and files of them.
pub(super) fn about_nouns() -> Vec<Operation> {
    let (get, post) = (Operation::get, Operation::post);
    vec![
        post(routes::AGENT_MESSAGES, "Tells an agent something more with each job")
            .body::<definition::AppendMessage>()
            .reply::<definition::Defined>(),
        Operation::report(routes::ALERT_RULE_BACKTEST, "Plays the log again for an alert rule")
            .body::<definition::Backtest>()
            .reply::<definition::Backtested>(),
        Operation::report(routes::AUTO_FIX_BACKTEST, "Plays the log again for an auto-fix")
            .body::<definition::Backtest>()
            .reply::<definition::Backtested>(),
        post(routes::AUTO_FIX_RUN, "Runs an auto-fix").body::<run::StartRun>().reply::<run::Run>(),
        post(routes::AUTO_FIX_RESET, "Forgets the failures and used-up limits of an auto-fix")
            .body::<definition::ResetFix>()
            .reply::<definition::Definition>(),
        post(routes::RUNBOOK_RUN, "Runs a runbook").body::<run::StartRun>().reply::<run::Run>(),
        get(routes::EXPORT, "Definitions as one document")
            .query::<transfer::ExportQuery>()
            .reply::<transfer::Definitions>(),
        post(routes::IMPORT, "Makes definitions as in a document, all or none")
            .body::<transfer::Import>()
            .reply::<transfer::Imported>(),
    ]
}

/// Returns what is about runs, decisions and the pause of all.
pub(super) fn about_runs() -> Vec<Operation> {
    let (get, post) = (Operation::get, Operation::post);
    vec![
        post(routes::RUN_TEXT, "Runs what words start").body::<run::RunText>().reply::<run::Ran>(),
        get(routes::RUNS, "Lists runs, newest first").query::<run::RunQuery>().rows::<run::Run>(),
        get(routes::RUN, "Shows a run").reply::<run::Run>(),
        post(routes::RUN_CANCEL, "Calls a run off").body::<run::CancelRun>().reply::<run::Run>(),
        post(routes::RUN_RESUME, "Lets a run go on").body::<run::ResumeRun>().reply::<run::Run>(),
        post(routes::RUN_DECIDE, "Says yes or no to a run that asks")
            .body::<run::Decide>()
            .reply::<run::Run>(),
        get(routes::DECISIONS, "Lists what was decided about auto-fixes, newest first")
            .query::<run::DecisionQuery>()
            .rows::<run::Decision>(),
        get(routes::AUTOMATION, "All automation, in numbers").reply::<AutomationStatus>(),
        post(routes::AUTOMATION_PAUSE, "Lets no run start of itself")
            .body::<PauseAutomation>()
            .reply::<AutomationStatus>(),
        post(routes::AUTOMATION_UNPAUSE, "Lets runs start of themselves again")
            .body::<Nothing>()
            .reply::<AutomationStatus>(),
    ]
}

/// Returns what is about alerts, messages and chats.
pub(super) fn about_messages() -> Vec<Operation> {
    let (get, post) = (Operation::get, Operation::post);
    vec![
        get(routes::ALERTS, "Lists alerts").query::<alert::AlertQuery>().rows::<alert::Alert>(),
        get(routes::ALERT, "Shows an alert").reply::<alert::Alert>(),
        post(routes::ALERT_ACK, "Says that somebody looks at an alert")
            .body::<Nothing>()
            .reply::<alert::Alert>(),
        get(routes::SILENCES, "Lists the silences in force")
            .query::<crate::page::PageQuery>()
            .rows::<alert::Silence>(),
        post(routes::SILENCES, "Keeps alerts from being told for a while")
            .body::<alert::AddSilence>()
            .reply::<alert::Silence>(),
        Operation::delete(routes::SILENCE, "Ends a silence").reply::<Done>(),
        get(routes::INBOX, "Lists messages").query::<inbox::InboxQuery>().rows::<inbox::Message>(),
        post(routes::INBOX_READ, "Says how far the inbox was read")
            .body::<inbox::ReadInbox>()
            .reply::<inbox::InboxState>(),
        get(routes::INBOX_MESSAGE, "Shows a message").reply::<inbox::Message>(),
        get(routes::DELIVERIES, "Lists messages on their way to sinks, and those that none took")
            .query::<inbox::DeliveryQuery>()
            .rows::<inbox::Delivery>(),
        post(routes::DELIVERY_RETRY, "Tries a message again")
            .body::<Nothing>()
            .reply::<inbox::Delivery>(),
        Operation::report(routes::HOOK_SLACK, "Takes a slash command of Slack")
            .text("application/json"),
        Operation::report(routes::HOOK_TELEGRAM, "Takes an update of a Telegram bot")
            .text("application/json"),
        Operation::report(routes::HOOK, "Takes a signed request")
            .body::<run::RunText>()
            .reply::<run::Ran>(),
    ]
}

/// Returns what is about conditions.
pub(super) fn about_conditions() -> Vec<Operation> {
    vec![
        Operation::report(routes::CONDITION_CHECK, "Checks a condition")
            .body::<condition::CheckCondition>()
            .reply::<condition::CheckedCondition>(),
        Operation::get(routes::CONDITION_FIELDS, "Lists the fields that conditions may read")
            .reply::<condition::ConditionFields>(),
        Operation::report(routes::CONDITION_EXPLAIN, "Tells what a condition says, and why")
            .body::<condition::ExplainCondition>()
            .reply::<condition::ExplainedCondition>(),
    ]
}
