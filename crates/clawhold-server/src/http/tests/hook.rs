//! Requests from chats as they are met: signed, forged, old, sent twice.

use reqwest::Response;
use serde_json::{Value, json};

use super::Server;
use super::receiver::Receiver;
use crate::signature;

const SECRET: &str = "8f742231b10e8888abcd99yyyzzz85a5";

fn now_s() -> u64 {
    crate::clock::now().at.0 / 1_000
}

impl Server {
    /// A channel whose requests are signed, a command and a runbook.
    async fn chat(&self, closed: bool) {
        let users = json!([{"id": "U1", "actor": "dana"}, {"id": "77", "actor": "dana"}]);
        let channel = json!({"name": "#ops", "signing": SECRET, "users": users, "closed": closed});
        self.done("/v1/channels", channel).await;
        let command = json!({"name": "holder", "trigger": "/leader", "message": "show.holder"});
        self.done("/v1/commands", command).await;
        let runbook = json!({"name": "Pause", "trigger": "/runbook pause",
            "step": ["queue.pause queue=run"]});
        self.done("/v1/runbooks", runbook).await;
    }

    async fn slack(&self, at_s: u64, secret: &str, body: &str) -> Response {
        let at = at_s.to_string();
        let parts: [&[u8]; 4] = [b"v0:", at.as_bytes(), b":", body.as_bytes()];
        let signed = format!("v0={}", signature::sign(secret.as_bytes(), &parts));
        let request = self.http.post(self.url("/v1/hooks/slack/ops"));
        let request = request
            .header("x-slack-request-timestamp", at)
            .header("x-slack-signature", signed)
            .header("content-type", "application/x-www-form-urlencoded");
        request.body(body.to_owned()).send().await.unwrap()
    }

    async fn slack_says(&self, body: &str) -> String {
        let response = self.slack(now_s(), SECRET, body).await;
        assert_eq!(response.status(), 200);
        let answer: Value = response.json().await.unwrap();
        assert_eq!(answer["response_type"], "ephemeral");
        answer["blocks"][0]["text"]["text"].as_str().unwrap().to_owned()
    }

    async fn runs(&self) -> Vec<Value> {
        self.read("/v1/runs").await["items"].as_array().unwrap().clone()
    }

    async fn queue(&self, name: &str) {
        let request = self.http.put(self.url(&format!("/v1/queues/{name}"))).json(&json!({}));
        assert!(request.send().await.unwrap().status().is_success());
    }
}

#[tokio::test]
async fn slack_is_answered_when_its_signature_is_right_and_of_now() {
    let server = Server::start().await;
    server.chat(false).await;
    let body = "command=%2Fleader&text=&user_id=U1";
    assert_eq!(server.slack_says(body).await, "there is no role");
    for refused in [
        server.slack(now_s() - 360, SECRET, body).await,
        server.slack(now_s(), "another", body).await,
        server.slack(now_s(), "", body).await,
    ] {
        assert_eq!(refused.status(), 401);
        let text = refused.text().await.unwrap();
        assert!(text.contains("bad_signature") && !text.contains("#ops"), "{text}");
    }
    let unsigned = server.http.post(server.url("/v1/hooks/slack/ops")).body(body).send();
    assert_eq!(unsigned.await.unwrap().status(), 401);
    let elsewhere = server.http.post(server.url("/v1/hooks/slack/other")).body(body).send();
    assert_eq!(elsewhere.await.unwrap().status(), 401);
}

#[tokio::test]
async fn the_same_request_of_slack_twice_starts_one_run() {
    let server = Server::start().await;
    server.chat(false).await;
    server.queue("mail").await;
    let (at, body) = (now_s(), "command=%2Frunbook&text=pause+queue%3Dmail&user_id=U1");
    let first: Value = server.slack(at, SECRET, body).await.json().await.unwrap();
    let again: Value = server.slack(at, SECRET, body).await.json().await.unwrap();
    let number = |answer: &Value| {
        let text = answer["blocks"][0]["text"]["text"].as_str().unwrap().to_owned();
        text.split_whitespace().nth(1).unwrap().to_owned()
    };
    assert_eq!(number(&first), number(&again));
    let runs = server.runs().await;
    assert_eq!(runs.len(), 1);
    assert_eq!((&runs[0]["actor"], &runs[0]["origin"]), (&json!("dana"), &json!("trigger")));
    assert!(!server.read("/v1/queues/mail").await["paused"].is_null());
}

#[tokio::test]
async fn somebody_who_is_not_linked_may_look_but_not_act() {
    let server = Server::start().await;
    server.chat(false).await;
    server.queue("mail").await;
    let looked = server.slack_says("command=%2Fleader&text=&user_id=U9").await;
    assert_eq!(looked, "there is no role");
    let refused = server.slack_says("command=%2Frunbook&text=pause+mail&user_id=U9").await;
    assert!(refused.contains("--user U9=NAME"), "{refused}");
    assert!(server.runs().await.is_empty());
    server.changed("/v1/channels/%23ops", json!({"closed": true})).await;
    let closed = server.slack_says("command=%2Fleader&text=&user_id=U9").await;
    assert_eq!(closed, "", "a closed channel says nothing to strangers");
}

