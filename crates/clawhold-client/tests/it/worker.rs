//! Working: claims, settlements, drains and hand-backs.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use clawhold_client::api::job::Outcome;
use clawhold_client::api::{Code, Json};
use clawhold_client::{Job, StopReason, Summary, Worker, WorkerBuilder};
use serde_json::{Value, json};
use tokio::sync::{Notify, oneshot};

use crate::server::{Act, Request, Server, ok, opened, refuse, renewed};

/// A queue that hands out each job once.
#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<u64>,
    held: u64,
    slots: u64,
    drain: Option<Value>,
    superseded: Vec<Value>,
    session_is_over: bool,
    lose_settle_replies: u32,
    sessions: u64,
}

impl Queue {
    fn hand_out(&mut self, max: u64) -> Vec<Value> {
        let mut jobs = Vec::new();
        while (jobs.len() as u64) < max
            && self.held < self.slots
            && self.drain.is_none()
            && let Some(id) = self.waiting.pop_front()
        {
            self.held += 1;
            jobs.push(json!({"id": id, "claim": 1, "queue": "mail", "payload": id, "priority": 0,
                "attempt": 1, "losses": 0, "hand_backs": 0, "checkpoint": null,
                "timeout_ms": null, "progress_ms": null, "created": "2026-11-30T16:00:00.000Z"}));
        }
        jobs
    }

    fn settle(&mut self, body: &Value) -> Act {
        let settlements = body["settlements"].as_array().unwrap();
        if settlements.iter().any(|one| one["outcome"]["completed"]["result"] == "too large") {
            return refuse(Code::OutOfRange);
        }
        let results: Vec<Value> = settlements
            .iter()
            .map(|one| json!({"job": one["job"], "state": "completed"}))
            .collect();
        self.held -= results.len() as u64;
        let max = body["next"]["max"].as_u64().unwrap_or(0);
        let reply = json!({"results": results, "jobs": self.hand_out(max)});
        if self.lose_settle_replies > 0 {
            self.lose_settle_replies -= 1;
            // The retry under the same key gets the first answer.
            self.held += settlements.len() as u64;
            return Act::Drop;
        }
        ok(reply)
    }

    fn answer(&mut self, request: &Request) -> Act {
        match request.path() {
            "/v1/sessions" => {
                self.sessions += 1;
                self.session_is_over = false;
                self.slots = request.body["slots"].as_u64().unwrap();
                self.held = 0;
                opened(300)
            }
            _ if self.session_is_over => refuse(Code::NoSession),
            "/v1/sessions/beat" => {
                let mut reply = renewed(&request.body, 300);
                reply["drain"] = self.drain.clone().unwrap_or_default();
                reply["superseded"] = json!(self.superseded);
                ok(reply)
            }
            "/v1/jobs/claim" => {
                let jobs = self.hand_out(request.body["max"].as_u64().unwrap());
                let nothing = jobs.is_empty();
                let reply = json!({"jobs": jobs});
                if nothing { Act::Later(Duration::from_millis(50), reply) } else { ok(reply) }
            }
            "/v1/jobs/settle" => self.settle(&request.body),
            "/v1/workers/7/drain" => {
                self.drain = Some(json!({"left_ms": request.body["deadline_ms"], "reason": "x"}));
                ok(json!({"held": self.held, "unserved": []}))
            }
            _ => ok(json!({})),
        }
    }
}

async fn serve(jobs: std::ops::RangeInclusive<u64>) -> (Server, Arc<Mutex<Queue>>) {
    let queue = Arc::new(Mutex::new(Queue { waiting: jobs.collect(), ..Queue::default() }));
    let server = {
        let queue = queue.clone();
        Server::start(move |request| queue.lock().unwrap().answer(request)).await
    };
    (server, queue)
}

fn builder(server: &Server) -> WorkerBuilder {
    let builder = Worker::builder(&server.client(), ["mail"]).label("ana");
    builder.drain_deadline(Duration::from_secs(2)).stop_grace(Duration::from_secs(1))
}

/// Runs a worker; the returned sender shuts it down.
fn start(worker: Worker) -> (oneshot::Sender<()>, tokio::task::JoinHandle<Summary>) {
    let (stop, stopped) = oneshot::channel();
    let run = async move {
        let shutdown = async {
            stopped.await.unwrap();
        };
        worker.run(shutdown).await.unwrap()
    };
    (stop, tokio::spawn(run))
}

fn done() -> Outcome {
    Outcome::Completed { result: None }
}

