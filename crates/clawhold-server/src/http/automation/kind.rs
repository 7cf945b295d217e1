//! The kinds of definitions, one file each: from the wire to the core and back.

mod agent;
mod alert_route;
mod alert_rule;
mod auto_fix;
mod channel;
mod command;
mod runbook;
mod source;

use clawhold_api::automation::Noun as WireNoun;
use clawhold_api::automation::definition as wire;
use clawhold_api::automation::plan::PlanStep;
use clawhold_core::catalog::{Definition, Noun, Spec};
use clawhold_core::units::Title;
use serde::Serialize;
use serde::de::DeserializeOwned;

pub(super) use self::agent::message as agent_message;
use super::plan;
use crate::http::error::Rejected;

/// A kind of definition, as its body is on the wire.
pub(super) trait Kind: DeserializeOwned + Send + 'static {
    /// What changes one.
    type Patch: DeserializeOwned + Serialize + Send + 'static;
    /// Which kind it is.
    const NOUN: Noun;

    /// Returns it as one of all kinds.
    fn into_spec(self) -> wire::Spec;
}

macro_rules! kinds {
    ($($noun:ident $patch:ident;)*) => {
        $(impl Kind for wire::$noun {
            type Patch = wire::$patch;
            const NOUN: Noun = Noun::$noun;

            fn into_spec(self) -> wire::Spec {
                wire::Spec::$noun(self)
            }
        })*
    };
}

kinds! {
    Agent AgentPatch;
    Command CommandPatch;
    AlertRule AlertRulePatch;
    AlertRoute AlertRoutePatch;
    AutoFix AutoFixPatch;
    Runbook RunbookPatch;
    Channel ChannelPatch;
    Source SourcePatch;
}

/// A definition as it is to be.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    pub(super) title: Title,
    pub(super) spec: Spec,
    pub(super) enabled: Option<bool>,
}

/// Returns a definition as it is to be. `known` is what is there under its name, whose hidden
/// secrets stay, and whose plan stays where the words that made it do.
pub(super) fn wanted(body: &wire::Spec, known: Option<&Spec>) -> Result<Wanted, Rejected> {
    let title = super::value::title("name", body.name())?;
    let (spec, enabled) = match body {
        wire::Spec::Agent(body) => (agent::read(body)?, body.enabled),
        wire::Spec::Command(body) => (command::read(body, known)?, body.enabled),
        wire::Spec::AlertRule(body) => (alert_rule::read(body, known)?, body.enabled),
        wire::Spec::AlertRoute(body) => (alert_route::read(body)?, body.enabled),
        wire::Spec::AutoFix(body) => (auto_fix::read(body, known)?, body.enabled),
        wire::Spec::Runbook(body) => (runbook::read(body, known)?, body.enabled),
        wire::Spec::Channel(body) => (channel::read(body, known)?, body.enabled),
        wire::Spec::Source(body) => (source::read(body, known)?, body.enabled),
    };
    Ok(Wanted { title, spec, enabled })
}

/// Returns what a definition says, as it is added and exported; secrets are hidden.
pub(super) fn show(title: &Title, enabled: bool, spec: &Spec) -> wire::Spec {
    let (name, enabled) = (title.to_string(), Some(enabled));
    match spec {
        Spec::Agent(spec) => wire::Spec::Agent(wire::Agent { name, enabled, ..agent::show(spec) }),
        Spec::Command(spec) => {
            wire::Spec::Command(wire::Command { name, enabled, ..command::show(spec) })
        }
        Spec::AlertRule(spec) => {
            wire::Spec::AlertRule(wire::AlertRule { name, enabled, ..alert_rule::show(spec) })
        }
        Spec::AlertRoute(spec) => {
            wire::Spec::AlertRoute(wire::AlertRoute { name, enabled, ..alert_route::show(spec) })
        }
        Spec::AutoFix(spec) => {
            wire::Spec::AutoFix(wire::AutoFix { name, enabled, ..auto_fix::show(spec) })
        }
        Spec::Runbook(spec) => {
            wire::Spec::Runbook(wire::Runbook { name, enabled, ..runbook::show(spec) })
        }
        Spec::Channel(spec) => {
            wire::Spec::Channel(wire::Channel { name, enabled, ..channel::show(spec) })
        }
        Spec::Source(spec) => {
            wire::Spec::Source(wire::Source { name, enabled, ..source::show(spec) })
        }
    }
}

/// Returns what a definition says.
pub(super) fn show_known(known: &Definition) -> wire::Spec {
    show(&known.title, known.enabled, &known.spec)
}

/// Returns what the sentences of a definition became.
pub(super) fn show_plan(spec: &Spec) -> Vec<PlanStep> {
    match spec {
        Spec::AutoFix(fix) => plan::show(&fix.plan),
        Spec::Runbook(runbook) => plan::show(&runbook.plan),
        Spec::Command(command) => command::show_plan(command),
        Spec::AlertRule(rule) => alert_rule::show_plan(rule),
        Spec::Agent(_) | Spec::AlertRoute(_) | Spec::Channel(_) | Spec::Source(_) => Vec::new(),
    }
}

/// Returns the hash of a plan that runs; nothing for other kinds.
pub(super) fn plan_hash(spec: &Spec) -> String {
    match spec {
        Spec::AutoFix(fix) => plan::hash(&fix.plan),
        Spec::Runbook(runbook) => plan::hash(&runbook.plan),
        Spec::Agent(_)
        | Spec::Command(_)
        | Spec::AlertRule(_)
        | Spec::AlertRoute(_)
        | Spec::Channel(_)
        | Spec::Source(_) => String::new(),
    }
}

/// Returns a kind as the core knows it.
pub(super) fn noun(noun: WireNoun) -> Noun {
    match noun {
        WireNoun::Agent => Noun::Agent,
        WireNoun::Command => Noun::Command,
        WireNoun::AlertRule => Noun::AlertRule,
        WireNoun::AlertRoute => Noun::AlertRoute,
        WireNoun::AutoFix => Noun::AutoFix,
        WireNoun::Runbook => Noun::Runbook,
        WireNoun::Channel => Noun::Channel,
        WireNoun::Source => Noun::Source,
    }
}

/// Returns a kind as the wire knows it.
pub(super) fn show_noun(noun: Noun) -> WireNoun {
    match noun {
        Noun::Agent => WireNoun::Agent,
        Noun::Command => WireNoun::Command,
        Noun::AlertRule => WireNoun::AlertRule,
        Noun::AlertRoute => WireNoun::AlertRoute,
        Noun::AutoFix => WireNoun::AutoFix,
        Noun::Runbook => WireNoun::Runbook,
        Noun::Channel => WireNoun::Channel,
        Noun::Source => WireNoun::Source,
    }
}

/// Returns the names as text.
fn texts(titles: &[Title]) -> Vec<String> {
    titles.iter().map(ToString::to_string).collect()
}
