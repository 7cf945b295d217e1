//! The clock of deadlines, which goes on while the machine sleeps.

use rustix::time::{ClockId, clock_gettime};

/// Returns the milliseconds since the machine was started, sleep included.
pub(crate) fn now_ms() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    let millis = u64::try_from(now.tv_nsec / 1_000_000).unwrap_or(0);
    seconds.saturating_mul(1_000).saturating_add(millis)
}
