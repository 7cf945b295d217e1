//! Sinks: what takes the messages of a channel, one file each.
//!
//! A message is made of data. Only a sink's renderer writes markup, and nothing in the data can
//! become markup, a link or a mention; only what the operator wrote as a mention may be one.

pub(crate) mod discord;
pub(crate) mod mail;
pub(crate) mod slack;
pub(crate) mod telegram;
pub(crate) mod webhook;

use std::time::Duration;

use axum::http::{HeaderName, Method, header};
use bytes::Bytes;
use clawhold_core::catalog::{Secret, Sink};
use clawhold_core::outbox::{Message, Sent};
use clawhold_core::units::{Text, Timestamp};

use crate::clock;
use crate::outside::{Incoming, NoAnswer, Outgoing, Outside};
use crate::secret::{self, Opened};

/// How long a sink may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// Bytes of a sink's answer that are looked at.
const ANSWER_BYTES_MAX: usize = 16 * 1_024;
/// Characters of a sink's answer that are kept.
const SAID_CHARS_MAX: usize = 200;
/// Milliseconds for which a sink may ask to be left alone; more counts as this.
const RETRY_MS_MAX: u64 = 3_600_000;

/// A message on its way.
#[derive(Clone, Debug)]
pub(crate) struct Letter {
    pub(crate) message: Message,
    /// When an earlier copy may have been taken.
    pub(crate) doubt: Option<Timestamp>,
}

/// Where a letter goes.
#[derive(Clone, Debug)]
pub(crate) enum Address {
    /// A channel's sink.
    Sink(Sink),
    /// The address that came with a request from a chat.
    Reply(String),
}

impl Address {
    /// Sends a letter and tells how it ended.
    pub(crate) async fn send(&self, outside: &Outside, letter: &Letter) -> Sent {
        let sent = match self {
            Self::Reply(url) => slack::reply(outside, url, letter).await,
            Self::Sink(Sink::Slack { url }) => slack::send(outside, url, letter).await,
            Self::Sink(Sink::Webhook { url, secret }) => {
                // The other side knows a copy by its key.
                let letter = Letter { doubt: None, ..letter.clone() };
                webhook::send(outside, url, secret.as_ref(), &letter).await
            }
            Self::Sink(Sink::Discord { url }) => discord::send(outside, url, letter).await,
            Self::Sink(Sink::Telegram { token, chat, base }) => {
                let base = base.as_ref().map(Text::as_str);
                telegram::send(outside, token, chat.as_str(), base, letter).await
            }
            Self::Sink(Sink::Mail { server, from, to, password }) => {
                let account = mail::Account { server, from, to, password: password.as_ref() };
                mail::send(account, letter).await
            }
        };
        sent.unwrap_or_else(|sent| sent)
    }
}

impl Letter {
    /// Returns the first line: how bad it is, unless it is only worth knowing, and the title.
    pub(crate) fn heading(&self) -> String {
        use clawhold_core::catalog::Severity::{Critical, Info, Warning};

        let title = one_line(self.message.title.as_str());
        match self.message.severity {
            Info => title,
            Warning => format!("[warning] {title}"),
            Critical => format!("[critical] {title}"),
        }
    }

    /// Returns what follows, a line each.
    pub(crate) fn lines(&self) -> impl Iterator<Item = String> {
        self.message.lines.iter().map(|line| one_line(line.as_str()))
    }

    /// Returns the line that says that an earlier copy may have arrived, for sinks that cannot
    /// tell copies apart.
    pub(crate) fn doubt(&self) -> Option<String> {
        let at = clock::rfc3339(self.doubt?);
        Some(format!("(may be a repeat of {})", at.get(11..16).unwrap_or(&at)))
    }

    /// Returns the whole letter as plain text: heading, lines, doubt.
    pub(crate) fn text(&self) -> String {
        let mut text = self.heading();
        for line in self.lines().chain(self.doubt()) {
            text.push('\n');
            text.push_str(&line);
        }
        text
    }

