//! Conditions: a small language about leases, workers, queues and jobs.

use minicbor::{Decode, Encode};

use crate::units::Text;

/// A condition, checked and ready to be evaluated.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Condition {
    /// As it was typed.
    #[n(0)]
    pub(crate) text: Text,
}
