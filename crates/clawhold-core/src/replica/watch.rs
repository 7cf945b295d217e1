//! What only the active server sees and the log must know: beliefs to lead under an overtaken
//! token, and the evidence that steps of runs ask for.

use alloc::format;
use alloc::vec::Vec;

use super::{Mode, Replica};
use crate::audit;
use crate::beat::{Beat, BeatAnswer, LeadOutcome};
use crate::command::{Automate, Believed, Command, Showed, Witness};
use crate::role::{Role, RoleCause};
use crate::run::{About, Question, Seen};
use crate::session::Session;
use crate::units::{Name, Position, Served, SessionId, Text, Token};

/// Milliseconds between two records of one belief.
const BELIEF_MS: u64 = 60_000;
/// Milliseconds between two records of evidence for one step that does not settle it.
const WITNESS_MS: u64 = 1_000;
/// Claims of lost leases kept in mind.
const TOLD_MAX: usize = 10_000;
/// Mismatches that evidence names.
const MISMATCHES_MAX: usize = 20;

impl Replica {
    /// Records a belief to lead under an overtaken token that a beat shows.
    ///
    /// A holder that gave its role up, or from whom an operator took it, may have had a beat on
    /// its way: only a claim made after it was told counts. One whose lease lapsed had its own
    /// deadline to tell it. One that does not act and only asks whether it still leads believes
    /// nothing.
    pub(super) fn watch_beliefs(&mut self, beat: &Beat, answer: &BeatAnswer) {
        for lead in &answer.leads {
            let LeadOutcome::Lost { latest } = lead.outcome else { continue };
            let session = beat.session.id;
            let asks = beat.suspended.contains(&lead.role);
            let overtaken =
                latest >= lead.token && self.is_overtaken(&lead.role, session, lead.token);
            if asks || !overtaken {
                continue;
            }
            let key = (session, lead.role.clone(), lead.token);
            let served = self.served();
            let told = self.beats.told.get(&key).copied();
            let counts = told.is_some() || self.ended_by_itself(&lead.role, lead.token);
            let recorded = told.flatten();
            let due = recorded.is_none_or(|at: Served| served.since(at) >= BELIEF_MS);
            let record = counts && due;
            self.beats.told.insert(key, if record { Some(served) } else { recorded });
            if record {
                self.record_belief(session, &lead.role, lead.token);
            }
        }
    }

    /// Records what a beat of a session that was lost shows.
    pub(super) fn watch_late_beat(&mut self, beat: &Beat) {
        let known = |one: &&Session| one.id == beat.session.id && one.secret == beat.session.secret;
        if self.state.sessions().ended().rfind(known).is_none() {
            return;
        }
        if self.beats.told.len() > TOLD_MAX {
            self.beats.told.clear();
        }
        for (role, token) in beat.leads.iter().filter(|(role, _)| !beat.suspended.contains(role)) {
            let session = beat.session.id;
            let key = (session, role.clone(), *token);
            let served = self.served();
            let recorded = self.beats.told.get(&key).copied().flatten();
            let due = recorded.is_none_or(|at: Served| served.since(at) >= BELIEF_MS);
            let counts = self.ended_by_itself(role, *token);
            if due && counts && self.is_overtaken(role, session, *token) {
                self.beats.told.insert(key, Some(served));
                self.record_belief(session, role, *token);
            }
        }
    }

    fn record_belief(&mut self, session: SessionId, role: &Name, token: Token) {
        let showed = Showed::Report;
        let believed = Believed { session, role: role.clone(), token, showed };
        self.ask(Command::Automate(Automate::Believed(believed).into()));
    }

    /// Tells whether a higher token was granted since, or this one is another session's.
    fn is_overtaken(&self, role: &Name, session: SessionId, token: Token) -> bool {
        let Some(role) = self.state.roles().get(role) else { return false };
        let held = role.held.as_ref();
        let others = held.is_some_and(|lease| lease.token == token && lease.session != session);
        role.floor > token || others
    }

