//! How an alert moves: pending, firing, recovering, resolved; and when it is looked at next.

use alloc::format;
use alloc::vec::Vec;

use super::{
    Alert, AlertState, DETAILS_MAX, FLAP_MS, FLAP_QUIET_MS, FLAP_TURNS, Key, MOMENTS_MAX, Watched,
};
use crate::change::What;
use crate::limits;
use crate::run::Due;
use crate::state::{State, Step};
use crate::units::{Text, Timestamp};

/// What decides how an alert moves.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    /// Milliseconds that it must hold before it fires.
    for_ms: u64,
    /// Milliseconds for which it goes on firing after it ceased to hold.
    keep_ms: u64,
    /// Milliseconds that are counted together.
    window_ms: u64,
    /// Moments within the window that make it hold.
    least: u64,
}

impl State {
    /// Moves an alert as far as it goes, tells it if it is to be told, and says when to look again.
    pub(super) fn reconsider(&mut self, step: &mut Step, key: &Key) {
        self.shift(step, key);
        self.tell_if_due(step, key);
        self.retime(step, key);
    }

    /// Moves an alert as far as it goes, and tells when it is over.
    pub(super) fn shift(&mut self, step: &mut Step, key: &Key) {
        let Some(terms) = self.terms(key) else {
            self.forget_watched(key);
            return;
        };
        let now = step.stamp.at;
        let alerts = &mut self.automation.alerts;
        if let Some(watched) = alerts.watched.get_mut(key) {
            watched.forget_before(now, terms.window_ms);
        }
        let by_moments = alerts.watched.get(key).is_some_and(|watched| {
            watched.count(now, terms.window_ms) >= terms.least.min(MOMENTS_MAX)
        });
        if let Some(alert) = alerts.live.get_mut(key) {
            let holds = by_moments || !alert.open.is_empty();
            let before = alert.state;
            alert.name_facts();
            let over = alert.advance(step, terms, holds);
            if alert.state != before {
                step.note(What::Alert { alert: alert.id });
            }
            match over {
                Over::No => {}
                Over::Unborn => self.drop_alert(step, key),
                Over::Resolved => self.end_alert(step, key, ""),
            }
        }
    }

    /// Returns what decides how an alert moves; `None` when nothing watches for it any more.
    fn terms(&self, key: &Key) -> Option<Terms> {
        let alert = self.automation.alerts.live.get(key);
        if alert.is_some_and(Alert::is_raised) {
            return Some(Terms { for_ms: 0, keep_ms: 0, window_ms: 0, least: u64::MAX });
        }
        let Some(rule) = self.alert_rule(&key.0) else {
            let turns = self.automation.alerts.watched.get(key)?;
            let raised = turns.moments.is_empty() && turns.look.is_none();
            let idle = Terms { for_ms: 0, keep_ms: 0, window_ms: 0, least: u64::MAX };
            return (raised && !turns.turns.is_empty()).then_some(idle);
        };
        Some(Terms {
            for_ms: rule.spec.for_ms,
            keep_ms: rule.spec.keep_ms,
            window_ms: rule.window_ms(),
            least: rule.least(),
        })
    }

    /// Forgets an alert that never fired.
    fn drop_alert(&mut self, step: &mut Step, key: &Key) {
        if let Some(alert) = self.take_alert(key) {
            step.note(What::Alert { alert: alert.id });
            self.lower_limit(step, &key.0);
        }
    }

    /// Ends an alert: it goes to the history, and whoever was told that it fires is told.
    pub(super) fn end_alert(&mut self, step: &mut Step, key: &Key, why: &str) {
        let Some(mut alert) = self.take_alert(key) else { return };
        step.note(What::Alert { alert: alert.id });
        if alert.fired.is_none() {
            self.lower_limit(step, &key.0);
            return;
        }
        alert.state = AlertState::Resolved;
        alert.ended = Some(step.stamp);
        alert.why = Text::cut(why);
        if !alert.flapping {
            alert.turn(step.stamp.at);
        }
        if let Some(watched) = self.automation.alerts.watched.get_mut(key) {
            watched.turns.clone_from(&alert.turns);
        }
        self.tell_over(step, &mut alert);
        let alerts = &mut self.automation.alerts;
        alerts.ended.push_back(alert);
        if alerts.ended.len() > limits::ALERTS_KEPT_MAX {
            alerts.ended.pop_front();
        }
        self.retime(step, key);
        self.end_silences_until_resolved(key);
        self.reconsider_after(step, key);
        self.lower_limit(step, &key.0);
    }

    fn take_alert(&mut self, key: &Key) -> Option<Alert> {
        let alerts = &mut self.automation.alerts;
        let alert = alerts.live.remove(key)?;
        for subject in alert.open.keys() {
            alerts.open.remove(&(key.0.clone(), subject.clone()));
        }
        Some(alert)
    }

    /// Forgets what is remembered of a rule and a group.
    pub(super) fn forget_watched(&mut self, key: &Key) {
        let watched = self.automation.alerts.watched.remove(key);
        if let Some(at) = watched.and_then(|watched| watched.due) {
            self.automation.runs.due.remove(&(at, due(key)));
        }
    }

    /// Brings the moment at which an alert is looked at next in step.
    pub(super) fn retime(&mut self, step: &Step, key: &Key) {
        let next = self.next_look(step.stamp.at, key);
        let alerts = &mut self.automation.alerts;
        let is_live = alerts.live.contains_key(key);
        let Some(watched) = alerts.watched.get_mut(key) else { return };
        let before = core::mem::replace(&mut watched.due, next);
        if next.is_none() && !is_live && watched.is_empty() {
            alerts.watched.remove(key);
        }
        if before == next {
            return;
        }
        let dues = &mut self.automation.runs.due;
        if let Some(before) = before {
            dues.remove(&(before, due(key)));
        }
        if let Some(next) = next {
            dues.insert((next, due(key)));
        }
    }

