//! One simulated client: a session that leads, works and produces at random.
//!
//! It believes what it was told, until its own deadline and not a moment longer. A request is
//! sent again under the same id until it is answered.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use clawhold_core::answer::{Answer, Claimed, Refusal};
use clawhold_core::beat::{Beat, BeatAnswer, LeadOutcome};
use clawhold_core::command::{
    Acquire, Append, Checkpoint, Claim, CloseSession, Command, Commit, DrainWorker, Due, Enqueue,
    HandOver, NewJob, NewPosition, OpenSession, Release, ResumeWorker, RetryRule, RunOutcome,
    SessionKey, Settle, Settlement, Successor, Wanted,
};
use clawhold_core::units::{Bytes, EventNumber, Key, Name, Position, Text, Token};
use fastrand::Rng;

/// Milliseconds without a beat after which a simulated session is lost.
pub(crate) const SESSION_TTL_MS: u64 = 1_500;
/// Milliseconds of a simulated lease.
pub(crate) const LEASE_TTL_MS: u64 = 1_000;

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
    pub(crate) session: Option<SessionKey>,
    pub(crate) beliefs: BTreeMap<Name, Belief>,
    /// Roles granted that no beat has confirmed.
    unconfirmed: BTreeMap<Name, Token>,
    /// Tokens it has given up: it never acts under them again, whatever it is told.
    given_up: BTreeSet<Token>,
    pub(crate) held: VecDeque<Claimed>,
    consumed: EventNumber,
    checkpoints: u64,
    /// The server it tries next.
    pub(crate) server: usize,
    rng: Rng,
}

impl Client {
    pub(crate) fn new(label: Name, seed: u64) -> Self {
        Self {
            label,
            session: None,
            beliefs: BTreeMap::new(),
            unconfirmed: BTreeMap::new(),
            given_up: BTreeSet::new(),
            held: VecDeque::new(),
            consumed: EventNumber(0),
            checkpoints: 0,
            server: 0,
            rng: Rng::with_seed(seed),
        }
    }

    /// Returns what this client asks next.
    pub(crate) fn next_command(&mut self, now_ms: u64) -> Command {
        let Some(session) = self.session else { return self.open() };
        match self.rng.u8(0..100) {
            0..25 => self.enqueue(),
            25..45 => self.claim(session),
            45..65 => self.settle(session),
            65..75 => self.acquire(session),
            75..82 => self.commit(session, now_ms),
            82..88 => self.append(),
            88..91 => self.give_up(session),
            91..94 => self.checkpoint(session),
            94..96 => self.drain(session),
            96..98 => Command::ResumeWorker(ResumeWorker { session: session.id }),
            98 => {
                self.forget();
                Command::CloseSession(CloseSession { session })
            }
            _ => Command::Tick,
        }
    }

    fn open(&mut self) -> Command {
        Command::OpenSession(OpenSession {
            secret: self.rng.u64(..),
            label: self.label.clone(),
            ttl_ms: SESSION_TTL_MS,
            queues: vec![name("mail"), name("index")],
            slots: 8,
            agent: None,
            place: Text::cut("sim"),
        })
    }

    fn new_job(&mut self) -> NewJob {
        let order = self.rng.u8(0..4) == 0;
        let unique = self.rng.u8(0..8) == 0;
        NewJob {
            queue: name(if self.rng.bool() { "mail" } else { "index" }),
            payload: Bytes::from("job"),
            priority: self.rng.i8(-1..=1),
            due: if self.rng.u8(0..5) == 0 { Due::After(self.rng.u64(0..500)) } else { Due::Now },
            unique: unique.then(|| key(&format!("u{}", self.rng.u8(0..20)))),
            order: order.then(|| key(&format!("o{}", self.rng.u8(0..4)))),
            retry: RetryRule { attempts_max: 3, first_ms: 50, ceiling_ms: 200 },
            timeout_ms: (self.rng.u8(0..6) == 0).then_some(800),
        }
    }

    fn enqueue(&mut self) -> Command {
        let count = self.rng.usize(1..4);
        Command::Enqueue(Enqueue { jobs: (0..count).map(|_| self.new_job()).collect() })
    }

    fn wanted(&mut self) -> Wanted {
        Wanted { queues: vec![name("mail"), name("index")], count_max: self.rng.u32(1..4) }
    }

    fn claim(&mut self, session: SessionKey) -> Command {
        Command::Claim(Claim { session, wanted: self.wanted() })
    }

    fn settle(&mut self, session: SessionKey) -> Command {
        let Some(claimed) = self.held.pop_front() else { return self.claim(session) };
        let outcome = match self.rng.u8(0..10) {
            0..6 => RunOutcome::Completed { result: Bytes::from("done") },
            6 => RunOutcome::Failed { error: Text::cut("no"), retry_after_ms: None },
            7 => RunOutcome::HandedBack {
                checkpoint: Some(Bytes::from("half")),
                reason: Text::cut("leaving"),
            },
            8 => RunOutcome::Snoozed { for_ms: 100, checkpoint: None },
            _ => RunOutcome::Dead { error: Text::cut("hopeless") },
        };
        let settlement = Settlement { job: claimed.job, claim: claimed.claim, outcome };
        let next = self.rng.bool().then(|| self.wanted());
        Command::Settle(Settle { session, settlements: vec![settlement], next })
    }