fn settlements(server: &Server) -> Vec<Value> {
    let bodies = server.seen("/v1/jobs/settle").into_iter().map(|request| request.body);
    bodies.flat_map(|body| body["settlements"].as_array().unwrap().clone()).collect()
}

#[tokio::test]
async fn every_job_is_worked_once_and_never_more_at_a_time_than_asked() {
    let (server, _queue) = serve(1..=40).await;
    let running = Arc::new(Mutex::new((0_u64, 0_u64, Vec::new())));
    let finished = Arc::new(Notify::new());
    let worker = {
        let (running, finished) = (running.clone(), finished.clone());
        builder(&server).concurrency(4).prefetch(4).handler(move |job: Job| {
            let (running, finished) = (running.clone(), finished.clone());
            async move {
                {
                    let mut running = running.lock().unwrap();
                    running.0 += 1;
                    running.1 = running.1.max(running.0);
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
                let mut running = running.lock().unwrap();
                running.0 -= 1;
                running.2.push(job.payload().read::<u64>().unwrap());
                if running.2.len() == 40 {
                    finished.notify_one();
                }
                done()
            }
        })
    };
    let (stop, run) = start(worker.unwrap());
    finished.notified().await;
    stop.send(()).unwrap();
    let summary = run.await.unwrap();
    assert_eq!((summary.claimed, summary.completed, summary.unsettled), (40, 40, 0));
    let mut running = running.lock().unwrap();
    running.2.sort_unstable();
    assert_eq!(running.2, (1..=40).collect::<Vec<_>>());
    assert_eq!(running.1, 4);
    assert_eq!(settlements(&server).len(), 40);
    let requests = server.seen("/v1/jobs/settle").len();
    assert!(requests < 40, "settlements share requests: {requests}");
    assert_eq!(server.all().last().unwrap().path(), "/v1/sessions/close");
}

#[tokio::test]
async fn a_leaving_worker_stops_intake_then_hands_back_and_beats_to_the_end() {
    let (server, _queue) = serve(1..=9).await;
    let begun = Arc::new(Notify::new());
    let worker = {
        let begun = begun.clone();
        builder(&server).concurrency(2).prefetch(3).handler(move |job: Job| {
            let begun = begun.clone();
            async move {
                begun.notify_one();
                assert_eq!(job.stopped().await, StopReason::DrainDeadline);
                assert!(job.drain().is_some());
                let checkpoint = Some(Json::of(&job.id()).unwrap());
                Outcome::HandedBack { checkpoint, reason: None }
            }
        })
    };
    let (stop, run) = start(worker.unwrap());
    begun.notified().await;
    server.saw("/v1/jobs/claim", 1).await;
    let asked = Instant::now();
    stop.send(()).unwrap();
    server.saw("/v1/jobs/settle", 1).await;
    assert!(asked.elapsed() < Duration::from_secs(1), "what was not begun goes back at once");
    let summary = run.await.unwrap();
    assert!(asked.elapsed() < Duration::from_secs(2), "{:?}", asked.elapsed());
    assert!(asked.elapsed() > Duration::from_secs(1), "handlers get their time");
    assert_eq!((summary.claimed, summary.handed_back, summary.unsettled), (5, 5, 0));

    let order: Vec<String> = server.all().iter().map(|r| r.path().to_owned()).collect();
    let at = |path: &str| order.iter().position(|other| other == path).unwrap();
    assert!(at("/v1/workers/7/drain") < at("/v1/jobs/settle"), "{order:?}");
    let last_claim = order.iter().rposition(|path| path == "/v1/jobs/claim").unwrap();
    assert!(last_claim < at("/v1/workers/7/drain"), "{order:?}");
    let last_settle = order.iter().rposition(|path| path == "/v1/jobs/settle").unwrap();
    let beats = order[at("/v1/jobs/settle")..last_settle].iter();
    assert!(beats.filter(|path| *path == "/v1/sessions/beat").count() >= 5, "{order:?}");
    assert_eq!(order.last().unwrap(), "/v1/sessions/close");
    let settled = settlements(&server);
    let with_checkpoint = settled.iter().filter(|one| {
        let checkpoint = &one["outcome"]["handed_back"]["checkpoint"];
        *checkpoint == one["job"]
    });
    assert_eq!(with_checkpoint.count(), 2, "{settled:?}");
}

#[tokio::test]
async fn a_handler_that_does_not_stop_is_dropped_and_its_job_handed_back() {
    let (server, _queue) = serve(1..=1).await;
    let worker = builder(&server).handler(|job: Job| async move {
        job.checkpoint(Json::of("half").unwrap()).await.unwrap();
        std::future::pending::<()>().await;
        done()
    });
    let (stop, run) = start(worker.unwrap());
    server.saw("/v1/jobs/checkpoint", 1).await;
    stop.send(()).unwrap();
    let summary = run.await.unwrap();
    assert_eq!((summary.handed_back, summary.unsettled), (1, 0));
    assert_eq!(server.seen("/v1/jobs/checkpoint")[0].body["number"], 1);
}

#[tokio::test]
async fn a_settlement_whose_reply_is_lost_is_sent_again_under_its_key() {
    let (server, queue) = serve(1..=1).await;
    queue.lock().unwrap().lose_settle_replies = 2;
    let worker = builder(&server).handler(|_| async { done() });
    let (stop, run) = start(worker.unwrap());
    let settles = server.saw("/v1/jobs/settle", 3).await;
    stop.send(()).unwrap();
    assert_eq!(run.await.unwrap().completed, 1);
    assert!(settles.iter().all(|request| request.key() == settles[0].key()));
}

#[tokio::test]
async fn a_job_that_another_claim_owns_is_stopped_and_not_settled() {
    let (server, queue) = serve(1..=2).await;
    let stopped = Arc::new(Mutex::new(None));
    let worker = {
        let (queue, stopped) = (queue.clone(), stopped.clone());
        builder(&server).handler(move |job: Job| {
            let (queue, stopped) = (queue.clone(), stopped.clone());
            async move {
                if job.id() == 1 {
                    let lost = json!({"job": 1, "claim": 1});
                    queue.lock().unwrap().superseded.push(lost);
                    let reason = job.stopped().await;
                    assert!(!job.is_confirmed());
                    *stopped.lock().unwrap() = Some(reason);
                    queue.lock().unwrap().held -= 1;
                }
                done()
            }
        })
    };
    let (stop, run) = start(worker.unwrap());
    server.saw("/v1/jobs/settle", 1).await;
    stop.send(()).unwrap();
    let summary = run.await.unwrap();
    assert_eq!((summary.completed, summary.superseded), (1, 1));
    assert_eq!(*stopped.lock().unwrap(), Some(StopReason::Superseded));
    assert_eq!(settlements(&server)[0]["job"], 2);
}

#[tokio::test]
async fn a_lost_session_stops_its_handlers_and_is_followed_by_another() {
    let (server, queue) = serve(1..=1).await;
    let worker = {
        let queue = queue.clone();
        builder(&server).handler(move |job: Job| {
            let queue = queue.clone();
            async move {
                if job.id() == 1 {
                    queue.lock().unwrap().session_is_over = true;
                    assert_eq!(job.stopped().await, StopReason::SessionOver);
                    queue.lock().unwrap().waiting.push_back(2);
                }
                done()
            }
        })
    };
    let (stop, run) = start(worker.unwrap());
    server.saw("/v1/jobs/settle", 1).await;
    stop.send(()).unwrap();
    let summary = run.await.unwrap();
    assert_eq!((summary.sessions, summary.completed, summary.superseded), (2, 1, 1));
    assert_eq!(settlements(&server)[0]["job"], 2);
}

#[tokio::test]
async fn a_panic_is_a_failed_run_and_a_refused_result_takes_no_other_with_it() {
    let (server, _queue) = serve(1..=3).await;
    let worker = builder(&server).concurrency(3).handler(|job: Job| async move {
        match job.id() {
            1 => panic!("no such mailbox"),
            2 => Outcome::Completed { result: Some(Json::of("too large").unwrap()) },
            _ => done(),
        }
    });
    let (stop, run) = start(worker.unwrap());
    let ended = async {
        loop {
            let ended = settlements(&server).iter().filter(|one| one["job"] == 2).count();
            if ended >= 2 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), ended).await.unwrap();
    stop.send(()).unwrap();
    let summary = run.await.unwrap();
    assert_eq!((summary.completed, summary.failed), (1, 2));
    let settled = settlements(&server);
    let error = |job: u64| {
        let one = settled.iter().rfind(|one| one["job"] == job).unwrap();
        one["outcome"]["failed"]["error"].as_str().unwrap_or_default().to_owned()
    };
    assert_eq!(error(1), "the handler panicked: no such mailbox");
    assert!(error(2).contains("result was refused"), "{}", error(2));
}

#[tokio::test]
async fn a_drain_that_is_taken_back_lets_the_worker_go_on() {
    let (server, queue) = serve(1..=2).await;
    let worker = {
        let queue = queue.clone();
        builder(&server).prefetch(1).handler(move |job: Job| {
            let queue = queue.clone();
            async move {
                if job.id() == 1 {
                    let drain = json!({"left_ms": 60_000, "reason": "upgrade"});
                    queue.lock().unwrap().drain = Some(drain);
                    assert_eq!(job.drain_asked().await.reason, "upgrade");
                    // Job 2 was claimed ahead; it goes back while this one runs on.
                    while queue.lock().unwrap().held > 1 {
                        tokio::time::sleep(Duration::from_millis(5)).await;
                    }
                    queue.lock().unwrap().drain = None;
                    queue.lock().unwrap().waiting.push_back(3);
                    while job.drain().is_some() {
                        tokio::time::sleep(Duration::from_millis(5)).await;
                    }
                }
                done()
            }
        })
    };
    let (stop, run) = start(worker.unwrap());
    let all = async {
        while settlements(&server).len() < 3 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), all).await.unwrap();
    stop.send(()).unwrap();
    let summary = run.await.unwrap();
    assert_eq!((summary.completed, summary.handed_back), (2, 1));
    assert_eq!(settlements(&server)[0]["job"], 2);
}

