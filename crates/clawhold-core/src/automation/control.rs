//! Pausing all automation, what a changed definition means for what is under way, and beliefs.

use alloc::vec::Vec;

use super::AutomationPause;
use crate::answer::{Answer, Refusal};
use crate::catalog::Noun;
use crate::change::What;
use crate::command::{Believed, PauseAutomation};
use crate::limits;
use crate::request::check_range;
use crate::run::{Belief, Due, Run, RunState};
use crate::state::{State, Step};
use crate::units::{RunId, Text, Title};

impl State {
    /// Lets no run start of itself. Those under way go on.
    pub(crate) fn pause_automation(
        &mut self,
        step: &mut Step,
        command: &PauseAutomation,
    ) -> Result<Answer, Refusal> {
        if let Some(for_ms) = command.for_ms {
            check_range("for_ms", for_ms, 1, limits::DURATION_MS_MAX)?;
        }
        self.forget_pause();
        let until = command.for_ms.map(|ms| step.stamp.at.after(ms));
        if let Some(until) = until {
            self.automation.runs.due.insert((until, Due::Pause));
        }
        let (since, actor) = (step.stamp, step.actor.clone());
        let reason = command.reason.clone();
        self.automation.paused = Some(AutomationPause { since, until, reason, actor });
        step.note(What::Automation);
        self.look_at_withheld(step);
        Ok(Answer::Done)
    }

    fn forget_pause(&mut self) {
        let pause = self.automation.paused.take();
        if let Some(until) = pause.and_then(|pause| pause.until) {
            self.automation.runs.due.remove(&(until, Due::Pause));
        }
    }

    /// Lets runs start of themselves again: what holds now is looked at now.
    pub(crate) fn unpause_automation(&mut self, step: &mut Step) -> Result<Answer, Refusal> {
        if self.automation.paused.is_some() {
            self.end_pause(step);
        }
        Ok(Answer::Done)
    }

    pub(crate) fn end_pause(&mut self, step: &mut Step) {
        self.forget_pause();
        step.note(What::Automation);
        self.consider_all(step, None);
    }

    /// Looks at every fix, or at one, and all its targets.
    fn consider_all(&mut self, step: &mut Step, only: Option<&Title>) {
        let fixes = self.automation.catalog.list(Noun::AutoFix, None);
        let fixes = fixes.filter(|known| known.enabled);
        let fixes = fixes.filter(|known| only.is_none_or(|title| known.title == *title));
        let kinds = fixes.filter_map(|known| {
            let crate::catalog::Spec::AutoFix(fix) = &known.spec else { return None };
            Some((known.title.clone(), fix.condition.target()))
        });
        let kinds: Vec<_> = kinds.collect();
        for (title, kind) in kinds {
            let targets = self.targets(kind);
            for target in &targets {
                self.note_holds(step, &title, target);
            }
            for target in targets {
                self.consider(step, &title, &target);
            }
        }
    }

    /// Does what follows from a definition that is another one now.
    pub(crate) fn rules_changed(&mut self, step: &mut Step, noun: Noun, title: &Title) {
        match noun {
            Noun::AutoFix => {
                self.void_asking(step, title);
                self.end_blocks(step, title);
                let runs = &mut self.automation.runs;
                let gone = self.automation.catalog.get(noun, title).is_none();
                if gone {
                    runs.instances.retain(|(fix, _), _| fix != title);
                    runs.starts.remove(title);
                    runs.last_ends.remove(title);
                    runs.storms.remove(title);
                }
                runs.due.retain(|(_, due)| !matches!(due, Due::Fix(fix, _) if fix == title));
                for instance in runs.instances.iter_mut().filter(|((fix, _), _)| fix == title) {
                    instance.1.look_at = None;
                    instance.1.told = false;
                }
                self.consider_all(step, Some(title));
                self.begin_sweep(step);
                self.look_at_withheld(step);
            }
            Noun::AlertRule => self.begin_sweep(step),
            Noun::Channel => self.channel_changed(step, title),
            Noun::Agent | Noun::Command | Noun::AlertRoute | Noun::Runbook | Noun::Source => {}
        }
    }

    /// Ends the alerts that say that a fix was kept from running: it is another fix now.
    fn end_blocks(&mut self, step: &mut Step, title: &Title) {
        let told = self.automation.runs.instances(title).filter(|(_, one)| one.told);
        let names: Vec<Text> = told.map(|(target, _)| self.name_of(target)).collect();
        for name in names {
            self.clear_blocked(step, title, &name);
        }
    }

    /// Takes back what asks for a fix that is another one now: an approval is for one version.
    fn void_asking(&mut self, step: &mut Step, title: &Title) {
        let live = self.automation.runs.live.values();
        let asking = live.filter(|run| run.state == RunState::Asking && run.is_of_fix());
        let asking = asking.filter(|run| run.title == *title);
        let asking: Vec<RunId> = asking.map(|run: &Run| run.id).collect();
        for run in asking {
            self.withdraw_run(step, run, "the fix was changed; what was asked is void");
        }
    }

    /// Records that a session showed a belief to lead under an overtaken token.
    pub(crate) fn believed(
        &mut self,
        step: &mut Step,
        command: &Believed,
    ) -> Result<Answer, Refusal> {
        let beliefs = &mut self.automation.runs.beliefs;
        beliefs.push_back(Belief {
            session: command.session,
            role: command.role.clone(),
            token: command.token,
            showed: command.showed,
            stamp: step.stamp,
        });
        if beliefs.len() > limits::BELIEFS_MAX {
            beliefs.pop_front();
        }
        step.note(What::Role { role: command.role.clone() });
        self.two_leaders_seen(step, &command.role, command.session, command.token, command.showed);
        Ok(Answer::Done)
    }
}
