//! How runs are asked for, approved, called off and taken up again.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write as _;

use sha2::{Digest, Sha256};

use super::guard::Block;
use crate::answer::{Answer, Kind, Refusal};
use crate::catalog::{Approval, Noun, Spec};
use crate::change::What;
use crate::command::{CancelRun, Decide, ResetFix, ResumeRun, StartRun};
use crate::condition::TargetKind;
use crate::limits;
use crate::operation::Plan;
use crate::request::check_range;
use crate::run::{Due, Params, Reason, Run, RunState, StepRecord, StepState, Target, Vote};
use crate::state::{State, Step};
use crate::units::{JobId, Name, RunId, Text, Timestamp, Title};

impl State {
    /// Asks for a run of a runbook or a fix.
    pub(crate) fn start_run(
        &mut self,
        step: &mut Step,
        command: &StartRun,
    ) -> Result<Answer, Refusal> {
        let known = self.automation.catalog.require(command.noun, &command.title)?.clone();
        self.check_room_for_run()?;
        let (plan, notify) = match &known.spec {
            Spec::Runbook(runbook) => (runbook.plan.clone(), runbook.notify.clone()),
            Spec::AutoFix(fix) => (fix.plan.clone(), fix.notify.clone()),
            Spec::Agent(_)
            | Spec::Command(_)
            | Spec::AlertRule(_)
            | Spec::AlertRoute(_)
            | Spec::Channel(_)
            | Spec::Source(_) => {
                let kind = Kind::of(command.noun);
                return Err(Refusal::NotFound { kind, name: command.title.as_str().into() });
            }
        };
        let mut target = None;
        let params = if let Spec::AutoFix(fix) = &known.spec {
            let found = self.fix_target(fix.condition.target(), command)?;
            let limit = |block: Block| Refusal::Blocked {
                reason: block.reason,
                detail: block.detail.into(),
                free_at: block.free_at,
            };
            if command.override_reason.is_none() {
                self.blocked(&known, &found).map_or(Ok(()), |block| Err(limit(block)))?;
            } else if let Some(block) = self.in_vain(fix, &known, &found) {
                return Err(limit(block));
            }
            let params = self.params_of(&found);
            target = Some(found);
            params
        } else {
            if !known.enabled {
                let (reason, detail) = (Reason::Disabled, "it is disabled".into());
                return Err(Refusal::Blocked { reason, detail, free_at: None });
            }
            let params = self.find_params(&plan, &command.params)?;
            if command.override_reason.is_none() && plan.acts() {
                self.check_free(&params)?;
            }
            params
        };
        let mut run = self.new_run(step, &known, target.as_ref(), params);
        run.plan = plan;
        run.notify = notify;
        run.origin = command.origin;
        run.actor = step.actor.clone();
        run.override_reason = command.override_reason.clone();
        run.reply_url = command.reply_url.clone();
        if let (Spec::AutoFix(fix), Some(target)) = (&known.spec, &target) {
            run.evidence = Text::cut(&fix.condition.evidence(&self.facts(target)));
            self.note_holds(step, &known.title, target);
        }
        Ok(Answer::Run { run: self.launch(step, run) })
    }

    /// Checks that no other run changes what this one is about.
    fn check_free(&self, params: &Params) -> Result<(), Refusal> {
        let live = self.automation.runs.live.values();
        let mut acting = live.filter(|run| run.state == RunState::Running && run.plan.acts());
        let Some(run) = acting.find(|run| run.params.meets(params)) else { return Ok(()) };
        let (id, title) = (run.id, &run.title);
        let detail = format!(
            "run {id} of {title} is under way there; wait for it, or `clawhold run cancel {id}`"
        );
        let (reason, detail) = (Reason::TargetBusy, detail.into());
        Err(Refusal::Blocked { reason, detail, free_at: None })
    }

    fn check_room_for_run(&self) -> Result<(), Refusal> {
        let (count, max) = (self.automation.runs.live.len() as u64, limits::RUNS_LIVE_MAX as u64);
        if count < max {
            return Ok(());
        }
        Err(Refusal::Full { what: "the list of runs under way".into(), count, max })
    }

