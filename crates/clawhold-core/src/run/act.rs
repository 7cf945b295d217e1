//! What each operation does to the state. Each is idempotent: what is so already is left so.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::advance::Outcome;
use crate::answer::{Answer, JobState, Refusal, WorkerState};
use crate::catalog::{Noun, Spec};
use crate::command::{
    AskHandOver, CancelJobs, CloseGate, DrainWorker, Due, Enqueue, HandOver, NewJob, OpenGate,
    PauseQueue, ResumeQueue, ResumeWorker, RetryJobs, RetryRule, ReturnCause, Successor,
};
use crate::condition::Truth;
use crate::job::Job;
use crate::limits;
use crate::operation::{Operation, Subject};
use crate::role::RoleCause;
use crate::run::{Run, Target};
use crate::state::{State, Step};
use crate::units::{Bytes, JobId, Key, Name, SessionId, Text, Title};

type Acted = Result<Outcome, Refusal>;

impl State {
    /// Takes a step of a run, or looks at it again.
    pub(crate) fn act(
        &mut self,
        step: &mut Step,
        run: &mut Run,
        at: usize,
        first: bool,
    ) -> Outcome {
        let operation = run.plan.steps[at].operation.clone();
        let acted = match &operation {
            Operation::PromoteStandby { role } => self.act_promote(step, run, role),
            Operation::Acquire { role, worker } => {
                self.act_acquire(step, run, role, worker.as_ref())
            }
            Operation::Release { role } => self.act_release(step, run, role),
            Operation::HandOver { role } => self.act_hand_over(step, run, role, first),
            Operation::ResumeStream { role } => self.act_resume_stream(run, role),
            Operation::StopIntake { worker } => self.act_stop_intake(step, run, worker),
            Operation::ResumeIntake { worker } => self.act_resume_intake(step, run, worker),
            Operation::ReturnHeld { worker, within_ms } => {
                self.act_return_held(step, run, worker, *within_ms, at)
            }
            Operation::PlaceReturned { queue } => self.act_place(step, run, queue, first),
            Operation::PauseQueue { queue }
            | Operation::ResumeQueue { queue }
            | Operation::PauseNew { queue }
            | Operation::AdmitNew { queue } => self.act_on_queues(step, run, queue, &operation),
            Operation::StopWorker { worker } => self.act_stop_worker(step, run, worker),
            Operation::RetryJob { job } | Operation::CancelJob { job } => {
                self.act_on_job(step, run, job, &operation)
            }
            Operation::DeadLetter { job } => self.act_dead_letter(step, run, job),
            Operation::Check(check) => self.confirm(run, check, at),
            Operation::Show(show) => Ok(Outcome::Done(self.show(run, show))),
            Operation::Notify { channel, text } => {
                self.tell_step(step, run, at, channel.as_ref(), text.as_ref());
                Ok(Outcome::Done(Vec::new()))
            }
            Operation::WaitFor { ms } => Ok(self.act_wait(run, at, *ms)),
            Operation::WaitUntil(condition) => Ok(match run_target(run) {
                Some(target) if self.condition_holds(condition, &target) == Truth::True => {
                    Outcome::done(format!("{} holds", condition.text()))
                }
                Some(_) => Outcome::wait(format!("{} does not hold", condition.text())),
                None => Outcome::Failed("the run is about nothing that it could wait for".into()),
            }),
            Operation::Confirm => {
                let sentence = run.plan.steps[at].sentence.as_str();
                let id = run.id;
                Ok(Outcome::Person(format!("a person confirms {sentence:?}: `run confirm {id}`")))
            }
            Operation::AgentJob { agent } => self.act_agent(step, run, agent, at, first),
            Operation::Webhook { channel } => Ok(self.act_webhook(step, run, channel, at, first)),
        };
        acted.unwrap_or_else(Outcome::from)
    }

    fn act_promote(&mut self, step: &mut Step, run: &mut Run, subject: &Subject) -> Acted {
        let name = self.role_for(run, subject)?;
        if let Some(done) = self.granted_since(run, &name) {
            return Ok(done);
        }
        let role = self.roles.require(&name)?;
        if let Some(lease) = &role.held {
            let (holder, token) = (self.called(lease.session), lease.token);
            return Ok(Outcome::Failed(format!("{holder} holds {name} under token {token}")));
        }
        Ok(self.promote_now(step, &name))
    }

