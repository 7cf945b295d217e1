//! What a run is about: from its target, from what was said, or the only one there is. Never
//! guessed.

use alloc::format;
use alloc::vec::Vec;

use crate::answer::{Kind, Refusal, WorkerState};
use crate::catalog::Noun;
use crate::command::Param;
use crate::operation::{Check, Operation, Plan, Show, Subject};
use crate::run::{Params, Run, Target};
use crate::session::Session;
use crate::state::State;
use crate::units::{JobId, Name, SessionId, Text};

/// Choices that a question names.
const CHOICES_MAX: usize = 20;

/// What a parameter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Want {
    Role,
    Worker,
    Queue,
    Job,
}

impl Want {
    fn name(self) -> Name {
        let name = match self {
            Self::Role => "role",
            Self::Worker => "worker",
            Self::Queue => "queue",
            Self::Job => "job",
        };
        Name::parse(name).expect("the word is a name")
    }
}

impl Operation {
    /// Returns whom it is about, if it cannot be done without knowing.
    pub(crate) fn subject(&self) -> Option<(Want, &Subject)> {
        match self {
            Self::PromoteStandby { role }
            | Self::Acquire { role, .. }
            | Self::Release { role }
            | Self::HandOver { role }
            | Self::ResumeStream { role }
            | Self::Check(Check::NotRenewed { role } | Check::StoppedActing { role }) => {
                Some((Want::Role, role))
            }
            Self::StopIntake { worker }
            | Self::ResumeIntake { worker }
            | Self::ReturnHeld { worker, .. }
            | Self::StopWorker { worker }
            | Self::Check(Check::QueueOwns { worker } | Check::NoHeld { worker }) => {
                Some((Want::Worker, worker))
            }
            Self::PlaceReturned { queue }
            | Self::PauseQueue { queue }
            | Self::ResumeQueue { queue }
            | Self::PauseNew { queue }
            | Self::AdmitNew { queue }
            | Self::Check(Check::OneOwner { queue }) => Some((Want::Queue, queue)),
            Self::RetryJob { job } | Self::DeadLetter { job } | Self::CancelJob { job } => {
                Some((Want::Job, job))
            }
            Self::Show(
                Show::Holder { .. }
                | Show::Held { .. }
                | Show::Workers
                | Show::Lag { .. }
                | Show::Queue { .. }
                | Show::Failed { .. }
                | Show::Alerts
                | Show::Runs,
            )
            | Self::Notify { .. }
            | Self::WaitFor { .. }
            | Self::WaitUntil(_)
            | Self::Confirm
            | Self::AgentJob { .. }
            | Self::Webhook { .. } => None,
        }
    }
}

impl State {
    /// Returns what a run about a target is about.
    pub(crate) fn params_of(&self, target: &Target) -> Params {
        let mut params = Params::default();
        match target {
            Target::Role(role) => params.role = Some(role.clone()),
            Target::Worker(worker) => params.worker = Some(*worker),
            Target::Queue(queue) => params.queue = Some(queue.clone()),
            Target::Job(id) => {
                params.job = Some(*id);
                let job = self.jobs.job(*id);
                params.queue = job.map(|job| self.jobs.queue_of(job).clone());
                params.worker = job.and_then(crate::job::Job::holder);
            }
        }
        self.label_worker(&mut params);
        params
    }

    fn label_worker(&self, params: &mut Params) {
        let worker = params.worker.and_then(|worker| self.worker(worker));
        params.worker_label = worker.map(|worker| worker.label.clone());
    }

    /// Returns what a run is about by what was said, and by the state where that leaves one.
    ///
    /// # Errors
    /// [`Refusal::NeedsParam`] when it is not clear, [`Refusal::BadParam`] when it is not there.
    pub(crate) fn find_params(&self, plan: &Plan, said: &[Param]) -> Result<Params, Refusal> {
        let mut params = Params::default();
        for param in said {
            self.say(&mut params, param)?;
        }
        self.label_worker(&mut params);
        let wants = plan.steps.iter().filter_map(|step| step.operation.subject());
        let mut wants: Vec<Want> =
            wants.filter(|(_, s)| **s == Subject::Run).map(|(want, _)| want).collect();
        wants.sort_unstable();
        wants.dedup();
        for want in wants {
            self.infer(&mut params, want)?;
        }
        self.label_worker(&mut params);
        Ok(params)
    }

