//! The thread that owns the log: it carries out what the replica asks, and follows the log while
//! another server is active.
//!
//! One append is in flight at most. The presence lock of the engine, where it has one, is asked
//! for at every turn of following and given back when another server has overtaken this one.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError};
use std::time::Duration;

use clawhold_core::replica::{Append, Event, LogRecord, Presence};
use clawhold_core::units::{Epoch, RecordNumber};
use clawhold_log::{Log, LogError, Number, OpenError, chain};
use tracing::{info, warn};

use crate::clock;
use crate::driver::Message;

/// Bytes that one read of the log brings at most, beyond its first record.
const READ_BYTES_MAX: usize = 4 * 1_024 * 1_024;
/// How long one turn of following waits for a record.
const FOLLOW_TURN: Duration = Duration::from_millis(5);
/// How long reading back waits after a failure of the log.
const READ_BACK_PAUSE: Duration = Duration::from_millis(100);
/// Milliseconds for which who lost a takeover leaves the presence lock to who won.
const PRESENCE_REST_MS: u64 = 250;
/// Times that a failure to read is told before it is only counted.
const COMPLAINTS_MAX: u64 = 10;

/// What the log's thread is asked to do.
#[derive(Debug)]
pub(crate) enum Order {
    /// Append these bytes.
    Append { number: RecordNumber, epoch: Epoch, body: Vec<u8> },
    /// Append a takeover.
    TakeOver { epoch: Epoch, body: Vec<u8> },
    /// Read from this number on, once, and return what is there.
    ReadBack { number: RecordNumber },
    /// Leave the presence lock to the server that leads without it.
    LeavePresence,
    /// Follow the log from this number on.
    Follow { next: RecordNumber },
    /// Stop following: this server is the active one.
    Lead,
}

/// The log and how far this server has read it.
#[derive(Debug)]
pub(crate) struct Journal {
    log: Box<dyn Log>,
    orders: Receiver<Order>,
    driver: SyncSender<Message>,
    next: RecordNumber,
    following: bool,
    /// Where the log ended when this server began to follow it, once that is known.
    end: Option<Number>,
    presence: Option<Presence>,
    /// When the presence lock was last asked for.
    asked_ms: Option<u64>,
    /// Until when the presence lock is left to the server that won a takeover.
    rests_until_ms: u64,
    complaints: u64,
}

impl Journal {
    pub(crate) fn new(
        log: Box<dyn Log>,
        orders: Receiver<Order>,
        driver: SyncSender<Message>,
        next: RecordNumber,
    ) -> Self {
        Self {
            log,
            orders,
            driver,
            next,
            following: true,
            end: None,
            presence: None,
            asked_ms: None,
            rests_until_ms: 0,
            complaints: 0,
        }
    }

    /// Works until the driver is gone.
    pub(crate) fn run(mut self) {
        loop {
            let order = if self.following {
                match self.orders.try_recv() {
                    Ok(order) => order,
                    Err(TryRecvError::Empty) => {
                        if self.follow().is_none() {
                            return;
                        }
                        continue;
                    }
                    Err(TryRecvError::Disconnected) => return,
                }
            } else {
                match self.orders.recv_timeout(READ_BACK_PAUSE) {
                    Ok(order) => order,
                    Err(RecvTimeoutError::Timeout) => {
                        self.claim_presence();
                        continue;
                    }
                    Err(RecvTimeoutError::Disconnected) => return,
                }
            };
            if self.carry_out(order).is_none() {
                return;
            }
        }
    }

    /// Carries one order out; `None` when the driver is gone.
    fn carry_out(&mut self, order: Order) -> Option<()> {
        match order {
            Order::Append { number, epoch, body } => {
                let outcome = self.append(number, epoch, &body)?;
                self.tell(Event::Appended(outcome))?;
                // Under load there is no other moment for it.
                self.claim_presence();
                Some(())
            }
            Order::TakeOver { epoch, body } => {
                let done = self.take_over(epoch, &body)?;
                self.tell(Event::TookOver(done))
            }
            Order::ReadBack { number } => self.read_back(number),
            Order::LeavePresence => {
                self.leave_presence();
                Some(())
            }
            Order::Follow { next } => {
                self.next = next;
                self.following = true;
                self.leave_presence();
                Some(())
            }
            Order::Lead => {
                self.following = false;
                Some(())
            }
        }
    }

    /// Appends; `None` when this server cannot go on.
    fn append(&mut self, number: RecordNumber, epoch: Epoch, body: &[u8]) -> Option<Append> {
        Some(match self.log.append(Number(number.0), clawhold_log::Epoch(epoch.0), body) {
            Ok(clawhold_log::Append::Done) => {
                self.next = RecordNumber(number.0 + 1);
                Append::Done
            }
            Ok(clawhold_log::Append::Overtaken { head }) => {
                info!(last = head.last.0, epoch = head.epoch.0, "another server leads");
                Append::Overtaken
            }
            Ok(clawhold_log::Append::Unknown { cause }) => {
                warn!(%cause, number = number.0, "the outcome of an append is unknown");
                Append::Unknown
            }
            Err(error) => {
                self.complain("append", &error);
                self.give_up_if_lost(&error)?;
                Append::Failed { reason: chain(&error) }
            }
        })
    }