    fn promote_now(&mut self, step: &mut Step, name: &Name) -> Outcome {
        let before = self.roles.floor(name).unwrap_or_default();
        match self.roles.promote(step, &self.streams, name) {
            Some(granted) => {
                let holder = self.called(granted.session);
                let token = granted.token;
                Outcome::done(format!("{holder} leads {name} under token {token}, above {before}"))
            }
            None => Outcome::Failed(format!(
                "no standby of {name} may take it: `role show {name}` lists who stands by"
            )),
        }
    }

    /// Tells that the role went to somebody since the run was asked for, if it did.
    fn granted_since(&self, run: &Run, name: &Name) -> Option<Outcome> {
        let lease = self.roles.get(name)?.held.as_ref()?;
        let before = run.token_before.filter(|_| run.params.role.as_ref() == Some(name))?;
        (lease.token > before).then(|| {
            let (holder, token) = (self.called(lease.session), lease.token);
            Outcome::done(format!("{holder} leads {name} under token {token}, above {before}"))
        })
    }

    fn act_acquire(
        &mut self,
        step: &mut Step,
        run: &mut Run,
        subject: &Subject,
        worker: Option<&Text>,
    ) -> Acted {
        let name = self.role_for(run, subject)?;
        if let Some(done) = self.granted_since(run, &name) {
            return Ok(done);
        }
        let role = self.roles.require(&name)?;
        if role.held.is_some() {
            return Ok(Outcome::wait(format!("the lease of {name} has not lapsed yet")));
        }
        let Some(worker) = worker else { return Ok(self.promote_now(step, &name)) };
        let session = self.find_standby(&name, worker)?;
        let to = Successor::Session(session);
        let command = HandOver { role: name.clone(), holder: None, token: None, to };
        self.hand_over(step, &command)?;
        let token = self.roles.floor(&name).unwrap_or_default();
        Ok(Outcome::done(format!("{} leads {name} under token {token}", self.called(session))))
    }

    fn find_standby(&self, role: &Name, wanted: &Text) -> Result<SessionId, Refusal> {
        let candidates = &self.roles.require(role)?.candidates;
        let number = wanted.as_str().parse().ok().map(SessionId);
        let named = candidates
            .iter()
            .find(|one| one.label.as_str() == wanted.as_str() || Some(one.session) == number);
        named.map(|one| one.session).ok_or(Refusal::NoCandidate)
    }

    fn act_release(&mut self, step: &mut Step, run: &Run, subject: &Subject) -> Acted {
        let name = self.role_for(run, subject)?;
        let Some(lease) = &self.roles.require(&name)?.held else {
            return Ok(Outcome::done(format!("nobody holds {name}")));
        };
        let holder = self.called(lease.session);
        let next = self.roles.pass_on(step, &self.streams, &name, RoleCause::Released);
        let next = next.map(|next| self.called(next.session));
        let next = next.map_or("nobody follows".into(), |next| format!("{next} follows"));
        Ok(Outcome::done(format!("{holder} holds {name} no more, {next}")))
    }

    fn act_hand_over(
        &mut self,
        step: &mut Step,
        run: &mut Run,
        subject: &Subject,
        first: bool,
    ) -> Acted {
        let name = self.role_for(run, subject)?;
        if let Some(done) = self.granted_since(run, &name) {
            return Ok(done);
        }
        if first {
            let within_ms = limits::HAND_OVER_MS_DEFAULT;
            let to = Successor::MostCaughtUp;
            self.roles.ask_hand_over(step, &AskHandOver { role: name.clone(), to, within_ms })?;
        }
        Ok(Outcome::wait(format!("the holder of {name} was asked and has not handed over")))
    }

    fn act_resume_stream(&self, run: &mut Run, subject: &Subject) -> Acted {
        let name = self.role_for(run, subject)?;
        let role = self.roles.require(&name)?;
        let Some(lease) = &role.held else {
            return Ok(Outcome::wait(format!("nobody holds {name}")));
        };
        let holder = self.called(lease.session);
        let Some(stream) = lease.stream.as_ref().or(role.stream.as_ref()) else {
            return Ok(Outcome::done(format!("{name} consumes no stream; {holder} goes on")));
        };
        let last = self.streams.last(stream);
        let recorded = self.streams.recorded(stream, &name);
        let through = recorded.map(|recorded| recorded.through).unwrap_or_default();
        run.resumed = Some(through);
        let left = last.0.saturating_sub(through.0);
        let token = lease.token;
        Ok(Outcome::done(format!(
            "{holder} goes on after event {through} of {stream}, {left} to go; \
             a commit under a token below {token} is refused"
        )))
    }

