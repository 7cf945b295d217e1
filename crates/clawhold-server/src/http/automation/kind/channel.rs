//! Channels between the wire and the core.

use clawhold_api::automation::definition as wire;
use clawhold_core::catalog::{Channel, ChatUser, Secret, Sink, Spec};
use clawhold_core::units::Text;

use crate::http::automation::value::{
    given, list, names, secret, secret_opt, show_secret, text_opt,
};
use crate::http::convert;
use crate::http::error::Rejected;

pub(super) fn read(body: &wire::Channel, known: Option<&Spec>) -> Result<Spec, Rejected> {
    let known = match known {
        Some(Spec::Channel(known)) => Some(known),
        Some(_) | None => None,
    };
    let bound = known.and_then(|known| known.sink.as_ref());
    let signing = known.and_then(|known| known.signing.as_ref());
    Ok(Spec::Channel(Channel {
        sink: body.sink.as_ref().map(|sink| read_sink(sink, bound)).transpose()?,
        signing: secret_opt("signing", body.signing.as_deref(), signing)?,
        users: list("users", &body.users, |field, user| {
            Ok(ChatUser {
                id: required(&format!("{field}.id"), &user.id)?,
                actor: convert::name(format!("{field}.actor"), &user.actor)?,
            })
        })?,
        closed: body.closed,
        members: names("members", &body.members)?,
    }))
}

fn required(field: &str, text: &str) -> Result<Text, Rejected> {
    text_opt(field, Some(text))?.ok_or_else(|| Rejected::field(field, "nothing", "a text"))
}

/// Returns a sink; secrets that are hidden stay those of the one that is bound, if it is of the
/// same kind.
fn read_sink(sink: &wire::Sink, bound: Option<&Sink>) -> Result<Sink, Rejected> {
    let kept = Kept::of(sink, bound);
    Ok(match sink {
        wire::Sink::Slack { url } => Sink::Slack { url: read_url("sink.url", url, kept.url)? },
        wire::Sink::Webhook { url, secret: given } => Sink::Webhook {
            url: read_url("sink.url", url, kept.url)?,
            secret: secret_opt("sink.secret", given.as_deref(), kept.secret)?,
        },
        wire::Sink::Discord { url } => Sink::Discord { url: read_url("sink.url", url, kept.url)? },
        wire::Sink::Telegram { token, chat, base } => Sink::Telegram {
            token: secret("sink.token", token, kept.secret)?,
            chat: required("sink.chat", chat)?,
            base: given(base.as_deref()).map(read_base).transpose()?,
        },
        wire::Sink::Mail { server, from, to, password } => {
            convert::count("sink.to", to.len(), 1, clawhold_core::limits::LIST_MAX)?;
            Sink::Mail {
                server: read_server(server)?,
                from: required("sink.from", from)?,
                to: list("sink.to", to, |field, text| required(field, text))?,
                password: secret_opt("sink.password", password.as_deref(), kept.secret)?,
            }
        }
    })
}

/// The secrets of the sink that is bound.
#[derive(Clone, Copy, Debug, Default)]
struct Kept<'a> {
    url: Option<&'a Secret>,
    secret: Option<&'a Secret>,
}

impl<'a> Kept<'a> {
    fn of(sink: &wire::Sink, bound: Option<&'a Sink>) -> Self {
        match (sink, bound) {
            (wire::Sink::Slack { .. }, Some(Sink::Slack { url }))
            | (wire::Sink::Discord { .. }, Some(Sink::Discord { url })) => {
                Self { url: Some(url), secret: None }
            }
            (wire::Sink::Webhook { .. }, Some(Sink::Webhook { url, secret })) => {
                Self { url: Some(url), secret: secret.as_ref() }
            }
            (wire::Sink::Telegram { .. }, Some(Sink::Telegram { token, .. })) => {
                Self { url: None, secret: Some(token) }
            }
            (wire::Sink::Mail { .. }, Some(Sink::Mail { password, .. })) => {
                Self { url: None, secret: password.as_ref() }
            }
            _ => Self::default(),
        }
    }
}

fn read_url(field: &str, text: &str, kept: Option<&Secret>) -> Result<Secret, Rejected> {
    let secret = secret(field, text, kept)?;
    let fits = match &secret {
        Secret::Plain(url) => is_url(url.as_str()),
        Secret::File(_) | Secret::Env(_) => true,
    };
    let hidden = wire::HIDDEN;
    fits.then_some(secret).ok_or_else(|| {
        Rejected::field(field, hidden, "https://HOST/…, http://HOST/…, file:PATH or env:NAME")
    })
}

fn is_url(text: &str) -> bool {
    crate::outside::address(text).is_some()
}

fn read_base(base: &str) -> Result<Text, Rejected> {
    let allowed = "https://HOST or http://HOST";
    let base =
        if is_url(base) { Ok(base) } else { Err(Rejected::field("sink.base", base, allowed)) };
    convert::text("sink.base", Some(base?))
}

fn read_server(server: &str) -> Result<Text, Rejected> {
    let fits = server.starts_with("smtp://") || server.starts_with("smtps://");
    // A password has a field of its own; here it would be shown.
    let user = server.split_once("://").and_then(|(_, rest)| rest.rsplit_once('@'));
    let bare = user.is_none_or(|(user, _)| !user.contains(':'));
    if !fits || !bare {
        let allowed = "smtp://HOST:PORT or smtps://USER@HOST:PORT, the password apart";
        let shown = if bare { server } else { wire::HIDDEN };
        return Err(Rejected::field("sink.server", shown, allowed));
    }
    convert::text("sink.server", Some(server))
}

pub(super) fn show(channel: &Channel) -> wire::Channel {
    let users = channel.users.iter().map(|user| wire::ChatUser {
        id: user.id.as_str().to_owned(),
        actor: user.actor.to_string(),
    });
    wire::Channel {
        name: String::new(),
        sink: channel.sink.as_ref().map(show_sink),
        signing: channel.signing.as_ref().map(show_secret),
        users: users.collect(),
        closed: channel.closed,
        members: channel.members.iter().map(ToString::to_string).collect(),
        enabled: None,
    }
}

fn show_sink(sink: &Sink) -> wire::Sink {
    match sink {
        Sink::Slack { url } => wire::Sink::Slack { url: show_secret(url) },
        Sink::Webhook { url, secret } => {
            wire::Sink::Webhook { url: show_secret(url), secret: secret.as_ref().map(show_secret) }
        }
        Sink::Discord { url } => wire::Sink::Discord { url: show_secret(url) },
        Sink::Telegram { token, chat, base } => wire::Sink::Telegram {
            token: show_secret(token),
            chat: chat.as_str().to_owned(),
            base: base.as_ref().map(|base| base.as_str().to_owned()),
        },
        Sink::Mail { server, from, to, password } => wire::Sink::Mail {
            server: server.as_str().to_owned(),
            from: from.as_str().to_owned(),
            to: to.iter().map(|to| to.as_str().to_owned()).collect(),
            password: password.as_ref().map(show_secret),
        },
    }
}
