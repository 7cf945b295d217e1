//! Roles: shown, set, released and handed over. Asking for one is told in `role_acquire`.

use axum::Json;
use axum::extract::State;
use axum::http::Uri;
use clawhold_api::page::{Done, PageQuery};
use clawhold_api::role as wire;
use clawhold_core::answer::{Answer, Granted, Kind, Refusal};
use clawhold_core::command::{
    AskHandOver, Command, HandOver, Release, RemoveRole, SetRole, Successor, Withdraw,
};
use clawhold_core::limits;
use clawhold_core::replica::Replica;
use clawhold_core::role::{Candidate, Lease, Role, RoleChange};
use clawhold_core::units::{Name, Token};

use super::body::Body;
use super::call::{Call, Written};
use super::error::Rejected;
use super::query::{Listed, Query, Word, page, rows};
use super::worker::resolve;
use super::{Room, convert, promotion, view};

pub(super) async fn list(
    State(room): State<Room>,
    uri: Uri,
    Query(query): Query<PageQuery>,
) -> Result<Listed<wire::Role>, Rejected> {
    let rows = rows(query.limit)?;
    let after = convert::name_opt("cursor", query.cursor.as_deref())?;
    let items = room.read(move |replica| {
        let roles = replica.state().roles().list(after.as_ref()).take(rows.limit + 1);
        Ok(roles.map(|role| show_role(replica, role)).collect())
    });
    Ok(page(items.await?, rows, &uri, |role: &wire::Role| role.name.clone()))
}

pub(super) async fn show(
    State(room): State<Room>,
    Word(role): Word,
) -> Result<Json<wire::Role>, Rejected> {
    let role = convert::name("role", &role)?;
    room.read(move |replica| show_named(replica, &role)).await.map(Json)
}

pub(super) async fn set(
    State(room): State<Room>,
    call: Call,
    Word(role): Word,
    Body(body): Body<wire::SetRole>,
) -> Result<Written<wire::Role>, Rejected> {
    let role = convert::name("role", &role)?;
    let (min, max) = (limits::TTL_MS_MIN, limits::TTL_MS_MAX);
    let command = SetRole {
        role: role.clone(),
        ttl_ms: convert::range_opt("ttl_ms", body.ttl_ms, min, max)?,
        lag_events_max: body.lag_events_max,
        promotion: body.promotion.map(promotion::read),
    };
    let command = Command::SetRole(command);
    room.write(call, command, move |replica, _| show_named(replica, &role)).await
}

pub(super) async fn remove(
    State(room): State<Room>,
    call: Call,
    Word(role): Word,
) -> Result<Written<Done>, Rejected> {
    let role = convert::name("role", &role)?;
    room.write(call, Command::RemoveRole(RemoveRole { role }), |_, _| Ok(Done {})).await
}

pub(super) async fn history(
    State(room): State<Room>,
    Word(role): Word,
) -> Result<Json<wire::RoleHistory>, Rejected> {
    let role = convert::name("role", &role)?;
    let shown = room.read(move |replica| {
        let found = replica.state().roles().get(&role).ok_or_else(|| missing(&role))?;
        let items = found.history().map(show_change).collect();
        Ok(wire::RoleHistory { role: role.to_string(), items })
    });
    shown.await.map(Json)
}

pub(super) async fn withdraw(
    State(room): State<Room>,
    call: Call,
    Word(role): Word,
    Body(body): Body<wire::Withdraw>,
) -> Result<Written<Done>, Rejected> {
    let role = convert::name("role", &role)?;
    let session = convert::session("session", &body.session)?;
    let command = Command::Withdraw(Withdraw { role, session });
    room.write(call, command, |_, _| Ok(Done {})).await
}

pub(super) async fn release(
    State(room): State<Room>,
    call: Call,
    Word(role): Word,
    Body(body): Body<wire::Release>,
) -> Result<Written<wire::Released>, Rejected> {
    let role = convert::name("role", &role)?;
    let session = convert::session("session", &body.session)?;
    let command = Command::Release(Release { role, session, token: Token(body.token) });
    let written = room.write(call, command, |_, answer| {
        let Answer::Released { next } = answer else {
            return Err(Rejected::broken("release a role"));
        };
        Ok(wire::Released { next: next.map(next_holder) })
    });
    written.await
}

pub(super) async fn hand_over(
    State(room): State<Room>,
    call: Call,
    Word(role): Word,
    Body(body): Body<wire::HandOver>,
) -> Result<Written<wire::NextHolder>, Rejected> {
    let role = convert::name("role", &role)?;
    let holder = body.session.as_ref().map(|key| convert::session("session", key)).transpose()?;
    let to = room.successor(&role, body.to).await?;
    let token = body.token.map(Token);
    let command = Command::HandOver(HandOver { role, holder, token, to });
    let written = room.write(call, command, |_, answer| {
        let Answer::Granted(granted) = answer else {
            return Err(Rejected::broken("hand a role over"));
        };
        Ok(next_holder(*granted))
    });
    written.await
}

