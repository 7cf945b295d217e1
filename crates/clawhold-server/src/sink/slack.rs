//! Slack's incoming webhooks, and those that speak their form.

use bytes::Bytes;
use clawhold_core::catalog::Secret;
use clawhold_core::outbox::Sent;
use serde_json::{Value, json};

use super::{Letter, chars, fit, open, outcome, part, post};
use crate::outside::Outside;

/// Characters of a block of plain text.
const BLOCK_CHARS_MAX: usize = 2_900;
/// Characters of the text for notifications.
const TEXT_CHARS_MAX: usize = 3_500;

pub(super) async fn send(outside: &Outside, url: &Secret, letter: &Letter) -> Result<Sent, Sent> {
    let url = open(url)?;
    let body = Bytes::from(render(letter).to_string());
    outcome(&post(outside, url.as_str(), Vec::new(), body, &[]).await?)
}

/// Answers a request from the chat: only the one who asked sees it.
pub(super) async fn reply(outside: &Outside, url: &str, letter: &Letter) -> Result<Sent, Sent> {
    let mut body = render(letter);
    body["response_type"] = json!("ephemeral");
    body["replace_original"] = json!(false);
    outcome(&post(outside, url, Vec::new(), Bytes::from(body.to_string()), &[]).await?)
}

/// Returns the message: a block of plain text, in which nothing is markup, and the same text for
/// notifications, with what could be markup escaped.
fn render(letter: &Letter) -> Value {
    let mut blocks = vec![block(&letter.text(), &letter.tail())];
    let mut text = escape(&letter.text(), &letter.tail());
    if let Some(mention) = letter.message.mention.as_ref() {
        let mention = wanted(mention.as_str());
        text = format!("{mention} {text}");
        blocks.push(json!({"type": "section", "text": {"type": "mrkdwn", "text": mention}}));
    }
    json!({"text": text, "mrkdwn": false, "blocks": blocks})
}

/// Returns lines as an immediate answer to a request from the chat.
pub(crate) fn answer(text: &str) -> Value {
    let tail = "\n… cut";
    let blocks = [block(text, tail)];
    json!({
        "response_type": "ephemeral",
        "text": escape(text, tail),
        "mrkdwn": false,
        "blocks": blocks,
    })
}

fn block(text: &str, tail: &str) -> Value {
    let plain = |c: char, out: &mut String| out.push(c);
    let text = fit(text, tail, BLOCK_CHARS_MAX, chars, plain);
    json!({"type": "section", "text": {"type": "plain_text", "text": text, "emoji": false}})
}

fn escape(text: &str, tail: &str) -> String {
    fit(text, tail, TEXT_CHARS_MAX, chars, |c, out| match c {
        '&' => out.push_str("&amp;"),
        '<' => out.push_str("&lt;"),
        '>' => out.push_str("&gt;"),
        _ => part(c, out),
    })
}

/// Returns a mention that the operator wrote: `<@U…>`, `<!subteam^S…>`, `<!here>` as it is,
/// anything else as text.
fn wanted(mention: &str) -> String {
    let inner = mention.strip_prefix('<').and_then(|rest| rest.strip_suffix('>'));
    let known = inner.is_some_and(|inner| {
        let odd = |c: char| !(c.is_ascii_alphanumeric() || matches!(c, '^' | '_' | '-' | '.'));
        let name = inner.strip_prefix(['@', '!']);
        name.is_some_and(|name| !name.is_empty() && !name.contains(odd))
    });
    if known { mention.to_owned() } else { escape(mention, "…") }
}

#[cfg(test)]
mod tests {
    use clawhold_core::units::Text;

    use super::super::tests::letter;
    use super::*;

    #[test]
    fn a_name_that_looks_like_a_mention_or_a_link_stays_text() {
        let hostile = "<!channel> @everyone <http://evil|ok> [x](http://evil) &lt;";
        let sent = render(&letter(hostile, &[hostile]));
        let text = sent["text"].as_str().unwrap();
        assert!(!text.contains('<') && !text.contains("@everyone") && !text.contains("]("));
        assert!(text.contains("&lt;!channel&gt;") && text.contains("&amp;lt;"), "{text}");
        assert_eq!(sent["mrkdwn"], false);
        let block = &sent["blocks"][0]["text"];
        assert_eq!(block["type"], "plain_text");
        assert_eq!(block["text"].as_str().unwrap(), format!("{hostile}\n{hostile}"));
        assert_eq!(sent["blocks"].as_array().unwrap().len(), 1);
    }

    #[test]
    fn only_what_the_operator_wrote_as_a_mention_is_one() {
        let mut letter = letter("<@U1>", &[]);
        letter.message.mention = Some(Text::cut("<@U123>"));
        let sent = render(&letter);
        assert!(sent["text"].as_str().unwrap().starts_with("<@U123> &lt;@"));
        assert_eq!(wanted("<!subteam^S1>"), "<!subteam^S1>");
        assert_eq!(wanted("<http://evil|x>"), "&lt;http://evil|x&gt;");
        assert_eq!(wanted("dana"), "dana");
    }

    #[test]
    fn a_long_message_fits_and_says_where_the_rest_is() {
        let line = "&".repeat(2_000);
        let sent = render(&letter("long", &[&line, &line, &line]));
        let text = sent["text"].as_str().unwrap();
        assert!(
            chars(text) <= TEXT_CHARS_MAX
                && text.ends_with("message 12 in the inbox has all of it")
        );
        assert!(
            !text
                .trim_end_matches("\n… cut: message 12 in the inbox has all of it")
                .ends_with("&am")
        );
        let block = sent["blocks"][0]["text"]["text"].as_str().unwrap();
        assert!(chars(block) <= BLOCK_CHARS_MAX);
    }
}
