//! All automation at once: in numbers, paused, unpaused.

use axum::Json;
use axum::extract::State;
use clawhold_api::automation as wire;
use clawhold_api::page::Nothing;
use clawhold_core::State as Known;
use clawhold_core::alert::AlertState;
use clawhold_core::command::{Automate, PauseAutomation};
use clawhold_core::limits;
use clawhold_core::run::RunState;

use super::definition::automate;
use crate::clock;
use crate::http::body::Body;
use crate::http::call::{Call, Written};
use crate::http::error::Rejected;
use crate::http::{Room, convert, view};

pub(super) async fn show(
    State(room): State<Room>,
) -> Result<Json<wire::AutomationStatus>, Rejected> {
    room.read(|replica| Ok(show_status(replica.state()))).await.map(Json)
}

pub(super) async fn pause(
    State(room): State<Room>,
    call: Call,
    Body(body): Body<wire::PauseAutomation>,
) -> Result<Written<wire::AutomationStatus>, Rejected> {
    let for_ms = convert::range_opt("for_ms", body.for_ms, 1, limits::DURATION_MS_MAX)?;
    let reason = convert::text("reason", Some(&body.reason))?;
    let command = automate(Automate::PauseAutomation(PauseAutomation { for_ms, reason }));
    room.write(call, command, |replica, _| Ok(show_status(replica.state()))).await
}

pub(super) async fn unpause(
    State(room): State<Room>,
    call: Call,
    Body(Nothing {}): Body<Nothing>,
) -> Result<Written<wire::AutomationStatus>, Rejected> {
    let command = automate(Automate::UnpauseAutomation);
    room.write(call, command, |replica, _| Ok(show_status(replica.state()))).await
}

/// Returns how many alerts fire.
pub(in crate::http) fn alerts_firing(state: &Known) -> u64 {
    let alerts = state.automation().alerts().live();
    alerts.filter(|alert| alert.state == AlertState::Firing).count() as u64
}

fn show_status(state: &Known) -> wire::AutomationStatus {
    let automation = state.automation();
    let (runs, outbox) = (automation.runs(), automation.outbox());
    let asking = runs.live().filter(|run| run.state == RunState::Asking);
    wire::AutomationStatus {
        paused: automation.paused().map(|paused| wire::AutomationPause {
            since: view::moment(paused.since),
            until: paused.until.map(clock::rfc3339),
            reason: paused.reason.as_str().to_owned(),
            actor: paused.actor.as_ref().map(ToString::to_string),
        }),
        runs_live: runs.live().count() as u64,
        runs_asking: asking.count() as u64,
        alerts_firing: alerts_firing(state),
        unread: outbox.unread_count(),
        deliveries_waiting: outbox.deliveries().count() as u64,
        deliveries_failed: outbox.dead().count() as u64,
        settling_ms: settling_ms(state),
    }
}

/// Returns the milliseconds until every lease has had its time to be renewed after a takeover.
fn settling_ms(state: &Known) -> u64 {
    let Some(active) = state.active() else { return 0 };
    let served = state.last().served;
    let roles = state.roles().list(None);
    let left = roles.map(|role| active.since.served.after(role.ttl_ms).since(served));
    left.max().unwrap_or(0)
}
