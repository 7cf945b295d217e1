//! Adding events to streams: whether there is room, then the adding.

use alloc::collections::BTreeMap;

use super::{Event, Stream, Streams};
use crate::answer::{Answer, Refusal};
use crate::change::What;
use crate::command::Append;
use crate::limits;
use crate::request::{check_range, out_of_range};
use crate::state::Step;
use crate::units::{EventNumber, Name};

/// What one entry is going to do with streams, as far as it is decided.
#[derive(Debug, Default)]
pub(super) struct Plan<'a> {
    /// The position to record before anything is added: the stream, the role, how far.
    pub(super) position: Option<(&'a Name, &'a Name, EventNumber)>,
    /// What is added to each stream.
    adds: BTreeMap<&'a Name, Added>,
    events: u64,
    bytes: u64,
    made: usize,
}

#[derive(Clone, Copy, Debug, Default)]
struct Added {
    events: u64,
    bytes: u64,
}

impl Streams {
    /// Adds events to a stream, which is made when it is missing.
    pub(crate) fn append(&mut self, step: &mut Step, command: &Append) -> Result<Answer, Refusal> {
        self.admit(&mut Plan::default(), command)?;
        Ok(Answer::Appended { last: self.add(step, command) })
    }

    /// Decides whether events can be added after all that the plan holds, and puts them there.
    pub(super) fn admit<'a>(&self, plan: &mut Plan<'a>, append: &'a Append) -> Result<(), Refusal> {
        plan.weigh(append)?;
        let known = self.by_name.get(&append.stream);
        let added = plan.adds.entry(&append.stream).or_default();
        plan.made += usize::from(known.is_none() && added.events == 0);
        let count = self.by_name.len().saturating_add(plan.made);
        if count > limits::STREAMS_MAX {
            let (count, max) = (self.by_name.len() as u64, limits::STREAMS_MAX as u64);
            return Err(Refusal::Full { what: "the list of streams".into(), count, max });
        }
        let next = known.map_or_else(|| self.fresh(&append.stream).next(), Stream::next);
        let next = EventNumber(next.0.saturating_add(added.events));
        if let Some(expected) = append.expected.filter(|expected| *expected != next) {
            return Err(Refusal::NotNext { expected, next });
        }
        added.events = added.events.saturating_add(append.events.len() as u64);
        added.bytes = added.bytes.saturating_add(bytes_of(append));
        let added = *added;
        let ahead = plan.position.filter(|(stream, ..)| **stream == append.stream);
        let ahead = ahead.map(|(_, role, through)| (role, through));
        known.map_or_else(
            || Stream::new(append.stream.clone()).has_room(added, ahead),
            |stream| stream.has_room(added, ahead),
        )
    }

    /// Adds events that were admitted and returns the number of the last one.
    pub(super) fn add(&mut self, step: &mut Step, append: &Append) -> EventNumber {
        let name = &append.stream;
        let stream = self.make(name);
        stream.removed = false;
        for bytes in &append.events {
            let (at, position) = (step.stamp.at, step.stamp.position);
            stream.bytes = stream.bytes.saturating_add(bytes.len() as u64);
            stream.events.push_back(Event { at, position, bytes: bytes.clone() });
        }
        stream.trim();
        let last = stream.last();
        self.refresh(name);
        step.note(What::Stream { stream: name.clone(), last });
        last
    }
}

impl Plan<'_> {
    /// Checks that all events of the entry together are within their limits.
    fn weigh(&mut self, append: &Append) -> Result<(), Refusal> {
        let count = append.events.len() as u64;
        self.events = self.events.saturating_add(count);
        check_range(
            "events",
            if count == 0 { 0 } else { self.events },
            1,
            limits::ITEMS_MAX as u64,
        )?;
        let longest = append.events.iter().map(|event| event.len()).max().unwrap_or_default();
        check_range("event_bytes", longest as u64, 0, limits::EVENT_BYTES_MAX as u64)?;
        self.carry(bytes_of(append))
    }

    /// Checks that everything the entry carries is within its limit.
    pub(super) fn carry(&mut self, bytes: u64) -> Result<(), Refusal> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes <= limits::COMMAND_BYTES_MAX as u64 {
            return Ok(());
        }
        let allowed = alloc::format!("at most {} together", limits::COMMAND_BYTES_MAX);
        Err(out_of_range("bytes", self.bytes, allowed))
    }
}

impl Stream {
    /// Decides whether there is room, once the oldest events that may go are gone.
    fn has_room(&self, added: Added, ahead: Option<(&Name, EventNumber)>) -> Result<(), Refusal> {
        let (events_max, bytes_max) = (self.events_max, self.bytes_max);
        if added.events > events_max {
            let (count, max) = (added.events, events_max);
            return Err(Refusal::Full { what: "the stream's count of events".into(), count, max });
        }
        if added.bytes > bytes_max {
            let (count, max) = (added.bytes, bytes_max);
            return Err(Refusal::Full { what: "the stream's bytes".into(), count, max });
        }
        let last_gone = self.last_to_go(added.events, added.bytes);
        match self.behind(ahead) {
            Some((role, through)) if through < last_gone => {
                Err(Refusal::StreamFull { role: role.clone(), through })
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Returns the role that is furthest behind once the position in the plan is recorded.
    fn behind<'a>(
        &'a self,
        ahead: Option<(&'a Name, EventNumber)>,
    ) -> Option<(&'a Name, EventNumber)> {
        let Some((moving, _)) = ahead else { return self.furthest_behind() };
        let positions = self.positions.iter().map(|(role, recorded)| (role, recorded.through));
        let others = positions.filter(|(role, _)| *role != moving);
        others.chain(ahead).min_by_key(|(_, through)| *through)
    }
}

fn bytes_of(append: &Append) -> u64 {
    let bytes = append.events.iter().map(|event| event.len() as u64);
    bytes.fold(0, u64::saturating_add)
}
