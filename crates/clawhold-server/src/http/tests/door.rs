//! Who may do what to automation, and the log played again.

use clawhold_api::error::Code;
use reqwest::Method;
use serde_json::{Value, json};

use super::{Server, problem};
use crate::auth::{Tokens, hash};
use crate::signature;

/// A file that goes with its test.
pub(super) struct Scratch(pub(super) std::path::PathBuf);

impl Scratch {
    pub(super) fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("clawhold-{name}-{}", std::process::id())))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        for end in ["", "-wal", "-shm", ".url"] {
            let mut path = self.0.clone().into_os_string();
            path.push(end);
            // A file that was never made needs no removing.
            let _ = std::fs::remove_file(path);
        }
    }
}

pub(super) fn tokens() -> Tokens {
    let scopes = ["viewer", "worker", "operator", "admin"];
    let lines = scopes.map(|scope| {
        format!(
            "[[token]]\nname = \"{scope}\"\nscope = \"{scope}\"\nsha256 = \"{}\"\n",
            hash(scope)
        )
    });
    let file = Scratch::new("tokens");
    std::fs::write(&file.0, lines.join("")).unwrap();
    Tokens::load(&file.0).unwrap()
}

impl Server {
    async fn ask(&self, token: &str, method: Method, path: &str, body: Value) -> u16 {
        let request = self.http.request(method, self.url(path)).bearer_auth(token).json(&body);
        request.send().await.unwrap().status().as_u16()
    }
}

#[tokio::test]
async fn looking_directing_and_setting_up_automation_need_rising_scopes() {
    let server = Server::start_with("memory:", tokens()).await;
    let command = json!({"name": "who", "trigger": "/who", "message": "show.workers"});
    let runbook = json!({"name": "look", "trigger": "/look", "step": ["show.workers"]});
    for scope in ["viewer", "worker", "operator"] {
        let status = server.ask(scope, Method::POST, "/v1/commands", command.clone()).await;
        assert_eq!(status, 403, "{scope}");
    }
    assert_eq!(server.ask("admin", Method::POST, "/v1/commands", command).await, 200);
    assert_eq!(server.ask("admin", Method::POST, "/v1/runbooks", runbook).await, 200);
    let who = json!({"text": "/who"});
    assert_eq!(server.ask("viewer", Method::POST, "/v1/run", who).await, 200);
    let look = json!({"text": "/look"});
    assert_eq!(server.ask("worker", Method::POST, "/v1/run", look.clone()).await, 403);
    assert_eq!(server.ask("operator", Method::POST, "/v1/run", look).await, 200);
    let pause = json!({"reason": "x"});
    assert_eq!(
        server.ask("viewer", Method::POST, "/v1/automation/pause", pause.clone()).await,
        403
    );
    assert_eq!(server.ask("operator", Method::POST, "/v1/automation/pause", pause).await, 200);
}

#[tokio::test]
async fn a_signed_request_needs_no_token_and_may_come_under_any_host() {
    let server = Server::start_with("memory:", tokens()).await;
    let channel = json!({"name": "#ops", "signing": "s3cret"});
    assert_eq!(server.ask("admin", Method::POST, "/v1/channels", channel).await, 200);
    let command = json!({"name": "who", "trigger": "/who", "message": "show.workers"});
    assert_eq!(server.ask("admin", Method::POST, "/v1/commands", command).await, 200);
    let body = json!({"text": "/who", "user": ""}).to_string();
    let now_s = crate::clock::now().at.0 / 1_000;
    let signed = signature::header(b"s3cret", now_s, body.as_bytes());
    let post = |header: &str| {
        let request = server.http.post(server.url("/v1/hooks/ops")).body(body.clone());
        request.header(signature::HEADER, header).header("host", "claw.example.org")
    };
    let said: Value = post(&signed).send().await.unwrap().json().await.unwrap();
    assert_eq!(said, json!({"ok": true, "lines": ["nobody works"], "run": null}));
    let refused = problem(post("t=1,v1=00").send().await.unwrap()).await;
    assert_eq!(refused.code, Code::BadSignature);
    let elsewhere = server.http.get(server.url("/v1/roles")).header("host", "claw.example.org");
    assert_eq!(problem(elsewhere.send().await.unwrap()).await.code, Code::HostRefused);
}

#[tokio::test]
async fn an_alert_rule_is_tried_on_what_the_log_holds() {
    let file = Scratch::new("backtest.db");
    let store = format!("sqlite:{}", file.0.display());
    let server = Server::start_with(&store, Tokens::default()).await;
    server.done("/v1/jobs", json!({"jobs": [{"queue": "mail", "payload": 1}]})).await;
    let rule = json!({"name": "Waiting", "condition": "queue.depth > 0", "for_ms": 0});
    server.done("/v1/alert-rules", rule).await;
    let none = json!({"name": "Never", "condition": "queue.depth > 99", "for_ms": 0});
    server.done("/v1/alert-rules", none).await;
    let found = server.done("/v1/alert-rules/Waiting/backtest", json!({})).await;
    assert_eq!((&found["matches"], &found["moments"][0]["target"]), (&json!(1), &json!("mail")));
    assert!(found["entries"].as_u64() >= Some(3), "{found}");
    let never = server.done("/v1/alert-rules/Never/backtest", json!({})).await;
    assert_eq!((&never["matches"], &never["moments"]), (&json!(0), &json!([])));
    let memory = Server::start().await;
    memory.done("/v1/alert-rules", json!({"name": "x", "condition": "queue.depth > 0"})).await;
    let refused = memory.refused("/v1/alert-rules/x/backtest", json!({})).await;
    assert_eq!(refused.code, Code::BadRequest);
}

#[tokio::test]
async fn the_numbers_of_automation_are_measured() {
    let server = Server::start().await;
    let runbook = json!({"name": "look", "trigger": "/look", "step": ["show.workers"]});
    server.done("/v1/runbooks", runbook).await;
    server.done("/v1/run", json!({"text": "/look"})).await;
    let text = server.get("/metrics").await.text().await.unwrap();
    assert!(text.contains("clawhold_runs_total{state=\"succeeded\"} 1"), "{text}");
    assert!(
        text.contains("clawhold_alerts_firing 0") && text.contains("clawhold_messages_waiting 0")
    );
}
