//! Alerts: listed, shown, acknowledged.

use axum::Json;
use axum::extract::State;
use axum::http::Uri;
use clawhold_api::automation::alert as wire;
use clawhold_api::page::Nothing;
use clawhold_core::State as Known;
use clawhold_core::alert::{Alert, AlertState};
use clawhold_core::answer::{Kind, Refusal};
use clawhold_core::catalog::{Noun, Spec};
use clawhold_core::command::{AckAlert, Automate};
use clawhold_core::replica::Replica;
use clawhold_core::units::{AlertId, Title};

use super::definition::automate;
use super::value;
use crate::clock;
use crate::http::body::Body;
use crate::http::call::{Call, Written};
use crate::http::error::Rejected;
use crate::http::query::{Listed, Query, Word, number_cursor, page, rows};
use crate::http::{Room, view};

pub(super) async fn list(
    State(room): State<Room>,
    uri: Uri,
    Query(query): Query<wire::AlertQuery>,
) -> Result<Listed<wire::Alert>, Rejected> {
    let rows = rows(query.limit)?;
    let after = number_cursor(query.cursor.as_deref())?;
    let rule = value::title_opt("rule", query.rule.as_deref())?;
    let wanted = wanted(query.state.as_deref())?;
    let items = room.read(move |replica| {
        let state = replica.state();
        let alerts = ordered(state).into_iter().filter(|alert| {
            rule.as_ref().is_none_or(|rule| alert.rule == *rule) && wanted.fits(alert)
        });
        let mut alerts = alerts.peekable();
        if let Some(after) = after {
            while alerts.next_if(|alert| alert.id.0 != after).is_some() {}
            alerts.next();
        }
        Ok(alerts.take(rows.limit + 1).map(|alert| show_alert(state, alert)).collect())
    });
    Ok(page(items.await?, rows, &uri, |alert: &wire::Alert| alert.id.to_string()))
}

/// Returns the alerts that are not over, newest first, then those that are, newest first.
fn ordered(state: &Known) -> Vec<&Alert> {
    let alerts = state.automation().alerts();
    let mut live: Vec<&Alert> = alerts.live().collect();
    live.sort_unstable_by_key(|alert| std::cmp::Reverse(alert.id));
    live.into_iter().chain(alerts.ended().rev()).collect()
}

enum Wanted {
    Live,
    All,
    In(wire::AlertState),
}

impl Wanted {
    fn fits(&self, alert: &Alert) -> bool {
        match self {
            Self::All => true,
            Self::Live => alert.state != AlertState::Resolved,
            Self::In(state) => show_state(alert.state) == *state,
        }
    }
}

fn wanted(text: Option<&str>) -> Result<Wanted, Rejected> {
    Ok(match value::given(text) {
        None => Wanted::Live,
        Some("all") => Wanted::All,
        Some("pending") => Wanted::In(wire::AlertState::Pending),
        Some("firing") => Wanted::In(wire::AlertState::Firing),
        Some("recovering") => Wanted::In(wire::AlertState::Recovering),
        Some("resolved") => Wanted::In(wire::AlertState::Resolved),
        Some(other) => {
            let allowed = "pending, firing, recovering, resolved or all";
            return Err(Rejected::field("state", other, allowed));
        }
    })
}

/// Returns the latest alerts of a rule, oldest first.
pub(super) fn about(state: &Known, rule: &Title, max: usize) -> Vec<wire::Alert> {
    let alerts = state.automation().alerts();
    let mut all: Vec<&Alert> =
        alerts.live().chain(alerts.ended()).filter(|alert| alert.rule == *rule).collect();
    all.sort_unstable_by_key(|alert| alert.id);
    let first = all.len().saturating_sub(max);
    all[first..].iter().map(|alert| show_alert(state, alert)).collect()
}

pub(super) async fn show(
    State(room): State<Room>,
    Word(alert): Word,
) -> Result<Json<wire::Alert>, Rejected> {
    let alert = alert_id(&alert)?;
    room.read(move |replica| show_named(replica, alert)).await.map(Json)
}

pub(super) async fn ack(
    State(room): State<Room>,
    call: Call,
    Word(alert): Word,
    Body(Nothing {}): Body<Nothing>,
) -> Result<Written<wire::Alert>, Rejected> {
    let alert = alert_id(&alert)?;
    let command = automate(Automate::AckAlert(AckAlert { alert }));
    room.write(call, command, move |replica, _| show_named(replica, alert)).await
}

fn alert_id(text: &str) -> Result<AlertId, Rejected> {
    let allowed = "the number of an alert; GET /v1/alerts lists them";
    text.parse().map(AlertId).map_err(|_| Rejected::field("alert", text, allowed))
}

fn show_named(replica: &Replica, alert: AlertId) -> Result<wire::Alert, Rejected> {
    let state = replica.state();
    let missing = || Refusal::NotFound { kind: Kind::Alert, name: alert.to_string().into() };
    let found = state.automation().alerts().get(alert);
    found.map(|alert| show_alert(state, alert)).ok_or_else(|| Rejected::from(&missing()))
}

/// Shows an alert.
pub(super) fn show_alert(state: &Known, alert: &Alert) -> wire::Alert {
    wire::Alert {
        id: alert.id.0,
        rule: alert.rule.to_string(),
        version: alert.version,
        group_by: alert.grouping.map(|grouping| grouping.as_str().to_owned()),
        group: alert.group.as_str().to_owned(),
        severity: alert.severity.as_str().to_owned(),
        state: show_state(alert.state),
        summary: alert.summary.as_str().to_owned(),
        details: alert.details.iter().map(|line| line.as_str().to_owned()).collect(),
        since: view::moment(alert.since),
        fired: alert.fired.map(view::moment),
        ended: alert.ended.map(view::moment),
        seen: view::moment(alert.seen),
        count: alert.count,
        acked_by: alert.acked.as_ref().map(|(actor, _)| actor.to_string()),
        acked: alert.acked.as_ref().map(|(_, stamp)| view::moment(*stamp)),
        silence: silence_of(state, alert),
        inhibited_by: inhibited_by(state, alert),
        flapping: alert.flapping,
        no_data: alert.no_data.map(clock::rfc3339),
        channels: alert.channels.iter().map(ToString::to_string).collect(),
    }
}

fn silence_of(state: &Known, alert: &Alert) -> Option<u64> {
    let now = state.last().at;
    let mut silences = state.automation().alerts().silences();
    let found = silences.find(|silence| {
        silence.until > now
            && silence.rule.as_ref().is_none_or(|rule| *rule == alert.rule)
            && silence.group.as_ref().is_none_or(|group| *group == alert.group)
    });
    found.map(|silence| silence.id)
}

/// Returns the rule that keeps an alert from being told while it fires for the same group.
fn inhibited_by(state: &Known, alert: &Alert) -> Option<String> {
    let catalog = state.automation().catalog();
    let mut firing = state.automation().alerts().live().filter(|other| {
        other.state == AlertState::Firing && other.group == alert.group && other.id != alert.id
    });
    let found = firing.find(|other| {
        let rule = catalog.get(Noun::AlertRule, &other.rule).map(|known| &known.spec);
        matches!(rule, Some(Spec::AlertRule(rule)) if rule.inhibits.contains(&alert.rule))
    });
    found.map(|other| other.rule.to_string())
}

fn show_state(state: AlertState) -> wire::AlertState {
    match state {
        AlertState::Pending => wire::AlertState::Pending,
        AlertState::Firing => wire::AlertState::Firing,
        AlertState::Recovering => wire::AlertState::Recovering,
        AlertState::Resolved => wire::AlertState::Resolved,
    }
}
