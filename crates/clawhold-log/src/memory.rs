//! A log in memory, shared by its handles, with switches that make it fail.
//!
//! It keeps encoded frames as an engine on disk does, and draws nothing at random, so a
//! simulator that makes the same calls sees the same log. It ends with its last handle.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use crate::check::{check_snapshot, check_write};
use crate::limits::{SNAPSHOT_GENERATIONS, TRIM_RECORDS_MAX};
use crate::snapshot::{Cutter, Joiner};
use crate::{
    Append, Epoch, Head, Log, LogError, Number, Presence, Record, Snapshot, TakeOver, Writer, frame,
};

/// What happens to the next write of a handle instead of an honest answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The write lands if it may; its answer is lost.
    UnknownLanded,
    /// The write is lost, and so is its answer.
    UnknownAbsent,
    /// The answer is lost; the write lands, if it still may, at [`MemoryStore::deliver_late`].
    UnknownLate,
    /// The write is taken in, but neither durable nor seen before [`MemoryStore::sync`]. Until
    /// then the log takes no other, and a power cut loses it.
    Unsynced,
    /// Nothing is written: the disk is full.
    Full,
    /// Nothing is written: another writer kept the log locked.
    Busy,
}

/// One log in memory; its clones are the same log.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore {
    shared: Arc<Shared>,
}

/// A handle on a log in memory. Dropping it releases its presence lock, as a process death does.
#[derive(Debug)]
pub struct MemoryLog {
    writer: Writer,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    appended: Condvar,
}

#[derive(Debug, Default)]
struct State {
    head: Head,
    /// The frames of `head.first..=head.last`.
    frames: VecDeque<Vec<u8>>,
    frames_bytes: usize,
    frames_bytes_max: Option<usize>,
    /// Oldest first, at most two.
    snapshots: Vec<Kept>,
    presence: Option<Writer>,
    writers_count: u64,
    faults: BTreeMap<Writer, VecDeque<Fault>>,
    late: VecDeque<Write>,
    /// A write that fits and is not durable.
    unsynced: Option<Write>,
}

#[derive(Debug)]
struct Kept {
    at: Number,
    epoch: Epoch,
    chunks: Vec<Vec<u8>>,
}

/// A record on its way into the log.
#[derive(Debug)]
struct Write {
    place: Place,
    epoch: Epoch,
    writer: Writer,
    body: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
enum Place {
    At(Number),
    /// After whatever is last, beginning its epoch.
    Anywhere,
}

enum Written {
    Done(Number),
    Overtaken(Head),
    Unknown(&'static str),
}

impl MemoryStore {
    /// Returns an empty log.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns another handle on this log. Its [`Writer`] is the count of handles so far.
    #[must_use]
    pub fn handle(&self) -> MemoryLog {
        let mut state = self.shared.lock();
        state.writers_count += 1;
        MemoryLog { writer: Writer(state.writers_count), shared: Arc::clone(&self.shared) }
    }

    /// Lets `fault` happen to a coming write of `writer`, after those already asked for.
    pub fn inject(&self, writer: Writer, fault: Fault) {
        self.shared.lock().faults.entry(writer).or_default().push_back(fault);
    }

    /// Makes the log full once its records take more than `bytes_max` bytes; `None` frees it.
    pub fn limit_bytes(&self, bytes_max: Option<usize>) {
        self.shared.lock().frames_bytes_max = bytes_max;
    }

    /// Delivers the writes that [`Fault::UnknownLate`] held back, oldest first. Those that do not
    /// fit any more change nothing. Returns how many landed.
    pub fn deliver_late(&self) -> usize {
        let mut state = self.shared.lock();
        let late = std::mem::take(&mut state.late);
        let landed =
            late.into_iter().filter(|write| matches!(state.write(write), Ok(Written::Done(_))));
        let landed_count = landed.count();
        drop(state);
        self.shared.appended.notify_all();
        landed_count
    }

    /// Returns whose write is taken in and not durable, if there is one.
    #[must_use]
    pub fn unsynced(&self) -> Option<Writer> {
        self.shared.lock().unsynced.as_ref().map(|write| write.writer)
    }

    /// Makes the write durable that [`Fault::Unsynced`] held back; returns its number, if there
    /// was one and there was room.
    pub fn sync(&self) -> Option<Number> {
        let mut state = self.shared.lock();
        let write = state.unsynced.take()?;
        let written = state.write(&write);
        drop(state);
        self.shared.appended.notify_all();
        if let Ok(Written::Done(number)) = written { Some(number) } else { None }
    }

