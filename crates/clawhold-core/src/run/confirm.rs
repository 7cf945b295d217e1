//! Facts that a step confirms. What cannot be told is called unknown.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::advance::Outcome;
use crate::answer::{JobState, Refusal, WorkerState};
use crate::catalog::Noun;
use crate::job::Job;
use crate::operation::{Check, Show, Subject};
use crate::role::Role;
use crate::run::{Run, Seen};
use crate::state::State;
use crate::units::{JobId, Name, SessionId};

/// Lines that a step shows of one thing.
const LINES_MAX: usize = 20;

impl State {
    /// Looks whether a fact holds.
    pub(crate) fn confirm(&self, run: &Run, check: &Check, at: usize) -> Result<Outcome, Refusal> {
        let seen = run.seen.as_ref().filter(|(step, _)| usize::try_from(*step) == Ok(at));
        let seen = seen.map(|(_, seen)| seen);
        match check {
            Check::OneOwner { queue } => {
                let queues = self.queues_for(run, queue)?;
                Ok(self.one_owner(run, &queues, seen))
            }
            Check::QueueOwns { worker } => Ok(self.queue_owns(run, self.worker_for(run, worker)?)),
            Check::NoHeld { worker } => Ok(self.no_held(self.worker_for(run, worker)?)),
            Check::NotRenewed { role } => {
                let name = self.role_for(run, role)?;
                Ok(self.not_renewed(run, self.roles.require(&name)?, seen))
            }
            Check::StoppedActing { role } => {
                let name = self.role_for(run, role)?;
                Ok(self.stopped_acting(run, self.roles.require(&name)?, seen))
            }
        }
    }

    fn one_owner(&self, run: &Run, queues: &[Name], seen: Option<&Seen>) -> Outcome {
        if let Some(lost) = run.returned.iter().find(|id| self.is_nowhere(**id)) {
            return Outcome::Failed(format!("job {lost} is in no place or in two"));
        }
        let names: Vec<&str> = queues.iter().map(Name::as_str).collect();
        let names = names.join(", ");
        let Some(Seen::Owners { jobs, mismatches, unheard }) = seen else {
            let why = format!("the workers of {names} were not compared with the record yet");
            return Outcome::Wait { why, unknown: true };
        };
        if let Some(first) = mismatches.first() {
            let (count, first) = (mismatches.len(), first.as_str());
            return Outcome::wait(format!("{count} jobs without exactly one owner: {first}"));
        }
        if *unheard > 0 {
            let why = format!("{unheard} sessions were not heard of since the last takeover");
            return Outcome::Wait { why, unknown: true };
        }
        Outcome::done(format!(
            "each of {jobs} jobs of {names} has exactly one owner, by the record and the workers"
        ))
    }

    /// Tells whether a job that is kept is not in exactly one place.
    fn is_nowhere(&self, id: JobId) -> bool {
        self.jobs.job(id).is_some_and(|job| self.jobs.places(job).len() != 1)
    }

    /// Every job that the run returned waits in its queue, or has another owner, or has ended.
    fn queue_owns(&self, run: &Run, worker: SessionId) -> Outcome {
        let still = self.jobs.held_count(worker);
        if still > 0 {
            let name = self.called(worker);
            return Outcome::wait(format!("{name} still holds {still} jobs"));
        }
        let (mut waiting, mut placed, mut ended) = (0_u64, 0_u64, 0_u64);
        for id in &run.returned {
            let Some(job) = self.jobs.job(*id) else {
                ended += 1;
                continue;
            };
            match job.state {
                JobState::Scheduled | JobState::Queued | JobState::Returned => waiting += 1,
                JobState::Running => placed += 1,
                JobState::Completed | JobState::Failed | JobState::Cancelled => ended += 1,
            }
            if self.is_nowhere(*id) {
                return Outcome::Failed(format!("job {id} is in no place or in two"));
            }
        }
        let count = run.returned.len();
        Outcome::done(format!(
            "of {count} jobs {waiting} wait in their queue, {placed} have another owner, \
             {ended} have ended"
        ))
    }

    fn no_held(&self, worker: SessionId) -> Outcome {
        let name = self.called(worker);
        match self.jobs.held_count(worker) {
            0 => Outcome::done(format!("{name} holds nothing")),
            held => Outcome::wait(format!("{name} holds {held} jobs")),
        }
    }

