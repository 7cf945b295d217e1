//! What a stream keeps, what goes, and its removal.

use alloc::borrow::ToOwned;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::{Stream, Streams};
use crate::answer::{Answer, Kind, Refusal};
use crate::change::What;
use crate::command::{RemoveStream, SetStream};
use crate::limits;
use crate::request::check_range;
use crate::shared::Shelf;
use crate::state::{State, Step};
use crate::units::{EventNumber, Name, Timestamp};

/// The most events that a stream may be told to keep.
const EVENTS_MAX: u64 = 1_000_000_000;
/// The most bytes that a stream may be told to keep: 1 TiB.
const BYTES_MAX: u64 = 1 << 40;

impl State {
    /// Removes a stream with its events and positions, unless a leader consumes it. Its numbering
    /// stays.
    pub(crate) fn remove_stream(
        &mut self,
        step: &mut Step,
        command: &RemoveStream,
    ) -> Result<Answer, Refusal> {
        let leases = self.roles.list(None).filter_map(|role| role.held.as_ref());
        let names = leases.filter(|lease| lease.stream.as_ref() == Some(&command.stream));
        let count = names.count() as u64;
        if count > 0 {
            return Err(Refusal::InUse { kind: Kind::Stream, count, by: "leaders".into() });
        }
        self.streams.remove(step, command)
    }
}

impl Streams {
    /// Sets what a stream keeps; it is made when it is missing.
    pub(crate) fn set(&mut self, step: &mut Step, command: &SetStream) -> Result<Answer, Refusal> {
        check_range("events_max", command.events_max.unwrap_or(1), 1, EVENTS_MAX)?;
        check_range("bytes_max", command.bytes_max.unwrap_or(1), 1, BYTES_MAX)?;
        let age_ms_max = command.age_ms_max.unwrap_or_default();
        check_range("age_ms_max", age_ms_max, 0, limits::DURATION_MS_MAX)?;
        let (name, count) = (&command.stream, self.by_name.len());
        if count >= limits::STREAMS_MAX && !self.by_name.contains_key(name) {
            let (count, max) = (count as u64, limits::STREAMS_MAX as u64);
            return Err(Refusal::Full { what: "the list of streams".into(), count, max });
        }
        let stream = self.make(name);
        stream.removed = false;
        stream.events_max = command.events_max.unwrap_or(stream.events_max);
        stream.bytes_max = command.bytes_max.unwrap_or(stream.bytes_max);
        stream.age_ms_max = command.age_ms_max.unwrap_or(stream.age_ms_max);
        stream.trim();
        let last = stream.last();
        self.refresh(name);
        step.note(What::Stream { stream: name.clone(), last });
        Ok(Answer::Done)
    }

    /// Removes a stream that nobody consumes under a lease.
    pub(crate) fn remove(
        &mut self,
        step: &mut Step,
        command: &RemoveStream,
    ) -> Result<Answer, Refusal> {
        self.require(&command.stream)?;
        let Some(stream) = self.by_name.get_mut(&command.stream) else { return Ok(Answer::Done) };
        let last = stream.last();
        let name = stream.name.clone();
        let due = stream.due;
        *stream = Stream { first: stream.next(), removed: true, due, ..Stream::new(name) };
        self.refresh(&command.stream);
        step.note(What::Stream { stream: command.stream.clone(), last });
        Ok(Answer::Done)
    }

    /// Drops the positions of a role.
    pub(crate) fn forget_role(&mut self, role: &Name) {
        let recorded = self.by_name.values().filter(|one| one.positions.contains_key(role));
        let names: Vec<Name> = recorded.map(|stream| stream.name.clone()).collect();
        for name in &names {
            if let Some(stream) = self.by_name.get_mut(name) {
                stream.positions.remove(role);
            }
            self.refresh(name);
        }
    }

    /// Drops the events whose age is over and that every role has dealt with.
    pub(crate) fn fall_due(&mut self, step: &mut Step) {
        let mut left = limits::DUE_PER_ENTRY_MAX;
        while left > 0 {
            let first = self.aging.first().filter(|(due, _)| *due <= step.stamp.at);
            let Some((due, name)) = first.cloned() else { return };
            self.aging.remove(&(due, name.clone()));
            if let Some(stream) = self.by_name.get_mut(&name) {
                left = stream.drop_aged(step.stamp.at, left);
            }
            self.refresh(&name);
        }
    }

