//! The only place that reads a clock.
//!
//! Leases and the hold on the log count on a clock that never runs back and includes suspended
//! time; schedules and displays use wall time. Both are read together, once for each event.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clawhold_core::replica::Now;
use clawhold_core::units::Timestamp;
use rustix::time::{ClockId, clock_gettime};

/// Returns both clocks' readings.
#[must_use]
pub(crate) fn now() -> Now {
    Now { at: Timestamp(wall_ms()), uptime_ms: uptime_ms() }
}

/// Waits for `duration`. For pacing repeated attempts, never for synchronisation.
#[expect(clippy::disallowed_methods, reason = "this is the replacement that the lint names")]
pub(crate) async fn pause(duration: Duration) {
    tokio::time::sleep(duration).await;
}

/// Returns the wall time `at` as RFC 3339 in UTC with milliseconds.
#[must_use]
pub(crate) fn rfc3339(at: Timestamp) -> String {
    let millis = i64::try_from(at.0).unwrap_or(i64::MAX);
    match jiff::Timestamp::from_millisecond(millis) {
        Ok(at) => format!("{at:.3}"),
        Err(_) => "9999-12-31T23:59:59.999Z".to_owned(),
    }
}

/// Returns the wall time through the C library, so that a tool which shifts it for one process is
/// heard.
#[expect(clippy::disallowed_methods, reason = "this is the replacement that the lint names")]
fn wall_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

fn uptime_ms() -> u64 {
    let time = clock_gettime(ClockId::Boottime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanos = u64::try_from(time.tv_nsec).unwrap_or(0);
    seconds.saturating_mul(1_000).saturating_add(nanos / 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_written_in_utc_with_milliseconds() {
        assert_eq!(rfc3339(Timestamp(0)), "1970-01-01T00:00:00.000Z");
        assert_eq!(rfc3339(Timestamp(1_796_054_400_123)), "2026-11-30T16:00:00.123Z");
        assert_eq!(rfc3339(Timestamp(u64::MAX)), "9999-12-31T23:59:59.999Z");
    }
}