    /// Returns the target that was said, or the only one for which the condition holds.
    fn fix_target(&self, kind: TargetKind, command: &StartRun) -> Result<Target, Refusal> {
        let word = Name::parse(kind.as_str()).expect("the word is a name");
        if !command.params.is_empty() {
            let mut said = command.params.clone();
            for param in said.iter_mut().filter(|param| param.name.as_str() == "target") {
                param.name = word.clone();
            }
            let found = self.find_params(&Plan::default(), &said)?;
            if let Some(target) = target_of(kind, &found) {
                return Ok(target);
            }
        }
        let all = self.automation.runs.instances(&command.title);
        let holds: Vec<&Target> =
            all.filter(|(_, one)| one.since.is_some()).map(|(target, _)| target).collect();
        if let [only] = holds[..] {
            return Ok(only.clone());
        }
        let choices = holds.iter().take(20).map(|target| self.name_of(target)).collect();
        Err(Refusal::NeedsParam { param: word, choices })
    }

    /// Lets a run wait until so many people have agreed.
    pub(crate) fn ask_people(
        &mut self,
        step: &mut Step,
        mut run: Run,
        within_ms: u64,
        count: u32,
    ) -> RunId {
        let id = run.id;
        prepare(&mut run);
        run.state = RunState::Asking;
        let until = step.stamp.at.after(within_ms);
        run.answer_by = Some(until);
        self.automation.runs.due.insert((until, Due::Run(id)));
        self.tell_asking(step, &run, count);
        step.note(What::Run { run: id, state: run.state });
        self.automation.runs.live.insert(id, run);
        id
    }

    /// Starts a run: from here on it counts.
    pub(crate) fn launch(&mut self, step: &mut Step, mut run: Run) -> RunId {
        let id = run.id;
        if run.steps.is_empty() {
            prepare(&mut run);
        }
        run.state = RunState::Running;
        run.started = Some(step.stamp);
        run.answer_by = None;
        if run.is_of_fix() {
            self.count_start(step.stamp.at, &run.title, run.target.as_ref());
        }
        step.note(What::Run { run: id, state: run.state });
        self.automation.runs.live.insert(id, run);
        self.advance(step, id);
        id
    }

    fn count_start(&mut self, at: Timestamp, title: &Title, target: Option<&Target>) {
        let keep = limits::MAX_RUNS_MAX as usize;
        let starts = self.automation.runs.starts.entry(title.clone()).or_default();
        starts.push_back(at);
        if starts.len() > keep {
            starts.pop_front();
        }
        let Some(target) = target else { return };
        let key = (title.clone(), target.clone());
        let instance = self.automation.runs.instances.entry(key).or_default();
        instance.told = false;
        instance.starts.push_back(at);
        if instance.starts.len() > keep {
            instance.starts.pop_front();
        }
    }

    /// Takes somebody's word about a run that asks: an approval, or a step that a person does.
    pub(crate) fn decide(&mut self, step: &mut Step, command: &Decide) -> Result<Answer, Refusal> {
        let run = self.require_run(command.run)?;
        let actor = step.actor.clone().unwrap_or_else(nobody);
        let waits = run.current().is_some_and(|record| record.state == StepState::Waiting);
        if run.state == RunState::Running && waits {
            return self.confirm_step(step, command, actor);
        }
        if run.state != RunState::Asking {
            return Err(match run.votes.last() {
                Some(vote) => Refusal::AlreadyDecided {
                    by: vote.actor.clone(),
                    agreed: vote.agrees,
                    at: vote.stamp.at,
                },
                None => Refusal::RunState { run: run.id, state: run.state },
            });
        }
        if let Some(presented) = command.plan_hash.as_ref().filter(|hash| **hash != run.plan_hash) {
            let (presented, latest) = (presented.as_str().into(), run.plan_hash.as_str().into());
            return Err(Refusal::PlanChanged { presented, latest });
        }
        let count = self.check_may_decide(run, &actor)?;
        self.vote(step, command, actor);
        let run = self.require_run(command.run)?;
        let agreed = run.votes.iter().filter(|vote| vote.agrees).count();
        if !command.agrees {
            self.refuse_run(step, command.run, RunState::Rejected);
        } else if agreed >= usize::try_from(count).unwrap_or(usize::MAX) {
            self.approved(step, command.run)?;
        }
        Ok(Answer::Run { run: command.run })
    }

    fn vote(&mut self, step: &Step, command: &Decide, actor: Name) {
        let Some(run) = self.automation.runs.live.get_mut(&command.run) else { return };
        let reason = command.reason.clone();
        run.votes.push(Vote { actor, agrees: command.agrees, reason, stamp: step.stamp });
    }

