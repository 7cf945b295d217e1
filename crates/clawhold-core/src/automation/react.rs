//! What follows from the changes of an entry: fixes are looked at, runs go on, alerts turn.
//!
//! It goes on until nothing changes any more, in the same entry. A fix that brings its own
//! condition about again starts at most [`ROUNDS_MAX`] times for one target in one entry.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use super::Automation;
use crate::answer::{Answer, Granted, Refusal};
use crate::catalog::{Approval, AutoFix, Mode, Noun, Spec};
use crate::change::{Change, What};
use crate::command::{Believed, Command, Showed};
use crate::condition::{Condition, TargetKind, Truth};
use crate::limits;
use crate::role::{Promotion, Role};
use crate::run::{Due, Run, RunState, Target};
use crate::state::{State, Step};
use crate::units::{Name, RunId, Timestamp, Title};

/// Rounds of consequences in one entry, and starts of one fix for one target among them.
pub(crate) const ROUNDS_MAX: usize = 3;
/// Rounds in which runs go on and alerts turn.
const TURNS_MAX: usize = 64;
/// Milliseconds between two looks at what changes by time alone.
const SWEEP_MS: u64 = 1_000;

impl Automation {
    /// Tells whether nothing follows by itself from anything.
    fn is_idle(&self) -> bool {
        self.runs.live.is_empty()
            && self.alerts.live.is_empty()
            && self.catalog.first(Noun::AutoFix).is_none()
            && self.catalog.first(Noun::AlertRule).is_none()
    }

    /// Returns the earliest moment at which something is to be looked at.
    pub(crate) fn next_due(&self) -> Option<Timestamp> {
        self.runs.due.first().map(|(at, _)| *at)
    }

    /// Tells whether a lapse of this role's lease leaves it vacant, for a fix or a person to
    /// decide. Whether the condition of the fix holds is looked at once the role is vacant.
    #[must_use]
    pub fn withholds(&self, role: &Role) -> bool {
        match role.promotion {
            Promotion::Native => false,
            Promotion::Policy => true,
            Promotion::Auto => self.paused.is_none() && self.promoters().next().is_some(),
        }
    }

    /// Returns the fixes in force that may promote of themselves or after people agreed.
    pub(crate) fn promoters(&self) -> impl Iterator<Item = (&Title, &AutoFix)> {
        let fixes = self.catalog.list(Noun::AutoFix, None).filter(|known| known.enabled);
        fixes.filter_map(|known| {
            let Spec::AutoFix(fix) = &known.spec else { return None };
            fix.may_promote().then_some((&known.title, fix))
        })
    }
}

impl AutoFix {
    fn may_promote(&self) -> bool {
        self.mode == Mode::Act
            && self.approval != Approval::Never
            && self.condition.target() == TargetKind::Role
            && self.plan.promotes()
            && self.plan.is_complete()
    }
}

impl State {
    /// Looks at what is due by time.
    pub(crate) fn automation_due(&mut self, step: &mut Step) {
        for _ in 0..limits::DUE_PER_ENTRY_MAX {
            let first = self.automation.runs.due.first();
            let Some((at, due)) = first.filter(|(at, _)| *at <= step.stamp.at).cloned() else {
                return;
            };
            self.automation.runs.due.remove(&(at, due.clone()));
            match due {
                Due::Run(run) => self.run_due(step, run),
                Due::Fix(title, target) => self.consider(step, &title, &target),
                Due::Alert(rule, group) => self.alerts_due(step, &rule, &group),
                Due::Sweep => self.sweep(step),
                Due::Pause => self.end_pause(step),
            }
        }
    }

    /// Lets everything follow from the changes that were not looked at yet.
    pub(crate) fn react(&mut self, step: &mut Step) {
        if self.automation.is_idle() {
            step.seen = step.changes.len();
            return;
        }
        for turn in 0..TURNS_MAX {
            if step.seen == step.changes.len() {
                return;
            }
            let changes: Vec<Change> = step.changes[step.seen..].to_vec();
            step.seen = step.changes.len();
            let touched = self.touched(&changes);
            if turn < ROUNDS_MAX {
                self.look_at_fixes(step, &touched);
            }
            self.go_on(step, &touched);
            self.give_unclaimed(step, &touched);
            self.watch_alerts(step, &changes);
        }
    }

