//! What people are told of runs and of fixes that do not run.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::guard::Block;
use crate::alert::Raised;
use crate::catalog::{Definition, Grouping, Severity, Spec};
use crate::outbox::Draft;
use crate::run::{Reason, Run, RunState, StepState, Target};
use crate::state::{State, Step};
use crate::units::{MessageId, Text, Title};

/// The alert that says that a fix was kept from promoting.
pub(crate) const WITHHELD: &str = "Promotion withheld";
/// The alert that says that a fix was kept from running.
pub(crate) const BLOCKED: &str = "Auto-fix blocked";
/// The alert that says that a fix failed too often.
pub(crate) const TRIPPED: &str = "Auto-fix tripped";

impl State {
    /// Says once that a fix did not run, why, what stays as it is and how to run it now.
    pub(crate) fn say_blocked(
        &mut self,
        step: &mut Step,
        known: &Definition,
        target: &Target,
        block: &Block,
    ) {
        let key = (known.title.clone(), target.clone());
        let since = match self.automation.runs.instances.get_mut(&key) {
            Some(instance) => {
                instance.told = true;
                instance.since
            }
            None => None,
        };
        let Spec::AutoFix(fix) = &known.spec else { return };
        let name = self.name_of(target);
        let (title, name) = (&known.title, name.as_str());
        let kind = target.kind().as_str();
        let evidence = fix.condition.evidence(&self.facts(target));
        let free = block.free_at.map(|at| format!(" (may run at {})", at.time_of_day()));
        let asks = fix.plan.promotes() && matches!(target, Target::Role(_));
        let mut lines: Vec<String> = [
            format!(
                "Condition holds since {}: {evidence}",
                since.map_or_else(String::new, |s| s.at.time_of_day())
            ),
            format!(
                "Blocked ({}): {}{}",
                block.reason.as_str(),
                block.detail,
                free.unwrap_or_default()
            ),
            format!("Left as is: {}", self.left_as_is(target)),
            format!(
                "Run now: clawhold auto-fix run {:?} --target {name} --override --reason \"...\"",
                title.as_str()
            ),
            format!("More: clawhold auto-fix history {:?}", title.as_str()),
        ]
        .into();
        if block.reason == Reason::NoStandby {
            lines[3] = format!("Start a standby: clawhold lead {name} --standby -- CMD");
        } else if asks {
            lines.insert(4, format!("Or: clawhold role hand-over {name} --now"));
        }
        let said = format!("{title} did not run for {kind} {name}.");
        let notify = fix.notify.clone();
        let draft = Draft {
            severity: if asks { Severity::Critical } else { Severity::Warning },
            title: Text::cut(&said),
            lines: lines.iter().map(|line| Text::cut(line)).collect(),
            key: Text::cut(&format!("blocked/{title}/{name}/{}", step.stamp.position)),
            ..blank()
        };
        self.tell_channels(step, &notify, &draft);
        let withheld = matches!(target, Target::Role(role) if self.roles.withheld.contains(role));
        let raised = Raised {
            title: built_in(if withheld { WITHHELD } else { BLOCKED }),
            group: Text::cut(&if withheld { name.into() } else { format!("{title}/{name}") }),
            grouping: grouping(target),
            severity: draft.severity,
            summary: draft.title.clone(),
            details: draft.lines.clone(),
            channels: Vec::new(),
        };
        let message = raised.summary.clone();
        self.raise(step, raised);
        self.fix_blocked_seen(step, &known.title, target, &message);
    }

    /// Ends the alert about a fix that was kept from running.
    pub(crate) fn clear_blocked(&mut self, step: &mut Step, title: &Title, name: &Text) {
        self.clear_alert(step, &built_in(WITHHELD), name);
        let group = Text::cut(&format!("{title}/{}", name.as_str()));
        self.clear_alert(step, &built_in(BLOCKED), &group);
        self.clear_alert(step, &built_in(TRIPPED), &group);
    }

