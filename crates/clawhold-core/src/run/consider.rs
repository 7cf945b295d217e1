//! Whether a fix runs on a target: looked at whenever what its condition reads has changed.
//!
//! A condition that still holds when a limit frees is looked at anew; nothing is queued up.

use alloc::format;
use alloc::string::String;

use super::guard::{Block, STORM_MS};
use crate::catalog::{Definition, Noun, Spec};
use crate::condition::Truth;
use crate::limits;
use crate::run::{Decision, Due, Instance, Origin, Params, Reason, Run, RunState, Target};
use crate::state::{State, Step};
use crate::units::{RunId, Text, Timestamp, Title};

impl State {
    /// Looks at a fix and a target, and starts a run if nothing keeps it from running.
    pub(crate) fn consider(&mut self, step: &mut Step, title: &Title, target: &Target) {
        if self.note_holds(step, title, target) != Truth::True {
            return;
        }
        let Some(known) = self.automation.catalog.get(Noun::AutoFix, title) else { return };
        if !known.enabled {
            return;
        }
        let known = known.clone();
        let mut live = self.automation.runs.live.values();
        if live.any(|run| run.title == *title && run.target.as_ref() == Some(target)) {
            return;
        }
        let just_ended = self.just_ended(step, title, target);
        if let Some(block) = self.blocked(&known, target) {
            self.keep_from(step, &known, target, block, just_ended);
            return;
        }
        let Spec::AutoFix(fix) = &known.spec else { return };
        let mut run = self.new_run(step, &known, Some(target), self.params_of(target));
        run.plan = fix.plan.clone();
        run.notify = fix.notify.clone();
        run.evidence = Text::cut(&fix.condition.evidence(&self.facts(target)));
        let id = match self.asks(fix) {
            Some(count) => self.ask_people(step, run, fix.approval_ms, count),
            None => self.launch(step, run),
        };
        let asked = self.asks(fix).is_some();
        let reason = if asked { Reason::AwaitingApproval } else { Reason::Started };
        let block = Block { reason, detail: String::new(), free_at: None };
        self.note_decision(step, &known, target, block, Some(id));
    }

    /// Notes whether a fix's condition holds for a target, and returns it. A condition that has
    /// cleared takes back what waits for people to agree.
    pub(crate) fn note_holds(&mut self, step: &mut Step, title: &Title, target: &Target) -> Truth {
        let known = self.automation.catalog.get(Noun::AutoFix, title);
        let Some(Spec::AutoFix(fix)) = known.map(|known| &known.spec) else {
            return Truth::Unknown;
        };
        let holds = self.condition_holds(&fix.condition, target);
        let key = (title.clone(), target.clone());
        if holds == Truth::True {
            let full = self.automation.runs.instances.len() >= limits::TARGETS_MAX;
            if full && !self.automation.runs.instances.contains_key(&key) {
                self.automation.runs.forget_idle();
            }
            let instance = self.automation.runs.instances.entry(key).or_default();
            let healthy = instance.healthy_since.take();
            if healthy.is_some_and(|since| step.stamp.at >= since.after(limits::TRIP_MS)) {
                instance.tripped = None;
                instance.failures = 0;
            }
            instance.since = instance.since.or(Some(step.stamp));
            return holds;
        }
        if holds == Truth::False || !self.is_there(target) {
            self.note_cleared(step, &key);
        }
        holds
    }

    fn note_cleared(&mut self, step: &mut Step, key: &(Title, Target)) {
        let Some(instance) = self.automation.runs.instances.get_mut(key) else { return };
        if instance.since.take().is_none() {
            return;
        }
        instance.healthy_since = Some(step.stamp.at);
        instance.told = false;
        instance.refused = None;
        // The next time that it holds is another occasion.
        instance.decided = None;
        if let Some(at) = instance.look_at.take() {
            self.automation.runs.due.remove(&(at, Due::Fix(key.0.clone(), key.1.clone())));
        }
        if instance.is_idle() {
            self.automation.runs.instances.remove(key);
        }
        let group = self.name_of(&key.1);
        self.clear_blocked(step, &key.0, &group);
        if let Some(run) = self.asking_run(&key.0, &key.1) {
            self.withdraw_run(step, run, "the condition has cleared; there is nothing to approve");
        }
    }

