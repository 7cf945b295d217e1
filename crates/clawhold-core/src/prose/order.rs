//! What must hold for a whole plan, whatever text it came from.

use crate::operation::{Operation, Plan};

use super::report::Told;

/// Why a plan's steps may not follow one another as they do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OrderTrouble {
    /// New work would be admitted while returned jobs wait for an owner.
    #[error(
        "step {admit} admits new work before step {place} places the returned jobs; \
         write \"Place every returned job. Then admit new work.\""
    )]
    AdmitBeforePlace {
        /// The number of the step that admits, from 1.
        admit: usize,
        /// The number of the step that places.
        place: usize,
    },
    /// New work would be admitted, and nothing places what was returned.
    #[error(
        "step {admit} admits new work while nothing places what step {returns} returns; \
         write \"Place every returned job.\" between them"
    )]
    AdmitUnplaced {
        /// The number of the step that admits.
        admit: usize,
        /// The number of the step that returns.
        returns: usize,
    },
    /// A worker would get jobs while it returns them.
    #[error(
        "step {returns} returns the held jobs before step {stops} stops the worker from taking \
         new ones; write \"Stop the worker from taking new work. Hand back its held jobs.\""
    )]
    ReturnBeforeStop {
        /// The number of the step that returns.
        returns: usize,
        /// The number of the step that stops the intake.
        stops: usize,
    },
    /// A stream would be resumed before a leader was made.
    #[error(
        "step {resume} resumes before step {promote} gives out the lease; \
         write \"Acquire the lease with a higher token. Resume from the recorded position.\""
    )]
    ResumeBeforePromote {
        /// The number of the step that resumes.
        resume: usize,
        /// The number of the step that promotes or acquires.
        promote: usize,
    },
    /// A stream would be resumed, and nobody is made its leader.
    #[error(
        "step {resume} resumes and no step before it gives out the lease; write \
         \"Acquire the lease with a higher token.\" or \"Promote the warm standby.\" before it"
    )]
    ResumeWithoutPromote {
        /// The number of the step that resumes.
        resume: usize,
    },
    /// A sentence states an order that no run may keep.
    #[error(
        "sentence {sentence} wants {first} before {second}, which may only follow it; \
         write the two the other way round"
    )]
    ToldWrong {
        /// The number of the sentence.
        sentence: usize,
        /// What it wants first.
        first: &'static str,
        /// What it wants after that.
        second: &'static str,
    },
    /// A sentence states an order that the plan does not keep.
    #[error(
        "sentence {sentence} wants {first} before {second}, and the plan has them the other \
         way round; move the sentence that asks for {first} up"
    )]
    ToldOtherwise {
        /// The number of the sentence.
        sentence: usize,
        /// What it wants first.
        first: &'static str,
        /// What it wants after that.
        second: &'static str,
    },
    /// A sentence takes for granted what no step before it does.
    #[error(
        "sentence {sentence} follows {first}, which no step before it does; \
         write the sentence that asks for {first} before it"
    )]
    ToldMissing {
        /// The number of the sentence.
        sentence: usize,
        /// What it takes for granted.
        first: &'static str,
    },
}

/// Returns `Ok` when the steps of a plan may follow one another as they do: returned jobs are
/// placed before new work is admitted, a worker's intake stops before its jobs are returned, and a
/// stream is resumed only after its lease was given out.
///
/// # Errors
/// [`OrderTrouble`] names the steps, from 1, and what to write instead.
pub fn check_order(plan: &Plan) -> Result<(), OrderTrouble> {
    check_admit(plan)?;
    check_return(plan)?;
    check_resume(plan)
}

fn check_admit(plan: &Plan) -> Result<(), OrderTrouble> {
    let Some(admit) = first(plan, |name| name == "queue.admit_new") else { return Ok(()) };
    let placed = first(plan, |name| name == "job.place_returned");
    let returned = first(plan, |name| name == "job.return_held");
    match (placed, returned) {
        (Some(place), _) if admit < place => Err(OrderTrouble::AdmitBeforePlace { admit, place }),
        (None, Some(returns)) if returns < admit => {
            Err(OrderTrouble::AdmitUnplaced { admit, returns })
        }
        _ => Ok(()),
    }
}

fn check_return(plan: &Plan) -> Result<(), OrderTrouble> {
    let returned = first(plan, |name| name == "job.return_held");
    let stopped = first(plan, |name| name == "worker.stop_intake");
    match (returned, stopped) {
        (Some(returns), Some(stops)) if returns < stops => {
            Err(OrderTrouble::ReturnBeforeStop { returns, stops })
        }
        _ => Ok(()),
    }
}

fn check_resume(plan: &Plan) -> Result<(), OrderTrouble> {
    let Some(resume) = first(plan, |name| name == "stream.resume") else { return Ok(()) };
    match first(plan, gives_lease) {
        Some(promote) if promote < resume => Ok(()),
        Some(promote) => Err(OrderTrouble::ResumeBeforePromote { resume, promote }),
        None => Err(OrderTrouble::ResumeWithoutPromote { resume }),
    }
}

/// Returns `Ok` when the plan keeps what its own text says about order.
pub(super) fn check_told(plan: &Plan, told: &[Told]) -> Result<(), OrderTrouble> {
    for Told { sentence, first: earlier, second: later, needs_first } in told {
        let (sentence, earlier, later) = (*sentence, *earlier, *later);
        if is_wrong(earlier, later) {
            return Err(OrderTrouble::ToldWrong { sentence, first: earlier, second: later });
        }
        let at_earlier = first(plan, |name| name == earlier);
        let at_later = first(plan, |name| name == later);
        match (at_earlier, at_later) {
            (Some(at_earlier), Some(at_later)) if at_later < at_earlier => {
                let (first, second) = (earlier, later);
                return Err(OrderTrouble::ToldOtherwise { sentence, first, second });
            }
            (None, _) if *needs_first => {
                return Err(OrderTrouble::ToldMissing { sentence, first: earlier });
            }
            _ => {}
        }
    }
    Ok(())
}

/// Tells whether the invariants want these two the other way round.
fn is_wrong(earlier: &str, later: &str) -> bool {
    match earlier {
        "queue.admit_new" => later == "job.place_returned",
        "job.return_held" => later == "worker.stop_intake",
        "stream.resume" => gives_lease(later),
        _ => false,
    }
}

fn gives_lease(name: &str) -> bool {
    matches!(name, "lease.promote_standby" | "lease.acquire" | "lease.hand_over")
}

/// Returns the number of the first step, from 1, whose operation has such a name.
fn first(plan: &Plan, is_it: impl Fn(&str) -> bool) -> Option<usize> {
    let mut names = plan.steps.iter().map(|step| Operation::name(&step.operation));
    names.position(is_it).map(|at| at + 1)
}
