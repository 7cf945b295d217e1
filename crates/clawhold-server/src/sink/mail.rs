//! Mail over SMTP: plain to this host, over TLS to others.

use std::net::IpAddr;
use std::time::Duration;

use clawhold_core::catalog::Secret;
use clawhold_core::outbox::Sent;
use clawhold_core::units::Text;
use lettre::message::header::ContentType;
use lettre::message::{Mailbox, Message};
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Tls, TlsParameters};
use lettre::{AsyncSmtpTransport, AsyncTransport, Tokio1Executor};

use super::{Letter, PATIENCE, failed, open, refused};
use crate::signature;
use clawhold_log::chain;

/// Characters of a subject.
const SUBJECT_CHARS_MAX: usize = 200;

/// Where mail goes, and as whom.
#[derive(Clone, Copy, Debug)]
pub(super) struct Account<'a> {
    pub(super) server: &'a Text,
    pub(super) from: &'a Text,
    pub(super) to: &'a [Text],
    pub(super) password: Option<&'a Secret>,
}

/// A mail server as it was written.
#[derive(Debug, PartialEq, Eq)]
struct Server<'a> {
    wrapped: bool,
    user: Option<&'a str>,
    host: &'a str,
    port: u16,
}

pub(super) async fn send(account: Account<'_>, letter: &Letter) -> Result<Sent, Sent> {
    let server = server(account.server.as_str())
        .ok_or_else(|| refused("the mail server is not smtp://HOST:PORT or smtps://USER@HOST"))?;
    let message = render(&account, letter)?;
    let transport = transport(&server, account.password)?;
    let sent = tokio::time::timeout(PATIENCE, transport.send(message)).await;
    match sent {
        Ok(Ok(answer)) => {
            let said = answer.message().collect::<Vec<_>>().join(" ");
            Ok(Sent::Delivered { said: Text::cut(&format!("{} {said}", answer.code())) })
        }
        Ok(Err(error)) if error.is_permanent() => Err(refused(chain(&error))),
        Ok(Err(error)) => Err(failed(chain(&error), None)),
        Err(_) => Err(failed(format!("it did not answer within {} s", PATIENCE.as_secs()), None)),
    }
}

fn server(text: &str) -> Option<Server<'_>> {
    let (scheme, rest) = text.split_once("://")?;
    let wrapped = match scheme {
        "smtp" => false,
        "smtps" => true,
        _ => return None,
    };
    let (user, place) = match rest.rsplit_once('@') {
        Some((user, place)) => (Some(user), place),
        None => (None, rest),
    };
    let place = place.trim_end_matches('/');
    let standard = if wrapped { 465 } else { 25 };
    let (host, port) = match place.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, port.parse().ok()?),
        Some(_) | None => (place, standard),
    };
    let host = host.trim_matches(['[', ']']);
    let plain = !host.is_empty() && !host.contains(['/', '?', '#', ' ']);
    plain.then_some(Server { wrapped, user, host, port })
}

fn transport(
    server: &Server<'_>,
    password: Option<&Secret>,
) -> Result<AsyncSmtpTransport<Tokio1Executor>, Sent> {
    let parameters =
        || TlsParameters::new(server.host.to_owned()).map_err(|error| failed(chain(&error), None));
    let here = server.host.eq_ignore_ascii_case("localhost")
        || server.host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    let tls = match (server.wrapped, here, server.user) {
        (true, _, _) => Tls::Wrapper(parameters()?),
        (false, true, _) => Tls::None,
        // A password is not sent in the clear to another host.
        (false, false, Some(_)) => Tls::Required(parameters()?),
        (false, false, None) => Tls::Opportunistic(parameters()?),
    };
    let mut builder = AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(server.host)
        .port(server.port)
        .timeout(Some(Duration::from_secs(8)))
        .tls(tls);
    if let Some(user) = server.user {
        let Some(password) = password else {
            return Err(refused("the mail server names a user, and the channel has no password"));
        };
        let password = open(password)?;
        builder =
            builder.credentials(Credentials::new(user.to_owned(), password.as_str().to_owned()));
    }
    Ok(builder.build())
}

fn render(account: &Account<'_>, letter: &Letter) -> Result<Message, Sent> {
    let mailbox = |text: &Text| {
        let parsed: Result<Mailbox, _> = text.as_str().parse();
        parsed.map_err(|error| refused(format!("{:?} is no mail address: {error}", text.as_str())))
    };
    let subject: String = letter.heading().chars().take(SUBJECT_CHARS_MAX).collect();
    // The same message has the same id, so a copy is known as one.
    let id = signature::print(&[
        letter.message.key.as_str().as_bytes(),
        account.from.as_str().as_bytes(),
    ]);
    let mut builder = Message::builder()
        .from(mailbox(account.from)?)
        .subject(subject)
        .message_id(Some(format!("<{id}@clawhold>")))
        .header(ContentType::TEXT_PLAIN);
    for to in account.to {
        builder = builder.to(mailbox(to)?);
    }
    let mention =
        letter.message.mention.as_ref().map(|mention| format!("For {}\n", mention.as_str()));
    let text = format!("{}{}\n", mention.unwrap_or_default(), letter.text());
    builder.body(text).map_err(|error| refused(chain(&error)))
}

#[cfg(test)]
mod tests {
    use super::super::tests::letter;
    use super::*;

    #[test]
    fn a_server_is_a_scheme_a_host_and_maybe_a_user_and_a_port() {
        let parsed = |text| server(text).map(|s| (s.wrapped, s.user, s.host, s.port));
        assert_eq!(parsed("smtp://127.0.0.1:2525"), Some((false, None, "127.0.0.1", 2525)));
        assert_eq!(parsed("smtp://mail"), Some((false, None, "mail", 25)));
        let user = Some((true, Some("ops@example.org"), "mx.example.org", 465));
        assert_eq!(parsed("smtps://ops@example.org@mx.example.org"), user);
        assert_eq!(parsed("smtp://[::1]:25/"), Some((false, None, "::1", 25)));
        for bad in ["", "mail:25", "http://x", "smtp://", "smtp://h:x", "smtp://h/p?x"] {
            assert_eq!(parsed(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_title_cannot_add_a_header_and_a_copy_has_the_same_id() {
        let (server, from) = (Text::cut("smtp://127.0.0.1"), Text::cut("ops@example.org"));
        let to = [Text::cut("Dana <dana@example.org>")];
        let account = Account { server: &server, from: &from, to: &to, password: None };
        let rendered = || {
            let letter = letter("x\r\nBcc: evil@example.org", &["a"]);
            String::from_utf8(render(&account, &letter).unwrap().formatted()).unwrap()
        };
        let mail = rendered();
        assert!(!mail.contains("\r\nBcc"), "{mail}");
        let id = |mail: &str| {
            let id = mail.lines().find(|line| line.starts_with("Message-ID:"));
            id.unwrap().to_owned()
        };
        assert_eq!(id(&mail), id(&rendered()));
        let nobody = [Text::cut("nobody")];
        let account = Account { to: &nobody, ..account };
        assert!(matches!(render(&account, &letter("x", &[])), Err(Sent::Refused { .. })));
    }
}
