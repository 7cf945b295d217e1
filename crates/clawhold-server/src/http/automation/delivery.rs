//! Deliveries: messages on their way to sinks, and those that no sink took.

use axum::extract::State;
use axum::http::Uri;
use clawhold_api::automation::inbox as wire;
use clawhold_api::page::Nothing;
use clawhold_core::State as Known;
use clawhold_core::command::{Automate, RetryDelivery};
use clawhold_core::outbox::{Delivery, Outbox};
use clawhold_core::replica::Replica;
use clawhold_core::units::MessageId;

use super::definition::automate;
use super::inbox::{message_id, missing};
use super::value;
use crate::clock;
use crate::http::Room;
use crate::http::body::Body;
use crate::http::call::{Call, Written};
use crate::http::error::Rejected;
use crate::http::query::{Listed, Query, Word, number_cursor, page, rows};

pub(super) async fn list(
    State(room): State<Room>,
    uri: Uri,
    Query(query): Query<wire::DeliveryQuery>,
) -> Result<Listed<wire::Delivery>, Rejected> {
    let rows = rows(query.limit)?;
    let after = number_cursor(query.cursor.as_deref())?.unwrap_or(0);
    let channel = value::title_opt("channel", query.channel.as_deref())?;
    let (waiting, failed) = match value::given(query.state.as_deref()) {
        None => (true, true),
        Some("waiting") => (true, false),
        Some("failed") => (false, true),
        Some(other) => return Err(Rejected::field("state", other, "waiting or failed")),
    };
    let items = room.read(move |replica| {
        let outbox = replica.state().automation().outbox();
        let on_way = outbox.deliveries().filter(|_| waiting).map(|(id, one)| (id, one, false));
        let dead = outbox.dead().filter(|_| failed).map(|(id, one)| (id, one, true));
        let mut all: Vec<_> = on_way.chain(dead).filter(|(id, _, _)| id.0 > after).collect();
        all.sort_unstable_by_key(|(id, _, _)| *id);
        let shown = all.into_iter().filter_map(|(id, delivery, is_dead)| {
            let message = outbox.get(id);
            let fits = channel
                .as_ref()
                .is_none_or(|channel| message.is_some_and(|message| message.channel == *channel));
            fits.then(|| show(replica.state(), id, delivery, is_dead))
        });
        Ok(shown.take(rows.limit + 1).collect())
    });
    Ok(page(items.await?, rows, &uri, |delivery: &wire::Delivery| delivery.message.to_string()))
}

pub(super) async fn retry(
    State(room): State<Room>,
    call: Call,
    Word(message): Word,
    Body(Nothing {}): Body<Nothing>,
) -> Result<Written<wire::Delivery>, Rejected> {
    let message = message_id(&message)?;
    let command = automate(Automate::RetryDelivery(RetryDelivery { message }));
    room.write(call, command, move |replica, _| show_named(replica, message)).await
}

fn show_named(replica: &Replica, message: MessageId) -> Result<wire::Delivery, Rejected> {
    let state = replica.state();
    let (delivery, is_dead) = find(state.automation().outbox(), message)
        .ok_or_else(|| Rejected::from(&missing(message)))?;
    Ok(show(state, message, delivery, is_dead))
}

fn find(outbox: &Outbox, message: MessageId) -> Option<(&Delivery, bool)> {
    let on_way = outbox.deliveries().find(|(id, _)| *id == message);
    let dead = || outbox.dead().find(|(id, _)| *id == message).map(|(_, dead)| (dead, true));
    on_way.map(|(_, delivery)| (delivery, false)).or_else(dead)
}

fn show(state: &Known, id: MessageId, delivery: &Delivery, is_dead: bool) -> wire::Delivery {
    let message = state.automation().outbox().get(id);
    let is_sending = delivery.sending.as_ref().is_some_and(|(epoch, _)| *epoch == state.epoch());
    let word = if is_dead {
        "failed"
    } else if is_sending {
        "sending"
    } else {
        "waiting"
    };
    wire::Delivery {
        message: id.0,
        channel: message.map(|message| message.channel.to_string()).unwrap_or_default(),
        title: message.map(|message| message.title.as_str().to_owned()).unwrap_or_default(),
        state: word.to_owned(),
        failures: delivery.failures,
        error: delivery.error.as_str().to_owned(),
        next: (!is_dead).then(|| clock::rfc3339(delivery.next)),
        until: clock::rfc3339(delivery.until),
        doubt: delivery.doubt.map(clock::rfc3339),
    }
}