    fn act_stop_intake(&mut self, step: &mut Step, run: &Run, subject: &Subject) -> Acted {
        let worker = self.worker_for(run, subject)?;
        let name = self.called(worker);
        if self.sessions.live(worker).is_none() {
            return Ok(Outcome::done(format!("{name} is gone and takes nothing")));
        }
        let reason = Text::cut(&format!("{} (run {})", run.title, run.id));
        let deadline_ms = limits::DRAIN_MS_DEFAULT;
        let answer = self.drain_worker(step, &DrainWorker { session: worker, deadline_ms, reason });
        let Answer::Draining { held, unserved } = answer? else {
            return Ok(Outcome::done(format!("{name} takes no new job")));
        };
        let mut lines: Vec<String> = [format!("{name} takes no new job; it holds {held}")].into();
        lines.extend(unserved.iter().map(|queue| format!("no other worker serves {queue}")));
        Ok(Outcome::Done(lines))
    }

    fn act_resume_intake(&mut self, step: &mut Step, run: &Run, subject: &Subject) -> Acted {
        let worker = self.worker_for(run, subject)?;
        self.resume_worker(step, &ResumeWorker { session: worker })?;
        Ok(Outcome::done(format!("{} takes jobs again", self.called(worker))))
    }

    fn act_return_held(
        &mut self,
        step: &mut Step,
        run: &mut Run,
        subject: &Subject,
        within_ms: u64,
        at: usize,
    ) -> Acted {
        let worker = self.worker_for(run, subject)?;
        let name = self.called(worker);
        let held: Vec<JobId> = self.jobs.held(worker).map(|job| job.id).collect();
        for id in &held {
            if !run.returned.contains(id) && run.returned.len() < limits::RUN_JOBS_MAX {
                run.returned.push(*id);
            }
        }
        if self.sessions.live(worker).is_none() {
            return Ok(Outcome::done(format!("{name} is gone; what it held went back with it")));
        }
        let started = run.steps[at].started.map_or(self.last.served, |started| started.served);
        if !held.is_empty() && self.last.served.since(started) < within_ms {
            return Ok(Outcome::wait(format!("{name} holds {} jobs", held.len())));
        }
        let leaves = self.sessions.live(worker).is_some_and(|s| s.state != WorkerState::Active);
        let cause = if leaves { ReturnCause::DrainDeadline } else { ReturnCause::Operator };
        self.jobs.return_held(step, worker, cause);
        self.say_all_drained(step);
        let given = &run.returned;
        let ids: Vec<String> = given.iter().take(20).map(ToString::to_string).collect();
        let more = if given.len() > 20 { " …" } else { "" };
        Ok(Outcome::done(match given.len() {
            0 => format!("{name} holds nothing"),
            count => format!("{name} gave back {count} jobs: {}{more}", ids.join(", ")),
        }))
    }

    /// Waits until what came back has owners; new jobs wait behind it.
    fn act_place(&mut self, step: &mut Step, run: &Run, subject: &Subject, first: bool) -> Acted {
        let queues = self.queues_for(run, subject)?;
        let mut waiting = 0;
        for queue in &queues {
            let Some(known) = self.jobs.queue(queue) else { continue };
            let returned = self.jobs.counts(known).returned;
            waiting += returned;
            if first && returned > 0 && known.gate.closed.is_none() {
                let within_ms = limits::GATE_MS_DEFAULT;
                self.jobs.close_gate(step, &CloseGate { queue: queue.clone(), within_ms })?;
            }
        }
        // What this run returned counts; where it returned nothing, whatever came back.
        if !run.returned.is_empty() {
            let jobs = run.returned.iter().filter_map(|id| self.jobs.job(*id));
            waiting = jobs.filter(|job| job.state == JobState::Returned).count() as u64;
        }
        let names: Vec<&str> = queues.iter().map(Name::as_str).collect();
        let names = names.join(", ");
        Ok(match waiting {
            0 => Outcome::done(format!("every returned job of {names} is placed")),
            count => Outcome::wait(format!("{count} returned jobs of {names} have no owner yet")),
        })
    }

