//! Decisions about auto-fixes, and where a fix stands.

use axum::extract::State;
use axum::http::Uri;
use clawhold_api::automation::definition as definition_wire;
use clawhold_api::automation::run as wire;
use clawhold_core::State as Known;
use clawhold_core::catalog::{AutoFix, Definition, Spec};
use clawhold_core::run::{Decision, Instance, Target};
use clawhold_core::units::{Timestamp, Title};

use super::condition::show_target;
use super::value::{self, show_max_runs};
use crate::clock;
use crate::http::error::Rejected;
use crate::http::query::{Listed, Query, number_cursor, page, rows};
use crate::http::{Room, view};

/// Targets that a fix lists.
const TARGETS_MAX: usize = 100;

pub(super) async fn list(
    State(room): State<Room>,
    uri: Uri,
    Query(query): Query<wire::DecisionQuery>,
) -> Result<Listed<wire::Decision>, Rejected> {
    let rows = rows(query.limit)?;
    let skip = number_cursor(query.cursor.as_deref())?.unwrap_or(0);
    let title = value::title_opt("name", query.name.as_deref())?;
    let skipped = usize::try_from(skip).unwrap_or(usize::MAX);
    let items = room.read(move |replica| {
        let state = replica.state();
        let fits = state.automation().runs().decisions().rev().filter(|decision| {
            title.as_ref().is_none_or(|title| decision.title == *title)
                && value::given(query.reason.as_deref())
                    .is_none_or(|reason| decision.reason.as_str() == reason)
        });
        let shown = fits.zip(1_u64..).skip(skipped).take(rows.limit + 1);
        Ok(shown.map(|(decision, at)| (at, show(state, decision))).collect())
    });
    let items: Vec<(u64, wire::Decision)> = items.await?;
    let numbers: Vec<u64> = items.iter().map(|(at, _)| *at).collect();
    let last = numbers.get(rows.limit.min(numbers.len()).saturating_sub(1)).copied().unwrap_or(0);
    let decisions = items.into_iter().map(|(_, decision)| decision).collect();
    Ok(page(decisions, rows, &uri, move |_: &wire::Decision| last.to_string()))
}

/// Returns the latest decisions about a fix, oldest first.
pub(super) fn about(state: &Known, title: &Title, max: usize) -> Vec<wire::Decision> {
    let decisions = state.automation().runs().decisions().rev();
    let fits = decisions.filter(|decision| decision.title == *title).take(max);
    let mut shown: Vec<wire::Decision> = fits.map(|decision| show(state, decision)).collect();
    shown.reverse();
    shown
}

fn show(state: &Known, decision: &Decision) -> wire::Decision {
    let target = show_target(state, &decision.target);
    wire::Decision {
        name: decision.title.to_string(),
        version: decision.version,
        // What it was called then: it may be gone.
        target: clawhold_api::automation::Target {
            name: decision.name.as_str().to_owned(),
            ..target
        },
        reason: decision.reason.as_str().to_owned(),
        detail: decision.detail.as_str().to_owned(),
        evidence: decision.evidence.as_str().to_owned(),
        first: view::moment(decision.first),
        last: view::moment(decision.last),
        count: decision.count,
        run: decision.run.map(|run| run.0),
        free_at: decision.free_at.map(clock::rfc3339),
    }
}

/// Returns where an auto-fix stands.
pub(super) fn fix_state(state: &Known, known: &Definition) -> Option<definition_wire::FixState> {
    let Spec::AutoFix(fix) = &known.spec else { return None };
    let runs = state.automation().runs();
    let mut targets: Vec<(&Target, &Instance)> = runs.instances(&known.title).collect();
    targets.retain(|(_, instance)| {
        instance.since.is_some() || instance.tripped.is_some() || instance.decided.is_some()
    });
    let targets = targets.into_iter().take(TARGETS_MAX);
    let (left, free_at) = limits(state, &known.title, fix);
    Some(definition_wire::FixState {
        left,
        free_at: free_at.map(clock::rfc3339),
        targets: targets.map(|(target, instance)| show_instance(state, target, instance)).collect(),
    })
}

/// Returns what is left of each limit in words, and when one that is used up frees.
fn limits(state: &Known, title: &Title, fix: &AutoFix) -> (Vec<String>, Option<Timestamp>) {
    let starts: Vec<Timestamp> = state.automation().runs().starts(title).collect();
    let now = state.last().at;
    let mut free_at = None;
    let per_rule = fix.max_runs.iter().filter(|limit| !limit.per_target).map(|limit| {
        let within = starts.iter().filter(|start| start.after(limit.per_ms) > now);
        let used = within.clone().count();
        let count = usize::try_from(limit.count).unwrap_or(usize::MAX);
        if used >= count {
            let oldest = within.clone().nth(used - count);
            let frees = oldest.map(|start| start.after(limit.per_ms));
            free_at = free_at.max(frees);
        }
        format!("{} of {} left", count.saturating_sub(used), show_max_runs(*limit))
    });
    let left = per_rule.collect();
    (left, free_at)
}

fn show_instance(
    state: &Known,
    target: &Target,
    instance: &Instance,
) -> definition_wire::FixTarget {
    let decided = instance.decided.as_ref();
    definition_wire::FixTarget {
        target: show_target(state, target),
        since: instance.since.map(view::moment),
        reason: decided.map(|decision| decision.reason.as_str().to_owned()),
        detail: decided.map(|one| one.detail.as_str().to_owned()).unwrap_or_default(),
        free_at: decided.and_then(|decision| decision.free_at).map(clock::rfc3339),
        last_ended: instance.last_end.map(clock::rfc3339),
        failures: instance.failures,
        tripped: instance.tripped.map(clock::rfc3339),
    }
}

/// Returns what is left of each limit of a fix, in words.
pub(in crate::http) fn limits_left(state: &Known, title: &Title, fix: &AutoFix) -> Vec<String> {
    limits(state, title, fix).0
}
