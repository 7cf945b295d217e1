//! Load over HTTP: producers and workers on their own connections.

use std::io;
use std::time::{Duration, Instant};

use serde::Deserialize;
use tokio::task::JoinSet;

use crate::http::Connection;

/// What one run of a load gave.
#[derive(Clone, Debug, Default)]
pub struct Ran {
    /// Jobs that went the whole way.
    pub jobs: u64,
    /// Requests that were answered.
    pub requests: u64,
    /// How long it took.
    pub seconds: f64,
    /// How long each request took, in microseconds, by kind: enqueue, claim, settle.
    pub micros: [Vec<u32>; 3],
}

#[derive(Deserialize)]
struct Claimed {
    jobs: Vec<ClaimedJob>,
}

#[derive(Deserialize)]
struct ClaimedJob {
    id: u64,
    claim: u64,
}

#[derive(Deserialize)]
struct Opened {
    session: String,
}

/// Opens a session as `body` asks for it, and returns its key.
///
/// # Errors
/// When the server refuses it.
pub async fn open_session(connection: &mut Connection, body: &str) -> io::Result<String> {
    let answer = connection.post("/v1/sessions", body.as_bytes()).await?;
    let opened: Opened = serde_json::from_slice(answer)?;
    Ok(opened.session)
}

async fn open_worker(connection: &mut Connection, name: &str, queue: &str) -> io::Result<String> {
    let body =
        format!(r#"{{"label":"{name}","queues":["{queue}"],"slots":10000,"ttl_ms":600000}}"#);
    open_session(connection, &body).await
}

/// Bytes of payload of one job.
pub const PAYLOAD_BYTES: usize = 200;

/// Returns the body that enqueues `count` jobs with 200 bytes of payload each.
#[must_use]
pub fn enqueue_body(queue: &str, count: usize) -> Vec<u8> {
    let payload = "x".repeat(PAYLOAD_BYTES - 20);
    let jobs: Vec<String> = (0..count)
        .map(|n| format!(r#"{{"queue":"{queue}","payload":{{"n":{n},"text":"{payload}"}}}}"#))
        .collect();
    format!(r#"{{"jobs":[{}]}}"#, jobs.join(",")).into_bytes()
}

/// Enqueues single jobs for `span`, at `rate` a second in all on `connections`; returns how long
/// each took, in microseconds.
///
/// # Errors
/// When the server refuses one.
pub async fn paced(
    port: u16,
    connections: usize,
    rate: f64,
    span: Duration,
) -> io::Result<Vec<u32>> {
    let mut tasks = JoinSet::new();
    let started = Instant::now();
    let every = Duration::from_secs_f64(connections as f64 / rate);
    for n in 0..connections {
        tasks.spawn(async move {
            let mut connection = Connection::open(port).await?;
            let body = enqueue_body("paced", 1);
            let mut due = started + every.mul_f64(n as f64 / connections as f64);
            let mut micros = Vec::new();
            while due.duration_since(started) < span {
                tokio::time::sleep_until(due.into()).await;
                let asked = Instant::now();
                connection.post("/v1/jobs", &body).await?;
                micros.push(u32::try_from(asked.elapsed().as_micros()).unwrap_or(u32::MAX));
                due = (due + every).max(Instant::now());
            }
            Ok::<_, io::Error>(micros)
        });
    }
    let mut all = Vec::new();
    while let Some(done) = tasks.join_next().await {
        all.append(&mut done.map_err(io::Error::other)??);
    }
    Ok(all)
}

/// Enqueues one job after another while a worker waits for each on its own connection; returns how
/// long each took from sending the job until the worker had it, in microseconds.
///
/// # Errors
/// When the server refuses something.
pub async fn pushes(port: u16, rounds: usize) -> io::Result<Vec<u32>> {
    let mut producer = Connection::open(port).await?;
    let mut worker = Connection::open(port).await?;
    let session = open_worker(&mut worker, "pushed", "pushed").await?;
    let claim = format!(r#"{{"session":"{session}","queues":["pushed"],"max":1,"wait_ms":30000}}"#);
    let body = enqueue_body("pushed", 1);
    let mut micros = Vec::with_capacity(rounds);
    let mut settle = String::new();
    for _ in 0..rounds {
        let claim = claim.clone();
        let waiter = tokio::spawn(async move {
            let answer = worker.post("/v1/jobs/claim", claim.as_bytes()).await?;
            let got = Instant::now();
            let claimed: Claimed = serde_json::from_slice(answer)?;
            Ok::<_, io::Error>((got, claimed, worker))
        });
        tokio::time::sleep(Duration::from_millis(5)).await;
        let sent = Instant::now();
        producer.post("/v1/jobs", &body).await?;
        let (got, claimed, back) = waiter.await.map_err(io::Error::other)??;
        worker = back;
        micros.push(u32::try_from(got.duration_since(sent).as_micros()).unwrap_or(u32::MAX));
        settle_body(&mut settle, &session, &claimed);
        worker.post("/v1/jobs/settle", settle.as_bytes()).await?;
    }
    Ok(micros)
}

/// Runs whole cycles on `connections` for `span`: each enqueues a batch into a queue of its own,
/// claims it and completes it, again and again.
///
/// # Errors
/// When the server refuses something.
pub async fn cycles(
    port: u16,
    connections: usize,
    batch: usize,
    span: Duration,
) -> io::Result<Ran> {
    cycles_on(port, (0..connections).map(|n| format!("q{n}")), batch, span).await
}

/// Runs whole cycles on `connections` for `span`, all in one queue.
///
/// # Errors
/// When the server refuses something.
pub async fn cycles_in(
    port: u16,
    queue: &str,
    connections: usize,
    batch: usize,
    span: Duration,
) -> io::Result<Ran> {
    cycles_on(port, (0..connections).map(|_| queue.to_owned()), batch, span).await
}

async fn cycles_on(
    port: u16,
    queues: impl Iterator<Item = String>,
    batch: usize,
    span: Duration,
) -> io::Result<Ran> {
    let mut tasks = JoinSet::new();
    let started = Instant::now();
    for queue in queues {
        tasks.spawn(cycle(port, queue, batch, started + span));
    }
    let mut ran = Ran::default();
    while let Some(done) = tasks.join_next().await {
        let one = done.map_err(io::Error::other)??;
        ran.jobs += one.jobs;
        ran.requests += one.requests;
        for (all, mut more) in ran.micros.iter_mut().zip(one.micros) {
            all.append(&mut more);
        }
    }
    ran.seconds = started.elapsed().as_secs_f64();
    Ok(ran)
}

async fn cycle(port: u16, queue: String, batch: usize, until: Instant) -> io::Result<Ran> {
    let mut connection = Connection::open(port).await?;
    let session = open_worker(&mut connection, &queue, &queue).await?;
    let enqueue = enqueue_body(&queue, batch);
    let claim = format!(r#"{{"session":"{session}","queues":["{queue}"],"max":{batch}}}"#);
    let mut ran = Ran::default();
    let mut settle = String::new();
    while Instant::now() < until {
        let t0 = Instant::now();
        connection.post("/v1/jobs", &enqueue).await?;
        let t1 = Instant::now();
        let answer = connection.post("/v1/jobs/claim", claim.as_bytes()).await?;
        let claimed: Claimed = serde_json::from_slice(answer)?;
        let t2 = Instant::now();
        settle_body(&mut settle, &session, &claimed);
        connection.post("/v1/jobs/settle", settle.as_bytes()).await?;
        let t3 = Instant::now();
        ran.jobs += claimed.jobs.len() as u64;
        ran.requests += 3;
        for (at, (from, to)) in [(t0, t1), (t1, t2), (t2, t3)].into_iter().enumerate() {
            ran.micros[at].push(to.duration_since(from).as_micros() as u32);
        }
    }
    let close = format!(r#"{{"session":"{session}"}}"#);
    connection.post("/v1/sessions/close", close.as_bytes()).await?;
    Ok(ran)
}

fn settle_body(body: &mut String, session: &str, claimed: &Claimed) {
    use std::fmt::Write as _;
    body.clear();
    let _ = write!(body, r#"{{"session":"{session}","settlements":["#);
    for (n, job) in claimed.jobs.iter().enumerate() {
        let comma = if n == 0 { "" } else { "," };
        let _ = write!(
            body,
            r#"{comma}{{"job":{},"claim":{},"outcome":{{"completed":{{}}}}}}"#,
            job.id, job.claim
        );
    }
    body.push_str("]}");
}

/// Returns the value below which `share` (0 to 1) of the values lie.
#[must_use]
pub fn quantile(values: &mut [u32], share: f64) -> u32 {
    if values.is_empty() {
        return 0;
    }
    values.sort_unstable();
    values[((values.len() - 1) as f64 * share) as usize]
}
