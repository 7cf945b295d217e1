//! Stubs.
use super::*;
use crate::catalog::*;
use crate::change::Change;
use crate::command::*;
use crate::outbox::Draft;
use crate::units::*;
use alloc::boxed::Box;
use alloc::vec::Vec;
impl State {
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
    pub(crate) fn watch_alerts(&mut self, _: &mut Step, _: &[Change]) {}
    pub(crate) fn alerts_due(&mut self, _: &mut Step, _: &Title, _: &Text) {}
    pub(crate) fn sweep_alerts(&mut self, _: &mut Step) {}
    pub(crate) fn alerts_need_sweep(&self) -> bool {
        false
    }
    pub(crate) fn raise(&mut self, _: &mut Step, _: crate::alert::Raised) {}
    pub(crate) fn clear_alert(&mut self, _: &mut Step, _: &Title, _: &Text) {}
    pub(crate) fn alert_rule_changed(&mut self, _: &mut Step, _: &Title) {}
    pub(crate) fn two_leaders_seen(
        &mut self,
        _: &mut Step,
        _: &Name,
        _: SessionId,
        _: Token,
        _: Showed,
    ) {
    }
    pub(crate) fn owners_seen(&mut self, _: &mut Step, _: &[Text]) {}
}
impl crate::outbox::Outbox {
    pub(crate) fn write(&mut self, step: &mut Step, draft: Draft, _: &Catalog) -> MessageId {
        self.latest = MessageId(self.latest.0 + 1);
        let d = draft;
        self.messages.insert(
            self.latest,
            crate::outbox::Message {
                id: self.latest,
                channel: d.channel,
                stamp: step.stamp,
                severity: d.severity,
                title: d.title,
                lines: d.lines,
                mention: d.mention,
                run: d.run,
                step: d.step,
                alert: d.alert,
                reply_url: d.reply_url,
                key: d.key,
            },
        );
        step.note(crate::change::What::Message { message: self.latest });
        self.latest
    }
}
