//! What happened in a drill, in order.

use std::time::{Duration, Instant};

use serde::Serialize;

use crate::table::Table;

/// What happened so far.
#[derive(Debug)]
pub(crate) struct Timeline {
    start: Instant,
    events: Vec<Event>,
}

/// One thing that happened.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Event {
    /// Milliseconds since the drill began.
    pub(crate) at_ms: u64,
    /// To whom.
    pub(crate) who: String,
    /// What.
    pub(crate) what: String,
    /// The fencing token, if one is involved.
    pub(crate) token: Option<u64>,
    /// The position in the stream, if one is involved.
    pub(crate) position: Option<u64>,
    /// Milliseconds that it took others to take over.
    pub(crate) took_ms: Option<u64>,
}

impl Event {
    /// Returns an event without numbers, at the beginning.
    pub(crate) fn new(who: impl Into<String>, what: impl Into<String>) -> Self {
        Self { who: who.into(), what: what.into(), ..Self::default() }
    }

    /// Adds a token and a position.
    pub(crate) fn lease(mut self, token: u64, position: u64) -> Self {
        self.token = Some(token);
        self.position = Some(position);
        self
    }

    /// Adds how long others took to take over.
    pub(crate) fn took(mut self, took: Duration) -> Self {
        self.took_ms = Some(millis(took));
        self
    }

    /// Returns the event as one line.
    pub(crate) fn line(&self) -> String {
        let mut line = format!("{} {}: {}", seconds(self.at_ms), self.who, self.what);
        let mut add = |name: &str, value: Option<u64>| {
            if let Some(value) = value {
                line.push_str(&format!(" {name}={value}"));
            }
        };
        add("token", self.token);
        add("position", self.position);
        add("took_ms", self.took_ms);
        line
    }
}

impl Timeline {
    /// Returns an empty timeline that begins at this moment.
    pub(crate) fn start() -> Self {
        Self { start: Instant::now(), events: Vec::new() }
    }

    /// Adds an event that happens at this moment, and returns it.
    pub(crate) fn add(&mut self, event: Event) -> &Event {
        self.add_at(Instant::now(), event)
    }

    /// Adds an event that happened at `moment`, and returns it.
    pub(crate) fn add_at(&mut self, moment: Instant, mut event: Event) -> &Event {
        event.at_ms = millis(moment.saturating_duration_since(self.start));
        let place = self.events.partition_point(|earlier| earlier.at_ms <= event.at_ms);
        self.events.insert(place, event);
        &self.events[place]
    }

    /// Returns how long the drill has taken.
    pub(crate) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// Returns everything that happened.
    pub(crate) fn events(&self) -> &[Event] {
        &self.events
    }

    /// Returns everything that happened as a table.
    pub(crate) fn table(&self) -> Table {
        let mut table = Table::new(&["TIME", "WHO", "WHAT", "TOKEN", "POSITION", "TOOK"]);
        for event in &self.events {
            let number = |number: Option<u64>| number.map_or_else(String::new, |n| n.to_string());
            table.row([
                seconds(event.at_ms),
                event.who.clone(),
                event.what.clone(),
                number(event.token),
                number(event.position),
                event.took_ms.map_or_else(String::new, |ms| format!("{ms} ms")),
            ]);
        }
        table
    }
}

/// Returns `duration` in whole milliseconds.
pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn seconds(ms: u64) -> String {
    format!("{:>3}.{:03} s", ms / 1_000, ms % 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_stand_in_the_order_they_happened() {
        let mut timeline = Timeline::start();
        let start = Instant::now();
        let later = start + Duration::from_millis(500);
        timeline.add_at(later, Event::new("indexer-2", "promoted").lease(7, 12));
        timeline.add_at(start, Event::new("indexer-1", "frozen"));
        let whats: Vec<&str> = timeline.events().iter().map(|event| event.what.as_str()).collect();
        assert_eq!(whats, ["frozen", "promoted"]);
        assert_eq!(timeline.table().lines(None).len(), 3);
    }
}