    fn say(&self, params: &mut Params, param: &Param) -> Result<(), Refusal> {
        let value = param.value.as_str();
        match param.name.as_str() {
            "role" => params.role = Some(self.find_role(param, value)?),
            "worker" => params.worker = Some(self.find_worker(value)?),
            "queue" => params.queue = Some(self.find_queue(param, value)?),
            "job" => params.job = Some(self.find_job(param, value)?),
            _ => {
                return Err(bad(param, "the parameters are role, worker, queue and job"));
            }
        }
        Ok(())
    }

    fn find_role(&self, param: &Param, value: &str) -> Result<Name, Refusal> {
        let name = Name::parse(value).map_err(|error| bad(param, &format!("{error}")))?;
        self.roles.require(&name).map_err(|refusal| bad(param, &format!("{refusal}")))?;
        Ok(name)
    }

    fn find_queue(&self, param: &Param, value: &str) -> Result<Name, Refusal> {
        let name = Name::parse(value).map_err(|error| bad(param, &format!("{error}")))?;
        self.jobs.find_queue(&name).map_err(|refusal| bad(param, &format!("{refusal}")))?;
        Ok(name)
    }

    fn find_job(&self, param: &Param, value: &str) -> Result<JobId, Refusal> {
        let id = value.parse().ok().map(JobId);
        let known = id.filter(|id| self.jobs.job(*id).is_some());
        known.ok_or_else(|| bad(param, "there is no such job"))
    }

    /// Returns the worker that a label or a number names.
    ///
    /// # Errors
    /// [`Refusal::BadParam`] when there is none, or several.
    pub(crate) fn find_worker(&self, value: &str) -> Result<SessionId, Refusal> {
        let name = Want::Worker.name();
        let refuse = |why: alloc::string::String| Refusal::BadParam {
            param: name.clone(),
            value: value.into(),
            why: why.into(),
        };
        let by_label = self.sessions.list(None).filter(|one| one.label.as_str() == value);
        let by_label: Vec<SessionId> = by_label.map(|one| one.id).collect();
        match by_label[..] {
            [one] => return Ok(one),
            [] => {}
            [..] => {
                let ids: Vec<_> = by_label.iter().map(|id| format!("{id}")).collect();
                let ids = ids.join(", ");
                return Err(refuse(format!("several bear this name; give a session: {ids}")));
            }
        }
        let id = value.parse().ok().map(SessionId);
        let by_id = id.and_then(|id| self.worker(id));
        let gone = || self.sessions.ended().rev().find(|one| one.label.as_str() == value);
        let found = by_id.or_else(gone).map(|session| session.id);
        found.ok_or_else(|| refuse("there is no such worker; `worker list` shows them".into()))
    }

    fn infer(&self, params: &mut Params, want: Want) -> Result<(), Refusal> {
        match want {
            Want::Role if params.role.is_none() => {
                let mut roles = self.roles.list(None).map(|role| role.name.clone());
                params.role = Some(self.only(want, &mut roles, |name| Text::cut(name.as_str()))?);
            }
            Want::Worker if params.worker.is_none() => {
                let mut leaving = self.sessions.list(None).filter(|one| is_leaving(one));
                params.worker = Some(self.only(want, &mut leaving, worker_choice)?.id);
            }
            Want::Queue if params.queue.is_none() && params.worker.is_none() => {
                let mut queues = self.jobs.queues(None).map(|queue| queue.name.clone());
                params.queue = Some(self.only(want, &mut queues, |name| Text::cut(name.as_str()))?);
            }
            Want::Job if params.job.is_none() => {
                return Err(Refusal::NeedsParam { param: want.name(), choices: Vec::new() });
            }
            Want::Role | Want::Worker | Want::Queue | Want::Job => {}
        }
        Ok(())
    }

