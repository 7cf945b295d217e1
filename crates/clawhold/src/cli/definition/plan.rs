//! What became of the words of an operator, sentence by sentence.

use crate::api::automation::Noun;
use crate::api::automation::definition::Definition;
use crate::api::automation::plan::{OnFail, PlanStep, Reading};
use crate::duration::Span;
use crate::output::{Reply, Style};
use crate::text::{counted, quoted};

/// Whether what is told is kept, or only shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// It is kept.
    ToKeep,
    /// It is only shown.
    ToShow,
}

/// Returns what a definition is called, with its version.
pub(crate) fn name(definition: &Definition) -> String {
    let Definition { kind, name, version, .. } = definition;
    match version {
        0 => format!("{kind} {}", quoted(name)),
        version => format!("{kind} {} (v{version})", quoted(name)),
    }
}

/// Adds the plan of a definition: each sentence with what it became, and whether all were
/// understood.
pub(crate) fn plan(mut reply: Reply, definition: &Definition, asked: Asked) -> Reply {
    let steps = &definition.plan;
    for (step, line) in steps.iter().zip(self::steps(steps)) {
        if step.reading != Reading::NotUnderstood {
            reply = reply.line(line);
            continue;
        }
        reply = reply.styled(Style::Warn, line);
        for line in instead(definition, step, asked) {
            reply = reply.line(line);
        }
    }
    match verdict(definition.kind, steps) {
        Some(verdict) => reply.styled(verdict.0, verdict.1),
        None => reply,
    }
}

/// Returns each step on a line, the operations and their arguments aligned.
pub(crate) fn steps(plan: &[PlanStep]) -> Vec<String> {
    let known = || plan.iter().filter(|step| step.reading != Reading::NotUnderstood);
    let names = known().map(|step| step.operation.chars().count()).max().unwrap_or(0);
    let said = known().map(|step| said(&step.arguments).chars().count());
    let arguments = said.max().unwrap_or(0);
    let number = plan.len().to_string().len();
    let mut before = None;
    let lines = plan.iter().map(|step| {
        // A sentence that became several steps stands beside the first of them.
        let again = before == Some(&step.sentence);
        before = Some(&step.sentence);
        let sentence = if again { "" } else { &step.sentence };
        step_line(step, sentence, [number, names, arguments])
    });
    lines.collect()
}

/// Returns the arguments that say something; whom the run is about is found when it starts.
pub(crate) fn said(arguments: &str) -> String {
    let words = arguments.split(' ').filter(|word| !word.ends_with("=run"));
    words.collect::<Vec<&str>>().join(" ")
}

/// Returns the sentences that steps came from, each once.
fn sentences<'a>(plan: impl Iterator<Item = &'a PlanStep>) -> u64 {
    let mut typed: Vec<&str> = plan.map(|step| step.sentence.as_str()).collect();
    typed.dedup();
    typed.len() as u64
}

/// Returns a step on a line; the widths are those of its number, operation and arguments.
fn step_line(step: &PlanStep, sentence: &str, widths: [usize; 3]) -> String {
    let [number, names, arguments] = widths;
    let mut line = format!("  {:>number$} ", step.number);
    if step.reading == Reading::NotUnderstood {
        line.push_str(&format!("? not understood: {}", quoted(&step.sentence)));
        // What is near stands in lines of its own.
        let why = step.why.split("; nearest: ").next().unwrap_or_default();
        if !why.is_empty() {
            line.push_str(&format!("   {why}"));
        }
        return line;
    }
    line.push_str(&format!("{:names$}", step.operation));
    if arguments > 0 {
        line.push_str(&format!("  {:arguments$}", said(&step.arguments)));
    }
    if !sentence.is_empty() {
        line.push_str(&format!("  {}", quoted(sentence)));
    }
    match step.reading {
        Reading::Accepted => line.push_str("  (accepted)"),
        Reading::Agent => line.push_str("  (a job for the agent; its answer is evidence)"),
        Reading::Understood | Reading::Exact | Reading::NotUnderstood => {}
    }
    if let Some(ms) = step.timeout_ms {
        line.push_str(&format!("  (within {})", Span(ms)));
    }
    if step.on_fail != OnFail::Stop {
        line.push_str(&format!("  (when it fails: {})", step.on_fail.as_str()));
    }
    line.truncate(line.trim_end().len());
    line
}

/// Returns what there is instead of a sentence that is not understood.
fn instead(definition: &Definition, step: &PlanStep, asked: Asked) -> Vec<String> {
    let Definition { kind, name, .. } = definition;
    let mut lines: Vec<String> = step
        .nearest
        .iter()
        .map(|near| {
            let accept = format!("--accept {}={}", step.number, near.number);
            let how = match asked {
                Asked::ToShow => accept,
                Asked::ToKeep => format!("clawhold {kind} edit {} {accept}", quoted(name)),
            };
            format!("      nearest: {}  ({})   use: {how}", near.operation, quoted(&near.example))
        })
        .collect();
    match kind {
        Noun::AutoFix | Noun::Runbook => {
            lines.push("      kept as a step that a person confirms".to_owned());
        }
        Noun::Agent
        | Noun::Command
        | Noun::AlertRule
        | Noun::AlertRoute
        | Noun::Channel
        | Noun::Source => {}
    }
    lines
}

/// Returns whether all was understood, in one sentence; none where there is nothing to understand.
fn verdict(kind: Noun, plan: &[PlanStep]) -> Option<(Style, String)> {
    let total = sentences(plan.iter().filter(|step| step.reading != Reading::Exact));
    let missed = sentences(plan.iter().filter(|step| step.reading == Reading::NotUnderstood));
    if total == 0 {
        return None;
    }
    if missed > 0 {
        let text = format!(
            "{} of {} understood. {}",
            total - missed,
            counted(total, "sentence"),
            match kind {
                Noun::AutoFix => "It asks for approval until every sentence is understood.",
                Noun::Runbook => "A person confirms the rest.",
                Noun::Agent
                | Noun::Command
                | Noun::AlertRule
                | Noun::AlertRoute
                | Noun::Channel
                | Noun::Source => "The rest is not done.",
            }
        );
        return Some((Style::Warn, text));
    }
    let accepted = sentences(plan.iter().filter(|step| step.reading == Reading::Accepted));
    if accepted > 0 {
        let text = format!(
            "{} of {} taken as the nearest operation, as you accepted; what that does not say is \
             left out.",
            accepted,
            counted(total, "sentence"),
        );
        return Some((Style::Warn, text));
    }
    let all = match total {
        1 => "The sentence is understood.".to_owned(),
        total => format!("All {total} sentences understood."),
    };
    Some((Style::Good, format!("{all} Nothing was left out.")))
}
