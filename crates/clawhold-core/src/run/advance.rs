//! How a run goes on: one step after the other, as far as it can in this entry.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::answer::{Answer, Refusal};
use crate::audit::MismatchKind;
use crate::change::What;
use crate::command::{Decide, Witness};
use crate::limits;
use crate::operation::{Check, OnFail, Operation};
use crate::outbox::Sent;
use crate::run::{About, Due, Question, Run, RunState, Seen, StepRecord, StepState, Target};
use crate::state::{State, Step};
use crate::units::{Name, RunId, Text, Timestamp};

/// What came of looking at a step.
pub(crate) enum Outcome {
    /// It did what it says.
    Done(Vec<String>),
    /// It did not.
    Failed(String),
    /// It is not known whether it did.
    Unknown(String),
    /// It is under way.
    Wait {
        /// What it waits for.
        why: String,
        /// Whether it is unknown, not failed, when its time is over.
        unknown: bool,
    },
    /// A person or an agent has it.
    Person(String),
}

impl Outcome {
    /// Returns an outcome with one line.
    pub(crate) fn done(line: impl Into<String>) -> Self {
        Self::Done([line.into()].into())
    }

    /// Returns an outcome that waits, and fails when its time is over.
    pub(crate) fn wait(why: impl Into<String>) -> Self {
        Self::Wait { why: why.into(), unknown: false }
    }
}

impl From<Refusal> for Outcome {
    fn from(refusal: Refusal) -> Self {
        Self::Failed(refusal.to_string())
    }
}

impl State {
    /// Lets a run go on as far as it can.
    pub(crate) fn advance(&mut self, step: &mut Step, id: RunId) {
        // It is taken out while its steps change the state.
        let Some(mut run) = self.automation.runs.live.remove(&id) else { return };
        let steps = run.steps.len();
        for _ in 0..=steps {
            if run.state != RunState::Running {
                break;
            }
            let at = usize::try_from(run.cursor).unwrap_or(usize::MAX);
            if at >= steps {
                return self.end_run(step, run, RunState::Succeeded);
            }
            if !self.take_step(step, &mut run, at) {
                break;
            }
        }
        if run.state.is_ended() {
            let state = run.state;
            return self.end_run(step, run, state);
        }
        self.automation.runs.live.insert(id, run);
    }

    /// Takes a step or looks at it again, and tells whether the next one follows.
    fn take_step(&mut self, step: &mut Step, run: &mut Run, at: usize) -> bool {
        let first = run.steps[at].state == StepState::Pending;
        if first {
            let record = &mut run.steps[at];
            record.state = StepState::Running;
            record.started = Some(step.stamp);
            record.attempts = record.attempts.saturating_add(1);
            run.seen = None;
            step.note(What::Run { run: run.id, state: run.state });
        }
        if run.steps[at].state == StepState::Waiting {
            if self.is_late(run, at) {
                let why = "nobody answered in time".to_owned();
                return self.fell(step, run, at, StepState::Failed, why);
            }
            if !matches!(run.plan.steps[at].operation, Operation::AgentJob { .. }) {
                return false;
            }
        }
        match self.act(step, run, at, first) {
            Outcome::Done(lines) => {
                self.did(step, run, at, lines);
                true
            }
            Outcome::Failed(why) => self.fell(step, run, at, StepState::Failed, why),
            Outcome::Unknown(why) => self.fell(step, run, at, StepState::Unknown, why),
            Outcome::Person(line) => {
                run.steps[at].state = StepState::Waiting;
                if first {
                    add_line(&mut run.steps[at], &line);
                    self.tell_waiting(step, run, at);
                    self.look_at_run(step, run, at);
                }
                false
            }
            Outcome::Wait { why, unknown } if self.is_late(run, at) => {
                let state = if unknown { StepState::Unknown } else { StepState::Failed };
                self.fell(step, run, at, state, format!("not within its time: {why}"))
            }
            Outcome::Wait { .. } => {
                if first {
                    self.look_at_run(step, run, at);
                }
                false
            }
        }
    }

