//! What the program watches by itself: it has no rule, cannot be put out of force, and can be
//! silenced.

use alloc::format;
use alloc::vec::Vec;

use super::{Key, Subject};
use crate::catalog::{Grouping, Noun, Severity};
use crate::change::What;
use crate::state::{State, Step};
use crate::units::{Text, Title};

/// What is raised.
#[derive(Clone, Debug)]
pub(crate) struct Raised {
    /// Its name.
    pub(crate) title: Title,
    /// What it is about.
    pub(crate) group: Text,
    /// What the group is.
    pub(crate) grouping: Option<Grouping>,
    /// How bad it is.
    pub(crate) severity: Severity,
    /// What is wrong, in one line.
    pub(crate) summary: Text,
    /// The facts, a line each.
    pub(crate) details: Vec<Text>,
    /// Where it is told, besides the routes.
    pub(crate) channels: Vec<Title>,
}

impl State {
    /// Raises an alert that no rule asks for, or brings the one that is there up to date.
    pub(crate) fn raise(&mut self, step: &mut Step, raised: Raised) {
        self.raise_about(step, raised, Subject::Itself);
    }

    /// Raises an alert about something that its messages keep away from.
    pub(crate) fn raise_about(&mut self, step: &mut Step, raised: Raised, subject: Subject) {
        let key = (self.own_title(&raised.title), raised.group.clone());
        if !self.automation.alerts.live.contains_key(&key) {
            if !self.has_room(step, &key.0) {
                return;
            }
            let alerts = &mut self.automation.alerts;
            alerts.watched.entry(key.clone()).or_default();
            alerts.begin(step, &key, raised.grouping, 0, raised.severity);
        }
        let stamp = step.stamp;
        self.edit_alert(&key, |alert| {
            alert.seen = stamp;
            alert.count = alert.count.saturating_add(1);
            if alert.summary != raised.summary {
                step.note(What::Alert { alert: alert.id });
            }
            alert.summary = raised.summary.clone();
            alert.details = raised.details;
            alert.severity = raised.severity;
            for channel in raised.channels {
                if !alert.channels.contains(&channel) {
                    alert.channels.push(channel);
                }
            }
            alert.open.insert(subject, raised.summary);
        });
        self.reconsider(step, &key);
    }

    /// Says that what was raised is over.
    pub(crate) fn clear_alert(&mut self, step: &mut Step, title: &Title, group: &Text) {
        for title in [title.clone(), set_apart(title)] {
            let key: Key = (title, group.clone());
            let alert = self.automation.alerts.live.get_mut(&key);
            if let Some(alert) = alert.filter(|alert| alert.is_raised()) {
                alert.open.clear();
                self.reconsider(step, &key);
            }
        }
    }

    /// Returns the title of what is raised, set apart from a rule of the same name.
    fn own_title(&self, title: &Title) -> Title {
        let taken = self.automation.catalog.get(Noun::AlertRule, title).is_some();
        if taken { set_apart(title) } else { title.clone() }
    }
}

fn set_apart(title: &Title) -> Title {
    Title::parse(&format!("{title} (built in)")).unwrap_or_else(|_| title.clone())
}
