//! Reads what happened and says what was broken.

use std::collections::{BTreeMap, BTreeSet};

use clawhold_core::answer::{Answer, Refusal, SettledAs};
use clawhold_core::change::What;
use clawhold_core::command::Command;
use clawhold_core::role::RoleCause;
use clawhold_core::units::{JobId, Name, Position, Token};
use clawhold_core::{Applied, State};

use crate::client::Client;

/// The history so far.
#[derive(Debug, Default)]
pub(crate) struct Checker {
    pub(crate) broken: Vec<String>,
    /// The last position whose changes were looked at.
    seen: Position,
    /// The latest token granted of each role, and whether the lease before lapsed.
    latest: BTreeMap<Name, Token>,
    tokens: BTreeSet<Token>,
    accepted: BTreeSet<JobId>,
    completed: BTreeMap<JobId, u64>,
    first_answers: BTreeMap<u64, Result<Answer, Refusal>>,
    pub(crate) lapses: u64,
    pub(crate) takeovers: u64,
}

impl Checker {
    /// Looks at an entry that a server applied, once for each position.
    pub(crate) fn applied(
        &mut self,
        now_ms: u64,
        state: &State,
        applied: &Applied,
        clients: &[Client],
    ) {
        let position = state.last().position;
        if position <= self.seen {
            return;
        }
        self.seen = position;
        if let Err(broken) = clawhold_core::check::check(state) {
            self.broken.push(format!("at position {position}: {broken:?}"));
        }
        for change in &applied.changes {
            match &change.what {
                What::RoleGranted { role, token, .. } => {
                    self.granted(now_ms, state, role, *token, clients);
                }
                What::Server => self.takeovers += 1,
                What::Restored { .. }
                | What::RoleVacant { .. }
                | What::Role { .. }
                | What::Worker { .. }
                | What::Session { .. }
                | What::Job { .. }
                | What::Queue { .. }
                | What::Stream { .. }
                | What::Recorded { .. }
                | What::Definition { .. }
                | What::Run { .. }
                | What::Alert { .. }
                | What::Message { .. }
                | What::Automation => {}
            }
        }
    }

    fn granted(
        &mut self,
        now_ms: u64,
        state: &State,
        role: &Name,
        token: Token,
        clients: &[Client],
    ) {
        if !self.tokens.insert(token) {
            self.broken.push(format!("token {token} of {role} was granted twice"));
        }
        let before = self.latest.insert(role.clone(), token);
        if before.is_some_and(|before| token <= before) {
            self.broken.push(format!("token {token} of {role} does not rise above {before:?}"));
        }
        let lapsed = state.roles().get(role).is_some_and(|role| {
            let here = role.history().filter(|change| change.stamp == state.last());
            here.into_iter()
                .any(|change| matches!(change.cause, RoleCause::Lapsed | RoleCause::SessionLost))
        });
        if !lapsed {
            return;
        }
        self.lapses += 1;
        for client in clients {
            let belief = client.beliefs.get(role).filter(|belief| now_ms < belief.until_ms);
            if let Some(belief) = belief {
                self.broken.push(format!(
                    "at {now_ms} ms {role} lapsed and was granted under {token}, while {} may act \
                     under {} until {} ms",
                    client.label, belief.token, belief.until_ms
                ));
            }
        }
    }

    /// Looks at a client after it took an answer to a beat.
    pub(crate) fn believes(&mut self, now_ms: u64, client: &Client) {
        for (role, belief) in &client.beliefs {
            let latest = self.latest.get(role).copied().unwrap_or(Token(0));
            if now_ms < belief.until_ms && belief.token > latest {
                self.broken
                    .push(format!("{} acts under {}, never granted", client.label, belief.token));
            }
        }
    }

    /// Looks at an answer that reached its client.
    pub(crate) fn answered(
        &mut self,
        request: u64,
        command: &Command,
        answer: &Result<Answer, Refusal>,
    ) {
        match self.first_answers.get(&request) {
            Some(first) if first != answer => {
                self.broken.push(format!("request {request} got {first:?}, then {answer:?}"));
            }
            Some(_) => return,
            None => {
                self.first_answers.insert(request, answer.clone());
            }
        }
        match (command, answer) {
            (_, Ok(Answer::Enqueued(jobs) | Answer::Committed { jobs })) => {
                self.accepted.extend(jobs.iter().map(|job| job.job));
            }
            (Command::Settle(settle), Ok(Answer::Settled { results, .. })) => {
                for (settlement, result) in settle.settlements.iter().zip(results) {
                    if *result == Ok(SettledAs::Completed) {
                        *self.completed.entry(settlement.job).or_default() += 1;
                    }
                }
            }
            _ => {}
        }
    }

    /// Looks at the state in which the world ended.
    pub(crate) fn ended(&mut self, state: &State) {
        for job in &self.accepted {
            if state.jobs().job(*job).is_none() {
                self.broken.push(format!("job {job} was accepted and is nowhere"));
            }
        }
        for (job, count) in &self.completed {
            let completed = clawhold_core::answer::JobState::Completed;
            let is = state.jobs().job(*job).map(|job| job.state);
            if *count != 1 || is != Some(completed) {
                self.broken.push(format!("job {job} completed {count} times and is {is:?}"));
            }
        }
    }
}
