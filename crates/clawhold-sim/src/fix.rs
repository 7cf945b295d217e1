//! The fix that promotes a standby when a lease has lapsed, as an operator defines it.

use clawhold_core::catalog::{Approval, AutoFix, Cooldown, Mode, Spec};
use clawhold_core::command::{Define, Expect};
use clawhold_core::condition::Condition;
use clawhold_core::operation::{OnFail, Operation, Plan, PlannedStep, Reading, Subject};
use clawhold_core::units::{Prose, Text, Title};

/// Returns the definition. It has no limit on its runs: a limit may keep a role vacant for good.
pub(crate) fn promote_standby() -> Define {
    let operations = [
        Operation::PromoteStandby { role: Subject::Run },
        Operation::ResumeStream { role: Subject::Run },
    ];
    let title = Title::parse("Promote Standby").expect("it is a title");
    let condition = Condition::parse("lease.expired == true").expect("it is a condition");
    let spec = Spec::AutoFix(AutoFix {
        condition,
        action: Prose::default(),
        plan: Plan { table: 1, steps: operations.into_iter().map(step).collect() },
        approval: Approval::Auto,
        approval_ms: 1_800_000,
        four_eyes: false,
        mode: Mode::Act,
        notify: Vec::new(),
        max_runs: Vec::new(),
        cooldown: Cooldown::default(),
    });
    Define { title, spec, expect: Expect::Any, enabled: None }
}

fn step(operation: Operation) -> PlannedStep {
    PlannedStep {
        sentence: Text::cut(operation.name()),
        operation,
        reading: Reading::Understood,
        timeout_ms: None,
        on_fail: OnFail::Stop,
    }
}