    /// Takes over; `None` when this server cannot go on.
    fn take_over(&mut self, epoch: Epoch, body: &[u8]) -> Option<bool> {
        Some(match self.log.take_over(clawhold_log::Epoch(epoch.0), body) {
            // An unknown outcome is settled by following: our own takeover comes by, or another.
            Ok(clawhold_log::TakeOver::Done { .. } | clawhold_log::TakeOver::Unknown { .. }) => {
                true
            }
            Ok(clawhold_log::TakeOver::Overtaken { .. }) => {
                self.leave_presence();
                false
            }
            Err(error) => {
                self.complain("takeover", &error);
                self.give_up_if_lost(&error)?;
                false
            }
        })
    }

    fn read_back(&mut self, number: RecordNumber) -> Option<()> {
        loop {
            match self.read(number) {
                Ok(records) => return self.tell(Event::Read(records)),
                Err(error) => {
                    self.complain("read back", &error);
                    self.give_up_if_lost(&error)?;
                    std::thread::sleep(READ_BACK_PAUSE);
                }
            }
            if matches!(self.orders.try_recv(), Err(TryRecvError::Disconnected)) {
                return None;
            }
        }
    }

    /// One turn of following; `None` when the driver is gone.
    fn follow(&mut self) -> Option<()> {
        self.claim_presence();
        let after = Number(self.next.0.saturating_sub(1));
        let read = match self.log.wait(after, FOLLOW_TURN) {
            Ok(false) => return Some(()),
            Ok(true) => self.read(self.next),
            Err(error) => Err(error),
        };
        match read {
            Ok(records) => {
                if let Some(last) = records.last() {
                    self.next = RecordNumber(last.number.0 + 1);
                    return self.tell(Event::Read(records));
                }
                Some(())
            }
            Err(error) => {
                self.complain("follow", &error);
                self.give_up_if_lost(&error)?;
                std::thread::sleep(READ_BACK_PAUSE);
                Some(())
            }
        }
    }

    fn read(&mut self, from: RecordNumber) -> Result<Vec<LogRecord>, LogError> {
        let records = self.log.read(Number(from.0), READ_BYTES_MAX)?;
        let records = records.into_iter().map(|record| LogRecord {
            number: RecordNumber(record.number.0),
            epoch: Epoch(record.epoch.0),
            body: record.body,
        });
        Ok(records.collect())
    }

    /// Ends this server when the log is not the one that it followed, or has a hole: going on
    /// would serve another state than the one that was confirmed. `None` when it ends.
    fn give_up_if_lost(&self, error: &LogError) -> Option<()> {
        let is_lost = matches!(
            error,
            LogError::Trimmed { .. }
                | LogError::Beyond { .. }
                | LogError::Damaged { .. }
                | LogError::Missing { .. }
                | LogError::Open(OpenError::Rewound { .. } | OpenError::Moved { .. })
        );
        if !is_lost {
            return Some(());
        }
        // A driver that is gone needs no telling.
        let _ = self.driver.send(Message::Broken { reason: chain(error) });
        None
    }

    /// Leaves the presence lock to the server that won: while a standby held it, nobody would see
    /// at once that the active server is gone.
    fn leave_presence(&mut self) {
        self.log.release_presence();
        if self.presence == Some(Presence::Ours) {
            self.rests_until_ms = clock::now().uptime_ms.saturating_add(PRESENCE_REST_MS);
            self.tell(Event::Presence(Presence::Others));
        }
        self.presence = None;
    }

    fn claim_presence(&mut self) {
        if self.presence == Some(Presence::Ours) || self.presence == Some(Presence::Unsupported) {
            return;
        }
        let rests = clock::now().uptime_ms < self.rests_until_ms;
        if self.following && (rests || !self.has_caught_up()) {
            return;
        }
        let every_ms = u64::try_from(self.log.presence_every().as_millis()).unwrap_or(u64::MAX);
        if every_ms > 0 {
            let now_ms = clock::now().uptime_ms;
            if self.asked_ms.is_some_and(|asked| now_ms.saturating_sub(asked) < every_ms) {
                return;
            }
            self.asked_ms = Some(now_ms);
        }
        let presence = match self.log.claim_presence() {
            clawhold_log::Presence::Held => Presence::Ours,
            clawhold_log::Presence::HeldByOther => Presence::Others,
            clawhold_log::Presence::Unsupported => Presence::Unsupported,
        };
        if self.presence != Some(presence) {
            self.presence = Some(presence);
            self.tell(Event::Presence(presence));
        }
    }

    /// Tells whether everything was read that was in the log at the start: before that, this server
    /// cannot tell whether somebody leads.
    fn has_caught_up(&mut self) -> bool {
        if self.end.is_none() {
            self.end = self.log.head().ok().map(|head| head.last);
        }
        self.end.is_some_and(|end| end.0 < self.next.0)
    }

    fn tell(&self, event: Event) -> Option<()> {
        self.driver.send(Message::Log(event)).ok()
    }

    fn complain(&mut self, what: &str, error: &LogError) {
        self.complaints += 1;
        if self.complaints <= COMPLAINTS_MAX || self.complaints.is_multiple_of(100) {
            warn!(what, error = %chain(error), count = self.complaints, "the log failed");
        }
    }
}
