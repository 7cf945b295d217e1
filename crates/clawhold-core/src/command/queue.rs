//! What is asked of queues.

use minicbor::{Decode, Encode};

use crate::units::{Name, Text};

/// See [`super::Command::SetQueue`]. What is `None` stays as it is.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct SetQueue {
    /// The queue.
    #[n(0)]
    pub queue: Name,
    /// Jobs that may run at once; 0 for no limit.
    #[n(1)]
    pub running_max: Option<u32>,
    /// Milliseconds a handler may go without progress; 0 for no deadline.
    #[n(2)]
    pub progress_ms: Option<u64>,
    /// Ended jobs kept.
    #[n(3)]
    pub retain_count: Option<u64>,
    /// Milliseconds for which ended jobs are kept.
    #[n(4)]
    pub retain_ms: Option<u64>,
    /// Holders that may vanish with a job before it is dead.
    #[n(5)]
    pub losses_max: Option<u32>,
    /// Hand-backs after which a job is dead.
    #[n(6)]
    pub hand_backs_max: Option<u32>,
    /// Live jobs that the queue takes before it refuses; 0 for no limit of its own.
    #[n(7)]
    pub live_max: Option<u64>,
}

/// See [`super::Command::PauseQueue`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct PauseQueue {
    /// The queue.
    #[n(0)]
    pub queue: Name,
    /// Why.
    #[n(1)]
    pub reason: Text,
}

/// See [`super::Command::ResumeQueue`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ResumeQueue {
    /// The queue.
    #[n(0)]
    pub queue: Name,
}

/// See [`super::Command::RemoveQueue`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct RemoveQueue {
    /// The queue.
    #[n(0)]
    pub queue: Name,
}

/// See [`super::Command::CloseGate`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct CloseGate {
    /// The queue.
    #[n(0)]
    pub queue: Name,
    /// Milliseconds after which the gate opens by itself.
    #[n(1)]
    pub within_ms: u64,
}

/// See [`super::Command::OpenGate`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct OpenGate {
    /// The queue.
    #[n(0)]
    pub queue: Name,
}
