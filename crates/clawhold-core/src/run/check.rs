//! What must be true of runs between two entries.

use alloc::format;
use alloc::string::String;

use super::{Due, Run, RunState, Runs};
use crate::units::RunId;

impl Runs {
    /// Tells what does not hold, if something does not.
    pub(crate) fn check(&self) -> Result<(), String> {
        for (id, run) in &self.live {
            if run.state.is_ended() {
                return Err(format!("run {id} is {} and under way", run.state));
            }
            self.check_run(*id, run)?;
        }
        for (id, run) in &self.ended {
            if !run.state.is_ended() || run.ended.is_none() {
                return Err(format!("run {id} has ended and is {}", run.state));
            }
            if self.live.contains_key(id) {
                return Err(format!("run {id} is there twice"));
            }
            self.check_run(*id, run)?;
        }
        Ok(())
    }

    fn check_run(&self, id: RunId, run: &Run) -> Result<(), String> {
        if run.id != id || id > self.latest {
            return Err(format!("run {id} bears another number, or one that was not given"));
        }
        if run.steps.len() != run.plan.steps.len() {
            return Err(format!("run {id} has other steps than its plan"));
        }
        if usize::try_from(run.cursor).map_or(true, |at| at > run.steps.len()) {
            return Err(format!("run {id} is beyond its last step"));
        }
        let until = run.answer_by.filter(|_| run.state == RunState::Asking);
        if until.is_some_and(|until| !self.due.contains(&(until, Due::Run(id)))) {
            return Err(format!("run {id} asks for ever"));
        }
        Ok(())
    }
}