    /// Returns everything that the changes are about.
    pub(crate) fn touched(&self, changes: &[Change]) -> BTreeSet<Target> {
        let mut touched = BTreeSet::new();
        for change in changes {
            match &change.what {
                What::RoleGranted { role, .. }
                | What::RoleVacant { role }
                | What::Role { role }
                | What::Recorded { role, .. } => {
                    touched.insert(Target::Role(role.clone()));
                }
                What::Worker { session, .. } | What::Session { session } => {
                    touched.insert(Target::Worker(*session));
                }
                What::Job { job, queue, .. } => {
                    touched.insert(Target::Queue(queue.clone()));
                    touched.insert(Target::Job(*job));
                    let holder = self.jobs.job(*job).and_then(crate::job::Job::holder);
                    touched.extend(holder.map(Target::Worker));
                }
                What::Queue { queue } => {
                    touched.insert(Target::Queue(queue.clone()));
                }
                What::Server
                | What::Restored { .. }
                | What::Stream { .. }
                | What::Definition { .. }
                | What::Run { .. }
                | What::Alert { .. }
                | What::Message { .. }
                | What::Automation => {}
            }
        }
        touched
    }

    /// Looks at every fix that reads something touched, and at those whose condition held before:
    /// what a job leaves is not named by its change.
    fn look_at_fixes(&mut self, step: &mut Step, touched: &BTreeSet<Target>) {
        let fixes = self.automation.catalog.list(Noun::AutoFix, None);
        let fixes = fixes.filter(|known| known.enabled);
        let mut looks: Vec<(Title, Target)> = Vec::new();
        for known in fixes {
            let Spec::AutoFix(fix) = &known.spec else { continue };
            let kind = fix.condition.target();
            let near = touched.iter().filter(|target| target.kind() == kind);
            // What does not hold and was not known to hold needs no second look.
            let near = near.filter(|target| {
                !self.automation.runs.instances.is_empty()
                    || self.condition_holds(&fix.condition, target) == Truth::True
            });
            looks.extend(near.map(|target| (known.title.clone(), target.clone())));
        }
        let jobs_moved = touched.iter().any(|target| target.kind() == TargetKind::Job);
        for ((title, target), instance) in &self.automation.runs.instances {
            let holds = instance.since.is_some() && target.kind() == TargetKind::Worker;
            if jobs_moved && holds && !touched.contains(target) {
                looks.push((title.clone(), target.clone()));
            }
        }
        // Whoever matches is known before the first decision: many at once look like one cause.
        for (title, target) in &looks {
            self.note_holds(step, title, target);
        }
        for (title, target) in looks {
            self.consider(step, &title, &target);
        }
    }

    /// Lets the runs go on that wait for something touched.
    fn go_on(&mut self, step: &mut Step, touched: &BTreeSet<Target>) {
        let live = self.automation.runs.live.values();
        let waiting = live.filter(|run| run.state == RunState::Running);
        let near = waiting.filter(|run| self.waits_for(run, touched));
        let near: Vec<RunId> = near.map(|run| run.id).collect();
        for run in near {
            self.advance(step, run);
        }
    }

    fn waits_for(&self, run: &Run, touched: &BTreeSet<Target>) -> bool {
        let params = &run.params;
        touched.iter().any(|target| match target {
            Target::Role(role) => params.role.as_ref() == Some(role),
            Target::Worker(worker) => params.worker == Some(*worker),
            Target::Queue(queue) => self.queues_of(run).contains(queue),
            Target::Job(job) => {
                params.job == Some(*job) || run.steps.iter().any(|step| step.job == Some(*job))
            }
        })
    }

    /// Gives a role that lapsed to a standby at once if no fix is there for it after all.
    fn give_unclaimed(&mut self, step: &mut Step, touched: &BTreeSet<Target>) {
        if self.roles.withheld.is_empty() {
            return;
        }
        let roles = touched.iter().filter_map(|target| match target {
            Target::Role(role) => Some(role),
            Target::Worker(_) | Target::Queue(_) | Target::Job(_) => None,
        });
        let roles: Vec<Name> = roles.filter(|role| self.is_unclaimed(role)).cloned().collect();
        for role in roles {
            self.roles.promote(step, &self.streams, &role);
            let Some(known) = self.roles.by_name.get_mut(&role) else { continue };
            if known.held.is_none() {
                known.withheld = None;
                self.roles.withheld.remove(&role);
            }
        }
    }

    fn is_unclaimed(&self, name: &Name) -> bool {
        let role = self.roles.get(name).filter(|role| role.withheld.is_some());
        let Some(role) = role else { return false };
        match role.promotion {
            Promotion::Native => true,
            Promotion::Policy => false,
            Promotion::Auto => self.promoter_of(name).is_none(),
        }
    }

