//! The edge as its callers meet it: a server on a memory store, spoken to over a socket.

mod automation;
mod door;
mod field;
mod hook;
mod receiver;
mod sink;
mod socket;

use std::net::SocketAddr;
use std::time::Duration;

use clawhold_api::error::{Code, Problem};
use clawhold_api::routes;
use reqwest::{Method, Response};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::auth::Tokens;
use crate::run::{Config, HOLD_MS_DEFAULT, Running, start};

/// A server and a way to speak to it.
struct Server {
    running: Running,
    http: reqwest::Client,
}

impl Server {
    async fn start() -> Self {
        Self::start_with("memory:", Tokens::default()).await
    }

    async fn start_with(store: &str, tokens: Tokens) -> Self {
        let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await.unwrap();
        let config = Config {
            state: None,
            store: store.to_owned(),
            advertise: None,
            hold_ms: HOLD_MS_DEFAULT,
            tokens,
            notify: false,
        };
        let running = start(config, listener).await.unwrap();
        assert!(running.ready(Duration::from_secs(20)).await, "the server becomes ready");
        Self { running, http: reqwest::Client::builder().no_proxy().build().unwrap() }
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.running.url())
    }

    async fn get(&self, path: &str) -> Response {
        self.http.get(self.url(path)).send().await.unwrap()
    }

    async fn post(&self, path: &str, body: Value) -> Response {
        self.http.post(self.url(path)).json(&body).send().await.unwrap()
    }

    /// Posts and returns the body of a success.
    async fn done(&self, path: &str, body: Value) -> Value {
        let response = self.post(path, body).await;
        let status = response.status();
        let text = response.text().await.unwrap();
        assert!(status.is_success(), "{path}: {status} {text}");
        serde_json::from_str(&text).unwrap()
    }

    /// Changes and returns the body of a success.
    async fn changed(&self, path: &str, body: Value) -> Value {
        let response = self.http.patch(self.url(path)).json(&body).send().await.unwrap();
        let status = response.status();
        let text = response.text().await.unwrap();
        assert!(status.is_success(), "{path}: {status} {text}");
        serde_json::from_str(&text).unwrap()
    }

    /// Posts and returns the problem of a refusal.
    async fn refused(&self, path: &str, body: Value) -> Problem {
        problem(self.post(path, body).await).await
    }

    async fn read(&self, path: &str) -> Value {
        self.get(path).await.json().await.unwrap()
    }

    async fn session(&self, label: &str, queues: &[&str], slots: u64) -> Value {
        let body = if queues.is_empty() {
            json!({"label": label})
        } else {
            json!({"label": label, "queues": queues, "slots": slots})
        };
        self.done(routes::SESSIONS, body).await["session"].clone()
    }

    async fn position(&self) -> u64 {
        self.read(routes::SERVER).await["position"].as_u64().unwrap()
    }
}

async fn problem(response: Response) -> Problem {
    let status = response.status().as_u16();
    let kind = response.headers()["content-type"].to_str().unwrap().to_owned();
    let text = response.text().await.unwrap();
    assert_eq!(kind, routes::PROBLEM_JSON, "{status} {text}");
    let problem: Problem = serde_json::from_str(&text).unwrap();
    assert_eq!(problem.status, status);
    problem
}

