//! What a fix would have done in what has happened: the log applied to a copy of the state, with
//! the fix in force as it is now. Nothing leaves the copy.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use crate::catalog::{Approval, AutoFix, Definition, Mode, Noun, Spec};
use crate::command::{Automate, Command, Request};
use crate::operation::Operation;
use crate::run::{Decision, Reason};
use crate::state::State;
use crate::units::{Stamp, Title};

/// Decisions of a backtest that are named; the rest is counted.
const NAMED_MAX: usize = 50;

/// What a fix would have done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FixBacktest {
    /// Entries that were applied.
    pub entries: u64,
    /// Entries after which a target of the fix was looked at.
    pub touched: u64,
    /// How often each decision was made; repeats of one about one target count once.
    pub decided: BTreeMap<Reason, u64>,
    /// The first of them.
    pub first: Vec<Decision>,
}

/// Applies what followed a state and tells what a fix would have done in it.
///
/// The fix acts in the copy, so that what follows from its acts is seen; steps that ask somebody
/// else, wait or confirm are left out, and where people are asked they are taken to agree.
///
/// # Panics
/// When the entries do not follow the state without a hole.
#[must_use]
pub fn backtest(
    mut state: State,
    title: &Title,
    fix: &AutoFix,
    entries: impl Iterator<Item = (Stamp, Request)>,
) -> FixBacktest {
    put_in_force(&mut state, title, fix);
    let kind = fix.condition.target();
    let mut test = FixBacktest::default();
    for (stamp, mut request) in entries {
        if redefines(&request.command) {
            request.command = Command::Tick;
        }
        let applied = state.apply(stamp, &request);
        test.entries += 1;
        let touched = state.touched(&applied.changes);
        test.touched += u64::from(touched.iter().any(|target| target.kind() == kind));
        let decisions = state.automation.runs.decisions.iter().rev();
        let fresh = decisions.take_while(|one| one.last.position == stamp.position);
        let fresh = fresh.filter(|one| one.title == *title && one.count == 1);
        let mut fresh: Vec<Decision> = fresh.cloned().collect();
        fresh.reverse();
        for decision in fresh {
            *test.decided.entry(decision.reason).or_default() += 1;
            if test.first.len() < NAMED_MAX {
                test.first.push(decision);
            }
        }
    }
    test
}

/// Puts the fix in force in the place of every other.
fn put_in_force(state: &mut State, title: &Title, fix: &AutoFix) {
    let mut fix = fix.clone();
    fix.plan.steps.retain(|step| acts_here(&step.operation));
    fix.mode = Mode::Act;
    fix.approval = Approval::Auto;
    let definition = Definition {
        title: title.clone(),
        enabled: true,
        version: 1,
        spec: Spec::AutoFix(fix),
        created: state.last(),
        changed: state.last(),
        versions: VecDeque::new(),
    };
    let catalog = &mut state.automation.catalog.by_title;
    catalog.retain(|(noun, _), _| *noun != Noun::AutoFix);
    catalog.insert((Noun::AutoFix, title.clone()), definition);
    state.automation.runs =
        crate::run::Runs { latest: state.automation.runs.latest, ..crate::run::Runs::default() };
}

fn acts_here(operation: &Operation) -> bool {
    !matches!(
        operation,
        Operation::Check(_)
            | Operation::Confirm
            | Operation::AgentJob { .. }
            | Operation::Webhook { .. }
            | Operation::WaitFor { .. }
            | Operation::WaitUntil(_)
    )
}

/// Tells whether a command would change fixes or start runs: only the one that is tried counts.
fn redefines(command: &Command) -> bool {
    let Command::Automate(automate) = command else { return false };
    match &**automate {
        Automate::Define(define) => define.spec.noun() == Noun::AutoFix,
        Automate::RemoveDefinition(remove) => remove.noun == Noun::AutoFix,
        Automate::EnableDefinition(enable) => enable.noun == Noun::AutoFix,
        Automate::RevertDefinition(revert) => revert.noun == Noun::AutoFix,
        Automate::Import(_)
        | Automate::StartRun(_)
        | Automate::CancelRun(_)
        | Automate::ResumeRun(_)
        | Automate::Decide(_)
        | Automate::Witness(_)
        | Automate::ResetFix(_) => true,
        Automate::AppendMessage(_)
        | Automate::Believed(_)
        | Automate::PauseAutomation(_)
        | Automate::UnpauseAutomation
        | Automate::AckAlert(_)
        | Automate::AddSilence(_)
        | Automate::ExpireSilence(_)
        | Automate::Sending(_)
        | Automate::RecordSent(_)
        | Automate::RetryDelivery(_)
        | Automate::ReadInbox(_)
        | Automate::Post(_) => false,
    }
}
