//! Who hears of an alert, and when: once when it fires, again while it goes on, once when it is
//! over. Silences, inhibition and flapping hold messages back; nothing holds the alert back.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::FLAP_MS;
use super::level::span;
use super::{Alert, AlertState, Key, REPEAT_CRITICAL_MS, REPEAT_MS, Silence, Subject, WAIT_MS};
use crate::catalog::{Grouping, Noun, Severity, Spec};
use crate::change::{Change, What};
use crate::operation::Detector;
use crate::outbox::Draft;
use crate::run::Target;
use crate::state::{State, Step};
use crate::units::{Name, Text, Timestamp, Title};

/// Where alerts are told when nothing else is said.
const DEFAULT_CHANNEL: &str = "#alerts";

/// What is told of an alert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Telling {
    /// It fires.
    Fires,
    /// It still fires.
    StillFires,
    /// It still fires, and a silence is over.
    SilenceOver,
    /// It has begun to flap, or goes on to.
    Flaps,
    /// It is over.
    Over,
}

impl State {
    /// Tells an alert that fires, if it is to be told at this moment.
    pub(super) fn tell_if_due(&mut self, step: &mut Step, key: &Key) {
        let now = step.stamp.at;
        let Some(alert) = self.automation.alerts.live.get(key).filter(|alert| alert.fires()) else {
            return;
        };
        if self.is_silenced(alert, now) {
            self.edit_alert(key, |alert| alert.hushed = true);
            return;
        }
        if self.is_inhibited(alert) {
            return;
        }
        if self.told_at(alert, now).is_none_or(|at| at > now) {
            return;
        }
        let telling = match alert {
            Alert { flapping: true, .. } => Telling::Flaps,
            Alert { is_open: false, .. } => Telling::Fires,
            Alert { hushed: true, .. } => Telling::SilenceOver,
            Alert { .. } => Telling::StillFires,
        };
        let Some(mut alert) = self.automation.alerts.live.get(key).cloned() else { return };
        let mentions = self.channels_of(&alert);
        alert.channels = mentions.keys().cloned().collect();
        alert.is_open = true;
        alert.hushed = false;
        alert.told = Some(now);
        self.tell_to(step, &mut alert, telling, &mentions);
        self.automation.alerts.live.insert(key.clone(), alert);
    }

    /// Tells that an alert is over to whoever was told that it fires.
    pub(super) fn tell_over(&mut self, step: &mut Step, alert: &mut Alert) {
        if !alert.is_open || self.is_silenced(alert, step.stamp.at) {
            return;
        }
        let channels = alert.channels.iter().map(|channel| (channel.clone(), None));
        let channels: BTreeMap<Title, Option<Text>> = channels.collect();
        self.tell_to(step, alert, Telling::Over, &channels);
    }

    fn tell_to(
        &mut self,
        step: &mut Step,
        alert: &mut Alert,
        telling: Telling,
        channels: &BTreeMap<Title, Option<Text>>,
    ) {
        alert.tellings = alert.tellings.saturating_add(1);
        let key = Text::cut(&format!("alert/{}/{}", alert.id, alert.tellings));
        let severity = if telling == Telling::Over { Severity::Info } else { alert.severity };
        for (channel, mention) in channels {
            let draft = Draft {
                channel: channel.clone(),
                severity,
                title: alert.headline(telling),
                lines: alert.lines(telling, step.stamp.at),
                mention: mention.clone(),
                run: None,
                step: None,
                alert: Some(alert.id),
                reply_url: None,
                key: key.clone(),
            };
            let automation = &mut self.automation;
            automation.outbox.write(step, draft, &automation.catalog);
        }
    }