#[tokio::test]
async fn a_job_goes_from_enqueue_to_completed() {
    let server = Server::start().await;
    let worker = server.session("ana", &["mail"], 2).await;
    let response =
        server.post(routes::JOBS, json!({"jobs": [{"queue": "mail", "payload": {"to": 1}}]}));
    let response = response.await;
    assert!(response.headers().contains_key(routes::POSITION));
    let accepted: Value = response.json().await.unwrap();
    let id = &accepted["jobs"][0]["id"];
    let claimed =
        server.done(routes::JOB_CLAIM, json!({"session": worker, "queues": ["mail"]})).await;
    let job = &claimed["jobs"][0];
    assert_eq!((&job["id"], &job["payload"], &job["attempt"]), (id, &json!({"to": 1}), &json!(1)));
    let settled = server
        .done(
            routes::JOB_SETTLE,
            json!({"session": worker, "settlements": [
                {"job": id, "claim": job["claim"], "outcome": {"completed": {"result": "sent"}}},
                {"job": 999, "claim": 1, "outcome": {"dead": {"error": "x"}}}]}),
        )
        .await;
    assert_eq!(settled["results"][0]["state"], "completed");
    assert_eq!(settled["results"][1]["problem"]["code"], "not_found");
    let shown = server.read(&routes::fill(routes::JOB, &id.to_string())).await;
    assert_eq!((&shown["state"], &shown["result"]), (&json!("completed"), &json!("sent")));
    let queue = server.read(&routes::fill(routes::QUEUE, "mail")).await;
    assert_eq!(queue["jobs"]["completed"], 1);
    let audit = server.read(&format!("{}?queue=mail", routes::AUDIT)).await;
    assert_eq!((&audit["ok"], &audit["jobs"]["completed"]), (&json!(true), &json!(1)));
    server.running.stop().await.unwrap();
}

#[tokio::test]
async fn a_repeated_request_gets_the_first_answer_and_says_so() {
    let server = Server::start().await;
    let send = async |payload: u64| {
        let body = json!({"jobs": [{"queue": "mail", "payload": payload}]});
        let request = server.http.post(server.url(routes::JOBS)).json(&body);
        request.header(routes::IDEMPOTENCY_KEY, "once").send().await.unwrap()
    };
    let first = send(1).await;
    assert!(!first.headers().contains_key(routes::REPLAYED));
    let again = send(1).await;
    assert_eq!(again.headers()[routes::REPLAYED], "true");
    let (first, again): (Value, Value) = (first.json().await.unwrap(), again.json().await.unwrap());
    assert_eq!(first, again);
    assert_eq!(problem(send(2).await).await.code, Code::RequestConflict);
}

#[tokio::test]
async fn an_empty_claim_leaves_no_trace_and_a_waiting_one_is_woken() {
    let server = Server::start().await;
    let worker = server.session("ana", &["mail"], 1).await;
    let before = server.position().await;
    let ask = json!({"session": worker, "queues": ["mail"]});
    for _ in 0..60 {
        let empty = server.done(routes::JOB_CLAIM, ask.clone()).await;
        assert_eq!(empty["jobs"], json!([]));
    }
    let waits = json!({"session": worker, "queues": ["mail"], "wait_ms": 50});
    assert_eq!(server.done(routes::JOB_CLAIM, waits).await["jobs"], json!([]));
    // The server keeps its hold on the log by entries of its own, a few a second.
    let entries = server.position().await - before;
    assert!(entries < 30, "61 empty claims and {entries} entries");
    let waits = json!({"session": worker, "queues": ["mail"], "wait_ms": 60_000});
    let waiting = server.done(routes::JOB_CLAIM, waits);
    let feeding = server.done(routes::JOBS, json!({"jobs": [{"queue": "mail", "payload": null}]}));
    let (claimed, fed) = tokio::join!(waiting, feeding);
    assert_eq!(claimed["jobs"][0]["id"], fed["jobs"][0]["id"]);
    let queue = server.read("/v1/queues/mail").await;
    assert_eq!(queue["totals"]["claimed"], 1);
}

