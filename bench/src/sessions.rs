//! Worker sessions through the client library, and what it takes to leave with a thousand jobs.

use std::error::Error;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use clawhold_client::api::Json;
use clawhold_client::api::job::{NewJob, Outcome};
use clawhold_client::{Client, Job, Producer, Worker};
use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use crate::growth;
use crate::http::Connection;
use crate::load;
use crate::server::Server;

type Failed = Box<dyn Error + Send + Sync>;

/// Jobs whose way is not timed, before those whose way is.
const WARM_UP: usize = 100;

/// Measures all of it: jobs a second, seconds to leave, and what each start took in microseconds.
///
/// # Errors
/// When the server refuses something.
pub async fn all(
    program: &Path,
    server: &Server,
    span: Duration,
) -> Result<(f64, f64, Vec<u32>), Failed> {
    let cycled = cycles(server, 32, span).await?;
    let left = leaving(program, server, 1_000).await?;
    Ok((cycled, left, starts(server, 1_000).await?))
}

/// Lets `in_flight` tasks enqueue one job after the other, while one worker does as many at once;
/// returns the jobs that were enqueued, claimed and completed in a second, each step durable.
///
/// # Errors
/// When the server refuses something.
async fn cycles(server: &Server, in_flight: u64, span: Duration) -> Result<f64, Failed> {
    let client = Client::connect(&[server.url()], None)?;
    let done = Arc::new(AtomicU64::new(0));
    let worker = {
        let done = Arc::clone(&done);
        let builder = Worker::builder(&client, ["cycles"]);
        builder.concurrency(in_flight).prefetch(in_flight).handler(move |_| {
            done.fetch_add(1, Ordering::Relaxed);
            std::future::ready(Outcome::Completed { result: None })
        })?
    };
    let (stop, stopped) = oneshot::channel::<()>();
    let run = tokio::spawn(async move { worker.run(async { drop(stopped.await) }).await });
    let (producer, begun) = (Producer::new(&client), Instant::now());
    let mut tasks = JoinSet::new();
    for _ in 0..in_flight {
        let producer = producer.clone();
        tasks.spawn(async move {
            let mut count = 0_u64;
            while begun.elapsed() < span {
                producer.enqueue(NewJob::new("cycles", Json::null())).await?;
                count += 1;
            }
            Ok::<_, Failed>(count)
        });
    }
    let mut enqueued = 0;
    while let Some(count) = tasks.join_next().await {
        enqueued += count??;
    }
    while done.load(Ordering::Relaxed) < enqueued {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let seconds = begun.elapsed().as_secs_f64();
    drop(stop);
    Ok(run.await??.completed as f64 / seconds)
}

/// Enqueues one job at a time for a worker that waits; returns how long each took from before the
/// enqueue until its handler began, in microseconds.
///
/// # Errors
/// When the server refuses something.
async fn starts(server: &Server, samples: usize) -> Result<Vec<u32>, Failed> {
    let client = Client::connect(&[server.url()], None)?;
    let (started, mut begins) = mpsc::channel(1);
    let worker = Worker::builder(&client, ["idle"]).handler(move |_: Job| {
        let (at, started) = (Instant::now(), started.clone());
        async move {
            let _told = started.send(at).await.is_ok();
            Outcome::Completed { result: None }
        }
    })?;
    let (stop, stopped) = oneshot::channel::<()>();
    let run = tokio::spawn(async move { worker.run(async { drop(stopped.await) }).await });
    let (producer, mut micros) = (Producer::new(&client), Vec::new());
    for number in 0..samples + WARM_UP {
        let sent = Instant::now();
        producer.enqueue_payload("idle", Json::null()).await?;
        let began = begins.recv().await.ok_or("the worker ended")?;
        if number >= WARM_UP {
            let took = began.saturating_duration_since(sent).as_micros();
            micros.push(u32::try_from(took).unwrap_or(u32::MAX));
        }
        // Until the worker waits again.
        tokio::time::sleep(Duration::from_millis(3)).await;
    }
    drop(stop);
    run.await??;
    Ok(micros)
}

#[derive(Deserialize)]
struct Claimed {
    jobs: Vec<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
struct Queue {
    jobs: Counts,
}

#[derive(Deserialize)]
struct Counts {
    running: usize,
}

/// Asks a worker process that holds `count` jobs to end; returns the seconds until another session
/// holds all of them and the audit found each with one owner.
///
/// # Errors
/// When that takes more than a minute, or the audit finds something.
async fn leaving(program: &Path, server: &Server, count: usize) -> Result<f64, Failed> {
    const RUNNING: usize = 20;
    let mut connection = Connection::open(server.port).await?;
    connection.post("/v1/jobs", &load::enqueue_body("left", count)).await?;
    let mut worker = Command::new(program)
        .args(["--server", &server.url(), "work", "left", "--drain-deadline", "0s"])
        .args(["--concurrency", &RUNNING.to_string()])
        .args(["--prefetch", &(count - RUNNING).to_string(), "--", "sleep", "1000"])
        .env("HOME", server.folder())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let (began, patience) = (Instant::now(), Duration::from_secs(60));
    loop {
        let queue: Queue = serde_json::from_slice(connection.get("/v1/queues/left").await?)?;
        if queue.jobs.running == count {
            break;
        }
        if began.elapsed() > patience {
            return Err(format!("the worker holds {} of {count}", queue.jobs.running).into());
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let body = r#"{"label":"next","queues":["left"],"slots":10000,"ttl_ms":600000}"#;
    let session = load::open_session(&mut connection, body).await?;
    let claim =
        format!(r#"{{"session":"{session}","queues":["left"],"max":1000,"wait_ms":10000}}"#);
    let (asked, mut taken) = (Instant::now(), 0);
    kill_process(Pid::from_child(&worker), Signal::TERM)?;
    while taken < count {
        let answer = connection.post("/v1/jobs/claim", claim.as_bytes()).await?;
        taken += serde_json::from_slice::<Claimed>(answer)?.jobs.len();
        if asked.elapsed() > patience {
            return Err(format!("{taken} of {count} jobs came back").into());
        }
    }
    growth::audit(server.port).await?;
    let seconds = asked.elapsed().as_secs_f64();
    worker.wait()?;
    Ok(seconds)
}
