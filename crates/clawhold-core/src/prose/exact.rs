//! The exact form of a step: `job.return_held worker=trigger.worker within=10s timeout=1m`.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use super::line::{ExactTrouble, Line, Shortest};
use super::near;
use crate::condition::Condition;
use crate::limits;
use crate::operation::{Check, Operation, PlannedStep, Reading, Show};
use crate::units::Text;

/// Each operation with its own arguments.
pub(super) const OPERATIONS: &[(&str, &[&str])] = &[
    ("lease.promote_standby", &["role"]),
    ("lease.acquire", &["role", "worker"]),
    ("lease.release", &["role"]),
    ("lease.hand_over", &["role"]),
    ("stream.resume", &["role"]),
    ("worker.stop_intake", &["worker"]),
    ("worker.resume_intake", &["worker"]),
    ("worker.stop", &["worker"]),
    ("job.return_held", &["worker", "within"]),
    ("job.place_returned", &["queue"]),
    ("job.retry", &["job"]),
    ("job.dead_letter", &["job"]),
    ("job.cancel", &["job"]),
    ("queue.pause", &["queue"]),
    ("queue.resume", &["queue"]),
    ("queue.pause_new", &["queue"]),
    ("queue.admit_new", &["queue"]),
    ("check.one_owner", &["queue"]),
    ("check.queue_owns", &["worker"]),
    ("check.no_held", &["worker"]),
    ("check.not_renewed", &["role"]),
    ("check.stopped_acting", &["role"]),
    ("show.holder", &["role"]),
    ("show.held", &["worker"]),
    ("show.workers", &[]),
    ("show.lag", &["role"]),
    ("show.queue", &["queue"]),
    ("show.failed", &["queue"]),
    ("show.alerts", &[]),
    ("show.runs", &[]),
    ("notify.send", &["channel", "text"]),
    ("wait.for", &["time"]),
    ("wait.until", &["condition"]),
    ("manual.confirm", &["text"]),
    ("agent.job", &["agent", "text"]),
    ("webhook.call", &["channel"]),
];

/// Returns the step that a text in the exact form asks for. `condition` reads the condition of
/// `wait.until`.
///
/// # Errors
/// [`ExactTrouble`] names what is wrong, what is allowed and what may be meant.
pub fn exact(
    text: &str,
    condition: impl Fn(&str) -> Result<Condition, String>,
) -> Result<PlannedStep, ExactTrouble> {
    let line = Line::read(text)?;
    check_arguments(&line)?;
    let operation = match shown(&line)? {
        Some(show) => Operation::Show(show),
        None => operation(&line, condition)?,
    };
    // A step for a person or an agent says what is to be done; the text is its sentence.
    let is_said = matches!(operation, Operation::Confirm | Operation::AgentJob { .. });
    let said = if is_said { line.text("text")? } else { None };
    Ok(PlannedStep {
        operation,
        sentence: said.unwrap_or_else(|| Text::cut(text.trim())),
        reading: Reading::Exact,
        timeout_ms: line.span_ms("timeout", Shortest::One)?,
        on_fail: line.on_fail()?,
    })
}

fn check_arguments(line: &Line) -> Result<(), ExactTrouble> {
    let row = OPERATIONS.iter().find(|(name, _)| *name == line.name);
    let (_, own) = row.ok_or_else(|| {
        let near = near::meant(&line.name, OPERATIONS.iter().map(|(name, _)| *name));
        let near = near.map(ToOwned::to_owned);
        ExactTrouble::UnknownName { kind: "operation", name: line.name.clone(), near }
    })?;
    let known: Vec<&'static str> = own.iter().copied().chain(["timeout", "on_fail"]).collect();
    line.check(&known)
}

