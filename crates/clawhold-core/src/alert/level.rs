//! What detectors read from the state as it is: it holds or it does not.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::Subject;
use super::condition::rests_on_reports;
use super::find::{Belongs, Finding, Reading, Rule};
use crate::answer::JobState;
use crate::catalog::{Grouping, Noun, Watch};
use crate::condition::{Condition, Truth};
use crate::operation::Detector;
use crate::queue::Queue;
use crate::role::Role;
use crate::run::Target;
use crate::state::State;
use crate::units::{Name, Text, Timestamp, Title};

/// Waiting jobs of a queue that are looked at for the oldest.
const OLDEST_OF: usize = 100;

impl State {
    /// Finds all that a rule watches for in the state as it is.
    pub(super) fn look_over(&self, rule: Rule<'_>, found: &mut Vec<Finding>) {
        let detector = match &rule.spec.watch {
            Watch::Detector(detector) => detector,
            Watch::Condition(condition) => {
                for target in self.condition_targets(rule, condition) {
                    found.extend(self.condition_finding(rule, condition, &target));
                }
                return;
            }
        };
        match detector {
            Detector::Leaderless | Detector::StandbyLag { .. } | Detector::NoStandby => {
                for role in self.roles.list(None) {
                    found.extend(self.role_level(rule, detector, &role.name));
                }
            }
            Detector::Backlog { .. } => {
                for queue in self.jobs.queues(None) {
                    found.extend(self.queue_level(rule, detector, &queue.name));
                }
            }
            Detector::Orphan => {
                for queue in self.jobs.queues(None) {
                    self.find_waiting(rule, &queue.name, self.last.at, found);
                }
            }
            Detector::SinkDown => {
                for known in self.automation.catalog.list(Noun::Channel, None) {
                    found.push(self.sink_level(rule, &known.title));
                }
            }
            Detector::TwoLeaders
            | Detector::StaleWrites { .. }
            | Detector::HeldByGone
            | Detector::DoubleOwner
            | Detector::FlappingLease { .. }
            | Detector::MissedReports
            | Detector::JobFailed
            | Detector::RunFailed
            | Detector::FixBlocked => {}
        }
    }

    /// Reads what a rule watches of a role.
    pub(super) fn role_level(
        &self,
        rule: Rule<'_>,
        detector: &Detector,
        name: &Name,
    ) -> Option<Finding> {
        let role = self.roles.get(name);
        let reading = match (detector, role) {
            (Detector::Leaderless | Detector::NoStandby | Detector::StandbyLag { .. }, None) => {
                Some(Reading::Clear)
            }
            (Detector::Leaderless, Some(role)) => Some(leaderless(role)),
            (Detector::NoStandby, Some(role)) => Some(no_standby(role)),
            (Detector::StandbyLag { events }, Some(role)) => self.standby_lag(role, *events),
            _ => None,
        };
        let subject = Subject::Target(Target::Role(name.clone()));
        Some(rule.finding(Grouping::Role, &Belongs::role(name), subject, reading?))
    }

    /// Reads whether every standby is behind; `None` when that is not known.
    fn standby_lag(&self, role: &Role, events: u64) -> Option<Reading> {
        let mut nearest: Option<(u64, &Name)> = None;
        for candidate in &role.candidates {
            let Some(lag) = role.lag_events(candidate, &self.streams) else {
                return Some(Reading::NoData);
            };
            if nearest.is_none_or(|(least, _)| lag < least) {
                nearest = Some((lag, &candidate.label));
            }
        }
        let Some((lag, label)) = nearest.filter(|(lag, _)| *lag >= events.max(1)) else {
            return Some(Reading::Clear);
        };
        let name = &role.name;
        let fact =
            format!("every standby of {name} is behind; the nearest, {label}, by {lag} events");
        Some(Reading::Holds(Text::cut(&fact)))
    }

    /// Reads what a rule watches of a queue.
    pub(super) fn queue_level(
        &self,
        rule: Rule<'_>,
        detector: &Detector,
        name: &Name,
    ) -> Option<Finding> {
        let Detector::Backlog { jobs, age_ms } = detector else { return None };
        let queue = self.jobs.queue(name);
        let reading = queue.map_or(Reading::Clear, |queue| self.backlog(queue, *jobs, *age_ms));
        let subject = Subject::Target(Target::Queue(name.clone()));
        Some(rule.finding(Grouping::Queue, &Belongs::queue(name), subject, reading))
    }

