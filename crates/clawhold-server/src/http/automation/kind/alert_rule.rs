//! Alert rules between the wire and the core.

use clawhold_api::automation::definition as wire;
use clawhold_api::automation::plan as plan_wire;
use clawhold_api::error::{Code, Problem};
use clawhold_core::catalog::{AlertRule, Severity, Spec, Watch};
use clawhold_core::limits;
use clawhold_core::operation::Detector;
use clawhold_core::prose::{self, NotUnderstood};

use super::texts;
use crate::http::automation::condition::parse;
use crate::http::automation::plan::{arguments, operation_of, show_nearest};
use crate::http::automation::value::{given, grouping, list, severity, titles};
use crate::http::convert;
use crate::http::error::Rejected;

/// Milliseconds that are looked at together when nothing is said.
const WINDOW_MS: u64 = 300_000;
/// Milliseconds that what may pass by itself must hold.
const FOR_MS: u64 = 60_000;

pub(super) fn read(body: &wire::AlertRule, known: Option<&Spec>) -> Result<Spec, Rejected> {
    let watch = match kept(body, known) {
        Some(watch) => watch,
        None => watch(body)?,
    };
    let duration = |field, given: Option<u64>, usual| {
        convert::range(field, given.unwrap_or(usual), 0, limits::DURATION_MS_MAX)
    };
    let window_ms = duration("window_ms", body.window_ms, WINDOW_MS)?;
    let keep_ms = if window_ms > 0 { window_ms } else { FOR_MS };
    let (usual_severity, usual_for_ms) = usual(&watch);
    let given_severity = given(body.severity.as_deref());
    Ok(Spec::AlertRule(AlertRule {
        action: crate::http::automation::value::prose("action", &body.action)?,
        watch,
        group_by: list("group_by", &body.group_by, |field, text| grouping(field, text))?,
        window_ms,
        for_ms: duration("for_ms", body.for_ms, usual_for_ms)?,
        keep_ms: duration("keep_ms", body.keep_ms, keep_ms)?,
        severity: given_severity
            .map(|text| severity("severity", text))
            .transpose()?
            .unwrap_or(usual_severity),
        notify: titles("notify", &body.notify)?,
        inhibits: titles("inhibits", &body.inhibits)?,
    }))
}

/// Returns what is watched already, when the words are the same.
fn kept(body: &wire::AlertRule, known: Option<&Spec>) -> Option<Watch> {
    let Some(Spec::AlertRule(known)) = known else { return None };
    let shown = show(known);
    let same = shown.action == body.action
        && shown.accept == body.accept
        && shown.condition.as_deref() == given(body.condition.as_deref());
    same.then(|| known.watch.clone())
}

fn watch(body: &wire::AlertRule) -> Result<Watch, Rejected> {
    if let Some(condition) = given(body.condition.as_deref()) {
        return parse("condition", condition).map(Watch::Condition);
    }
    if body.action.trim().is_empty() {
        let allowed = "words that say what to watch for, or a condition";
        return Err(Rejected::field("action", "nothing", allowed));
    }
    match prose::detector(&body.action) {
        Ok(detector) => Ok(Watch::Detector(detector)),
        Err(trouble) => accepted(body, &trouble).map(Watch::Detector),
    }
}

/// Returns the detector that was accepted for an action that is not understood.
fn accepted(body: &wire::AlertRule, trouble: &NotUnderstood) -> Result<Detector, Rejected> {
    let wanted = body.accept.first().and_then(|text| text.split_once('='));
    let wanted = wanted.filter(|(sentence, _)| sentence.trim() == "1").map(|(_, word)| word.trim());
    let mut nearest = trouble.nearest.iter().enumerate();
    let near = nearest.find(|(at, near)| {
        let number = (at + 1).to_string();
        wanted.is_some_and(|word| word == number || word == operation_of(&near.exact))
    });
    if let Some(detector) = near.and_then(|(_, near)| prose::detector(&near.exact).ok()) {
        return Ok(detector);
    }
    Err(not_understood("action", trouble))
}

/// Returns the problem of words that are not understood.
pub(in crate::http::automation) fn not_understood(
    field: &str,
    trouble: &NotUnderstood,
) -> Rejected {
    let choices = trouble.nearest.iter().map(|near| near.exact.clone()).collect();
    let lines = show_nearest(trouble)
        .into_iter()
        .map(|near| format!("accept 1={}: {} ({:?})", near.number, near.operation, near.example));
    let detail = format!("{field} is not understood: {trouble}");
    let field = Some(field.to_owned());
    let lines = lines.collect();
    Problem { field, choices, lines, ..Problem::new(Code::BadPlan, detail) }.into()
}

/// Returns how bad it is, and how long it must hold, when nothing is said.
fn usual(watch: &Watch) -> (Severity, u64) {
    let Watch::Detector(detector) = watch else { return (Severity::Warning, FOR_MS) };
    match detector {
        Detector::TwoLeaders | Detector::HeldByGone | Detector::Orphan | Detector::DoubleOwner => {
            (Severity::Critical, 0)
        }
        Detector::Leaderless => (Severity::Critical, FOR_MS),
        Detector::StaleWrites { .. }
        | Detector::FlappingLease { .. }
        | Detector::MissedReports
        | Detector::JobFailed
        | Detector::RunFailed
        | Detector::FixBlocked
        | Detector::SinkDown => (Severity::Warning, 0),
        Detector::StandbyLag { .. } | Detector::NoStandby | Detector::Backlog { .. } => {
            (Severity::Warning, FOR_MS)
        }
    }
}

pub(super) fn show(rule: &AlertRule) -> wire::AlertRule {
    let condition = match &rule.watch {
        Watch::Condition(condition) => Some(condition.text().to_owned()),
        Watch::Detector(_) => None,
    };
    wire::AlertRule {
        name: String::new(),
        action: rule.action.as_str().to_owned(),
        accept: accept_of(rule),
        condition,
        group_by: rule.group_by.iter().map(|by| by.as_str().to_owned()).collect(),
        window_ms: Some(rule.window_ms),
        for_ms: Some(rule.for_ms),
        keep_ms: Some(rule.keep_ms),
        severity: Some(rule.severity.as_str().to_owned()),
        notify: texts(&rule.notify),
        inhibits: texts(&rule.inhibits),
        enabled: None,
    }
}

/// Returns what was accepted: a detector that the words alone do not say.
fn accept_of(rule: &AlertRule) -> Vec<String> {
    let Watch::Detector(detector) = &rule.watch else { return Vec::new() };
    match prose::detector(rule.action.as_str()) {
        Ok(said) if said == *detector => Vec::new(),
        Ok(_) | Err(_) => vec![format!("1={}", detector.name())],
    }
}

pub(super) fn show_plan(rule: &AlertRule) -> Vec<plan_wire::PlanStep> {
    let Watch::Detector(detector) = &rule.watch else { return Vec::new() };
    let is_accepted = !accept_of(rule).is_empty();
    vec![plan_wire::PlanStep {
        number: 1,
        operation: detector.name().to_owned(),
        arguments: arguments(&detector.to_string()),
        sentence: rule.action.as_str().to_owned(),
        reading: if is_accepted {
            plan_wire::Reading::Accepted
        } else {
            plan_wire::Reading::Understood
        },
        class: plan_wire::Class::Read,
        why: String::new(),
        nearest: Vec::new(),
        timeout_ms: None,
        on_fail: plan_wire::OnFail::Stop,
    }]
}