    /// Returns when an alert is told next, silences and inhibition apart.
    pub(super) fn told_at(&self, alert: &Alert, now: Timestamp) -> Option<Timestamp> {
        let fired = alert.fired.filter(|_| alert.fires())?;
        if alert.flapping {
            return Some(alert.told.map_or(now, |told| told.after(FLAP_MS)));
        }
        if alert.hushed {
            return Some(now).filter(|_| !self.is_silenced(alert, now));
        }
        if self.is_silenced(alert, now) || self.is_inhibited(alert) {
            return None;
        }
        let critical = alert.severity == Severity::Critical;
        let Some(told) = alert.told.filter(|_| alert.is_open) else {
            return Some(if critical { fired.at } else { fired.at.after(WAIT_MS) });
        };
        let pressing = critical && alert.acked.is_none();
        Some(told.after(if pressing { REPEAT_CRITICAL_MS } else { REPEAT_MS }))
    }

    /// Returns where an alert is told, and who is named there.
    fn channels_of(&self, alert: &Alert) -> BTreeMap<Title, Option<Text>> {
        let mut channels: BTreeMap<Title, Option<Text>> = BTreeMap::new();
        if alert.is_raised() {
            channels.extend(alert.channels.iter().map(|channel| (channel.clone(), None)));
        } else if let Some(rule) = self.alert_rule(&alert.rule) {
            channels.extend(rule.spec.notify.iter().map(|channel| (channel.clone(), None)));
        }
        for known in self.automation.catalog.list(Noun::AlertRoute, None) {
            let Spec::AlertRoute(route) = &known.spec else { continue };
            if known.enabled && route.severity <= alert.severity {
                let mention = channels.entry(route.to.clone()).or_default();
                *mention = mention.take().or_else(|| route.also_page.clone());
            }
        }
        // That a sink takes nothing is not told through that sink alone.
        for subject in alert.open.keys() {
            if let Subject::Channel(down) = subject {
                channels.remove(down);
            }
        }
        if channels.is_empty() {
            channels.insert(default_channel(), None);
        }
        channels
    }

    /// Returns the silence that keeps an alert from being told.
    pub(super) fn is_silenced(&self, alert: &Alert, now: Timestamp) -> bool {
        let mut silences = self.automation.alerts.silences.values();
        silences.any(|silence| silence.until > now && silence.covers(alert))
    }

    /// Tells whether an alert is what follows from another one that fires.
    pub(super) fn is_inhibited(&self, alert: &Alert) -> bool {
        if self.follows_from_vacancy(alert) {
            return true;
        }
        let alerts = &self.automation.alerts;
        self.alert_rules().any(|rule| {
            let inhibits = rule.title != &alert.rule && rule.spec.inhibits.contains(&alert.rule);
            let cause = || alerts.live.get(&(rule.title.clone(), alert.group.clone()));
            inhibits && cause().is_some_and(Alert::fires)
        })
    }

    /// Tells whether it says that the standbys of a role are behind that nobody leads.
    fn follows_from_vacancy(&self, alert: &Alert) -> bool {
        let rule = self.alert_rule(&alert.rule).filter(|_| !alert.open.is_empty());
        let detector = rule.and_then(|rule| rule.detector());
        if !matches!(detector, Some(Detector::StandbyLag { .. })) {
            return false;
        }
        alert.open.keys().all(|subject| match subject {
            Subject::Target(Target::Role(role)) => self.is_leaderless(role),
            Subject::Target(_) | Subject::Channel(_) | Subject::Itself => false,
        })
    }

    fn is_leaderless(&self, role: &Name) -> bool {
        self.roles.get(role).is_some_and(|role| role.held.is_none())
    }

    /// Looks again at the alerts that one that is over kept from being told.
    pub(super) fn reconsider_after(&mut self, step: &mut Step, key: &Key) {
        let Some(rule) = self.alert_rule(&key.0) else { return };
        let inhibited = rule.spec.inhibits.iter().filter(|title| **title != key.0);
        let keys = inhibited.map(|title| (title.clone(), key.1.clone()));
        let keys: Vec<Key> =
            keys.filter(|key| self.automation.alerts.live.contains_key(key)).collect();
        for key in keys {
            self.reconsider(step, &key);
        }
    }

