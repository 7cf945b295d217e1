//! Calls about runs, decisions, and the pause of all automation.

use clawhold_api::Nothing;
use clawhold_api::automation::run::{
    CancelRun, Decide, Decision, DecisionQuery, Ran, ResumeRun, Run, RunQuery, RunText, StartRun,
};
use clawhold_api::automation::{AutomationStatus, PauseAutomation};
use clawhold_api::routes::automation as routes;
use clawhold_api::routes::fill;

use crate::call::Call;
use crate::error::ClientError;
use crate::pages::Pages;
use crate::transport::{Client, Written};

impl Client {
    /// Runs what words start: a command is answered, a runbook begins.
    ///
    /// # Errors
    /// As every call; `needs_param` when it is not clear what a runbook is about.
    pub async fn run_text(&self, text: &RunText) -> Result<Written<Ran>, ClientError> {
        self.post(routes::RUN_TEXT, text).await
    }

    /// Runs an auto-fix by its name.
    ///
    /// # Errors
    /// As every call; `blocked` when its limits keep it from running.
    pub async fn run_fix(&self, name: &str, start: &StartRun) -> Result<Written<Run>, ClientError> {
        self.post(&fill(routes::AUTO_FIX_RUN, name), start).await
    }

    /// Runs a runbook by its name.
    ///
    /// # Errors
    /// As every call.
    pub async fn run_runbook(
        &self,
        name: &str,
        start: &StartRun,
    ) -> Result<Written<Run>, ClientError> {
        self.post(&fill(routes::RUNBOOK_RUN, name), start).await
    }

    /// Lists runs, newest first.
    #[must_use]
    pub fn runs(&self, wanted: &RunQuery) -> Pages<Run> {
        Pages::new(self, routes::RUNS, wanted)
    }

    /// Returns one run.
    ///
    /// # Errors
    /// As every call.
    pub async fn run(&self, run: u64) -> Result<Run, ClientError> {
        self.read(&Call::get(&fill(routes::RUN, &run.to_string()), "")).await
    }

    /// Calls a run off.
    ///
    /// # Errors
    /// As every call.
    pub async fn cancel_run(
        &self,
        run: u64,
        cancel: &CancelRun,
    ) -> Result<Written<Run>, ClientError> {
        self.post(&fill(routes::RUN_CANCEL, &run.to_string()), cancel).await
    }

    /// Lets a run go on.
    ///
    /// # Errors
    /// As every call.
    pub async fn resume_run(
        &self,
        run: u64,
        resume: ResumeRun,
    ) -> Result<Written<Run>, ClientError> {
        self.post(&fill(routes::RUN_RESUME, &run.to_string()), &resume).await
    }

    /// Says yes or no to a run that asks.
    ///
    /// # Errors
    /// As every call; `already_decided` when somebody was first.
    pub async fn decide(&self, run: u64, decide: &Decide) -> Result<Written<Run>, ClientError> {
        self.post(&fill(routes::RUN_DECIDE, &run.to_string()), decide).await
    }

    /// Lists what was decided about auto-fixes, newest first.
    #[must_use]
    pub fn decisions(&self, wanted: &DecisionQuery) -> Pages<Decision> {
        Pages::new(self, routes::DECISIONS, wanted)
    }

    /// Returns all automation in numbers.
    ///
    /// # Errors
    /// As every call.
    pub async fn automation(&self) -> Result<AutomationStatus, ClientError> {
        self.read(&Call::get(routes::AUTOMATION, "")).await
    }

    /// Lets no run start of itself.
    ///
    /// # Errors
    /// As every call.
    pub async fn pause_automation(
        &self,
        pause: &PauseAutomation,
    ) -> Result<Written<AutomationStatus>, ClientError> {
        self.post(routes::AUTOMATION_PAUSE, pause).await
    }

    /// Lets runs start of themselves again.
    ///
    /// # Errors
    /// As every call.
    pub async fn unpause_automation(&self) -> Result<Written<AutomationStatus>, ClientError> {
        self.post(routes::AUTOMATION_UNPAUSE, &Nothing {}).await
    }
}
