//! The schema: what a condition may read, field by field.
//!
//! A field's number is written into stored conditions and is its bit in a [`FieldSet`]: it is
//! never reused. Where a value comes from is the caller's, through `Facts`.

use core::fmt;

use minicbor::{Decode, Encode};

use super::TargetKind;

/// What kind of value a field has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// True or false.
    Bool,
    /// A whole number.
    Int,
    /// A span of time, in milliseconds.
    Duration,
    /// Text.
    Text,
    /// One of these texts.
    OneOf(&'static [&'static str]),
    /// A list of texts.
    List,
}

/// What the first word of a field names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Root {
    /// A role and its lease.
    Lease,
    /// Who stands by for a role.
    Standby,
    /// A worker.
    Worker,
    /// A queue.
    Queue,
    /// A job.
    Job,
}

impl Root {
    /// Every root.
    pub const ALL: [Self; 5] = [Self::Lease, Self::Standby, Self::Worker, Self::Queue, Self::Job];

    /// Returns the word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Lease => "lease",
            Self::Standby => "standby",
            Self::Worker => "worker",
            Self::Queue => "queue",
            Self::Job => "job",
        }
    }

    /// Returns what a condition about this root alone is about.
    #[must_use]
    pub fn target(self) -> TargetKind {
        match self {
            Self::Lease | Self::Standby => TargetKind::Role,
            Self::Worker => TargetKind::Worker,
            Self::Queue => TargetKind::Queue,
            Self::Job => TargetKind::Job,
        }
    }

    /// Returns its fields, in the order of the schema.
    pub fn fields(self) -> impl Iterator<Item = Field> {
        Field::ALL.iter().copied().filter(move |field| field.root() == self)
    }
}

/// What the schema says of one field.
struct Entry {
    root: Root,
    name: &'static str,
    kind: Kind,
    timed: Timed,
    help: &'static str,
}

/// Whether a value changes by the passing of time alone.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Timed {
    Steady,
    Timed,
}

const WORKER_STATES: &[&str] = &["active", "draining", "drained", "left", "lost"];
const JOB_STATES: &[&str] =
    &["scheduled", "queued", "returned", "running", "completed", "failed", "cancelled"];

macro_rules! fields {
    ($($number:tt $field:ident $root:ident $name:literal $kind:expr, $timed:ident $help:literal;)*) => {
        /// A value that a condition may read.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
        #[cbor(index_only)]
        #[repr(u8)]
        pub enum Field {
            $(
                #[doc = $help]
                #[n($number)]
                $field = $number,
            )*
        }

        impl Field {
            /// Every field, in the order of the schema.
            pub const ALL: &[Self] = &[$(Self::$field),*];

            const fn entry(self) -> &'static Entry {
                match self {
                    $(Self::$field => &Entry {
                        root: Root::$root,
                        name: $name,
                        kind: $kind,
                        timed: Timed::$timed,
                        help: $help,
                    },)*
                }
            }
        }
    };
}

