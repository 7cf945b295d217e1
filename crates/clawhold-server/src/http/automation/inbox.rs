//! The inbox: every message, whatever a sink made of it.

use axum::Json;
use axum::extract::State;
use axum::http::Uri;
use clawhold_api::automation::inbox as wire;
use clawhold_core::answer::{Kind, Refusal};
use clawhold_core::command::{Automate, ReadInbox};
use clawhold_core::outbox::{Message, Outbox};
use clawhold_core::replica::Replica;
use clawhold_core::units::MessageId;

use super::definition::automate;
use super::value;
use crate::http::body::Body;
use crate::http::call::{Call, Written};
use crate::http::error::Rejected;
use crate::http::query::{Listed, Query, Rows, Word, number_cursor, page, rows};
use crate::http::{Room, convert, view};

pub(super) async fn list(
    State(room): State<Room>,
    uri: Uri,
    Query(query): Query<wire::InboxQuery>,
) -> Result<Listed<wire::Message>, Rejected> {
    let last = query.last.map(|last| convert::range("last", last, 1, 1_000)).transpose()?;
    let rows = match last {
        Some(last) => Rows { limit: usize::try_from(last).unwrap_or(usize::MAX) },
        None => rows(query.limit)?,
    };
    let after = number_cursor(query.cursor.as_deref())?.or(query.after).unwrap_or(0);
    let channel = value::title_opt("channel", query.channel.as_deref())?;
    let unread = query.unread == Some(true);
    let items = room.read(move |replica| {
        let outbox = replica.state().automation().outbox();
        let fits = outbox.list(MessageId(after)).filter(|message| {
            channel.as_ref().is_none_or(|channel| message.channel == *channel)
                && (!unread || message.id > outbox.read())
        });
        if last.is_some() {
            let mut shown: Vec<_> =
                fits.rev().take(rows.limit).map(|message| show_message(outbox, message)).collect();
            shown.reverse();
            return Ok(shown);
        }
        Ok(fits.take(rows.limit + 1).map(|message| show_message(outbox, message)).collect())
    });
    Ok(page(items.await?, rows, &uri, |message: &wire::Message| message.id.to_string()))
}

pub(super) async fn show(
    State(room): State<Room>,
    Word(message): Word,
) -> Result<Json<wire::Message>, Rejected> {
    let message = message_id(&message)?;
    let shown = room.read(move |replica| {
        let outbox = replica.state().automation().outbox();
        let found = outbox.get(message).map(|message| show_message(outbox, message));
        found.ok_or_else(|| Rejected::from(&missing(message)))
    });
    shown.await.map(Json)
}

/// Returns the number of a message.
pub(super) fn message_id(text: &str) -> Result<MessageId, Rejected> {
    let allowed = "the number of a message; GET /v1/inbox lists them";
    text.parse().map(MessageId).map_err(|_| Rejected::field("message", text, allowed))
}

/// Returns the refusal of a message that is not there.
pub(super) fn missing(message: MessageId) -> Refusal {
    Refusal::NotFound { kind: Kind::Message, name: message.to_string().into() }
}

pub(super) async fn read(
    State(room): State<Room>,
    call: Call,
    Body(body): Body<wire::ReadInbox>,
) -> Result<Written<wire::InboxState>, Rejected> {
    let command = ReadInbox { through: MessageId(body.through) };
    let command = automate(Automate::ReadInbox(command));
    room.write(call, command, |replica, _| Ok(show_state(replica))).await
}

fn show_state(replica: &Replica) -> wire::InboxState {
    let outbox = replica.state().automation().outbox();
    wire::InboxState { read: outbox.read().0, unread: outbox.unread_count() }
}

/// Shows a message.
pub(super) fn show_message(outbox: &Outbox, message: &Message) -> wire::Message {
    wire::Message {
        id: message.id.0,
        channel: message.channel.to_string(),
        at: view::moment(message.stamp),
        severity: message.severity.as_str().to_owned(),
        title: message.title.as_str().to_owned(),
        lines: message.lines.iter().map(|line| line.as_str().to_owned()).collect(),
        mention: message.mention.as_ref().map(|mention| mention.as_str().to_owned()),
        run: message.run.map(|run| run.0),
        alert: message.alert.map(|alert| alert.0),
        read: message.id <= outbox.read(),
        delivery: delivery(outbox, message.id).to_owned(),
    }
}

fn delivery(outbox: &Outbox, message: MessageId) -> &'static str {
    let is = |(known, _): (MessageId, &clawhold_core::outbox::Delivery)| known == message;
    if outbox.delivered(message).is_some() {
        "delivered"
    } else if outbox.deliveries().any(is) {
        "waiting"
    } else if outbox.dead().any(is) {
        "failed"
    } else {
        "inbox"
    }
}
