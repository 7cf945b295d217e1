//! A signed webhook: JSON to a URL, with a key by which the other side takes it once only.

use axum::http::HeaderName;
use bytes::Bytes;
use clawhold_core::catalog::Secret;
use clawhold_core::outbox::Sent;
use serde_json::{Value, json};

use super::{Letter, open, outcome, post};
use crate::clock;
use crate::outside::Outside;
use crate::signature;

pub(super) async fn send(
    outside: &Outside,
    url: &Secret,
    secret: Option<&Secret>,
    letter: &Letter,
) -> Result<Sent, Sent> {
    let url = open(url)?;
    let body = Bytes::from(render(letter).to_string());
    let mut headers =
        vec![(HeaderName::from_static("idempotency-key"), key(letter.message.key.as_str()))];
    let secret = secret.map(open).transpose()?;
    if let Some(secret) = &secret {
        let at_s = clock::now().at.0 / 1_000;
        let signed = signature::header(secret.as_bytes(), at_s, &body);
        headers.push((HeaderName::from_static(signature::HEADER), signed));
    }
    let secret = secret.as_ref().map_or("", |secret| secret.as_str());
    outcome(&post(outside, url.as_str(), headers, body, &[secret]).await?)
}

/// Returns a message's key as a header: what does not fit is told by its digest.
fn key(key: &str) -> String {
    let fits =
        !key.is_empty() && key.len() <= 200 && key.bytes().all(|byte| byte.is_ascii_graphic());
    if fits { key.to_owned() } else { signature::print(&[key.as_bytes()]) }
}

fn render(letter: &Letter) -> Value {
    let message = &letter.message;
    let lines: Vec<String> = letter.lines().collect();
    json!({
        "key": message.key.as_str(),
        "message": message.id.0,
        "channel": message.channel.as_str(),
        "at": clock::rfc3339(message.stamp.at),
        "position": message.stamp.position.0,
        "severity": message.severity.as_str(),
        "title": message.title.as_str(),
        "lines": lines,
        "text": letter.text(),
        "mention": message.mention.as_ref().map(|mention| mention.as_str()),
        "run": message.run.map(|run| run.0),
        "step": message.step,
        "alert": message.alert.map(|alert| alert.0),
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::letter;
    use super::*;

    #[test]
    fn a_webhook_carries_the_parts_apart() {
        let sent = render(&letter("w-1 left", &["it held 3 jobs"]));
        assert_eq!(sent["key"], "run/7/end");
        assert_eq!(sent["lines"], json!(["it held 3 jobs"]));
        assert_eq!(sent["severity"], "info");
    }

    #[test]
    fn a_key_that_is_no_header_is_told_by_its_digest() {
        assert_eq!(key("alert/7/2"), "alert/7/2");
        let odd = key("größe/7\n");
        assert!(odd.len() == 32 && odd.is_ascii(), "{odd}");
        assert_ne!(odd, key("größe/8\n"));
    }
}
