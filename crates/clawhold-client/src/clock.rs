//! The clock that deadlines are kept on: it stands still for nobody, a suspended host included.
//!
//! A lease that was confirmed for so many milliseconds is trusted for that time less a margin,
//! counted from before the request was sent.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Milliseconds of the smallest margin.
const MARGIN_MS_MIN: u64 = 20;
/// The part of the ttl that the margin is at least: a twentieth, for clocks that run 5 % apart.
const MARGIN_PART: u64 = 20;

/// A clock that counts milliseconds since the host was started, time asleep included.
#[derive(Clone, Debug, Default)]
pub struct Clock(Source);

#[derive(Clone, Debug, Default)]
enum Source {
    #[default]
    Boottime,
    #[cfg(test)]
    Manual(std::sync::Arc<std::sync::atomic::AtomicU64>),
}

impl Clock {
    /// Returns the milliseconds since the host was started (`CLOCK_BOOTTIME`).
    #[must_use]
    pub fn now_ms(&self) -> u64 {
        match &self.0 {
            Source::Boottime => {
                let now = clock_gettime(ClockId::Boottime);
                let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
                let nanos = u64::try_from(now.tv_nsec).unwrap_or(0);
                seconds.saturating_mul(1_000).saturating_add(nanos / 1_000_000)
            }
            #[cfg(test)]
            Source::Manual(ms) => ms.load(std::sync::atomic::Ordering::SeqCst),
        }
    }

    /// Returns a clock that stands at `ms` until a test moves it.
    #[cfg(test)]
    pub(crate) fn manual(ms: u64) -> (Self, std::sync::Arc<std::sync::atomic::AtomicU64>) {
        let hand = std::sync::Arc::new(std::sync::atomic::AtomicU64::new(ms));
        (Self(Source::Manual(hand.clone())), hand)
    }

    /// Returns how long it is until `deadline_ms`, zero when that has passed.
    #[must_use]
    pub fn left(&self, deadline_ms: u64) -> Duration {
        Duration::from_millis(deadline_ms.saturating_sub(self.now_ms()))
    }
}

/// Returns the milliseconds by which a holder stops before its time is up.
#[must_use]
pub(crate) fn margin_ms(ttl_ms: u64) -> u64 {
    ttl_ms.div_ceil(MARGIN_PART).max(MARGIN_MS_MIN)
}

/// Returns the moment until which something is trusted that was confirmed for `valid_ms`.
#[must_use]
pub(crate) fn deadline_ms(sent_ms: u64, valid_ms: u64, ttl_ms: u64) -> u64 {
    sent_ms.saturating_add(valid_ms.saturating_sub(margin_ms(ttl_ms)))
}

/// Returns a duration in whole milliseconds, at most `u64::MAX`.
#[must_use]
pub(crate) fn ms_of(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_counts_from_before_the_send_and_lies_a_margin_early() {
        assert_eq!(deadline_ms(5_000, 10_000, 10_000), 14_500);
        assert_eq!(deadline_ms(5_000, 200, 200), 5_180);
        // The server's own hold on the log was shorter than the lease.
        assert_eq!(deadline_ms(5_000, 700, 10_000), 5_200);
        assert_eq!(deadline_ms(5_000, 0, 10_000), 5_000);
        assert_eq!(deadline_ms(u64::MAX - 1, 10_000, 10_000), u64::MAX);
    }

    #[test]
    fn every_ttl_that_is_allowed_holds_its_margin_and_two_beats() {
        for ttl_ms in [200, 201, 399, 400, 401, 1_000, 10_019, 86_400_000] {
            let margin = margin_ms(ttl_ms);
            assert!(margin >= 20, "{ttl_ms}");
            assert!(margin * 20 >= ttl_ms, "{ttl_ms}");
            assert!(margin + 2 * (ttl_ms / 3) < ttl_ms, "{ttl_ms}");
        }
    }

    #[test]
    fn clocks_that_run_five_percent_apart_do_not_overlap() {
        for ttl_ms in [1_000_u64, 10_000, 86_400_000] {
            // The server's clock runs fast: its ttl is over after 95 % of ours.
            let server_ends = ttl_ms * 95 / 100;
            assert!(deadline_ms(0, ttl_ms, ttl_ms) <= server_ends, "{ttl_ms}");
        }
    }

    #[test]
    fn the_clock_moves_on() {
        let clock = Clock::default();
        let before = clock.now_ms();
        std::thread::sleep(Duration::from_millis(5));
        assert!(clock.now_ms() >= before + 4);
        assert_eq!(clock.left(before), Duration::ZERO);
    }
}
