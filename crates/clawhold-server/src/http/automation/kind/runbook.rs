//! Runbooks between the wire and the core.

use clawhold_api::automation::definition as wire;
use clawhold_core::catalog::{Runbook, Spec};
use clawhold_core::operation::Plan;

use super::texts;
use crate::http::automation::plan::{Made, Words, made};
use crate::http::automation::value::{self, given, list, titles, trigger};
use crate::http::error::Rejected;

pub(super) fn read(body: &wire::Runbook, known: Option<&Spec>) -> Result<Spec, Rejected> {
    let before = match known {
        Some(Spec::Runbook(known)) => Some(known),
        Some(_) | None => None,
    };
    let plan = match before.and_then(|known| kept(body, known)) {
        Some(plan) => plan,
        None => words(body).compile()?,
    };
    let words = given(body.trigger.as_deref());
    Ok(Spec::Runbook(Runbook {
        trigger: words.map(|words| trigger("trigger", words)).transpose()?,
        tags: list("tags", &body.tags, |field, text| {
            value::text_opt(field, Some(text))?
                .ok_or_else(|| Rejected::field(field, "nothing", "a word"))
        })?,
        steps: value::prose("steps", &body.steps)?,
        plan,
        notify: titles("notify", &body.notify)?,
    }))
}

fn words(body: &wire::Runbook) -> Words<'_> {
    Words {
        field: "steps",
        text: &body.steps,
        exact_field: "step",
        exact: &body.step,
        accept: &body.accept,
        on_fail: body.on_fail.as_deref(),
    }
}

/// Returns the plan as it is, when the words that made it are the same.
fn kept(body: &wire::Runbook, known: &Runbook) -> Option<Plan> {
    let made = made(&known.plan, known.steps.as_str());
    let given = Made {
        exact: body.step.clone(),
        accept: body.accept.clone(),
        on_fail: given(body.on_fail.as_deref()).map(str::to_owned),
    };
    (known.steps.as_str() == body.steps && made == given).then(|| known.plan.clone())
}

pub(super) fn show(runbook: &Runbook) -> wire::Runbook {
    let Made { exact, accept, on_fail } = made(&runbook.plan, runbook.steps.as_str());
    wire::Runbook {
        name: String::new(),
        trigger: runbook.trigger.as_ref().map(|trigger| trigger.as_str().to_owned()),
        tags: runbook.tags.iter().map(|tag| tag.as_str().to_owned()).collect(),
        steps: runbook.steps.as_str().to_owned(),
        step: exact,
        accept,
        on_fail,
        notify: texts(&runbook.notify),
        enabled: None,
    }
}
