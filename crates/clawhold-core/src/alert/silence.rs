//! What people say about alerts: that they look at one, and that some are not to be told.

use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;

use super::{Alert, Key, Silence};
use crate::answer::{Answer, Kind, Refusal};
use crate::change::What;
use crate::command::{AckAlert, AddSilence, ExpireSilence};
use crate::limits;
use crate::request::out_of_range;
use crate::run::Due;
use crate::state::{State, Step};
use crate::units::{Name, Text, Timestamp, Title};

impl State {
    /// Records that somebody looks at an alert. Whoever was first stays named.
    pub(crate) fn ack_alert(
        &mut self,
        step: &mut Step,
        command: &AckAlert,
    ) -> Result<Answer, Refusal> {
        let id = command.alert;
        let key = self.automation.alerts.live().find(|alert| alert.id == id).map(Alert::key);
        let Some(key) = key else {
            let missing = Refusal::NotFound { kind: Kind::Alert, name: id.to_string().into() };
            let ended = self.automation.alerts.get(id).ok_or(missing)?;
            let value = format!("{id}, which is {}", ended.state.as_str());
            return Err(out_of_range("alert", &value, "the number of an alert that is not over"));
        };
        let actor = step.actor.clone().unwrap_or_else(nobody);
        let stamp = step.stamp;
        let mut changed = None;
        self.edit_alert(&key, |alert| {
            if alert.acked.is_none() {
                alert.acked = Some((actor, stamp));
                changed = Some(alert.id);
            }
        });
        if let Some(alert) = changed {
            step.note(What::Alert { alert });
            self.retime(step, &key);
        }
        Ok(Answer::Done)
    }

    /// Keeps alerts from being told for a while.
    pub(crate) fn add_silence(
        &mut self,
        step: &mut Step,
        command: &AddSilence,
    ) -> Result<Answer, Refusal> {
        let now = step.stamp.at;
        let until = command.for_ms.map_or(command.until, |ms| now.after(ms));
        check_silence(now, until, &command.reason)?;
        self.end_silences(step);
        let count = self.automation.alerts.silences.len();
        if count >= limits::SILENCES_MAX {
            let (count, max) = (count as u64, limits::SILENCES_MAX as u64);
            return Err(Refusal::Full { what: "the list of silences".into(), count, max });
        }
        let id = step.stamp.position.0;
        let silence = Silence {
            id,
            rule: command.rule.clone(),
            group: command.group.clone(),
            reason: command.reason.clone(),
            until,
            until_resolved: command.until_resolved,
            actor: step.actor.clone(),
            stamp: step.stamp,
        };
        self.automation.runs.due.insert((silence.until, due(id)));
        self.automation.alerts.silences.insert(id, silence.clone());
        step.note(What::Automation);
        self.reconsider_covered(step, &silence);
        Ok(Answer::Silenced { silence: id })
    }

    /// Ends a silence.
    pub(crate) fn expire_silence(
        &mut self,
        step: &mut Step,
        command: &ExpireSilence,
    ) -> Result<Answer, Refusal> {
        let id = command.silence;
        let silence = self.remove_silence(id);
        let missing = || Refusal::NotFound { kind: Kind::Silence, name: id.to_string().into() };
        let silence = silence.ok_or_else(missing)?;
        step.note(What::Automation);
        self.reconsider_covered(step, &silence);
        Ok(Answer::Done)
    }

    /// Ends the silences whose time is over. What they kept from being told and still fires is
    /// told once.
    pub(super) fn end_silences(&mut self, step: &mut Step) {
        let now = step.stamp.at;
        let silences = self.automation.alerts.silences.values();
        let over: Vec<u64> =
            silences.filter(|one| one.until <= now).map(|silence| silence.id).collect();
        for id in over {
            if let Some(silence) = self.remove_silence(id) {
                step.note(What::Automation);
                self.reconsider_covered(step, &silence);
            }
        }
    }

    /// Ends the silences that were to last until an alert is over, if nothing else that they cover
    /// fires.
    pub(super) fn end_silences_until_resolved(&mut self, key: &Key) {
        let alerts = &self.automation.alerts;
        let ended = alerts.ended.back().filter(|alert| alert.key() == *key);
        let Some(ended) = ended else { return };
        let waiting =
            alerts.silences.values().filter(|one| one.until_resolved && one.covers(ended));
        let fires = |silence: &Silence| {
            alerts.live.values().any(|alert| alert.fires() && silence.covers(alert))
        };
        let over: Vec<u64> = waiting.filter(|one| !fires(one)).map(|one| one.id).collect();
        for id in over {
            self.remove_silence(id);
        }
    }

    fn remove_silence(&mut self, id: u64) -> Option<Silence> {
        let silence = self.automation.alerts.silences.remove(&id)?;
        self.automation.runs.due.remove(&(silence.until, due(id)));
        Some(silence)
    }

    fn reconsider_covered(&mut self, step: &mut Step, silence: &Silence) {
        let alerts = self.automation.alerts.live.values();
        let covered = alerts.filter(|alert| alert.fires() && silence.covers(alert));
        let keys: Vec<Key> = covered.map(Alert::key).collect();
        for key in keys {
            self.reconsider(step, &key);
        }
    }
}

fn check_silence(now: Timestamp, until: Timestamp, reason: &Text) -> Result<(), Refusal> {
    let latest = now.after(limits::SILENCE_MS_MAX);
    if !(now < until && until <= latest) {
        let allowed = format!("a moment after {now} and not after {latest}: at most 30 days");
        return Err(out_of_range("until", until, &allowed));
    }
    if reason.as_str().trim().is_empty() {
        return Err(out_of_range("reason", "empty", "a text that says why"));
    }
    Ok(())
}

/// Returns the entry of a silence among what is due. No rule and group is named so.
fn due(id: u64) -> Due {
    Due::Alert(Title::lowest(), Text::cut(&id.to_string()))
}

/// Whoever asked without saying who they are.
fn nobody() -> Name {
    Name::parse("somebody").expect("a fixed name")
}
