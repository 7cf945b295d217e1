//! One simulated server: a replica, and the orders on their way between it and the log.
//!
//! As in the real one, a single thread owns the log: one call is under way at a time, and an
//! answer that does not come in time leaves the outcome unknown.

use std::collections::VecDeque;

use clawhold_core::State;
use clawhold_core::replica::{Action, Append, Config, Event, LogRecord, Now, Presence, Replica};
use clawhold_core::units::{Epoch, RecordNumber, Text, Timestamp};
use clawhold_log::{Log, LogError, MemoryLog, MemoryStore, Number};

/// Wall time at which a world begins.
const WALL_MS: u64 = 1_700_000_000_000;
/// Milliseconds of uptime that lie between two hosts.
const HOST_MS: u64 = 1_000_000;
/// Bytes of one read.
const READ_BYTES_MAX: usize = 64 * 1_024;

/// A server that runs.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) replica: Replica,
    /// Names this process: its handle on the log.
    pub(crate) process: u64,
    /// What is to be asked of the log, in order.
    pub(crate) orders: VecDeque<Order>,
    /// The call that is under way.
    pub(crate) call: Option<(u64, Order)>,
    /// Whether it is the turn of following the log: between two orders a standby reads on.
    pub(crate) reads_next: bool,
    pub(crate) presence: Option<Presence>,
    pub(crate) clock: Clock,
    /// It does nothing before this moment.
    pub(crate) frozen_until_ms: u64,
}

/// How a server reads the time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    pub(crate) host: u64,
    /// Milliseconds its wall clock is ahead of the world's, or behind.
    pub(crate) skew_ms: i64,
}

/// Something asked of the log.
#[derive(Clone, Debug)]
pub(crate) enum Order {
    Append { number: RecordNumber, epoch: Epoch, body: Vec<u8> },
    TakeOver { epoch: Epoch, body: Vec<u8> },
    ReadBack { number: RecordNumber },
    Follow { next: RecordNumber },
}

/// What the log answers.
#[derive(Clone, Debug)]
pub(crate) enum Answered {
    Event(Event),
    /// There is nothing to tell.
    Nothing,
    /// The records asked for are gone: this process ends, and the next begins with a snapshot.
    Gone,
}

impl Clock {
    /// Returns the readings at a moment of the world.
    pub(crate) fn now(self, now_ms: u64) -> Now {
        let wall_ms = (WALL_MS + now_ms).saturating_add_signed(self.skew_ms);
        Now { at: Timestamp(wall_ms), uptime_ms: now_ms + self.host * HOST_MS }
    }
}

impl Order {
    /// Returns the order for an action of the replica, unless it is none for the log.
    pub(crate) fn from_action(action: Action) -> Option<Self> {
        match action {
            Action::Append { number, epoch, body } => Some(Self::Append { number, epoch, body }),
            Action::TakeOver { epoch, body } => Some(Self::TakeOver { epoch, body }),
            Action::ReadBack { number } => Some(Self::ReadBack { number }),
            Action::LeavePresence | Action::Decline { .. } => None,
        }
    }

    /// Tells whether this changes the log.
    pub(crate) fn is_write(&self) -> bool {
        match self {
            Self::Append { .. } | Self::TakeOver { .. } => true,
            Self::ReadBack { .. } | Self::Follow { .. } => false,
        }
    }

    /// Carries the order out on the log.
    pub(crate) fn carry_out(&self, log: &mut MemoryLog) -> Answered {
        match self {
            Self::Append { number, epoch, body } => {
                let (number, epoch) = (Number(number.0), clawhold_log::Epoch(epoch.0));
                Answered::Event(Event::Appended(match log.append(number, epoch, body) {
                    Ok(clawhold_log::Append::Done) => Append::Done,
                    Ok(clawhold_log::Append::Overtaken { .. }) => Append::Overtaken,
                    Ok(clawhold_log::Append::Unknown { .. }) => Append::Unknown,
                    Err(error) => Append::Failed { reason: error.to_string() },
                }))
            }
            Self::TakeOver { epoch, body } => {
                let done = match log.take_over(clawhold_log::Epoch(epoch.0), body) {
                    Ok(
                        clawhold_log::TakeOver::Done { .. }
                        | clawhold_log::TakeOver::Unknown { .. },
                    ) => true,
                    Ok(clawhold_log::TakeOver::Overtaken { .. }) | Err(_) => false,
                };
                Answered::Event(Event::TookOver(done))
            }
            Self::ReadBack { number } => match read(log, *number) {
                Ok(records) => Answered::Event(Event::Read(records)),
                Err(_) => Answered::Gone,
            },
            Self::Follow { next } => match read(log, *next) {
                Ok(records) if records.is_empty() => Answered::Nothing,
                Ok(records) => Answered::Event(Event::Read(records)),
                Err(_) => Answered::Gone,
            },
        }
    }

    /// Returns what the server makes of an answer that did not come in time. A reading is asked
    /// again, or given up until the next turn.
    pub(crate) fn timed_out(&self) -> Answered {
        match self {
            Self::Append { .. } => Answered::Event(Event::Appended(Append::Unknown)),
            Self::TakeOver { .. } => Answered::Event(Event::TookOver(true)),
            Self::ReadBack { .. } | Self::Follow { .. } => Answered::Nothing,
        }
    }
}

impl Server {
    /// Starts a server from the newest snapshot in the store that is intact.
    ///
    /// # Errors
    /// What is wrong with the store.
    pub(crate) fn start(
        store: &MemoryStore,
        (config, clock, process): (Config, Clock, u64),
        now_ms: u64,
    ) -> Result<(Self, MemoryLog), String> {
        let mut log = store.handle();
        let snapshot = log.latest_snapshot().map_err(|error| error.to_string())?;
        let (state, next) = match snapshot {
            Some(snapshot) => {
                let state = State::restore(&snapshot.bytes).map_err(|error| error.to_string())?;
                (state, RecordNumber(snapshot.at.0 + 1))
            }
            None => (State::default(), RecordNumber(1)),
        };
        let replica = Replica::new(config, state, next, clock.now(now_ms));
        let server = Self {
            replica,
            process,
            orders: VecDeque::new(),
            call: None,
            reads_next: true,
            presence: None,
            clock,
            frozen_until_ms: now_ms,
        };
        Ok((server, log))
    }

    /// Returns this server's clock readings.
    pub(crate) fn now(&self, now_ms: u64) -> Now {
        self.clock.now(now_ms)
    }
}

/// Returns how a server of this world takes part.
pub(crate) fn config(hold_ms: u64, nonce: u64) -> Config {
    Config { advertise: Text::cut("sim"), hold_ms, nonce }
}

/// Takes a snapshot and trims the log behind it.
pub(crate) fn snapshot(replica: &Replica, log: &mut MemoryLog) -> Result<(), LogError> {
    let at = Number(replica.next_record().0.saturating_sub(1));
    let state = replica.state();
    let bytes = state.snapshot();
    let mut chunks = bytes.chunks(4_096).map(<[u8]>::to_vec);
    log.put_snapshot(at, clawhold_log::Epoch(state.epoch().0), &mut chunks)?;
    while log.trim(at)? > 0 {}
    Ok(())
}

fn read(log: &mut MemoryLog, from: RecordNumber) -> Result<Vec<LogRecord>, LogError> {
    let records = log.read(Number(from.0), READ_BYTES_MAX)?;
    let records = records.into_iter().map(|record| LogRecord {
        number: RecordNumber(record.number.0),
        epoch: Epoch(record.epoch.0),
        body: record.body,
    });
    Ok(records.collect())
}