    fn act_on_queues(
        &mut self,
        step: &mut Step,
        run: &Run,
        subject: &Subject,
        operation: &Operation,
    ) -> Acted {
        let queues = self.queues_for(run, subject)?;
        let mut lines = Vec::new();
        for queue in queues {
            let said = if matches!(operation, Operation::PauseQueue { .. }) {
                let reason = Text::cut(&format!("{} (run {})", run.title, run.id));
                self.jobs.pause_queue(step, &PauseQueue { queue: queue.clone(), reason })?;
                "hands nothing out"
            } else if matches!(operation, Operation::ResumeQueue { .. }) {
                self.jobs.resume_queue(step, &ResumeQueue { queue: queue.clone() })?;
                "hands jobs out"
            } else if matches!(operation, Operation::PauseNew { .. }) {
                let within_ms = limits::GATE_MS_DEFAULT;
                self.jobs.close_gate(step, &CloseGate { queue: queue.clone(), within_ms })?;
                "holds new jobs back behind returned ones, for 30 s at most"
            } else {
                self.jobs.open_gate(step, &OpenGate { queue: queue.clone() })?;
                "admits new jobs"
            };
            lines.push(format!("{queue} {said}"));
        }
        Ok(Outcome::Done(lines))
    }

    fn act_stop_worker(&mut self, step: &mut Step, run: &mut Run, subject: &Subject) -> Acted {
        let session = self.worker_for(run, subject)?;
        let name = self.called(session);
        if self.sessions.live(session).is_none() {
            return Ok(Outcome::done(format!("{name} is gone")));
        }
        run.returned.extend(self.jobs.held(session).map(|job| job.id).take(limits::ITEMS_MAX));
        let reason = Text::cut(&format!("{} (run {})", run.title, run.id));
        self.drain_worker(step, &DrainWorker { session, deadline_ms: 0, reason })?;
        Ok(Outcome::done(format!("{name} holds nothing and gets nothing")))
    }

    fn act_on_job(
        &mut self,
        step: &mut Step,
        run: &Run,
        subject: &Subject,
        operation: &Operation,
    ) -> Acted {
        let id = self.job_for(run, subject)?;
        let retries = matches!(operation, Operation::RetryJob { .. });
        let answer = if retries {
            self.jobs.retry(step, &RetryJobs { jobs: [id].into() })?
        } else {
            let grace_ms = limits::CANCEL_GRACE_MS_DEFAULT;
            self.jobs.cancel(step, &CancelJobs { jobs: [id].into(), grace_ms })?
        };
        if let Answer::Jobs(results) = answer {
            for result in results {
                result?;
            }
        }
        let state = self.jobs.job(id).map_or("gone", |job| job.state.as_str());
        Ok(Outcome::done(format!("job {id} is {state}")))
    }

    fn act_dead_letter(&mut self, step: &mut Step, run: &Run, subject: &Subject) -> Acted {
        let id = self.job_for(run, subject)?;
        let reason = Text::cut(&format!("{} (run {})", run.title, run.id));
        self.jobs.bury(step, id, &reason)?;
        Ok(Outcome::done(format!("job {id} is failed for good; `job retry {id}` brings it back")))
    }

    fn act_wait(&self, run: &Run, at: usize, ms: u64) -> Outcome {
        let started = run.steps[at].started.map_or(self.last.at, |started| started.at);
        if self.last.at >= started.after(ms) {
            return Outcome::Done(Vec::new());
        }
        Outcome::wait("its time is not over")
    }

    /// A job for an agent; what it answers is kept as evidence and decides nothing.
    fn act_agent(
        &mut self,
        step: &mut Step,
        run: &mut Run,
        agent: &Title,
        at: usize,
        first: bool,
    ) -> Acted {
        if first {
            let job = self.agent_job(run, agent, at)?;
            let command = Enqueue { jobs: [job].into() };
            if let Answer::Enqueued(jobs) = self.jobs.enqueue(step, &command)? {
                run.steps[at].job = jobs.first().map(|job| job.job);
            }
        }
        let job = run.steps[at].job.and_then(|id| self.jobs.job(id));
        let Some(job) = job else {
            return Ok(Outcome::Unknown("the agent's job is no longer kept".into()));
        };
        Ok(match job.state {
            JobState::Completed => {
                let said = job.result().map(|bytes| String::from_utf8_lossy(&bytes.0).into_owned());
                let said = said.unwrap_or_else(|| "nothing".into());
                Outcome::done(format!("{agent} answered: {said}"))
            }
            JobState::Failed | JobState::Cancelled => {
                Outcome::Failed(format!("job {} for {agent} is {}", job.id, job.state))
            }
            JobState::Scheduled | JobState::Queued | JobState::Returned | JobState::Running => {
                Outcome::Person(format!("job {} waits for {agent}", job.id))
            }
        })
    }