    /// Returns the earliest moment at which an event goes by its age.
    pub(crate) fn next_due(&self) -> Option<Timestamp> {
        self.aging.first().map(|(due, _)| *due)
    }

    /// Finds anew when the oldest event of a stream goes by its age.
    pub(super) fn refresh(&mut self, name: &Name) {
        let Some(stream) = self.by_name.get_mut(name) else { return };
        let due = stream.next_due();
        if let Some(before) = stream.due {
            self.aging.remove(&(before, name.clone()));
        }
        stream.due = due;
        self.aging.extend(due.map(|due| (due, name.clone())));
    }

    /// Tells what does not hold, if something does not.
    pub(crate) fn check(&self) -> Result<(), String> {
        for (name, stream) in &self.by_name {
            stream.check().map_err(|broken| format!("stream {name}: {broken}"))?;
        }
        let due = |(name, stream): (&Name, &Stream)| Some((stream.due?, name.clone()));
        let aging: BTreeSet<(Timestamp, Name)> = self.by_name.iter().filter_map(due).collect();
        if aging == self.aging {
            return Ok(());
        }
        Err("the streams and their next aging events differ".to_owned())
    }
}

impl Stream {
    pub(super) fn new(name: Name) -> Self {
        Self {
            name,
            events_max: limits::STREAM_EVENTS_DEFAULT,
            bytes_max: limits::STREAM_BYTES_DEFAULT,
            age_ms_max: 0,
            first: EventNumber(1),
            events: Shelf::default(),
            bytes: 0,
            positions: BTreeMap::new(),
            due: None,
            removed: false,
            holes: None,
        }
    }

    /// Returns the last event that has to go so that there is room for what is added.
    pub(super) fn last_to_go(&self, added_events: u64, added_bytes: u64) -> EventNumber {
        let mut count = self.count().saturating_add(added_events);
        let mut bytes = self.bytes.saturating_add(added_bytes);
        let mut gone = 0_u64;
        for event in self.events.iter() {
            if count <= self.events_max && bytes <= self.bytes_max {
                break;
            }
            count = count.saturating_sub(1);
            bytes = bytes.saturating_sub(event.bytes.len() as u64);
            gone = gone.saturating_add(1);
        }
        self.last_of(gone)
    }

    /// Drops what is too much, as far as every role has dealt with it.
    pub(super) fn trim(&mut self) {
        let through = self.last_to_go(0, 0);
        while self.first <= through && self.may_drop() {
            self.drop_first();
        }
    }

    /// Drops what is too old, at most `left` events, and returns how many more may be dropped.
    fn drop_aged(&mut self, at: Timestamp, mut left: usize) -> usize {
        while left > 0 && self.next_due().is_some_and(|due| due <= at) {
            self.drop_first();
            left -= 1;
        }
        left
    }

    fn next_due(&self) -> Option<Timestamp> {
        let oldest = self.events.front().filter(|_| self.age_ms_max > 0 && self.may_drop())?;
        Some(oldest.at.after(self.age_ms_max))
    }

    /// Tells whether every role has dealt with the oldest event.
    fn may_drop(&self) -> bool {
        self.furthest_behind().is_none_or(|(_, through)| self.first <= through)
    }

    fn drop_first(&mut self) {
        let number = self.number(0);
        if let Some(event) = self.events.pop_front() {
            self.bytes = self.bytes.saturating_sub(event.bytes.len() as u64);
            self.begin_after(number);
        }
    }

    fn check(&self) -> Result<(), String> {
        let bytes = self.events.iter().map(|event| event.bytes.len() as u64);
        if bytes.fold(0, u64::saturating_add) != self.bytes {
            return Err("its bytes do not add up".to_owned());
        }
        if let Some((role, recorded)) =
            self.positions.iter().find(|(_, recorded)| recorded.through > self.last())
        {
            return Err(format!("role {role} is at {}, beyond its end", recorded.through));
        }
        self.check_holes()?;
        if self.due != self.next_due() {
            return Err("its next aging event is another".to_owned());
        }
        if self.removed && !(self.events.is_empty() && self.positions.is_empty()) {
            return Err("it was removed and holds something".to_owned());
        }
        Ok(())
    }
}
