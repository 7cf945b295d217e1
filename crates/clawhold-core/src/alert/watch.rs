//! When alert rules are looked at: after each entry's changes, at their moments, and once a second
//! for what changes by time alone.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::vec::Vec;

use super::find::{Finding, Reading, Rule};
use super::level::span;
use super::{ALERTS_LIMIT_TITLE, Alert, AlertState, Key, MOMENTS_MAX, Raised, Watched};
use crate::catalog::{Grouping, Noun, Severity};
use crate::change::{Change, What};
use crate::limits;
use crate::operation::Detector;
use crate::state::{State, Step};
use crate::units::{AlertId, Name, Text, Timestamp, Title};

impl State {
    /// Looks at every rule that the changes touch.
    pub(crate) fn watch_alerts(&mut self, step: &mut Step, changes: &[Change]) {
        for change in changes {
            if let What::Definition { noun: Noun::AlertRule, title } = &change.what {
                self.alert_rule_changed(step, title);
            }
        }
        let mut findings = Vec::new();
        for rule in self.alert_rules() {
            self.find(rule, changes, &mut findings);
        }
        self.take_findings(step, findings);
        self.reconsider_inhibited(step, changes);
    }

    /// Looks at one rule and group at a moment that was set for it.
    pub(crate) fn alerts_due(&mut self, step: &mut Step, rule: &Title, group: &Text) {
        self.end_silences(step);
        let key = (rule.clone(), group.clone());
        let Some(watched) = self.automation.alerts.watched.get_mut(&key) else { return };
        watched.due = None;
        if watched.look.is_some_and(|look| look <= step.stamp.at) {
            watched.look = None;
            self.look_at_returned(step, &key);
        }
        self.reconsider(step, &key);
    }

    /// Looks at every rule that time alone can change.
    pub(crate) fn sweep_alerts(&mut self, step: &mut Step) {
        let mut findings = Vec::new();
        for rule in self.alert_rules().filter(Rule::is_timed) {
            self.look_over(rule, &mut findings);
        }
        self.take_findings(step, findings);
    }

    /// Tells whether there is something that time alone can change.
    pub(crate) fn alerts_need_sweep(&self) -> bool {
        self.alert_rules().any(|rule| rule.is_timed())
    }

    /// Tells whether a rule in force watches for sinks that take nothing.
    pub(crate) fn watches_sinks(&self) -> bool {
        self.alert_rules().any(|rule| rule.detector() == Some(&Detector::SinkDown))
    }

