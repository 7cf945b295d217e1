//! Errors: one code for each thing a caller would do differently, as RFC 9457 problems.
//!
//! Each code answers three questions: the HTTP status, whether the same request is sensible to
//! send again, and whether it is certain that nothing happened.

mod code;

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

pub use code::Code;

/// An error as RFC 9457 `application/problem+json`.
///
/// The fields from `field` on are facts that belong to some codes only; each is absent unless it
/// applies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Problem {
    /// `/problems/<code>`, where the code is explained.
    #[serde(rename = "type")]
    pub kind: String,
    /// What the code means.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// What happened here, naming the thing and the next step.
    pub detail: String,
    /// The request's path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
    /// The word to decide by.
    pub code: Code,
    /// Whether the same request, sent again with the same request id, may well succeed.
    pub retryable: bool,
    /// Whether it is certain that the request changed nothing.
    pub nothing_happened: bool,
    /// The field, as a path: `jobs[3].queue`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// Its value, cut to 100 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// What is allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed: Option<String>,
    /// The latest token of the role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latest_token: Option<u64>,
    /// The session that holds the role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<u64>,
    /// The job that is meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<u64>,
    /// The latest claim of the job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latest_claim: Option<u64>,
    /// The state that the job or worker is in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// The session that is meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<u64>,
    /// The number of the newest checkpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latest_checkpoint: Option<u64>,
    /// Where the request id was used first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_position: Option<u64>,
    /// The position that is recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded: Option<u64>,
    /// The first event kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<u64>,
    /// The last event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<u64>,
    /// The number that the next event gets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
    /// How many there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// How many there may be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<u64>,
    /// The ids of the things that bear the name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ids: Vec<u64>,
    /// The URL of the active server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_url: Option<String>,
    /// The kind of definition that is meant: `auto-fix`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noun: Option<String>,
    /// The name of the definition that is meant, or that stands in the way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its version in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
    /// The parameter that is asked for: `role`, `worker`, `queue` or `job`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub param: Option<String>,
    /// What may be said instead, the likeliest first: names, values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
    /// The code of what keeps a fix from running: `budget`, `cooldown`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When it may run, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free_at: Option<String>,
    /// The run that is meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<u64>,
    /// More to show as it stands, a line each: a condition with a caret, what stays as it is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<String>,
}

impl Problem {
    /// Returns a problem without further facts.
    #[must_use]
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        Self {
            kind: format!("/problems/{code}"),
            title: code.title().to_owned(),
            status: code.status(),
            detail: detail.into(),
            instance: None,
            code,
            retryable: code.retry_is_sensible(),
            nothing_happened: code.nothing_happened(),
            field: None,
            value: None,
            allowed: None,
            latest_token: None,
            holder: None,
            job: None,
            latest_claim: None,
            state: None,
            session: None,
            latest_checkpoint: None,
            first_position: None,
            recorded: None,
            first: None,
            last: None,
            next: None,
            count: None,
            max: None,
            ids: Vec::new(),
            active_url: None,
            noun: None,
            name: None,
            version: None,
            param: None,
            choices: Vec::new(),
            reason: None,
            free_at: None,
            run: None,
            lines: Vec::new(),
        }
    }

    /// Returns a problem with one field, the value it has, and what is allowed.
    #[must_use]
    pub fn field(code: Code, field: &str, value: &str, allowed: &str) -> Self {
        let value = cut(value);
        let detail = if value.is_empty() {
            format!("{field} is missing or empty, allowed is {allowed}")
        } else {
            format!("{field} is {value}, allowed is {allowed}")
        };
        Self {
            field: Some(field.to_owned()),
            value: Some(value),
            allowed: Some(allowed.to_owned()),
            ..Self::new(code, detail)
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.detail, self.code)
    }
}

impl std::error::Error for Problem {}

/// Returns the first 100 characters of `text`, with `…` where something is missing and controls
/// made visible.
fn cut(text: &str) -> String {
    let mut cut: String = text.chars().take(100).flat_map(char::escape_debug).collect();
    if text.chars().nth(100).is_some() {
        cut.push('…');
    }
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_reads_back_with_its_facts() {
        let problem = Problem::field(Code::OutOfRange, "jobs[0].priority", "300", "-100 to 100");
        let text = serde_json::to_string(&problem).unwrap();
        assert!(text.contains("\"type\":\"/problems/out_of_range\""), "{text}");
        assert!(!text.contains("active_url"), "{text}");
        assert_eq!(serde_json::from_str::<Problem>(&text).unwrap(), problem);
    }

    #[test]
    fn a_long_value_is_cut_and_its_controls_are_visible() {
        let problem = Problem::field(Code::OutOfRange, "label", &"a\n".repeat(80), "a name");
        let value = problem.value.unwrap();
        assert!(value.starts_with("a\\na"), "{value}");
        assert!(value.ends_with('…'), "{value}");
    }
}
