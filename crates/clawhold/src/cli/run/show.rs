//! A run as it is shown: what it is, and each step with what it did.

use crate::api::automation::run::{Run, RunState, RunStep, StepState};
use crate::cli::definition;
use crate::failure::Failure;
use crate::output::{Reply, Style};
use crate::table::Sheet;
use crate::text::quoted;

/// Returns a run in full.
pub(super) fn shown(run: &Run) -> Reply {
    let mut sheet = Sheet::default();
    let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let votes: Vec<String> = run
        .votes
        .iter()
        .map(|vote| {
            let word = if vote.agrees { "agreed" } else { "said no" };
            let reason = if vote.reason.is_empty() { "" } else { ": " };
            format!("{} {word} at {}{reason}{}", vote.actor, vote.at, vote.reason)
        })
        .collect();
    sheet
        .field("run", run.id.to_string())
        .field("of", format!("{} {} (v{})", run.kind, quoted(&run.name), run.version))
        .field_if("about", some(&about(run)))
        .field("state", run.state.as_str())
        .field_if("because", some(&run.why))
        .field_if("waits for", some(&run.waits_for))
        .field("asked", format!("{}, by {}", run.asked, asked_by(run)))
        .field_if("started", run.started.as_ref())
        .field_if("ended", run.ended.as_ref())
        .field_if("seen", some(&run.evidence))
        .field_if("limits aside", run.override_reason.as_ref())
        .field_if("answer by", run.answer_by.as_ref().filter(|_| run.state == RunState::Asking))
        .field_if("said", some(&votes.join("; ")))
        .field_if("plan", some(&run.plan_hash))
        .field_if("tells", some(&run.notify.join(", ")));
    let mut reply = Reply::of(run).sheet(sheet).line("");
    for step in &run.steps {
        reply = steps(reply, step);
    }
    reply
}

/// Returns one step of a run in full.
pub(super) fn step(run: &Run, number: u64) -> Result<Reply, Failure> {
    let step = run.steps.iter().find(|step| u64::from(step.number) == number);
    let Some(step) = step else {
        let text = format!("run {} has no step {number}", run.id);
        return Err(Failure::usage(text).next(format!("its steps are 1 to {}", run.steps.len())));
    };
    let reply = steps(Reply::of(step), step);
    let moments = [("began", &step.started), ("ended", &step.ended)];
    let mut reply = reply;
    for (name, at) in moments {
        if let Some(at) = at {
            reply = reply.line(format!("      {name} {at}"));
        }
    }
    Ok(reply)
}

/// Returns a run in short: a line for it, and one for each step that began.
pub(crate) fn lines(run: &Run) -> Vec<(Style, String)> {
    let mut head = format!("run {} of {} {}", run.id, run.kind, quoted(&run.name));
    let about = about(run);
    if !about.is_empty() {
        head.push_str(&format!(" for {about}"));
    }
    head.push_str(&format!(": {}", run.state.as_str()));
    if !run.why.is_empty() {
        head.push_str(&format!(" ({})", run.why));
    }
    let begun = run.steps.iter().filter(|step| step.state != StepState::Pending);
    let steps = begun.flat_map(step_lines);
    std::iter::once((style(run.state), head)).chain(steps).collect()
}

/// Returns what a run is about, in words.
pub(super) fn about(run: &Run) -> String {
    if let Some(target) = &run.target {
        return format!("{} {}", target.kind, target.name);
    }
    let params: Vec<String> =
        run.params.iter().map(|(name, value)| format!("{name} {value}")).collect();
    params.join(", ")
}

fn asked_by(run: &Run) -> String {
    match &run.actor {
        Some(actor) => format!("{actor} ({})", run.origin),
        None if run.origin == "condition" => "its condition".to_owned(),
        None => run.origin.clone(),
    }
}

fn steps(mut reply: Reply, step: &RunStep) -> Reply {
    for (style, line) in step_lines(step) {
        reply = reply.styled(style, line);
    }
    reply
}

/// Returns the line of a step, and those of what it found when that is more than one.
pub(super) fn step_lines(step: &RunStep) -> Vec<(Style, String)> {
    let mut line = format!("  {} {}", step.number, step.operation);
    let said = definition::said(&step.arguments);
    if !said.is_empty() {
        line.push_str(&format!("  {said}"));
    }
    line.push_str(&format!("  {}", step.state.as_str()));
    if step.attempts > 1 {
        line.push_str(&format!(", at the {}. try", step.attempts));
    }
    let mut output = step.output.iter();
    if step.output.len() == 1
        && let Some(only) = output.next()
    {
        line.push_str(&format!(": {only}"));
    }
    let style = match step.state {
        StepState::Done => Style::Good,
        StepState::Failed => Style::Bad,
        StepState::Unknown | StepState::Waiting => Style::Warn,
        StepState::Pending | StepState::Running | StepState::Skipped => Style::Plain,
    };
    let more = output.map(|line| (Style::Plain, format!("      {line}")));
    std::iter::once((style, line)).chain(more).collect()
}

/// Returns how a state stands out.
pub(super) fn style(state: RunState) -> Style {
    match state {
        RunState::Succeeded => Style::Good,
        RunState::Failed => Style::Bad,
        RunState::Asking | RunState::Unknown => Style::Warn,
        RunState::Running
        | RunState::Cancelled
        | RunState::Withdrawn
        | RunState::Expired
        | RunState::Rejected => Style::Bold,
    }
}
