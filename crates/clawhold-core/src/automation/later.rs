//! Stubs.
use super::*;
use crate::catalog::Noun;
use crate::command::*;
use crate::run::Due;
use crate::units::Title;
impl State {
    pub(crate) fn start_run(&mut self, _: &mut Step, _: &StartRun) -> Result<Answer, Refusal> {
        Ok(Answer::Done)
    }
    pub(crate) fn cancel_run(&mut self, _: &mut Step, _: &CancelRun) -> Result<Answer, Refusal> {
        Ok(Answer::Done)
    }
    pub(crate) fn resume_run(&mut self, _: &mut Step, _: &ResumeRun) -> Result<Answer, Refusal> {
        Ok(Answer::Done)
    }
    pub(crate) fn decide(&mut self, _: &mut Step, _: &Decide) -> Result<Answer, Refusal> {
        Ok(Answer::Done)
    }
    pub(crate) fn witness(&mut self, _: &mut Step, _: &Witness) -> Result<Answer, Refusal> {
        Ok(Answer::Done)
    }
    pub(crate) fn believed(
        &mut self,
        step: &mut Step,
        command: &Believed,
    ) -> Result<Answer, Refusal> {
        let Believed { session, role, token, showed } = command;
        self.two_leaders_seen(step, role, *session, *token, *showed);
        Ok(Answer::Done)
    }
    pub(crate) fn pause_automation(
        &mut self,
        _: &mut Step,
        _: &PauseAutomation,
    ) -> Result<Answer, Refusal> {
        Ok(Answer::Done)
    }
    pub(crate) fn unpause_automation(&mut self, _: &mut Step) -> Result<Answer, Refusal> {
        Ok(Answer::Done)
    }
    pub(crate) fn reset_fix(&mut self, _: &mut Step, _: &ResetFix) -> Result<Answer, Refusal> {
        Ok(Answer::Done)
    }
    pub(crate) fn react(&mut self, step: &mut Step) {
        for _ in 0..64 {
            if step.seen == step.changes.len() {
                break;
            }
            let changes = step.changes[step.seen..].to_vec();
            step.seen = step.changes.len();
            self.watch_alerts(step, &changes);
        }
        self.begin_sweep(step);
    }
    pub(crate) fn automation_due(&mut self, step: &mut Step) {
        for _ in 0..crate::limits::DUE_PER_ENTRY_MAX {
            let first = self.automation.runs.due.first();
            let Some((at, due)) = first.filter(|(at, _)| *at <= step.stamp.at).cloned() else {
                return;
            };
            self.automation.runs.due.remove(&(at, due.clone()));
            match due {
                Due::Alert(rule, group) => self.alerts_due(step, &rule, &group),
                Due::Sweep => {
                    self.sweep_alerts(step);
                    self.begin_sweep(step);
                }
                Due::Run(_) | Due::Fix(..) | Due::Pause => {}
            }
        }
    }
    fn begin_sweep(&mut self, step: &Step) {
        let waits = self.automation.runs.due.iter().any(|(_, due)| *due == Due::Sweep);
        if !waits && self.alerts_need_sweep() {
            self.automation.runs.due.insert((step.stamp.at.after(1_000), Due::Sweep));
        }
    }
    pub(crate) fn step_sent(
        &mut self,
        _: &mut Step,
        _: crate::units::RunId,
        _: u32,
        _: &crate::outbox::Sent,
        _: bool,
    ) {
    }
    pub(crate) fn rules_changed(&mut self, _: &mut Step, _: Noun, _: &Title) {}
}
