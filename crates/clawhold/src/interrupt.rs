//! What breaks a command off: SIGINT or SIGTERM, unless whoever started it has them ignored.

use std::fs;

use tokio::signal::unix::{SignalKind, signal};

use crate::exit::Exit;
use crate::failure::Failure;

/// Waits for SIGINT or SIGTERM.
///
/// One that was ignored when the program started stays ignored, as POSIX has it for what a shell
/// starts under `trap '' TERM`: whoever did that wants the command carried out. One that cannot be
/// listened to never comes.
pub(crate) async fn interrupted() {
    tokio::select! {
        () = comes(SignalKind::interrupt()) => {}
        () = comes(SignalKind::terminate()) => {}
    }
}

/// Returns how a command ends that was broken off; `reads` tells whether it can have changed nothing.
pub(crate) fn failure(reads: bool) -> Failure {
    if reads {
        return Failure::new(Exit::Interrupted, "interrupted", "interrupted");
    }
    let text = "interrupted; whether it was carried out is unknown";
    Failure::new(Exit::Interrupted, "interrupted", text)
        .next("look at what it was to change before you run it again")
}

async fn comes(kind: SignalKind) {
    // Asked before the first handler is in place, which would end the ignoring.
    if is_ignored(kind) {
        return std::future::pending().await;
    }
    match signal(kind) {
        Ok(mut listening) => {
            listening.recv().await;
        }
        Err(_) => std::future::pending().await,
    }
}

/// Tells whether a signal is ignored by this process, by proc(5); where that is not there, it is not.
fn is_ignored(kind: SignalKind) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok());
    let bit = u32::try_from(kind.as_raw_value() - 1).unwrap_or(u32::MAX);
    mask.and_then(|mask| mask.checked_shr(bit)).is_some_and(|rest| rest & 1 == 1)
}