    fn did(&mut self, step: &mut Step, run: &mut Run, at: usize, lines: Vec<String>) {
        let record = &mut run.steps[at];
        for line in &lines {
            add_line(record, line);
        }
        record.state = StepState::Done;
        record.ended = Some(step.stamp);
        run.cursor = run.cursor.saturating_add(1);
        step.note(What::Run { run: run.id, state: run.state });
    }

    /// Notes that a step did not do what it says, and tells whether the next one follows.
    fn fell(
        &mut self,
        step: &mut Step,
        run: &mut Run,
        at: usize,
        state: StepState,
        why: String,
    ) -> bool {
        let record = &mut run.steps[at];
        add_line(record, &why);
        record.state = state;
        record.ended = Some(step.stamp);
        step.note(What::Run { run: run.id, state: run.state });
        match run.plan.steps[at].on_fail {
            OnFail::Continue => {
                run.cursor = run.cursor.saturating_add(1);
                true
            }
            OnFail::Ask => {
                run.steps[at].state = StepState::Waiting;
                self.tell_waiting(step, run, at);
                false
            }
            OnFail::Stop => {
                run.why = Text::cut(&format!("step {}: {why}", at + 1));
                run.state =
                    if state == StepState::Unknown { RunState::Unknown } else { RunState::Failed };
                false
            }
        }
    }

    /// Tells whether a step's time is over: by time served, so that an outage of ours counts for
    /// nothing, but for the answers of people.
    fn is_late(&self, run: &Run, at: usize) -> bool {
        let Some(started) = run.steps[at].started else { return false };
        let limit = run.timeout_ms(at);
        let elapsed = self.last.served.since(started.served);
        let by_wall = self.last.at.0.saturating_sub(started.at.0);
        if run.steps[at].state == StepState::Waiting { by_wall >= limit } else { elapsed >= limit }
    }

    /// Looks at the run again when time alone brings its step on, or is over.
    fn look_at_run(&mut self, step: &Step, run: &Run, at: usize) {
        let until = step.stamp.at.after(run.look_ms(at));
        self.automation.runs.due.insert((until, Due::Run(run.id)));
    }

    /// Looks at a run whose time has come.
    pub(crate) fn run_due(&mut self, step: &mut Step, id: RunId) {
        let Some(run) = self.automation.runs.live.get(&id) else { return };
        if run.state == RunState::Asking {
            if run.answer_by.is_some_and(|until| until <= step.stamp.at) {
                self.refuse_run(step, id, RunState::Expired);
            }
            return;
        }
        self.advance(step, id);
        let Some(run) = self.automation.runs.live.get(&id) else { return };
        let at = usize::try_from(run.cursor).unwrap_or(usize::MAX);
        let Some(started) = run.steps.get(at).and_then(|record| record.started) else { return };
        // What counts time served may have longer to go than the wall clock says.
        let passed = self.last.served.since(started.served);
        let look = Some(run.look_ms(at)).filter(|look| passed < *look);
        let left = look.unwrap_or_else(|| run.timeout_ms(at)).saturating_sub(passed).max(100);
        self.automation.runs.due.insert((step.stamp.at.after(left), Due::Run(id)));
    }

    /// Ends a run: what limits count, who is told.
    pub(crate) fn end_run(&mut self, step: &mut Step, mut run: Run, state: RunState) {
        run.state = state;
        run.ended = Some(step.stamp);
        for record in &mut run.steps {
            if record.state == StepState::Pending {
                record.state = StepState::Skipped;
            }
        }
        step.note(What::Run { run: run.id, state });
        if run.is_of_fix() && run.started.is_some() {
            self.count_end(step.stamp.at, &run);
        }
        self.tell_run_end(step, &run);
        let runs = &mut self.automation.runs;
        runs.ended.insert(run.id, run.clone());
        if runs.ended.len() > limits::RUNS_KEPT_MAX {
            runs.ended.pop_first();
        }
        if let Some(target) = run.target.as_ref().filter(|_| run.is_of_fix()) {
            self.trip_if_failing(step, &run, target);
            self.look_after_end(step, &run, target);
        }
    }