    /// Returns the only one there is.
    fn only<T>(
        &self,
        want: Want,
        all: &mut dyn Iterator<Item = T>,
        choice: impl Fn(&T) -> Text,
    ) -> Result<T, Refusal> {
        let mut first: Vec<T> = all.take(CHOICES_MAX).collect();
        if first.len() == 1
            && let Some(one) = first.pop()
        {
            return Ok(one);
        }
        let mut choices: Vec<Text> = first.iter().map(choice).collect();
        if choices.is_empty() && want == Want::Worker {
            let workers = self.sessions.list(None).filter(|one| !one.queues.is_empty());
            choices = workers.take(CHOICES_MAX).map(|one| worker_choice(&one)).collect();
        }
        Err(Refusal::NeedsParam { param: want.name(), choices })
    }

    /// Returns the role that a subject names.
    pub(crate) fn role_for(&self, run: &Run, subject: &Subject) -> Result<Name, Refusal> {
        match subject {
            Subject::Named(text) => {
                let name = Name::parse(text.as_str());
                let missing =
                    |_| Refusal::NotFound { kind: Kind::Role, name: text.as_str().into() };
                Ok(self.roles.require(&name.map_err(missing)?)?.name.clone())
            }
            Subject::Run => run.params.role.clone().ok_or_else(|| needs(Want::Role)),
        }
    }

    /// Returns the worker that a subject names.
    pub(crate) fn worker_for(&self, run: &Run, subject: &Subject) -> Result<SessionId, Refusal> {
        match subject {
            Subject::Named(text) => self.find_worker(text.as_str()),
            Subject::Run => run.params.worker.ok_or_else(|| needs(Want::Worker)),
        }
    }

    /// Returns the job that a subject names.
    pub(crate) fn job_for(&self, run: &Run, subject: &Subject) -> Result<JobId, Refusal> {
        match subject {
            Subject::Named(text) => {
                let id = text.as_str().parse().ok().map(JobId);
                let missing = Refusal::NotFound { kind: Kind::Job, name: text.as_str().into() };
                id.ok_or(missing)
            }
            Subject::Run => run.params.job.ok_or_else(|| needs(Want::Job)),
        }
    }

    /// Returns the queues that a subject names.
    pub(crate) fn queues_for(&self, run: &Run, subject: &Subject) -> Result<Vec<Name>, Refusal> {
        match subject {
            Subject::Named(text) => {
                let name = Name::parse(text.as_str());
                let missing =
                    |_| Refusal::NotFound { kind: Kind::Queue, name: text.as_str().into() };
                let name = name.map_err(missing)?;
                self.jobs.find_queue(&name)?;
                Ok([name].into())
            }
            Subject::Run => {
                let queues = self.queues_of(run);
                if queues.is_empty() { Err(needs(Want::Queue)) } else { Ok(queues) }
            }
        }
    }

    /// Returns the queues that a run is about: its own, or those of its worker.
    pub(crate) fn queues_of(&self, run: &Run) -> Vec<Name> {
        if let Some(queue) = &run.params.queue {
            return [queue.clone()].into();
        }
        let worker = run.params.worker.and_then(|worker| self.worker(worker));
        let mut queues = worker.map(|worker| worker.queues.clone()).unwrap_or_default();
        queues.retain(|queue| self.jobs.queue(queue).is_some());
        queues
    }
}

impl Params {
    /// Tells whether both are about the same role, worker, queue or job.
    pub(crate) fn meets(&self, other: &Self) -> bool {
        let same_role = self.role.is_some() && self.role == other.role;
        let same_worker = self.worker.is_some() && self.worker == other.worker;
        let same_queue = self.queue.is_some() && self.queue == other.queue;
        let same_job = self.job.is_some() && self.job == other.job;
        same_role || same_worker || same_queue || same_job
    }
}

impl Run {
    /// Tells whether it is of a fix.
    pub(crate) fn is_of_fix(&self) -> bool {
        self.noun == Noun::AutoFix
    }
}

fn is_leaving(session: &Session) -> bool {
    session.state == WorkerState::Draining
}

fn worker_choice(session: &&Session) -> Text {
    Text::cut(&format!("{} (session {}, {})", session.label, session.id, session.state))
}

fn needs(want: Want) -> Refusal {
    Refusal::NeedsParam { param: want.name(), choices: Vec::new() }
}

fn bad(param: &Param, why: &str) -> Refusal {
    Refusal::BadParam {
        param: param.name.clone(),
        value: param.value.as_str().into(),
        why: why.into(),
    }
}
