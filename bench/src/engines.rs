//! The same load on every engine, beside a table with a row for each job in the same database.

#[path = "../../crates/clawhold/tests/it/nats_server.rs"]
#[expect(dead_code, reason = "this uses a part of it")]
mod nats_server;
#[path = "../../crates/clawhold-log/tests/it/postgres_server.rs"]
#[expect(dead_code, reason = "this uses a part of it")]
mod postgres_server;

use std::error::Error;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::Deserialize;
use tokio::task::JoinSet;
use tokio_postgres::NoTls;

pub(crate) use self::nats_server::Nats;
pub(crate) use self::postgres_server::Server as Postgres;
use crate::http::Connection;
use crate::load;
use crate::server::Server;

/// Connections of a load.
const CONNECTIONS: usize = 16;

#[derive(Deserialize)]
struct Health {
    checks: Vec<Check>,
}

#[derive(Deserialize)]
struct Check {
    name: String,
    detail: String,
}

/// Runs full cycles in batches against a table with a row for each job, claimed with FOR UPDATE
/// SKIP LOCKED; returns the jobs that went the whole way in a second.
///
/// # Errors
/// When the database refuses something.
pub(crate) async fn rows(
    postgres: &Postgres,
    batch: i64,
    span: Duration,
) -> Result<f64, Box<dyn Error>> {
    let url = postgres.url("rows").replace("?schema=rows", "");
    let (client, connection) = tokio_postgres::connect(&url, NoTls).await?;
    tokio::spawn(connection);
    client
        .batch_execute(
            "DROP TABLE IF EXISTS jobs;
             CREATE TABLE jobs (
                 id bigserial PRIMARY KEY, queue text NOT NULL, state smallint NOT NULL DEFAULT 0,
                 payload jsonb NOT NULL, claimed_by text, claimed_at timestamptz,
                 completed_at timestamptz);
             CREATE INDEX jobs_ready ON jobs (queue, id) WHERE state = 0;",
        )
        .await?;
    let (mut tasks, started) = (JoinSet::new(), Instant::now());
    for n in 0..CONNECTIONS {
        let url = url.clone();
        tasks.spawn(row_cycles(url, format!("q{n}"), batch, started + span));
    }
    let mut jobs = 0;
    while let Some(done) = tasks.join_next().await {
        jobs += done??;
    }
    Ok(jobs as f64 / started.elapsed().as_secs_f64())
}

async fn row_cycles(
    url: String,
    queue: String,
    batch: i64,
    until: Instant,
) -> Result<u64, tokio_postgres::Error> {
    let (client, connection) = tokio_postgres::connect(&url, NoTls).await?;
    tokio::spawn(connection);
    let enqueue = client
        .prepare(
            "INSERT INTO jobs (queue, payload)
             SELECT $1, payload::jsonb FROM unnest($2::text[]) payload",
        )
        .await?;
    let claim = client
        .prepare(
            "UPDATE jobs SET state = 1, claimed_by = $1, claimed_at = now() WHERE id IN (
                 SELECT id FROM jobs WHERE queue = $1 AND state = 0 ORDER BY id LIMIT $2
                 FOR UPDATE SKIP LOCKED)
             RETURNING id, payload::text",
        )
        .await?;
    let settle = client
        .prepare("UPDATE jobs SET state = 2, completed_at = now() WHERE id = ANY($1)")
        .await?;
    let text = "x".repeat(load::PAYLOAD_BYTES - 20);
    let payloads: Vec<String> =
        (0..batch).map(|n| format!(r#"{{"n":{n},"text":"{text}"}}"#)).collect();
    let mut jobs = 0;
    while Instant::now() < until {
        client.execute(&enqueue, &[&queue, &payloads]).await?;
        let claimed = client.query(&claim, &[&queue, &batch]).await?;
        let ids: Vec<i64> = claimed.iter().map(|row| row.get(0)).collect();
        jobs += client.execute(&settle, &[&ids]).await?;
    }
    Ok(jobs)
}

/// Samples, under full load for `span`, how long a standby takes until it has applied what the
/// active server had applied, in microseconds.
///
/// # Errors
/// When a server does not answer.
pub async fn lags(active: &Server, standby: &Server, span: Duration) -> io::Result<Vec<u32>> {
    let over = Arc::new(AtomicBool::new(false));
    let sampled = tokio::spawn({
        let (over, ports) = (Arc::clone(&over), (active.port, standby.port));
        async move {
            let mut leads = Connection::open(ports.0).await?;
            let mut follows = Connection::open(ports.1).await?;
            let mut micros = Vec::new();
            while !over.load(Ordering::Relaxed) {
                let target = position(&mut leads).await?;
                let since = Instant::now();
                while position(&mut follows).await? < target {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
                micros.push(u32::try_from(since.elapsed().as_micros()).unwrap_or(u32::MAX));
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            Ok::<_, io::Error>(micros)
        }
    });
    load::cycles(active.port, CONNECTIONS, 100, span).await?;
    over.store(true, Ordering::Relaxed);
    sampled.await.map_err(io::Error::other)?
}

/// Returns the last entry that a server has applied.
async fn position(connection: &mut Connection) -> io::Result<u64> {
    let health: Health = serde_json::from_slice(connection.get("/readyz?verbose=1").await?)?;
    let log = health.checks.iter().find(|check| check.name == "log");
    let detail = log.map_or("", |check| check.detail.as_str());
    let digits = detail.split(" at ").nth(1).or(detail.split("at ").nth(1)).unwrap_or("");
    let digits: String = digits.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().map_err(io::Error::other)
}
