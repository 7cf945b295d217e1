//! The atomic step of a coordinator: everything is decided before anything changes.

use alloc::vec::Vec;

use super::append::Plan;
use super::{Recorded, Streams};
use crate::answer::{Answer, Refusal};
use crate::change::What;
use crate::command::{Commit, NewPosition};
use crate::limits;
use crate::request::check_range;
use crate::state::{State, Step};
use crate::units::{Name, Token};

impl State {
    /// Checks the token, records the position, accepts jobs and appends events: all or nothing.
    pub(crate) fn commit(&mut self, step: &mut Step, command: &Commit) -> Result<Answer, Refusal> {
        let session = self.sessions.prove(command.session)?.id;
        let token = self.roles.require_lease(&command.role, session, command.token)?.token;
        self.streams.admit_commit(command)?;
        let jobs = &command.jobs[..];
        if !jobs.is_empty() {
            self.jobs.can_accept(step, jobs)?;
        }

        if let Some(position) = &command.position {
            self.streams.record(step, &command.role, token, position);
        }
        let jobs = if jobs.is_empty() { Vec::new() } else { self.jobs.accept(step, jobs) };
        for append in &command.appends {
            self.streams.add(step, append);
        }
        Ok(Answer::Committed { jobs })
    }
}

impl Streams {
    /// Decides whether what a commit does with streams can be done.
    fn admit_commit(&self, command: &Commit) -> Result<(), Refusal> {
        check_range("appends", command.appends.len() as u64, 0, limits::ITEMS_MAX as u64)?;
        let mut plan = Plan::default();
        for job in &command.jobs {
            plan.carry(job.payload.len() as u64)?;
        }
        if let Some(position) = &command.position {
            self.check_position(&command.role, position)?;
            plan.position = Some((&position.stream, &command.role, position.through));
        }
        for append in &command.appends {
            self.admit(&mut plan, append)?;
        }
        Ok(())
    }

    fn check_position(&self, role: &Name, position: &NewPosition) -> Result<(), Refusal> {
        let stream = self.require(&position.stream)?;
        let presented = position.through;
        let recorded = stream.positions.get(role).map(|recorded| recorded.through);
        let recorded = recorded.unwrap_or_default();
        if presented <= recorded {
            return Err(Refusal::PositionBehind { presented, recorded });
        }
        stream.check_there(presented)
    }

    fn record(&mut self, step: &mut Step, role: &Name, token: Token, position: &NewPosition) {
        let through = position.through;
        if let Some(stream) = self.by_name.get_mut(&position.stream) {
            let recorded = Recorded { through, token, stamp: step.stamp };
            stream.positions.insert(role.clone(), recorded);
        }
        self.refresh(&position.stream);
        let (stream, role) = (position.stream.clone(), role.clone());
        step.note(What::Recorded { stream, role, through });
    }
}