#[tokio::test]
async fn many_who_wait_get_one_job_each_and_whoever_went_away_gets_none() {
    let server = Server::start().await;
    let mut polls = Vec::new();
    for at in 0..20 {
        let worker = server.session(&format!("w{at}"), &["mail"], 1).await;
        let body = json!({"session": worker, "queues": ["mail"], "wait_ms": 60_000});
        let request = server.http.post(server.url(routes::JOB_CLAIM)).json(&body);
        polls.push(tokio::spawn(async move {
            request.send().await.unwrap().json::<Value>().await.unwrap()
        }));
    }
    let gone = server.session("gone", &["mail"], 1).await;
    let body = json!({"session": gone, "queues": ["mail"], "wait_ms": 60_000});
    let request = server.http.post(server.url(routes::JOB_CLAIM)).json(&body);
    let left = tokio::time::timeout(Duration::from_millis(200), request.send()).await;
    assert!(left.is_err(), "it waits until its caller goes away");
    let jobs: Vec<Value> = (0..20).map(|at| json!({"queue": "mail", "payload": at})).collect();
    server.done(routes::JOBS, json!({"jobs": jobs})).await;
    let mut ids = Vec::new();
    for poll in polls {
        let claimed = poll.await.unwrap();
        ids.push(claimed["jobs"][0]["id"].as_u64().unwrap());
    }
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 20);
    let worker = server.read("/v1/workers/gone").await;
    assert_eq!(worker["held"], 0);
}

#[tokio::test]
async fn a_role_is_granted_waited_for_and_handed_on() {
    let server = Server::start().await;
    let (ana, ben) = (server.session("ana", &[], 0).await, server.session("ben", &[], 0).await);
    let path = routes::fill(routes::ROLE_ACQUIRE, "billing");
    let granted = server.done(&path, json!({"session": ana, "stream": "files"})).await;
    assert_eq!((&granted["outcome"], &granted["position"]), (&json!("granted"), &json!(0)));
    let held = server.refused(&path, json!({"session": ben})).await;
    assert_eq!((held.code, held.latest_token), (Code::RoleHeld, granted["token"].as_u64()));
    let short = server.refused(&path, json!({"session": ben, "wait_ms": 30})).await;
    assert_eq!(short.code, Code::RoleHeld);
    assert_eq!(server.read("/v1/roles/billing").await["candidates_count"], 0);
    let release = json!({"session": ana, "token": granted["token"]});
    let waiting = server.done(&path, json!({"session": ben, "wait_ms": 60_000}));
    let releasing = async {
        while server.read("/v1/roles/billing").await["candidates_count"] == 0 {
            tokio::task::yield_now().await;
        }
        server.done("/v1/roles/billing/release", release).await
    };
    let (won, released) = tokio::join!(waiting, releasing);
    assert_eq!(won["token"], released["next"]["token"]);
    assert!(won["token"].as_u64() > granted["token"].as_u64());
    let stale = json!({"session": ana, "token": granted["token"]});
    let stale = server.refused("/v1/roles/billing/release", stale).await;
    assert_eq!((stale.code, stale.latest_token), (Code::StaleToken, won["token"].as_u64()));
    let stands = server.done(&path, json!({"session": ana, "stand_by": true})).await;
    assert_eq!(stands["outcome"], "waiting");
    let handed = server.done("/v1/roles/billing/hand-over", json!({"to": "ana"})).await;
    let beat = server.done(routes::SESSION_BEAT, json!({"session": ana})).await;
    assert_eq!(beat["granted"][0]["token"], handed["token"]);
    let history = server.read("/v1/roles/billing/history").await;
    assert_eq!(history["items"].as_array().unwrap().last().unwrap()["cause"], "handed over");
}

#[tokio::test]
async fn whoever_waits_for_a_role_and_goes_away_leaves_the_line() {
    let server = Server::start().await;
    let (ana, ben) = (server.session("ana", &[], 0).await, server.session("ben", &[], 0).await);
    let path = routes::fill(routes::ROLE_ACQUIRE, "billing");
    server.done(&path, json!({"session": ana})).await;
    let body = json!({"session": ben, "wait_ms": 60_000});
    let request = server.http.post(server.url(&path)).json(&body);
    let waiting = tokio::spawn(request.send());
    while server.read("/v1/roles/billing").await["candidates_count"] == 0 {
        tokio::task::yield_now().await;
    }
    waiting.abort();
    let left = async {
        while server.read("/v1/roles/billing").await["candidates_count"] != 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), left).await.unwrap();
}

