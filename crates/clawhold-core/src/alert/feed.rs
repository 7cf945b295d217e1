//! What alert rules learn from outside the changes of an entry: beliefs, audits, blocked fixes.

use alloc::format;
use alloc::vec::Vec;

use super::Subject;
use super::find::{Belongs, Finding, Reading, Rule};
use crate::catalog::Grouping;
use crate::command::Showed;
use crate::operation::Detector;
use crate::role::{Role, RoleCause, RoleChange};
use crate::run::Target;
use crate::state::{State, Step};
use crate::units::{Name, SessionId, Text, Title, Token};

impl State {
    /// Takes in that a session showed a belief to lead a role under a token that is overtaken, or
    /// that another session holds.
    pub(crate) fn two_leaders_seen(
        &mut self,
        step: &mut Step,
        role: &Name,
        session: SessionId,
        token: Token,
        showed: Showed,
    ) {
        let Some(fact) = self.belief_fact(step, role, session, token, showed) else { return };
        let belongs = Belongs { worker: self.label_of(session), ..Belongs::role(role) };
        let find = |rule: Rule<'_>| {
            let detector = rule.detector()?;
            let wrote = showed == Showed::Write;
            let stale = wrote && matches!(detector, Detector::StaleWrites { .. });
            let watched = stale || *detector == Detector::TwoLeaders;
            let subject = Subject::Target(Target::Role(role.clone()));
            let reading = Reading::Event(fact.clone());
            watched.then(|| rule.finding(Grouping::Role, &belongs, subject, reading))
        };
        self.take_found(step, find);
    }

    /// Takes in that an audit of a queue found jobs with two owners.
    pub(crate) fn double_owner_seen(&mut self, step: &mut Step, queue: &Name, found: &[Text]) {
        for fact in found {
            self.take_found(step, |rule| {
                let watched = *rule.detector()? == Detector::DoubleOwner;
                let subject = Subject::Target(Target::Queue(queue.clone()));
                let reading = Reading::Event(fact.clone());
                let belongs = Belongs::queue(queue);
                watched.then(|| rule.finding(Grouping::Queue, &belongs, subject, reading))
            });
        }
    }

    /// Takes in that a fix was kept from running on a target, and what was said about it.
    pub(crate) fn fix_blocked_seen(
        &mut self,
        step: &mut Step,
        fix: &Title,
        target: &Target,
        message: &Text,
    ) {
        let (_, belongs, _) = self.belongs(target);
        self.take_found(step, |rule| {
            if *rule.detector()? != Detector::FixBlocked {
                return None;
            }
            let subject = Subject::Target(target.clone());
            let reading = Reading::Event(message.clone());
            if rule.spec.group_by.is_empty() {
                return Some(rule.named(fix, subject, reading));
            }
            Some(rule.finding(Grouping::Role, &belongs, subject, reading))
        });
    }

    /// Takes in what a detector found for each rule in force.
    fn take_found(&mut self, step: &mut Step, find: impl FnMut(Rule<'_>) -> Option<Finding>) {
        let findings: Vec<Finding> = self.alert_rules().filter_map(find).collect();
        self.take_findings(step, findings);
    }

    /// Says what is wrong with a belief; `None` when nobody else leads or led since.
    fn belief_fact(
        &self,
        step: &Step,
        name: &Name,
        session: SessionId,
        token: Token,
        showed: Showed,
    ) -> Option<Text> {
        let role = self.roles.get(name)?;
        let claimer = self.called(session);
        let did = match showed {
            Showed::Report => "reported to lead",
            Showed::Write => "wrote as leader of",
        };
        let at = step.stamp.position;
        let claim = format!("{claimer} {did} {name} under token {token} at position {at}");
        if let Some(lease) = role.held.as_ref().filter(|lease| lease.token == token) {
            let holder = self.called(lease.session);
            let fact = format!("{claim}, which is the token of {holder}");
            return (lease.session != session).then(|| Text::cut(&fact));
        }
        let grant = role.overtook(session, token)?;
        let other = || "another worker".into();
        let holder = grant.session.map_or_else(other, |session| self.called(session));
        let (newer, at) = (grant.token, grant.stamp.position);
        let fact = format!("{claim}, after token {newer} was granted to {holder} at position {at}");
        Some(Text::cut(&fact))
    }
}

impl Role {
    /// Returns the first grant to another session that overtook a token.
    fn overtook(&self, session: SessionId, token: Token) -> Option<&RoleChange> {
        self.history().find(|change| {
            let granted = matches!(
                change.cause,
                RoleCause::Acquired | RoleCause::Promoted | RoleCause::HandedOver
            );
            granted && change.token > token && change.session != Some(session)
        })
    }
}
