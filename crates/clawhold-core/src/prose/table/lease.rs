//! Clauses about roles, leases and streams.

use alloc::vec::Vec;

use super::Row;
use crate::operation::Operation;
use crate::prose::slot::Marks;

pub(super) const ROWS: &[Row<Operation>] = &[
    Row {
        make: promote,
        pattern: "^promote <standby> [<of-role>] [to leader|to [be] [the] [active|new] leader|as [the] [new] leader] [<by-lease>]",
    },
    Row { make: promote, pattern: "^make <standby> [<of-role>] (the|its) [new|active] leader" },
    Row { make: promote, pattern: "^turn <standby> [<of-role>] into the [new|active] leader" },
    Row { make: promote, pattern: "^fail over to <standby> [<of-role>] [<by-lease>]" },
    Row { make: promote, pattern: "^let <standby> take over [leadership|the lease|the role]" },
    Row { make: promote, pattern: "^give <lease> to <standby> [<token>]" },
    Row { make: acquire, pattern: "^promote [the] standby {worker} [<by-lease>]" },
    Row {
        make: acquire,
        pattern: "(^acquire|^take|^get) <lease> [<token>] [<for-worker>] [<token>]",
    },
    Row { make: acquire, pattern: "^take over [leadership|<lease>] [<token>]" },
    Row { make: acquire, pattern: "^take <lease> over [<token>]" },
    Row { make: acquire, pattern: "^give <lease> to <named-worker> [<token>]" },
    Row { make: release, pattern: "(^release|^end) <lease> [<at-once>]" },
    Row { make: release, pattern: "^give up (<lease>|leadership)" },
    Row { make: release, pattern: "^give <lease> up" },
    Row { make: release, pattern: "^release leadership [<of-role>]" },
    Row {
        make: hand_over,
        pattern: "^hand (over|off) (leadership [<of-role>]|<lease>|the role [{role}]) [to <standby>]",
    },
    Row {
        make: hand_over,
        pattern: "^hand (leadership [<of-role>]|<lease>|the role [{role}]) (over|off) [to <standby>]",
    },
    Row {
        make: hand_over,
        pattern: "(^transfer|^pass) (leadership [<of-role>]|<lease>) [over|on] to <standby>",
    },
    Row {
        make: resume,
        pattern: "(^resume|^continue|^restart|^carry on|^go on|^pick up|^start again) \
            [<processing>] <from-position> [<nothing-lost>]",
    },
    Row {
        make: resume,
        pattern: "^replay [the stream|the events|<processing>] <from-position> [<nothing-lost>]",
    },
];

/// Phrases that only these rows use.
pub(in crate::prose) const PHRASES: &[(&str, &str)] = &[
    ("by-lease", "[by (acquiring|taking|getting) <lease>] [<token>]"),
    ("for-worker", "for [the] worker {worker}"),
    ("named-worker", "[the] worker {worker}"),
    ("processing", "processing|work|the work|the stream [<of-role>]|reading|the role [{role}]"),
    (
        "from-position",
        "(from|at) [the|its] [<recorded>] (position|checkpoint) [<of-role>]\
         |[from] where (it|<old-leader>) (left off|stopped)",
    ),
];

fn promote(marks: Marks<'_>) -> Vec<Operation> {
    Vec::from([Operation::PromoteStandby { role: marks.subject("role") }])
}

fn acquire(marks: Marks<'_>) -> Vec<Operation> {
    let (role, worker) = (marks.subject("role"), marks.text("worker"));
    Vec::from([Operation::Acquire { role, worker }])
}

fn release(marks: Marks<'_>) -> Vec<Operation> {
    Vec::from([Operation::Release { role: marks.subject("role") }])
}

fn hand_over(marks: Marks<'_>) -> Vec<Operation> {
    Vec::from([Operation::HandOver { role: marks.subject("role") }])
}

fn resume(marks: Marks<'_>) -> Vec<Operation> {
    Vec::from([Operation::ResumeStream { role: marks.subject("role") }])
}