    /// Returns the fix in force whose condition holds for a role and that promotes for it.
    #[must_use]
    pub fn promoter_of(&self, role: &Name) -> Option<&Title> {
        if self.automation.paused.is_some() {
            return None;
        }
        let target = Target::Role(role.clone());
        let mut promoters = self.automation.promoters();
        let holds = |condition: &Condition| self.condition_holds(condition, &target) == Truth::True;
        promoters.find(|(_, fix)| holds(&fix.condition)).map(|(title, _)| title)
    }

    /// Looks again at every role that its policy keeps vacant.
    pub(crate) fn look_at_withheld(&mut self, step: &mut Step) {
        let roles: Vec<Name> = self.roles.withheld.iter().cloned().collect();
        for role in roles {
            step.note(What::Role { role });
        }
    }

    /// Answers one who stood in line and was promoted in the same entry.
    pub(crate) fn grant_withheld(&self, command: &Command, answer: &mut Result<Answer, Refusal>) {
        let (Command::Acquire(command), Ok(Answer::Withheld { .. })) = (command, &*answer) else {
            return;
        };
        let lease = self.roles.get(&command.role).and_then(|role| role.held.as_ref());
        let Some(lease) = lease else { return };
        let Granted { session: holder, token, .. } = lease.as_granted();
        *answer = Ok(if holder == command.session.id {
            Answer::Granted(lease.as_granted())
        } else {
            Answer::Waiting { holder, token }
        });
    }

    /// Notes that a write came under an overtaken token.
    pub(crate) fn notice_refusal(
        &mut self,
        step: &mut Step,
        command: &Command,
        answer: &Result<Answer, Refusal>,
    ) {
        let (Command::Commit(commit), Err(Refusal::StaleToken { presented, .. })) =
            (command, answer)
        else {
            return;
        };
        // Where nobody asks, nothing is kept: a log from before automation comes to one state.
        if self.automation.is_idle() {
            return;
        }
        let believed = Believed {
            session: commit.session.id,
            role: commit.role.clone(),
            token: *presented,
            showed: Showed::Write,
        };
        // The write was refused already; that it is noted changes nothing about that.
        let _ = self.believed(step, &believed);
    }

    /// Looks at everything that changes by time alone, and says when to look again.
    fn sweep(&mut self, step: &mut Step) {
        if !self.needs_sweep() {
            return;
        }
        self.automation.runs.due.insert((step.stamp.at.after(SWEEP_MS), Due::Sweep));
        let fixes = self.automation.catalog.list(Noun::AutoFix, None);
        let timed = fixes.filter(|known| known.enabled).filter_map(|known| {
            let Spec::AutoFix(fix) = &known.spec else { return None };
            let target = fix.condition.target();
            fix.condition.is_timed().then(|| (known.title.clone(), target))
        });
        let timed: Vec<(Title, TargetKind)> = timed.collect();
        for (title, kind) in timed {
            for target in self.targets(kind) {
                self.consider(step, &title, &target);
            }
        }
        self.sweep_alerts(step);
    }

    fn needs_sweep(&self) -> bool {
        let mut fixes = self.automation.catalog.list(Noun::AutoFix, None);
        let timed = fixes.any(|known| {
            let Spec::AutoFix(fix) = &known.spec else { return false };
            known.enabled && fix.condition.is_timed()
        });
        timed || self.alerts_need_sweep()
    }

    /// Begins to look at what changes by time alone, if something asks for it.
    pub(crate) fn begin_sweep(&mut self, step: &Step) {
        let waits = self.automation.runs.due.iter().any(|(_, due)| *due == Due::Sweep);
        if !waits && self.needs_sweep() {
            self.automation.runs.due.insert((step.stamp.at.after(SWEEP_MS), Due::Sweep));
        }
    }

    /// Returns everything of a kind, at most `TARGETS_MAX`.
    pub(crate) fn targets(&self, kind: TargetKind) -> Vec<Target> {
        let max = limits::TARGETS_MAX;
        match kind {
            TargetKind::Role => {
                let roles = self.roles.list(None).take(max);
                roles.map(|role| Target::Role(role.name.clone())).collect()
            }
            TargetKind::Worker => {
                let workers = self.sessions.list(None).filter(|one| !one.queues.is_empty());
                workers.take(max).map(|one| Target::Worker(one.id)).collect()
            }
            TargetKind::Queue => {
                let queues = self.jobs.queues(None).take(max);
                queues.map(|queue| Target::Queue(queue.name.clone())).collect()
            }
            TargetKind::Job => self.live_jobs(max),
        }
    }
}