    /// Tells how many must agree, if this person's word counts.
    fn check_may_decide(&self, run: &Run, actor: &Name) -> Result<u32, Refusal> {
        let refuse = |why: String| Refusal::NotAllowed { actor: actor.clone(), why: why.into() };
        if run.votes.iter().any(|vote| vote.actor == *actor) {
            return Err(refuse("they have said so already; another person must, with a token of their own or from a chat".into()));
        }
        let known = self.automation.catalog.get(run.noun, &run.title);
        let Some(Spec::AutoFix(fix)) = known.map(|known| &known.spec) else { return Ok(1) };
        if fix.four_eyes {
            let editor = known.and_then(|known| known.versions().next_back());
            let editor = editor.and_then(|version| version.actor.as_ref());
            if editor == Some(actor) {
                return Err(refuse("they made the last edit, and four eyes are asked for".into()));
            }
        }
        let Approval::Ask { count, group } = &fix.approval else { return Ok(1) };
        if let Some(group) = group {
            let channel = Title::parse(&format!("@{group}")).ok();
            let channel = channel.and_then(|title| self.automation.catalog.channel(&title));
            if !channel.is_some_and(|channel| channel.members.contains(actor)) {
                let why = format!(
                    "they are no member of @{group}; `channel edit \"@{group}\" --member {actor}` adds them"
                );
                return Err(refuse(why));
            }
        }
        Ok(*count)
    }

    /// Starts a run that people agreed to, if everything still stands as when it was asked for.
    fn approved(&mut self, step: &mut Step, id: RunId) -> Result<(), Refusal> {
        let run = self.require_run(id)?;
        let known = self.automation.catalog.get(run.noun, &run.title).cloned();
        let same = known.as_ref().filter(|known| known.version == run.version);
        let Some(known) = same else {
            self.withdraw_run(step, id, "it was edited in the meantime");
            return Ok(());
        };
        let block = run.target.as_ref().and_then(|target| self.blocked(known, target));
        if let Some(block) = block {
            let why = format!("it may not run now ({}): {}", block.reason.as_str(), block.detail);
            self.withdraw_run(step, id, &why);
            return Ok(());
        }
        let Some(run) = self.automation.runs.live.remove(&id) else { return Ok(()) };
        self.forget_deadline(&run);
        self.launch(step, run);
        Ok(())
    }

    /// Ends a run that asked, since nobody may say yes any more.
    pub(crate) fn withdraw_run(&mut self, step: &mut Step, id: RunId, why: &str) {
        if let Some(run) = self.automation.runs.live.get_mut(&id) {
            run.why = Text::cut(why);
        }
        self.refuse_run(step, id, RunState::Withdrawn);
    }

    /// Ends a run that asked.
    pub(crate) fn refuse_run(&mut self, step: &mut Step, id: RunId, state: RunState) {
        let Some(run) = self.automation.runs.live.remove(&id) else { return };
        self.forget_deadline(&run);
        let refused = matches!(state, RunState::Rejected | RunState::Expired);
        if let Some(target) = run.target.as_ref().filter(|_| refused) {
            let key = (run.title.clone(), target.clone());
            if let Some(instance) = self.automation.runs.instances.get_mut(&key) {
                instance.refused = Some(step.stamp.at);
            }
        }
        self.end_run(step, run, state);
    }

    fn forget_deadline(&mut self, run: &Run) {
        if let Some(until) = run.answer_by {
            self.automation.runs.due.remove(&(until, Due::Run(run.id)));
        }
    }

    /// Calls a run off; what its steps have done stays done.
    pub(crate) fn cancel_run(
        &mut self,
        step: &mut Step,
        command: &CancelRun,
    ) -> Result<Answer, Refusal> {
        let run = self.require_run(command.run)?;
        if run.state.is_ended() {
            return Err(Refusal::RunState { run: run.id, state: run.state });
        }
        let Some(mut run) = self.automation.runs.live.remove(&command.run) else {
            return Ok(Answer::Done);
        };
        self.forget_deadline(&run);
        run.why = command.reason.clone();
        for record in &mut run.steps {
            if matches!(record.state, StepState::Running | StepState::Waiting) {
                record.state = StepState::Skipped;
                record.ended = Some(step.stamp);
            }
        }
        self.end_run(step, run, RunState::Cancelled);
        Ok(Answer::Run { run: command.run })
    }

