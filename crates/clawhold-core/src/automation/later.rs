//! Stubs.
use super::*;
use crate::catalog::Noun;
use crate::command::*;
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
    pub(crate) fn believed(&mut self, _: &mut Step, _: &Believed) -> Result<Answer, Refusal> {
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
    pub(crate) fn ack_alert(&mut self, _: &mut Step, _: &AckAlert) -> Result<Answer, Refusal> {
        Ok(Answer::Done)
    }
    pub(crate) fn add_silence(&mut self, _: &mut Step, _: &AddSilence) -> Result<Answer, Refusal> {
        Ok(Answer::Done)
    }
    pub(crate) fn expire_silence(
        &mut self,
        _: &mut Step,
        _: &ExpireSilence,
    ) -> Result<Answer, Refusal> {
        Ok(Answer::Done)
    }
    pub(crate) fn sending(&mut self, _: &mut Step, _: &Sending) -> Result<Answer, Refusal> {
        Ok(Answer::Done)
    }
    pub(crate) fn record_sent(&mut self, _: &mut Step, _: &RecordSent) -> Result<Answer, Refusal> {
        Ok(Answer::Done)
    }
    pub(crate) fn retry_delivery(
        &mut self,
        _: &mut Step,
        _: &RetryDelivery,
    ) -> Result<Answer, Refusal> {
        Ok(Answer::Done)
    }
    pub(crate) fn read_inbox(&mut self, _: &mut Step, _: &ReadInbox) -> Result<Answer, Refusal> {
        Ok(Answer::Done)
    }
    pub(crate) fn post(&mut self, _: &mut Step, _: &Post) -> Result<Answer, Refusal> {
        Ok(Answer::Done)
    }
    pub(crate) fn rules_changed(&mut self, _: &mut Step, _: Noun, _: &Title) {}
}
