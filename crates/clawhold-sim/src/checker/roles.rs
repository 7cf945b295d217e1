//! Who leads, by the grants alone.

use std::collections::{BTreeMap, BTreeSet};

use clawhold_core::State;
use clawhold_core::change::What;
use clawhold_core::command::Command;
use clawhold_core::role::RoleCause;
use clawhold_core::units::{Name, SessionId, Token};

use super::Entry;
use crate::client::Client;

type Holder = (SessionId, Token);

/// The grants so far.
#[derive(Debug, Default)]
pub(crate) struct Roles {
    holders: BTreeMap<Name, Holder>,
    latest: BTreeMap<Name, Token>,
    tokens: BTreeSet<Token>,
    /// Leases that ended by somebody's will: the holder's own, or an operator's, who took the
    /// role from one that was alive. The holder hears of it later, and the fence holds till then.
    willed: BTreeSet<(Name, Token)>,
    pub(crate) grants: u64,
    pub(crate) lapses: u64,
}

impl Roles {
    /// Reads one entry and returns what it breaks.
    pub(crate) fn read(&mut self, entry: &Entry<'_>) -> Vec<String> {
        let mut broken = Vec::new();
        let before = self.holders.clone();
        for change in &entry.landed.applied.changes {
            if let What::RoleGranted { role, session, token } = &change.what {
                self.end(entry.state, role);
                broken.extend(self.grant(entry, role, (*session, *token)));
            } else if let What::RoleVacant { role } = &change.what {
                self.end(entry.state, role);
            }
        }
        broken.extend(self.compare(entry.state));
        if entry.landed.applied.answer.is_ok() && !entry.landed.applied.replayed {
            broken.extend(self.stale(&before, &entry.landed.request.command));
        }
        broken
    }

    /// Ends the lease of a role.
    fn end(&mut self, state: &State, role: &Name) {
        let Some((_, token)) = self.holders.remove(role) else { return };
        let lapsed = state.roles().get(role).is_some_and(|role| {
            let mut here = role.history().filter(|change| change.token == token);
            here.any(|change| matches!(change.cause, RoleCause::Lapsed | RoleCause::SessionLost))
        });
        if lapsed {
            self.lapses += 1;
        } else {
            self.willed.insert((role.clone(), token));
        }
    }

    fn grant(&mut self, entry: &Entry<'_>, role: &Name, holder: Holder) -> Vec<String> {
        let mut broken = Vec::new();
        let (_, token) = holder;
        self.grants += 1;
        if !self.tokens.insert(token) {
            broken.push(format!("token {token} of {role} was granted twice"));
        }
        let before = self.latest.insert(role.clone(), token);
        if let Some(before) = before.filter(|before| token <= *before) {
            broken.push(format!("token {token} of {role} does not rise above {before}"));
        }
        for client in entry.clients {
            broken.extend(self.overlap(entry.now_ms, role, client));
        }
        self.holders.insert(role.clone(), holder);
        broken
    }

    /// Tells whether a client may act under a token that was overtaken without anybody's will.
    fn overlap(&self, now_ms: u64, role: &Name, client: &Client) -> Option<String> {
        let belief = client.beliefs.get(role).filter(|belief| now_ms < belief.until_ms)?;
        let latest = *self.latest.get(role)?;
        let key = (role.clone(), belief.token);
        if !client.is_up || latest <= belief.token || self.willed.contains(&key) {
            return None;
        }
        Some(format!(
            "at {now_ms} ms {role} is granted under {latest}, while {} may act under {} until {} ms",
            client.label, belief.token, belief.until_ms
        ))
    }

    fn compare(&self, state: &State) -> Vec<String> {
        let mut broken = Vec::new();
        for role in state.roles().list(None) {
            let held = role.held.as_ref().map(|lease| (lease.session, lease.token));
            let known = self.holders.get(&role.name).copied();
            if held != known {
                broken.push(format!("{} is held by {held:?}, by its changes {known:?}", role.name));
            }
        }
        broken
    }

    /// Tells whether an accepted command carried a token that was not the current one.
    fn stale(&self, before: &BTreeMap<Name, Holder>, command: &Command) -> Option<String> {
        let (role, session, token) = if let Command::Commit(commit) = command {
            (&commit.role, commit.session.id, commit.token)
        } else if let Command::Release(release) = command {
            (&release.role, release.session.id, release.token)
        } else if let Command::HandOver(hand_over) = command {
            (&hand_over.role, hand_over.holder?.id, hand_over.token?)
        } else {
            return None;
        };
        let presented = Some((session, token));
        let was = before.get(role).copied();
        let is = self.holders.get(role).copied();
        if presented == was || presented == is {
            return None;
        }
        Some(format!("a stale write was accepted: {role} under {token}, the holder is {was:?}"))
    }

    /// Looks at what a client believes.
    pub(crate) fn believes(&self, now_ms: u64, client: &Client) -> Vec<String> {
        let mut broken = Vec::new();
        for (role, belief) in &client.beliefs {
            let latest = self.latest.get(role).copied().unwrap_or_default();
            if now_ms < belief.until_ms && belief.token > latest {
                broken.push(format!("{} acts under {}, never granted", client.label, belief.token));
            }
            broken.extend(self.overlap(now_ms, role, client));
        }
        broken
    }
}
