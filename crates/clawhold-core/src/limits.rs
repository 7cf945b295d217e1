//! Every limit of the product, in one place.
//!
//! They lie below what any engine or wrapper can take: one command with its envelope always fits
//! a record, and a record always fits the smallest engine.

/// Bytes of a name.
pub const NAME_BYTES_MAX: usize = 100;
/// Bytes of a unique or ordering key.
pub const KEY_BYTES_MAX: usize = 256;
/// Bytes of a request id.
pub const REQUEST_ID_BYTES_MAX: usize = 64;
/// Bytes of a reason, note or error text.
pub const TEXT_BYTES_MAX: usize = 2_048;
/// Bytes of a job's payload.
pub const PAYLOAD_BYTES_MAX: usize = 256 * 1_024;
/// Bytes of a job's result.
pub const RESULT_BYTES_MAX: usize = 256 * 1_024;
/// Bytes of a job's checkpoint.
pub const CHECKPOINT_BYTES_MAX: usize = 256 * 1_024;
/// Bytes of an event.
pub const EVENT_BYTES_MAX: usize = 256 * 1_024;
/// Bytes of everything in one command.
pub const COMMAND_BYTES_MAX: usize = 640 * 1_024;
/// Bytes of a batch before it is cut; one large command may exceed it, up to `COMMAND_BYTES_MAX`.
pub const BATCH_BYTES_MAX: usize = 256 * 1_024;
/// Commands in one batch.
pub const BATCH_COMMANDS_MAX: usize = 4_096;
/// Jobs, settlements, ids or events in one command.
pub const ITEMS_MAX: usize = 1_000;
/// Queues that one claim may name or one worker may serve.
pub const QUEUES_PER_CLAIM_MAX: usize = 100;
/// Depth of nesting in a JSON body; checked at the door.
pub const JSON_DEPTH_MAX: usize = 64;

/// Milliseconds of the shortest lease or session.
pub const TTL_MS_MIN: u64 = 200;
/// Milliseconds of the longest lease or session: 24 hours.
pub const TTL_MS_MAX: u64 = 86_400_000;
/// Milliseconds of a lease or session when nothing is said: 10 seconds.
pub const TTL_MS_DEFAULT: u64 = 10_000;
/// Milliseconds of the longest delay, timeout or retention: 10 years.
pub const DURATION_MS_MAX: u64 = 10 * 365 * 86_400_000;
/// The last wall time that a schedule may name: 9999-12-31T23:59:59.999Z.
pub const TIMESTAMP_MS_MAX: u64 = 253_402_300_799_999;
/// Takeovers in a row that extend a lease or session nobody confirmed.
pub const GRACES_MAX: u64 = 3;
/// Milliseconds of a drain when nothing is said.
pub const DRAIN_MS_DEFAULT: u64 = 30_000;
/// Milliseconds after which the gate of a rebalance opens by itself.
pub const GATE_MS_DEFAULT: u64 = 30_000;
/// Milliseconds for which a returned job avoids the worker that returned it, if another serves
/// its queue.
pub const RETURN_AVOID_MS: u64 = 5_000;
/// Milliseconds that a running job has to stop after it was cancelled.
pub const CANCEL_GRACE_MS_DEFAULT: u64 = 30_000;
/// Milliseconds that a leader has to step down after a hand-over was asked.
pub const HAND_OVER_MS_DEFAULT: u64 = 30_000;

/// The lowest and the highest priority; 0 is the default, higher goes first.
pub const PRIORITY_MIN: i8 = -100;
/// See [`PRIORITY_MIN`].
pub const PRIORITY_MAX: i8 = 100;
/// Failed runs after which a job is dead when nothing is said.
pub const ATTEMPTS_MAX_DEFAULT: u32 = 5;
/// The most failed runs that may be asked for.
pub const ATTEMPTS_MAX_MAX: u32 = 10_000;
/// Holders that may vanish with a job before it is dead.
pub const LOSSES_MAX_DEFAULT: u32 = 3;
/// Hand-backs after which a job is dead, with a reason.
pub const HAND_BACKS_MAX_DEFAULT: u32 = 20;
/// Milliseconds before the first retry.
pub const BACKOFF_MS_DEFAULT: u64 = 1_000;
/// Milliseconds that no retry's delay exceeds.
pub const BACKOFF_MS_MAX_DEFAULT: u64 = 3_600_000;
/// Errors kept for each job, the latest.
pub const ERRORS_KEPT_MAX: usize = 5;
/// Ended jobs kept in each queue when nothing is said.
pub const RETAIN_COUNT_DEFAULT: u64 = 100_000;
/// Milliseconds for which ended jobs are kept when nothing is said: 7 days.
pub const RETAIN_MS_DEFAULT: u64 = 7 * 86_400_000;

