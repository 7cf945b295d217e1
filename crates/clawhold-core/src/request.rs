//! Requests that came before, so that a retry gets the first answer.
//!
//! Two requests are the same when they ask for the same, whatever the server drew for them.
//! The oldest is forgotten first. Whose id it is, is decided at the door.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use minicbor::{Decode, Encode};
use sha2::Digest;

use crate::answer::{Answer, Refusal};
use crate::command::{Automate, Command, Import, OpenSession, TakeOver};
use crate::limits;
use crate::shared::{Shared, Shelf};
use crate::snapshot::Hashing;
use crate::units::{Position, RequestId, Stamp, Timestamp};

/// The answers given to requests that carried an id.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Requests {
    #[n(0)]
    by_id: BTreeMap<RequestId, Shared<Kept>>,
    /// The ids in `by_id`, in the order of their entries.
    #[n(1)]
    order: Shelf<RequestId>,
    /// By how much wall time leapt ahead of time served, all told: nobody grew older by that.
    #[n(2)]
    leapt_ms: Option<u64>,
}

/// One request and its answer.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
struct Kept {
    #[n(0)]
    first: Position,
    /// The wall time, without what it leapt.
    #[n(1)]
    at: Timestamp,
    #[n(2)]
    print: u64,
    #[n(3)]
    answer: Result<Answer, Refusal>,
}

/// What is known of a request id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Recall {
    /// It did not come before.
    Unknown,
    /// The same request came before, and this was its answer.
    Same(Result<Answer, Refusal>),
    /// Another request came under this id.
    Other {
        /// Where it stands in the log.
        first: Position,
    },
}

impl Requests {
    /// Returns what is known of `id`, for a request that asks for `command`.
    pub(crate) fn recall(&self, id: &RequestId, command: &Command) -> Recall {
        let Some(kept) = self.by_id.get(id) else { return Recall::Unknown };
        if kept.print == print(command) {
            Recall::Same(kept.answer.clone())
        } else {
            Recall::Other { first: kept.first }
        }
    }

    /// Tells whether the answer to a request with this id is kept.
    pub(crate) fn knows(&self, id: &RequestId) -> bool {
        self.by_id.contains_key(id)
    }

    /// Keeps the answer to a request whose id is not known.
    pub(crate) fn remember(
        &mut self,
        stamp: Stamp,
        id: &RequestId,
        command: &Command,
        answer: &Result<Answer, Refusal>,
    ) {
        let (first, at) = (stamp.position, self.calm(stamp.at));
        let kept = Kept { first, at, print: print(command), answer: answer.clone() };
        let before = self.by_id.insert(id.clone(), Shared::new(kept));
        assert!(before.is_none(), "a request id is remembered once");
        self.order.push_back(id.clone());
        if self.order.len() > limits::REQUESTS_MAX {
            self.forget_oldest();
        }
    }

    /// Forgets the requests whose time is over.
    pub(crate) fn fall_due(&mut self, stamp: Stamp) {
        let now = self.calm(stamp.at);
        for _ in 0..limits::DUE_PER_ENTRY_MAX {
            let oldest = self.order.front().and_then(|id| self.by_id.get(id));
            if oldest.is_none_or(|kept| now < kept.at.after(limits::REQUEST_MS)) {
                return;
            }
            self.forget_oldest();
        }
    }

    /// Takes in that wall time went on by `passed_ms` while time served went on by `served_ms`.
    ///
    /// Where it leapt ahead, because the clock was moved or because nobody served, no request
    /// grows older by that.
    pub(crate) fn pass(&mut self, passed_ms: u64, served_ms: u64) {
        let ahead_ms = passed_ms.saturating_sub(served_ms);
        if !self.order.is_empty() && ahead_ms >= limits::LEAP_MS_MIN {
            self.leapt_ms = Some(self.leapt_ms().saturating_add(ahead_ms));
        }
    }

    fn calm(&self, at: Timestamp) -> Timestamp {
        Timestamp(at.0.saturating_sub(self.leapt_ms()))
    }

    fn leapt_ms(&self) -> u64 {
        self.leapt_ms.unwrap_or(0)
    }

    fn forget_oldest(&mut self) {
        if let Some(id) = self.order.pop_front() {
            self.by_id.remove(&id);
        }
    }

    /// Tells what does not hold, if something does not.
    pub(crate) fn check(&self) -> Result<(), String> {
        let all_known = self.order.iter().all(|id| self.by_id.contains_key(id));
        if all_known && self.order.len() == self.by_id.len() {
            return Ok(());
        }
        Err("the order of requests and their answers differ".to_owned())
    }
}

/// Returns 64 bits of a digest over what a command asks for, without what the server drew for it.
fn print(command: &Command) -> u64 {
    let drawn = if let Command::OpenSession(open) = command {
        Some(Command::OpenSession(OpenSession { secret: 0, ..open.clone() }))
    } else if let Command::TakeOver(take) = command {
        Some(Command::TakeOver(TakeOver { nonce: 0, ..take.clone() }))
    } else {
        asked_for(command)
    };
    let mut hashing = Hashing::default();
    minicbor::encode(drawn.as_ref().unwrap_or(command), &mut hashing)
        .expect("a digest takes every byte");
    let digest = hashing.0.finalize();
    let mut first = [0; 8];
    first.copy_from_slice(&digest[..8]);
    u64::from_be_bytes(first)
}

/// Returns an import as it was asked for, whatever there was to be done for it.
fn asked_for(command: &Command) -> Option<Command> {
    let Command::Automate(automate) = command else { return None };
    let Automate::Import(import) = &**automate else { return None };
    let asked = Some(import.asked?);
    let import = Import { definitions: Vec::new(), remove: Vec::new(), asked };
    Some(Command::Automate(Box::new(Automate::Import(import))))
}

/// Returns the refusal of a field that lies outside its range.
pub(crate) fn out_of_range(field: &str, value: impl ToString, allowed: impl ToString) -> Refusal {
    let value = value.to_string().into_boxed_str();
    let allowed = allowed.to_string().into_boxed_str();
    Refusal::OutOfRange { field: field.into(), value, allowed }
}

/// Checks that a number lies in its range, ends included.
pub(crate) fn check_range(field: &str, value: u64, min: u64, max: u64) -> Result<(), Refusal> {
    if min <= value && value <= max {
        return Ok(());
    }
    Err(out_of_range(field, value, alloc::format!("{min} to {max}")))
}
