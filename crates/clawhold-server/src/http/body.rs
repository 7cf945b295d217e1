//! Bodies: JSON of a known shape and bounded size and depth, or a problem that names the field.

use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, FailedToBufferBody};
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, header};
use clawhold_api::error::{Code, Problem};
use clawhold_core::limits::JSON_DEPTH_MAX;
use serde::de::DeserializeOwned;
use serde_json::error::Category;

use super::error::Rejected;

/// Bytes of a body: more than any command may keep, with room for its JSON.
pub(super) const BODY_BYTES_MAX: usize = 1_024 * 1_024;

/// A body that was read as `T`.
#[derive(Debug)]
pub(super) struct Body<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = Rejected;

    async fn from_request(request: Request, state: &S) -> Result<Self, Rejected> {
        check_media_type(request.headers())?;
        let bytes =
            Bytes::from_request(request, state).await.map_err(|rejection| unread(&rejection))?;
        parse(&bytes).map(Self)
    }
}

fn check_media_type(headers: &HeaderMap) -> Result<(), Rejected> {
    let value = headers.get(header::CONTENT_TYPE);
    let text = value.map_or("", |value| value.to_str().unwrap_or("?"));
    let media_type = text.split(';').next().unwrap_or("").trim();
    if media_type.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    let code = Code::UnsupportedMediaType;
    let problem = Problem::field(code, "content-type", text, "application/json");
    Err(problem.into())
}

fn unread(rejection: &BytesRejection) -> Rejected {
    let too_large = matches!(
        rejection,
        BytesRejection::FailedToBufferBody(FailedToBufferBody::LengthLimitError(_))
    );
    if too_large {
        let detail = format!("the body is larger than {BODY_BYTES_MAX} bytes; send it in parts");
        let max = Some(BODY_BYTES_MAX as u64);
        return Problem { max, ..Problem::new(Code::BodyTooLarge, detail) }.into();
    }
    Rejected::new(Code::BadRequest, "the body broke off before its end")
}

/// Returns the body as `T`.
pub(super) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Rejected> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        Rejected::new(Code::BadJson, format!("the body is not UTF-8 from byte {at} on"))
    })?;
    if text.trim_ascii().is_empty() {
        let detail = "the body is empty, a JSON object is needed; send {} to say nothing";
        return Err(Problem {
            field: Some("body".to_owned()),
            ..Problem::new(Code::BadJson, detail)
        }
        .into());
    }
    // Read as a list, fields would go by their places, which are no part of the contract.
    if text.trim_ascii_start().starts_with('[') {
        let detail = "the body is a list, a JSON object is needed";
        let field = Some("body".to_owned());
        return Err(Problem { field, ..Problem::new(Code::BadJson, detail) }.into());
    }
    check_depth(text)?;
    if let Ok(value) = serde_json::from_str(text) {
        return Ok(value);
    }
    // Read once more, slower, for the path of the field at fault.
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let path = error.path().to_string();
        misshapen(&path, error.inner())
    })?;
    deserializer.end().map_err(|error| misshapen(".", &error))?;
    Ok(value)
}

/// Refuses nesting that is deeper than any known body needs.
fn check_depth(text: &str) -> Result<(), Rejected> {
    let mut depth = 0_usize;
    let mut rest = text.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            b'"' => rest = after_string(after),
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > JSON_DEPTH_MAX {
            let detail = format!("the body is nested deeper than {JSON_DEPTH_MAX} levels");
            let max = Some(JSON_DEPTH_MAX as u64);
            let field = Some("body".to_owned());
            return Err(Problem { field, max, ..Problem::new(Code::BadJson, detail) }.into());
        }
    }
    Ok(())
}

/// Returns what follows the string whose opening quote was just read.
fn after_string(mut rest: &[u8]) -> &[u8] {
    while let Some(at) = memchr::memchr2(b'"', b'\\', rest) {
        if rest[at] == b'"' {
            return &rest[at + 1..];
        }
        rest = rest.get(at + 2..).unwrap_or_default();
    }
    &[]
}

fn misshapen(path: &str, error: &serde_json::Error) -> Rejected {
    let path = if path == "." || path.is_empty() { "body" } else { path };
    let text = error.to_string();
    let field = match quoted_unknown(&text) {
        Some(unknown) if !ends_with_key(path, unknown) => join(path, unknown),
        Some(_) | None => path.to_owned(),
    };
    let field = shorten(&field);
    let detail = match error.classify() {
        Category::Data => format!("{field}: {text}"),
        Category::Syntax | Category::Eof | Category::Io => format!("the body is not JSON: {text}"),
    };
    Problem { field: Some(field), ..Problem::new(Code::BadJson, shorten(&detail)) }.into()
}