    fn next_look(&self, now: Timestamp, key: &Key) -> Option<Timestamp> {
        let watched = self.automation.alerts.watched.get(key)?;
        let alert = self.automation.alerts.live.get(key);
        let terms = self.terms(key)?;
        let moves = alert.and_then(|alert| alert.moves_at(terms));
        let told = alert.and_then(|alert| self.told_at(alert, now));
        // A count that suffices is looked at when it ceases to; another one when it is forgotten.
        let least = terms.least.min(MOMENTS_MAX);
        let spare = (watched.moments.len() as u64).checked_sub(least);
        let spare = spare.and_then(|spare| usize::try_from(spare).ok());
        let moment = match spare {
            Some(spare) => watched.moments.get(spare),
            None => watched.moments.back(),
        };
        let counted = moment.map(|at| at.after(terms.window_ms));
        let turned = watched.turns.back().filter(|_| alert.is_none());
        let turned = turned.map(|at| at.after(FLAP_MS));
        let next = [moves, told, counted, turned, watched.look].into_iter().flatten().min();
        // What could be done at this moment was done.
        next.map(|next| next.max(now.after(1)))
    }
}

/// Whether an alert is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Over {
    No,
    /// It ceased to hold before it fired.
    Unborn,
    Resolved,
}

impl Alert {
    /// Moves it as far as it goes.
    fn advance(&mut self, step: &Step, terms: Terms, holds: bool) -> Over {
        let now = step.stamp.at;
        match (self.state, holds) {
            (AlertState::Pending, true) => {
                if self.since.at.after(terms.for_ms) <= now {
                    self.fire(step);
                }
            }
            (AlertState::Pending, false) => return Over::Unborn,
            (AlertState::Firing, false) => {
                self.state = AlertState::Recovering;
                self.ceased = Some(now);
                if self.flapping {
                    self.turn(now);
                }
            }
            (AlertState::Recovering, true) => {
                self.state = AlertState::Firing;
                self.ceased = None;
                if self.flapping {
                    self.turn(now);
                }
            }
            (AlertState::Firing, true)
            | (AlertState::Recovering, false)
            | (AlertState::Resolved, _) => {}
        }
        self.calm_down(now);
        let over = self.state == AlertState::Recovering
            && self.moves_at(terms).is_some_and(|at| at <= now);
        if over { Over::Resolved } else { Over::No }
    }

    fn fire(&mut self, step: &Step) {
        self.state = AlertState::Firing;
        self.fired = Some(step.stamp);
        self.turn(step.stamp.at);
    }

    /// Notes that it changed between firing and not.
    fn turn(&mut self, now: Timestamp) {
        self.turns.push_back(now);
        while self.turns.front().is_some_and(|at| at.after(FLAP_MS) <= now) {
            self.turns.pop_front();
        }
        while self.turns.len() > FLAP_TURNS * 100 {
            self.turns.pop_front();
        }
        if self.turns.len() >= FLAP_TURNS && self.state != AlertState::Resolved && !self.flapping {
            self.flapping = true;
            // The notice is due at once.
            self.told = None;
        }
    }

    /// Flaps no more once it has kept still for long enough while it fires.
    fn calm_down(&mut self, now: Timestamp) {
        let still = self.turns.back().is_none_or(|at| at.after(FLAP_QUIET_MS) <= now);
        if self.flapping && still && self.state == AlertState::Firing {
            self.flapping = false;
        }
    }

    /// Returns when it moves by time alone.
    fn moves_at(&self, terms: Terms) -> Option<Timestamp> {
        let quiet = self.turns.back().filter(|_| self.flapping);
        let quiet = quiet.map(|at| at.after(FLAP_QUIET_MS));
        match self.state {
            AlertState::Pending => Some(self.since.at.after(terms.for_ms)),
            AlertState::Firing => quiet,
            AlertState::Recovering => {
                let kept = self.ceased.map(|at| at.after(terms.keep_ms));
                kept.max(quiet)
            }
            AlertState::Resolved => None,
        }
    }

    /// Names what makes it hold, in one line and in many. What has ceased stays named as it was.
    fn name_facts(&mut self) {
        let Some(first) = self.open.values().next() else { return };
        if self.is_raised() {
            return;
        }
        let count = self.open.len();
        self.summary = match count {
            1 => first.clone(),
            _ => Text::cut(&format!("{}, and {} more", first.as_str(), count - 1)),
        };
        let mut details: Vec<Text> = self.open.values().take(DETAILS_MAX).cloned().collect();
        if count > DETAILS_MAX {
            details.push(Text::cut(&format!("and {} more", count - DETAILS_MAX)));
        }
        self.details = details;
    }
}

impl Watched {
    fn forget_before(&mut self, now: Timestamp, window_ms: u64) {
        while self.moments.front().is_some_and(|at| at.after(window_ms) <= now) {
            self.moments.pop_front();
        }
        while self.turns.front().is_some_and(|at| at.after(FLAP_MS) <= now) {
            self.turns.pop_front();
        }
    }

    fn is_empty(&self) -> bool {
        self.moments.is_empty() && self.turns.is_empty() && self.look.is_none()
    }
}

/// Returns the entry of a rule and a group among what is due.
fn due(key: &Key) -> Due {
    Due::Alert(key.0.clone(), key.1.clone())
}
