//! Every limit of the log in one place.
//!
//! They sit below what any engine can take, so that a record which one engine accepts is never
//! refused by another.

use std::time::Duration;

/// The largest body of one record; JetStream's default message limit is 1 MiB.
pub const RECORD_BODY_BYTES_MAX: usize = 768 * 1024;

/// The largest piece of a snapshot that is stored as one.
pub const SNAPSHOT_CHUNK_BYTES_MAX: usize = 256 * 1024;

/// How many whole snapshots are kept; a damaged newest one falls back to the one before.
pub const SNAPSHOT_GENERATIONS: usize = 2;

/// How many records one call of [`trim`](crate::Log::trim) removes at most: about 1 ms of
/// deletes on SQLite, so that appends are not held up.
pub const TRIM_RECORDS_MAX: u64 = 100;

/// How many chunks of a retired snapshot are deleted in one transaction.
pub const RETIRE_CHUNKS_MAX: u32 = 16;

/// How often a follower looks at a SQLite file; one look costs 3 to 6 µs.
pub const FOLLOW_POLL: Duration = Duration::from_millis(1);

/// How long a writer waits before it asks again for SQLite's write lock. Shorter than an
/// append, so that a takeover gets in between the appends of a busy writer.
pub const LOCK_POLL: Duration = Duration::from_micros(150);

/// How long a writer asks for SQLite's write lock before it reports the log as busy.
pub const LOCK_WAIT_MAX: Duration = Duration::from_secs(3);

/// How long opening a log is tried again while another process is setting it up.
pub const OPEN_WAIT_MAX: Duration = Duration::from_secs(5);

/// How many pages SQLite's write-ahead file collects before they are moved into the database.
/// Larger values only buy longer pauses.
pub const CHECKPOINT_PAGES: u32 = 1000;

/// How long PostgreSQL may take to accept a connection.
pub const CONNECT_WAIT_MAX: Duration = Duration::from_secs(3);

/// How long PostgreSQL may take to answer before the outcome counts as unknown. The server itself
/// gives up a statement after as long.
pub const ANSWER_WAIT_MAX: Duration = Duration::from_secs(10);

/// How long the network may keep quiet about what was sent to PostgreSQL before the connection
/// counts as lost; as long as a server's usual hold on the log.
pub const NETWORK_SILENCE_MAX: Duration = Duration::from_secs(3);

/// How often a follower looks at PostgreSQL by itself when no notification comes.
pub const FOLLOW_LOOK: Duration = Duration::from_millis(50);

/// How often it looks while records keep coming, and how often a writer notifies at most: each
/// notification takes a lock of the whole PostgreSQL server.
pub const TELL_EVERY: Duration = Duration::from_millis(5);

/// How often it is worth asking PostgreSQL for the presence lock; one asking is a round trip.
pub const PRESENCE_EVERY: Duration = Duration::from_millis(50);

/// How many chunks of a snapshot PostgreSQL sends at once.
pub const SNAPSHOT_PAGE_CHUNKS: i64 = 16;

/// How long an answer of a NATS server is waited for; then an append's outcome is unknown.
/// Shorter than an active server's hold on the log.
pub const JETSTREAM_ANSWER_WAIT_MAX: Duration = Duration::from_secs(2);

/// How often a connection to NATS is proven alive; two that stay unanswered end it.
pub const JETSTREAM_PING: Duration = Duration::from_secs(1);

/// The longest pause before a lost connection to NATS is tried again.
pub const JETSTREAM_RECONNECT_PAUSE_MAX: Duration = Duration::from_millis(200);

/// How long a follower's consumer outlives the follower.
pub const JETSTREAM_CONSUMER_IDLE_MAX: Duration = Duration::from_secs(30);

/// How many records a follower's consumer may send ahead.
pub const JETSTREAM_PULL_MESSAGES: usize = 64;

/// How long a follower's request for records stands.
pub const JETSTREAM_PULL_TIME: Duration = Duration::from_secs(20);

/// After how much silence a follower asks where the log ends.
pub const JETSTREAM_LOOK: Duration = Duration::from_secs(1);

/// How often a follower that lost its consumer asks where the log ends.
pub const JETSTREAM_POLL: Duration = Duration::from_millis(50);

/// How long a reader waits for its consumer before it asks for single records.
pub const JETSTREAM_FETCH_WAIT_MAX: Duration = Duration::from_millis(500);

/// Up to how many records are asked for one by one; more make a consumer worth it.
pub const JETSTREAM_GETS_MAX: u64 = 4;

/// How long a writer waits before it looks at what it was refused for.
pub const JETSTREAM_LOOK_AGAIN: Duration = Duration::from_millis(2);

/// How long a piece of a snapshot is sent again while nobody says whether it came; longer than a
/// cluster takes to choose another leader.
pub const JETSTREAM_PIECE_WAIT_MAX: Duration = Duration::from_secs(30);

/// How long a NATS server may show a log that ends before what was seen in it, until the records
/// count as lost.
pub const JETSTREAM_SHORTER_MAX: Duration = Duration::from_secs(30);
