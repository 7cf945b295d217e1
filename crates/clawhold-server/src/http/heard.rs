//! What was heard of late, so that what comes again is known.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Mutex, PoisonError};

/// Things remembered.
const HEARD_MAX: usize = 1_000;

/// The latest things heard.
#[derive(Debug, Default)]
pub(super) struct Heard {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    known: BTreeSet<String>,
    order: VecDeque<String>,
}

impl Heard {
    /// Notes that something was heard; tells whether for the first time.
    pub(super) fn is_first(&self, what: &str) -> bool {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if !kept.known.insert(what.to_owned()) {
            return false;
        }
        kept.order.push_back(what.to_owned());
        if kept.order.len() > HEARD_MAX
            && let Some(oldest) = kept.order.pop_front()
        {
            kept.known.remove(&oldest);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_is_new_once_and_the_oldest_is_forgotten() {
        let heard = Heard::default();
        assert!(heard.is_first("0") && !heard.is_first("0"));
        for number in 1..=HEARD_MAX {
            assert!(heard.is_first(&number.to_string()));
        }
        assert!(heard.is_first("0"));
    }
}