    fn not_renewed(&self, run: &Run, role: &Role, seen: Option<&Seen>) -> Outcome {
        let name = &role.name;
        let Some(lease) = &role.held else {
            let ended = role.ended().map_or("was never held", |ended| ended.cause.as_str());
            return Outcome::done(format!("nobody holds {name}: {ended}"));
        };
        let holder = self.called(lease.session);
        let ours = run.params.role.as_ref() == Some(name);
        let before = run.token_before.filter(|_| ours).unwrap_or(lease.token);
        if lease.token > before {
            let token = lease.token;
            return Outcome::done(format!(
                "the lease under token {before} is over; {holder} leads under token {token}"
            ));
        }
        let Some(Seen::Lease { token, renewed_ago_ms }) = seen else {
            let why = format!("{holder} holds {name}; whether it renews was not looked at yet");
            return Outcome::Wait { why, unknown: true };
        };
        let patience_ms = lease.ttl_ms / 3 * 2;
        match renewed_ago_ms.filter(|_| *token == lease.token) {
            Some(ago) if ago >= patience_ms => Outcome::done(format!(
                "{holder} has not renewed {name} for {ago} ms; it does so every {} ms",
                lease.ttl_ms / 3
            )),
            Some(ago) => Outcome::wait(format!(
                "{holder} renewed {name} {ago} ms ago; while it lives, `role hand-over {name} \
                 --ask` asks it to hand over"
            )),
            None => {
                let why = format!("{holder} was not heard of since the last takeover");
                Outcome::Wait { why, unknown: true }
            }
        }
    }

    fn stopped_acting(&self, run: &Run, role: &Role, seen: Option<&Seen>) -> Outcome {
        let name = &role.name;
        let Some(former) = run.holder_before else {
            return Outcome::done(format!("{name} had no leader before"));
        };
        let called = self.called(former);
        let Some(lease) = &role.held else {
            return Outcome::wait(format!("nobody has followed {called} yet"));
        };
        if lease.session == former {
            return Outcome::Failed(format!("{called} leads {name} still or again"));
        }
        let after = lease.granted.position;
        let mut beliefs = self.automation.runs.beliefs.iter().rev();
        let acted = beliefs.find(|belief| {
            belief.session == former && belief.role == *name && belief.stamp.position > after
        });
        let fenced = format!("its writes under a token below {} are refused", lease.token);
        if let Some(belief) = acted {
            let (token, position) = (belief.token, belief.stamp.position);
            return Outcome::Failed(format!(
                "{called} acted on under token {token} at position {position}, after the new \
                 grant; {fenced}"
            ));
        }
        let Some(session) = self.worker(former) else {
            return Outcome::Unknown(format!("{called} is no longer known; {fenced}"));
        };
        match session.state {
            WorkerState::Left => Outcome::done(format!("{called} ended its session; {fenced}")),
            WorkerState::Lost => Outcome::Unknown(format!(
                "{called} was lost: whether its process still acts is unknown; nothing was heard \
                 of it since, and {fenced}"
            )),
            WorkerState::Active | WorkerState::Draining | WorkerState::Drained => {
                reported(&called, &fenced, seen)
            }
        }
    }

    /// Returns a fact in lines.
    pub(crate) fn show(&self, run: &Run, show: &Show) -> Vec<String> {
        match show {
            Show::Holder { role } => {
                self.some_roles(run, role).map(|role| self.holder_line(role)).collect()
            }
            Show::Lag { role } => {
                self.some_roles(run, role).flat_map(|role| self.lag_lines(role)).collect()
            }
            Show::Held { worker } => self.held_lines(run, worker),
            Show::Workers => self.worker_lines(),
            Show::Queue { queue } => self.queue_lines(run, queue),
            Show::Failed { queue } => self.failed_lines(run, queue),
            Show::Alerts => self.alert_lines(),
            Show::Runs => self.run_lines(),
        }
    }

