//! What a restore does to the state: nothing that was given after the backup is given again.
//!
//! What happened after the backup is lost, but the world may remember it: tokens at fences, job
//! ids and event numbers in other programs' records, runs that have acted. So one entry raises
//! every number above all that can have been given, makes every session of before a stranger, and
//! stops what would go on as if nothing had happened. Leases and held jobs get the grace of a
//! takeover: who lives on the lost history notices in time, and nobody is given its role before.

#[cfg(test)]
mod tests;

use alloc::format;
use alloc::vec::Vec;

use crate::State;
use crate::alert::Alerts;
use crate::answer::{Answer, Refusal};
use crate::automation::Automation;
use crate::catalog::{Catalog, Noun};
use crate::change::What;
use crate::command::{CancelRun, DrainWorker, PauseAutomation, Restore};
use crate::job::Jobs;
use crate::outbox::Outbox;
use crate::request::check_range;
use crate::role::Roles;
use crate::run::Runs;
use crate::session::Sessions;
use crate::state::Step;
use crate::units::{
    AlertId, ClaimNumber, EventNumber, JobId, MessageId, Position, RunId, Text, Timestamp, Token,
};

/// A floor that is not taken from the clock is a multiple of this.
pub const FLOOR_STEP: u64 = 1 << 36;
/// Numbers that are left out above the highest one of the backup, at least.
pub const LOST_MAX: u64 = 1 << 35;
/// The highest number that every JSON reader can hold.
pub const NUMBER_MAX: u64 = (1 << 53) - 1;

/// There is no room left above the numbers of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the numbers would begin at {floor}, and at most {max} leaves room for new ones; \
     check the clock of this host"
)]
pub struct NoRoom {
    /// Where the numbers would begin.
    pub floor: u64,
    /// The highest that leaves room.
    pub max: u64,
}

impl State {
    /// Returns the number above which everything is to be numbered after a restore at `now`.
    ///
    /// It leaves out at least [`LOST_MAX`] numbers. It is also no lower than the microseconds
    /// since 1970, so that restoring one backup twice repeats nothing either: no server gives a
    /// million numbers of one kind a second.
    ///
    /// # Errors
    /// [`NoRoom`] when that lies too high.
    pub fn restore_floor(&self, now: Timestamp) -> Result<Position, NoRoom> {
        let above = self.highest_number().saturating_add(LOST_MAX);
        let stepped = above.div_ceil(FLOOR_STEP).saturating_mul(FLOOR_STEP);
        let floor = stepped.max(now.0.saturating_mul(1_000));
        let max = NUMBER_MAX - FLOOR_STEP;
        if floor > max { Err(NoRoom { floor, max }) } else { Ok(Position(floor)) }
    }

    /// Returns the highest number of any kind that was ever given.
    fn highest_number(&self) -> u64 {
        let automation = &self.automation;
        let issued = [
            self.last.position.0,
            self.roles.latest.0,
            self.jobs.kept.last.0,
            self.jobs.kept.jobs.listed(JobId(0)).map(|job| job.claim.0).max().unwrap_or(0),
            self.streams.highest().0,
            automation.runs.latest.0,
            automation.alerts.latest.0,
            automation.outbox.latest.0,
            automation.catalog.highest(),
        ];
        issued.into_iter().max().unwrap_or(0)
    }

    /// Goes on after a restore.
    pub(crate) fn restored(
        &mut self,
        step: &mut Step,
        command: &Restore,
    ) -> Result<Answer, Refusal> {
        let highest = self.highest_number();
        check_range("floor", command.floor.0, highest.saturating_add(1), NUMBER_MAX)?;
        self.ask_before_fixes(step, command);
        self.end_runs_in_doubt(step);
        self.estrange(step, command);
        self.automation.outbox.doubt(step.stamp.at);
        self.raise_numbers(command.floor.0);
        step.note(What::Restored { through: command.floor });
        Ok(Answer::Done)
    }