    fn agent_job(&self, run: &Run, agent: &Title, at: usize) -> Result<NewJob, Refusal> {
        let known = self.automation.catalog.require(Noun::Agent, agent)?;
        let Spec::Agent(spec) = &known.spec else { return Err(Refusal::NoCandidate) };
        let queue = spec.queue.clone().unwrap_or_else(|| agent_queue(agent));
        let sentence = run.plan.steps[at].sentence.as_str();
        let mut payload = String::from("{\"task\":");
        push_json(&mut payload, sentence);
        payload.push_str(",\"agent\":");
        push_json(&mut payload, agent.as_str());
        payload.push_str(&format!(",\"run\":{},\"step\":{}", run.id, at + 1));
        let params = &run.params;
        let job = params.job.map(|job| format!("{job}"));
        let about = [
            ("role", params.role.as_ref().map(Name::as_str)),
            ("worker", params.worker_label.as_ref().map(Name::as_str)),
            ("queue", params.queue.as_ref().map(Name::as_str)),
            ("job", job.as_deref()),
        ];
        for (key, value) in about {
            let Some(value) = value else { continue };
            payload.push_str(&format!(",\"{key}\":"));
            push_json(&mut payload, value);
        }
        payload.push('}');
        let key = format!("run {} step {} try {}", run.id, at + 1, run.steps[at].attempts);
        Ok(NewJob {
            queue,
            payload: Bytes::from(payload.as_str()),
            priority: 0,
            due: Due::Now,
            unique: Key::parse(&key).ok(),
            order: None,
            retry: RetryRule::default(),
            timeout_ms: None,
        })
    }

    fn act_webhook(
        &mut self,
        step: &mut Step,
        run: &mut Run,
        channel: &Title,
        at: usize,
        first: bool,
    ) -> Outcome {
        let sink = self.automation.catalog.channel(channel).and_then(|known| known.sink.as_ref());
        if sink.is_none() {
            return Outcome::Failed(format!(
                "channel {channel} has no sink; `channel edit {channel:?} --webhook URL` binds one"
            ));
        }
        if first {
            let message = self.write_call(step, run, channel, at);
            run.steps[at].message = Some(message);
        }
        Outcome::wait("the call has not been answered")
    }

    /// Returns the live jobs, at most so many.
    pub(crate) fn live_jobs(&self, max: usize) -> Vec<Target> {
        let mut jobs = Vec::new();
        for queue in self.jobs.queues(None) {
            let states =
                [JobState::Running, JobState::Returned, JobState::Queued, JobState::Scheduled];
            for state in states {
                let left = max.saturating_sub(jobs.len());
                let some = self.jobs.each(queue.id, state).take(left);
                jobs.extend(some.map(|job: &Job| Target::Job(job.id)));
            }
        }
        jobs
    }
}

/// Returns what the run is about, the most particular first.
fn run_target(run: &Run) -> Option<Target> {
    let params = &run.params;
    let role = || params.role.clone().map(Target::Role);
    let worker = || params.worker.map(Target::Worker);
    let queue = || params.queue.clone().map(Target::Queue);
    let job = || params.job.map(Target::Job);
    run.target.clone().or_else(job).or_else(worker).or_else(role).or_else(queue)
}

/// Returns the queue of an agent that names none: `agent.` and its name in lower case, with `-`
/// for what a queue's name cannot hold.
#[must_use]
pub fn agent_queue(agent: &Title) -> Name {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let name: String = agent.as_str().chars().take(80).map(plain).collect();
    Name::parse(&format!("agent.{name}")).expect("letters, digits and dashes make a name")
}

fn push_json(text: &mut String, value: &str) {
    text.push('"');
    for c in value.chars() {
        match c {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            c if u32::from(c) < 32 => text.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => text.push(c),
        }
    }
    text.push('"');
}