fields! {
    0 LeaseRole Lease "lease.role" Kind::Text, Steady "The role's name.";
    1 LeaseHeld Lease "lease.held" Kind::Bool, Steady "Whether somebody holds the role.";
    2 LeaseExpired Lease "lease.expired" Kind::Bool, Steady
        "Whether nobody holds the role because its last lease lapsed.";
    3 LeaseVacant Lease "lease.vacant" Kind::Bool, Steady
        "Whether nobody holds the role, for whatever reason.";
    4 LeaseHolder Lease "lease.holder" Kind::Text, Steady
        "What people call the holder; unknown while there is none.";
    5 LeaseToken Lease "lease.token" Kind::Int, Steady "The latest fencing token granted.";
    6 LeaseTtl Lease "lease.ttl" Kind::Duration, Steady
        "The time from one renewal of the lease to its end.";
    7 LeaseAge Lease "lease.age" Kind::Duration, Timed
        "The time since the lease was granted; unknown while there is none.";
    8 LeaseVacantFor Lease "lease.vacant_for" Kind::Duration, Timed
        "The time since the role fell vacant; unknown while it is held.";
    9 LeaseStandbys Lease "lease.standbys" Kind::Int, Steady "How many stand by for the role.";
    10 LeaseHandOverAsked Lease "lease.hand_over_asked" Kind::Bool, Steady
        "Whether the holder was asked to hand over and has not yet.";
    11 StandbyCount Standby "standby.count" Kind::Int, Steady "How many stand by for the role.";
    12 StandbyReady Standby "standby.ready" Kind::Int, Steady "How many of them may be promoted.";
    13 StandbyLag Standby "standby.lag" Kind::Int, Steady
        "How many events the best standby is behind; unknown when no stream tells.";
    14 WorkerName Worker "worker.name" Kind::Text, Steady "What people call the worker.";
    15 WorkerId Worker "worker.id" Kind::Int, Steady "The number of the worker's session.";
    16 WorkerAgent Worker "worker.agent" Kind::Text, Steady
        "The agent that the worker is; unknown when it is none.";
    17 WorkerPlace Worker "worker.place" Kind::Text, Steady "Where the worker runs.";
    18 WorkerState Worker "worker.state" Kind::OneOf(WORKER_STATES), Steady
        "How the worker stands.";
    19 WorkerLeaving Worker "worker.leaving" Kind::Bool, Steady
        "Whether the worker was told to leave and has not left.";
    20 WorkerHeldJobs Worker "worker.held_jobs" Kind::Int, Steady
        "How many jobs the worker holds.";
    21 WorkerSlots Worker "worker.slots" Kind::Int, Steady
        "How many jobs the worker runs at once.";
    22 WorkerFreeSlots Worker "worker.free_slots" Kind::Int, Steady
        "How many more jobs the worker could take.";
    23 WorkerQueues Worker "worker.queues" Kind::List, Steady
        "The queues that the worker works on.";
    24 WorkerAge Worker "worker.age" Kind::Duration, Timed "The time since the worker came.";
    25 WorkerDrainLeft Worker "worker.drain_left" Kind::Duration, Timed
        "The time until what the worker still holds is taken back; unknown while it stays.";
    26 QueueName Queue "queue.name" Kind::Text, Steady "The queue's name.";
    27 QueueDepth Queue "queue.depth" Kind::Int, Steady
        "How many jobs could be handed out: queued and returned ones.";
    28 QueueQueued Queue "queue.queued" Kind::Int, Steady "How many jobs wait for the first time.";
    29 QueueReturned Queue "queue.returned" Kind::Int, Steady
        "How many jobs came back and wait for another holder.";
    30 QueueRunning Queue "queue.running" Kind::Int, Steady "How many jobs are held.";
    31 QueueScheduled Queue "queue.scheduled" Kind::Int, Steady
        "How many jobs wait for their time.";
    32 QueueFailed Queue "queue.failed" Kind::Int, Steady
        "How many jobs failed for good and are kept.";
    33 QueueCompleted Queue "queue.completed" Kind::Int, Steady
        "How many completed jobs are kept.";
    34 QueuePaused Queue "queue.paused" Kind::Bool, Steady "Whether nothing is handed out.";
    35 QueueGateClosed Queue "queue.gate_closed" Kind::Bool, Steady
        "Whether new jobs wait behind returned ones.";
    36 QueueWorkers Queue "queue.workers" Kind::Int, Steady
        "How many workers take jobs of the queue.";
    37 QueueOldestAge Queue "queue.oldest_age" Kind::Duration, Timed
        "How long the oldest waiting job has waited; unknown when none waits.";
    38 JobId Job "job.id" Kind::Int, Steady "The job's number.";
    39 JobQueue Job "job.queue" Kind::Text, Steady "The name of the job's queue.";
    40 JobState Job "job.state" Kind::OneOf(JOB_STATES), Steady "Where the job is.";
    41 JobAttempts Job "job.attempts" Kind::Int, Steady "How many runs of it failed.";
    42 JobLosses Job "job.losses" Kind::Int, Steady "How many holders vanished with it.";
    43 JobHandBacks Job "job.hand_backs" Kind::Int, Steady
        "How often it was handed back or taken back.";
    44 JobPriority Job "job.priority" Kind::Int, Steady "Its priority; higher goes first.";
    45 JobHolder Job "job.holder" Kind::Text, Steady
        "What people call its holder; unknown while it has none.";
    46 JobAge Job "job.age" Kind::Duration, Timed "The time since the job was accepted.";
}

impl Field {
    /// Returns the field's name with its root, as it is typed: `worker.held_jobs`.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.entry().name
    }

    /// Returns the field's name without its root: `held_jobs`.
    #[must_use]
    pub fn short_name(self) -> &'static str {
        let name = self.name();
        name.split_once('.').map_or(name, |(_, short)| short)
    }

    /// Returns what kind of value it has.
    #[must_use]
    pub fn kind(self) -> Kind {
        self.entry().kind
    }

    /// Returns what it says, in one line.
    #[must_use]
    pub fn help(self) -> &'static str {
        self.entry().help
    }

    /// Returns whose field it is.
    #[must_use]
    pub fn root(self) -> Root {
        self.entry().root
    }

    /// Tells whether its value changes by the passing of time alone.
    #[must_use]
    pub fn is_timed(self) -> bool {
        self.entry().timed == Timed::Timed
    }

    /// Returns the field of this name, if there is one. `role.…` is read as `lease.…`.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        let (root, short) = name.split_once('.')?;
        let (root, short) = match (root, short) {
            ("role", "name") => ("lease", "role"),
            ("role", short) => ("lease", short),
            other => other,
        };
        let mut fields = Self::ALL.iter().copied();
        fields.find(|field| field.root().name() == root && field.short_name() == short)
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Some fields: a bit for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FieldSet(u64);

impl FieldSet {
    /// No field.
    pub const EMPTY: Self = Self(0);

    /// Adds a field.
    pub fn insert(&mut self, field: Field) {
        self.0 |= 1 << (field as u8);
    }

    /// Tells whether a field is among them.
    #[must_use]
    pub fn contains(self, field: Field) -> bool {
        self.0 & (1 << (field as u8)) != 0
    }

    /// Tells whether some field is in both.
    #[must_use]
    pub fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Returns the fields of both.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Tells whether there is none.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the fields, in the order of the schema.
    pub fn iter(self) -> impl Iterator<Item = Field> {
        Field::ALL.iter().copied().filter(move |field| self.contains(*field))
    }
}

impl FromIterator<Field> for FieldSet {
    fn from_iter<T: IntoIterator<Item = Field>>(fields: T) -> Self {
        let mut set = Self::EMPTY;
        for field in fields {
            set.insert(field);
        }
        set
    }
}