    /// Lets a run that has ended go on from a step. The steps before it are not taken again.
    pub(crate) fn resume_run(
        &mut self,
        step: &mut Step,
        command: &ResumeRun,
    ) -> Result<Answer, Refusal> {
        let run = self.require_run(command.run)?;
        let resumable =
            matches!(run.state, RunState::Failed | RunState::Unknown | RunState::Cancelled);
        if !resumable || run.started.is_none() {
            return Err(Refusal::RunState { run: run.id, state: run.state });
        }
        let count = u64::try_from(run.steps.len()).unwrap_or(u64::MAX);
        let open = run.steps.iter().position(|record| record.state != StepState::Done);
        let open = open.and_then(|open| u32::try_from(open).ok()).unwrap_or(run.cursor);
        let from = command.from.unwrap_or(open);
        check_range("from", u64::from(from), 0, count.saturating_sub(1))?;
        self.check_room_for_run()?;
        let Some(mut run) = self.automation.runs.ended.remove(&command.run) else {
            return Ok(Answer::Done);
        };
        run.cursor = from;
        for record in run.steps.iter_mut().skip(usize::try_from(from).unwrap_or(usize::MAX)) {
            *record = StepRecord { attempts: record.attempts, ..StepRecord::default() };
        }
        run.ended = None;
        run.why = Text::default();
        self.launch(step, run);
        Ok(Answer::Run { run: command.run })
    }

    /// Forgets the failures and used-up limits of a fix.
    pub(crate) fn reset_fix(
        &mut self,
        step: &mut Step,
        command: &ResetFix,
    ) -> Result<Answer, Refusal> {
        self.automation.catalog.require(Noun::AutoFix, &command.title)?;
        let all = self.automation.runs.instances(&command.title);
        let named = all.filter(|(target, _)| {
            command.target.as_ref().is_none_or(|wanted| self.is_called(target, wanted))
        });
        let targets: Vec<Target> = named.map(|(target, _)| target.clone()).collect();
        if let Some(target) = command.target.as_ref().filter(|_| targets.is_empty()) {
            let param = Name::parse("target").expect("the word is a name");
            let why = "the fix knows no such target".into();
            return Err(Refusal::BadParam { param, value: target.as_str().into(), why });
        }
        if command.target.is_none() {
            self.automation.runs.starts.remove(&command.title);
            self.automation.runs.last_ends.remove(&command.title);
            self.automation.runs.storms.remove(&command.title);
        }
        for target in targets {
            let key = (command.title.clone(), target.clone());
            if let Some(instance) = self.automation.runs.instances.get_mut(&key) {
                instance.failures = 0;
                instance.tripped = None;
                instance.last_end = None;
                instance.refused = None;
                instance.starts.clear();
            }
            self.consider(step, &command.title, &target);
        }
        Ok(Answer::Done)
    }

    fn is_called(&self, target: &Target, wanted: &Text) -> bool {
        let number = match target {
            Target::Worker(worker) => Some(worker.0),
            Target::Job(JobId(job)) => Some(*job),
            Target::Role(_) | Target::Queue(_) => None,
        };
        self.name_of(target) == *wanted
            || number.is_some_and(|number| wanted.as_str().parse() == Ok(number))
    }

    pub(crate) fn require_run(&self, id: RunId) -> Result<&Run, Refusal> {
        let missing = || Refusal::NotFound { kind: Kind::Run, name: format!("{id}").into() };
        self.automation.runs.get(id).ok_or_else(missing)
    }
}

impl Run {
    /// Returns the step under way.
    #[must_use]
    pub fn current(&self) -> Option<&StepRecord> {
        self.steps.get(usize::try_from(self.cursor).ok()?)
    }
}

impl Plan {
    /// Returns the plan's hash: 16 hexadecimal digits.
    #[must_use]
    pub fn hash(&self) -> Text {
        let bytes = minicbor::to_vec(self).expect("writing to memory does not fail");
        let digest = Sha256::digest(bytes);
        let mut text = String::with_capacity(16);
        for byte in &digest[..8] {
            write!(text, "{byte:02x}").expect("writing to memory does not fail");
        }
        Text::cut(&text)
    }
}

fn prepare(run: &mut Run) {
    run.plan_hash = run.plan.hash();
    run.steps = run.plan.steps.iter().map(|_| StepRecord::default()).collect();
}

fn target_of(kind: TargetKind, params: &Params) -> Option<Target> {
    match kind {
        TargetKind::Role => params.role.clone().map(Target::Role),
        TargetKind::Worker => params.worker.map(Target::Worker),
        TargetKind::Queue => params.queue.clone().map(Target::Queue),
        TargetKind::Job => params.job.map(Target::Job),
    }
}

fn nobody() -> Name {
    Name::parse("nobody").expect("the word is a name")
}
