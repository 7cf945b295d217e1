//! What detectors find in the changes of an entry. Nothing here changes anything.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::Subject;
use super::condition::rests_on_reports;
use crate::answer::{JobState, WorkerState};
use crate::catalog::{AlertRule, Definition, Grouping, Spec, Watch};
use crate::change::{Change, What};
use crate::command::ReturnCause;
use crate::job::Job;
use crate::operation::Detector;
use crate::run::{RunState, Target};
use crate::state::State;
use crate::units::{JobId, Name, Position, SessionId, Text, Timestamp, Title};

/// Milliseconds between two looks at the returned jobs of one queue.
const LOOK_MS: u64 = 1_000;

/// A rule in force.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule<'a> {
    /// Its name.
    pub(super) title: &'a Title,
    /// Its version.
    pub(super) version: u64,
    /// What it says.
    pub(super) spec: &'a AlertRule,
}

/// What was found of one subject.
#[derive(Clone, Debug)]
pub(super) struct Finding {
    /// The rule that watches for it.
    pub(super) rule: Title,
    /// The group that it belongs to.
    pub(super) group: Text,
    /// What the group is.
    pub(super) grouping: Option<Grouping>,
    /// The subject.
    pub(super) subject: Subject,
    /// What was found.
    pub(super) reading: Reading,
}

/// What was found.
#[derive(Clone, Debug)]
pub(super) enum Reading {
    /// It holds until it is clear.
    Holds(Text),
    /// It does not hold.
    Clear,
    /// It cannot be told: nobody reports what it rests on. It stays as it was.
    NoData,
    /// It happened once, and is counted.
    Event(Text),
    /// It is to be looked at again.
    Look(Timestamp),
}

/// What a subject belongs to, as far as it is known.
#[derive(Clone, Debug, Default)]
pub(super) struct Belongs {
    /// The role.
    pub(super) role: Option<Name>,
    /// The queue.
    pub(super) queue: Option<Name>,
    /// The worker, as people call it.
    pub(super) worker: Option<Name>,
    /// The job.
    pub(super) job: Option<JobId>,
}

impl<'a> Rule<'a> {
    /// Returns a definition as a rule in force.
    pub(super) fn of(known: &'a Definition) -> Option<Self> {
        match &known.spec {
            Spec::AlertRule(spec) if known.enabled => {
                Some(Self { title: &known.title, version: known.version, spec })
            }
            Spec::AlertRule(_)
            | Spec::Agent(_)
            | Spec::Command(_)
            | Spec::AlertRoute(_)
            | Spec::AutoFix(_)
            | Spec::Runbook(_)
            | Spec::Channel(_)
            | Spec::Source(_) => None,
        }
    }

    /// Returns its detector, if it has one.
    pub(super) fn detector(&self) -> Option<&'a Detector> {
        match &self.spec.watch {
            Watch::Detector(detector) => Some(detector),
            Watch::Condition(_) => None,
        }
    }

    /// Returns how many moments within the window make it hold.
    pub(super) fn least(&self) -> u64 {
        match self.detector() {
            Some(
                Detector::StaleWrites { count: least } | Detector::FlappingLease { changes: least },
            ) => (*least).max(1),
            Some(_) | None => 1,
        }
    }

    /// Returns the milliseconds that are looked at together: what is counted holds for as long, so
    /// never less than it must hold before it fires.
    pub(super) fn window_ms(&self) -> u64 {
        self.spec.window_ms.max(self.spec.for_ms.saturating_add(1))
    }

    /// Tells whether time alone can change what it finds.
    pub(super) fn is_timed(&self) -> bool {
        match &self.spec.watch {
            Watch::Detector(Detector::StandbyLag { .. }) => true,
            Watch::Detector(Detector::Backlog { age_ms, .. }) => *age_ms > 0,
            Watch::Detector(_) => false,
            Watch::Condition(condition) => condition.is_timed() || rests_on_reports(condition),
        }
    }

    /// Returns a finding about what belongs to these, grouped as the rule says, or by `natural`
    /// when it says nothing that fits.
    pub(super) fn finding(
        &self,
        natural: Grouping,
        belongs: &Belongs,
        subject: Subject,
        reading: Reading,
    ) -> Finding {
        let asked = self.spec.group_by.iter().copied();
        let parts = asked.filter_map(|by| Some((by, belongs.part(by)?)));
        let mut parts: Vec<(Grouping, String)> = parts.collect();
        if parts.is_empty() {
            parts.extend(belongs.part(natural).map(|part| (natural, part)));
        }
        let grouping = parts.first().map(|(by, _)| *by);
        let names: Vec<String> = parts.into_iter().map(|(_, part)| part).collect();
        let group = Text::cut(&names.join(" / "));
        Finding { rule: self.title.clone(), group, grouping, subject, reading }
    }

    /// Returns a finding in a group that is none of a role, a queue, a worker or a job.
    pub(super) fn named(&self, group: &Title, subject: Subject, reading: Reading) -> Finding {
        let group = Text::cut(group.as_str());
        Finding { rule: self.title.clone(), group, grouping: None, subject, reading }
    }
}