    /// Returns the rules in force.
    pub(super) fn alert_rules(&self) -> impl Iterator<Item = Rule<'_>> {
        let rules = self.automation.catalog.by_title.range((Noun::AlertRule, Title::lowest())..);
        let rules = rules.take_while(|((noun, _), _)| *noun == Noun::AlertRule);
        rules.filter_map(|(_, known)| Rule::of(known))
    }

    /// Ends what a rule has left that is another one now, and looks at what it watches now.
    fn alert_rule_changed(&mut self, step: &mut Step, title: &Title) {
        let known = self.automation.catalog.get(Noun::AlertRule, title);
        let why = match known {
            None => "the rule was removed",
            Some(known) if !known.enabled => "the rule was disabled",
            Some(_) => "the rule was edited",
        };
        let left = self.automation.alerts.of_rule(title).filter(|alert| !alert.is_raised());
        let left: Vec<Key> = left.map(Alert::key).collect();
        for key in left {
            self.end_alert(step, &key, why);
        }
        self.forget_rule(title);
        self.clear_alert(step, &limit_title(), &Text::cut(title.as_str()));
        self.look_anew(step, title);
        let alerts = self.automation.alerts.live.values();
        let untold = alerts.filter(|alert| alert.fires() && !alert.is_open);
        let untold: Vec<Key> = untold.map(Alert::key).collect();
        for key in untold {
            self.reconsider(step, &key);
        }
    }

    /// Looks at everything that a rule watches.
    fn look_anew(&mut self, step: &mut Step, title: &Title) {
        let mut findings = Vec::new();
        if let Some(rule) = self.alert_rule(title) {
            self.look_over(rule, &mut findings);
        }
        self.take_findings(step, findings);
    }

    /// Forgets the moments and turns of a rule.
    fn forget_rule(&mut self, title: &Title) {
        let from = (title.clone(), Text::default());
        let watched = self.automation.alerts.watched.range(from..);
        let watched = watched.take_while(|((rule, _), _)| rule == title);
        let live = &self.automation.alerts.live;
        let idle = watched.filter(|(key, _)| !live.contains_key(*key));
        let idle: Vec<Key> = idle.map(|(key, _)| key.clone()).collect();
        for key in idle {
            self.forget_watched(&key);
        }
    }

    /// Takes in what was found: first what holds, so that an alert names all of it at once, then
    /// what ceased.
    pub(super) fn take_findings(&mut self, step: &mut Step, findings: Vec<Finding>) {
        let ceases = |finding: &Finding| matches!(finding.reading, Reading::Clear);
        let (ceased, held): (Vec<Finding>, Vec<Finding>) = findings.into_iter().partition(ceases);
        for findings in [held, ceased] {
            let mut keys = BTreeSet::new();
            for finding in findings {
                keys.extend(self.take_finding(step, finding));
            }
            // Whatever explains another alert fires before that one is told.
            for key in &keys {
                self.shift(step, key);
            }
            for key in &keys {
                self.tell_if_due(step, key);
                self.retime(step, key);
            }
        }
    }

    /// Takes in one finding and returns the alert that it is about.
    fn take_finding(&mut self, step: &mut Step, finding: Finding) -> Option<Key> {
        let Finding { rule, group, grouping, subject, reading } = finding;
        match reading {
            Reading::Clear => {
                let group = self.automation.alerts.open.remove(&(rule.clone(), subject.clone()))?;
                let key = (rule, group);
                let alert = self.automation.alerts.live.get_mut(&key)?;
                alert.open.remove(&subject);
                alert.no_data = None;
                Some(key)
            }
            Reading::Holds(fact) => {
                let open = self.automation.alerts.open.get(&(rule.clone(), subject.clone()));
                let key = (rule.clone(), open.cloned().unwrap_or(group));
                let alert = self.alert_for(step, &key, grouping)?;
                alert.no_data = None;
                if alert.open.insert(subject.clone(), fact).is_none() {
                    alert.saw(step);
                }
                self.automation.alerts.open.insert((rule, subject), key.1.clone());
                Some(key)
            }
            Reading::NoData => {
                let group = self.automation.alerts.open.get(&(rule.clone(), subject))?.clone();
                let alert = self.automation.alerts.live.get_mut(&(rule, group))?;
                let id = alert.id;
                if alert.no_data.replace(alert.no_data.unwrap_or(step.stamp.at)).is_none() {
                    step.note(What::Alert { alert: id });
                }
                None
            }
            Reading::Event(fact) => self.take_event(step, (rule, group), grouping, fact),
            Reading::Look(at) => {
                let key = (rule, group);
                let watched = self.watched_for(step, &key)?;
                watched.look = Some(watched.look.map_or(at, |look| look.min(at)));
                self.retime(step, &key);
                None
            }
        }
    }

    /// Takes in a moment that is counted. There is an alert once there are enough of them.
    fn take_event(
        &mut self,
        step: &mut Step,
        key: Key,
        grouping: Option<Grouping>,
        fact: Text,
    ) -> Option<Key> {
        let rule = self.alert_rule(&key.0)?;
        let (max, window_ms) = (rule.least().min(MOMENTS_MAX), rule.window_ms());
        let now = step.stamp.at;
        let watched = self.watched_for(step, &key)?;
        watched.moments.push_back(now);
        while watched.moments.len() as u64 > max {
            watched.moments.pop_front();
        }
        let enough = watched.count(now, window_ms) >= max;
        if enough || self.automation.alerts.live.contains_key(&key) {
            let times = self.automation.alerts.watched.get(&key)?.count(now, window_ms);
            let summary = if max > 1 {
                let within = span(window_ms);
                Text::cut(&format!("{times} times within {within}, the last: {}", fact.as_str()))
            } else {
                fact.clone()
            };
            let Some(alert) = self.alert_for(step, &key, grouping) else {
                self.retime(step, &key);
                return None;
            };
            alert.summary = summary;
            alert.saw_more(step, fact);
        } else {
            self.retime(step, &key);
            return None;
        }
        Some(key)
    }

    /// Returns a rule in force.
    pub(super) fn alert_rule(&self, title: &Title) -> Option<Rule<'_>> {
        self.automation.catalog.get(Noun::AlertRule, title).and_then(Rule::of)
    }

    /// Returns what is remembered of a rule and a group, unless too much is remembered.
    fn watched_for(&mut self, step: &mut Step, key: &Key) -> Option<&mut Watched> {
        let watched = &self.automation.alerts.watched;
        let full = watched.len() >= limits::TARGETS_MAX && !watched.contains_key(key);
        if full {
            self.raise_limit(step, &key.0, limits::TARGETS_MAX);
            return None;
        }
        Some(self.automation.alerts.watched.entry(key.clone()).or_default())
    }

    /// Returns the alert of a rule and a group, which is made when it is missing, unless the rule
    /// has too many.
    fn alert_for(
        &mut self,
        step: &mut Step,
        key: &Key,
        grouping: Option<Grouping>,
    ) -> Option<&mut Alert> {
        if !self.automation.alerts.live.contains_key(key) {
            if !self.has_room(step, &key.0) {
                return None;
            }
            let rule = self.alert_rule(&key.0)?;
            let (version, severity) = (rule.version, rule.spec.severity);
            self.watched_for(step, key)?;
            self.automation.alerts.begin(step, key, grouping, version, severity);
        }
        self.automation.alerts.live.get_mut(key)
    }

    /// Tells whether a rule may have one more alert, and says so when it may not.
    pub(super) fn has_room(&mut self, step: &mut Step, rule: &Title) -> bool {
        let max = limits::ALERTS_PER_RULE_MAX;
        let count = self.automation.alerts.of_rule(rule).count();
        if count >= max && *rule != limit_title() {
            self.raise_limit(step, rule, max);
        }
        count < max
    }

    fn raise_limit(&mut self, step: &mut Step, rule: &Title, max: usize) {
        let group = Text::cut(rule.as_str());
        if self.automation.alerts.live.contains_key(&(limit_title(), group.clone())) {
            return;
        }
        let summary = format!(
            "{:?} has {max} alerts, its limit; more are not kept: group it by less, or find what \
             they have in common",
            rule.as_str()
        );
        let raised = Raised {
            title: limit_title(),
            group,
            grouping: None,
            severity: Severity::Warning,
            summary: Text::cut(&summary),
            details: Vec::new(),
            channels: Vec::new(),
        };
        self.raise(step, raised);
    }

    /// Lets new alerts of a rule in again once enough of them are over.
    pub(super) fn lower_limit(&mut self, step: &mut Step, rule: &Title) {
        let group = Text::cut(rule.as_str());
        if !self.automation.alerts.live.contains_key(&(limit_title(), group.clone())) {
            return;
        }
        if self.automation.alerts.of_rule(rule).count() >= limits::ALERTS_PER_RULE_MAX / 10 * 9 {
            return;
        }
        self.clear_alert(step, &limit_title(), &group);
        self.look_anew(step, rule);
    }

    fn look_at_returned(&mut self, step: &mut Step, key: &Key) {
        let Some(rule) = self.alert_rule(&key.0) else { return };
        if !matches!(rule.detector(), Some(Detector::Orphan)) {
            return;
        }
        let Ok(queue) = Name::parse(key.1.as_str()) else { return };
        let mut findings = Vec::new();
        self.find_waiting(rule, &queue, step.stamp.at, &mut findings);
        self.take_findings(step, findings);
    }
}

