//! Reads what happened and says what was broken.
//!
//! The log is read once more by the [`Witness`]; each entry then passes three ledgers that know
//! only changes and answers, not how the product comes to them. What servers compute, what
//! clients are told and what clients believe is held against it.

mod jobs;
mod roles;
mod streams;

use std::collections::BTreeSet;

use clawhold_core::answer::{Answer, Refusal};
use clawhold_core::change::What;
use clawhold_core::units::{Position, RequestId};
use clawhold_core::{Applied, State};
use clawhold_log::MemoryStore;

use crate::checker::jobs::Jobs;
use crate::checker::roles::Roles;
use crate::checker::streams::Streams;
use crate::client::Client;
use crate::rule::Rule;
use crate::witness::{Landed, Witness};

/// Broken promises that one world tells; more of them say nothing new.
const BROKEN_MAX: usize = 20;

/// The history so far.
#[derive(Debug)]
pub(crate) struct Checker {
    pub(crate) broken: Vec<String>,
    pub(crate) witness: Witness,
    pub(crate) roles: Roles,
    pub(crate) jobs: Jobs,
    pub(crate) streams: Streams,
    pub(crate) counts: Counts,
    /// Requests whose clients were told that certainly nothing happened, and let them be.
    declined: BTreeSet<RequestId>,
}

/// What the checker looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) takeovers: u64,
    pub(crate) entries: u64,
    pub(crate) applied: u64,
    pub(crate) hashes: u64,
    pub(crate) stale_refused: u64,
    pub(crate) replayed: u64,
    pub(crate) declined: u64,
}

/// One entry, for a ledger.
#[derive(Debug)]
pub(crate) struct Entry<'a> {
    pub(crate) now_ms: u64,
    pub(crate) landed: &'a Landed,
    /// The state after it.
    pub(crate) state: &'a State,
    pub(crate) clients: &'a [Client],
}

/// An answer that reached its client.
#[derive(Debug)]
pub(crate) struct Received<'a> {
    pub(crate) id: &'a RequestId,
    pub(crate) position: Position,
    /// The log's end when the request was first sent.
    pub(crate) asked: Position,
    pub(crate) answer: &'a Result<Answer, Refusal>,
}

impl Checker {
    pub(crate) fn new(store: &MemoryStore, rule: Option<Rule>) -> Self {
        Self {
            broken: Vec::new(),
            witness: Witness::new(store, rule),
            roles: Roles::default(),
            jobs: Jobs::default(),
            streams: Streams::default(),
            counts: Counts::default(),
            declined: BTreeSet::new(),
        }
    }

    /// Notes that a request was declined and is not tried again.
    pub(crate) fn declined(&mut self, request: u64) {
        let Ok(id) = RequestId::parse(&format!("r{request}")) else { return };
        self.counts.declined += 1;
        if self.witness.first(&id).is_some() {
            self.tell(format!("r{request} was declined, and had its effect"));
        }
        self.declined.insert(id);
    }

    /// Notes a broken promise.
    pub(crate) fn tell(&mut self, broken: String) {
        if self.broken.len() < BROKEN_MAX {
            self.broken.push(broken);
        }
    }

    /// Reads what has become durable. Returns the entries read, for those who list them.
    pub(crate) fn read_log(&mut self, now_ms: u64, clients: &[Client]) -> Vec<Landed> {
        let mut read = Vec::new();
        while let Some(landed) = self.witness.advance() {
            let state = &self.witness.state;
            let entry = Entry { now_ms, landed: &landed, state, clients };
            let mut broken = self.roles.read(&entry);
            broken.extend(self.jobs.read(&entry));
            broken.extend(self.streams.read(&entry));
            if let Err(invariant) = clawhold_core::check::check(state) {
                broken.push(invariant.to_string());
            }
            if let (Some(first), Some(id)) = (landed.ran_before, &landed.request.id) {
                broken.push(format!("request {} ran at {first} and once more", id.as_str()));
            }
            if let Some(id) = landed.request.id.as_ref().filter(|id| self.declined.contains(*id)) {
                broken.push(format!("{} was declined, and has its effect", id.as_str()));
            }
            self.count(&landed);
            let position = landed.position;
            broken.into_iter().for_each(|it| self.tell(format!("at position {position}: {it}")));
            read.push(landed);
        }
        read
    }

    fn count(&mut self, landed: &Landed) {
        self.counts.entries += 1;
        self.counts.replayed += u64::from(landed.applied.replayed);
        let is_takeover = |what: &What| matches!(what, What::Server);
        let began = landed.applied.changes.iter().any(|change| is_takeover(&change.what));
        self.counts.takeovers += u64::from(began && landed.applied.answer.is_ok());
        self.counts.stale_refused += match &landed.applied.answer {
            Err(Refusal::StaleToken { .. } | Refusal::Superseded { .. }) => 1,
            Ok(Answer::Settled { results, .. }) => {
                let is_stale = |it: &&Result<_, _>| matches!(it, Err(Refusal::Superseded { .. }));
                results.iter().filter(is_stale).count() as u64
            }
            Ok(_) | Err(_) => 0,
        };
    }

    /// Looks at an entry that a server applied.
    pub(crate) fn applied(&mut self, server: usize, state: &State, applied: &Applied) {
        self.counts.applied += 1;
        let position = state.last().position;
        let Some(told) = self.witness.at(position) else {
            return self.tell(format!("s{server} applied position {position}, not in the log"));
        };
        if told.answer != applied.answer {
            let told = format!(
                "s{server} says {:?} at position {position}, a replay of the log says {:?}",
                applied.answer, told.answer
            );
            return self.tell(told);
        }
        if let Some(hash) = self.witness.hash(position) {
            self.counts.hashes += 1;
            if state.hash() != *hash {
                self.tell(format!("the state of s{server} at position {position} is another one"));
            }
        }
    }

    /// Looks at an answer that reached its client: the log says the same, and says it at a place
    /// between the question and the answer.
    pub(crate) fn answered(&mut self, received: &Received<'_>) {
        let (id, position) = (received.id.as_str(), received.position);
        let Some(told) = self.witness.at(position) else {
            let last = self.witness.last();
            return self.tell(format!(
                "{id} was answered at position {position} and the log ends at {last}"
            ));
        };
        if told.id.as_ref() != Some(received.id) {
            return self.tell(format!("{id} was answered by another entry, position {position}"));
        }
        if told.answer != *received.answer {
            return self.tell(format!(
                "{id} was told {:?}, the log says {:?}",
                received.answer, told.answer
            ));
        }
        let first = if told.replayed { self.witness.first(received.id) } else { Some(position) };
        if first.is_none_or(|first| first <= received.asked) {
            self.tell(format!(
                "{id} had its effect at {first:?}, before it was asked at {}",
                received.asked
            ));
        }
    }

    /// Looks at a client after it took an answer to a beat.
    pub(crate) fn believes(&mut self, now_ms: u64, client: &Client) {
        let broken = self.roles.believes(now_ms, client);
        broken.into_iter().for_each(|broken| self.tell(broken));
    }

    /// Looks at the state in which the world ended.
    pub(crate) fn ended(&mut self) {
        let state = &self.witness.state;
        let mut broken = self.jobs.ended(state);
        broken.extend(self.streams.ended(state));
        broken.into_iter().for_each(|broken| self.tell(broken));
    }
}