    /// Cuts the power: of the frame of a write that was not synced, the first `kept_bytes` bytes
    /// are found afterwards. Recovery keeps a whole frame and drops a torn one, as an engine on
    /// disk does. Returns the number of a record that was kept.
    pub fn cut_power(&self, kept_bytes: usize) -> Option<Number> {
        let mut state = self.shared.lock();
        let write = state.unsynced.take()?;
        let number = state.head.last.next();
        let mut found = frame::encode(number, write.epoch, write.writer, &write.body);
        found.truncate(kept_bytes);
        frame::decode_at(number, &found).ok()?;
        let written = state.write(&write);
        if let Ok(Written::Done(number)) = written { Some(number) } else { None }
    }

    /// Loses the newest record, durable though it was: a disk that lied about its sync. No sound
    /// engine does that; it proves that a checker notices. Returns whether there was one.
    pub fn lose_last(&self) -> bool {
        let mut state = self.shared.lock();
        let Head { first, last, .. } = state.head;
        if last <= first {
            return false;
        }
        let Some(lost) = state.frames.pop_back() else { return false };
        state.frames_bytes -= lost.len();
        let before = state.frames.back().map(|encoded| frame::decode(encoded));
        let Some(Ok(before)) = before else { return false };
        state.head = Head { first, last: before.number, epoch: before.epoch };
        true
    }

    /// Flips the last bit of a kept record; returns whether there is such a record.
    pub fn damage_record(&self, number: Number) -> bool {
        let mut state = self.shared.lock();
        let place = state.place_of(number);
        flip(place.and_then(|place| state.frames.get_mut(place)))
    }

    /// Flips the last bit of a snapshot, 0 the newest, 1 the one before; returns whether there is
    /// such a one.
    pub fn damage_snapshot(&self, age: usize) -> bool {
        let mut state = self.shared.lock();
        flip(state.snapshots.iter_mut().rev().nth(age).and_then(|kept| kept.chunks.last_mut()))
    }
}

impl Log for MemoryLog {
    fn writer(&self) -> Writer {
        self.writer
    }

    fn another(&self) -> Result<Box<dyn Log>, LogError> {
        Ok(Box::new(MemoryStore { shared: Arc::clone(&self.shared) }.handle()))
    }

    fn head(&mut self) -> Result<Head, LogError> {
        Ok(self.shared.lock().head)
    }

    fn append(&mut self, number: Number, epoch: Epoch, body: &[u8]) -> Result<Append, LogError> {
        Ok(match self.write(Place::At(number), epoch, body)? {
            Written::Done(_) => Append::Done,
            Written::Overtaken(head) => Append::Overtaken { head },
            Written::Unknown(cause) => Append::Unknown { cause: cause.to_owned() },
        })
    }

    fn take_over(&mut self, epoch: Epoch, body: &[u8]) -> Result<TakeOver, LogError> {
        Ok(match self.write(Place::Anywhere, epoch, body)? {
            Written::Done(number) => TakeOver::Done { number },
            Written::Overtaken(head) => TakeOver::Overtaken { head },
            Written::Unknown(cause) => TakeOver::Unknown { cause: cause.to_owned() },
        })
    }

    fn read(&mut self, from: Number, bytes_max: usize) -> Result<Vec<Record>, LogError> {
        let state = self.shared.lock();
        let Head { first, last, .. } = state.head;
        if from < first {
            return Err(LogError::Trimmed { first });
        }
        if last.next() < from {
            return Err(LogError::Beyond { from, last });
        }
        let start = state.place_of(from).unwrap_or(state.frames.len());
        let mut records = Vec::new();
        let mut bytes = 0;
        let mut number = from;
        for encoded in state.frames.range(start..) {
            let record = match frame::decode_at(number, encoded) {
                Ok(record) => record,
                Err(source) if records.is_empty() => {
                    return Err(LogError::Damaged { number, source });
                }
                Err(_) => break,
            };
            bytes += record.body.len();
            if !records.is_empty() && bytes_max < bytes {
                break;
            }
            records.push(record);
            number = number.next();
        }
        Ok(records)
    }

    fn wait(&mut self, after: Number, timeout: Duration) -> Result<bool, LogError> {
        let deadline = Instant::now() + timeout;
        let mut state = self.shared.lock();
        while state.head.last <= after {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(false);
            }
            let waited = self.shared.appended.wait_timeout(state, left);
            state = waited.expect("no holder of the lock panics").0;
        }
        Ok(true)
    }

    fn put_snapshot(
        &mut self,
        at: Number,
        epoch: Epoch,
        chunks: &mut dyn Iterator<Item = Vec<u8>>,
    ) -> Result<(), LogError> {
        self.shared.lock().check_snapshot(at)?;
        let chunks = Cutter::new(at, epoch, chunks).collect();
        let mut state = self.shared.lock();
        state.check_snapshot(at)?;
        state.snapshots.retain(|kept| kept.join().is_ok());
        let surplus = (state.snapshots.len() + 1).saturating_sub(SNAPSHOT_GENERATIONS);
        state.snapshots.drain(..surplus);
        state.snapshots.push(Kept { at, epoch, chunks });
        Ok(())
    }