#[tokio::test]
async fn what_a_chat_says_binds_as_one_value_or_not_at_all() {
    let server = Server::start().await;
    server.chat(false).await;
    server.queue("mail").await;
    for text in ["pause+mail%3B+rm+-rf+%2F", "pause+queue%3D", "pause+shell%3Dx", "pause+a+b"] {
        let said = server.slack_says(&format!("command=%2Frunbook&text={text}&user_id=U1")).await;
        assert!(!said.starts_with("run "), "{text}: {said}");
    }
    let near = server.slack_says("command=%2Fleaders&text=&user_id=U1").await;
    assert!(near.contains("did you mean /leader?"), "{near}");
    assert!(server.runs().await.is_empty());
}

#[tokio::test]
async fn the_end_of_a_run_is_told_where_slack_wants_it() {
    let server = Server::start().await;
    server.chat(false).await;
    server.queue("mail").await;
    let mut slack = Receiver::start().await;
    let url = clawhold_api::routes::escape(&format!("{}/reply", slack.url));
    let body = format!("command=%2Frunbook&text=pause+mail&user_id=U1&response_url={url}");
    assert!(server.slack_says(&body).await.starts_with("run "));
    let got = slack.next().await;
    assert_eq!((got.path.as_str(), &got.json()["response_type"]), ("/reply", &json!("ephemeral")));
}

#[tokio::test]
async fn any_program_may_ask_with_the_signature_of_our_own_webhooks() {
    let server = Server::start().await;
    server.chat(false).await;
    server.queue("mail").await;
    let ask = async |body: String, header: String| {
        let request =
            server.http.post(server.url("/v1/hooks/ops")).header(signature::HEADER, header);
        request.body(body).send().await.unwrap()
    };
    let body = json!({"text": "/runbook pause mail", "user": "U1"}).to_string();
    let header = signature::header(SECRET.as_bytes(), now_s(), body.as_bytes());
    let first: Value = ask(body.clone(), header.clone()).await.json().await.unwrap();
    assert_eq!(first["ok"], true, "{first}");
    let again: Value = ask(body.clone(), header).await.json().await.unwrap();
    assert_eq!(first["run"], again["run"]);
    let old = signature::header(SECRET.as_bytes(), now_s() - 301, body.as_bytes());
    assert_eq!(ask(body.clone(), old).await.status(), 401);
    let other = signature::header(SECRET.as_bytes(), now_s(), b"{}");
    assert_eq!(ask(body, other).await.status(), 401);
}

#[tokio::test]
async fn an_update_of_telegram_is_answered_once() {
    let server = Server::start().await;
    server.chat(false).await;
    let ask = async |secret: &str, update: u64, text: &str| {
        let message = json!({"text": text, "from": {"id": 77}, "chat": {"id": -5}});
        let request = server.http.post(server.url("/v1/hooks/telegram/ops"));
        let request = request.header("x-telegram-bot-api-secret-token", secret);
        request.json(&json!({"update_id": update, "message": message})).send().await.unwrap()
    };
    let first: Value = ask(SECRET, 9, "/leader@bot").await.json().await.unwrap();
    assert_eq!((&first["chat_id"], &first["text"]), (&json!(-5), &json!("there is no role")));
    let again: Value = ask(SECRET, 9, "/leader@bot").await.json().await.unwrap();
    assert_eq!(again, json!({}));
    let chatter: Value = ask(SECRET, 10, "hello").await.json().await.unwrap();
    assert_eq!(chatter, json!({}));
    assert_eq!(ask("wrong", 11, "/leader").await.status(), 401);
    assert_eq!(ask("", 12, "/leader").await.status(), 401);
}

#[tokio::test]
async fn what_takes_longer_than_slack_waits_is_acknowledged_and_follows() {
    let server = Server::start().await;
    server.chat(false).await;
    // A cluster that takes the connection and never answers.
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    server.done("/v1/sources", json!({"name": "Silent", "url": url})).await;
    let command = json!({"name": "far", "trigger": "/far", "message": "show.holder",
        "sources": ["Silent"]});
    server.done("/v1/commands", command).await;
    let mut slack = Receiver::start().await;
    let reply = clawhold_api::routes::escape(&format!("{}/late", slack.url));
    let body = format!("command=%2Ffar&text=&user_id=U1&response_url={reply}");
    assert_eq!(server.slack_says(&body).await, "It takes a moment; the answer follows.");
    let got = slack.next().await;
    assert_eq!(got.path, "/late");
    let text = got.json()["blocks"][0]["text"]["text"].as_str().unwrap().to_owned();
    assert_eq!(text, "/far\nSilent: not connected: it did not answer within 3 s");
}
