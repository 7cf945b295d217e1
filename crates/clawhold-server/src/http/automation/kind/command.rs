//! Commands between the wire and the core.

use clawhold_api::automation::definition as wire;
use clawhold_api::automation::plan as plan_wire;
use clawhold_core::catalog::{ChatCommand, Spec};
use clawhold_core::limits;
use clawhold_core::operation::Show;
use clawhold_core::prose::{self, NotUnderstood};

use super::alert_rule::not_understood;
use super::texts;
use crate::http::automation::plan::{arguments, operation_of};
use crate::http::automation::value::{self, text_opt, title_opt, titles, trigger};
use crate::http::convert;
use crate::http::error::Rejected;

pub(super) fn read(body: &wire::Command, known: Option<&Spec>) -> Result<Spec, Rejected> {
    let views = match kept(body, known) {
        Some(views) => views,
        None => views(body)?,
    };
    Ok(Spec::Command(ChatCommand {
        trigger: trigger("trigger", &body.trigger)?,
        sources: titles("sources", &body.sources)?,
        message: value::prose("message", &body.message)?,
        views,
        announce: body.announce,
        to: title_opt("to", body.to.as_deref())?,
        via: text_opt("channel", body.channel.as_deref())?,
    }))
}

/// Returns what is shown already, when the words are the same.
fn kept(body: &wire::Command, known: Option<&Spec>) -> Option<Vec<Show>> {
    let Some(Spec::Command(known)) = known else { return None };
    let shown = show(known);
    let same =
        shown.message == body.message && shown.steps == body.steps && shown.accept == body.accept;
    same.then(|| known.views.clone())
}

fn views(body: &wire::Command) -> Result<Vec<Show>, Rejected> {
    let mut views = Vec::new();
    if !body.message.trim().is_empty() && body.steps.is_empty() {
        views = match prose::views(&body.message) {
            Ok(views) => views,
            Err(trouble) => accepted(body, &trouble)?,
        };
    }
    convert::count("steps", body.steps.len(), 0, limits::LIST_MAX)?;
    for (at, text) in body.steps.iter().enumerate() {
        let field = format!("steps[{at}]");
        let more = prose::views(text).map_err(|trouble| not_understood(&field, &trouble))?;
        views.extend(more);
    }
    if views.is_empty() {
        let allowed = "words that say what is shown, or exact views: show.holder role=billing";
        return Err(Rejected::field("message", "nothing", allowed));
    }
    Ok(views)
}

/// Returns the views that were accepted for a message that is not understood.
fn accepted(body: &wire::Command, trouble: &NotUnderstood) -> Result<Vec<Show>, Rejected> {
    let wanted = body.accept.first().and_then(|text| text.split_once('='));
    let wanted = wanted.map(|(_, word)| word.trim());
    let mut nearest = trouble.nearest.iter().enumerate();
    let near = nearest.find(|(at, near)| {
        let number = (at + 1).to_string();
        wanted.is_some_and(|word| word == number || word == operation_of(&near.exact))
    });
    let views = near.and_then(|(_, near)| prose::views(&near.exact).ok());
    views.ok_or_else(|| not_understood("message", trouble))
}

pub(super) fn show(command: &ChatCommand) -> wire::Command {
    let (steps, accept) = made(command);
    wire::Command {
        name: String::new(),
        trigger: command.trigger.as_str().to_owned(),
        sources: texts(&command.sources),
        message: command.message.as_str().to_owned(),
        steps,
        accept,
        announce: command.announce,
        channel: command.via.as_ref().map(|via| via.as_str().to_owned()),
        to: command.to.as_ref().map(ToString::to_string),
        enabled: None,
    }
}

/// Returns the exact views, or what was accepted, when the words alone do not say what is shown.
fn made(command: &ChatCommand) -> (Vec<String>, Vec<String>) {
    let trouble = match prose::views(command.message.as_str()) {
        Ok(said) if said == command.views => return (Vec::new(), Vec::new()),
        Ok(_) => None,
        Err(trouble) => Some(trouble),
    };
    let nearest = trouble.as_ref().map(|trouble| trouble.nearest.as_slice()).unwrap_or_default();
    let near = nearest
        .iter()
        .find(|near| prose::views(&near.exact).is_ok_and(|views| views == command.views));
    match near {
        Some(near) => (Vec::new(), vec![format!("1={}", operation_of(&near.exact))]),
        None => (command.views.iter().map(ToString::to_string).collect(), Vec::new()),
    }
}

pub(super) fn show_plan(command: &ChatCommand) -> Vec<plan_wire::PlanStep> {
    let (steps, accept) = made(command);
    let reading = match (steps.is_empty(), accept.is_empty()) {
        (false, _) => plan_wire::Reading::Exact,
        (true, false) => plan_wire::Reading::Accepted,
        (true, true) => plan_wire::Reading::Understood,
    };
    let said = reading != plan_wire::Reading::Exact;
    let views = command.views.iter().zip(1..);
    let shown = views.map(|(view, number)| plan_wire::PlanStep {
        number,
        operation: view.name().to_owned(),
        arguments: arguments(&view.to_string()),
        sentence: if said { command.message.as_str().to_owned() } else { String::new() },
        reading,
        class: plan_wire::Class::Read,
        why: String::new(),
        nearest: Vec::new(),
        timeout_ms: None,
        on_fail: plan_wire::OnFail::Stop,
    });
    shown.collect()
}
