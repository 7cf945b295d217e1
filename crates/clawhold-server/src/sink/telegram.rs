//! Telegram's bots: plain text, no parse mode.

use bytes::Bytes;
use clawhold_core::catalog::Secret;
use clawhold_core::outbox::Sent;
use serde_json::{Value, json};

use super::{Letter, fit, open, outcome, post};
use crate::outside::Outside;

/// Where the bot API is.
const BASE: &str = "https://api.telegram.org";
/// UTF-16 units of a message.
const UNITS_MAX: usize = 4_096;

pub(super) async fn send(
    outside: &Outside,
    token: &Secret,
    chat: &str,
    base: Option<&str>,
    letter: &Letter,
) -> Result<Sent, Sent> {
    let token = open(token)?;
    let base = base.unwrap_or(BASE).trim_end_matches('/');
    let url = format!("{base}/bot{}/sendMessage", token.as_str());
    let body = Bytes::from(render(chat, letter).to_string());
    let mut answer = post(outside, &url, Vec::new(), body, &[token.as_str()]).await?;
    if answer.retry_ms.is_none() {
        answer.retry_ms = retry_ms(&answer.body);
    }
    outcome(&answer)
}

fn render(chat: &str, letter: &Letter) -> Value {
    let lead = letter.message.mention.as_ref().map(|mention| format!("{} ", mention.as_str()));
    let text = format!("{}{}", lead.unwrap_or_default(), letter.text());
    let text = text_of(&text, &letter.tail());
    json!({"chat_id": chat, "text": text, "link_preview_options": {"is_disabled": true}})
}

/// Returns text within the limit. Telegram turns `@name` into a mention by itself, so that is
/// kept apart.
pub(crate) fn text_of(text: &str, tail: &str) -> String {
    let units = |text: &str| text.encode_utf16().count();
    fit(text, tail, UNITS_MAX, units, super::part)
}

/// Returns how long Telegram wants to be left alone, which it says in the body.
fn retry_ms(body: &[u8]) -> Option<u64> {
    let answer: Value = serde_json::from_slice(body).ok()?;
    let seconds = answer.get("parameters")?.get("retry_after")?.as_u64()?;
    Some(seconds.saturating_mul(1_000))
}

#[cfg(test)]
mod tests {
    use super::super::tests::letter;
    use super::*;

    #[test]
    fn markup_is_sent_as_text_without_a_parse_mode() {
        let sent = render("-7", &letter("<b>x</b> *y* [z](http://evil)", &["@everyone"]));
        assert_eq!(sent.get("parse_mode"), None);
        let text = "<b>x</b> *y* [z]\u{2060}(http://evil)\n@\u{2060}everyone";
        assert_eq!(sent["text"], text);
        assert_eq!(sent["link_preview_options"]["is_disabled"], true);
    }

    #[test]
    fn the_limit_counts_utf_16_units() {
        let line = "🦀".repeat(500);
        let lines = [line.as_str(); 5];
        let sent = render("-7", &letter("crabs", &lines));
        let text = sent["text"].as_str().unwrap();
        assert!(text.encode_utf16().count() <= UNITS_MAX);
        assert!(text.ends_with("has all of it"));
    }

    #[test]
    fn the_time_to_wait_stands_in_the_body() {
        let body = br#"{"ok":false,"error_code":429,"parameters":{"retry_after":9}}"#;
        assert_eq!(retry_ms(body), Some(9_000));
        assert_eq!(retry_ms(b"{}"), None);
    }
}