    fn some_roles<'a>(
        &'a self,
        run: &Run,
        subject: &Subject,
    ) -> impl Iterator<Item = &'a Role> + use<'a> {
        let named = self.role_for(run, subject).ok();
        let all = self.roles.list(None);
        all.filter(move |role| named.as_ref().is_none_or(|name| role.name == *name)).take(LINES_MAX)
    }

    fn holder_line(&self, role: &Role) -> String {
        match &role.held {
            Some(lease) => {
                let (name, holder) = (&role.name, self.called(lease.session));
                format!("{name} is led by {holder} under token {}", lease.token)
            }
            None => format!("{} has no leader; its latest token is {}", role.name, role.floor),
        }
    }

    fn lag_lines(&self, role: &Role) -> Vec<String> {
        let lines = role.candidates.iter().take(LINES_MAX).map(|one| {
            let lag = role.lag_events(one, &self.streams);
            let lag = lag.map_or("no stream".into(), |lag| format!("{lag} events behind"));
            format!("{} stands by for {}, {lag}", one.label, role.name)
        });
        let lines: Vec<String> = lines.collect();
        if lines.is_empty() {
            [format!("nobody stands by for {}", role.name)].into()
        } else {
            lines
        }
    }

    fn held_lines(&self, run: &Run, subject: &Subject) -> Vec<String> {
        let worker = self.worker_for(run, subject).ok();
        let workers = self.sessions.list(None).filter(|one| !one.queues.is_empty());
        let workers = workers.filter(|one| worker.is_none_or(|worker| worker == one.id));
        let lines = workers.take(LINES_MAX).map(|one| {
            let held: Vec<String> =
                self.jobs.held(one.id).take(LINES_MAX).map(|job| format!("{}", job.id)).collect();
            match self.jobs.held_count(one.id) {
                0 => format!("{} holds nothing", one.label),
                count => format!("{} holds {count} jobs: {}", one.label, held.join(", ")),
            }
        });
        lines.collect()
    }

    fn worker_lines(&self) -> Vec<String> {
        let workers = self.sessions.list(None).filter(|one| !one.queues.is_empty());
        let lines = workers.take(LINES_MAX).map(|one| {
            let queues: Vec<&str> = one.queues.iter().map(Name::as_str).collect();
            let (held, slots) = (self.jobs.held_count(one.id), one.slots);
            format!("{} is {}, {held} of {slots} on {}", one.label, one.state, queues.join(", "))
        });
        lines.collect()
    }

    fn queue_lines(&self, run: &Run, subject: &Subject) -> Vec<String> {
        let named = self.queues_for(run, subject).ok();
        let queues = self.jobs.queues(None);
        let queues =
            queues.filter(|queue| named.as_ref().is_none_or(|all| all.contains(&queue.name)));
        let lines = queues.take(LINES_MAX).map(|queue| {
            let counts = self.jobs.counts(queue);
            let gate = if queue.gate.closed.is_some() { ", gate closed" } else { "" };
            let paused = if queue.paused.is_some() { ", paused" } else { "" };
            format!(
                "{}: {} queued, {} returned, {} running, {} failed{gate}{paused}",
                queue.name, counts.queued, counts.returned, counts.running, counts.failed
            )
        });
        lines.collect()
    }

    fn failed_lines(&self, run: &Run, subject: &Subject) -> Vec<String> {
        let named = self.queues_for(run, subject).ok();
        let queues = self.jobs.queues(None);
        let queues =
            queues.filter(|queue| named.as_ref().is_none_or(|all| all.contains(&queue.name)));
        let failed = queues.flat_map(|queue| self.jobs.each(queue.id, JobState::Failed));
        let lines = failed.take(LINES_MAX).map(|job: &Job| {
            let error = job.errors().last().map_or("no error kept", |error| error.text.as_str());
            format!("job {} of {}: {error}", job.id, self.jobs.queue_of(job))
        });
        lines.collect()
    }

    fn alert_lines(&self) -> Vec<String> {
        let live = self.automation.alerts.live();
        let lines = live.take(LINES_MAX).map(|alert| {
            let state = alert.state.as_str();
            format!("{} {}: {} ({})", alert.severity, state, alert.summary.as_str(), alert.rule)
        });
        lines.collect()
    }

    fn run_lines(&self) -> Vec<String> {
        let runs = &self.automation.runs;
        let all = runs.live().rev().chain(runs.ended().rev());
        let lines = all.take(LINES_MAX).map(|run| {
            let what = if run.noun == Noun::AutoFix { "fix" } else { "runbook" };
            format!("run {} of {what} {} is {}", run.id, run.title, run.state)
        });
        lines.collect()
    }
}

fn reported(called: &str, fenced: &str, seen: Option<&Seen>) -> Outcome {
    let Some(Seen::Former { claims, heard_ago_ms }) = seen else {
        let why = format!("{called} has not reported since the new grant");
        return Outcome::Wait { why, unknown: true };
    };
    match (claims, heard_ago_ms) {
        (Some(true), _) => Outcome::wait(format!("{called} still reports to lead")),
        (Some(false), Some(ago)) => {
            Outcome::done(format!("{called} reported {ago} ms ago that it leads no more; {fenced}"))
        }
        (Some(false), None) | (None, _) => {
            let why = format!("{called} has not reported since the new grant");
            Outcome::Wait { why, unknown: true }
        }
    }
}
