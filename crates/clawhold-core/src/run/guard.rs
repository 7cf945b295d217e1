//! What keeps a fix from running, in a fixed order: all of it is in the log.
//!
//! Paused, in force, settled, condition, target free, tripped, fleet, cooldown, budget, observing,
//! approval. Limits count by wall time, which never runs back in the log.

use alloc::borrow::ToOwned;
use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::catalog::{Approval, AutoFix, Definition, MaxRuns, Mode, Noun, Spec};
use crate::condition::{TargetKind, Truth};
use crate::limits;
use crate::operation::Class;
use crate::run::{Instance, Reason, RunState, Target};
use crate::state::State;
use crate::units::{Timestamp, Title};

/// Milliseconds for which too many matching targets must be few again before a fix runs.
pub(crate) const STORM_MS: u64 = 120_000;
/// Milliseconds of rest after a refusal or an approval that nobody gave, at least.
const REFUSED_MS: u64 = 900_000;

/// Why a fix may not run now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The stable reason.
    pub reason: Reason,
    /// The facts, in words.
    pub detail: String,
    /// When it may, if that is known.
    pub free_at: Option<Timestamp>,
}

/// One check of a fix's limits, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// What was checked.
    pub name: &'static str,
    /// What keeps the fix from running, if something does.
    pub block: Option<Block>,
}

impl Block {
    fn new(reason: Reason, detail: String) -> Self {
        Self { reason, detail, free_at: None }
    }

    fn until(self, free_at: Timestamp) -> Self {
        Self { free_at: Some(free_at), ..self }
    }
}

/// Milliseconds of rest after a run that left its condition as it was; doubled each time.
const REST_MS: u64 = 60_000;
/// The longest such rest.
const REST_MS_MAX: u64 = 3_600_000;
/// Milliseconds within which so many runs on one target look like a cycle.
const CYCLE_MS: u64 = 10_000;
/// See [`CYCLE_MS`].
const CYCLE_RUNS: usize = 3;

type Check = fn(&State, &Definition, &AutoFix, &Target) -> Option<Block>;

/// The checks, in the order in which they are made.
const CHECKS: [(&str, Check); 11] = [
    ("paused", paused),
    ("enabled", enabled),
    ("settled", settled),
    ("condition", condition),
    ("target free", target_free),
    ("not tripped", tripped),
    ("fleet", fleet),
    ("cooldown", cooldown),
    ("budget", budget),
    ("standby there", standby),
    ("mode", mode),
];

impl State {
    /// Returns the first thing that keeps a fix from running on a target now.
    pub(crate) fn blocked(&self, known: &Definition, target: &Target) -> Option<Block> {
        let Spec::AutoFix(fix) = &known.spec else { return None };
        let block = CHECKS.iter().find_map(|(_, check)| check(self, known, fix, target))?;
        if block.reason != Reason::Cooldown {
            return Some(block);
        }
        // Of two limits the one that holds longer is the one to know.
        let spent = budget(self, known, fix, target).filter(|spent| spent.free_at > block.free_at);
        Some(spent.unwrap_or(block))
    }

    /// Returns every check of a fix and a target, and what it comes to now. Nothing is counted.
    #[must_use]
    pub fn checks(&self, title: &Title, target: &Target) -> Vec<Checked> {
        let known = self.automation.catalog.get(Noun::AutoFix, title);
        let Some(known) = known else { return Vec::new() };
        let Spec::AutoFix(fix) = &known.spec else { return Vec::new() };
        let checked = CHECKS
            .iter()
            .map(|(name, check)| Checked { name, block: check(self, known, fix, target) });
        checked.collect()
    }

    /// Returns what keeps a fix from running that no override sets aside: there is nobody to
    /// promote.
    pub(crate) fn in_vain(
        &self,
        fix: &AutoFix,
        known: &Definition,
        target: &Target,
    ) -> Option<Block> {
        standby(self, known, fix, target)
    }

