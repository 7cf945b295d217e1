//! Auto-fixes between the wire and the core.

use clawhold_api::automation::definition as wire;
use clawhold_core::catalog::{AutoFix, MaxRuns, Mode, Spec};
use clawhold_core::limits;
use clawhold_core::operation::Plan;

use super::texts;
use crate::http::automation::condition::parse;
use crate::http::automation::plan::{Made, Words, made};
use crate::http::automation::value::{
    self, approval, cooldown, given, list, max_runs, show_approval, show_cooldown, show_max_runs,
    titles,
};
use crate::http::convert;
use crate::http::error::Rejected;

pub(super) fn read(body: &wire::AutoFix, known: Option<&Spec>) -> Result<Spec, Rejected> {
    let before = match known {
        Some(Spec::AutoFix(known)) => Some(known),
        Some(_) | None => None,
    };
    let plan = match before.and_then(|known| kept(body, known)) {
        Some(plan) => plan,
        None => words(body).compile()?,
    };
    let same = before.filter(|known| known.condition.text() == body.condition);
    let condition = match same {
        Some(known) => known.condition.clone(),
        None => parse("condition", &body.condition)?,
    };
    let expiry_ms = body.approval_expiry_ms.unwrap_or(limits::APPROVAL_MS_DEFAULT);
    Ok(Spec::AutoFix(AutoFix {
        condition,
        action: value::prose("action", &body.action)?,
        plan,
        approval: approval("approval", body.approval.as_deref())?,
        approval_ms: convert::range(
            "approval_expiry_ms",
            expiry_ms,
            1_000,
            limits::DURATION_MS_MAX,
        )?,
        four_eyes: body.four_eyes,
        mode: if body.observe { Mode::Observe } else { Mode::Act },
        notify: titles("notify", &body.notify)?,
        max_runs: limits_of(body)?,
        cooldown: cooldown("cooldown", body.cooldown.as_deref())?,
    }))
}

fn words(body: &wire::AutoFix) -> Words<'_> {
    Words {
        field: "action",
        text: &body.action,
        exact_field: "steps",
        exact: &body.steps,
        accept: &body.accept,
        on_fail: body.on_fail.as_deref(),
    }
}

/// Returns the plan as it is, when the words that made it are the same.
fn kept(body: &wire::AutoFix, known: &AutoFix) -> Option<Plan> {
    let made = made(&known.plan, known.action.as_str());
    let given = Made {
        exact: body.steps.clone(),
        accept: body.accept.clone(),
        on_fail: given(body.on_fail.as_deref()).map(str::to_owned),
    };
    (known.action.as_str() == body.action && made == given).then(|| known.plan.clone())
}

fn limits_of(body: &wire::AutoFix) -> Result<Vec<MaxRuns>, Rejected> {
    let per_rule = list("max_runs", &body.max_runs, |field, text| max_runs(field, text, false))?;
    let per_target = list("max_runs_per_target", &body.max_runs_per_target, |field, text| {
        max_runs(field, text, true)
    })?;
    Ok(per_rule.into_iter().chain(per_target).flatten().collect())
}

pub(super) fn show(fix: &AutoFix) -> wire::AutoFix {
    let Made { exact, accept, on_fail } = made(&fix.plan, fix.action.as_str());
    let limits = |per_target: bool| {
        let limits = fix.max_runs.iter().filter(move |limit| limit.per_target == per_target);
        limits.map(|limit| show_max_runs(*limit)).collect()
    };
    wire::AutoFix {
        name: String::new(),
        condition: fix.condition.text().to_owned(),
        action: fix.action.as_str().to_owned(),
        steps: exact,
        accept,
        approval: Some(show_approval(&fix.approval)),
        approval_expiry_ms: Some(fix.approval_ms),
        four_eyes: fix.four_eyes,
        observe: fix.mode == Mode::Observe,
        notify: texts(&fix.notify),
        max_runs: limits(false),
        max_runs_per_target: limits(true),
        cooldown: show_cooldown(fix.cooldown),
        on_fail,
        enabled: None,
    }
}
