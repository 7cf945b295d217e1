//! Operations, steps, views and detectors in the exact form, as `exact` reads them back.

use core::fmt;

use super::line::{needs_quotes, quoted, span};
use crate::condition::Condition;
use crate::limits;
use crate::operation::{Check, Detector, OnFail, Operation, PlannedStep, Show, Subject};

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self {
            Self::PromoteStandby { role }
            | Self::Release { role }
            | Self::HandOver { role }
            | Self::ResumeStream { role } => subject(f, "role", role),
            Self::Acquire { role, worker } => {
                subject(f, "role", role)?;
                worker.as_ref().map_or(Ok(()), |worker| named(f, "worker", worker.as_str()))
            }
            Self::StopIntake { worker }
            | Self::ResumeIntake { worker }
            | Self::StopWorker { worker } => subject(f, "worker", worker),
            Self::ReturnHeld { worker, within_ms } => {
                subject(f, "worker", worker)?;
                match *within_ms {
                    limits::HAND_BACK_MS_DEFAULT => Ok(()),
                    0 => f.write_str(" within=0s"),
                    within_ms => write!(f, " within={}", span(within_ms)),
                }
            }
            Self::PlaceReturned { queue }
            | Self::PauseQueue { queue }
            | Self::ResumeQueue { queue }
            | Self::PauseNew { queue }
            | Self::AdmitNew { queue } => subject(f, "queue", queue),
            Self::RetryJob { job } | Self::DeadLetter { job } | Self::CancelJob { job } => {
                subject(f, "job", job)
            }
            Self::Check(check) => check_argument(f, check),
            Self::Show(show) => show_argument(f, show),
            Self::Notify { channel, text } => {
                channel.as_ref().map_or(Ok(()), |channel| named(f, "channel", channel.as_str()))?;
                text.as_ref().map_or(Ok(()), |text| named(f, "text", text.as_str()))
            }
            Self::WaitFor { ms } => write!(f, " time={}", span(*ms)),
            Self::WaitUntil(condition) => named(f, "condition", condition_text(condition)),
            Self::Confirm => Ok(()),
            Self::AgentJob { agent } => named(f, "agent", agent.as_str()),
            Self::Webhook { channel } => named(f, "channel", channel.as_str()),
        }
    }
}

impl fmt::Display for PlannedStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.operation)?;
        if matches!(self.operation, Operation::Confirm | Operation::AgentJob { .. }) {
            named(f, "text", self.sentence.as_str())?;
        }
        if let Some(timeout_ms) = self.timeout_ms {
            write!(f, " timeout={}", span(timeout_ms))?;
        }
        match self.on_fail {
            OnFail::Stop => Ok(()),
            OnFail::Continue => f.write_str(" on_fail=continue"),
            OnFail::Ask => f.write_str(" on_fail=ask"),
        }
    }
}

impl fmt::Display for Show {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        show_argument(f, self)
    }
}

impl fmt::Display for Detector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self {
            Self::StaleWrites { count } => write!(f, " count={count}"),
            Self::StandbyLag { events } => write!(f, " events={events}"),
            Self::FlappingLease { changes } => write!(f, " changes={changes}"),
            Self::Backlog { jobs, age_ms } => {
                if *jobs > 0 {
                    write!(f, " jobs={jobs}")?;
                }
                if *age_ms > 0 { write!(f, " age={}", span(*age_ms)) } else { Ok(()) }
            }
            Self::TwoLeaders
            | Self::Leaderless
            | Self::HeldByGone
            | Self::Orphan
            | Self::DoubleOwner
            | Self::NoStandby
            | Self::MissedReports
            | Self::JobFailed
            | Self::RunFailed
            | Self::FixBlocked
            | Self::SinkDown => Ok(()),
        }
    }
}

fn check_argument(f: &mut fmt::Formatter<'_>, check: &Check) -> fmt::Result {
    match check {
        Check::OneOwner { queue } => subject(f, "queue", queue),
        Check::QueueOwns { worker } | Check::NoHeld { worker } => subject(f, "worker", worker),
        Check::NotRenewed { role } | Check::StoppedActing { role } => subject(f, "role", role),
    }
}

fn show_argument(f: &mut fmt::Formatter<'_>, show: &Show) -> fmt::Result {
    match show {
        Show::Holder { role } | Show::Lag { role } => subject(f, "role", role),
        Show::Held { worker } => subject(f, "worker", worker),
        Show::Queue { queue } | Show::Failed { queue } => subject(f, "queue", queue),
        Show::Workers | Show::Alerts | Show::Runs => Ok(()),
    }
}

fn subject(f: &mut fmt::Formatter<'_>, key: &str, subject: &Subject) -> fmt::Result {
    match subject {
        Subject::Run => write!(f, " {key}=run"),
        Subject::Named(name) => {
            // Without quotes, these two would mean the one that the run is about.
            let name = name.as_str();
            let is_word = name == "run" || name.starts_with("trigger.");
            if is_word { write!(f, " {key}={}", quoted(name)) } else { named(f, key, name) }
        }
    }
}

fn named(f: &mut fmt::Formatter<'_>, key: &str, value: &str) -> fmt::Result {
    if needs_quotes(value) {
        write!(f, " {key}={}", quoted(value))
    } else {
        write!(f, " {key}={value}")
    }
}

/// The one place that knows how a condition is spelt.
fn condition_text(condition: &Condition) -> &str {
    condition.text()
}