    fn count_end(&mut self, at: Timestamp, run: &Run) {
        let runs = &mut self.automation.runs;
        runs.last_ends.insert(run.title.clone(), at);
        let Some(target) = &run.target else { return };
        let instance = runs.instances.entry((run.title.clone(), target.clone())).or_default();
        instance.last_end = Some(at);
        match run.state {
            RunState::Failed => instance.failures = instance.failures.saturating_add(1),
            RunState::Succeeded => instance.failures = 0,
            RunState::Asking
            | RunState::Running
            | RunState::Unknown
            | RunState::Cancelled
            | RunState::Withdrawn
            | RunState::Expired
            | RunState::Rejected => {}
        }
    }

    fn trip_if_failing(&mut self, step: &mut Step, run: &Run, target: &Target) {
        let key = (run.title.clone(), target.clone());
        let Some(instance) = self.automation.runs.instances.get_mut(&key) else { return };
        let trips = run.state == RunState::Failed && instance.failures >= limits::TRIP_FAILURES;
        if trips && instance.tripped.is_none() {
            instance.tripped = Some(step.stamp.at);
            let failures = instance.failures;
            self.tell_tripped(step, run, target, failures);
        }
    }

    /// Looks at the fix again: its condition may still hold, or hold again.
    fn look_after_end(&mut self, step: &Step, run: &Run, target: &Target) {
        let due = Due::Fix(run.title.clone(), target.clone());
        self.automation.runs.due.insert((step.stamp.at, due));
    }

    /// Takes a person's word about the step that waits for it.
    pub(crate) fn confirm_step(
        &mut self,
        step: &mut Step,
        command: &Decide,
        actor: Name,
    ) -> Result<Answer, Refusal> {
        let Some(mut run) = self.automation.runs.live.remove(&command.run) else {
            return Ok(Answer::Done);
        };
        let at = usize::try_from(run.cursor).unwrap_or(usize::MAX);
        let said = command.reason.as_str();
        let colon = if said.is_empty() { "" } else { ": " };
        if command.agrees {
            self.did(step, &mut run, at, [format!("{actor} confirmed it{colon}{said}")].into());
        } else {
            let why = format!("{actor} said no{colon}{said}");
            run.plan.steps[at].on_fail = OnFail::Stop;
            self.fell(step, &mut run, at, StepState::Failed, why);
        }
        self.automation.runs.live.insert(command.run, run);
        self.advance(step, command.run);
        Ok(Answer::Run { run: command.run })
    }

    /// Records what the active server saw for a step, and lets the run go on.
    pub(crate) fn witness(
        &mut self,
        step: &mut Step,
        command: &Witness,
    ) -> Result<Answer, Refusal> {
        if let Some(run) = self.automation.runs.live.get_mut(&command.run) {
            run.seen = Some((command.step, command.seen.clone()));
        }
        if let Seen::Owners { mismatches, .. } = &command.seen {
            self.note_double_owners(step, command.run, mismatches);
        }
        self.advance(step, command.run);
        Ok(Answer::Done)
    }

    fn note_double_owners(&mut self, step: &mut Step, run: RunId, mismatches: &[Text]) {
        let double = MismatchKind::HeldByWorkerOnly.as_str();
        let found = mismatches.iter().filter(|found| found.as_str().starts_with(double));
        let found: Vec<Text> = found.cloned().collect();
        let queues = self.automation.runs.live.get(&run).map(|run| self.queues_of(run));
        if let Some(queue) = queues.iter().flatten().next().filter(|_| !found.is_empty()) {
            self.double_owner_seen(step, &queue.clone(), &found);
        }
    }

    /// Takes in how sending the message of a step ended.
    pub(crate) fn step_sent(
        &mut self,
        step: &mut Step,
        id: RunId,
        at: u32,
        sent: &Sent,
        in_doubt: bool,
    ) {
        let Some(mut run) = self.automation.runs.live.remove(&id) else { return };
        let place = usize::try_from(at).unwrap_or(usize::MAX);
        let waits = run.cursor == at
            && run.steps.get(place).is_some_and(|record| record.state == StepState::Running);
        if waits {
            match sent {
                Sent::Delivered { said } => {
                    let note = if in_doubt { " (it may have been called twice)" } else { "" };
                    let line = format!("answered {:?}{note}", said.as_str());
                    self.did(step, &mut run, place, [line].into());
                }
                Sent::Refused { error } => {
                    let why = error.as_str().to_owned();
                    self.fell(step, &mut run, place, StepState::Failed, why);
                }
                Sent::Failed { .. } => {}
            }
        }
        self.automation.runs.live.insert(id, run);
        self.advance(step, id);
    }