fn operation(
    line: &Line,
    condition: impl Fn(&str) -> Result<Condition, String>,
) -> Result<Operation, ExactTrouble> {
    let role = || line.subject("role");
    let worker = || line.subject("worker");
    let queue = || line.subject("queue");
    let job = || line.subject("job");
    Ok(match line.name.as_str() {
        "lease.promote_standby" => Operation::PromoteStandby { role: role()? },
        "lease.acquire" => Operation::Acquire { role: role()?, worker: line.name("worker")? },
        "lease.release" => Operation::Release { role: role()? },
        "lease.hand_over" => Operation::HandOver { role: role()? },
        "stream.resume" => Operation::ResumeStream { role: role()? },
        "worker.stop_intake" => Operation::StopIntake { worker: worker()? },
        "worker.resume_intake" => Operation::ResumeIntake { worker: worker()? },
        "worker.stop" => Operation::StopWorker { worker: worker()? },
        "job.return_held" => {
            let within_ms =
                line.span_ms("within", Shortest::Zero)?.unwrap_or(limits::HAND_BACK_MS_DEFAULT);
            Operation::ReturnHeld { worker: worker()?, within_ms }
        }
        "job.place_returned" => Operation::PlaceReturned { queue: queue()? },
        "job.retry" => Operation::RetryJob { job: job()? },
        "job.dead_letter" => Operation::DeadLetter { job: job()? },
        "job.cancel" => Operation::CancelJob { job: job()? },
        "queue.pause" => Operation::PauseQueue { queue: queue()? },
        "queue.resume" => Operation::ResumeQueue { queue: queue()? },
        "queue.pause_new" => Operation::PauseNew { queue: queue()? },
        "queue.admit_new" => Operation::AdmitNew { queue: queue()? },
        "check.one_owner" => Operation::Check(Check::OneOwner { queue: queue()? }),
        "check.queue_owns" => Operation::Check(Check::QueueOwns { worker: worker()? }),
        "check.no_held" => Operation::Check(Check::NoHeld { worker: worker()? }),
        "check.not_renewed" => Operation::Check(Check::NotRenewed { role: role()? }),
        "check.stopped_acting" => Operation::Check(Check::StoppedActing { role: role()? }),
        _ => outside(line, condition)?,
    })
}

/// Returns what waits, or speaks to somebody.
fn outside(
    line: &Line,
    condition: impl Fn(&str) -> Result<Condition, String>,
) -> Result<Operation, ExactTrouble> {
    Ok(match line.name.as_str() {
        "notify.send" => {
            Operation::Notify { channel: line.title("channel")?, text: line.text("text")? }
        }
        "wait.for" => {
            let ms = line.span_ms("time", Shortest::Zero)?;
            Operation::WaitFor { ms: line.needed("time", ms)? }
        }
        "wait.until" => {
            let text = line.needed("condition", line.text("condition")?)?;
            let read =
                condition(text.as_str()).map_err(|why| ExactTrouble::BadCondition { why })?;
            Operation::WaitUntil(Box::new(read))
        }
        "agent.job" => {
            let agent = line.needed("agent", line.title("agent")?)?;
            Operation::AgentJob { agent }
        }
        "webhook.call" => {
            let channel = line.needed("channel", line.title("channel")?)?;
            Operation::Webhook { channel }
        }
        _ => Operation::Confirm,
    })
}

/// Returns the view that the line names, if it names one.
pub(super) fn shown(line: &Line) -> Result<Option<Show>, ExactTrouble> {
    Ok(Some(match line.name.as_str() {
        "show.holder" => Show::Holder { role: line.subject("role")? },
        "show.held" => Show::Held { worker: line.subject("worker")? },
        "show.workers" => Show::Workers,
        "show.lag" => Show::Lag { role: line.subject("role")? },
        "show.queue" => Show::Queue { queue: line.subject("queue")? },
        "show.failed" => Show::Failed { queue: line.subject("queue")? },
        "show.alerts" => Show::Alerts,
        "show.runs" => Show::Runs,
        _ => return Ok(None),
    }))
}