#[tokio::test]
async fn a_stream_is_read_waited_for_and_followed() {
    let server = Server::start().await;
    let path = routes::fill(routes::STREAM_EVENTS, "files");
    server.done(&path, json!({"events": ["a", {"n": 2}], "expected": 1})).await;
    let page = server.read(&format!("{path}?after=1")).await;
    assert_eq!(page["events"], json!([{"number": 2, "event": {"n": 2}}]));
    let beyond = problem(server.get(&format!("{path}?after=9")).await).await;
    assert_eq!((beyond.code, beyond.last), (Code::BeyondEnd, Some(2)));
    let url = format!("{path}?after=2&wait_ms=60000");
    let (page, _) = tokio::join!(server.read(&url), server.done(&path, json!({"events": [3]})));
    assert_eq!(page["events"][0]["number"], 3);
    let request = server.http.get(server.url(&path)).header("accept", "text/event-stream");
    let mut follower = request.header("last-event-id", "2").send().await.unwrap();
    server.done(&path, json!({"events": ["last"]})).await;
    let text = until(&mut follower, "\"last\"").await;
    assert!(text.contains("id: 3") && !text.contains("id: 2"), "{text}");
}

#[tokio::test]
async fn changes_are_followed_from_where_a_reader_was() {
    let server = Server::start().await;
    let before = server.position().await;
    server.session("ana", &["mail"], 1).await;
    let mut events = server.get(&format!("{}?after={before}", routes::EVENTS)).await;
    let text = until(&mut events, "event: worker").await;
    assert!(text.contains("\"kind\":\"worker\""), "{text}");
    let mut events = server.get(&format!("{}?after=0", routes::EVENTS)).await;
    until(&mut events, "\"position\"").await;
    let mut events = server.get(&format!("{}?after=999999", routes::EVENTS)).await;
    until(&mut events, "event: reset").await;
}

/// Reads an event stream until it holds `wanted`.
async fn until(response: &mut Response, wanted: &str) -> String {
    let mut text = String::new();
    let reading = async {
        while !text.contains(wanted) {
            let chunk = response.chunk().await.unwrap().expect("the stream goes on");
            text.push_str(&String::from_utf8_lossy(&chunk));
        }
    };
    let in_time = tokio::time::timeout(Duration::from_secs(20), reading).await;
    assert!(in_time.is_ok(), "{wanted:?} does not come");
    text
}

#[tokio::test]
async fn a_label_that_two_workers_bear_is_ambiguous() {
    let server = Server::start().await;
    server.session("twin", &["mail"], 1).await;
    server.session("twin", &["mail"], 1).await;
    let twins = problem(server.get("/v1/workers/twin").await).await;
    assert_eq!((twins.code, twins.ids.len()), (Code::AmbiguousName, 2));
    let one = server.read(&format!("/v1/workers/{}", twins.ids[0])).await;
    assert_eq!(one["label"], "twin");
    let page = server.get("/v1/workers?limit=1").await;
    let link = page.headers()["link"].to_str().unwrap().to_owned();
    assert!(link.ends_with("rel=\"next\""), "{link}");
    let cursor = page.json::<Value>().await.unwrap()["next_cursor"].as_str().unwrap().to_owned();
    let rest = server.read(&format!("/v1/workers?limit=1&cursor={cursor}")).await;
    assert_eq!(
        (&rest["items"][0]["id"], &rest["next_cursor"]),
        (&json!(twins.ids[1]), &Value::Null)
    );
    let drained = server.done(&format!("/v1/workers/{}/drain", twins.ids[0]), json!({})).await;
    assert_eq!(drained["held"], 0);
    let resumed = server.done(&format!("/v1/workers/{}/resume", twins.ids[0]), json!({})).await;
    assert_eq!(resumed["state"], "active");
}