    /// Returns what is said at the end when there was no room for all of it.
    pub(crate) fn tail(&self) -> String {
        format!("\n… cut: message {} in the inbox has all of it", self.message.id)
    }
}

/// Returns text on one line: what it says cannot pass for another line.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Returns `text` with each character escaped, cut at a character's border so that `size` of it
/// is at most `max`; what was cut is said with `tail`.
pub(crate) fn fit(
    text: &str,
    tail: &str,
    max: usize,
    size: impl Fn(&str) -> usize,
    escape: impl Fn(char, &mut String),
) -> String {
    let mut escaped = String::with_capacity(text.len());
    let (mut used, mut end) = (0, 0);
    let room = max.saturating_sub(size(tail));
    let mut piece = String::new();
    for c in text.chars() {
        piece.clear();
        escape(c, &mut piece);
        used += size(&piece);
        escaped.push_str(&piece);
        if used <= room {
            end = escaped.len();
        }
    }
    if used > max {
        escaped.truncate(end);
        escaped.push_str(tail);
    }
    escaped
}

/// Returns how many characters there are.
pub(crate) fn chars(text: &str) -> usize {
    text.chars().count()
}

/// Reads a secret; one that cannot be read may be there later.
pub(crate) fn open(secret: &Secret) -> Result<Opened, Sent> {
    secret::open(secret).map_err(|error| failed(error.to_string(), None))
}

/// Posts JSON to a sink. Should its answer repeat a secret, or the address itself, that is hidden.
pub(crate) async fn post(
    outside: &Outside,
    url: &str,
    headers: Vec<(HeaderName, String)>,
    body: Bytes,
    secrets: &[&str],
) -> Result<Incoming, Sent> {
    let mut all = vec![(header::CONTENT_TYPE, "application/json".to_owned())];
    all.extend(headers);
    let outgoing = Outgoing {
        method: Method::POST,
        url,
        headers: all,
        body,
        patience: PATIENCE,
        answer_bytes_max: ANSWER_BYTES_MAX,
    };
    let sent = outside.send(outgoing).await.map_err(|error| match error {
        NoAnswer::BadUrl | NoAnswer::BadHeader(_) => refused(error.to_string()),
        NoAnswer::Late(_) | NoAnswer::Unreachable(_) => failed(error.to_string(), None),
    });
    let mut answer = sent?;
    let said = hide(&String::from_utf8_lossy(&answer.body), url, secrets);
    answer.body = said.into();
    Ok(answer)
}

/// Returns `text` without the address, its path and the secrets.
fn hide(text: &str, url: &str, secrets: &[&str]) -> String {
    let path = url.split_once("://").and_then(|(_, rest)| rest.find('/').map(|at| &rest[at..]));
    let path = path.filter(|path| path.len() > 1);
    let all = std::iter::once(url).chain(path).chain(secrets.iter().copied());
    all.filter(|secret| !secret.is_empty())
        .fold(text.to_owned(), |text, secret| text.replace(secret, "(hidden)"))
}

/// Tells how sending ended, by the answer's status.
pub(crate) fn outcome(answer: &Incoming) -> Result<Sent, Sent> {
    let said = said(answer);
    match answer.status {
        200..=299 => Ok(Sent::Delivered { said: Text::cut(&said) }),
        300..=399 => Err(refused(format!("{said}: redirects are not followed"))),
        408 | 429 | 500.. => Err(failed(said, answer.retry_ms)),
        _ => Err(refused(said)),
    }
}

fn said(answer: &Incoming) -> String {
    let body = String::from_utf8_lossy(&answer.body);
    let body: String = body.trim().chars().take(SAID_CHARS_MAX).collect();
    let body = one_line(&body);
    if body.is_empty() {
        return format!("it answered {}", answer.status);
    }
    format!("it answered {}: {body}", answer.status)
}

