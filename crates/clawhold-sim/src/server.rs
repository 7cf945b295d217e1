//! One simulated server: a replica, its handle on the log, and the orders between them.

use std::collections::VecDeque;

use clawhold_core::State;
use clawhold_core::replica::{
    Action, Append, Config, Event, LogRecord, Mode, Now, Presence, Replica,
};
use clawhold_core::units::{Epoch, RecordNumber, Text, Timestamp};
use clawhold_log::{Log, MemoryLog, MemoryStore, Number};

/// Milliseconds of a simulated server's hold.
pub(crate) const HOLD_MS: u64 = 1_000;
/// Wall time at which a world begins.
const WALL_MS: u64 = 1_700_000_000_000;

/// A server that runs, and what it has asked of the log.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) replica: Replica,
    pub(crate) log: MemoryLog,
    /// Orders that the log has not carried out.
    pub(crate) orders: VecDeque<Order>,
    /// The number from which it reads next while it follows.
    next: RecordNumber,
    presence: Option<Presence>,
    /// Milliseconds its wall clock is ahead of, or behind, the world's.
    skew_ms: i64,
    /// It does nothing before this moment.
    pub(crate) frozen_until_ms: u64,
}

/// Something asked of the log, to be carried out at a moment.
#[derive(Debug)]
pub(crate) struct Order {
    pub(crate) at_ms: u64,
    pub(crate) action: Action,
}

impl Server {
    /// Starts a server from the newest snapshot in the store.
    pub(crate) fn start(store: &MemoryStore, nonce: u64, now_ms: u64, skew_ms: i64) -> Self {
        let mut log = store.handle();
        let snapshot = log.latest_snapshot().expect("the snapshots of this world are intact");
        let (state, next) = match snapshot {
            Some(snapshot) => {
                let state = State::restore(&snapshot.bytes).expect("a snapshot is readable");
                (state, RecordNumber(snapshot.at.0 + 1))
            }
            None => (State::default(), RecordNumber(1)),
        };
        let config = Config { advertise: Text::cut("sim"), hold_ms: HOLD_MS, nonce };
        let replica = Replica::new(config, state, next, now(now_ms, skew_ms));
        let orders = VecDeque::new();
        Self { replica, log, orders, next, presence: None, skew_ms, frozen_until_ms: 0 }
    }

    /// Returns this server's clock readings.
    pub(crate) fn now(&self, now_ms: u64) -> Now {
        now(now_ms, self.skew_ms)
    }

    /// Carries one order out and returns the event that the replica gets.
    pub(crate) fn carry_out(&mut self, action: Action) -> Option<Event> {
        match action {
            Action::Append { number, epoch, body } => {
                let (number, epoch) = (Number(number.0), clawhold_log::Epoch(epoch.0));
                Some(Event::Appended(match self.log.append(number, epoch, &body) {
                    Ok(clawhold_log::Append::Done) => Append::Done,
                    Ok(clawhold_log::Append::Overtaken { .. }) => Append::Overtaken,
                    Ok(clawhold_log::Append::Unknown { .. }) => Append::Unknown,
                    Err(error) => Append::Failed { reason: error.to_string() },
                }))
            }
            Action::TakeOver { epoch, body } => {
                let done = match self.log.take_over(clawhold_log::Epoch(epoch.0), &body) {
                    Ok(
                        clawhold_log::TakeOver::Done { .. }
                        | clawhold_log::TakeOver::Unknown { .. },
                    ) => true,
                    Ok(clawhold_log::TakeOver::Overtaken { .. }) | Err(_) => false,
                };
                Some(Event::TookOver(done))
            }
            Action::ReadBack { number } => Some(Event::Read(self.read(number))),
            Action::Decline { .. } => None,
        }
    }

    /// One turn of following: what is new in the log, and whose the presence lock is.
    pub(crate) fn follow(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        match self.replica.mode() {
            Mode::Active => self.next = self.replica.next_record(),
            Mode::Standby | Mode::TakingOver => {
                self.next = self.replica.next_record();
                let records = self.read(self.next);
                if !records.is_empty() {
                    events.push(Event::Read(records));
                }
            }
            Mode::Stopped => {}
        }
        events
    }

    /// Asks for the presence lock, or gives it back after having been overtaken.
    pub(crate) fn claim_presence(&mut self) -> Option<Event> {
        let presence = match self.log.claim_presence() {
            clawhold_log::Presence::Held => Presence::Ours,
            clawhold_log::Presence::HeldByOther => Presence::Others,
            clawhold_log::Presence::Unsupported => Presence::Unsupported,
        };
        let told = self.presence.replace(presence);
        (told != Some(presence)).then_some(Event::Presence(presence))
    }

    /// Gives the presence lock back.
    pub(crate) fn release_presence(&mut self) {
        self.presence = None;
        self.log.release_presence();
    }

    /// Takes a snapshot and trims the log behind it.
    pub(crate) fn snapshot(&mut self) {
        let at = Number(self.replica.next_record().0.saturating_sub(1));
        let state = self.replica.state();
        let epoch = clawhold_log::Epoch(state.epoch().0);
        let bytes = state.snapshot();
        let mut chunks = bytes.chunks(4_096).map(<[u8]>::to_vec);
        if self.log.put_snapshot(at, epoch, &mut chunks).is_ok() {
            while self.log.trim(at).is_ok_and(|removed| removed > 0) {}
        }
    }

    fn read(&mut self, from: RecordNumber) -> Vec<LogRecord> {
        let records = self.log.read(Number(from.0), 64 * 1_024).unwrap_or_default();
        let records = records.into_iter().map(|record| LogRecord {
            number: RecordNumber(record.number.0),
            epoch: Epoch(record.epoch.0),
            body: record.body,
        });
        records.collect()
    }
}

fn now(now_ms: u64, skew_ms: i64) -> Now {
    let wall_ms = (WALL_MS + now_ms).saturating_add_signed(skew_ms);
    Now { at: Timestamp(wall_ms), uptime_ms: now_ms }
}
