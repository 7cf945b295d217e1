//! Slash commands of Slack.

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use clawhold_core::units::Text;
use reqwest::Url;

use super::{Heard, not_genuine, request_id};
use crate::clock;
use crate::http::Room;
use crate::http::error::Rejected;
use crate::http::query::Word;
use crate::outside::is_reply_url;
use crate::signature;
use crate::sink::slack::answer;

pub(in crate::http::automation) async fn take(
    State(room): State<Room>,
    Word(channel): Word,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Rejected> {
    let door = room.door(&channel).await?;
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let at = text("x-slack-request-timestamp").ok_or_else(not_genuine)?;
    let signed = text("x-slack-signature").and_then(|value| value.strip_prefix("v0="));
    let signed = signed.ok_or_else(not_genuine)?;
    let now_s = clock::now().at.0 / 1_000;
    let parts: [&[u8]; 4] = [b"v0:", at.as_bytes(), b":", &body];
    let genuine = signature::is_recent(now_s, at)
        && signature::is_genuine(door.secret.as_bytes(), &parts, signed);
    if !genuine {
        return Err(not_genuine());
    }
    let form = Form::read(&body).ok_or_else(not_genuine)?;
    if form.is_check {
        return Ok(Json(serde_json::json!({})).into_response());
    }
    let id = request_id("slack", &[door.title.as_str().as_bytes(), at.as_bytes(), &body]);
    let reply_url = form.response_url.filter(|url| is_reply_url(url));
    let reply_url = reply_url.and_then(|url| Text::parse(&url).ok());
    let words = format!("{} {}", form.command, form.text).trim().to_owned();
    let heard = Heard { door, user: form.user_id, text: words, id, reply_url };
    let text = match room.hear_soon(heard).await {
        Some(said) => said.lines.join("\n"),
        None => "It takes a moment; the answer follows.".to_owned(),
    };
    Ok(Json(answer(&text)).into_response())
}

/// What a slash command says.
#[derive(Debug, Default)]
struct Form {
    command: String,
    text: String,
    user_id: String,
    response_url: Option<String>,
    /// Whether Slack only checks that the address lives.
    is_check: bool,
}

impl Form {
    fn read(body: &[u8]) -> Option<Self> {
        let body = std::str::from_utf8(body).ok()?;
        let mut url = Url::parse("http://form/").ok()?;
        url.set_query(Some(body));
        let mut form = Self::default();
        for (name, value) in url.query_pairs() {
            let value = value.into_owned();
            match name.as_ref() {
                "command" => form.command = value,
                "text" => form.text = value,
                "user_id" => form.user_id = value,
                "response_url" => form.response_url = Some(value),
                "ssl_check" => form.is_check = value == "1",
                _ => {}
            }
        }
        Some(form)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_reads_as_slack_writes_it() {
        let body = b"command=%2Frunbook&text=rebalance+worker%3Dw-3&user_id=U1&user_name=dana\
            &response_url=https%3A%2F%2Fhooks.slack.com%2Fx%3Fa%3Db%26c";
        let form = Form::read(body).unwrap();
        assert_eq!(
            (form.command.as_str(), form.text.as_str()),
            ("/runbook", "rebalance worker=w-3")
        );
        assert_eq!(form.user_id, "U1");
        assert_eq!(form.response_url.as_deref(), Some("https://hooks.slack.com/x?a=b&c"));
        assert!(Form::read(b"\xff").is_none());
    }
}
