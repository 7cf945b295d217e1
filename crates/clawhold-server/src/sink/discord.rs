//! Discord's webhooks.

use bytes::Bytes;
use clawhold_core::catalog::Secret;
use clawhold_core::outbox::Sent;
use serde_json::{Value, json};

use super::{Letter, chars, fit, open, outcome, post};
use crate::outside::Outside;

/// Characters of a message.
const CHARS_MAX: usize = 2_000;

pub(super) async fn send(outside: &Outside, url: &Secret, letter: &Letter) -> Result<Sent, Sent> {
    let url = open(url)?;
    let body = Bytes::from(render(letter).to_string());
    outcome(&post(outside, url.as_str(), Vec::new(), body, &[]).await?)
}

fn render(letter: &Letter) -> Value {
    let mention = letter.message.mention.as_ref().map(|mention| mention.as_str());
    let user = mention.and_then(|mention| number(mention, "<@"));
    let role = mention.and_then(|mention| number(mention, "<@&"));
    let lead = match mention {
        Some(mention) if user.is_some() || role.is_some() => format!("{mention} "),
        Some(mention) => format!("{} ", escape(mention, "…", 200)),
        None => String::new(),
    };
    let room = CHARS_MAX - chars(&lead);
    let content = format!("{lead}{}", escape(&letter.text(), &letter.tail(), room));
    let mut allowed = json!({"parse": []});
    if let Some(user) = user {
        allowed["users"] = json!([user]);
    }
    if let Some(role) = role {
        allowed["roles"] = json!([role]);
    }
    json!({"content": content, "allowed_mentions": allowed})
}

/// Returns the number in a mention that the operator wrote.
fn number<'a>(mention: &'a str, start: &str) -> Option<&'a str> {
    let number = mention.strip_prefix(start)?.strip_suffix('>')?;
    let digits = !number.is_empty() && number.len() <= 20;
    (digits && number.bytes().all(|byte| byte.is_ascii_digit())).then_some(number)
}

/// Returns text in which nothing is Markdown, a link or a mention.
fn escape(text: &str, tail: &str, max: usize) -> String {
    fit(text, tail, max, chars, |c, out| {
        if c.is_ascii_punctuation() && !matches!(c, '.' | ',' | ';' | '!' | '?' | '%' | '\'' | '"')
        {
            out.push('\\');
        }
        out.push(c);
    })
}

#[cfg(test)]
mod tests {
    use clawhold_core::units::Text;

    use super::super::tests::letter;
    use super::*;

    #[test]
    fn nothing_in_the_data_is_markdown_a_link_or_a_mention() {
        let hostile = "@everyone <@123> **x** [x](http://evil) `y` ||z|| #1 > q";
        let sent = render(&letter(hostile, &[]));
        assert_eq!(sent["allowed_mentions"], json!({"parse": []}));
        let content = sent["content"].as_str().unwrap();
        let escaped =
            r"\@everyone \<\@123\> \*\*x\*\* \[x\]\(http\:\/\/evil\) \`y\` \|\|z\|\| \#1 \> q";
        assert_eq!(content, escaped);
    }

    #[test]
    fn only_the_operators_own_mention_is_allowed() {
        let mut letter = letter("<@9>", &[]);
        letter.message.mention = Some(Text::cut("<@&42>"));
        let sent = render(&letter);
        assert_eq!(sent["allowed_mentions"], json!({"parse": [], "roles": ["42"]}));
        assert_eq!(sent["content"], r"<@&42> \<\@9\>");
        letter.message.mention = Some(Text::cut("@everyone"));
        let sent = render(&letter);
        assert_eq!(sent["allowed_mentions"], json!({"parse": []}));
    }

    #[test]
    fn a_long_message_is_cut_before_its_limit_and_not_inside_an_escape() {
        let line = "*".repeat(2_000);
        let sent = render(&letter("x", &[&line]));
        let content = sent["content"].as_str().unwrap();
        assert!(chars(content) <= CHARS_MAX, "{}", chars(content));
        let kept = content.strip_suffix("\n… cut: message 12 in the inbox has all of it").unwrap();
        assert!(kept.ends_with(r"\*"));
    }
}