    fn acquire(&mut self, session: SessionKey) -> Command {
        Command::Acquire(Acquire {
            role: name(if self.rng.bool() { "planner" } else { "billing" }),
            session,
            ttl_ms: Some(LEASE_TTL_MS),
            wait: self.rng.bool(),
            stream: Some(name("orders")),
        })
    }

    fn commit(&mut self, session: SessionKey, now_ms: u64) -> Command {
        let lead = self.beliefs.iter().find(|(_, belief)| now_ms < belief.until_ms);
        let Some((role, belief)) = lead else { return self.acquire(session) };
        let (role, token) = (role.clone(), belief.token);
        self.consumed = EventNumber(self.consumed.0 + 1);
        let position = NewPosition { stream: name("orders"), through: self.consumed };
        let jobs = vec![self.new_job()];
        let position = Some(position);
        Command::Commit(Box::new(Commit { role, session, token, position, jobs, appends: vec![] }))
    }

    fn append(&mut self) -> Command {
        let events = vec![Bytes::from("event"); self.rng.usize(1..3)];
        Command::Append(Append { stream: name("orders"), events, expected: None })
    }

    fn give_up(&mut self, session: SessionKey) -> Command {
        let Some((role, belief)) = self.beliefs.pop_first() else { return self.acquire(session) };
        self.unconfirmed.remove(&role);
        self.given_up.insert(belief.token);
        if self.rng.bool() {
            let (holder, token) = (Some(session), Some(belief.token));
            let to = Successor::MostCaughtUp;
            return Command::HandOver(HandOver { role, holder, token, to });
        }
        Command::Release(Release { role, session, token: belief.token })
    }

    fn checkpoint(&mut self, session: SessionKey) -> Command {
        let Some(claimed) = self.held.front().copied() else { return self.claim(session) };
        self.checkpoints += 1;
        Command::Checkpoint(Checkpoint {
            session,
            job: claimed.job,
            claim: claimed.claim,
            number: self.checkpoints,
            bytes: Bytes::from("half"),
        })
    }

    fn drain(&mut self, session: SessionKey) -> Command {
        let deadline_ms = self.rng.u64(0..600);
        let reason = Text::cut("drain");
        Command::DrainWorker(DrainWorker { session: session.id, deadline_ms, reason })
    }

    /// Returns the beat to send now, if there is a session.
    pub(crate) fn beat(&self) -> Option<Beat> {
        let believed = self.beliefs.iter().map(|(role, belief)| (role.clone(), belief.token));
        let granted = self.unconfirmed.iter().map(|(role, token)| (role.clone(), *token));
        let mut leads: BTreeMap<Name, Token> = believed.collect();
        leads.extend(granted);
        Some(Beat {
            session: self.session?,
            leads: leads.into_iter().collect(),
            suspended: Vec::new(),
            holds: self.held.iter().map(|claimed| (claimed.job, claimed.claim)).collect(),
            consumed: vec![(name("planner"), self.consumed), (name("billing"), self.consumed)],
        })
    }

    /// Takes the answer to a beat that was sent at `sent_ms`.
    pub(crate) fn beat_answered(&mut self, sent_ms: u64, answer: &BeatAnswer) {
        for lead in &answer.leads {
            let known = self.beliefs.get(&lead.role).map(|belief| belief.token);
            let known = known.or_else(|| self.unconfirmed.get(&lead.role).copied());
            if known != Some(lead.token) {
                continue;
            }
            match &lead.outcome {
                LeadOutcome::Renewed { valid_ms, .. } => {
                    self.unconfirmed.remove(&lead.role);
                    let belief = Belief { token: lead.token, until_ms: sent_ms + valid_ms };
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
            self.adopt(role, granted.token);
        }
        let lost = &answer.superseded;
        self.held.retain(|claimed| !lost.contains(&(claimed.job, claimed.claim)));
    }

    fn adopt(&mut self, role: &Name, token: Token) {
        if !self.given_up.contains(&token) {
            self.unconfirmed.insert(role.clone(), token);
        }
    }

    /// Takes the answer to a command.
    pub(crate) fn answered(
        &mut self,
        command: &Command,
        answer: &Result<Answer, Refusal>,
        _: Position,
    ) {
        match answer {
            Ok(Answer::Opened(key)) => self.session = Some(*key),
            Ok(Answer::Granted(granted)) => {
                if let Command::Acquire(acquire) = command
                    && Some(granted.session) == self.session.map(|key| key.id)
                {
                    self.adopt(&acquire.role, granted.token);
                }
            }
            Ok(Answer::Claimed(claimed) | Answer::Settled { claimed, .. }) => {
                self.held.extend(claimed.iter().copied());
            }
            Err(Refusal::NoSession { .. }) => self.forget(),
            Err(Refusal::PositionBehind { recorded, .. }) => self.consumed = *recorded,
            Err(Refusal::BeyondEnd { last, .. }) => self.consumed = *last,
            Err(Refusal::StaleToken { .. } | Refusal::RoleVacant { .. }) => self.beliefs.clear(),
            Ok(_) | Err(_) => {}
        }
    }

    /// Starts anew: the session is over.
    pub(crate) fn forget(&mut self) {
        self.session = None;
        self.beliefs.clear();
        self.unconfirmed.clear();
        self.held.clear();
    }
}

/// Returns a name that is known to be one.
pub(crate) fn name(text: &str) -> Name {
    Name::parse(text).expect("the names of this world are names")
}

fn key(text: &str) -> Key {
    Key::parse(text).expect("the keys of this world are keys")
}