    /// Says that a fix failed too often on a target.
    pub(crate) fn tell_tripped(
        &mut self,
        step: &mut Step,
        run: &Run,
        target: &Target,
        failures: u32,
    ) {
        let name = self.name_of(target);
        let (title, name) = (&run.title, name.as_str());
        let summary = format!("{title} failed {failures} times in a row for {name} and is tripped");
        let reset = format!("clawhold auto-fix reset {:?} --target {name}", title.as_str());
        let raised = Raised {
            title: built_in(TRIPPED),
            group: Text::cut(&format!("{title}/{name}")),
            grouping: grouping(target),
            severity: Severity::Critical,
            summary: Text::cut(&summary),
            details: [run.why.clone(), Text::cut(&format!("Let it run again: {reset}"))].into(),
            channels: run.notify.clone(),
        };
        self.raise(step, raised);
    }

    /// Says that a run asks, and how to answer.
    pub(crate) fn tell_asking(&mut self, step: &mut Step, run: &Run, count: u32) {
        let about = self.about(run);
        let mut lines = self.plan_lines(run);
        lines.insert(0, format!("Condition: {}", run.evidence.as_str()));
        let until = run.answer_by.map_or_else(String::new, |until| until.time_of_day());
        lines.push(format!("{count} must agree by {until}, while the condition holds"));
        lines.push(format!("Yes: clawhold run approve {}", run.id));
        lines.push(format!("No: clawhold run reject {} --reason \"...\"", run.id));
        let draft = Draft {
            severity: Severity::Warning,
            title: Text::cut(&format!("{} asks to run{about}", run.title)),
            lines: lines.iter().map(|line| Text::cut(line)).collect(),
            run: Some(run.id),
            key: Text::cut(&format!("run/{}/ask", run.id)),
            ..blank()
        };
        self.tell_channels(step, &somewhere(run), &draft);
    }

    /// Says that a step waits for a person.
    pub(crate) fn tell_waiting(&mut self, step: &mut Step, run: &Run, at: usize) {
        let Some(planned) = run.plan.steps.get(at) else { return };
        if matches!(planned.operation, crate::operation::Operation::AgentJob { .. }) {
            return;
        }
        let lines = [
            planned.sentence.as_str().into(),
            format!("Done: clawhold run confirm {}", run.id),
            format!("Not done: clawhold run reject {} --reason \"...\"", run.id),
        ];
        let draft = Draft {
            severity: Severity::Warning,
            title: Text::cut(&format!(
                "{} waits for a person at step {} (run {})",
                run.title,
                at + 1,
                run.id
            )),
            lines: lines.iter().map(|line| Text::cut(line)).collect(),
            run: Some(run.id),
            reply_url: run.reply_url.clone(),
            key: Text::cut(&format!("run/{}/wait/{at}", run.id)),
            ..blank()
        };
        self.tell_channels(step, &somewhere(run), &draft);
    }

    /// Says how a run ended: one message a channel.
    pub(crate) fn tell_run_end(&mut self, step: &mut Step, run: &Run) {
        let quiet = run.notify.is_empty() && run.reply_url.is_none();
        if quiet {
            return;
        }
        let about = self.about(run);
        let mut lines = Vec::new();
        for (at, (record, planned)) in run.steps.iter().zip(&run.plan.steps).enumerate() {
            let name = planned.operation.name();
            let said: Vec<&str> = record.output.iter().map(Text::as_str).collect();
            let colon = if said.is_empty() { "" } else { ": " };
            let state = record.state.as_str();
            lines.push(format!("{} {state} {name}{colon}{}", at + 1, said.join("; ")));
        }
        if !run.why.as_str().is_empty() {
            lines.push(run.why.as_str().into());
        }
        if let Some(reason) = &run.override_reason {
            lines.push(format!("Limits were set aside: {}", reason.as_str()));
        }
        lines.push(format!("More: clawhold run show {}", run.id));
        let severity = match run.state {
            RunState::Failed | RunState::Unknown => Severity::Critical,
            RunState::Asking
            | RunState::Running
            | RunState::Succeeded
            | RunState::Cancelled
            | RunState::Withdrawn
            | RunState::Expired
            | RunState::Rejected => Severity::Info,
        };
        let draft = Draft {
            severity,
            title: Text::cut(&format!("{}{about}: {} (run {})", run.title, run.state, run.id)),
            lines: lines.iter().map(|line| Text::cut(line)).collect(),
            run: Some(run.id),
            reply_url: run.reply_url.clone(),
            key: Text::cut(&format!("run/{}/end/{}", run.id, step.stamp.position)),
            ..blank()
        };
        self.tell_channels(step, &run.notify, &draft);
    }