    /// Looks again at the alerts about roles that somebody leads again.
    pub(super) fn reconsider_inhibited(&mut self, step: &mut Step, changes: &[Change]) {
        let mut keys: BTreeSet<Key> = BTreeSet::new();
        for change in changes {
            let What::RoleGranted { role, .. } = &change.what else { continue };
            let subject = Subject::Target(Target::Role(role.clone()));
            for rule in self.alert_rules() {
                if matches!(rule.detector(), Some(Detector::StandbyLag { .. })) {
                    let open = (rule.title.clone(), subject.clone());
                    let group = self.automation.alerts.open.get(&open);
                    keys.extend(group.map(|group| (open.0, group.clone())));
                }
            }
        }
        for key in keys {
            self.reconsider(step, &key);
        }
    }

    pub(super) fn edit_alert(&mut self, key: &Key, edit: impl FnOnce(&mut Alert)) {
        if let Some(alert) = self.automation.alerts.live.get_mut(key) {
            edit(alert);
        }
    }
}

impl Silence {
    /// Tells whether it is about an alert.
    pub(super) fn covers(&self, alert: &Alert) -> bool {
        let rule = self.rule.as_ref().is_none_or(|rule| *rule == alert.rule);
        rule && self.group.as_ref().is_none_or(|group| *group == alert.group)
    }
}

impl Alert {
    fn headline(&self, telling: Telling) -> Text {
        let before = match telling {
            Telling::Fires => "",
            Telling::StillFires | Telling::SilenceOver => "Still firing: ",
            Telling::Flaps => "Flapping: ",
            Telling::Over => "Resolved: ",
        };
        let group = self.group.as_str();
        let group = match self.grouping {
            _ if group.is_empty() => String::new(),
            None => format!(": {group}"),
            Some(Grouping::Role) => format!(": role {group}"),
            Some(Grouping::Queue) => format!(": queue {group}"),
            Some(Grouping::Worker) => format!(": worker {group}"),
            Some(Grouping::Job) => format!(": job {group}"),
        };
        Text::cut(&format!("{before}{}{group}", self.rule))
    }

    fn lines(&self, telling: Telling, now: Timestamp) -> Vec<Text> {
        let mut lines = Vec::new();
        let fired = self.fired.map_or(self.since.at, |fired| fired.at);
        let lasted = span(now.0.saturating_sub(fired.0));
        let since = fired.time_of_day();
        match telling {
            Telling::Fires => {}
            Telling::StillFires => {
                lines.push(format!("It has fired since {since}, for {lasted}."));
            }
            Telling::SilenceOver => {
                lines.push(format!("A silence is over. It has fired since {since}, for {lasted}."));
            }
            Telling::Flaps => {
                let turns = self.turns.len();
                let state = if self.state == AlertState::Firing { "holds" } else { "is clear" };
                lines.push(format!(
                    "It has turned {turns} times within 30 min and {state} at {}. Until it keeps \
                     still for 10 min, only a summary every 30 min follows.",
                    now.time_of_day()
                ));
            }
            Telling::Over => {
                let why = self.why.as_str();
                let why = if why.is_empty() { String::new() } else { format!(": {why}") };
                lines.push(format!("It fired at {since} and is over after {lasted}{why}."));
            }
        }
        if let Some((by, stamp)) = &self.acked {
            lines.push(format!("{by} has looked at it since {}.", stamp.at.time_of_day()));
        }
        let mut lines: Vec<Text> = lines.iter().map(|line| Text::cut(line)).collect();
        lines.push(self.summary.clone());
        let told = |fact: &Text| self.summary.as_str().ends_with(fact.as_str());
        if self.details.len() > 1 || !self.details.first().is_some_and(told) {
            lines.extend(self.details.iter().cloned());
        }
        lines
    }
}

fn default_channel() -> Title {
    Title::parse(DEFAULT_CHANNEL).expect("a fixed title")
}
