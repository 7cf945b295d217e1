//! Sources between the wire and the core.

use clawhold_api::automation::definition as wire;
use clawhold_core::catalog::{Source, Spec};

use crate::http::automation::value::{secret_opt, show_secret, text_opt};
use crate::http::error::Rejected;

pub(super) fn read(body: &wire::Source, known: Option<&Spec>) -> Result<Spec, Rejected> {
    let known = match known {
        Some(Spec::Source(known)) => known.token.as_ref(),
        Some(_) | None => None,
    };
    let url = text_opt("url", body.url.as_deref())?;
    let fits = url.as_ref().is_none_or(|url| {
        let url = reqwest::Url::parse(url.as_str());
        url.is_ok_and(|url| {
            matches!(url.scheme(), "http" | "https") && url.has_host() && url.username().is_empty()
        })
    });
    if !fits {
        let shown = body.url.as_deref().unwrap_or("");
        return Err(Rejected::field("url", shown, "http://HOST:PORT or https://HOST:PORT"));
    }
    Ok(Spec::Source(Source { url, token: secret_opt("token", body.token.as_deref(), known)? }))
}

pub(super) fn show(source: &Source) -> wire::Source {
    wire::Source {
        name: String::new(),
        url: source.url.as_ref().map(|url| url.as_str().to_owned()),
        token: source.token.as_ref().map(show_secret),
        enabled: None,
    }
}