    /// Tells whether people are asked before a fix runs, and how many must agree.
    pub(crate) fn asks(&self, fix: &AutoFix) -> Option<u32> {
        match &fix.approval {
            Approval::Ask { count, .. } => Some(*count),
            Approval::Auto | Approval::Never if !fix.plan.is_complete() => Some(1),
            Approval::Auto | Approval::Never => None,
        }
    }

    /// Returns what is left of a fix's runs: the smallest of its limits, with the limit.
    #[must_use]
    pub fn runs_left(&self, title: &Title) -> Option<(u32, MaxRuns)> {
        let known = self.automation.catalog.get(Noun::AutoFix, title)?;
        let Spec::AutoFix(fix) = &known.spec else { return None };
        let starts = self.automation.runs.starts.get(title);
        let left = fix.max_runs.iter().filter(|limit| !limit.per_target).map(|limit| {
            let used = starts.map_or(0, |starts| used(starts, limit, self.last.at));
            (limit.count.saturating_sub(used), *limit)
        });
        left.min_by_key(|(left, _)| *left)
    }
}

fn paused(state: &State, _: &Definition, _: &AutoFix, _: &Target) -> Option<Block> {
    let pause = state.automation.paused.as_ref()?;
    let why = pause.reason.as_str();
    let because = if why.is_empty() { String::new() } else { format!(": {why}") };
    let block = Block::new(Reason::Paused, format!("all automation is paused{because}"));
    Some(Block { free_at: pause.until, ..block })
}

fn enabled(_: &State, known: &Definition, _: &AutoFix, _: &Target) -> Option<Block> {
    (!known.enabled).then(|| Block::new(Reason::Disabled, "it is disabled".into()))
}

/// A lease that ran out because a server had just taken over and nobody could renew is no reason.
/// The grace of a takeover sees to that; only a lease that three takeovers in a row have seen
/// unconfirmed can lapse sooner.
fn settled(state: &State, _: &Definition, fix: &AutoFix, target: &Target) -> Option<Block> {
    let Target::Role(role) = target else { return None };
    let role = state.roles.get(role)?;
    let since = state.active.as_ref()?.since;
    let ended = role.ended().filter(|ended| ended.stamp.served >= since.served)?;
    // A lease that was granted since then could be renewed all along.
    let granted_since = role.history().any(|change| {
        change.token == ended.token
            && change.stamp.position > since.position
            && change.stamp.position < ended.stamp.position
    });
    if granted_since {
        return None;
    }
    let settled = since.served.after(role.ttl_ms);
    let lapsed = fix.condition.target() == TargetKind::Role && role.is_lapsed();
    if !lapsed || ended.stamp.served >= settled || state.last.served >= settled {
        return None;
    }
    let left = settled.since(state.last.served);
    let detail = format!("a server took over at position {}", since.position);
    Some(Block::new(Reason::Settling, detail).until(state.last.at.after(left)))
}

fn condition(state: &State, _: &Definition, fix: &AutoFix, target: &Target) -> Option<Block> {
    match state.condition_holds(&fix.condition, target) {
        Truth::True => None,
        Truth::False => {
            let text = fix.condition.text();
            Some(Block::new(Reason::ConditionCleared, format!("{text} does not hold")))
        }
        Truth::Unknown => {
            let text = fix.condition.text();
            let detail = format!("a field of {text} has no value");
            Some(Block::new(Reason::UnknownValue, detail))
        }
    }
}

