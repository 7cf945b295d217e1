//! What a condition is about, by the roots of the fields that it reads.

use alloc::format;
use alloc::string::String;

use super::TargetKind;
use super::field::Root;

/// Which roots go together, in words.
pub(super) const ALLOWED: &str = "one condition may read lease with standby, job with queue (the job's), or job with worker (its holder)";

/// Two roots that nothing relates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unrelated(Root, Root);

impl Unrelated {
    pub(super) fn is_about(self, root: Root) -> bool {
        self.0 == root || self.1 == root
    }

    pub(super) fn message(self) -> String {
        format!("it mixes {} and {}, which are not related", self.0.name(), self.1.name())
    }
}

/// Returns what a condition is about that reads these roots.
///
/// The roots are related if each belongs to the same role, or to the same job: its queue, its
/// holder.
pub(super) fn of(roots: &[Root]) -> Result<TargetKind, Unrelated> {
    let Some(first) = roots.first() else { return Ok(TargetKind::Role) };
    let main = if roots.contains(&Root::Job) { Root::Job } else { *first };
    match roots.iter().find(|root| !related(main, **root)) {
        Some(stranger) => Err(Unrelated(main, *stranger)),
        None => Ok(main.target()),
    }
}

fn related(main: Root, other: Root) -> bool {
    match main {
        Root::Lease | Root::Standby => matches!(other, Root::Lease | Root::Standby),
        Root::Job => matches!(other, Root::Job | Root::Queue | Root::Worker),
        Root::Worker | Root::Queue => other == main,
    }
}
