//! Frames: calls as they were read, answers as they are written.

use axum::body::Bytes;
use axum::http::{HeaderValue, Method, Request, Uri, header};
use clawhold_api::error::{Code, Problem};
use clawhold_api::{routes, socket as wire};
use serde::Deserialize;
use serde_json::value::RawValue;

/// One entry of a frame.
#[derive(Debug)]
pub(super) enum Heard<'a> {
    /// A call.
    Call(wire::Call<'a>),
    /// What is no call but says which it wants to be.
    Malformed(u64, Box<Problem>),
}

/// The id of what may be malformed in every other respect.
#[derive(Deserialize)]
struct Id {
    id: u64,
}

/// Reads a frame.
///
/// # Errors
/// Why it cannot be answered.
pub(super) fn read(text: &str) -> Result<Vec<Heard<'_>>, String> {
    if let Ok(calls) = serde_json::from_str::<Vec<wire::Call<'_>>>(text) {
        return Ok(calls.into_iter().map(Heard::Call).collect());
    }
    // Entry by entry, so that one that is malformed is refused alone.
    let entries: Vec<&RawValue> = serde_json::from_str(text)
        .map_err(|error| format!("a frame must be a JSON array of calls: {error}"))?;
    let heard = entries.into_iter().map(|entry| match serde_json::from_str(entry.get()) {
        Ok(call) => Ok(Heard::Call(call)),
        Err(error) => match serde_json::from_str::<Id>(entry.get()) {
            Ok(Id { id }) => {
                let detail = format!("the call cannot be read: {error}");
                Ok(Heard::Malformed(id, Box::new(Problem::new(Code::BadJson, detail))))
            }
            Err(_) => Err(format!("a call without an id that can be read: {error}")),
        },
    });
    heard.collect()
}

/// Returns a call as the request that it would be over HTTP.
///
/// # Errors
/// What is wrong with it.
pub(super) fn request(
    call: &wire::Call<'_>,
    frame: &Bytes,
    authorization: Option<&HeaderValue>,
) -> Result<Request<axum::body::Body>, Box<Problem>> {
    let bad = |field, value: &str, allowed| {
        Box::new(Problem::field(Code::BadRequest, field, value, allowed))
    };
    let method = Method::from_bytes(call.method.as_bytes())
        .map_err(|_| bad("method", &call.method, "GET, POST, PUT, PATCH or DELETE"))?;
    let uri = Some(&*call.path).filter(|path| path.starts_with('/'));
    let uri = uri.and_then(|path| Uri::try_from(path).ok());
    let uri = uri.ok_or_else(|| bad("path", &call.path, "the path of a route: /v1/jobs/claim"))?;
    if uri.path() == routes::SOCKET {
        let detail = "a WebSocket is opened by a request of its own, not by a call over one";
        return Err(Box::new(Problem::new(Code::BadRequest, detail)));
    }
    let body = call.body.map(|body| frame.slice_ref(body.get().as_bytes()));
    let body = body.map_or_else(axum::body::Body::empty, axum::body::Body::from);
    let mut request = Request::new(body);
    *request.method_mut() = method;
    *request.uri_mut() = uri;
    let headers = request.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Some(authorization) = authorization {
        headers.insert(header::AUTHORIZATION, authorization.clone());
    }
    if let Some(key) = &call.key {
        let value = HeaderValue::from_str(key)
            .map_err(|_| bad("key", key, "1 to 64 visible ASCII characters"))?;
        headers.insert(routes::IDEMPOTENCY_KEY, value);
    }
    Ok(request)
}

/// The answer to one call.
#[derive(Debug)]
pub(super) struct Answered {
    pub(super) id: u64,
    pub(super) status: u16,
    pub(super) position: Option<u64>,
    pub(super) replayed: bool,
    pub(super) retry_after_ms: Option<u64>,
    pub(super) allow: Option<String>,
    pub(super) body: Bytes,
}

impl Answered {
    /// Returns a refusal.
    pub(super) fn refusal(id: u64, problem: &Problem) -> Self {
        let body = serde_json::to_vec(problem).unwrap_or_default().into();
        let retry_after_ms = problem.retryable.then_some(1_000);
        let (position, replayed, allow) = (None, false, None);
        Self { id, status: problem.status, position, replayed, retry_after_ms, allow, body }
    }

    /// Writes the answer to the end of a frame.
    pub(super) fn write(&self, frame: &mut Vec<u8>) {
        frame.push(if frame.is_empty() { b'[' } else { b',' });
        let text;
        let body = match serde_json::from_slice::<&RawValue>(&self.body) {
            Ok(body) => Some(body),
            Err(_) if self.body.is_empty() => None,
            Err(_) => {
                // Text, such as the metrics.
                text = serde_json::value::to_raw_value(&String::from_utf8_lossy(&self.body)).ok();
                text.as_deref()
            }
        };
        let answer = wire::Answer {
            id: self.id,
            status: self.status,
            position: self.position,
            replayed: self.replayed,
            retry_after_ms: self.retry_after_ms,
            allow: self.allow.as_deref().map(Into::into),
            body,
        };
        serde_json::to_writer(frame, &answer).expect("an answer can be written as JSON");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_malformed_call_leaves_the_others_in_its_frame_alone() {
        let text =
            r#"[{"id":1,"method":"GET","path":"/a"},{"id":2,"methd":"GET"},{"id":3,"key":7}]"#;
        let heard = read(text).unwrap();
        let Heard::Call(call) = &heard[0] else { panic!("{heard:?}") };
        assert_eq!((call.id, &*call.path), (1, "/a"));
        let Heard::Malformed(2, problem) = &heard[1] else { panic!("{heard:?}") };
        assert!(problem.detail.contains("methd"), "{}", problem.detail);
        assert!(matches!(&heard[2], Heard::Malformed(3, _)));
    }

    #[test]
    fn what_nobody_can_be_answered_for_is_no_frame() {
        for text in ["", "{}", "7", "[", "[{}]", "[1]", r#"[{"id":-1}]"#, r#"[{"id":1}] x"#] {
            assert!(read(text).is_err(), "{text}");
        }
        assert!(read("[]").unwrap().is_empty());
    }

    #[test]
    fn text_that_is_no_json_is_answered_as_a_string() {
        let mut answered = Answered::refusal(7, &Problem::new(Code::NotFound, "x"));
        answered.body = Bytes::from_static(b"a \"b\"\n");
        let mut frame = Vec::new();
        answered.write(&mut frame);
        answered.body = Bytes::new();
        answered.write(&mut frame);
        frame.push(b']');
        let text = String::from_utf8(frame).unwrap();
        assert_eq!(text, r#"[{"id":7,"status":404,"body":"a \"b\"\n"},{"id":7,"status":404}]"#);
    }
}
