//! Telling systemd that the server is ready and alive, from the loop that does the work.

use std::time::Duration;

use clawhold_core::replica::{Mode, Replica};
use sd_notify::NotifyState;

/// Tells systemd, where it listens.
#[derive(Debug)]
pub(crate) struct Notify {
    wanted: bool,
    told: Option<Mode>,
    /// Milliseconds between two signs of life, half of what systemd asks for.
    every_ms: Option<u64>,
    alive_ms: u64,
}

impl Notify {
    pub(crate) fn new(wanted: bool) -> Self {
        let watchdog = if wanted { sd_notify::watchdog_enabled() } else { None };
        let every_ms = watchdog
            .map(|limit: Duration| u64::try_from(limit.as_millis() / 2).unwrap_or(u64::MAX).max(1));
        Self { wanted, told: None, every_ms, alive_ms: 0 }
    }

    /// Called at every turn of the driver's loop.
    pub(crate) fn turn(&mut self, replica: &Replica) {
        if !self.wanted {
            return;
        }
        let mode = replica.mode();
        if self.told != Some(mode) {
            self.tell_mode(mode);
        }
        let now_ms = replica.now().uptime_ms;
        if self.every_ms.is_some_and(|every_ms| now_ms >= self.alive_ms.saturating_add(every_ms)) {
            self.alive_ms = now_ms;
            tell(&[NotifyState::Watchdog]);
        }
    }

    fn tell_mode(&mut self, mode: Mode) {
        let first = self.told.is_none();
        self.told = Some(mode);
        match mode {
            Mode::Stopped => tell(&[NotifyState::Stopping]),
            Mode::Active | Mode::Standby | Mode::TakingOver => {
                let status = NotifyState::Status(match mode {
                    Mode::Active => "active",
                    Mode::Standby | Mode::TakingOver | Mode::Stopped => "standby",
                });
                if first {
                    tell(&[NotifyState::Ready, status]);
                } else {
                    tell(&[status]);
                }
            }
        }
    }
}

fn tell(states: &[NotifyState<'_>]) {
    // Without a socket there is nobody to tell, and systemd's absence is no failure.
    let _ = sd_notify::notify(states);
}
