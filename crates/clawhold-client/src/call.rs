//! One request and its answer, whichever way they travel.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use clawhold_api::{Problem, routes};
use reqwest::Method;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::ClientError;

/// One request, ready to be sent any number of times.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) method: Method,
    /// Path and query.
    pub(crate) target: String,
    pub(crate) body: Option<Bytes>,
    pub(crate) key: Option<Arc<str>>,
    pub(crate) accept: Option<&'static str>,
    /// How long the server may hold the answer back.
    pub(crate) wait: Duration,
}

impl Call {
    /// Returns a call that reads.
    pub(crate) fn get(path: &str, query: &str) -> Self {
        let target = if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") };
        let wait = Duration::ZERO;
        Self { method: Method::GET, target, body: None, key: None, accept: None, wait }
    }

    /// Lets the server hold the answer back for `ms`.
    pub(crate) fn waiting(self, ms: Option<u64>) -> Self {
        Self { wait: Duration::from_millis(ms.unwrap_or(0)), ..self }
    }

    /// Asks for an answer of this media type.
    pub(crate) fn accepting(self, media_type: &'static str) -> Self {
        Self { accept: Some(media_type), ..self }
    }

    pub(crate) fn reads(&self) -> bool {
        self.method == Method::GET
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.target.split_once('?').map_or(self.target.as_str(), |(path, _)| path);
        write!(f, "{} {path}", self.method)
    }
}

/// An answer, whatever its status is.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) url: String,
    pub(crate) status: u16,
    /// The position of a write's entry in the log.
    pub(crate) position: Option<u64>,
    /// Whether it repeats the answer to an earlier request.
    pub(crate) replayed: bool,
    pub(crate) body: Bytes,
}

impl Answer {
    /// Returns the answer with what it refuses as an error.
    pub(crate) fn or_refusal(self, call: &Call) -> Result<Self, ClientError> {
        if (200..300).contains(&self.status) {
            return Ok(self);
        }
        match serde_json::from_slice::<Problem>(&self.body) {
            Ok(problem) => Err(ClientError::Refused(Box::new(problem))),
            Err(_) => {
                let reason = self.text().chars().take(200).collect();
                let (url, status) = (self.url, self.status);
                Err(ClientError::Strange { url, call: call.to_string(), status, reason })
            }
        }
    }

    /// Reads the body.
    pub(crate) fn read<T: DeserializeOwned>(&self, call: &Call) -> Result<T, ClientError> {
        serde_json::from_slice(&self.body).map_err(|error| ClientError::Strange {
            url: self.url.clone(),
            call: call.to_string(),
            status: self.status,
            reason: format!("the reply cannot be read: {error}"),
        })
    }

    /// Returns the body as text.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// Returns `query` as a query string, without what is absent.
pub(crate) fn query<Q: Serialize>(query: &Q) -> String {
    let Ok(serde_json::Value::Object(fields)) = serde_json::to_value(query) else {
        return String::new();
    };
    let pairs = fields.iter().filter(|(_, value)| !value.is_null()).map(|(name, value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        format!("{name}={}", routes::escape(&value))
    });
    pairs.collect::<Vec<_>>().join("&")
}
