//! Automation: what follows by itself from what happened, under the limits of the operator.
//!
//! After each entry the rules and fixes that its changes touch are looked at, and the runs that
//! wait for them go on, in the same entry. So what a fix does to the state is as durable and as
//! exact as what it answers to.

mod control;
mod facts;
mod react;

use minicbor::{Decode, Encode};

use crate::alert::Alerts;
use crate::answer::{Answer, Refusal};
use crate::catalog::Catalog;
use crate::command::Automate;
use crate::outbox::Outbox;
use crate::run::Runs;
use crate::state::{State, Step};
use crate::units::{Name, Stamp, Text, Timestamp};

/// A pause of all automation: no run starts of itself.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct AutomationPause {
    /// Since when.
    #[n(0)]
    pub since: Stamp,
    /// When it ends by itself.
    #[n(1)]
    pub until: Option<Timestamp>,
    /// Why.
    #[n(2)]
    pub reason: Text,
    /// Who paused it.
    #[n(3)]
    pub actor: Option<Name>,
}

/// All automation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Automation {
    /// What operators have told the program.
    #[n(0)]
    pub(crate) catalog: Catalog,
    /// What runs and ran.
    #[n(1)]
    pub(crate) runs: Runs,
    /// What deserves attention.
    #[n(2)]
    pub(crate) alerts: Alerts,
    /// What is told.
    #[n(3)]
    pub(crate) outbox: Outbox,
    /// The pause in force.
    #[n(4)]
    pub(crate) paused: Option<AutomationPause>,
}

pub use facts::TargetFacts;

impl Automation {
    /// Returns what operators have told the program.
    #[must_use]
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// Returns what runs and ran.
    #[must_use]
    pub fn runs(&self) -> &Runs {
        &self.runs
    }

    /// Returns what deserves attention.
    #[must_use]
    pub fn alerts(&self) -> &Alerts {
        &self.alerts
    }

    /// Returns what is told.
    #[must_use]
    pub fn outbox(&self) -> &Outbox {
        &self.outbox
    }

    /// Returns the pause in force.
    #[must_use]
    pub fn paused(&self) -> Option<&AutomationPause> {
        self.paused.as_ref()
    }
}

impl State {
    /// Carries out what is asked of automation.
    pub(crate) fn automate(
        &mut self,
        step: &mut Step,
        command: &Automate,
    ) -> Result<Answer, Refusal> {
        match command {
            Automate::Define(command) => self.define(step, command),
            Automate::RemoveDefinition(command) => self.remove_definition(step, command),
            Automate::EnableDefinition(command) => self.enable_definition(step, command),
            Automate::RevertDefinition(command) => self.revert_definition(step, command),
            Automate::AppendMessage(command) => self.append_message(step, command),
            Automate::Import(command) => self.import(step, command),
            Automate::StartRun(command) => self.start_run(step, command),
            Automate::CancelRun(command) => self.cancel_run(step, command),
            Automate::ResumeRun(command) => self.resume_run(step, command),
            Automate::Decide(command) => self.decide(step, command),
            Automate::Witness(command) => self.witness(step, command),
            Automate::Believed(command) => self.believed(step, command),
            Automate::PauseAutomation(command) => self.pause_automation(step, command),
            Automate::UnpauseAutomation => self.unpause_automation(step),
            Automate::ResetFix(command) => self.reset_fix(step, command),
            Automate::AckAlert(command) => self.ack_alert(step, command),
            Automate::AddSilence(command) => self.add_silence(step, command),
            Automate::ExpireSilence(command) => self.expire_silence(step, command),
            Automate::Sending(command) => self.sending(step, command),
            Automate::RecordSent(command) => self.record_sent(step, command),
            Automate::RetryDelivery(command) => self.retry_delivery(step, command),
            Automate::ReadInbox(command) => self.read_inbox(step, command),
            Automate::Post(command) => self.post(step, command),
        }
    }
}