    fn asking_run(&self, title: &Title, target: &Target) -> Option<RunId> {
        let mut live = self.automation.runs.live.values();
        let asking = |run: &&Run| {
            run.state == RunState::Asking
                && run.title == *title
                && run.target.as_ref() == Some(target)
        };
        live.find(asking).map(|run| run.id)
    }

    fn just_ended(&self, step: &Step, title: &Title, target: &Target) -> bool {
        let instance = self.instance(title, target);
        instance.is_some_and(|instance| instance.last_end == Some(step.stamp.at))
    }

    /// Records what keeps a fix from running, says so once, and looks again when it may.
    fn keep_from(
        &mut self,
        step: &mut Step,
        known: &Definition,
        target: &Target,
        block: Block,
        just_ended: bool,
    ) {
        let storm = block.reason == Reason::FleetBreaker;
        let before = self.automation.runs.storms.get(&known.title);
        let known_storm = storm && before.is_some_and(|at| step.stamp.at < at.after(STORM_MS));
        // Only what goes on frees a whole period from now.
        if storm && block.free_at == Some(step.stamp.at.after(STORM_MS)) {
            self.automation.runs.storms.insert(known.title.clone(), step.stamp.at);
        }
        self.look_again(&known.title, target, block.free_at);
        let refused = self.instance(&known.title, target).is_some_and(|one| one.refused.is_some());
        let quiet = matches!(block.reason, Reason::ObserveOnly | Reason::TargetBusy);
        // One message says it for all the targets of a storm.
        let quiet = quiet || just_ended || refused || known_storm;
        let instance = self.instance(&known.title, target);
        let told_of = instance.and_then(|one| one.decided.as_ref()).map(|last| last.reason);
        let untold = instance.is_some_and(|one| !one.told || told_of != Some(block.reason));
        if untold && !quiet {
            self.say_blocked(step, known, target, &block);
        }
        self.note_decision(step, known, target, block, None);
    }

    /// Looks at a fix and a target again when its limit frees.
    fn look_again(&mut self, title: &Title, target: &Target, at: Option<Timestamp>) {
        let key = (title.clone(), target.clone());
        let runs = &mut self.automation.runs;
        let Some(instance) = runs.instances.get_mut(&key) else { return };
        let due = Due::Fix(key.0, key.1);
        if let Some(before) = instance.look_at.take() {
            runs.due.remove(&(before, due.clone()));
        }
        if let Some(at) = at {
            instance.look_at = Some(at);
            runs.due.insert((at, due));
        }
    }

    /// Keeps a decision; a repeat of the last one about the target is folded into it.
    fn note_decision(
        &mut self,
        step: &Step,
        known: &Definition,
        target: &Target,
        block: Block,
        run: Option<RunId>,
    ) {
        let Spec::AutoFix(fix) = &known.spec else { return };
        let evidence = Text::cut(&fix.condition.evidence(&self.facts(target)));
        let name = self.name_of(target);
        let key = (known.title.clone(), target.clone());
        let runs = &mut self.automation.runs;
        let Some(instance) = runs.instances.get_mut(&key) else { return };
        let last = instance.decided.as_ref();
        let same = last.filter(|last| last.reason == block.reason && run.is_none());
        let same = same.filter(|last| last.version == known.version);
        let decision = Decision {
            title: known.title.clone(),
            version: known.version,
            target: target.clone(),
            name,
            reason: block.reason,
            detail: Text::cut(&block.detail),
            evidence,
            first: same.map_or(step.stamp, |same| same.first),
            last: step.stamp,
            count: same.map_or(1, |same| same.count.saturating_add(1)),
            run,
            free_at: block.free_at,
        };
        let folded = decision.count > 1;
        instance.decided = Some(decision.clone());
        if folded {
            let mut recent = runs.decisions.iter_mut().rev();
            let before = recent.find(|before| {
                before.first == decision.first
                    && before.title == decision.title
                    && before.target == decision.target
            });
            if let Some(before) = before {
                *before = decision;
                return;
            }
        }
        runs.decisions.push_back(decision);
        if runs.decisions.len() > limits::DECISIONS_MAX {
            runs.decisions.pop_front();
        }
    }