#[tokio::test]
async fn a_worker_that_the_server_sends_home_ends_by_itself() {
    let (server, queue) = serve(1..=1).await;
    let worker = {
        let queue = queue.clone();
        builder(&server).handler(move |job: Job| {
            let queue = queue.clone();
            async move {
                let drain = json!({"left_ms": 60_000, "reason": "upgrade"});
                queue.lock().unwrap().drain = Some(drain);
                job.drain_asked().await;
                done()
            }
        })
    };
    let (_stop, run) = start(worker.unwrap());
    let summary = tokio::time::timeout(Duration::from_secs(10), run).await.unwrap().unwrap();
    assert_eq!(summary.completed, 1);
    assert!(server.seen("/v1/workers/7/drain").is_empty(), "the server knows");
}

#[tokio::test]
async fn a_worker_that_the_server_refuses_hands_back_and_ends_with_the_reason() {
    let server = Server::start(|request| match request.path() {
        "/v1/sessions" => opened(300),
        "/v1/sessions/beat" => ok(renewed(&request.body, 300)),
        "/v1/jobs/claim" => refuse(Code::Forbidden),
        _ => ok(json!({"held": 0, "unserved": []})),
    })
    .await;
    let worker = builder(&server).handler(|_| async { done() }).unwrap();
    let run = worker.run(std::future::pending::<()>());
    let error = tokio::time::timeout(Duration::from_secs(10), run).await.unwrap().unwrap_err();
    let clawhold_client::WorkerError::Client(error) = error else { panic!("{error}") };
    assert!(error.is(Code::Forbidden), "{error}");
    assert_eq!(server.seen("/v1/sessions/close").len(), 1);
}