    /// Sends what a step says.
    pub(crate) fn tell_step(
        &mut self,
        step: &mut Step,
        run: &Run,
        at: usize,
        channel: Option<&Title>,
        text: Option<&Text>,
    ) {
        let about = self.about(run);
        let said =
            text.map_or_else(|| format!("{}{about}", run.title), |text| text.as_str().into());
        let draft = Draft {
            severity: Severity::Info,
            title: Text::cut(&said),
            lines: done_lines(run),
            run: Some(run.id),
            key: Text::cut(&format!("run/{}/step/{at}", run.id)),
            ..blank()
        };
        match channel {
            Some(channel) => self.tell_channels(step, core::slice::from_ref(channel), &draft),
            None => self.tell_channels(step, &run.notify, &draft),
        }
    }

    /// Writes the call of a webhook that a step waits for.
    pub(crate) fn write_call(
        &mut self,
        step: &mut Step,
        run: &Run,
        channel: &Title,
        at: usize,
    ) -> MessageId {
        let planned = &run.plan.steps[at];
        let draft = Draft {
            channel: channel.clone(),
            severity: Severity::Info,
            title: planned.sentence.clone(),
            lines: done_lines(run),
            run: Some(run.id),
            step: u32::try_from(at).ok(),
            key: Text::cut(&format!("run/{}/step/{at}/{}", run.id, run.steps[at].attempts)),
            ..blank()
        };
        self.automation.outbox.write(step, draft, &self.automation.catalog)
    }

    /// Writes a message to channels; to one reply where there is none.
    fn tell_channels(&mut self, step: &mut Step, channels: &[Title], draft: &Draft) {
        let automation = &mut self.automation;
        for (at, channel) in channels.iter().enumerate() {
            let reply_url = draft.reply_url.clone().filter(|_| at == 0);
            let draft = Draft { channel: channel.clone(), reply_url, ..draft.clone() };
            automation.outbox.write(step, draft, &automation.catalog);
        }
        if channels.is_empty() && draft.reply_url.is_some() {
            automation.outbox.write(step, draft.clone(), &automation.catalog);
        }
    }

    /// Returns what a run is about, in words that follow its name.
    fn about(&self, run: &Run) -> String {
        let params = &run.params;
        let mut words = String::new();
        if let Some(role) = &params.role {
            words.push_str(&format!(" for role {role}"));
        }
        if let Some(worker) = &params.worker_label {
            words.push_str(&format!(" for worker {worker}"));
        } else if let Some(queue) = &params.queue {
            words.push_str(&format!(" for queue {queue}"));
        }
        if let Some(job) = params.job {
            words.push_str(&format!(" for job {job}"));
        }
        words
    }

    fn plan_lines(&self, run: &Run) -> Vec<String> {
        let steps = run.plan.steps.iter().enumerate();
        let lines = steps.map(|(at, planned)| {
            format!("{} {}: {}", at + 1, planned.operation.name(), planned.sentence.as_str())
        });
        lines.collect()
    }
}

/// Returns the channels of a run, or the one for what nobody named a channel for.
fn somewhere(run: &Run) -> Vec<Title> {
    if run.notify.is_empty() { [blank().channel].into() } else { run.notify.clone() }
}

fn done_lines(run: &Run) -> Vec<Text> {
    let done = run.steps.iter().filter(|record| record.state == StepState::Done);
    done.flat_map(|record| record.output.iter().cloned()).collect()
}

/// Returns a message that says nothing yet; replies that belong to no channel are kept under
/// `#runs`.
fn blank() -> Draft {
    Draft {
        channel: built_in("#runs"),
        severity: Severity::Info,
        title: Text::default(),
        lines: Vec::new(),
        mention: None,
        run: None,
        step: None,
        alert: None,
        reply_url: None,
        key: Text::default(),
    }
}

fn built_in(title: &str) -> Title {
    Title::parse(title).expect("the words are a title")
}

fn grouping(target: &Target) -> Option<Grouping> {
    Some(match target {
        Target::Role(_) => Grouping::Role,
        Target::Worker(_) => Grouping::Worker,
        Target::Queue(_) => Grouping::Queue,
        Target::Job(_) => Grouping::Job,
    })
}