fn target_free(state: &State, known: &Definition, fix: &AutoFix, target: &Target) -> Option<Block> {
    let runs = &state.automation.runs;
    let running = runs.live.values().filter(|run| run.state == RunState::Running);
    let mut on_target = running.clone().filter(|run| run.target.as_ref() == Some(target));
    let busy = |detail| Some(Block::new(Reason::TargetBusy, detail));
    if let Some(run) = on_target.find(|run| run.title == known.title || run.plan.acts())
        && (fix.plan.acts() || run.title == known.title)
    {
        return busy(format!("run {} of {} is under way there", run.id, run.title));
    }
    let of_fixes = running.filter(|run| run.is_of_fix());
    let own = of_fixes.clone().filter(|run| run.title == known.title).count();
    if own >= limits::FIX_AT_ONCE_MAX {
        return busy(format!("{own} runs of it are under way, at most {own} at once"));
    }
    let all = of_fixes.count();
    if all >= limits::FIXES_AT_ONCE_MAX {
        return busy(format!("{all} runs of fixes are under way, at most {all} at once"));
    }
    None
}

fn tripped(state: &State, known: &Definition, _: &AutoFix, target: &Target) -> Option<Block> {
    let instance = state.instance(&known.title, target)?;
    instance.tripped?;
    let failures = instance.failures;
    let detail = format!(
        "it failed {failures} times in a row there; it stays tripped until \
         `auto-fix reset` or one hour in which the condition does not hold"
    );
    Some(Block::new(Reason::Tripped, detail))
}

fn fleet(state: &State, known: &Definition, fix: &AutoFix, target: &Target) -> Option<Block> {
    let class = fix.plan.class();
    let all = match class {
        Class::Read | Class::Safe => return None,
        Class::Disruptive => state.targets(target.kind()).len(),
        Class::External => 0,
    };
    let max = if class == Class::External { 5 } else { (all * 34 / 100).max(1) };
    let runs = &state.automation.runs;
    let of_fix = runs.instances.iter().filter(|((title, _), _)| *title == known.title);
    let matching = of_fix.filter(|(_, instance)| instance.since.is_some()).count();
    let storm = runs.storms.get(&known.title).copied();
    if matching > max {
        let of = if all > 0 { format!("{matching} of {all}") } else { format!("{matching}") };
        let what = target.kind().as_str();
        let detail = format!(
            "{of} {what}s match; this looks like one cause, not {matching} (at most {max} at once)"
        );
        let again = state.last.at.after(STORM_MS);
        return Some(Block::new(Reason::FleetBreaker, detail).until(again));
    }
    let over = storm?.after(STORM_MS);
    (state.last.at < over).then(|| {
        let detail = "too many matched a moment ago".into();
        Block::new(Reason::FleetBreaker, detail).until(over)
    })
}

fn cooldown(state: &State, known: &Definition, fix: &AutoFix, target: &Target) -> Option<Block> {
    let instance = state.instance(&known.title, target);
    let rest_ms = fix.cooldown.ms;
    let own = instance.and_then(|instance| instance.last_end);
    let any = state.automation.runs.last_ends.get(&known.title).copied();
    let last = if fix.cooldown.per_rule { any } else { own };
    let now = state.last.at;
    let rested = last.map(|last| last.after(rest_ms)).filter(|free| now < *free);
    if let Some(free_at) = rested.filter(|_| rest_ms > 0) {
        let left_s = free_at.0.saturating_sub(now.0).div_ceil(1_000);
        let of = if fix.cooldown.per_rule { "the fix" } else { "this target" };
        let detail = format!("cooldown of {of}: {left_s} s of {} s left", rest_ms / 1_000);
        return Some(Block::new(Reason::Cooldown, detail).until(free_at));
    }
    let instance = instance?;
    let refused = instance.refused.map(|at| at.after(rest_ms.max(REFUSED_MS)));
    if let Some(free_at) = refused.filter(|free| now < *free) {
        let detail = "people said no, or nothing, a moment ago".into();
        return Some(Block::new(Reason::Cooldown, detail).until(free_at));
    }
    rest(instance, now)
}

