//! Clauses about workers and queues.

use alloc::vec::Vec;

use super::Row;
use crate::limits;
use crate::operation::Operation;
use crate::prose::slot::Marks;

pub(super) const ROWS: &[Row<Operation>] = &[
    // The worker gets no new job.
    Row {
        make: stop_intake,
        pattern: "(^stop|^keep|^prevent|^block) <worker> from <taking> <new-work> [<so-drain>]",
    },
    Row { make: stop_intake, pattern: "^stop <worker> <taking> <new-work> [<so-drain>]" },
    Row { make: stop_intake, pattern: "^stop <giving> <worker> <new-work>" },
    Row { make: stop_intake, pattern: "^stop <giving> <new-work> to <worker>" },
    Row { make: stop_intake, pattern: "^stop <taking> <new> (work|jobs) [on <the-worker>]" },
    Row {
        make: stop_intake,
        pattern: "(^give|^send|^hand|^assign) <worker> no <no-new> (work|jobs)",
    },
    Row { make: stop_intake, pattern: "(^send|^assign) no <no-new> (work|jobs) to <worker>" },
    Row { make: stop_intake, pattern: "^take no <no-new> (work|jobs)" },
    Row { make: stop_intake, pattern: "^stop <new> (work|jobs) (for|to) <worker>" },
    Row {
        make: stop_intake,
        pattern: "do not (give|send|hand|assign) (<worker> <new> (work|jobs)|<new> (work|jobs) to <worker>)",
    },
    Row { make: stop_intake, pattern: "do not let <worker> <take> <new> (work|jobs)" },
    Row { make: stop_intake, pattern: "^let <worker> <take> no <no-new> (work|jobs)" },
    Row {
        make: stop_intake,
        pattern: "(^make sure|^ensure) [that] <worker> (takes|gets|accepts|claims) no <no-new> (work|jobs)",
    },
    Row {
        make: stop_intake,
        pattern: "(^stop|^pause|^disable|^close|^block|^turn off|^switch off|^cut off|^halt) \
            (<its> intake|[the] intake (of|on|for|at) <the-worker>)",
    },
    Row { make: stop_intake, pattern: "(^turn|^switch|^cut) <its> intake off" },
    Row { make: stop_intake, pattern: "^cut <worker> off from <new> (work|jobs)" },
    Row { make: stop_intake, pattern: "^cut off <the-worker> from <new> (work|jobs)" },
    Row { make: stop_intake, pattern: "^cordon <the-worker>" },
    // The worker gets jobs again.
    Row { make: resume_intake, pattern: "^let <worker> <take> [<new>] (work|jobs) [again]" },
    Row { make: resume_intake, pattern: "^allow <worker> to <take> [<new>] (work|jobs) [again]" },
    Row {
        make: resume_intake,
        pattern: "(^resume|^re-enable|^reenable|^enable|^reopen|^open|^restart|^turn on|^switch on) \
            (<its> intake|[the] intake (of|on|for|at) <the-worker>) [again]",
    },
    Row { make: resume_intake, pattern: "(^turn|^switch) <its> intake [back] on [again]" },
    Row {
        make: resume_intake,
        pattern: "(^resume|^start) <giving> <worker> [<new>] (work|jobs) [again]",
    },
    Row {
        make: resume_intake,
        pattern: "(^resume|^start) <giving> [<new>] (work|jobs) to <worker> [again]",
    },
    // Everything is taken from the worker.
    Row { make: stop_worker, pattern: "(^stop|^halt) <the-worker> [<at-once>]" },
    Row { make: stop_intake, pattern: "^take <the-worker> out of (service|rotation)" },
    // Both, in order.
    Row { make: drain, pattern: "^drain <worker> [<within>]" },
    // Queues.
    Row { make: pause_queue, pattern: "(^pause|^suspend|^freeze) <queue>" },
    Row { make: pause_queue, pattern: "(^stop|^pause) handing out jobs [<on-queue>]" },
    Row { make: resume_queue, pattern: "(^resume|^unpause|^continue|^restart) <queue>" },
    Row { make: resume_queue, pattern: "(^resume|^start) handing out jobs [<on-queue>] [again]" },
    Row { make: pause_new, pattern: "(^pause|^hold|^hold back|^block) <really-new> [<on-queue>]" },
    Row { make: pause_new, pattern: "^hold <really-new> back [<on-queue>]" },
    Row {
        make: pause_new,
        pattern: "(^stop|^pause) (admitting|letting in) <really-new> [<on-queue>]",
    },
    Row { make: pause_new, pattern: "^close the gate [for <really-new>] [<on-queue>]" },
    Row {
        make: admit_new,
        pattern: "(^admit|^re-admit|^readmit|^let in|^accept) <really-new> [<on-queue>] [again]",
    },
    Row {
        make: admit_new,
        pattern: "(^start|^resume|^restart) (admitting|accepting|letting in) <really-new> [<on-queue>] [again]",
    },
    Row { make: admit_new, pattern: "^allow <really-new> [in] [<on-queue>] [again]" },
    Row { make: admit_new, pattern: "^let <really-new> (in|through|flow) [<on-queue>] [again]" },
    Row { make: admit_new, pattern: "(^resume|^unpause) <really-new> [<on-queue>]" },
    Row {
        make: admit_new,
        pattern: "(^open|^reopen) the gate [for <really-new>] [<on-queue>] [again]",
    },
];

/// Phrases that only these rows use.
pub(in crate::prose) const PHRASES: &[(&str, &str)] = &[
    ("taking", "taking [on]|accepting|claiming|getting|receiving|picking up|starting|being given"),
    ("take", "take [on]|accept|claim|get|receive|pick up|start"),
    ("giving", "giving|sending|assigning|handing"),
    ("no-new", "new|more|further|additional"),
    ("so-drain", "[,] so [that] it can (drain|leave|stop|finish)"),
];

fn stop_intake(marks: Marks<'_>) -> Vec<Operation> {
    Vec::from([Operation::StopIntake { worker: marks.subject("worker") }])
}

fn resume_intake(marks: Marks<'_>) -> Vec<Operation> {
    Vec::from([Operation::ResumeIntake { worker: marks.subject("worker") }])
}

fn stop_worker(marks: Marks<'_>) -> Vec<Operation> {
    Vec::from([Operation::StopWorker { worker: marks.subject("worker") }])
}

fn drain(marks: Marks<'_>) -> Vec<Operation> {
    let worker = marks.subject("worker");
    let within_ms = marks.span_ms().unwrap_or(limits::DRAIN_MS_DEFAULT);
    Vec::from([
        Operation::StopIntake { worker: worker.clone() },
        Operation::ReturnHeld { worker, within_ms },
    ])
}

fn pause_queue(marks: Marks<'_>) -> Vec<Operation> {
    Vec::from([Operation::PauseQueue { queue: marks.subject("queue") }])
}

fn resume_queue(marks: Marks<'_>) -> Vec<Operation> {
    Vec::from([Operation::ResumeQueue { queue: marks.subject("queue") }])
}

fn pause_new(marks: Marks<'_>) -> Vec<Operation> {
    Vec::from([Operation::PauseNew { queue: marks.subject("queue") }])
}

fn admit_new(marks: Marks<'_>) -> Vec<Operation> {
    Vec::from([Operation::AdmitNew { queue: marks.subject("queue") }])
}