    /// Returns a run that has not begun.
    pub(crate) fn new_run(
        &mut self,
        step: &Step,
        known: &Definition,
        target: Option<&Target>,
        params: Params,
    ) -> Run {
        let runs = &mut self.automation.runs;
        let next = RunId(runs.latest.0.saturating_add(1));
        runs.latest = next.max(RunId(step.stamp.position.0));
        let role = params.role.as_ref().and_then(|role| self.roles.get(role));
        let holder = role.and_then(|role| {
            let held = role.held.as_ref().map(|lease| lease.session);
            held.or_else(|| role.ended().and_then(|ended| ended.session))
        });
        Run {
            id: self.automation.runs.latest,
            noun: known.noun(),
            title: known.title.clone(),
            version: known.version,
            target: target.cloned(),
            token_before: role.map(|role| role.floor),
            holder_before: holder,
            params,
            origin: Origin::Condition,
            actor: step.actor.clone().filter(|_| target.is_none()),
            plan: crate::operation::Plan::default(),
            plan_hash: Text::default(),
            state: RunState::Asking,
            steps: alloc::vec::Vec::new(),
            cursor: 0,
            asked: step.stamp,
            started: None,
            ended: None,
            evidence: Text::default(),
            override_reason: None,
            votes: alloc::vec::Vec::new(),
            answer_by: None,
            resumed: None,
            returned: alloc::vec::Vec::new(),
            reply_url: None,
            notify: alloc::vec::Vec::new(),
            why: Text::default(),
            seen: None,
        }
    }

    /// Says in words where a fix stands with a target, for a block's message.
    pub(crate) fn left_as_is(&self, target: &Target) -> String {
        let now = self.last.served;
        match target {
            Target::Role(role) => {
                let standbys = self.roles.get(role).map_or(0, |role| role.candidates.len());
                format!("{role} has no leader; {standbys} stand by")
            }
            Target::Worker(worker) => {
                let held = self.jobs.held_count(*worker);
                let drain = self.worker(*worker).and_then(|session| session.drain.as_ref());
                let leaves = drain.map(|drain| drain.deadline.since(now).div_ceil(1_000));
                let leaves = leaves.map(|left| {
                    format!(" and leaves in {left} s; what it holds then is returned without a fix")
                });
                let name = self.name_of(target);
                format!("{} still holds {held} jobs{}", name.as_str(), leaves.unwrap_or_default())
            }
            Target::Queue(queue) => {
                let counts = self.jobs.queue(queue).map(|queue| self.jobs.counts(queue));
                let waiting = counts.map_or(0, |counts| counts.queued + counts.returned);
                format!("{queue} has {waiting} jobs waiting")
            }
            Target::Job(job) => {
                let state = self.jobs.job(*job).map(|job| job.state.as_str());
                format!("job {job} is {}", state.unwrap_or("gone"))
            }
        }
    }
}

impl Instance {
    /// Tells whether nothing needs to be kept in mind.
    fn is_idle(&self) -> bool {
        self.since.is_none()
            && self.last_end.is_none()
            && self.tripped.is_none()
            && self.failures == 0
            && self.starts.is_empty()
    }
}

impl super::Runs {
    /// Forgets one target whose condition does not hold.
    fn forget_idle(&mut self) {
        let idle = self.instances.iter().filter(|(_, one)| one.since.is_none());
        let oldest = idle.min_by_key(|(_, one)| one.last_end).map(|(key, _)| key.clone());
        if let Some(key) = oldest.or_else(|| self.instances.keys().next().cloned()) {
            self.instances.remove(&key);
        }
    }
}