impl Belongs {
    fn part(&self, by: Grouping) -> Option<String> {
        match by {
            Grouping::Role => self.role.as_ref().map(ToString::to_string),
            Grouping::Queue => self.queue.as_ref().map(ToString::to_string),
            Grouping::Worker => self.worker.as_ref().map(ToString::to_string),
            Grouping::Job => self.job.as_ref().map(ToString::to_string),
        }
    }

    /// Returns what a role belongs to.
    pub(super) fn role(role: &Name) -> Self {
        Self { role: Some(role.clone()), ..Self::default() }
    }

    /// Returns what a queue belongs to.
    pub(super) fn queue(queue: &Name) -> Self {
        Self { queue: Some(queue.clone()), ..Self::default() }
    }
}

impl State {
    /// Finds what a rule watches for in the changes of an entry.
    pub(super) fn find(&self, rule: Rule<'_>, changes: &[Change], found: &mut Vec<Finding>) {
        match &rule.spec.watch {
            Watch::Condition(condition) => {
                for target in self.condition_touched(rule, condition, changes) {
                    found.extend(self.condition_finding(rule, condition, &target));
                }
            }
            Watch::Detector(detector) => {
                for change in changes {
                    self.find_in(rule, detector, change, found);
                }
            }
        }
    }

    fn find_in(
        &self,
        rule: Rule<'_>,
        detector: &Detector,
        change: &Change,
        found: &mut Vec<Finding>,
    ) {
        match &change.what {
            What::RoleGranted { role, session, token } => {
                if let Detector::FlappingLease { .. } = detector {
                    let label = self.called(*session);
                    let fact = format!("{role} went to {label} under token {token}");
                    found.push(role_event(rule, role, &fact));
                }
                found.extend(self.role_level(rule, detector, role));
            }
            What::RoleVacant { role } | What::Role { role } => {
                found.extend(self.role_level(rule, detector, role));
            }
            What::Worker { session, state: WorkerState::Lost } => {
                found.extend(self.find_lost(rule, detector, *session));
            }
            What::Job { job, queue, state } => {
                self.find_in_job(rule, detector, (*job, queue, *state), change.position, found);
                found.extend(self.queue_level(rule, detector, queue));
            }
            What::Queue { queue } => found.extend(self.queue_level(rule, detector, queue)),
            What::Run { run, state: RunState::Failed } if *detector == Detector::RunFailed => {
                found.extend(self.automation.runs.get(*run).map(|run| {
                    let (noun, title) = (run.noun, &run.title);
                    let mut fact = format!("run {} of {noun} {:?} failed", run.id, title.as_str());
                    if !run.why.as_str().is_empty() {
                        fact = format!("{fact}: {}", run.why.as_str());
                    }
                    rule.named(title, Subject::Itself, Reading::Event(Text::cut(&fact)))
                }));
            }
            What::Message { message } if *detector == Detector::SinkDown => {
                let message = self.automation.outbox.get(*message);
                found.extend(message.map(|message| self.sink_level(rule, &message.channel)));
            }
            What::Server
            | What::Restored { .. }
            | What::Worker { .. }
            | What::Session { .. }
            | What::Stream { .. }
            | What::Recorded { .. }
            | What::Definition { .. }
            | What::Run { .. }
            | What::Alert { .. }
            | What::Message { .. }
            | What::Automation => {}
        }
    }

    fn find_lost(
        &self,
        rule: Rule<'_>,
        detector: &Detector,
        session: SessionId,
    ) -> Option<Finding> {
        if *detector != Detector::MissedReports {
            return None;
        }
        let fact = format!("{} was not heard of in time: it is lost", self.called(session));
        let belongs = Belongs { worker: self.label_of(session), ..Belongs::default() };
        let reading = Reading::Event(Text::cut(&fact));
        let subject = Subject::Target(Target::Worker(session));
        Some(rule.finding(Grouping::Worker, &belongs, subject, reading))
    }