#[tokio::test]
async fn a_worker_that_may_not_announce_its_leave_drops_its_claim_and_hands_back() {
    let (server, queue) = serve(1..=2).await;
    let server = {
        let queue = queue.clone();
        drop(server);
        Server::start(move |request| match request.path() {
            "/v1/workers/7/drain" => refuse(Code::Forbidden),
            "/v1/jobs/claim" if queue.lock().unwrap().waiting.is_empty() => Act::Silent,
            _ => queue.lock().unwrap().answer(request),
        })
        .await
    };
    let worker = builder(&server).prefetch(5).handler(|job: Job| async move {
        job.drain_asked().await;
        done()
    });
    let (stop, run) = start(worker.unwrap());
    server.saw("/v1/jobs/claim", 2).await;
    let asked = Instant::now();
    stop.send(()).unwrap();
    let summary = run.await.unwrap();
    assert_eq!((summary.completed, summary.handed_back), (1, 1));
    assert!(asked.elapsed() < Duration::from_secs(1), "{:?}", asked.elapsed());
}

#[tokio::test]
async fn settings_out_of_range_are_refused_by_name() {
    let server = Server::start(|_| ok(json!({}))).await;
    let client = server.client();
    let text =
        |builder: WorkerBuilder| builder.handler(|_| async { done() }).unwrap_err().to_string();
    assert!(text(builder(&server).concurrency(0)).contains("1 to 1000"));
    assert!(text(builder(&server).concurrency(u64::MAX).prefetch(u64::MAX)).contains("1000"));
    assert!(text(builder(&server).concurrency(900).prefetch(200)).contains("prefetch"));
    assert!(text(Worker::builder(&client, Vec::<String>::new())).contains("queues"));
    assert!(text(builder(&server).drain_deadline(Duration::MAX)).contains("86400"));
}