    fn latest_snapshot(&mut self) -> Result<Option<Snapshot>, LogError> {
        let state = self.shared.lock();
        let mut damage = None;
        for kept in state.snapshots.iter().rev() {
            match kept.join() {
                Ok(snapshot) => return Ok(Some(snapshot)),
                Err(source) => damage = damage.or(Some(source)),
            }
        }
        let first = state.head.first;
        match damage {
            Some(source) if Number(1) < first => Err(LogError::SnapshotsDamaged { first, source }),
            Some(_) | None => Ok(None),
        }
    }

    fn trim(&mut self, upto: Number) -> Result<u64, LogError> {
        let mut state = self.shared.lock();
        if state.snapshots.len() < SNAPSHOT_GENERATIONS {
            return Ok(0);
        }
        let first = state.head.first.0;
        let end = upto.min(state.snapshots[0].at).next().min(state.head.last);
        let count = end.0.saturating_sub(first).min(TRIM_RECORDS_MAX);
        for _ in 0..count {
            let removed = state.frames.pop_front().expect("the last record stays");
            state.frames_bytes -= removed.len();
        }
        state.head.first = Number(first + count);
        Ok(count)
    }

    fn claim_presence(&mut self) -> Presence {
        let mut state = self.shared.lock();
        let holder = *state.presence.get_or_insert(self.writer);
        if holder == self.writer { Presence::Held } else { Presence::HeldByOther }
    }

    fn release_presence(&mut self) {
        let mut state = self.shared.lock();
        state.presence = state.presence.filter(|holder| *holder != self.writer);
    }
}

impl MemoryLog {
    fn write(&mut self, place: Place, epoch: Epoch, body: &[u8]) -> Result<Written, LogError> {
        check_write(epoch, body)?;
        let write = Write { place, epoch, writer: self.writer, body: body.to_vec() };
        let mut state = self.shared.lock();
        let fault = state.faults.get_mut(&self.writer).and_then(VecDeque::pop_front);
        let written = match fault {
            None => state.write(&write)?,
            Some(Fault::UnknownLanded) => {
                state.write(&write)?;
                Written::Unknown("the answer was lost")
            }
            Some(Fault::UnknownAbsent) => Written::Unknown("the write was lost"),
            Some(Fault::UnknownLate) => {
                state.late.push_back(write);
                Written::Unknown("the write is late")
            }
            Some(Fault::Unsynced) if !state.fits(&write) => Written::Overtaken(state.head),
            Some(Fault::Unsynced) if state.unsynced.is_some() => return Err(LogError::Busy),
            Some(Fault::Unsynced) => {
                state.unsynced = Some(write);
                Written::Unknown("the write is not synced")
            }
            Some(Fault::Full) => return Err(LogError::Full),
            Some(Fault::Busy) => return Err(LogError::Busy),
        };
        drop(state);
        self.shared.appended.notify_all();
        Ok(written)
    }
}

impl Drop for MemoryLog {
    fn drop(&mut self) {
        self.release_presence();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no holder of the lock panics")
    }
}

impl State {
    fn write(&mut self, write: &Write) -> Result<Written, LogError> {
        let head = self.head;
        let number = head.last.next();
        if !self.fits(write) {
            return Ok(Written::Overtaken(head));
        }
        if self.unsynced.is_some() {
            return Err(LogError::Busy);
        }
        let encoded = frame::encode(number, write.epoch, write.writer, &write.body);
        let bytes = self.frames_bytes + encoded.len();
        if self.frames_bytes_max.is_some_and(|bytes_max| bytes_max < bytes) {
            return Err(LogError::Full);
        }
        self.frames_bytes = bytes;
        self.frames.push_back(encoded);
        self.head = Head { last: number, epoch: write.epoch, first: head.first };
        Ok(Written::Done(number))
    }

    fn fits(&self, write: &Write) -> bool {
        match write.place {
            Place::At(at) => at == self.head.last.next() && write.epoch == self.head.epoch,
            Place::Anywhere => write.epoch == self.head.epoch.next(),
        }
    }

    fn place_of(&self, number: Number) -> Option<usize> {
        number.0.checked_sub(self.head.first.0).and_then(|place| usize::try_from(place).ok())
    }

    fn check_snapshot(&self, at: Number) -> Result<(), LogError> {
        let newest = self.snapshots.last().map_or(Number(0), |kept| kept.at);
        check_snapshot(at, newest, self.head.last)
    }
}

impl Kept {
    fn join(&self) -> Result<Snapshot, crate::FrameError> {
        let mut joiner = Joiner::new(self.at, self.epoch);
        for chunk in &self.chunks {
            joiner.push(chunk)?;
        }
        joiner.finish()
    }
}

fn flip(bytes: Option<&mut Vec<u8>>) -> bool {
    let Some(last) = bytes.and_then(|bytes| bytes.last_mut()) else { return false };
    *last ^= 1;
    true
}