    fn backlog(&self, queue: &Queue, jobs: u64, age_ms: u64) -> Reading {
        let counts = self.jobs.counts(queue);
        let waiting = counts.queued.saturating_add(counts.returned);
        let oldest_ms = || {
            let oldest = self.oldest_waiting(queue)?;
            Some(self.last.at.0.saturating_sub(oldest.0))
        };
        let many = jobs > 0 && waiting >= jobs;
        let old_ms = if age_ms > 0 { oldest_ms().filter(|old_ms| *old_ms >= age_ms) } else { None };
        if !many && old_ms.is_none() {
            return Reading::Clear;
        }
        let name = &queue.name;
        let wait = if waiting == 1 { "job waits" } else { "jobs wait" };
        let mut fact = format!("{waiting} {wait} in queue {name}");
        if let Some(old_ms) = old_ms {
            fact = format!("{fact}, the oldest for {}", span(old_ms));
        }
        Reading::Holds(Text::cut(&fact))
    }

    fn oldest_waiting(&self, queue: &Queue) -> Option<Timestamp> {
        let first = |state| self.jobs.each(queue.id, state).take(OLDEST_OF);
        let waiting = first(JobState::Queued).chain(first(JobState::Returned));
        waiting.map(|job| job.since.at).min()
    }

    /// Reads whether a channel's sink takes nothing.
    pub(super) fn sink_level(&self, rule: Rule<'_>, channel: &Title) -> Finding {
        let down = self.automation.outbox.down(channel);
        let reading = down.map_or(Reading::Clear, |(since, count)| {
            Reading::Holds(sink_fact(channel, since, count))
        });
        rule.named(channel, Subject::Channel(channel.clone()), reading)
    }

    /// Reads whether a condition holds for a target. What is gone does not hold, nor does what has
    /// no value; what nobody reports any more stays as it was.
    pub(super) fn condition_finding(
        &self,
        rule: Rule<'_>,
        condition: &Condition,
        target: &Target,
    ) -> Option<Finding> {
        let (natural, belongs, name) = self.belongs(target);
        let reading = match (self.is_there(target), self.condition_holds(condition, target)) {
            (true, Truth::Unknown) if rests_on_reports(condition) => Reading::NoData,
            (false, _) | (true, Truth::False | Truth::Unknown) => Reading::Clear,
            (true, Truth::True) => {
                let evidence = condition.evidence(&self.facts(target));
                let fact = format!("{} {name}: {evidence}", natural.as_str());
                Reading::Holds(Text::cut(&fact))
            }
        };
        Some(rule.finding(natural, &belongs, Subject::Target(target.clone()), reading))
    }

    /// Returns what a target is, what it belongs to, and what people call it.
    pub(super) fn belongs(&self, target: &Target) -> (Grouping, Belongs, String) {
        match target {
            Target::Role(role) => (Grouping::Role, Belongs::role(role), role.to_string()),
            Target::Queue(queue) => (Grouping::Queue, Belongs::queue(queue), queue.to_string()),
            Target::Worker(session) => {
                let worker = self.label_of(*session);
                let name = self.called(*session);
                (Grouping::Worker, Belongs { worker, ..Belongs::default() }, name)
            }
            Target::Job(id) => {
                let job = self.jobs.job(*id);
                let queue = job.map(|job| self.jobs.queue_of(job).clone());
                let holder = job.and_then(crate::job::Job::holder);
                let worker = holder.and_then(|holder| self.label_of(holder));
                let belongs = Belongs { queue, worker, job: Some(*id), ..Belongs::default() };
                (Grouping::Job, belongs, id.to_string())
            }
        }
    }
}

/// Says since when a channel's sink takes nothing.
pub(crate) fn sink_fact(channel: &Title, since: Timestamp, count: u64) -> Text {
    let (name, since) = (channel.as_str(), since.time_of_day());
    let tries = if count == 1 { "try" } else { "tries" };
    Text::cut(&format!("the sink of channel {name:?} has failed since {since}, {count} {tries}"))
}

fn leaderless(role: &Role) -> Reading {
    if role.held.is_some() {
        return Reading::Clear;
    }
    let name = &role.name;
    let last = role.history().next_back();
    let fact = match last.map(|change| (change, &change.label)) {
        Some((change, Some(label))) => {
            let (token, cause) = (change.token, change.cause.as_str());
            format!("nobody leads {name}: the last was {label} under token {token} ({cause})")
        }
        Some((_, None)) | None => format!("nobody leads {name}"),
    };
    Reading::Holds(Text::cut(&fact))
}

fn no_standby(role: &Role) -> Reading {
    let Some(lease) = role.held.as_ref().filter(|_| role.candidates.is_empty()) else {
        return Reading::Clear;
    };
    let fact = format!("{} leads {} and nobody stands by", lease.label, role.name);
    Reading::Holds(Text::cut(&fact))
}

/// Returns a span of time as people say it.
pub(super) fn span(ms: u64) -> String {
    let (seconds, minutes) = (ms / 1_000, ms / 60_000);
    match minutes {
        0 => format!("{seconds} s"),
        1..=119 => format!("{minutes} min"),
        _ => format!("{} h {} min", minutes / 60, minutes % 60),
    }
}
