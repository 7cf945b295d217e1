//! Measures a worker session against a server that runs: full cycles with many jobs under way, and
//! the time from an idle enqueue to the start of its handler.
//!
//! `cargo run --release -p clawhold-client --example session_speed -- URL [SECONDS] [WHAT…]`
//!
//! Each figure is printed as one line of JSON. `WHAT` is any of `batched`, `batched-http`,
//! `single`, `single-http`, `idle`, `idle-http`; all of them when it is absent.
#![expect(clippy::print_stdout, reason = "figures are what this program is for")]

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use clawhold_client::api::Json;
use clawhold_client::api::job::{Claim, Enqueue, NewJob, Outcome, Settle, Settlement};
use clawhold_client::{Client, Job, Producer, Session, SessionOptions, Worker};
use serde_json::json;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

type Failed = Box<dyn Error + Send + Sync>;

/// Calls under way at once.
const IN_FLIGHT: u64 = 32;
/// Jobs whose way to the handler is timed.
const SAMPLES: usize = 2_000;
/// Jobs whose way is not timed, before those.
const WARM_UP: usize = 100;

const ALL: [&str; 6] = ["batched", "batched-http", "single", "single-http", "idle", "idle-http"];

#[tokio::main]
async fn main() -> Result<(), Failed> {
    let mut arguments = std::env::args().skip(1);
    let url = arguments.next().ok_or("give the URL of a server: http://127.0.0.1:7717")?;
    let seconds = arguments.next().map_or(Ok(5), |text| text.parse())?;
    let mut wanted: Vec<String> = arguments.collect();
    if wanted.is_empty() {
        wanted = ALL.map(str::to_owned).into();
    }
    for what in wanted {
        let client = Client::connect(&[&url], None)?;
        let client =
            if what.ends_with("-http") { client.over_http() } else { client.over_socket() };
        // A queue of its own, so that nothing is left over from the run before.
        let queue = format!("speed-{what}-{}", std::process::id());
        let time = Duration::from_secs(seconds);
        let figures = match what.trim_end_matches("-http") {
            "batched" => batched(&client, &queue, time).await?,
            "single" => single(&client, &queue, time).await?,
            "idle" => idle(&client, &queue).await?,
            _ => return Err(format!("{what:?} is none of {ALL:?}").into()),
        };
        println!("{}", json!({"what": what, "figures": figures}));
    }
    Ok(())
}

/// Many tasks enqueue one job each, a worker does them: enqueue, claim and complete, each durable.
async fn batched(
    client: &Client,
    queue: &str,
    time: Duration,
) -> Result<serde_json::Value, Failed> {
    let done = Arc::new(AtomicU64::new(0));
    let worker = {
        let done = done.clone();
        let builder = Worker::builder(client, [queue]).concurrency(IN_FLIGHT).prefetch(IN_FLIGHT);
        builder.handler(move |_| {
            done.fetch_add(1, Ordering::Relaxed);
            std::future::ready(Outcome::Completed { result: None })
        })?
    };
    let (stop, stopped) = oneshot::channel::<()>();
    let run = tokio::spawn(async move { worker.run(async { drop(stopped.await) }).await });
    let producer = Producer::new(client);
    let end = Instant::now() + time;
    let begun = Instant::now();
    let mut tasks = JoinSet::new();
    for _ in 0..IN_FLIGHT {
        let (producer, queue) = (producer.clone(), queue.to_owned());
        tasks.spawn(async move {
            let mut count = 0_u64;
            while Instant::now() < end {
                producer.enqueue(NewJob::new(queue.as_str(), Json::null())).await?;
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
    let took = begun.elapsed();
    let has_socket = client.has_socket();
    drop(stop);
    let summary = run.await??;
    Ok(json!({"cycles": summary.completed, "cycles_per_s": per_second(summary.completed, took),
              "in_flight": IN_FLIGHT, "seconds": took.as_secs_f64(), "socket": has_socket}))
}

/// Many tasks each make the three calls of a cycle by themselves, one job at a time.
async fn single(client: &Client, queue: &str, time: Duration) -> Result<serde_json::Value, Failed> {
    let options = SessionOptions {
        queues: vec![queue.to_owned()],
        slots: Some(IN_FLIGHT),
        ..SessionOptions::labelled("speed")
    };
    let session = Session::open(client, options).await?;
    let end = Instant::now() + time;
    let begun = Instant::now();
    let mut tasks = JoinSet::new();
    for _ in 0..IN_FLIGHT {
        let (session, queue) = (session.clone(), queue.to_owned());
        tasks.spawn(async move {
            let client = session.client();
            let mut count = 0_u64;
            while Instant::now() < end {
                let jobs = vec![NewJob::new(queue.as_str(), Json::null())];
                client.enqueue(&Enqueue { jobs }).await?;
                let (session, queues) = (session.key(), vec![queue.clone()]);
                let claim = Claim { session, queues, max: Some(1), wait_ms: Some(1_000) };
                let claimed = client.claim(&claim).await?.reply.jobs;
                let completed = |job: &clawhold_client::api::job::ClaimedJob| Settlement {
                    job: job.id,
                    claim: job.claim,
                    outcome: Outcome::Completed { result: None },
                };
                let settlements: Vec<_> = claimed.iter().map(completed).collect();
                count += settlements.len() as u64;
                let settle = Settle { session: claim.session, settlements, next: None };
                client.settle(&settle).await?;
            }
            Ok::<_, Failed>(count)
        });
    }
    let mut cycles = 0;
    while let Some(count) = tasks.join_next().await {
        cycles += count??;
    }
    let took = begun.elapsed();
    let has_socket = client.has_socket();
    session.close().await;
    Ok(json!({"cycles": cycles, "cycles_per_s": per_second(cycles, took),
              "calls_per_s": per_second(cycles * 3, took), "in_flight": IN_FLIGHT,
              "seconds": took.as_secs_f64(), "socket": has_socket}))
}

/// One job at a time for a worker that waits: from before the enqueue to the handler's start.
async fn idle(client: &Client, queue: &str) -> Result<serde_json::Value, Failed> {
    let (started, mut starts) = mpsc::channel(1);
    let worker = Worker::builder(client, [queue]).handler(move |_: Job| {
        let (at, started) = (Instant::now(), started.clone());
        async move {
            let _told = started.send(at).await.is_ok();
            Outcome::Completed { result: None }
        }
    })?;
    let (stop, stopped) = oneshot::channel::<()>();
    let run = tokio::spawn(async move { worker.run(async { drop(stopped.await) }).await });
    let producer = Producer::new(client);
    let mut waits = Vec::new();
    for number in 0..SAMPLES + WARM_UP {
        let begun = Instant::now();
        producer.enqueue_payload(queue, Json::null()).await?;
        let started = starts.recv().await.ok_or("the worker ended")?;
        if number >= WARM_UP {
            waits.push(started.saturating_duration_since(begun));
        }
        // Until the worker waits again.
        tokio::time::sleep(Duration::from_millis(3)).await;
    }
    let has_socket = client.has_socket();
    drop(stop);
    run.await??;
    waits.sort_unstable();
    let ms = |share: usize| waits[(waits.len() - 1) * share / 1_000].as_secs_f64() * 1_000.0;
    Ok(json!({"samples": waits.len(), "p50_ms": ms(500), "p90_ms": ms(900), "p99_ms": ms(990),
              "max_ms": ms(1_000), "socket": has_socket}))
}

fn per_second(count: u64, took: Duration) -> u64 {
    let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX).max(1);
    u64::try_from(u128::from(count) * 1_000_000_000 / u128::from(nanos)).unwrap_or(u64::MAX)
}
