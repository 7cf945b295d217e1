//! Every path of the API: the templates that a router takes, and builders that fill them in.

pub mod automation;

/// The process runs.
pub const LIVEZ: &str = "/livez";
/// The server can take requests.
pub const READYZ: &str = "/readyz";
/// The same as [`READYZ`], for those who ask by this name.
pub const HEALTHZ: &str = "/healthz";
/// This server is the active one.
pub const LEADERZ: &str = "/leaderz";
/// Metrics in the Prometheus text format.
pub const METRICS: &str = "/metrics";
/// The OpenAPI document.
pub const OPENAPI: &str = "/openapi.json";
/// What an error code means.
pub const PROBLEM: &str = "/problems/{code}";
/// Every limit.
pub const LIMITS: &str = "/v1/limits";
/// The server and what it holds, in numbers.
pub const STATUS: &str = "/v1/status";
/// The server that answers, by itself.
pub const SERVER: &str = "/v1/server";
/// The hash of the state of the server that answers.
pub const HASH: &str = "/v1/hash";
/// Changes, as they happen.
pub const EVENTS: &str = "/v1/events";
/// Many calls over one WebSocket.
pub const SOCKET: &str = "/v1/socket";
/// Sessions.
pub const SESSIONS: &str = "/v1/sessions";
/// A beat of a session.
pub const SESSION_BEAT: &str = "/v1/sessions/beat";
/// The end of a session.
pub const SESSION_CLOSE: &str = "/v1/sessions/close";
/// Workers.
pub const WORKERS: &str = "/v1/workers";
/// One worker.
pub const WORKER: &str = "/v1/workers/{worker}";
/// Sends a worker home.
pub const WORKER_DRAIN: &str = "/v1/workers/{worker}/drain";
/// Takes a drain back.
pub const WORKER_RESUME: &str = "/v1/workers/{worker}/resume";
/// Roles.
pub const ROLES: &str = "/v1/roles";
/// One role.
pub const ROLE: &str = "/v1/roles/{role}";
/// What became of a role.
pub const ROLE_HISTORY: &str = "/v1/roles/{role}/history";
/// Asks for a role.
pub const ROLE_ACQUIRE: &str = "/v1/roles/{role}/acquire";
/// Stops waiting for a role.
pub const ROLE_WITHDRAW: &str = "/v1/roles/{role}/withdraw";
/// Gives a role up.
pub const ROLE_RELEASE: &str = "/v1/roles/{role}/release";
/// Gives a role to a candidate.
pub const ROLE_HAND_OVER: &str = "/v1/roles/{role}/hand-over";
/// Asks the holder to hand over.
pub const ROLE_ASK_HAND_OVER: &str = "/v1/roles/{role}/ask-hand-over";
/// Queues.
pub const QUEUES: &str = "/v1/queues";
/// One queue.
pub const QUEUE: &str = "/v1/queues/{queue}";
/// Stops handing out jobs.
pub const QUEUE_PAUSE: &str = "/v1/queues/{queue}/pause";
/// Hands out jobs again.
pub const QUEUE_RESUME: &str = "/v1/queues/{queue}/resume";
/// Closes the gate of a rebalance.
pub const QUEUE_GATE: &str = "/v1/queues/{queue}/gate";
/// Opens the gate of a rebalance.
pub const QUEUE_ADMIT: &str = "/v1/queues/{queue}/admit";
/// The ownership audit.
pub const AUDIT: &str = "/v1/audit";
/// Jobs.
pub const JOBS: &str = "/v1/jobs";
/// One job.
pub const JOB: &str = "/v1/jobs/{job}";
/// Asks for jobs.
pub const JOB_CLAIM: &str = "/v1/jobs/claim";
/// Ends claims.
pub const JOB_SETTLE: &str = "/v1/jobs/settle";
/// Says that a handler moves.
pub const JOB_PROGRESS: &str = "/v1/jobs/progress";
/// Keeps a checkpoint.
pub const JOB_CHECKPOINT: &str = "/v1/jobs/checkpoint";
/// Cancels jobs.
pub const JOB_CANCEL: &str = "/v1/jobs/cancel";
/// Puts ended jobs back.
pub const JOB_RETRY: &str = "/v1/jobs/retry";
/// Takes running jobs from their holders.
pub const JOB_HAND_BACK: &str = "/v1/jobs/hand-back";
/// Streams.
pub const STREAMS: &str = "/v1/streams";
/// One stream.
pub const STREAM: &str = "/v1/streams/{stream}";
/// The events of a stream.
pub const STREAM_EVENTS: &str = "/v1/streams/{stream}/events";
/// The positions recorded in a stream.
pub const STREAM_POSITIONS: &str = "/v1/streams/{stream}/positions";
/// The atomic step of a coordinator.
pub const COMMIT: &str = "/v1/commit";

