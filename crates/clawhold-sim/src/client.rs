//! One simulated client: a session that leads, works, produces and operates.
//!
//! It believes what it was told, until its own deadline and not a moment longer. What it asks is
//! composed in `compose`.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use clawhold_core::State;
use clawhold_core::answer::{Answer, Claimed, Refusal};
use clawhold_core::beat::{Beat, BeatAnswer, LeadOutcome};
use clawhold_core::command::{Command, SessionKey};
use clawhold_core::units::{EventNumber, JobId, Key, Name, SessionId, Token};

use crate::rule::Rule;
use crate::script::Script;

/// The roles that clients lead.
pub(crate) const ROLES: [&str; 2] = ["planner", "billing"];
/// The queues that clients work on.
pub(crate) const QUEUES: [&str; 2] = ["mail", "index"];
/// Jobs and claims that a client remembers beyond those it holds.
const REMEMBERED_MAX: usize = 12;

/// What a client believes of a role it leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Belief {
    pub(crate) token: Token,
    /// It acts before this moment only.
    pub(crate) until_ms: u64,
}

/// A client.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) label: Name,
    /// Rises with each new start of its process.
    pub(crate) incarnation: u64,
    pub(crate) session: Option<SessionKey>,
    pub(crate) beliefs: BTreeMap<Name, Belief>,
    /// Roles granted that no beat has confirmed.
    unconfirmed: BTreeMap<Name, Token>,
    /// Tokens it has given up: it never acts under them again, whatever it is told.
    pub(crate) given_up: BTreeSet<Token>,
    /// Leases it once had; a rude ask still acts under the last one.
    pub(crate) led: Option<(Name, SessionKey, Token)>,
    pub(crate) held: VecDeque<Claimed>,
    /// Claims whose end was asked and not answered.
    pub(crate) settling: BTreeSet<ClaimKey>,
    /// Claims it lost or ended; a rude ask still acts under one of them.
    pub(crate) past: VecDeque<(SessionKey, Claimed)>,
    /// Jobs that it knows of.
    pub(crate) jobs: VecDeque<JobId>,
    /// The position of each role as far as it knows, and how far it has read along.
    pub(crate) committed: BTreeMap<Name, EventNumber>,
    consumed: EventNumber,
    /// Whether a commit is not answered: a coordinator takes one step at a time.
    pub(crate) is_committing: bool,
    pub(crate) checkpoints: u64,
    pub(crate) is_draining: bool,
    /// The server it tries next.
    pub(crate) server: usize,
    /// It does nothing before this moment.
    pub(crate) frozen_until_ms: u64,
    pub(crate) is_up: bool,
    pub(crate) lease_ttl_ms: u64,
    pub(crate) rule: Option<Rule>,
}

/// A claim as a key: job and number.
pub(crate) type ClaimKey = (JobId, u64);

impl Client {
    pub(crate) fn new(number: usize, script: &Script) -> Self {
        Self {
            label: name(&format!("c{number}")),
            incarnation: 0,
            session: None,
            beliefs: BTreeMap::new(),
            unconfirmed: BTreeMap::new(),
            given_up: BTreeSet::new(),
            led: None,
            held: VecDeque::new(),
            settling: BTreeSet::new(),
            past: VecDeque::new(),
            jobs: VecDeque::new(),
            committed: BTreeMap::new(),
            consumed: EventNumber(0),
            is_committing: false,
            checkpoints: 0,
            is_draining: false,
            server: number % script.servers,
            frozen_until_ms: 0,
            is_up: true,
            lease_ttl_ms: script.lease_ttl_ms,
            rule: script.rule,
        }
    }

    /// Returns the lease under which it may act at this moment, if there is one.
    pub(crate) fn leads(&self, now_ms: u64) -> Option<(Name, Token)> {
        let lead = self.beliefs.iter().find(|(_, belief)| now_ms < belief.until_ms);
        lead.map(|(role, belief)| (role.clone(), belief.token))
    }

    /// Returns the token under which it may act for a role at this moment.
    pub(crate) fn leads_under(&self, role: &Name, now_ms: u64) -> Option<Token> {
        let belief = self.beliefs.get(role).filter(|belief| now_ms < belief.until_ms);
        belief.filter(|_| self.is_up).map(|belief| belief.token)
    }

