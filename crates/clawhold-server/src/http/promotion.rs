//! Who promotes a standby when a role's lease lapses, and why nobody would.

use clawhold_api::role as wire;
use clawhold_core::State;
use clawhold_core::catalog::{AutoFix, Noun, Spec};
use clawhold_core::condition::TargetKind;
use clawhold_core::role::{Promotion, Role};
use clawhold_core::run::{Reason, Target};
use clawhold_core::units::Title;

use super::automation::limits_left;

/// Who would promote for a role.
#[derive(Debug, Default)]
pub(super) struct Promoter {
    /// In words; `None` when nobody would.
    pub(super) who: Option<String>,
    /// What is left of its limits.
    pub(super) left: Option<String>,
    /// Why nobody would.
    pub(super) blocked: Option<String>,
}

/// Returns who would promote for a role.
pub(super) fn promoter(state: &State, role: &Role) -> Promoter {
    let nobody = |why: &str| Promoter { blocked: Some(why.to_owned()), ..Promoter::default() };
    let native = || Promoter { who: Some("the lapse itself".to_owned()), ..Promoter::default() };
    let promoter = match (role.promotion, fix(state, role)) {
        (Promotion::Native, _) | (Promotion::Auto, None) => native(),
        (Promotion::Auto, _) if !state.automation().withholds(role) => native(),
        (Promotion::Policy, None) => {
            return nobody("its promotion is policy, and no auto-fix in force promotes for it");
        }
        (Promotion::Auto | Promotion::Policy, Some((title, fix))) => {
            by_fix(state, role, title, fix)
        }
    };
    if promoter.blocked.is_none() && role.candidates.is_empty() {
        return Promoter { blocked: Some("nobody stands by".to_owned()), ..promoter };
    }
    promoter
}

/// Returns the fix in force that promotes for a role: the one whose condition holds, or else the
/// first that is about roles at all.
fn fix<'a>(state: &'a State, role: &Role) -> Option<(&'a Title, &'a AutoFix)> {
    let catalog = state.automation().catalog();
    let promoter = state.promoter_of(&role.name);
    if let Some(known) = promoter.and_then(|title| catalog.get(Noun::AutoFix, title))
        && let Spec::AutoFix(fix) = &known.spec
    {
        return Some((&known.title, fix));
    }
    let mut all = catalog.list(Noun::AutoFix, None).filter(|known| known.enabled);
    all.find_map(|known| {
        let Spec::AutoFix(fix) = &known.spec else { return None };
        let fits = fix.plan.promotes() && fix.condition.target() == TargetKind::Role;
        fits.then_some((&known.title, fix))
    })
}

fn by_fix(state: &State, role: &Role, title: &Title, fix: &AutoFix) -> Promoter {
    let target = Target::Role(role.name.clone());
    let checks = state.checks(title, &target);
    let mut blocks = checks.into_iter().filter_map(|check| check.block);
    // The role is held: that its condition does not hold is no obstacle.
    let block = blocks.find(|block| {
        !matches!(block.reason, Reason::ConditionCleared | Reason::UnknownValue | Reason::NoStandby)
    });
    let left = limits_left(state, title, fix);
    let left = (!left.is_empty()).then(|| left.join(", "));
    match block {
        Some(block) => {
            let frees = block.free_at.map(|at| format!(", free at {}", crate::clock::rfc3339(at)));
            let (name, code) = (title.as_str(), block.reason.as_str());
            let detail = block.detail;
            let why =
                format!("{name:?} may not run ({code}): {detail}{}", frees.unwrap_or_default());
            Promoter { who: None, left, blocked: Some(why) }
        }
        None => Promoter { who: Some(title.to_string()), left, blocked: None },
    }
}

/// Returns who promotes, as the wire knows it.
pub(super) fn show(promotion: Promotion) -> wire::Promotion {
    match promotion {
        Promotion::Auto => wire::Promotion::Auto,
        Promotion::Native => wire::Promotion::Native,
        Promotion::Policy => wire::Promotion::Policy,
    }
}

/// Returns who promotes, as the core knows it.
pub(super) fn read(promotion: wire::Promotion) -> Promotion {
    match promotion {
        wire::Promotion::Auto => Promotion::Auto,
        wire::Promotion::Native => Promotion::Native,
        wire::Promotion::Policy => Promotion::Policy,
    }
}