/// Every path but those of automation, which are in [`automation::all`].
pub const ALL: &[&str] = &[
    LIVEZ,
    READYZ,
    HEALTHZ,
    LEADERZ,
    METRICS,
    OPENAPI,
    PROBLEM,
    LIMITS,
    STATUS,
    SERVER,
    HASH,
    EVENTS,
    SOCKET,
    SESSIONS,
    SESSION_BEAT,
    SESSION_CLOSE,
    WORKERS,
    WORKER,
    WORKER_DRAIN,
    WORKER_RESUME,
    ROLES,
    ROLE,
    ROLE_HISTORY,
    ROLE_ACQUIRE,
    ROLE_WITHDRAW,
    ROLE_RELEASE,
    ROLE_HAND_OVER,
    ROLE_ASK_HAND_OVER,
    QUEUES,
    QUEUE,
    QUEUE_PAUSE,
    QUEUE_RESUME,
    QUEUE_GATE,
    QUEUE_ADMIT,
    AUDIT,
    JOBS,
    JOB,
    JOB_CLAIM,
    JOB_SETTLE,
    JOB_PROGRESS,
    JOB_CHECKPOINT,
    JOB_CANCEL,
    JOB_RETRY,
    JOB_HAND_BACK,
    STREAMS,
    STREAM,
    STREAM_EVENTS,
    STREAM_POSITIONS,
    COMMIT,
];

/// The header that names a request, so that a retry gets the first answer: 1 to 64 visible ASCII
/// characters.
pub const IDEMPOTENCY_KEY: &str = "idempotency-key";
/// The header of a reply to a write: the position of its entry in the log.
pub const POSITION: &str = "clawhold-position";
/// The header of a reply that repeats the answer to an earlier request: `true`.
pub const REPLAYED: &str = "idempotency-replayed";
/// The media type of errors.
pub const PROBLEM_JSON: &str = "application/problem+json";

/// Returns `template` with its one parameter replaced by `value`, escaped.
///
/// `fill(ROLE_ACQUIRE, "indexer")` is `/v1/roles/indexer/acquire`.
#[must_use]
pub fn fill(template: &str, value: &str) -> String {
    let (Some(open), Some(close)) = (template.find('{'), template.find('}')) else {
        return template.to_owned();
    };
    format!("{}{}{}", &template[..open], escape(value), &template[close + 1..])
}

/// Returns `text` with everything but unreserved characters percent-encoded, for a path or a
/// query. Text of dots only, which a URL would read as a step in the path, is encoded as well.
#[must_use]
pub fn escape(text: &str) -> String {
    let only_dots = text.bytes().all(|byte| byte == b'.');
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        let dot_counts = byte == b'.' && !only_dots;
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'~') || dot_counts {
            escaped.push(char::from(byte));
        } else {
            escaped.push('%');
            escaped.push(char::from(HEX[usize::from(byte >> 4)]));
            escaped.push(char::from(HEX[usize::from(byte & 15)]));
        }
    }
    escaped
}

const HEX: &[u8; 16] = b"0123456789ABCDEF";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_filled_with_an_escaped_value() {
        assert_eq!(fill(ROLE_ACQUIRE, "indexer"), "/v1/roles/indexer/acquire");
        assert_eq!(fill(WORKER, "a/b c"), "/v1/workers/a%2Fb%20c");
        assert_eq!(fill(WORKER, ".."), "/v1/workers/%2E%2E");
        assert_eq!(fill(JOBS, "x"), JOBS);
    }

    #[test]
    fn every_path_is_listed_once() {
        let all: Vec<&str> = ALL.iter().copied().chain(automation::all()).collect();
        let mut sorted = all.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), all.len());
    }
}
