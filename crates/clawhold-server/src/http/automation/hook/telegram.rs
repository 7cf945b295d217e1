//! Updates of a Telegram bot. They bear a fixed secret and no signature, and come again until they
//! are answered, so each update is answered once.

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::json;

use super::{Heard, not_genuine, request_id};
use crate::http::Room;
use crate::http::body;
use crate::http::error::Rejected;
use crate::http::query::Word;
use crate::signature;
use crate::sink::telegram::text_of;

#[derive(Debug, Deserialize)]
struct Update {
    update_id: u64,
    message: Option<Message>,
}

#[derive(Debug, Deserialize)]
struct Message {
    text: Option<String>,
    from: Option<Person>,
    chat: Chat,
}

#[derive(Debug, Deserialize)]
struct Person {
    id: i64,
}

#[derive(Debug, Deserialize)]
struct Chat {
    id: i64,
}

pub(in crate::http::automation) async fn take(
    State(room): State<Room>,
    Word(channel): Word,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Rejected> {
    let door = room.door(&channel).await?;
    let given = headers.get("x-telegram-bot-api-secret-token");
    let given = given.map(|value| value.as_bytes()).unwrap_or_default();
    if !signature::is_same(door.secret.as_bytes(), given) {
        return Err(not_genuine());
    }
    let nothing = || Json(json!({})).into_response();
    let update: Update = body::parse(&body)?;
    let Some(Message { text: Some(text), from: Some(from), chat }) = update.message else {
        return Ok(nothing());
    };
    if !text.starts_with('/') {
        return Ok(nothing());
    }
    let number = update.update_id.to_string();
    let id = request_id("telegram", &[door.title.as_str().as_bytes(), number.as_bytes()]);
    if !room.hub.heard.is_first(id.as_str()) {
        return Ok(nothing());
    }
    let user = from.id.to_string();
    let heard = Heard { door, user, text: bare(&text), id, reply_url: None };
    let text = match room.hear_soon(heard).await {
        Some(said) => said.lines.join("\n"),
        None => "It takes a moment; the answer follows.".to_owned(),
    };
    let answer = json!({
        "method": "sendMessage",
        "chat_id": chat.id,
        "text": text_of(&text, "\n… cut"),
        "link_preview_options": {"is_disabled": true},
    });
    Ok(Json(answer).into_response())
}

/// Returns the words without the bot's name, which groups put behind the first: `/leader@bot`.
fn bare(text: &str) -> String {
    let (first, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let first = first.split('@').next().unwrap_or(first);
    format!("{first} {rest}").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bots_name_is_no_part_of_the_words() {
        assert_eq!(bare("/leader@clawbot billing"), "/leader billing");
        assert_eq!(bare("/leader"), "/leader");
        assert_eq!(bare("/runbook rebalance worker=a@b"), "/runbook rebalance worker=a@b");
    }
}