    /// Pauses all automation, if there is a fix: how often each has run since the backup is
    /// unknown, so a person says when fixes run again. Roles are given natively meanwhile.
    fn ask_before_fixes(&mut self, step: &mut Step, command: &Restore) {
        if self.automation.catalog.first(Noun::AutoFix).is_none() {
            return;
        }
        let reason = format!(
            "{}; runs of fixes since then are not counted, see to it and resume",
            command.reason.as_str()
        );
        let pause = PauseAutomation { for_ms: None, reason: Text::cut(&reason) };
        self.pause_automation(step, &pause).expect("a pause without an end is always allowed");
    }

    /// Ends the runs under way: what they did since the backup is unknown.
    fn end_runs_in_doubt(&mut self, step: &mut Step) {
        let live: Vec<RunId> = self.automation.runs.live.keys().copied().collect();
        for run in live {
            let reason = Text::cut("restored from a backup: how it went on is not known");
            // One that another's end has ended meanwhile needs no end.
            let _ = self.cancel_run(step, &CancelRun { run, reason });
        }
    }

    /// Makes every session a stranger. What they hold stays theirs for a grace: then leases
    /// lapse, and jobs are taken back without counting as lost.
    fn estrange(&mut self, step: &mut Step, command: &Restore) {
        self.roles.dismiss_candidates(step);
        self.sessions.change_secrets(command.drawn);
        let served = step.stamp.served;
        let workers = self.sessions.list(None).filter(|session| !session.queues.is_empty());
        let drains = workers.map(|session| DrainWorker {
            session: session.id,
            deadline_ms: session.lapses.since(served).min(session.ttl_ms),
            reason: command.reason.clone(),
        });
        let drains: Vec<DrainWorker> = drains.collect();
        for drain in drains {
            // One that is drained already needs no drain.
            let _ = self.drain_worker(step, &drain);
        }
    }

    fn raise_numbers(&mut self, floor: u64) {
        self.last.position = Position(floor);
        self.roles.raise(Token(floor));
        self.jobs.raise(floor);
        self.streams.raise(EventNumber(floor));
        self.automation.raise(floor);
    }
}

impl Sessions {
    /// Changes every secret, so that nobody proves to be a session of before.
    fn change_secrets(&mut self, drawn: u64) {
        for session in self.live.values_mut() {
            session.secret ^= drawn | 1;
        }
    }
}

impl Roles {
    fn raise(&mut self, floor: Token) {
        self.latest = floor;
        // The floor of a held role is its lease's token.
        for role in self.by_name.values_mut().filter(|role| role.held.is_none()) {
            role.floor = role.floor.max(floor);
        }
    }
}

impl Jobs {
    fn raise(&mut self, floor: u64) {
        self.kept.last = JobId(floor);
        let ids: Vec<JobId> = self.kept.jobs.listed(JobId(0)).map(|job| job.id).collect();
        for id in ids {
            self.kept.jobs.edit(id, |job| {
                job.claim = ClaimNumber(floor);
            });
        }
    }
}

impl Automation {
    fn raise(&mut self, floor: u64) {
        self.runs.raise(floor);
        self.alerts.raise(floor);
        self.outbox.raise(floor);
        self.catalog.floor = Some(floor);
    }
}

impl Runs {
    fn raise(&mut self, floor: u64) {
        self.latest = RunId(floor);
    }
}

impl Alerts {
    fn raise(&mut self, floor: u64) {
        self.latest = AlertId(floor);
    }
}

impl Catalog {
    fn highest(&self) -> u64 {
        let versions = self.by_title.values().map(|known| known.version);
        versions.chain(self.removed.values().copied()).chain(self.floor).max().unwrap_or(0)
    }
}

impl Outbox {
    fn raise(&mut self, floor: u64) {
        self.latest = MessageId(floor);
    }

    /// Notes of what is on its way that it may have arrived since the backup.
    fn doubt(&mut self, at: Timestamp) {
        for delivery in self.deliveries.values_mut() {
            delivery.doubt = delivery.doubt.or(Some(at));
        }
    }
}
