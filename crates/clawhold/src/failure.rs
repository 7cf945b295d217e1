//! Why a command did not do what was asked: what happened, why, and what to do next.

use std::error::Error;
use std::fmt;

use serde::Serialize;

use crate::api::Problem;
use crate::exit::Exit;

/// Why a command did not do what was asked.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Failure(Box<Facts>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Facts {
    exit: Exit,
    code: String,
    message: String,
    causes: Vec<String>,
    next: Option<String>,
    problem: Option<Problem>,
}

/// A failure as `--json` writes it.
#[derive(Serialize)]
struct Document<'a> {
    error: Body<'a>,
}

#[derive(Serialize)]
struct Body<'a> {
    code: &'a str,
    exit: u8,
    message: &'a str,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    causes: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<&'a Problem>,
}

impl Failure {
    /// Returns a failure with its exit, a word that does not change, and what happened.
    pub(crate) fn new(exit: Exit, code: &str, message: impl Into<String>) -> Self {
        Self(Box::new(Facts {
            exit,
            code: code.to_owned(),
            message: message.into(),
            causes: Vec::new(),
            next: None,
            problem: None,
        }))
    }

    /// Returns a failure of the command line.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, "usage", message)
    }

    /// Returns a failure of the world.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self::new(Exit::Failed, "failed", message)
    }

    /// Returns what the server answered.
    pub(crate) fn of(problem: Problem) -> Self {
        let mut failure =
            Self::new(Exit::of(problem.code), problem.code.as_str(), problem.detail.clone());
        failure.0.problem = Some(problem);
        failure
    }

    /// Adds an error and its causes as the reason.
    pub(crate) fn because(mut self, error: &dyn Error) -> Self {
        let mut cause = Some(error);
        // A chain of causes is short; the bound is for one that turns in a circle.
        for _ in 0..16 {
            let Some(error) = cause else { break };
            let text = error.to_string();
            if self.0.causes.last() != Some(&text) {
                self.0.causes.push(text);
            }
            cause = error.source();
        }
        self
    }

    /// Adds what an error was caused by as the reason: what it says itself is said already.
    pub(crate) fn because_of(self, error: &dyn Error) -> Self {
        match error.source() {
            Some(cause) => self.because(cause),
            None => self,
        }
    }

    /// Adds the next step.
    pub(crate) fn next(mut self, next: impl Into<String>) -> Self {
        self.0.next = Some(next.into());
        self
    }

    /// Puts where it happened before what happened.
    pub(crate) fn within(mut self, place: &str) -> Self {
        self.0.message = format!("{place}: {}", self.0.message);
        self
    }

    /// Takes words that are nobody's out of what happened.
    pub(crate) fn without(mut self, words: &str) -> Self {
        self.0.message = self.0.message.replace(words, "");
        self
    }

    /// Returns the field that the server speaks of, if it does.
    pub(crate) fn field(&self) -> Option<&str> {
        self.0.problem.as_ref()?.field.as_deref()
    }

    /// Returns what the server shows besides, a line each: a condition with a caret, what stays as
    /// it is.
    pub(crate) fn lines(&self) -> &[String] {
        self.0.problem.as_ref().map_or(&[], |problem| &problem.lines)
    }

    /// Returns how the program ends.
    pub(crate) fn exit(&self) -> Exit {
        self.0.exit
    }

    /// Returns what happened.
    pub(crate) fn message(&self) -> &str {
        &self.0.message
    }

    /// Returns why, the nearest cause first.
    pub(crate) fn causes(&self) -> &[String] {
        &self.0.causes
    }

    /// Returns the next step.
    pub(crate) fn next_step(&self) -> Option<&str> {
        self.0.next.as_deref()
    }

    /// Returns the failure as one JSON document.
    pub(crate) fn json(&self) -> String {
        let facts = &self.0;
        let error = Body {
            code: &facts.code,
            exit: facts.exit.code(),
            message: &facts.message,
            causes: &facts.causes,
            next: facts.next.as_deref(),
            problem: facts.problem.as_ref(),
        };
        serde_json::to_string(&Document { error }).expect("text and numbers are always JSON")
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)?;
        self.0.causes.iter().try_for_each(|cause| write!(f, ": {cause}"))
    }
}

impl Error for Failure {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Code;
    use expect_test::expect;

    #[test]
    fn a_failure_is_one_document_with_what_why_and_what_next() {
        let missing = std::io::Error::new(std::io::ErrorKind::NotFound, "no such file");
        let failure =
            Failure::usage("cannot read \"jobs.csv\"").because(&missing).next("give --file FILE");
        expect![[r#"{"error":{"code":"usage","exit":2,"message":"cannot read \"jobs.csv\"","causes":["no such file"],"next":"give --file FILE"}}"#]]
        .assert_eq(&failure.json());
    }

    #[test]
    fn an_answer_of_the_server_keeps_its_facts() {
        let mut problem = Problem::new(Code::StaleToken, "token 3 is stale");
        problem.latest_token = Some(9_007_199_254_740_991);
        let failure = Failure::of(problem);
        assert_eq!(failure.exit(), Exit::Refused);
        let json: serde_json::Value = serde_json::from_str(&failure.json()).unwrap();
        assert_eq!(json["error"]["problem"]["latest_token"], 9_007_199_254_740_991_u64);
    }
}