/// Returns the name of the field that is unknown, missing or there twice, if that is what the
/// message says.
fn quoted_unknown(text: &str) -> Option<&str> {
    let starts = ["unknown field `", "missing field `", "duplicate field `"];
    let rest = starts.iter().find_map(|start| text.strip_prefix(start))?;
    rest.split('`').next()
}

fn ends_with_key(path: &str, key: &str) -> bool {
    path == key || path.strip_suffix(key).is_some_and(|rest| rest.ends_with('.'))
}

fn join(path: &str, key: &str) -> String {
    if path == "body" { key.to_owned() } else { format!("{path}.{key}") }
}

/// Returns the first 300 characters with controls made visible.
fn shorten(text: &str) -> String {
    text.chars().take(300).flat_map(visible).collect()
}

fn visible(c: char) -> impl Iterator<Item = char> {
    let (plain, hidden) = if c.is_control() { (None, Some(c)) } else { (Some(c), None) };
    plain.into_iter().chain(hidden.into_iter().flat_map(char::escape_default))
}

#[cfg(test)]
mod tests {
    use clawhold_api::job::{Enqueue, Settle};
    use clawhold_api::page::Nothing;

    use super::*;

    fn problem<T: DeserializeOwned + std::fmt::Debug>(text: &str) -> Problem {
        let Rejected(problem) = parse::<T>(text.as_bytes()).unwrap_err();
        *problem
    }

    #[test]
    fn the_field_at_fault_is_named_with_its_path() {
        let cases = [
            (r#"{"jobs":[{"queue":"q","payload":1},{"queue":7,"payload":1}]}"#, "jobs[1].queue"),
            (r#"{"jobs":[{"queue":"q","payload":1,"priorty":1}]}"#, "jobs[0].priorty"),
            (r#"{"jobs":[{"queue":"q"}]}"#, "jobs[0].payload"),
            (r#"{"jobs":[{"queue":"q","queue":"r","payload":1}]}"#, "jobs[0].queue"),
            (r#"{"jobs":[{"queue":"q","payload":1,"delay_ms":-1}]}"#, "jobs[0].delay_ms"),
            (r#"{"jobs":[{"queue":"q","payload":1,"delay_ms":1e400}]}"#, "jobs[0].delay_ms"),
            (
                r#"{"jobs":[{"queue":"q","payload":1,"delay_ms":18446744073709551616}]}"#,
                "jobs[0].delay_ms",
            ),
            (r#"{"jobs":{}}"#, "jobs"),
            (r#"{}"#, "jobs"),
            (r#"[]"#, "body"),
            (r#"null"#, "body"),
            (r#"{"extra":1}"#, "extra"),
        ];
        for (text, field) in cases {
            let problem = problem::<Enqueue>(text);
            assert_eq!(problem.field.as_deref(), Some(field), "{text}: {}", problem.detail);
            assert_eq!(problem.code, Code::BadJson);
        }
        let text = r#"{"session":"1.a","settlements":[{"job":1,"claim":1,"outcome":{"done":{}}}]}"#;
        let problem = problem::<Settle>(text);
        assert!(problem.detail.contains("completed"), "{}", problem.detail);
    }

    #[test]
    fn what_is_not_json_is_refused() {
        for text in ["", " \n", "{", "{}x", "NaN", "{\"jobs\":[NaN]}", "\u{0}", "{\"jobs\":\u{0}}"]
        {
            assert_eq!(problem::<Enqueue>(text).code, Code::BadJson, "{text:?}");
        }
        let Rejected(problem) = parse::<Nothing>(b"{\"a\":\"\xff\"}").unwrap_err();
        assert!(problem.detail.contains("byte 6"), "{}", problem.detail);
    }

    #[test]
    fn deep_nesting_is_refused_before_it_is_read() {
        let deep = |levels: usize| {
            let payload = format!("{}{}", "[".repeat(levels), "]".repeat(levels));
            format!(r#"{{"jobs":[{{"queue":"q","payload":{payload}}}]}}"#)
        };
        assert!(parse::<Enqueue>(deep(61).as_bytes()).is_ok());
        assert!(problem::<Enqueue>(&deep(62)).detail.contains("64 levels"));
        assert!(problem::<Enqueue>(&deep(200_000)).detail.contains("64 levels"));
        let quoted = format!(r#"{{"jobs":[{{"queue":"q","payload":"\\\"{}"}}]}}"#, "[".repeat(99));
        assert!(parse::<Enqueue>(quoted.as_bytes()).is_ok());
    }

    #[test]
    fn a_payload_is_kept_byte_for_byte() {
        let text = r#"{"jobs":[{"queue":"q","payload":{"b":1.0,"a":  "ü"}}]}"#;
        let body: Enqueue = parse(text.as_bytes()).unwrap();
        assert_eq!(body.jobs[0].payload.get(), r#"{"b":1.0,"a":  "ü"}"#);
    }
}