    /// Finds jobs that failed for good, and jobs that came back because nobody had them any more.
    fn find_in_job(
        &self,
        rule: Rule<'_>,
        detector: &Detector,
        (id, queue, state): (JobId, &Name, JobState),
        position: Position,
        found: &mut Vec<Finding>,
    ) {
        let job = self.jobs.job(id);
        if *detector == Detector::JobFailed {
            if state == JobState::Failed {
                found.push(job_failed(rule, id, queue, job));
            }
            return;
        }
        let is_orphan = *detector == Detector::Orphan;
        if !is_orphan && *detector != Detector::HeldByGone {
            return;
        }
        if let Some(job) = job {
            let came_back = job.returned().filter(|returned| returned.stamp.position == position);
            found.extend(came_back.and_then(|_| self.find_gone(rule, is_orphan, job)));
            if is_orphan && job.state == JobState::Returned {
                let at = job.since.at.after(rule.window_ms());
                let belongs = Belongs::queue(queue);
                let subject = Subject::Target(Target::Queue(queue.clone()));
                let look = rule.finding(Grouping::Queue, &belongs, subject, Reading::Look(at));
                found.push(Finding { group: Text::cut(queue.as_str()), ..look });
            }
        }
        let some_open = !self.automation.alerts.open.is_empty() || !found.is_empty();
        if some_open && job.is_none_or(|job| job.state != JobState::Returned) {
            let (rule, subject) = (rule.title.clone(), Subject::Target(Target::Job(id)));
            let (group, reading) = (Text::default(), Reading::Clear);
            found.push(Finding { rule, group, grouping: None, subject, reading });
        }
    }

    /// Finds that a job came back because its holder is gone or never had it.
    fn find_gone(&self, rule: Rule<'_>, is_orphan: bool, job: &Job) -> Option<Finding> {
        let returned = job.returned()?;
        let worker = self.called(returned.session);
        let id = job.id;
        let fact = match returned.cause {
            ReturnCause::SessionLost => format!("{worker} was lost while it held job {id}"),
            ReturnCause::NeverReceived if is_orphan => {
                format!("job {id} was given to {worker}, which never listed it, and was taken back")
            }
            ReturnCause::NeverReceived
            | ReturnCause::HandedBack
            | ReturnCause::SessionClosed
            | ReturnCause::DrainDeadline
            | ReturnCause::Operator => return None,
        };
        let queue = self.jobs.queue_of(job);
        Some(self.job_finding(rule, id, queue, Reading::Holds(Text::cut(&fact))))
    }

    /// Finds the returned jobs of a queue that have waited for longer than the window, and says
    /// when to look again.
    pub(super) fn find_waiting(
        &self,
        rule: Rule<'_>,
        queue: &Name,
        now: Timestamp,
        found: &mut Vec<Finding>,
    ) {
        let Some(known) = self.jobs.queue(queue) else { return };
        let window_ms = rule.window_ms();
        let mut next: Option<Timestamp> = None;
        for job in self.jobs.each(known.id, JobState::Returned) {
            let over = job.since.at.after(window_ms);
            if over <= now {
                let (id, since) = (job.id, job.since.at.time_of_day());
                let fact = format!("job {id} came back at {since} and nobody has taken it since");
                found.push(self.job_finding(rule, id, queue, Reading::Holds(Text::cut(&fact))));
            } else {
                next = Some(next.map_or(over, |next| next.min(over)));
            }
        }
        if let Some(next) = next {
            let reading = Reading::Look(next.max(now.after(LOOK_MS)));
            let subject = Subject::Target(Target::Queue(queue.clone()));
            let belongs = Belongs::queue(queue);
            let look = rule.finding(Grouping::Queue, &belongs, subject, reading);
            found.push(Finding { group: Text::cut(queue.as_str()), ..look });
        }
    }

    fn job_finding(&self, rule: Rule<'_>, id: JobId, queue: &Name, reading: Reading) -> Finding {
        let natural = match rule.detector() {
            Some(Detector::HeldByGone) => Grouping::Worker,
            Some(_) | None => Grouping::Queue,
        };
        let returned = self.jobs.job(id).and_then(Job::returned);
        let worker = returned.and_then(|returned| self.label_of(returned.session));
        let belongs =
            Belongs { queue: Some(queue.clone()), worker, job: Some(id), ..Belongs::default() };
        rule.finding(natural, &belongs, Subject::Target(Target::Job(id)), reading)
    }

    /// Returns the label of a session, unless it is forgotten.
    pub(super) fn label_of(&self, id: SessionId) -> Option<Name> {
        self.worker(id).map(|session| session.label.clone())
    }
}

fn role_event(rule: Rule<'_>, role: &Name, fact: &str) -> Finding {
    let subject = Subject::Target(Target::Role(role.clone()));
    let reading = Reading::Event(Text::cut(fact));
    rule.finding(Grouping::Role, &Belongs::role(role), subject, reading)
}

fn job_failed(rule: Rule<'_>, id: JobId, queue: &Name, job: Option<&Job>) -> Finding {
    let error = job.and_then(|job| job.errors().last()).map_or("", |error| error.text.as_str());
    let colon = if error.is_empty() { "" } else { ": " };
    let fact = format!("job {id} of queue {queue} failed for good{colon}{error}");
    let belongs = Belongs { queue: Some(queue.clone()), job: Some(id), ..Belongs::default() };
    let subject = Subject::Target(Target::Job(id));
    rule.finding(Grouping::Queue, &belongs, subject, Reading::Event(Text::cut(&fact)))
}