    /// Returns what runs wait to be told by the active server.
    #[must_use]
    pub fn questions(&self) -> Vec<Question> {
        let live = self.automation.runs.live.values();
        let running = live.filter(|run| run.state == RunState::Running);
        running.filter_map(|run| self.question(run)).collect()
    }

    fn question(&self, run: &Run) -> Option<Question> {
        let at = usize::try_from(run.cursor).ok()?;
        if run.steps.get(at)?.state != StepState::Running {
            return None;
        }
        let Operation::Check(check) = &run.plan.steps[at].operation else { return None };
        let about = match check {
            Check::NotRenewed { role } => About::Lease(self.role_for(run, role).ok()?),
            Check::StoppedActing { role } => {
                let name = self.role_for(run, role).ok()?;
                let granted = self.roles.get(&name)?.held.as_ref()?.granted.position;
                About::Former(name, run.holder_before?, granted)
            }
            Check::OneOwner { queue } => About::Owners(self.queues_for(run, queue).ok()?),
            Check::QueueOwns { .. } | Check::NoHeld { .. } => return None,
        };
        Some(Question { run: run.id, step: run.cursor, about })
    }
}

impl Run {
    /// Returns the milliseconds after which time alone brings a step on; those that it may take
    /// when it waits for something else.
    fn look_ms(&self, at: usize) -> u64 {
        let timeout_ms = self.timeout_ms(at);
        let operation = self.plan.steps.get(at).map(|planned| &planned.operation);
        if let Some(
            Operation::WaitFor { ms: own_ms } | Operation::ReturnHeld { within_ms: own_ms, .. },
        ) = operation
        {
            return timeout_ms.min(*own_ms);
        }
        timeout_ms
    }

    /// Returns the milliseconds that a step may take.
    #[must_use]
    pub fn timeout_ms(&self, at: usize) -> u64 {
        let Some(planned) = self.plan.steps.get(at) else { return limits::STEP_MS_DEFAULT };
        let own = match &planned.operation {
            Operation::Confirm | Operation::AgentJob { .. } => limits::ANSWER_MS_DEFAULT,
            Operation::Webhook { .. } => limits::DELIVERY_MS,
            Operation::WaitFor { ms } => ms.saturating_add(limits::STEP_MS_DEFAULT),
            Operation::WaitUntil(_) => 3_600_000,
            // A lease that is not renewed any more lapses by its own ttl.
            Operation::Acquire { .. } => 600_000,
            Operation::ReturnHeld { within_ms, .. } => {
                within_ms.saturating_add(limits::STEP_MS_DEFAULT)
            }
            Operation::PromoteStandby { .. }
            | Operation::Release { .. }
            | Operation::HandOver { .. }
            | Operation::ResumeStream { .. }
            | Operation::StopIntake { .. }
            | Operation::ResumeIntake { .. }
            | Operation::PlaceReturned { .. }
            | Operation::PauseQueue { .. }
            | Operation::ResumeQueue { .. }
            | Operation::PauseNew { .. }
            | Operation::AdmitNew { .. }
            | Operation::StopWorker { .. }
            | Operation::RetryJob { .. }
            | Operation::DeadLetter { .. }
            | Operation::CancelJob { .. }
            | Operation::Check(_)
            | Operation::Show(_)
            | Operation::Notify { .. } => limits::STEP_MS_DEFAULT,
        };
        let waits = self.steps.get(at).is_some_and(|record| record.state == StepState::Waiting);
        let own = if waits { limits::ANSWER_MS_DEFAULT } else { own };
        planned.timeout_ms.unwrap_or(own)
    }
}

fn add_line(record: &mut StepRecord, line: &str) {
    if record.output.len() < limits::OUTPUT_LINES_MAX {
        record.output.push(Text::cut(line));
    }
}