impl super::Alerts {
    /// Makes the alert of a rule and a group.
    pub(super) fn begin(
        &mut self,
        step: &mut Step,
        key: &Key,
        grouping: Option<Grouping>,
        version: u64,
        severity: Severity,
    ) {
        self.latest = AlertId(self.latest.0.saturating_add(1));
        let turns = self.watched.get(key).map(|watched| watched.turns.clone());
        let alert = Alert {
            id: self.latest,
            rule: key.0.clone(),
            version,
            group: key.1.clone(),
            grouping,
            severity,
            state: AlertState::Pending,
            since: step.stamp,
            fired: None,
            ended: None,
            seen: step.stamp,
            summary: Text::default(),
            details: Vec::new(),
            count: 0,
            acked: None,
            turns: turns.unwrap_or_default(),
            flapping: false,
            no_data: None,
            told: None,
            is_open: false,
            channels: Vec::new(),
            ceased: None,
            open: alloc::collections::BTreeMap::new(),
            tellings: 0,
            hushed: false,
            why: Text::default(),
        };
        step.note(What::Alert { alert: alert.id });
        self.live.insert(key.clone(), alert);
    }
}

impl Alert {
    /// Returns its key.
    pub(super) fn key(&self) -> Key {
        (self.rule.clone(), self.group.clone())
    }

    /// Notes that what it watches was seen.
    fn saw(&mut self, step: &Step) {
        self.seen = step.stamp;
        self.count = self.count.saturating_add(1);
    }

    /// Notes that what it counts was seen once more.
    fn saw_more(&mut self, step: &Step, fact: Text) {
        self.saw(step);
        if self.details.len() >= super::DETAILS_MAX {
            self.details.remove(0);
        }
        self.details.push(fact);
    }
}

impl Watched {
    /// Returns how many moments lie within the window that ends at `now`.
    pub(super) fn count(&self, now: Timestamp, window_ms: u64) -> u64 {
        let within = self.moments.iter().filter(|at| at.after(window_ms) > now);
        within.count() as u64
    }
}

fn limit_title() -> Title {
    Title::parse(ALERTS_LIMIT_TITLE).expect("a fixed title")
}