#[tokio::test]
async fn the_server_tells_about_itself() {
    let server = Server::start().await;
    assert_eq!(server.get(routes::LIVEZ).await.status(), 200);
    assert_eq!(server.get(routes::LEADERZ).await.status(), 200);
    let health = server.read(&format!("{}?verbose", routes::READYZ)).await;
    assert_eq!(health["ok"], true);
    assert_eq!(server.read(routes::OPENAPI).await["openapi"], "3.1.0");
    assert_eq!(server.read(routes::STATUS).await["server"]["state"], "active");
    assert_eq!(server.read(routes::HASH).await["hash"].as_str().unwrap().len(), 64);
    assert_eq!(server.read(routes::LIMITS).await["page_max"], 1000);
    let metrics = server.get(routes::METRICS).await.text().await.unwrap();
    assert!(metrics.contains("clawhold_active 1"), "{metrics}");
    let missing = problem(server.get("/v1/nothing").await).await;
    assert_eq!(missing.code, Code::NotFound);
    let method = server.http.patch(server.url(routes::ROLES)).send().await.unwrap();
    assert!(method.headers().contains_key("allow"));
    assert_eq!(method.headers()["x-content-type-options"], "nosniff");
    assert_eq!(problem(method).await.code, Code::MethodNotAllowed);
    let page = server.get("/problems/stale_token").await.text().await.unwrap();
    assert!(page.contains("409"), "{page}");
}

/// Every route that takes a body.
const WRITES: [(&str, &str); 25] = [
    ("POST", "/v1/sessions"),
    ("POST", "/v1/sessions/beat"),
    ("POST", "/v1/sessions/close"),
    ("POST", "/v1/workers/w/drain"),
    ("POST", "/v1/workers/w/resume"),
    ("PUT", "/v1/roles/r"),
    ("POST", "/v1/roles/r/acquire"),
    ("POST", "/v1/roles/r/withdraw"),
    ("POST", "/v1/roles/r/release"),
    ("POST", "/v1/roles/r/hand-over"),
    ("POST", "/v1/roles/r/ask-hand-over"),
    ("PUT", "/v1/queues/q"),
    ("POST", "/v1/queues/q/pause"),
    ("POST", "/v1/queues/q/resume"),
    ("POST", "/v1/queues/q/gate"),
    ("POST", "/v1/queues/q/admit"),
    ("POST", "/v1/jobs"),
    ("POST", "/v1/jobs/claim"),
    ("POST", "/v1/jobs/settle"),
    ("POST", "/v1/jobs/progress"),
    ("POST", "/v1/jobs/checkpoint"),
    ("POST", "/v1/jobs/cancel"),
    ("PUT", "/v1/streams/s"),
    ("POST", "/v1/streams/s/events"),
    ("POST", "/v1/commit"),
];

#[tokio::test]
async fn no_route_takes_a_bad_body_and_nothing_happens() {
    let server = Server::start().await;
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(5_000), "]".repeat(5_000));
    let huge = format!("{{\"a\":\"{}\"}}", "x".repeat(1_100_000));
    let bodies: [(&[u8], Code); 12] = [
        (b"", Code::BadJson),
        (b" ", Code::BadJson),
        (b"{", Code::BadJson),
        (b"[]]", Code::BadJson),
        (b"NaN", Code::BadJson),
        (b"\0", Code::BadJson),
        (b"{\"a\":\"\x01\"}", Code::BadJson),
        (b"{\"\xff\":1}", Code::BadJson),
        (b"{\"no_such_field\":1}", Code::BadJson),
        (b"\"text\"", Code::BadJson),
        (deep.as_bytes(), Code::BadJson),
        (huge.as_bytes(), Code::BodyTooLarge),
    ];
    for (method, path) in WRITES {
        let send = async |body: &[u8], kind: &str| {
            let request = server
                .http
                .request(Method::from_bytes(method.as_bytes()).unwrap(), server.url(path));
            request.header("content-type", kind).body(body.to_vec()).send().await.unwrap()
        };
        for (body, code) in bodies {
            let problem = problem(send(body, "application/json").await).await;
            let shown = String::from_utf8_lossy(&body[..body.len().min(30)]);
            assert_eq!(problem.code, code, "{path} {shown}: {}", problem.detail);
            assert!(problem.nothing_happened);
        }
        let problem = problem(send(b"{}", "text/plain").await).await;
        assert_eq!(problem.code, Code::UnsupportedMediaType, "{path}");
    }
    let status = server.read(routes::STATUS).await;
    assert_eq!((&status["sessions"], &status["queues"]["count"]), (&json!(0), &json!(0)));
}