    /// Tells whether the lease under a token ended because it was not renewed.
    fn ended_by_itself(&self, role: &Name, token: Token) -> bool {
        let role = self.state.roles().get(role);
        let mut history = role.into_iter().flat_map(Role::history);
        history.any(|change| {
            change.token == token
                && matches!(change.cause, RoleCause::Lapsed | RoleCause::SessionLost)
        })
    }

    /// Puts the evidence into the log that steps of runs ask for.
    pub(super) fn bear_witness(&mut self) {
        if self.mode != Mode::Active || self.state.automation().runs().live().next().is_none() {
            return;
        }
        let questions = self.state.questions();
        self.beats.witnessed.retain(|(run, step), _| {
            questions.iter().any(|question| (question.run, question.step) == (*run, *step))
        });
        for question in questions {
            let key = (question.run, question.step);
            let served = self.served();
            let last = self.beats.witnessed.get(&key).copied();
            let (seen, settles) = self.see(&question);
            let due = last.is_none_or(|at| served.since(at) >= WITNESS_MS);
            let soon = settles && last.is_none_or(|at| served.since(at) >= WITNESS_MS / 10);
            if due || soon {
                self.beats.witnessed.insert(key, served);
                let (run, step) = key;
                let witness = Automate::Witness(Witness { run, step, seen });
                self.ask(Command::Automate(witness.into()));
            }
        }
    }

    /// Returns what is seen about a question, and whether it settles it.
    fn see(&self, question: &Question) -> (Seen, bool) {
        match &question.about {
            About::Lease(role) => self.see_lease(role),
            About::Former(role, session, granted) => self.see_former(role, *session, *granted),
            About::Owners(queues) => self.see_owners(queues),
        }
    }

    fn see_lease(&self, role: &Name) -> (Seen, bool) {
        let lease = self.state.roles().get(role).and_then(|role| role.held.as_ref());
        let Some(lease) = lease else {
            return (Seen::Lease { token: Token(0), renewed_ago_ms: None }, true);
        };
        let report = self.beats.report(lease.session);
        let lead = report.and_then(|report| report.leads.get(role));
        let renewed = lead.filter(|lead| lead.token == lease.token).and_then(|lead| lead.renewed);
        // A grant is as good as a renewal.
        let renewed = renewed.unwrap_or(lease.granted.served);
        let ago = self.served().since(renewed);
        let seen = Seen::Lease { token: lease.token, renewed_ago_ms: Some(ago) };
        (seen, ago >= lease.ttl_ms / 3 * 2)
    }

    fn see_former(&self, role: &Name, session: SessionId, granted: Position) -> (Seen, bool) {
        let granted =
            self.state.roles().get(role).and_then(|role| {
                role.held.as_ref().filter(|lease| lease.granted.position == granted)
            });
        let report = self.beats.report(session);
        let after =
            report.zip(granted).filter(|(report, lease)| report.heard > lease.granted.served);
        let claims = after.map(|(report, _)| report.leads.get(role).is_some_and(|lead| lead.acts));
        let heard_ago_ms = report.map(|report| self.served().since(report.heard));
        (Seen::Former { claims, heard_ago_ms }, claims == Some(false))
    }

    fn see_owners(&self, queues: &[Name]) -> (Seen, bool) {
        let (mut jobs, mut unheard) = (0_u64, 0_u64);
        let mut mismatches: Vec<Text> = Vec::new();
        for queue in queues {
            let audit = audit::audit(&self.state, &self.beats, Some(queue), self.served());
            jobs = jobs.saturating_add(audit.live);
            let serves = |id: &&SessionId| {
                let session = self.state.sessions().live(**id);
                session.is_some_and(|session| session.queues.contains(queue))
            };
            unheard = unheard.max(audit.unknown.iter().filter(serves).count() as u64);
            let room = MISMATCHES_MAX.saturating_sub(mismatches.len());
            let found = audit.mismatches.iter().take(room);
            mismatches
                .extend(found.map(|found| Text::cut(&format!("{}: {}", found.kind, found.detail))));
        }
        let settles = mismatches.is_empty() && unheard == 0;
        (Seen::Owners { jobs, mismatches, unheard }, settles)
    }
}