    /// Returns the beat to send now, if there is a session.
    pub(crate) fn beat(&mut self, view: Option<&State>) -> Option<Beat> {
        let session = self.session?;
        let stream = name("orders");
        // A standby reads along, as warm as the server it asks.
        self.consumed =
            self.consumed.max(view.map_or(EventNumber(0), |s| s.streams().last(&stream)));
        let believed = self.beliefs.iter().map(|(role, belief)| (role.clone(), belief.token));
        let granted = self.unconfirmed.iter().map(|(role, token)| (role.clone(), *token));
        let mut leads: BTreeMap<Name, Token> = believed.collect();
        leads.extend(granted);
        Some(Beat {
            session,
            leads: leads.into_iter().collect(),
            suspended: Vec::new(),
            holds: self.held.iter().map(|claimed| (claimed.job, claimed.claim)).collect(),
            consumed: ROLES.iter().map(|role| (name(role), self.consumed)).collect(),
        })
    }

    /// Takes the answer to a beat of this session that was sent at `sent_ms`.
    pub(crate) fn beat_answered(
        &mut self,
        (now_ms, sent_ms): (u64, u64),
        answer: &BeatAnswer,
        recorded: &[(Name, EventNumber)],
    ) {
        let from_ms = if self.rule == Some(Rule::CountFromAnswer) { now_ms } else { sent_ms };
        for lead in &answer.leads {
            let known = self.beliefs.get(&lead.role).map(|belief| belief.token);
            let known = known.or_else(|| self.unconfirmed.get(&lead.role).copied());
            if known != Some(lead.token) {
                continue;
            }
            match &lead.outcome {
                LeadOutcome::Renewed { valid_ms, .. } => {
                    self.unconfirmed.remove(&lead.role);
                    let belief = Belief { token: lead.token, until_ms: from_ms + valid_ms };
                    self.led = self.session.map(|key| (lead.role.clone(), key, lead.token));
                    let kept = self.beliefs.entry(lead.role.clone()).or_insert(belief);
                    kept.until_ms = kept.until_ms.max(belief.until_ms);
                }
                LeadOutcome::Lost { .. } => {
                    self.beliefs.remove(&lead.role);
                    self.unconfirmed.remove(&lead.role);
                }
            }
        }
        for (role, granted) in &answer.granted {
            let through = recorded.iter().find(|(of, _)| of == role).map(|(_, through)| *through);
            self.adopt(role, granted.token, through);
        }
        for (job, claim) in &answer.superseded {
            self.lose(*job, claim.0);
        }
        self.is_draining = answer.drain.is_some();
    }

    /// Takes a grant in, unless it is older than what it knows.
    fn adopt(&mut self, role: &Name, token: Token, recorded: Option<EventNumber>) {
        let known = self.beliefs.get(role).map(|belief| belief.token);
        let known = known.max(self.unconfirmed.get(role).copied());
        if self.given_up.contains(&token) || known.is_some_and(|known| token <= known) {
            return;
        }
        self.beliefs.remove(role);
        self.unconfirmed.insert(role.clone(), token);
        // What was recorded at the grant or later under its token; nobody else records there.
        self.committed.insert(role.clone(), recorded.unwrap_or_default());
    }

    fn lose(&mut self, job: JobId, claim: u64) {
        let is_it = |held: &Claimed| held.job == job && held.claim.0 == claim;
        if let Some(session) = self.session {
            let lost = self.held.iter().copied().filter(is_it);
            self.past.extend(lost.map(|claimed| (session, claimed)));
            while self.past.len() > REMEMBERED_MAX {
                self.past.pop_front();
            }
        }
        self.held.retain(|held| !is_it(held));
    }

    /// Stops acting under a role that it is about to give up.
    pub(crate) fn give_up(&mut self, role: &Name, token: Token) {
        self.beliefs.remove(role);
        self.unconfirmed.remove(role);
        self.given_up.insert(token);
    }