const KEY: &str = "1.0123456789abcdef";

#[tokio::test]
async fn each_field_out_of_range_is_named() {
    let server = Server::start().await;
    for (path, body, field) in bad_sessions_and_roles().into_iter().chain(bad_jobs_and_streams()) {
        let problem = server.refused(path, body).await;
        assert_eq!(problem.field.as_deref(), Some(field), "{path}: {}", problem.detail);
        assert!((400..500).contains(&problem.status) && problem.nothing_happened, "{path}");
    }
    let status = server.read(routes::STATUS).await;
    assert_eq!((&status["sessions"], &status["queues"]["count"]), (&json!(0), &json!(0)));
    assert_eq!((&status["streams"], &status["roles"]["vacant"]), (&json!(0), &json!(0)));
}

type Case = (&'static str, Value, &'static str);

fn bad_sessions_and_roles() -> Vec<Case> {
    let (key, long) = (KEY, "x".repeat(101));
    vec![
        ("/v1/sessions", json!({"label": ""}), "label"),
        ("/v1/sessions", json!({"label": long}), "label"),
        ("/v1/sessions", json!({"label": "-flag"}), "label"),
        ("/v1/sessions", json!({"label": "../etc"}), "label"),
        ("/v1/sessions", json!({"label": "a\u{0}"}), "label"),
        ("/v1/sessions", json!({"label": "a\nb"}), "label"),
        ("/v1/sessions", json!({"label": "a", "ttl_ms": 199}), "ttl_ms"),
        ("/v1/sessions", json!({"label": "a", "ttl_ms": u64::MAX}), "ttl_ms"),
        ("/v1/sessions", json!({"label": "a", "ttl_ms": -1}), "ttl_ms"),
        ("/v1/sessions", json!({"label": "a", "ttl_ms": 1.5}), "ttl_ms"),
        ("/v1/sessions", json!({"label": "a", "queues": ["a", "b/c"]}), "queues[1]"),
        ("/v1/sessions", json!({"label": "a", "queues": ["a"], "slots": 0}), "slots"),
        ("/v1/sessions", json!({"label": "a", "place": "a\u{0}"}), "place"),
        ("/v1/sessions", json!({"label": "a", "place": "x".repeat(2_049)}), "place"),
        ("/v1/sessions/beat", json!({"session": "guess"}), "session"),
        (
            "/v1/sessions/beat",
            json!({"session": key, "leads": [{"role": "", "token": 1}]}),
            "leads[0].role",
        ),
        ("/v1/sessions/beat", json!({"session": key, "holds": [{"job": 1}]}), "holds[0].claim"),
        ("/v1/workers/w/drain", json!({"deadline_ms": u64::MAX}), "deadline_ms"),
        ("/v1/roles/-r/acquire", json!({"session": key}), "role"),
        ("/v1/roles/%2E%2E%2Fr/acquire", json!({"session": key}), "role"),
        ("/v1/roles/r/acquire", json!({"session": key, "wait_ms": 60_001}), "wait_ms"),
        ("/v1/roles/r/acquire", json!({"session": key, "ttl_ms": 1}), "ttl_ms"),
        ("/v1/roles/r/acquire", json!({"session": key, "stream": "a b"}), "stream"),
        ("/v1/roles/r/hand-over", json!({"to": "a b"}), "to"),
        ("/v1/roles/r/ask-hand-over", json!({"within_ms": 0}), "within_ms"),
    ]
}

