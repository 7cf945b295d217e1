//! Streams: events in order, and how far each role has dealt with them.
//!
//! A number is never used twice, not even after the stream was emptied or removed. An event that
//! a role with a recorded position has not dealt with is never dropped. A reader is told when what
//! it asks for is gone or yet to come; it is never moved.

mod append;
mod commit;
mod number;
mod retain;
#[cfg(test)]
mod tests;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::ops::Bound;

use minicbor::{Decode, Encode};

use crate::answer::{Kind, Refusal};
use crate::shared::Shelf;
use crate::units::{Bytes, EventNumber, Name, Position, Stamp, Timestamp, Token};

/// A stream.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Stream {
    /// Its name.
    #[n(0)]
    pub name: Name,
    /// Events kept at most.
    #[n(1)]
    pub events_max: u64,
    /// Bytes kept at most.
    #[n(2)]
    pub bytes_max: u64,
    /// Milliseconds for which events are kept; 0 for no limit.
    #[n(3)]
    pub age_ms_max: u64,
    /// The number of the first event kept; of the next one when none is kept. Never falls.
    #[n(4)]
    pub first: EventNumber,
    /// The events kept, oldest first.
    #[n(5)]
    pub(crate) events: Shelf<Event>,
    /// Bytes in `events`.
    #[n(6)]
    pub bytes: u64,
    /// How far each role has dealt with it.
    #[n(7)]
    pub positions: BTreeMap<Name, Recorded>,
    /// When the oldest event goes by its age, if it may go.
    #[n(8)]
    pub(crate) due: Option<Timestamp>,
    /// Whether it was removed: only its numbering counts then.
    #[n(9)]
    pub(crate) removed: bool,
    /// The numbers that were lost in a restore and are never given again, in order.
    #[n(10)]
    pub(crate) holes: Option<Vec<number::Hole>>,
}

/// An event.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Event {
    /// When it was appended.
    #[n(0)]
    pub at: Timestamp,
    /// The entry that appended it.
    #[n(1)]
    pub position: Position,
    /// What happened.
    #[n(2)]
    pub bytes: Bytes,
}

/// A recorded position: every event up to it, itself included, has been dealt with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Recorded {
    /// The last event dealt with. Never falls.
    #[n(0)]
    pub through: EventNumber,
    /// The token under which it was recorded.
    #[n(1)]
    pub token: Token,
    /// When it was recorded.
    #[n(2)]
    pub stamp: Stamp,
}

/// All streams.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Streams {
    /// Every stream that ever was.
    #[n(0)]
    pub(crate) by_name: BTreeMap<Name, Stream>,
    /// The ones whose oldest event goes by its age, the earliest first. Derived.
    #[n(1)]
    pub(crate) aging: BTreeSet<(Timestamp, Name)>,
    /// Streams that are made begin behind this number: earlier ones may have been lost.
    #[n(2)]
    pub(crate) floor: Option<EventNumber>,
}

/// Events as they were read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventPage<'a> {
    /// The events, each with its number.
    pub events: Vec<(EventNumber, &'a Event)>,
    /// The last event of the stream.
    pub last: EventNumber,
}

impl Stream {
    /// Returns how many events are kept.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.events.len() as u64
    }

    /// Returns the role that is furthest behind, of those with a recorded position.
    #[must_use]
    pub fn furthest_behind(&self) -> Option<(&Name, EventNumber)> {
        let positions = self.positions.iter().map(|(role, recorded)| (role, recorded.through));
        positions.min_by_key(|(_, through)| *through)
    }

    /// Returns the events after `after`, at most `count_max` of them, and no more than the first
    /// beyond `bytes_max`.
    ///
    /// # Errors
    /// [`Refusal::BelowFloor`] when the next one is gone, [`Refusal::BeyondEnd`] when `after` is
    /// yet to come.
    pub fn read(
        &self,
        after: EventNumber,
        count_max: usize,
        bytes_max: usize,
    ) -> Result<EventPage<'_>, Refusal> {
        let last = self.last();
        self.check_there(after)?;
        let Some(skip) = self.count_through(after) else {
            let presented = EventNumber(after.0.saturating_add(1));
            return Err(Refusal::BelowFloor { presented, first: self.first });
        };
        let from = usize::try_from(skip).unwrap_or(usize::MAX).min(self.events.len());
        let mut bytes = 0_usize;
        let fits = |(_, event): &(EventNumber, &Event)| {
            let is_first = bytes == 0;
            bytes = bytes.saturating_add(event.bytes.len().max(1));
            is_first || bytes <= bytes_max
        };
        let numbers = (skip..).map(|index| self.number(index));
        let events = numbers.zip(self.events.after(from)).take(count_max).take_while(fits);
        Ok(EventPage { events: events.collect(), last })
    }
}

impl Streams {
    /// Returns a stream, unless it was removed or never was.
    #[must_use]
    pub fn get(&self, name: &Name) -> Option<&Stream> {
        self.by_name.get(name).filter(|stream| !stream.removed)
    }

    /// Returns the streams after `after`, in the order of their names.
    pub fn list(&self, after: Option<&Name>) -> impl Iterator<Item = &Stream> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let streams = self.by_name.range::<Name, _>((from, Bound::Unbounded));
        streams.map(|(_, stream)| stream).filter(|stream| !stream.removed)
    }

    /// Returns the number of a stream's last event; 0 when there never was one.
    #[must_use]
    pub fn last(&self, name: &Name) -> EventNumber {
        self.by_name.get(name).map(Stream::last).unwrap_or_default()
    }

    /// Returns how many events of a stream come after `through`.
    #[must_use]
    pub fn count_after(&self, name: &Name, through: EventNumber) -> u64 {
        self.by_name.get(name).map_or(0, |stream| stream.count_after(through))
    }

    /// Returns the position that a role recorded in a stream.
    #[must_use]
    pub fn recorded(&self, stream: &Name, role: &Name) -> Option<Recorded> {
        self.get(stream)?.positions.get(role).copied()
    }

    /// Returns events of a stream. See [`Stream::read`].
    ///
    /// # Errors
    /// [`Refusal::NotFound`], and those of [`Stream::read`].
    pub fn read(
        &self,
        name: &Name,
        after: EventNumber,
        count_max: usize,
        bytes_max: usize,
    ) -> Result<EventPage<'_>, Refusal> {
        self.require(name)?.read(after, count_max, bytes_max)
    }

    fn require(&self, name: &Name) -> Result<&Stream, Refusal> {
        let missing = || Refusal::NotFound { kind: Kind::Stream, name: name.as_str().into() };
        self.get(name).ok_or_else(missing)
    }
}
