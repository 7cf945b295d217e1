//! Streams: shown, set, appended to; the atomic step of a coordinator. Reading is in `follow`.

use axum::Json;
use axum::extract::State;
use axum::http::Uri;
use clawhold_api::page::{Done, PageQuery};
use clawhold_api::stream as wire;
use clawhold_core::answer::{Answer, Kind, Refusal};
use clawhold_core::command::{Append, Command, Commit, NewPosition, RemoveStream, SetStream};
use clawhold_core::limits;
use clawhold_core::replica::Replica;
use clawhold_core::stream::Stream;
use clawhold_core::units::{EventNumber, Name, Token};

use super::body::Body;
use super::call::{Call, Written};
use super::error::Rejected;
use super::job::enqueued;
use super::query::{Listed, Query, Word, page, rows};
use super::{Room, convert, view};

pub(super) async fn list(
    State(room): State<Room>,
    uri: Uri,
    Query(query): Query<PageQuery>,
) -> Result<Listed<wire::Stream>, Rejected> {
    let rows = rows(query.limit)?;
    let after = convert::name_opt("cursor", query.cursor.as_deref())?;
    let items = room.read(move |replica| {
        let streams = replica.state().streams().list(after.as_ref()).take(rows.limit + 1);
        Ok(streams.map(show_stream).collect())
    });
    Ok(page(items.await?, rows, &uri, |stream: &wire::Stream| stream.name.clone()))
}

pub(super) async fn show(
    State(room): State<Room>,
    Word(stream): Word,
) -> Result<Json<wire::Stream>, Rejected> {
    let stream = convert::name("stream", &stream)?;
    room.read(move |replica| find(replica, &stream).map(show_stream)).await.map(Json)
}

pub(super) async fn set(
    State(room): State<Room>,
    call: Call,
    Word(stream): Word,
    Body(body): Body<wire::SetStream>,
) -> Result<Written<wire::Stream>, Rejected> {
    let stream = convert::name("stream", &stream)?;
    let age_ms_max = body.age_ms_max;
    let command = SetStream {
        stream: stream.clone(),
        events_max: body.events_max,
        bytes_max: body.bytes_max,
        age_ms_max: convert::range_opt("age_ms_max", age_ms_max, 0, limits::DURATION_MS_MAX)?,
    };
    let command = Command::SetStream(command);
    room.write(call, command, move |replica, _| find(replica, &stream).map(show_stream)).await
}

pub(super) async fn remove(
    State(room): State<Room>,
    call: Call,
    Word(stream): Word,
) -> Result<Written<Done>, Rejected> {
    let stream = convert::name("stream", &stream)?;
    room.write(call, Command::RemoveStream(RemoveStream { stream }), |_, _| Ok(Done {})).await
}

pub(super) async fn append(
    State(room): State<Room>,
    call: Call,
    Word(stream): Word,
    Body(body): Body<wire::Append>,
) -> Result<Written<wire::Appended>, Rejected> {
    let command = Append {
        stream: convert::name("stream", &stream)?,
        events: convert::events("events", &body.events)?,
        expected: body.expected.map(EventNumber),
    };
    let written = room.write(call, Command::Append(command), |_, answer| {
        let Answer::Appended { last } = answer else { return Err(Rejected::broken("append")) };
        Ok(wire::Appended { last: last.0 })
    });
    written.await
}

pub(super) async fn positions(
    State(room): State<Room>,
    Word(stream): Word,
) -> Result<Json<wire::Positions>, Rejected> {
    let stream = convert::name("stream", &stream)?;
    let shown = room.read(move |replica| {
        let found = find(replica, &stream)?;
        let last = found.last().0;
        let positions = found.positions.iter().map(|(role, recorded)| wire::RolePosition {
            role: role.to_string(),
            through: recorded.through.0,
            token: recorded.token.0,
            at: view::moment(recorded.stamp),
            lag: last.saturating_sub(recorded.through.0),
        });
        Ok(wire::Positions { positions: positions.collect() })
    });
    shown.await.map(Json)
}

pub(super) async fn commit(
    State(room): State<Room>,
    call: Call,
    Body(body): Body<wire::Commit>,
) -> Result<Written<wire::Committed>, Rejected> {
    let position = body.position.as_ref().map(|position| {
        let stream = convert::name("position.stream", &position.stream)?;
        Ok::<_, Rejected>(NewPosition { stream, through: EventNumber(position.through) })
    });
    let command = Commit {
        role: convert::name("role", &body.role)?,
        session: convert::session("session", &body.session)?,
        token: Token(body.token),
        position: position.transpose()?,
        jobs: convert::new_jobs(&body.jobs, 0)?,
        appends: convert::appends(&body.appends)?,
    };
    let written = room.write(call, Command::Commit(Box::new(command)), |_, answer| {
        let Answer::Committed { jobs } = answer else { return Err(Rejected::broken("commit")) };
        Ok(wire::Committed { jobs: enqueued(jobs) })
    });
    written.await
}

fn find<'a>(replica: &'a Replica, stream: &Name) -> Result<&'a Stream, Rejected> {
    let missing = || Refusal::NotFound { kind: Kind::Stream, name: stream.as_str().into() };
    replica.state().streams().get(stream).ok_or_else(|| Rejected::from(&missing()))
}

fn show_stream(stream: &Stream) -> wire::Stream {
    wire::Stream {
        name: stream.name.to_string(),
        first: stream.first.0,
        last: stream.last().0,
        bytes: stream.bytes,
        settings: wire::StreamSettings {
            events_max: stream.events_max,
            bytes_max: stream.bytes_max,
            age_ms_max: stream.age_ms_max,
        },
        positions_count: stream.positions.len() as u64,
    }
}