/// A run that leaves its condition as it is does not follow itself at once, and a fix that brings
/// its own condition about is slowed down: the rest doubles from one minute to one hour.
fn rest(instance: &Instance, now: Timestamp) -> Option<Block> {
    let since = instance.since?.at;
    let starts = &instance.starts;
    let in_vain = starts.iter().rev().take_while(|at| **at >= since).count();
    let lately = starts.iter().rev().take_while(|at| at.after(CYCLE_MS) > now).count();
    let (count, why) = if in_vain > 0 {
        (in_vain, "its runs leave the condition as it is")
    } else if lately >= CYCLE_RUNS {
        (lately + 1 - CYCLE_RUNS, "it brings its own condition about, or others do")
    } else {
        return None;
    };
    let doubled = u32::try_from(count - 1).unwrap_or(u32::MAX).min(6);
    let rest_ms = (REST_MS << doubled).min(REST_MS_MAX);
    let free_at = starts.back()?.after(rest_ms);
    (now < free_at).then(|| {
        let detail = format!("{why}: it rests {} min", rest_ms / 60_000);
        Block::new(Reason::Cooldown, detail).until(free_at)
    })
}

fn budget(state: &State, known: &Definition, fix: &AutoFix, target: &Target) -> Option<Block> {
    let now = state.last.at;
    let all = state.automation.runs.starts.get(&known.title);
    let own = state.instance(&known.title, target).map(|instance| &instance.starts);
    fix.max_runs.iter().find_map(|limit| {
        let starts = if limit.per_target { own } else { all }?;
        let used = used(starts, limit, now);
        if used < limit.count {
            return None;
        }
        let count = usize::try_from(limit.count).ok()?;
        let oldest = starts.get(starts.len().checked_sub(count)?)?;
        let free_at = oldest.after(limit.per_ms);
        let detail =
            format!("{used} of {} runs used in the last {}", limit.count, period(limit.per_ms));
        Some(Block::new(Reason::Budget, detail).until(free_at))
    })
}

/// A fix that promotes waits for somebody to promote; that costs no run.
fn standby(state: &State, _: &Definition, fix: &AutoFix, target: &Target) -> Option<Block> {
    let Target::Role(name) = target else { return None };
    let role = state.roles.get(name).filter(|role| role.held.is_none())?;
    if !fix.plan.promotes() || role.most_caught_up(&state.streams).is_some() {
        return None;
    }
    let count = role.candidates.len();
    let detail = match count {
        0 => "nobody stands by".to_owned(),
        _ => format!("none of {count} standbys may take it: they lag too far or were not heard of"),
    };
    Some(Block::new(Reason::NoStandby, detail))
}

fn mode(_: &State, _: &Definition, fix: &AutoFix, _: &Target) -> Option<Block> {
    let detail = if fix.mode == Mode::Observe {
        "it only observes: it would have run"
    } else if fix.approval == Approval::Never {
        "its approval is `never`: it runs by hand only, with --override"
    } else {
        return None;
    };
    Some(Block::new(Reason::ObserveOnly, detail.into()))
}

fn used(starts: &VecDeque<Timestamp>, limit: &MaxRuns, now: Timestamp) -> u32 {
    let after = now.0.saturating_sub(limit.per_ms);
    let within = starts.iter().rev().take_while(|at| at.0 > after || now.0 < limit.per_ms);
    u32::try_from(within.count()).unwrap_or(u32::MAX)
}

/// Returns a period in words.
fn period(ms: u64) -> String {
    const UNITS: [(u64, &str); 5] = [
        (604_800_000, "week"),
        (86_400_000, "day"),
        (3_600_000, "h"),
        (60_000, "min"),
        (1_000, "s"),
    ];
    let unit = UNITS.iter().find(|(unit, _)| ms >= *unit && ms.is_multiple_of(*unit));
    match unit {
        Some((86_400_000, _)) if ms == 86_400_000 => "24 h".into(),
        Some((unit, word)) => format!("{} {word}", ms / unit),
        None => format!("{ms} ms"),
    }
}

impl State {
    pub(crate) fn instance(&self, title: &Title, target: &Target) -> Option<&Instance> {
        self.automation.runs.instances.get(&(title.clone(), target.clone()))
    }
}
