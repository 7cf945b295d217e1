//! Where each job is, by the changes and answers alone.

use std::collections::BTreeMap;

use clawhold_core::State;
use clawhold_core::answer::{Answer, Claimed, Enqueued, JobState, SettledAs};
use clawhold_core::change::What;
use clawhold_core::command::{Command, ReturnCause};
use clawhold_core::limits;
use clawhold_core::units::{ClaimNumber, JobId, Key, Name, SessionId};

use super::Entry;

type Holder = (SessionId, ClaimNumber);

/// One job, as its changes tell.
#[derive(Clone, Debug)]
struct Place {
    queue: Name,
    priority: i8,
    order: Option<Key>,
    state: JobState,
    holder: Option<Holder>,
    /// The latest claim ever made.
    claim: ClaimNumber,
    completed: u64,
}

/// What one session was given in one entry.
#[derive(Debug)]
struct Given<'a> {
    session: SessionId,
    claimed: &'a [Claimed],
    /// What the entry changed, as it was before.
    before: &'a BTreeMap<JobId, Place>,
    /// What it handed out, and where that was.
    started: &'a BTreeMap<JobId, JobState>,
}

/// Every job so far.
#[derive(Debug, Default)]
pub(crate) struct Jobs {
    places: BTreeMap<JobId, Place>,
    pub(crate) accepted: u64,
    pub(crate) claimed: u64,
    pub(crate) completed: u64,
    pub(crate) returned: u64,
}

impl Jobs {
    /// Reads one entry and returns what it breaks.
    pub(crate) fn read(&mut self, entry: &Entry<'_>) -> Vec<String> {
        let mut broken = Vec::new();
        let mut before = BTreeMap::new();
        let mut started = BTreeMap::new();
        for change in &entry.landed.applied.changes {
            let What::Job { job, queue, state } = &change.what else { continue };
            if let Some(place) = self.places.get(job) {
                before.entry(*job).or_insert_with(|| place.clone());
            }
            let was = self.places.get(job).map(|place| place.state);
            if let Some(was) = was.filter(|was| *was != *state && *state == JobState::Running) {
                started.insert(*job, was);
            }
            broken.extend(self.change(entry.state, *job, queue, *state));
        }
        for job in started.keys() {
            broken.extend(self.start(entry.state, *job));
        }
        if !entry.landed.applied.replayed {
            broken.extend(self.answer(entry, &before, &started));
        }
        broken
    }

    fn change(&mut self, state: &State, id: JobId, queue: &Name, to: JobState) -> Option<String> {
        let Some(place) = self.places.get_mut(&id) else {
            let job = state.jobs().job(id);
            let order = job.and_then(|job| job.keys.as_ref().and_then(|keys| keys.order.clone()));
            let place = Place {
                queue: queue.clone(),
                priority: job.map_or(0, |job| job.priority),
                order,
                state: to,
                holder: None,
                claim: ClaimNumber(0),
                completed: 0,
            };
            self.places.insert(id, place);
            let is_new = matches!(to, JobState::Scheduled | JobState::Queued);
            return (!is_new).then(|| format!("job {id} begins its life {to}"));
        };
        let from = place.state;
        place.state = to;
        if to != JobState::Running {
            place.holder = None;
        }
        self.returned += u64::from(from == JobState::Running && to == JobState::Returned);
        if to == JobState::Completed {
            place.completed += 1;
            self.completed += 1;
            if place.completed > 1 {
                return Some(format!("job {id} is completed {} times", place.completed));
            }
        }
        (!may_go(from, to)).then(|| format!("job {id} goes from {from} to {to}"))
    }

    /// A job went to a holder: under a claim that was never used before.
    fn start(&mut self, state: &State, id: JobId) -> Option<String> {
        let place = self.places.get_mut(&id)?;
        let job = state.jobs().job(id).filter(|job| job.state == JobState::Running);
        let Some((job, session)) = job.and_then(|job| Some((job, job.holder()?))) else {
            return Some(format!("job {id} was handed out and is not held"));
        };
        self.claimed += 1;
        let latest = place.claim;
        place.claim = job.claim;
        place.holder = Some((session, job.claim));
        (job.claim <= latest)
            .then(|| format!("claim {} of job {id} does not rise above {latest}", job.claim))
    }