    /// Takes the answer to a command that this process sent.
    pub(crate) fn answered(
        &mut self,
        command: &Command,
        answer: &Result<Answer, Refusal>,
        recorded: Option<EventNumber>,
    ) {
        if let Command::Commit(_) = command {
            self.is_committing = false;
        }
        match answer {
            Ok(Answer::Opened(key)) => {
                self.forget();
                self.session = Some(*key);
            }
            Ok(Answer::Granted(granted)) => {
                if let Command::Acquire(acquire) = command
                    && self.is_own(granted.session)
                {
                    self.adopt(&acquire.role, granted.token, recorded);
                }
            }
            Ok(Answer::Claimed(claimed)) => self.take(command, claimed),
            Ok(Answer::Settled { claimed, .. }) => {
                self.settled(command);
                self.take(command, claimed);
            }
            Ok(Answer::Enqueued(jobs)) => {
                self.jobs.extend(jobs.iter().map(|job| job.job));
                while self.jobs.len() > REMEMBERED_MAX {
                    self.jobs.pop_front();
                }
            }
            Ok(Answer::Committed { .. }) => {
                if let Command::Commit(commit) = command
                    && let Some(position) = &commit.position
                {
                    self.knows_position(&commit.role, position.through);
                }
            }
            Ok(_) => {}
            Err(refusal) => self.refused(command, refusal),
        }
    }

    fn refused(&mut self, command: &Command, refusal: &Refusal) {
        if let Refusal::NoSession { session } = refusal {
            if self.is_own(*session) {
                self.forget();
            }
        } else if let Refusal::PositionBehind { recorded, .. } = refusal {
            if let Command::Commit(commit) = command {
                self.knows_position(&commit.role, *recorded);
            }
        } else if let Refusal::StaleToken { presented, .. } = refusal {
            self.beliefs.retain(|_, belief| belief.token != *presented);
            self.unconfirmed.retain(|_, token| token != presented);
        } else if let Refusal::Superseded { job, presented, .. } = refusal {
            self.lose(*job, presented.0);
        } else if *refusal == Refusal::Draining {
            self.is_draining = true;
        }
        self.settled(command);
    }

    /// Gives up on a command that was declined.
    pub(crate) fn let_be(&mut self, command: &Command) {
        if let Command::Commit(_) = command {
            self.is_committing = false;
        } else if let Command::Settle(settle) = command {
            for settlement in &settle.settlements {
                self.settling.remove(&(settlement.job, settlement.claim.0));
            }
        }
    }

    fn settled(&mut self, command: &Command) {
        let Command::Settle(settle) = command else { return };
        for settlement in &settle.settlements {
            self.settling.remove(&(settlement.job, settlement.claim.0));
            self.lose(settlement.job, settlement.claim.0);
        }
    }

    fn take(&mut self, command: &Command, claimed: &[Claimed]) {
        let session = if let Command::Claim(claim) = command {
            claim.session
        } else if let Command::Settle(settle) = command {
            settle.session
        } else {
            return;
        };
        if Some(session) == self.session {
            self.held.extend(claimed.iter().copied());
        }
    }

    fn knows_position(&mut self, role: &Name, through: EventNumber) {
        let known = self.committed.entry(role.clone()).or_default();
        *known = through.max(*known);
    }

    fn is_own(&self, session: SessionId) -> bool {
        self.session.is_some_and(|key| key.id == session)
    }

    /// Starts anew: the session is over.
    pub(crate) fn forget(&mut self) {
        self.session = None;
        self.beliefs.clear();
        self.unconfirmed.clear();
        self.held.clear();
        self.settling.clear();
        self.is_draining = false;
    }

    /// Dies; a new process with nothing in its memory comes up later.
    pub(crate) fn crash(&mut self) {
        self.forget();
        self.incarnation += 1;
        self.is_up = false;
        self.led = None;
        self.past.clear();
        self.jobs.clear();
        self.committed.clear();
        self.consumed = EventNumber(0);
        self.is_committing = false;
    }
}

/// Returns a name that is known to be one.
pub(crate) fn name(text: &str) -> Name {
    Name::parse(text).expect("the names of this world are names")
}

/// Returns a key that is known to be one.
pub(crate) fn key(text: &str) -> Key {
    Key::parse(text).expect("the keys of this world are keys")
}
