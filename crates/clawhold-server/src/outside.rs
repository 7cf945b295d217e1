//! Requests to other programs: sinks, chats, other servers.
//!
//! One request and its answer, both bounded, within a time. Redirects are not followed and no
//! proxy is used. Addresses can be secrets, so no error repeats one.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri, header};
use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

use clawhold_log::chain;

type Http = Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

/// The way to other programs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outside {
    /// Made when it is first used: the system's certificates take a moment to read.
    client: Arc<OnceLock<Http>>,
}

/// One request.
#[derive(Debug)]
pub(crate) struct Outgoing<'a> {
    pub(crate) method: Method,
    pub(crate) url: &'a str,
    pub(crate) headers: Vec<(HeaderName, String)>,
    pub(crate) body: Bytes,
    /// How long all of it may take.
    pub(crate) patience: Duration,
    /// Bytes of the answer that are taken in.
    pub(crate) answer_bytes_max: usize,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Incoming {
    pub(crate) status: u16,
    /// Milliseconds that the other side wants to be left alone.
    pub(crate) retry_ms: Option<u64>,
    pub(crate) body: Bytes,
}

/// Why nothing came back.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoAnswer {
    /// The address is not one.
    #[error("its URL is not http://HOST/… or https://HOST/…")]
    BadUrl,
    /// A header cannot be sent.
    #[error("{0} cannot be sent as a header")]
    BadHeader(&'static str),
    /// It did not answer in time.
    #[error("it did not answer within {} s", .0.as_secs())]
    Late(Duration),
    /// It cannot be reached, or broke off.
    #[error("{0}")]
    Unreachable(String),
}

impl Outside {
    /// Sends a request and returns what came back.
    ///
    /// # Errors
    /// [`NoAnswer`]; whether the other side acted is not known then, unless it was not reached.
    pub(crate) async fn send(&self, outgoing: Outgoing<'_>) -> Result<Incoming, NoAnswer> {
        let patience = outgoing.patience;
        let sent = tokio::time::timeout(patience, self.exchange(outgoing)).await;
        sent.unwrap_or(Err(NoAnswer::Late(patience)))
    }

    async fn exchange(&self, outgoing: Outgoing<'_>) -> Result<Incoming, NoAnswer> {
        let uri = address(outgoing.url).ok_or(NoAnswer::BadUrl)?;
        let mut request = Request::new(Full::new(outgoing.body));
        *request.method_mut() = outgoing.method;
        *request.uri_mut() = uri;
        let agent = HeaderValue::from_static(concat!("clawhold/", env!("CARGO_PKG_VERSION")));
        request.headers_mut().insert(header::USER_AGENT, agent);
        for (name, value) in outgoing.headers {
            let value =
                HeaderValue::from_str(&value).map_err(|_| NoAnswer::BadHeader("a value"))?;
            request.headers_mut().insert(name, value);
        }
        let unreachable = |error: &dyn std::error::Error| NoAnswer::Unreachable(chain(error));
        let client = self.client.get_or_init(client);
        let answer = client.request(request).await.map_err(|error| unreachable(&error))?;
        let (parts, body) = answer.into_parts();
        let retry_ms = retry_after(&parts.headers, crate::clock::now().at.0);
        let body = Limited::new(body, outgoing.answer_bytes_max).collect().await;
        // What is too long is not needed: the status says how it ended.
        let body = body.map(http_body_util::Collected::to_bytes).unwrap_or_default();
        Ok(Incoming { status: parts.status.as_u16(), retry_ms, body })
    }
}

/// Returns a client that trusts what the system trusts.
fn client() -> Http {
    let provider = rustls::crypto::ring::default_provider();
    let connector = HttpsConnectorBuilder::new().with_provider_and_native_roots(provider);
    let connector = match connector {
        Ok(builder) => builder.https_or_http().enable_http1().build(),
        Err(error) => {
            // Plain HTTP works without certificates, and https fails by saying so.
            tracing::warn!(error = %chain(&error), "the system has no certificates: no https");
            untrusting()
        }
    };
    Client::builder(TokioExecutor::new()).build(connector)
}

fn untrusting() -> HttpsConnector<HttpConnector> {
    let provider = rustls::crypto::ring::default_provider();
    let config = rustls::ClientConfig::builder_with_provider(provider.into())
        .with_safe_default_protocol_versions()
        .expect("the provider knows the versions of its own defaults")
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    let builder = HttpsConnectorBuilder::new().with_tls_config(config);
    builder.https_or_http().enable_http1().build()
}

/// Returns the address that `url` names, without credentials in it.
pub(crate) fn address(url: &str) -> Option<Uri> {
    let uri: Uri = url.parse().ok()?;
    let known = matches!(uri.scheme_str(), Some("http" | "https"));
    let host = uri.host().is_some_and(|host| !host.is_empty());
    let bare = uri.authority().is_some_and(|authority| !authority.as_str().contains('@'));
    (known && host && bare).then_some(uri)
}

/// Tells whether an answer may be sent to an address that came with a request: over TLS, or to
/// this host.
pub(crate) fn is_reply_url(url: &str) -> bool {
    let Some(uri) = address(url) else { return false };
    let host = uri.host().unwrap_or("").trim_matches(['[', ']']);
    let here = host.eq_ignore_ascii_case("localhost")
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    uri.scheme_str() == Some("https") || here
}

/// Returns how long the other side wants to be left alone: seconds, or a moment.
fn retry_after(headers: &HeaderMap, now_ms: u64) -> Option<u64> {
    let text = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse::<u64>() {
        return Some(seconds.saturating_mul(1_000));
    }
    let parser = jiff::fmt::rfc2822::DateTimeParser::new();
    let at = parser.parse_timestamp(text).ok()?.as_millisecond();
    Some(u64::try_from(at).ok()?.saturating_sub(now_ms))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_http_without_credentials_is_an_address() {
        for good in ["http://a/b?c=d", "https://hooks.example:8443/x", "http://[::1]:1/"] {
            assert!(address(good).is_some(), "{good}");
        }
        for bad in ["", "a", "/x", "ftp://a/b", "http://", "http://u:p@a/", "file:///etc/passwd"] {
            assert!(address(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn an_answer_goes_over_tls_or_stays_on_this_host() {
        for good in ["https://hooks.slack.com/x", "http://127.0.0.1:9/x", "http://[::1]/"] {
            assert!(is_reply_url(good), "{good}");
        }
        for bad in ["http://10.0.0.1/x", "http://localhost.evil/x", "https://a@b/", "x"] {
            assert!(!is_reply_url(bad), "{bad}");
        }
    }

    #[test]
    fn the_other_side_says_how_long_to_wait_in_seconds_or_by_a_moment() {
        let wait = |text: &'static str, now_ms| {
            let mut headers = HeaderMap::new();
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static(text));
            retry_after(&headers, now_ms)
        };
        assert_eq!(wait("7", 0), Some(7_000));
        assert_eq!(wait("Thu, 01 Jan 1970 00:00:09 GMT", 2_000), Some(7_000));
        assert_eq!(wait("Thu, 01 Jan 1970 00:00:09 GMT", 20_000), Some(0));
        assert_eq!(wait("soon", 0), None);
    }
}
