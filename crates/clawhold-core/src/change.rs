//! What an entry changed, as data: the driver wakes those who wait for it and tells those who
//! listen.

use crate::answer::{JobState, WorkerState};
use crate::catalog::Noun;
use crate::run::RunState;
use crate::units::{
    AlertId, EventNumber, JobId, MessageId, Name, Position, RunId, SessionId, Title, Token,
};

/// One change, at one position in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Where.
    pub position: Position,
    /// What.
    pub what: What,
}

/// What changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// Another server is the active one, or it stepped down.
    Server,
    /// A role was granted.
    RoleGranted {
        /// The role.
        role: Name,
        /// To whom.
        session: SessionId,
        /// Under which token.
        token: Token,
    },
    /// A role has no holder.
    RoleVacant {
        /// The role.
        role: Name,
    },
    /// A role changed in another way: its line, its settings, a hand-over asked.
    Role {
        /// The role.
        role: Name,
    },
    /// A worker's state changed.
    Worker {
        /// Its session.
        session: SessionId,
        /// The state it is in.
        state: WorkerState,
    },
    /// A session that is no worker opened or ended.
    Session {
        /// The session.
        session: SessionId,
    },
    /// A job changed its state.
    Job {
        /// The job.
        job: JobId,
        /// Its queue.
        queue: Name,
        /// The state it is in.
        state: JobState,
    },
    /// A queue was paused, resumed, set, or its gate moved.
    Queue {
        /// The queue.
        queue: Name,
    },
    /// A stream has new events.
    Stream {
        /// The stream.
        stream: Name,
        /// Its last event.
        last: EventNumber,
    },
    /// A position was recorded.
    Recorded {
        /// The stream.
        stream: Name,
        /// The role.
        role: Name,
        /// The position.
        through: EventNumber,
    },
    /// A definition was added, changed or removed.
    Definition {
        /// Its kind.
        noun: Noun,
        /// Its name.
        title: Title,
    },
    /// A run moved.
    Run {
        /// The run.
        run: RunId,
        /// The state it is in.
        state: RunState,
    },
    /// An alert changed.
    Alert {
        /// The alert.
        alert: AlertId,
    },
    /// A message was written, or something became of it.
    Message {
        /// The message.
        message: MessageId,
    },
    /// Automation was paused or goes on.
    Automation,
    /// The state was restored from a backup: what lies between here and `through` is lost, and no
    /// number up to it is given again.
    Restored {
        /// The position with which numbering goes on.
        through: Position,
    },
}
