//! Watching a run until it ends: a line a step, and an exit code by how it ended.

use std::time::Duration;

use crate::api::automation::run::{Run, RunState, StepState};
use crate::cli::run::show::{self, step_lines};
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Reply;

/// How often a run is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Watches a run until it ends.
///
/// # Errors
/// When it can no longer be read.
pub(super) async fn follow(mut run: Run, context: &Context) -> Result<Reply, Failure> {
    let client = context.client().await?;
    let output = &context.output;
    output.say(show::style(run.state), &head(&run));
    let mut told = Told::default();
    loop {
        for (style, line) in told.news(&run) {
            output.say(style, &line);
        }
        if run.state.is_ended() {
            break;
        }
        tokio::time::sleep(LOOK_EVERY).await;
        run = client.run(run.id).await?;
    }
    let exit = exit(run.state);
    Ok(Reply::of(&run).styled(show::style(run.state), ended(&run)).exit(exit))
}

/// Returns how the program ends after a run ended so.
pub(super) fn exit(state: RunState) -> Exit {
    match state {
        RunState::Succeeded | RunState::Asking | RunState::Running => Exit::Done,
        RunState::Failed | RunState::Cancelled => Exit::Failed,
        RunState::Unknown => Exit::Unreachable,
        RunState::Withdrawn | RunState::Expired | RunState::Rejected => Exit::Refused,
    }
}

/// Returns what can be done about a run that has not ended.
pub(super) fn next(run: &Run) -> String {
    let id = run.id;
    let waits = run.steps.iter().any(|step| step.state == StepState::Waiting);
    let for_what = if run.waits_for.is_empty() {
        String::new()
    } else {
        format!("it waits for {}; ", run.waits_for)
    };
    if run.state == RunState::Asking {
        return format!("{for_what}`clawhold run approve {id}` lets it begin");
    }
    if waits {
        return format!("{for_what}`clawhold run confirm {id}` lets it go on");
    }
    format!("`clawhold run show {id} --follow` watches it")
}

fn head(run: &Run) -> String {
    let lines = show::lines(run);
    lines.into_iter().next().map_or(String::new(), |(_, line)| line)
}

fn ended(run: &Run) -> String {
    let why = if run.why.is_empty() { String::new() } else { format!(": {}", run.why) };
    format!("run {} {}{why}", run.id, run.state.as_str())
}

/// What was told of a run so far.
#[derive(Default)]
struct Told {
    steps: Vec<StepState>,
    waits_for: String,
}

impl Told {
    /// Returns the lines of what is news: a step that ended or waits, and whom the run waits for.
    fn news(&mut self, run: &Run) -> Vec<(crate::output::Style, String)> {
        self.steps.resize(run.steps.len(), StepState::Pending);
        let mut lines = Vec::new();
        for (step, told) in run.steps.iter().zip(&mut self.steps) {
            let is_news = *told != step.state
                && !matches!(step.state, StepState::Pending | StepState::Running);
            if is_news {
                lines.extend(step_lines(step));
            }
            *told = step.state;
        }
        if !run.state.is_ended() && !run.waits_for.is_empty() && self.waits_for != run.waits_for {
            lines.push((crate::output::Style::Warn, next(run)));
        }
        self.waits_for.clone_from(&run.waits_for);
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    /// A run of two steps in these states.
    fn run(state: RunState, steps: [StepState; 2], waits_for: &str) -> Run {
        let step = |number: u32, state: StepState| {
            serde_json::json!({
                "number": number, "operation": "job.return_held", "arguments": "worker=w-3",
                "sentence": "", "reading": "understood", "on_fail": "stop",
                "state": state, "started": null, "ended": null, "attempts": 1,
                "output": if state == StepState::Done { vec!["12 jobs returned"] } else { vec![] },
                "job": null, "message": null
            })
        };
        let run = serde_json::json!({
            "id": 7, "kind": "runbook", "name": "Rebalance", "version": 1, "target": null,
            "params": {"worker": "w-3"}, "origin": "trigger", "actor": null, "state": state,
            "why": "", "waits_for": waits_for, "steps": [step(1, steps[0]), step(2, steps[1])],
            "step": 1, "plan_hash": "", "asked": "", "started": null, "ended": null,
            "evidence": "", "override_reason": null, "votes": [], "answer_by": null,
            "returned": [], "returned_count": 0, "notify": []
        });
        serde_json::from_value(run).unwrap()
    }

    #[test]
    fn each_step_is_told_once_when_it_ends_and_a_wait_with_what_ends_it() {
        let mut told = Told::default();
        let mut said = String::new();
        for run in [
            run(RunState::Running, [StepState::Running, StepState::Pending], ""),
            run(RunState::Running, [StepState::Done, StepState::Running], ""),
            run(RunState::Running, [StepState::Done, StepState::Running], ""),
            run(RunState::Running, [StepState::Done, StepState::Waiting], "a person"),
            run(RunState::Running, [StepState::Done, StepState::Waiting], "a person"),
            run(RunState::Failed, [StepState::Done, StepState::Failed], ""),
        ] {
            let lines: Vec<String> = told.news(&run).into_iter().map(|(_, line)| line).collect();
            said.push_str(&format!("{lines:#?}\n"));
        }
        expect![[r#"
            []
            [
                "  1 job.return_held  worker=w-3  done: 12 jobs returned",
            ]
            []
            [
                "  2 job.return_held  worker=w-3  waiting",
                "it waits for a person; `clawhold run confirm 7` lets it go on",
            ]
            []
            [
                "  2 job.return_held  worker=w-3  failed",
            ]
        "#]]
        .assert_eq(&said);
    }

    #[test]
    fn the_exit_code_tells_how_a_run_ended() {
        let codes = RunState::ALL.map(|state| (state.as_str(), exit(state).code()));
        assert_eq!(
            codes,
            [
                ("asking", 0),
                ("running", 0),
                ("succeeded", 0),
                ("failed", 1),
                ("unknown", 6),
                ("cancelled", 1),
                ("withdrawn", 4),
                ("expired", 4),
                ("rejected", 4),
            ]
        );
    }
}
