//! How everything goes on with a million jobs in one queue.

use std::io;
use std::time::{Duration, Instant};

use serde::Deserialize;
use tokio::task::JoinSet;

use crate::http::Connection;
use crate::load;
use crate::server::Server;

#[derive(Deserialize)]
struct Audit {
    ok: bool,
}

/// Enqueues `count` jobs into one queue, `load::JOB_BYTES` of payload each.
///
/// # Errors
/// When the server refuses them.
pub async fn fill(port: u16, queue: &'static str, count: usize) -> io::Result<()> {
    const BATCH: usize = 500;
    const CONNECTIONS: usize = 8;
    let mut tasks = JoinSet::new();
    for _ in 0..CONNECTIONS {
        tasks.spawn(async move {
            let mut connection = Connection::open(port).await?;
            let body = load::enqueue_body(queue, BATCH);
            for _ in 0..count / BATCH / CONNECTIONS {
                connection.post("/v1/jobs", &body).await?;
            }
            Ok::<(), io::Error>(())
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.map_err(io::Error::other)??;
    }
    Ok(())
}

/// Makes `count` queues with one job each, which is then ended, so that they are idle.
///
/// # Errors
/// When the server refuses something.
pub async fn idle_queues(port: u16, count: usize) -> io::Result<()> {
    let mut connection = Connection::open(port).await?;
    for from in (0..count).step_by(500) {
        let jobs: Vec<String> = (from..(from + 500).min(count))
            .map(|n| format!(r#"{{"queue":"idle-{n}","payload":0,"delay_ms":864000000}}"#))
            .collect();
        let body = format!(r#"{{"jobs":[{}]}}"#, jobs.join(","));
        connection.post("/v1/jobs", body.as_bytes()).await?;
    }
    Ok(())
}

/// What an audit took, and what it cost others.
#[derive(Clone, Copy, Debug)]
pub struct Audited {
    /// Seconds until the answer.
    pub seconds: f64,
    /// The longest that a read by somebody else took meanwhile, in milliseconds.
    pub pause_ms: f64,
}

/// Audits everything, while another connection reads as fast as it can.
///
/// # Errors
/// When the audit finds something, or does not end.
pub async fn audit(port: u16) -> io::Result<Audited> {
    let mut connection = Connection::open(port).await?;
    let mut other = Connection::open(port).await?;
    other.get("/v1/status").await?;
    let started = Instant::now();
    let audit = async {
        let answer = connection.get("/v1/audit").await?;
        let audit: Audit = serde_json::from_slice(answer)?;
        if !audit.ok {
            return Err(io::Error::other("the audit found mismatches"));
        }
        Ok(started.elapsed().as_secs_f64())
    };
    tokio::pin!(audit);
    let mut pause = Duration::ZERO;
    let seconds = loop {
        let asked = Instant::now();
        tokio::select! {
            biased;
            done = &mut audit => break done?,
            read = other.get("/v1/status") => { read?; pause = pause.max(asked.elapsed()); }
        }
    };
    Ok(Audited { seconds, pause_ms: pause.as_secs_f64() * 1e3 })
}

/// The longest that a durable enqueue took over `span` at a gentle pace, in milliseconds, and how
/// many snapshots were stored meanwhile.
///
/// # Errors
/// When the server refuses something.
pub async fn longest_commit(server: &Server, span: Duration) -> io::Result<(f64, usize)> {
    let mut connection = Connection::open(server.port).await?;
    let body = load::enqueue_body("gentle", 1);
    let before = server.snapshots();
    let started = Instant::now();
    let mut longest = Duration::ZERO;
    while started.elapsed() < span {
        let asked = Instant::now();
        connection.post("/v1/jobs", &body).await?;
        longest = longest.max(asked.elapsed());
    }
    Ok((longest.as_secs_f64() * 1e3, server.snapshots() - before))
}
