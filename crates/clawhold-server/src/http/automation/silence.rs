//! Silences: alerts that are not told for a while.

use axum::extract::State;
use axum::http::Uri;
use clawhold_api::automation::alert as wire;
use clawhold_api::page::{Done, PageQuery};
use clawhold_core::alert::Silence;
use clawhold_core::answer::Answer;
use clawhold_core::command::{AddSilence, Automate, ExpireSilence};
use clawhold_core::limits;
use clawhold_core::units::Timestamp;

use super::definition::automate;
use super::value;
use crate::clock;
use crate::http::body::Body;
use crate::http::call::{Call, Written};
use crate::http::error::Rejected;
use crate::http::query::{Listed, Query, Word, number_cursor, page, rows};
use crate::http::{Room, convert, view};

pub(super) async fn list(
    State(room): State<Room>,
    uri: Uri,
    Query(query): Query<PageQuery>,
) -> Result<Listed<wire::Silence>, Rejected> {
    let rows = rows(query.limit)?;
    let after = number_cursor(query.cursor.as_deref())?;
    let items = room.read(move |replica| {
        let silences = replica.state().automation().alerts().silences();
        let silences = silences.filter(|one| after.is_none_or(|after| one.id > after));
        Ok(silences.take(rows.limit + 1).map(show).collect())
    });
    Ok(page(items.await?, rows, &uri, |silence: &wire::Silence| silence.id.to_string()))
}

pub(super) async fn add(
    State(room): State<Room>,
    call: Call,
    Body(body): Body<wire::AddSilence>,
) -> Result<Written<wire::Silence>, Rejected> {
    let for_ms = convert::range("for_ms", body.for_ms, 1, limits::SILENCE_MS_MAX)?;
    let Some(reason) = value::text_opt("reason", Some(&body.reason))? else {
        return Err(Rejected::field("reason", "nothing", "why they are silenced"));
    };
    let command = AddSilence {
        rule: value::title_opt("rule", body.rule.as_deref())?,
        group: value::text_opt("group", body.group.as_deref())?,
        reason,
        until: Timestamp(0),
        until_resolved: body.until_resolved,
        for_ms: Some(for_ms),
    };
    let command = automate(Automate::AddSilence(command));
    let written = room.write(call, command, |replica, answer| {
        let Answer::Silenced { silence } = answer else {
            return Err(Rejected::broken("silence alerts"));
        };
        let mut silences = replica.state().automation().alerts().silences();
        let found = silences.find(|known| known.id == *silence);
        found.map(show).ok_or_else(|| Rejected::broken("silence alerts"))
    });
    written.await
}

pub(super) async fn expire(
    State(room): State<Room>,
    call: Call,
    Word(silence): Word,
) -> Result<Written<Done>, Rejected> {
    let allowed = "the number of a silence; GET /v1/silences lists them";
    let silence = silence.parse().map_err(|_| Rejected::field("silence", &silence, allowed))?;
    let command = automate(Automate::ExpireSilence(ExpireSilence { silence }));
    room.write(call, command, |_, _| Ok(Done {})).await
}

fn show(silence: &Silence) -> wire::Silence {
    wire::Silence {
        id: silence.id,
        rule: silence.rule.as_ref().map(ToString::to_string),
        group: silence.group.as_ref().map(|group| group.as_str().to_owned()),
        reason: silence.reason.as_str().to_owned(),
        until: clock::rfc3339(silence.until),
        until_resolved: silence.until_resolved,
        actor: silence.actor.as_ref().map(ToString::to_string),
        created: view::moment(silence.stamp),
    }
}
