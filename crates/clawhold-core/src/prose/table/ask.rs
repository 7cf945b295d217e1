//! Clauses that tell, wait, or call somebody.

use alloc::vec::Vec;

use super::Row;
use crate::operation::{Operation, Show};
use crate::prose::slot::Marks;

pub(super) const ROWS: &[Row<Operation>] = &[
    Row { make: notify, pattern: "(^notify|^alert|^message|^page|^inform) {channel}" },
    Row { make: notify, pattern: "(^tell|^notify|^inform) {channel} (that|:) {message}" },
    Row { make: notify, pattern: "(^tell|^send|^notify) {channel} {quote}" },
    Row { make: notify, pattern: "(^send|^post) {quote} to {channel}" },
    Row { make: notify, pattern: "^send (a message|a note|word) to {channel}" },
    Row { make: wait_for, pattern: "^wait [for] {span}" },
    Row { make: wait_for, pattern: "(^pause|^sleep) for {span}" },
    Row { make: webhook, pattern: "^call [the] webhook {channel}" },
];

/// What may stand after "show".
pub(in crate::prose) const VIEWS: &[Row<Operation>] = &[
    Row { make: holder, pattern: "(which worker|who) <now> <leads> [<so-read>]" },
    Row { make: holder, pattern: "who (the|its) [current|active] (leader|holder|lease holder) is" },
    Row { make: holder, pattern: "when (the lease|it) [<of-role>] (expires|ends) [<so-read>]" },
    Row {
        make: holder,
        pattern: "[the|its] [current|latest] [fencing] token [value] [<of-role>] [<so-read>]",
    },
    Row { make: holder, pattern: "[the|its] [lease] (expiry|expiration) [<of-role>] [<so-read>]" },
    Row { make: holder, pattern: "<leader> [<of-role>|of each role|of every role] [<so-read>]" },
    Row { make: holder, pattern: "(the|all|every) (lease|leases) [<of-role>]" },
    Row { make: held, pattern: "[the|all|all the] held jobs [<held-by>]" },
    Row { make: held, pattern: "(the|which|all|what) jobs <it-holds>" },
    Row { make: held, pattern: "(the|which) jobs (that are|are) held" },
    Row { make: held, pattern: "what <worker> holds" },
    Row { make: workers, pattern: "[the|all|all the] workers" },
    Row { make: workers, pattern: "(who|which workers) (works|work) [on what]" },
    Row { make: workers, pattern: "which workers are leaving" },
    Row {
        make: lag,
        pattern: "(the|all|every) (standby|standbys) lag|[the] standby lag [<of-role>]",
    },
    Row {
        make: lag,
        pattern: "how far [behind] the (standby is|standbys are) [behind] [<of-role>]",
    },
    Row { make: queue, pattern: "<queue>|[the|all] queues|the (depth|backlog|length) of <queue>" },
    Row { make: queue, pattern: "how many jobs (wait|are waiting|are queued) [<on-queue>]" },
    Row { make: failed, pattern: "[the|all|all the] (failed|dead) jobs [<on-queue>]" },
    Row { make: failed, pattern: "(which|the) jobs [that] failed [for good] [<on-queue>]" },
    Row { make: alerts, pattern: "[the|all] [firing|active|open] alerts|what is firing" },
    Row { make: alerts, pattern: "(which|what) alerts are (firing|active|open)" },
    Row { make: runs, pattern: "[the] [last|latest|recent] runs|what (runs|is running) [now]" },
];

/// What may be asked for with a question mark, where nothing but views may stand.
pub(in crate::prose) const QUESTIONS: &[Row<Operation>] = &[
    Row { make: holder, pattern: "(which worker|who) <now> <leads>" },
    Row { make: holder, pattern: "when does the lease [<of-role>] (expire|end)" },
    Row { make: held, pattern: "(which|what) jobs does <worker> hold" },
    Row { make: held, pattern: "what does <worker> hold" },
    Row { make: workers, pattern: "(who works|which workers work) [on what]" },
    Row { make: workers, pattern: "which workers are leaving" },
    Row { make: lag, pattern: "how far [behind] are the standbys [behind] [<of-role>]" },
    Row { make: queue, pattern: "how many jobs (wait|are waiting|are queued) [<on-queue>]" },
    Row { make: failed, pattern: "which jobs failed [for good] [<on-queue>]" },
    Row { make: alerts, pattern: "what is firing|which alerts are (firing|active|open)" },
    Row { make: runs, pattern: "what is running" },
];

/// Phrases that only these rows use.
pub(in crate::prose) const PHRASES: &[(&str, &str)] = &[
    ("now", "[currently|now]"),
    (
        "leads",
        "(holds|has) (the lease [<of-role>]|leadership [<of-role>]|the role [{role}]|each role|every role|role {role})\
         |leads [the] [role [{role}]]|is [the] [current|active] (leader|holder) [<of-role>]",
    ),
    (
        "so-read",
        "[,] so [that] (a|the) (handoff|hand-off|handover) can be (read|followed|understood) \
         without guessing who is (active|the leader|leading)",
    ),
];

fn notify(marks: Marks<'_>) -> Vec<Operation> {
    let text = marks.text("message").or_else(|| marks.text("quote"));
    let channel = marks.title("channel");
    Vec::from([Operation::Notify { channel, text }])
}

fn wait_for(marks: Marks<'_>) -> Vec<Operation> {
    Vec::from([Operation::WaitFor { ms: marks.span_ms().unwrap_or_default() }])
}

fn webhook(marks: Marks<'_>) -> Vec<Operation> {
    let channel = marks.title("channel");
    channel.map(|channel| Operation::Webhook { channel }).into_iter().collect()
}

fn holder(marks: Marks<'_>) -> Vec<Operation> {
    Vec::from([Operation::Show(Show::Holder { role: marks.subject("role") })])
}

fn held(marks: Marks<'_>) -> Vec<Operation> {
    Vec::from([Operation::Show(Show::Held { worker: marks.subject("worker") })])
}

fn workers(_: Marks<'_>) -> Vec<Operation> {
    Vec::from([Operation::Show(Show::Workers)])
}

fn lag(marks: Marks<'_>) -> Vec<Operation> {
    Vec::from([Operation::Show(Show::Lag { role: marks.subject("role") })])
}

fn queue(marks: Marks<'_>) -> Vec<Operation> {
    Vec::from([Operation::Show(Show::Queue { queue: marks.subject("queue") })])
}

fn failed(marks: Marks<'_>) -> Vec<Operation> {
    Vec::from([Operation::Show(Show::Failed { queue: marks.subject("queue") })])
}

fn alerts(_: Marks<'_>) -> Vec<Operation> {
    Vec::from([Operation::Show(Show::Alerts)])
}

fn runs(_: Marks<'_>) -> Vec<Operation> {
    Vec::from([Operation::Show(Show::Runs)])
}