    fn answer(
        &mut self,
        entry: &Entry<'_>,
        before: &BTreeMap<JobId, Place>,
        started: &BTreeMap<JobId, JobState>,
    ) -> Vec<String> {
        let command = &entry.landed.request.command;
        let mut broken = Vec::new();
        match (command, &entry.landed.applied.answer) {
            (_, Ok(Answer::Enqueued(jobs) | Answer::Committed { jobs })) => {
                broken.extend(self.accept(entry.state, jobs));
            }
            (Command::Claim(claim), Ok(Answer::Claimed(claimed))) => {
                let given = Given { session: claim.session.id, claimed, before, started };
                broken.extend(self.hand_out(entry.state, &given));
            }
            (Command::Settle(settle), Ok(Answer::Settled { results, claimed })) => {
                for (settlement, result) in settle.settlements.iter().zip(results) {
                    let held = (settle.session.id, settlement.claim);
                    let was = self.was(before, settlement.job);
                    broken.extend(result.as_ref().ok().and_then(|done| {
                        stale(settlement.job, held, was, *done == SettledAs::Completed)
                    }));
                }
                let given = Given { session: settle.session.id, claimed, before, started };
                broken.extend(self.hand_out(entry.state, &given));
            }
            (Command::Checkpoint(one), Ok(_)) => {
                let was = self.was(before, one.job);
                broken.extend(stale(one.job, (one.session.id, one.claim), was, false));
            }
            (Command::Progress(one), Ok(_)) => {
                let was = self.was(before, one.job);
                broken.extend(stale(one.job, (one.session.id, one.claim), was, false));
            }
            _ if !started.is_empty() => {
                broken.push(format!("{started:?} were handed out by {command:?}"));
            }
            _ => {}
        }
        broken
    }

    /// Returns who held a job before this entry.
    fn was(&self, before: &BTreeMap<JobId, Place>, job: JobId) -> Option<Holder> {
        before.get(&job).or_else(|| self.places.get(&job)).and_then(|place| place.holder)
    }

    fn accept(&mut self, state: &State, jobs: &[Enqueued]) -> Vec<String> {
        let mut broken = Vec::new();
        for job in jobs {
            self.accepted += u64::from(!job.existing);
            if state.jobs().job(job.job).is_none() || !self.places.contains_key(&job.job) {
                broken.push(format!("job {} was accepted and is nowhere", job.job));
            }
        }
        broken
    }

    /// Looks at what one session was given: each job moved to it here, and in its turn.
    fn hand_out(&self, state: &State, given: &Given<'_>) -> Vec<String> {
        let mut broken = Vec::new();
        for one in given.claimed {
            let held = self.places.get(&one.job).and_then(|place| place.holder);
            let is_moved = given.started.contains_key(&one.job);
            if held != Some((given.session, one.claim)) || !is_moved {
                broken.push(format!(
                    "job {} was handed to session {} under claim {}, while {held:?} has it",
                    one.job, given.session, one.claim
                ));
            }
            broken.extend(self.out_of_turn(state, given, one.job));
        }
        broken
    }

    /// Tells whether a job that came back should have gone before a new one.
    fn out_of_turn(&self, state: &State, given: &Given<'_>, id: JobId) -> Option<String> {
        let place = self.places.get(&id)?;
        if given.started.get(&id) == Some(&JobState::Returned) {
            return None;
        }
        let gate = state.jobs().queue(&place.queue).is_some_and(|q| q.gate.closed.is_some());
        let waits = |other: &Place| {
            other.queue == place.queue
                && other.state == JobState::Returned
                && other.priority >= place.priority
        };
        let others = self.places.iter().filter(|(other, _)| !given.before.contains_key(other));
        let mut others = others.filter(|(_, other)| waits(other));
        let other = others.find(|(other, it)| {
            let free = it.order.is_none() && !avoided(state, **other, given.session);
            gate || free
        });
        other
            .map(|(other, _)| format!("job {id} is new and was handed out before returned {other}"))
    }

    /// Looks at the state in which the world ended: every job has ended, and ended once.
    pub(crate) fn ended(&self, state: &State) -> Vec<String> {
        let mut broken = Vec::new();
        for (id, place) in &self.places {
            let is = state.jobs().job(*id).map(|job| job.state);
            let purged = is.is_none() && place.state.is_ended();
            if is != Some(place.state) && !purged {
                broken.push(format!("job {id} is {is:?}, by its changes {}", place.state));
            }
        }
        broken
    }
}

/// Tells whether a job may change from one state to another.
fn may_go(from: JobState, to: JobState) -> bool {
    match from {
        JobState::Scheduled => {
            matches!(to, JobState::Queued | JobState::Cancelled | JobState::Failed)
        }
        JobState::Queued | JobState::Returned => {
            matches!(to, JobState::Running | JobState::Cancelled | JobState::Failed)
        }
        JobState::Running => true,
        JobState::Completed => false,
        JobState::Failed | JobState::Cancelled => {
            matches!(to, JobState::Queued | JobState::Scheduled | JobState::Returned)
        }
    }
}

/// Tells whether a call about a claim was accepted from one that does not hold it.
fn stale(job: JobId, held: Holder, was: Option<Holder>, completes: bool) -> Option<String> {
    let what = if completes { "completion" } else { "call" };
    (was != Some(held))
        .then(|| format!("a stale {what} was accepted: job {job} under {held:?}, held by {was:?}"))
}

/// Tells whether a job is kept from the one who gave it back a moment ago.
fn avoided(state: &State, id: JobId, session: SessionId) -> bool {
    let Some(returned) = state.jobs().job(id).and_then(|job| job.returned()) else { return false };
    let willed = matches!(
        returned.cause,
        ReturnCause::HandedBack | ReturnCause::DrainDeadline | ReturnCause::Operator
    );
    let ago_ms = state.last().served.since(returned.stamp.served);
    willed && returned.session == session && ago_ms < limits::RETURN_AVOID_MS
}
