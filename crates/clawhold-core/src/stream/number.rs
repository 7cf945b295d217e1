//! The numbers of a stream's events: one after the other, but for those that a restore lost.
//!
//! What was appended after a backup is gone when the backup is restored, and its numbers may be
//! known outside. So they are left out, and a reader that asks for them is told where it really
//! is. All other readers go across without noticing.

use alloc::borrow::ToOwned;
use alloc::string::String;

use minicbor::{Decode, Encode};

use super::{Stream, Streams};
use crate::answer::Refusal;
use crate::units::{EventNumber, Name};

/// Numbers that are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) struct Hole {
    /// The last number before it.
    #[n(0)]
    pub(super) after: EventNumber,
    /// The first number behind it.
    #[n(1)]
    pub(super) next: EventNumber,
}

impl Hole {
    /// Returns how many numbers are left out.
    fn count(self) -> u64 {
        self.next.0.saturating_sub(self.after.0).saturating_sub(1)
    }
}

impl Stream {
    /// Returns the number of the last event; 0 when there never was one.
    #[must_use]
    pub fn last(&self) -> EventNumber {
        self.last_of(self.count())
    }

    /// Returns the number that the next event will have.
    #[must_use]
    pub fn next(&self) -> EventNumber {
        self.number(self.count())
    }

    /// Returns how many events come after `through`.
    #[must_use]
    pub fn count_after(&self, through: EventNumber) -> u64 {
        // One that is below the floor lags by what is gone as well.
        let gone = self.first.0.saturating_sub(through.0).saturating_sub(1);
        let done = self.count_through(through).unwrap_or(0);
        self.count().saturating_sub(done).saturating_add(gone)
    }

    /// Leaves out every number up to `floor` that is not given yet.
    pub(crate) fn raise(&mut self, floor: EventNumber) {
        let next = EventNumber(floor.0.saturating_add(1));
        if next <= self.next() {
            return;
        }
        if self.removed {
            self.first = next;
            return;
        }
        let after = self.last();
        let holes = self.holes.get_or_insert_default();
        match holes.last_mut().filter(|hole| hole.after == after) {
            Some(hole) => hole.next = next,
            None => holes.push(Hole { after, next }),
        }
    }

    /// Returns the number of the event that `index` others are kept before.
    pub(super) fn number(&self, index: u64) -> EventNumber {
        let mut number = self.first.0.saturating_add(index);
        for hole in self.holes.iter().flatten() {
            if number > hole.after.0 {
                number = number.saturating_add(hole.count());
            }
        }
        EventNumber(number)
    }

    /// Returns the number of the last of the first `count` events; of the one before the first
    /// when there is none.
    pub(super) fn last_of(&self, count: u64) -> EventNumber {
        match count.checked_sub(1) {
            Some(index) => self.number(index),
            None => EventNumber(self.first.0.saturating_sub(1)),
        }
    }

    /// Returns how many of the kept events have numbers up to `through`; `None` when some that
    /// follow it are gone.
    pub(super) fn count_through(&self, through: EventNumber) -> Option<u64> {
        let count = through.0.saturating_add(1).checked_sub(self.first.0)?;
        let passed = self.holes.iter().flatten().filter(|hole| hole.next <= through);
        Some(passed.fold(count, |count, hole| count.saturating_sub(hole.count())))
    }

    /// Refuses a number that was not given, or that a restore lost.
    pub(super) fn check_there(&self, presented: EventNumber) -> Result<(), Refusal> {
        let lost = |hole: &&Hole| hole.after < presented && presented < hole.next;
        if let Some(hole) = self.holes.iter().flatten().find(lost) {
            return Err(Refusal::BeyondEnd { presented, last: hole.after });
        }
        let last = self.last();
        if presented > last {
            return Err(Refusal::BeyondEnd { presented, last });
        }
        Ok(())
    }

    /// Moves the floor behind `gone`, the number of the event that was the first.
    pub(super) fn begin_after(&mut self, gone: EventNumber) {
        self.first = EventNumber(gone.0.saturating_add(1));
        if let Some(holes) = &mut self.holes {
            holes.retain(|hole| gone <= hole.after);
            if holes.is_empty() {
                self.holes = None;
            }
        }
    }

    /// Tells what does not hold of the numbers that are left out.
    pub(super) fn check_holes(&self) -> Result<(), String> {
        let mut before = EventNumber(self.first.0.saturating_sub(1));
        for hole in self.holes.iter().flatten() {
            if hole.after < before || hole.next.0 <= hole.after.0.saturating_add(1) {
                return Err("the numbers that are left out are out of order".to_owned());
            }
            before = hole.next;
        }
        Ok(())
    }
}

impl Streams {
    /// Leaves out every number up to `floor` that no event has.
    pub(crate) fn raise(&mut self, floor: EventNumber) {
        self.floor = Some(floor);
        for stream in self.by_name.values_mut() {
            stream.raise(floor);
        }
    }

    /// Returns a stream, which is made when it is missing.
    pub(super) fn make(&mut self, name: &Name) -> &mut Stream {
        if !self.by_name.contains_key(name) {
            let fresh = self.fresh(name);
            self.by_name.insert(name.clone(), fresh);
        }
        self.by_name.get_mut(name).expect("it was made if it was missing")
    }

    /// Returns a stream that is made.
    pub(super) fn fresh(&self, name: &Name) -> Stream {
        let mut stream = Stream::new(name.clone());
        if let Some(floor) = self.floor {
            stream.raise(floor);
        }
        stream
    }

    /// Returns the highest number that an event of any stream has.
    pub(crate) fn highest(&self) -> EventNumber {
        self.by_name.values().map(Stream::next).max().unwrap_or_default()
    }
}