fn bad_jobs_and_streams() -> Vec<Case> {
    let key = KEY;
    let job = |extra: Value| {
        let mut job = json!({"queue": "q", "payload": 1});
        job.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        json!({"jobs": [job]})
    };
    let many: Vec<u64> = (0..1_001).collect();
    vec![
        ("/v1/queues/q/gate", json!({"within_ms": 0}), "within_ms"),
        ("/v1/queues/q/pause", json!({"reason": "\u{0}"}), "reason"),
        ("/v1/jobs", json!({"jobs": []}), "jobs"),
        ("/v1/jobs", job(json!({"priority": 101})), "jobs[0].priority"),
        (
            "/v1/jobs",
            job(json!({"delay_ms": 1, "run_at": "2026-11-30T16:00:00Z"})),
            "jobs[0].run_at",
        ),
        ("/v1/jobs", job(json!({"unique_key": "a\u{202e}b"})), "jobs[0].unique_key"),
        ("/v1/jobs", job(json!({"payload": "x".repeat(262_145)})), "jobs[0].payload"),
        ("/v1/jobs/claim", json!({"session": key, "queues": []}), "queues"),
        ("/v1/jobs/claim", json!({"session": key, "queues": ["q"], "max": 1_001}), "max"),
        ("/v1/jobs/settle", json!({"session": key, "settlements": []}), "settlements"),
        (
            "/v1/jobs/settle",
            json!({"session": key, "settlements": [
                {"job": 1, "claim": 1, "outcome": {"failed": {"error": "x".repeat(2_049)}}}]}),
            "settlements[0].outcome.failed.error",
        ),
        (
            "/v1/jobs/progress",
            json!({"session": key, "job": 1, "claim": 1, "percent": 101}),
            "percent",
        ),
        ("/v1/jobs/cancel", json!({"jobs": many}), "jobs"),
        ("/v1/jobs/hand-back", json!({"jobs": [{"job": 1, "x": 1}]}), "jobs[0].x"),
        ("/v1/streams/s/events", json!({"events": []}), "events"),
        ("/v1/streams/s/events", json!({"events": ["x".repeat(262_145)]}), "events[0]"),
        (
            "/v1/commit",
            json!({"role": "r", "session": key, "token": 1, "position": {"stream": "", "through": 1}}),
            "position.stream",
        ),
    ]
}

#[tokio::test]
async fn bad_queries_and_headers_are_named() {
    let server = Server::start().await;
    let cases = [
        ("/v1/roles?limit=0", Some("limit")),
        ("/v1/roles?limit=1001", Some("limit")),
        ("/v1/roles?limit=-1", Some("limit")),
        ("/v1/roles?limit=1&limit=2", Some("limit")),
        ("/v1/roles?lmit=1", Some("lmit")),
        ("/v1/roles?cursor=a%2Fb", Some("cursor")),
        ("/v1/jobs?state=lost", None),
        ("/v1/jobs?queue=..%2Fq", Some("queue")),
        ("/v1/jobs?cursor=x", Some("cursor")),
        ("/v1/jobs/-1", Some("job")),
        ("/v1/jobs/99999999999999999999", Some("job")),
        ("/v1/workers/%00", Some("worker")),
        ("/v1/workers/%FF", Some("path")),
        ("/v1/streams/s/events?after=-1", Some("after")),
        ("/v1/streams/s/events?wait_ms=60001", Some("wait_ms")),
        ("/v1/audit?queue=%20", Some("queue")),
    ];
    for (path, field) in cases {
        let problem = problem(server.get(path).await).await;
        assert!((400..500).contains(&problem.status), "{path}: {}", problem.detail);
        if field.is_some() {
            assert_eq!(problem.field.as_deref(), field, "{path}: {}", problem.detail);
        }
    }
    for bad in ["", "two words", &"x".repeat(65)] {
        let request = server.http.post(server.url(routes::SESSIONS)).json(&json!({"label": "a"}));
        let response = request.header(routes::IDEMPOTENCY_KEY, bad).send().await.unwrap();
        let problem = problem(response).await;
        assert_eq!(problem.field.as_deref(), Some(routes::IDEMPOTENCY_KEY), "{bad:?}");
    }
}
