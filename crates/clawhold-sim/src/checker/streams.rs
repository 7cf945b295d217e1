//! Which events were dealt with, by the commits alone.

use std::collections::BTreeMap;

use clawhold_core::State;
use clawhold_core::answer::Answer;
use clawhold_core::command::{Command, Commit};
use clawhold_core::units::{EventNumber, Name};

use super::Entry;
use crate::client::name;

/// The commits so far.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    /// The last event that each role has dealt with.
    through: BTreeMap<Name, EventNumber>,
    appended: u64,
    pub(crate) committed: u64,
}

impl Streams {
    /// Reads one entry and returns what it breaks.
    pub(crate) fn read(&mut self, entry: &Entry<'_>) -> Vec<String> {
        let applied = &entry.landed.applied;
        if applied.replayed {
            return Vec::new();
        }
        let command = &entry.landed.request.command;
        if let (Command::Append(append), Ok(Answer::Appended { last })) = (command, &applied.answer)
        {
            self.appended += append.events.len() as u64;
            let is_next = append.stream != name("orders") || last.0 == self.appended;
            let broken = format!("the last of {} events has number {last}", self.appended);
            return if is_next { Vec::new() } else { vec![broken] };
        }
        if let (Command::Commit(commit), Ok(Answer::Committed { .. })) = (command, &applied.answer)
        {
            return self.commit(commit);
        }
        Vec::new()
    }

    /// A commit deals with exactly the events between the position before and its own.
    fn commit(&mut self, commit: &Commit) -> Vec<String> {
        let mut broken = Vec::new();
        let Some(position) = &commit.position else { return broken };
        let role = &commit.role;
        let before = self.through.insert(role.clone(), position.through).unwrap_or_default();
        let due = (before.0 + 1..=position.through.0).map(|event| format!("{role} {event}"));
        let due: Vec<String> = due.collect();
        let jobs: Vec<String> = commit.jobs.iter().map(|job| text(&job.payload.0)).collect();
        let events = commit.appends.iter().flat_map(|append| &append.events);
        let events: Vec<String> = events.map(|event| text(&event.0)).collect();
        self.committed += events.len() as u64;
        if jobs != due || events != due {
            broken.push(format!("a commit deals with {events:?}, its turn is {due:?}"));
        }
        broken
    }

    /// Looks at the state in which the world ended: each outcome is there once and in order.
    pub(crate) fn ended(&self, state: &State) -> Vec<String> {
        let mut broken = Vec::new();
        let outcomes =
            state.streams().read(&name("outcomes"), EventNumber(0), usize::MAX, usize::MAX);
        let outcomes = outcomes.map(|page| page.events).unwrap_or_default();
        for (role, through) in &self.through {
            let recorded = state.streams().recorded(&name("orders"), role);
            if recorded.map(|recorded| recorded.through) != Some(*through) {
                broken.push(format!("{role} is at {recorded:?}, its commits say {through}"));
            }
            let begin = format!("{role} ");
            let found = outcomes.iter().map(|(_, event)| text(&event.bytes.0));
            let found: Vec<String> = found.filter(|text| text.starts_with(&begin)).collect();
            let due: Vec<String> = (1..=through.0).map(|event| format!("{role} {event}")).collect();
            if found != due {
                broken.push(format!("the outcomes of {role} are {found:?}"));
            }
        }
        broken
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
