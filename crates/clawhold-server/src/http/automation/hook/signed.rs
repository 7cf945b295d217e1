//! Signed requests of any program: the signature is the one that our own webhooks bear.

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::json;

use super::{Heard, not_genuine, request_id};
use crate::clock;
use crate::http::Room;
use crate::http::body;
use crate::http::error::Rejected;
use crate::http::query::Word;
use crate::signature;

/// What a request says.
#[derive(Debug, Deserialize)]
struct Words {
    /// The words: `/runbook rebalance`.
    text: String,
    /// The id of who asks, as the channel links it.
    #[serde(default)]
    user: String,
}

pub(in crate::http::automation) async fn take(
    State(room): State<Room>,
    Word(channel): Word,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Rejected> {
    let door = room.door(&channel).await?;
    let header = headers.get(signature::HEADER).and_then(|value| value.to_str().ok());
    let now_s = clock::now().at.0 / 1_000;
    let genuine = header
        .and_then(|header| signature::check_header(door.secret.as_bytes(), now_s, header, &body));
    let signed = genuine.ok_or_else(not_genuine)?;
    let words: Words = body::parse(&body)?;
    let id = request_id("hook", &[door.title.as_str().as_bytes(), signed.as_bytes()]);
    let heard = Heard { door, user: words.user, text: words.text, id, reply_url: None };
    let said = room.hear(heard).await;
    Ok(Json(json!({"ok": said.ok, "lines": said.lines, "run": said.run})).into_response())
}