/// Live jobs in the whole state.
pub const JOBS_MAX: u64 = 10_000_000;
/// Queues in the whole state.
pub const QUEUES_MAX: usize = 200_000;
/// Roles in the whole state, removed ones included.
pub const ROLES_MAX: usize = 100_000;
/// Streams in the whole state.
pub const STREAMS_MAX: usize = 10_000;
/// Live sessions.
pub const SESSIONS_MAX: usize = 100_000;
/// Sessions that wait for one role.
pub const CANDIDATES_MAX: usize = 1_000;
/// Changes kept in the history of each role.
pub const ROLE_HISTORY_MAX: usize = 100;
/// Ended sessions kept for display.
pub const ENDED_SESSIONS_MAX: usize = 1_000;
/// Requests whose answer is kept; the oldest is forgotten first.
pub const REQUESTS_MAX: usize = 100_000;
/// Milliseconds for which a request's answer is kept: 24 hours.
pub const REQUEST_MS: u64 = 86_400_000;
/// Milliseconds by which wall time has to leap ahead of time served to count as a leap.
pub const LEAP_MS_MIN: u64 = 60_000;
/// Events in one stream when nothing is said.
pub const STREAM_EVENTS_DEFAULT: u64 = 1_000_000;
/// Bytes in one stream when nothing is said: 256 MiB.
pub const STREAM_BYTES_DEFAULT: u64 = 256 * 1_024 * 1_024;
/// Things that fall due in one entry; the rest follows with the next.
pub const DUE_PER_ENTRY_MAX: usize = 10_000;
/// Rows of one page of a list.
pub const PAGE_MAX: usize = 1_000;

/// Bytes of a text that is read as sentences: steps, actions, messages.
pub const PROSE_BYTES_MAX: usize = 16 * 1_024;
/// Definitions of one kind: agents, commands, rules, fixes, runbooks, channels, sources.
pub const DEFINITIONS_MAX: usize = 1_000;
/// Versions kept of each definition, the latest.
pub const VERSIONS_MAX: usize = 20;
/// Messages of one agent.
pub const AGENT_MESSAGES_MAX: usize = 100;
/// Steps of one plan.
pub const STEPS_MAX: usize = 100;
/// Tags, channels, sources, groupings, limits or linked users of one definition.
pub const LIST_MAX: usize = 50;
/// Runs that have not ended, waiting ones included.
pub const RUNS_LIVE_MAX: usize = 1_000;
/// Ended runs kept, the latest.
pub const RUNS_KEPT_MAX: usize = 1_000;
/// Runs of fixes under way at once.
pub const FIXES_AT_ONCE_MAX: usize = 20;
/// Runs of one fix under way at once.
pub const FIX_AT_ONCE_MAX: usize = 5;
/// Jobs that one run remembers as those that it returned.
pub const RUN_JOBS_MAX: usize = 10_000;
/// Lines of output kept of one step.
pub const OUTPUT_LINES_MAX: usize = 50;
/// Decisions about fixes kept, the latest.
pub const DECISIONS_MAX: usize = 2_000;
/// Beliefs to lead under an overtaken token kept, the latest.
pub const BELIEFS_MAX: usize = 100;
/// Targets that one rule or fix keeps in mind.
pub const TARGETS_MAX: usize = 20_000;
/// Runs that one limit may allow within its period.
pub const MAX_RUNS_MAX: u32 = 10_000;
/// Milliseconds that an approval waits for an answer when nothing is said: 30 minutes.
pub const APPROVAL_MS_DEFAULT: u64 = 1_800_000;
/// Milliseconds that a worker has to hand back its jobs itself when nothing is said: time for its
/// programs to stop in good order and leave a checkpoint.
pub const HAND_BACK_MS_DEFAULT: u64 = 10_000;
/// Milliseconds that a step may take when nothing is said.
pub const STEP_MS_DEFAULT: u64 = 30_000;
/// Milliseconds that a person or an agent has for a step when nothing is said: 24 hours.
pub const ANSWER_MS_DEFAULT: u64 = 86_400_000;
/// Failed runs in a row on one target after which a fix is tripped there.
pub const TRIP_FAILURES: u32 = 3;
/// Milliseconds that a tripped target must be healthy before the fix may run there again: 1 hour.
pub const TRIP_MS: u64 = 3_600_000;
/// Alerts of one rule that are not over; more are counted in one of their own.
pub const ALERTS_PER_RULE_MAX: usize = 1_000;
/// Alerts kept after they are over, the latest.
pub const ALERTS_KEPT_MAX: usize = 1_000;
/// Silences in force.
pub const SILENCES_MAX: usize = 1_000;
/// Milliseconds of the longest silence: 30 days.
pub const SILENCE_MS_MAX: u64 = 30 * 86_400_000;
/// Messages kept in the inbox, the latest.
pub const INBOX_MAX: usize = 10_000;
/// Messages that wait for a sink.
pub const DELIVERIES_MAX: usize = 10_000;
/// Messages kept that no sink took, the latest.
pub const DEAD_LETTERS_MAX: usize = 1_000;
/// Milliseconds for which a message is tried again: 24 hours.
pub const DELIVERY_MS: u64 = 86_400_000;
