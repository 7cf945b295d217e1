//! Facts that a step confirms, as they stand after "confirm that" and after "once".

use alloc::vec::Vec;

use super::Row;
use crate::operation::{Check, Operation};
use crate::prose::slot::Marks;

/// The facts.
pub(in crate::prose) const FACTS: &[Row<Operation>] = &[
    Row {
        make: one_owner,
        pattern: "<each-job> (has|have) [exactly|only|just] one owner [<each-own>]",
    },
    Row { make: one_owner, pattern: "<each-job> (has|have) one owner and only one" },
    Row { make: one_owner, pattern: "<each-job> (is|are) owned by (exactly|only|just) one worker" },
    Row { make: one_owner, pattern: "no job (has|got) (two|more than one) (owners|owner)" },
    Row { make: one_owner, pattern: "(exactly|only|just) one worker (owns|holds) <each-job>" },
    Row {
        make: placed,
        pattern: "<every> [of] [the] returned <jobs> (is|are|has been|have been) placed",
    },
    Row { make: placed, pattern: "(they|all of them) (are|have been) placed" },
    Row { make: queue_owns, pattern: "(the|its|their|a) queue owns <each-held>" },
    Row {
        make: queue_owns,
        pattern: "<each-held> (is|are) [back] (owned by|in|with) (the|its|their) queue [again]",
    },
    Row { make: queue_owns, pattern: "(the|its) queue (has|holds) <each-held> [back|again]" },
    Row { make: no_held, pattern: "<worker> holds (nothing|no job|no jobs) [any more]" },
    Row { make: no_held, pattern: "<worker> has no (held jobs|held job|jobs|job) [left]" },
    Row { make: no_held, pattern: "no (job is|jobs are) [still] held by <worker>" },
    Row {
        make: not_renewed,
        pattern: "<lease> is (not|no longer) [being] renewed [any more|by anyone]",
    },
    Row { make: not_renewed, pattern: "<lease> (has|is) expired" },
    Row { make: not_renewed, pattern: "<lease> is over" },
    Row { make: not_renewed, pattern: "(nobody|no one|no worker) (renews|is renewing) <lease>" },
    Row {
        make: not_renewed,
        pattern: "(<leader>|<old-leader>) (has stopped|stopped|is not|is no longer) renewing (it|<lease>)",
    },
    Row { make: stopped, pattern: "<old-leader> [<of-role>] (has|is) stopped [acting]" },
    Row {
        make: stopped,
        pattern: "<old-leader> [<of-role>] (stopped acting|is not acting [any more])",
    },
    Row { make: stopped, pattern: "<old-leader> [<of-role>] (no longer acts|is no longer acting)" },
];

/// Phrases that only these rows use.
pub(in crate::prose) const PHRASES: &[(&str, &str)] = &[
    (
        "each-job",
        "<every> [of] [the] [returned] <jobs>|[the] returned jobs|each [one|of them]|they",
    ),
    ("each-own", "each"),
    (
        "each-held",
        "each [one] [of them]|every one [of them]|all of them|them [all]\
         |<every> [of] [the] [returned|held] <jobs>|every job it held",
    ),
];

fn one_owner(marks: Marks<'_>) -> Vec<Operation> {
    Vec::from([Operation::Check(Check::OneOwner { queue: marks.subject("queue") })])
}

/// A job that is placed has an owner.
fn placed(marks: Marks<'_>) -> Vec<Operation> {
    one_owner(marks)
}

fn queue_owns(marks: Marks<'_>) -> Vec<Operation> {
    Vec::from([Operation::Check(Check::QueueOwns { worker: marks.subject("worker") })])
}

fn no_held(marks: Marks<'_>) -> Vec<Operation> {
    Vec::from([Operation::Check(Check::NoHeld { worker: marks.subject("worker") })])
}

fn not_renewed(marks: Marks<'_>) -> Vec<Operation> {
    Vec::from([Operation::Check(Check::NotRenewed { role: marks.subject("role") })])
}

fn stopped(marks: Marks<'_>) -> Vec<Operation> {
    Vec::from([Operation::Check(Check::StoppedActing { role: marks.subject("role") })])
}
