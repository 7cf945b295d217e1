//! Clauses about jobs: held ones, returned ones, single ones.

use alloc::vec::Vec;

use super::Row;
use crate::limits;
use crate::operation::Operation;
use crate::prose::slot::Marks;

pub(super) const ROWS: &[Row<Operation>] = &[
    Row { make: return_held, pattern: "(^hand|^give|^send) <held> back <manner>" },
    Row { make: return_held, pattern: "(^hand|^give|^send) back <held> <manner>" },
    Row { make: return_held, pattern: "(^return|^requeue|^re-queue) <held> <manner>" },
    Row { make: return_held, pattern: "(^put|^transfer|^move|^send) <held> back <manner>" },
    Row { make: return_held, pattern: "(^put|^transfer|^move) <held> [back] <to-queue> <manner>" },
    Row {
        make: return_held,
        pattern: "(^let|have) <worker> ((hand|give) back <held>|(hand|give) <held> back|return <held>) <manner>",
    },
    Row { make: drain_held, pattern: "^drain <held> [<to-queue>] [<within>]" },
    Row { make: rehome_held, pattern: "(^transfer|^move|^rehome) <held> <to-others>" },
    Row { make: place, pattern: "<placing> <returned> [<to-others>] [<first>] [<so-first>]" },
    Row { make: place, pattern: "^hand out <returned> [again] [<to-others>] [<first>]" },
    Row { make: place, pattern: "(^find|^get) (a|an|another|a new) (worker|owner) for <returned>" },
    Row { make: place, pattern: "^give <returned> (a|a new|another) (owner|worker)" },
    Row {
        make: place,
        pattern: "^wait until <every> [of] [the] returned <jobs> (has|have) (an|a new) owner",
    },
    Row {
        make: place,
        pattern: "^wait until (<every> [of] [the] returned <jobs>|they) (is|are) [all] placed",
    },
    Row { make: retry, pattern: "(^retry|^rerun|^re-run) <job> [<at-once>]" },
    Row { make: dead_letter, pattern: "^dead-letter <job>" },
    Row {
        make: dead_letter,
        pattern: "(^move|^send|^put) <job> (to|into|in|among) the (dead letters|dead-letter queue|dead letter queue)",
    },
    Row { make: cancel, pattern: "^cancel <job>" },
    Row { make: cancel, pattern: "^call off <job>" },
    Row { make: cancel, pattern: "^call <job> off" },
];

/// Phrases that only these rows use.
pub(in crate::prose) const PHRASES: &[(&str, &str)] = &[
    ("to-queue", "(to|in|into|onto|on) <its-queue>"),
    (
        "manner",
        "[<to-queue>] [<within>] [before <worker> <leaves>] [<within>] [<at-once>] [<so-placed>]",
    ),
    (
        "to-others",
        "(with|on|to|onto|among) (another worker|other workers|the other workers|a new worker\
         |new workers|the remaining workers|a worker|workers)",
    ),
    ("first", "first|(before|ahead of) <really-new> [(is|are) admitted]"),
    ("placing", "^place|^assign|^reassign|^rehome|^dispatch|^redistribute|^deliver"),
];

fn return_held(marks: Marks<'_>) -> Vec<Operation> {
    let within_ms = marks.span_ms().unwrap_or(limits::HAND_BACK_MS_DEFAULT);
    Vec::from([Operation::ReturnHeld { worker: marks.subject("worker"), within_ms }])
}

fn drain_held(marks: Marks<'_>) -> Vec<Operation> {
    let within_ms = marks.span_ms().unwrap_or(limits::DRAIN_MS_DEFAULT);
    Vec::from([Operation::ReturnHeld { worker: marks.subject("worker"), within_ms }])
}

fn rehome_held(marks: Marks<'_>) -> Vec<Operation> {
    let mut operations = return_held(marks);
    operations.extend(place(marks));
    operations
}

fn place(marks: Marks<'_>) -> Vec<Operation> {
    Vec::from([Operation::PlaceReturned { queue: marks.subject("queue") }])
}

fn retry(marks: Marks<'_>) -> Vec<Operation> {
    Vec::from([Operation::RetryJob { job: marks.subject("job") }])
}

fn dead_letter(marks: Marks<'_>) -> Vec<Operation> {
    Vec::from([Operation::DeadLetter { job: marks.subject("job") }])
}

fn cancel(marks: Marks<'_>) -> Vec<Operation> {
    Vec::from([Operation::CancelJob { job: marks.subject("job") }])
}
