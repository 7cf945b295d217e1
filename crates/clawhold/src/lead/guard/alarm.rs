//! An alarm on the clock that goes on while the machine sleeps.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread;

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

/// Calls a function at a moment of `CLOCK_BOOTTIME`; right after waking up when it slept past.
#[derive(Debug)]
pub(super) struct Alarm {
    timer: Arc<OwnedFd>,
}

impl Alarm {
    /// Starts an alarm that calls `ring` on a thread of its own until `ring` returns false.
    ///
    /// # Errors
    /// When the system gives no timer.
    pub(super) fn start(mut ring: impl FnMut() -> bool + Send + 'static) -> io::Result<Self> {
        let timer = Arc::new(timerfd_create(TimerfdClockId::Boottime, TimerfdFlags::CLOEXEC)?);
        let read = Arc::clone(&timer);
        thread::spawn(move || {
            let mut count = [0; 8];
            while rustix::io::read(&*read, &mut count).is_ok() && ring() {}
        });
        Ok(Self { timer })
    }

    /// Moves the alarm to `at_ms`, or stops it.
    pub(super) fn set(&self, at_ms: Option<u64>) {
        // A moment of zero would stop the timer instead of ringing at once.
        let at_ms = at_ms.map_or(0, |at_ms| at_ms.max(1));
        let seconds = i64::try_from(at_ms / 1_000).unwrap_or(i64::MAX);
        let nanos = i64::try_from(at_ms % 1_000 * 1_000_000).unwrap_or(0);
        let value = Timespec { tv_sec: seconds, tv_nsec: nanos };
        let once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let spec = Itimerspec { it_interval: once, it_value: value };
        timerfd_settime(&*self.timer, TimerfdTimerFlags::ABSTIME, &spec)
            .expect("a timer that was created takes any moment");
    }
}
