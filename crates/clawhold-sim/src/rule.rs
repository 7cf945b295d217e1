//! Rules that can be broken on purpose, to prove that the checker notices.
//!
//! They are broken around the product: in what a simulated server is told, asks and answers, or
//! in what an entry is said to have done. The product itself has no such switch.

use std::fmt;
use std::str::FromStr;

macro_rules! rules {
    ($($(#[$doc:meta])* $rule:ident $word:literal),* $(,)?) => {
        /// A rule that is broken on purpose.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Rule {
            $($(#[$doc])* $rule),*
        }

        impl Rule {
            /// Every rule that can be broken.
            pub(crate) const ALL: [Self; [$($word),*].len()] = [$(Self::$rule),*];

            fn as_str(self) -> &'static str {
                match self {
                    $(Self::$rule => $word),*
                }
            }
        }
    };
}

rules! {
    /// A server confirms the renewal of a lease under an overtaken token.
    RenewOvertaken "renew-overtaken",
    /// A server answers before the entry is durable.
    AnswerEarly "answer-early",
    /// A standby takes over without waiting for the hold of the active server to lapse.
    SkipHold "skip-hold",
    /// A server goes on confirming beats after its own hold has lapsed.
    ConfirmLate "confirm-late",
    /// A lease is ended by the time of its grant, whatever was renewed since.
    ForgetRenewals "forget-renewals",
    /// A standby applies some requests twice.
    ApplyTwice "apply-twice",
    /// A server runs a request again that came before.
    ForgetRequests "forget-requests",
    /// The log loses an acknowledged record when its power is cut.
    LoseAcknowledged "lose-acknowledged",
    /// No standby ever takes over.
    NeverTakeOver "never-take-over",
    /// A client counts its lease from the answer instead of from the question.
    CountFromAnswer "count-from-answer",
    /// A claim hands out a job that another session holds.
    OneJobToTwo "one-job-to-two",
    /// A commit under an overtaken token is accepted.
    StaleCommit "stale-commit",
    /// A completion under a superseded claim is accepted.
    StaleCompletion "stale-completion",
    /// A grant repeats an old token.
    RepeatToken "repeat-token",
    /// A new job is handed out before a returned one.
    NewBeforeReturned "new-before-returned",
    /// A commit passes over an event.
    SkipEvent "skip-event",
}

impl Rule {
    /// Tells whether it is broken in what an entry is said to have done.
    pub(crate) fn is_of_the_state(self) -> bool {
        match self {
            Self::OneJobToTwo
            | Self::StaleCommit
            | Self::StaleCompletion
            | Self::RepeatToken
            | Self::NewBeforeReturned => true,
            Self::RenewOvertaken
            | Self::AnswerEarly
            | Self::SkipHold
            | Self::ConfirmLate
            | Self::ForgetRenewals
            | Self::ApplyTwice
            | Self::ForgetRequests
            | Self::LoseAcknowledged
            | Self::NeverTakeOver
            | Self::CountFromAnswer
            | Self::SkipEvent => false,
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Rule {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|rule| rule.as_str() == word);
        found.ok_or_else(|| {
            let words: Vec<&str> = Self::ALL.into_iter().map(Self::as_str).collect();
            format!("there is no rule {word:?}; there are {}", words.join(", "))
        })
    }
}
