//! Whom an operation is about, and what "it" stands for.

use alloc::vec::Vec;

use crate::operation::{Check, Operation, Show, Subject};
use crate::units::Text;

/// What kind of thing a subject is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Noun {
    Role,
    Worker,
    Queue,
    Job,
}

/// Returns whom the operation is about.
pub(super) fn of(operation: &mut Operation) -> Option<(Noun, &mut Subject)> {
    match operation {
        Operation::PromoteStandby { role }
        | Operation::Acquire { role, .. }
        | Operation::Release { role }
        | Operation::HandOver { role }
        | Operation::ResumeStream { role }
        | Operation::Check(Check::NotRenewed { role } | Check::StoppedActing { role })
        | Operation::Show(Show::Holder { role } | Show::Lag { role }) => Some((Noun::Role, role)),
        Operation::StopIntake { worker }
        | Operation::ResumeIntake { worker }
        | Operation::ReturnHeld { worker, .. }
        | Operation::StopWorker { worker }
        | Operation::Check(Check::QueueOwns { worker } | Check::NoHeld { worker })
        | Operation::Show(Show::Held { worker }) => Some((Noun::Worker, worker)),
        Operation::PlaceReturned { queue }
        | Operation::PauseQueue { queue }
        | Operation::ResumeQueue { queue }
        | Operation::PauseNew { queue }
        | Operation::AdmitNew { queue }
        | Operation::Check(Check::OneOwner { queue })
        | Operation::Show(Show::Queue { queue } | Show::Failed { queue }) => {
            Some((Noun::Queue, queue))
        }
        Operation::RetryJob { job }
        | Operation::DeadLetter { job }
        | Operation::CancelJob { job } => Some((Noun::Job, job)),
        Operation::Show(Show::Workers | Show::Alerts | Show::Runs)
        | Operation::Notify { .. }
        | Operation::WaitFor { .. }
        | Operation::WaitUntil(_)
        | Operation::Confirm
        | Operation::AgentJob { .. }
        | Operation::Webhook { .. } => None,
    }
}

/// The names that a text has given so far.
#[derive(Debug, Default)]
pub(super) struct Mentioned {
    names: Vec<(Noun, Text)>,
}

impl Mentioned {
    /// Gives an operation that names nobody the one that the text has named before.
    ///
    /// # Errors
    /// The names, when there are several.
    pub(super) fn settle(&mut self, operation: &mut Operation) -> Result<(), Vec<Text>> {
        // Returned jobs belong to the run, whatever queue was named before them.
        let is_wide = matches!(
            operation,
            Operation::PlaceReturned { .. } | Operation::Check(Check::OneOwner { .. })
        );
        let Some((noun, subject)) = of(operation) else { return Ok(()) };
        match subject {
            Subject::Named(name) => {
                let mention = (noun, name.clone());
                if !self.names.contains(&mention) {
                    self.names.push(mention);
                }
            }
            Subject::Run if is_wide => {}
            Subject::Run => {
                let same = self.names.iter().filter(|(named, _)| *named == noun);
                let names: Vec<Text> = same.map(|(_, name)| name.clone()).collect();
                match names.as_slice() {
                    [] => {}
                    [name] => *subject = Subject::Named(name.clone()),
                    _ => return Err(names),
                }
            }
        }
        Ok(())
    }
}