pub(super) async fn ask_hand_over(
    State(room): State<Room>,
    call: Call,
    Word(role): Word,
    Body(body): Body<wire::AskHandOver>,
) -> Result<Written<wire::Role>, Rejected> {
    let role = convert::name("role", &role)?;
    let within_ms = body.within_ms.unwrap_or(limits::HAND_OVER_MS_DEFAULT);
    let within_ms = convert::range("within_ms", within_ms, 1, limits::TTL_MS_MAX)?;
    let to = room.successor(&role, body.to).await?;
    let command = Command::AskHandOver(AskHandOver { role: role.clone(), to, within_ms });
    room.write(call, command, move |replica, _| show_named(replica, &role)).await
}

impl Room {
    /// Returns who is named as successor. A label is looked for among the role's candidates.
    async fn successor(&self, role: &Name, to: Option<String>) -> Result<Successor, Rejected> {
        let Some(to) = to else { return Ok(Successor::MostCaughtUp) };
        convert::name("to", &to)?;
        let role = role.clone();
        let found = self.read(move |replica| {
            let role = replica.state().roles().get(&role);
            resolve(replica, "to", &to, |session| {
                role.is_some_and(|role| role.candidate(session.id).is_some())
            })
        });
        found.await.map(Successor::Session)
    }
}

fn next_holder(granted: Granted) -> wire::NextHolder {
    wire::NextHolder { session: granted.session.0, token: granted.token.0 }
}

fn missing(role: &Name) -> Rejected {
    (&Refusal::NotFound { kind: Kind::Role, name: role.as_str().into() }).into()
}

fn show_named(replica: &Replica, role: &Name) -> Result<wire::Role, Rejected> {
    let found = replica.state().roles().get(role).ok_or_else(|| missing(role))?;
    Ok(show_role(replica, found))
}

pub(super) fn show_role(replica: &Replica, role: &Role) -> wire::Role {
    let candidates = role.candidates.iter().take(wire::CANDIDATES_LISTED_MAX);
    let promoter = promotion::promoter(replica.state(), role);
    wire::Role {
        name: role.name.to_string(),
        ttl_ms: role.ttl_ms,
        lag_events_max: role.lag_events_max,
        token: role.floor.0,
        holder: role.held.as_ref().map(|lease| show_holder(replica, role, lease)),
        candidates: candidates.map(|one| show_candidate(replica, role, one)).collect(),
        candidates_count: role.candidates.len() as u64,
        positions: show_positions(replica, role),
        promotion: promotion::show(role.promotion),
        promoter: promoter.who,
        promoter_left: promoter.left,
        promoter_blocked: promoter.blocked,
        withheld_since: role.withheld.map(view::moment),
    }
}

fn show_holder(replica: &Replica, role: &Role, lease: &Lease) -> wire::Holder {
    let deadline = replica.beats().lease_deadline(replica.state(), &role.name);
    wire::Holder {
        id: lease.session.0,
        label: lease.label.to_string(),
        token: lease.token.0,
        since: view::moment(lease.granted),
        ttl_ms: lease.ttl_ms,
        left_ms: view::left_ms(replica, deadline.unwrap_or(lease.lapses)),
        asked: lease.asked.as_ref().map(|asked| view::asked(replica, asked)),
    }
}

fn show_candidate(replica: &Replica, role: &Role, candidate: &Candidate) -> wire::Candidate {
    let report = replica.beats().report(candidate.session);
    let reported = report.and_then(|report| report.consumed.get(&role.name)).copied();
    let consumed = reported.or(candidate.consumed);
    let stream = candidate.stream.as_ref().or(role.stream.as_ref());
    let last = stream.map(|stream| replica.state().streams().last(stream).0);
    let lag = last.map(|last| last.saturating_sub(consumed.map_or(0, |consumed| consumed.0)));
    wire::Candidate {
        id: candidate.session.0,
        label: candidate.label.to_string(),
        since: view::moment(candidate.since),
        stream: stream.map(ToString::to_string),
        consumed: consumed.map(|consumed| consumed.0),
        lag,
        silent_ms: view::silent_ms(replica, candidate.session),
    }
}

/// Returns the positions recorded under a role, in the streams that it or its standbys name.
fn show_positions(replica: &Replica, role: &Role) -> Vec<wire::RecordedPosition> {
    let streams = replica.state().streams();
    let holder = role.held.as_ref().and_then(|lease| lease.stream.as_ref());
    let standbys = role.candidates.iter().filter_map(|candidate| candidate.stream.as_ref());
    let mut names: Vec<&Name> = role.stream.iter().chain(holder).chain(standbys).collect();
    names.sort_unstable();
    names.dedup();
    let recorded = names.into_iter().filter_map(|stream| {
        let recorded = streams.recorded(stream, &role.name)?;
        Some(wire::RecordedPosition {
            stream: stream.to_string(),
            through: recorded.through.0,
            token: recorded.token.0,
            lag: streams.last(stream).0.saturating_sub(recorded.through.0),
        })
    });
    recorded.collect()
}

fn show_change(change: &RoleChange) -> wire::RoleChange {
    let holder = change.session.map(|session| wire::HolderName {
        id: session.0,
        label: change.label.as_ref().map(ToString::to_string).unwrap_or_default(),
        token: change.token.0,
    });
    wire::RoleChange {
        position: change.stamp.position.0,
        at: view::moment(change.stamp),
        cause: change.cause.as_str().to_owned(),
        holder,
        token: change.token.0,
    }
}
