//! Automation at the edge: definitions, runs, alerts, messages, chats.
//!
//! Texts become conditions and plans here, at the door; what they do is decided in the core.

mod alert;
mod answer;
mod ask;
mod backtest;
mod cluster;
mod condition;
mod decision;
mod definition;
mod delivery;
mod difference;
mod hook;
mod inbox;
mod kind;
mod pause;
mod plan;
mod run;
mod silence;
mod transfer;
mod trial;
mod value;

use axum::Router;
use axum::routing::{MethodRouter, delete, get, post};
use clawhold_api::automation::definition as wire;
use clawhold_api::routes::automation as routes;
use clawhold_core::catalog::Noun;

pub(super) use self::decision::limits_left;
use self::kind::Kind;
pub(super) use self::pause::alerts_firing;
pub(super) use self::value::near;
use super::Room;

/// Returns every route of automation.
pub(super) fn router() -> Router<Room> {
    definition_routes()
        .merge(noun_routes())
        .merge(run_routes())
        .merge(alert_routes())
        .merge(message_routes())
        .merge(hook_routes())
}

fn definition_routes() -> Router<Room> {
    kind_routes::<wire::Agent>()
        .merge(kind_routes::<wire::Command>())
        .merge(kind_routes::<wire::AlertRule>())
        .merge(kind_routes::<wire::AlertRoute>())
        .merge(kind_routes::<wire::AutoFix>())
        .merge(kind_routes::<wire::Runbook>())
        .merge(kind_routes::<wire::Channel>())
        .merge(kind_routes::<wire::Source>())
}

/// Returns the routes that every kind of definition has.
fn kind_routes<K: Kind>() -> Router<Room> {
    let paths = routes::of(kind::show_noun(K::NOUN));
    let one: MethodRouter<Room> =
        get(definition::show::<K>).patch(definition::edit::<K>).delete(definition::remove::<K>);
    Router::new()
        .route(paths.all, get(definition::list::<K>).post(definition::add::<K>))
        .route(paths.one, one)
        .route(paths.enable, post(definition::enable::<K>))
        .route(paths.disable, post(definition::disable::<K>))
        .route(paths.revert, post(definition::revert::<K>))
        .route(paths.history, get(definition::history::<K>))
        .route(paths.test, post(trial::test::<K>))
}

fn noun_routes() -> Router<Room> {
    Router::new()
        .route(routes::AGENT_MESSAGES, post(definition::append_message))
        .route(routes::ALERT_RULE_BACKTEST, post(backtest::rule))
        .route(routes::AUTO_FIX_BACKTEST, post(backtest::fix))
        .route(routes::AUTO_FIX_RUN, post(run::start_fix))
        .route(routes::AUTO_FIX_RESET, post(run::reset_fix))
        .route(routes::RUNBOOK_RUN, post(run::start_runbook))
        .route(routes::EXPORT, get(transfer::export))
        .route(routes::IMPORT, post(transfer::import))
        .route(routes::CONDITION_CHECK, post(condition::check))
        .route(routes::CONDITION_FIELDS, get(condition::fields))
        .route(routes::CONDITION_EXPLAIN, post(condition::explain))
}

fn run_routes() -> Router<Room> {
    Router::new()
        .route(routes::RUN_TEXT, post(ask::run))
        .route(routes::RUNS, get(run::list))
        .route(routes::RUN, get(run::show))
        .route(routes::RUN_CANCEL, post(run::cancel))
        .route(routes::RUN_RESUME, post(run::resume))
        .route(routes::RUN_DECIDE, post(run::decide))
        .route(routes::DECISIONS, get(decision::list))
        .route(routes::AUTOMATION, get(pause::show))
        .route(routes::AUTOMATION_PAUSE, post(pause::pause))
        .route(routes::AUTOMATION_UNPAUSE, post(pause::unpause))
}

fn alert_routes() -> Router<Room> {
    Router::new()
        .route(routes::ALERTS, get(alert::list))
        .route(routes::ALERT, get(alert::show))
        .route(routes::ALERT_ACK, post(alert::ack))
        .route(routes::SILENCES, get(silence::list).post(silence::add))
        .route(routes::SILENCE, delete(silence::expire))
}

fn message_routes() -> Router<Room> {
    Router::new()
        .route(routes::INBOX, get(inbox::list))
        .route(routes::INBOX_READ, post(inbox::read))
        .route(routes::INBOX_MESSAGE, get(inbox::show))
        .route(routes::DELIVERIES, get(delivery::list))
        .route(routes::DELIVERY_RETRY, post(delivery::retry))
}

fn hook_routes() -> Router<Room> {
    Router::new()
        .route(routes::HOOK_SLACK, post(hook::slack::take))
        .route(routes::HOOK_TELEGRAM, post(hook::telegram::take))
        .route(routes::HOOK, post(hook::signed::take))
}

/// Returns the kind of a definition as a path names several.
fn plural(noun: Noun) -> &'static str {
    kind::show_noun(noun).plural()
}