/// Returns that it did not work and may later.
pub(crate) fn failed(error: impl AsRef<str>, retry_ms: Option<u64>) -> Sent {
    let retry_ms = retry_ms.map(|wait| wait.min(RETRY_MS_MAX));
    Sent::Failed { error: Text::cut(error.as_ref()), retry_ms }
}

/// Returns that it never will work.
pub(crate) fn refused(error: impl AsRef<str>) -> Sent {
    Sent::Refused { error: Text::cut(error.as_ref()) }
}

/// Keeps apart what Markdown would read as a mention or a link, with a character that has no
/// width.
pub(crate) fn part(c: char, out: &mut String) {
    out.push(c);
    if matches!(c, '@' | ']') {
        out.push('\u{2060}');
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use clawhold_core::catalog::Severity;
    use clawhold_core::units::{MessageId, Position, Served, Stamp, Title};

    use super::*;

    pub(crate) fn letter(title: &str, lines: &[&str]) -> Letter {
        let stamp = Stamp { at: Timestamp(0), served: Served(0), position: Position(1) };
        let message = Message {
            id: MessageId(12),
            channel: Title::parse("#ops").unwrap(),
            stamp,
            severity: Severity::Info,
            title: Text::cut(title),
            lines: lines.iter().map(|line| Text::cut(line)).collect(),
            mention: None,
            run: None,
            step: None,
            alert: None,
            reply_url: None,
            key: Text::cut("run/7/end"),
        };
        Letter { message, doubt: None }
    }

    #[test]
    fn a_second_copy_says_so() {
        let mut letter = letter("w-1 is lost", &["it held 3 jobs"]);
        letter.message.severity = Severity::Critical;
        letter.doubt = Some(Timestamp(50_520_000));
        let text = "[critical] w-1 is lost\nit held 3 jobs\n(may be a repeat of 14:02)";
        assert_eq!(letter.text(), text);
    }

    #[test]
    fn what_is_too_long_is_cut_between_characters_and_says_so() {
        let plain = |c: char, out: &mut String| out.push(c);
        assert_eq!(fit("äöü", "…", 3, chars, plain), "äöü");
        assert_eq!(fit("äöüß", "…", 3, chars, plain), "äö…");
        let double = |c: char, out: &mut String| out.extend([c, c]);
        assert_eq!(fit("abcd", "…", 6, chars, double), "aabb…");
        assert_eq!(fit("🦀🦀🦀", "…", 8, str::len, plain), "🦀…");
    }

    #[test]
    fn a_secret_that_a_sink_repeats_is_hidden() {
        let url = "https://hooks.example/services/T1/abc";
        let said = hide("no_team at /services/T1/abc, key k3y", url, &["k3y"]);
        assert_eq!(said, "no_team at (hidden), key (hidden)");
        assert_eq!(hide("not / found", "http://127.0.0.1:9/", &[""]), "not / found");
    }

    #[test]
    fn a_status_says_whether_trying_again_is_sensible() {
        let sent = |status, retry_ms| {
            let answer = Incoming { status, retry_ms, body: Bytes::from_static(b"no\nroom") };
            outcome(&answer).unwrap_or_else(|sent| sent)
        };
        assert!(matches!(sent(204, None), Sent::Delivered { .. }));
        assert!(matches!(sent(302, None), Sent::Refused { .. }));
        assert!(matches!(sent(404, None), Sent::Refused { .. }));
        assert!(matches!(sent(408, None), Sent::Failed { .. }));
        let Sent::Failed { error, retry_ms } = sent(429, Some(7_000)) else { panic!() };
        assert_eq!((error.as_str(), retry_ms), ("it answered 429: no room", Some(7_000)));
        let Sent::Failed { retry_ms, .. } = sent(503, Some(u64::MAX)) else { panic!() };
        assert_eq!(retry_ms, Some(RETRY_MS_MAX));
    }
}
