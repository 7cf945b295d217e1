//! Sinks as they are met: real receivers on loopback.

use serde_json::{Value, json};

use super::Server;
use super::receiver::{Receiver, mail_server};
use crate::signature;

impl Server {
    /// Makes a channel with a sink.
    pub(super) async fn channel(&self, name: &str, sink: Value) {
        self.done("/v1/channels", json!({"name": name, "sink": sink})).await;
    }

    /// Writes a message to a channel by trying it, without waiting for its sink.
    pub(super) fn tell(&self, channel: &str) {
        let path = format!("/v1/channels/{}/test", clawhold_api::routes::escape(channel));
        let request = self.http.post(self.url(&path)).json(&json!({}));
        tokio::spawn(async move { request.send().await });
    }

    async fn deliveries(&self, state: &str) -> Vec<Value> {
        let page = self.read(&format!("/v1/deliveries?state={state}")).await;
        page["items"].as_array().unwrap().clone()
    }

    async fn until(&self, path: &str, holds: impl Fn(&Value) -> bool) -> Value {
        for _ in 0..2_000 {
            let seen = self.read(path).await;
            if holds(&seen) {
                return seen;
            }
            crate::clock::pause(std::time::Duration::from_millis(10)).await;
        }
        panic!("{path} does not become what it should")
    }
}

#[tokio::test]
async fn a_message_reaches_slack_as_text_and_is_delivered_once() {
    let server = Server::start().await;
    let mut slack = Receiver::start().await;
    let url = format!("{}/services/T/B/secret", slack.url);
    server.channel("#ops", json!({"kind": "slack", "url": url})).await;
    let tested = server.done("/v1/channels/%23ops/test", json!({})).await;
    assert_eq!(tested["ok"], true, "{tested}");
    let got = slack.next().await;
    assert_eq!(got.path, "/services/T/B/secret");
    assert_eq!(got.json()["blocks"][0]["text"]["type"], "plain_text");
    assert!(got.json()["text"].as_str().unwrap().starts_with("Test of #ops"));
    let inbox = server.read("/v1/inbox?channel=%23ops").await;
    assert_eq!(inbox["items"][0]["delivery"], "delivered");
    assert!(!slack.has_more());
    let shown = server.read("/v1/channels/%23ops").await;
    assert_eq!(shown["spec"]["sink"]["url"], "(hidden)");
    assert!(!shown.to_string().contains("secret/") && !shown.to_string().contains("services"));
}

#[tokio::test]
async fn a_webhook_is_signed_and_tried_again_with_the_same_key() {
    let server = Server::start().await;
    let mut hook = Receiver::start().await;
    hook.answer(&[(500, None)]);
    let sink = json!({"kind": "webhook", "url": hook.url, "secret": "s3cret"});
    server.channel("#hook", sink).await;
    server.tell("#hook");
    let (first, second) = (hook.next().await, hook.next().await);
    assert_eq!(first.header("idempotency-key"), second.header("idempotency-key"));
    assert!(!first.header("idempotency-key").is_empty());
    assert_eq!(first.body, second.body);
    let now_s = crate::clock::now().at.0 / 1_000;
    for got in [&first, &second] {
        let header = got.header(signature::HEADER);
        assert!(signature::check_header(b"s3cret", now_s, header, &got.body).is_some());
        assert!(signature::check_header(b"other", now_s, header, &got.body).is_none());
    }
    server.until("/v1/deliveries", |page| page["items"] == json!([])).await;
}

#[tokio::test]
async fn a_sink_that_asks_to_be_left_alone_is() {
    let server = Server::start().await;
    let mut hook = Receiver::start().await;
    hook.answer(&[(429, Some("3600"))]);
    server.channel("#hook", json!({"kind": "webhook", "url": hook.url})).await;
    server.tell("#hook");
    hook.next().await;
    let page = server
        .until("/v1/deliveries?state=waiting", |page| page["items"][0]["failures"] == 1)
        .await;
    let next: jiff::Timestamp = page["items"][0]["next"].as_str().unwrap().parse().unwrap();
    let wait_ms = next.as_millisecond() - i64::try_from(crate::clock::now().at.0).unwrap();
    assert!((3_500_000..=3_600_000).contains(&wait_ms), "{wait_ms} ms");
}

#[tokio::test]
async fn what_a_sink_refuses_is_a_dead_letter_and_can_be_tried_again() {
    let server = Server::start().await;
    let mut hook = Receiver::start().await;
    hook.answer(&[(404, None)]);
    server.channel("#hook", json!({"kind": "discord", "url": hook.url})).await;
    let tested = server.done("/v1/channels/%23hook/test", json!({})).await;
    assert_eq!(tested["ok"], false, "{tested}");
    hook.next().await;
    let failed = server.deliveries("failed").await;
    assert_eq!(failed.len(), 1);
    assert!(failed[0]["error"].as_str().unwrap().contains("404"));
    let path = format!("/v1/deliveries/{}/retry", failed[0]["message"]);
    server.done(&path, json!({})).await;
    let got = hook.next().await;
    assert_eq!(got.json()["allowed_mentions"], json!({"parse": []}));
    server.until("/v1/deliveries", |page| page["items"] == json!([])).await;
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let server = Server::start().await;
    let mut hook = Receiver::start().await;
    hook.answer(&[(302, None)]);
    server.channel("#hook", json!({"kind": "webhook", "url": hook.url})).await;
    let tested = server.done("/v1/channels/%23hook/test", json!({})).await;
    assert_eq!(tested["ok"], false);
    hook.next().await;
    assert!(!hook.has_more());
    assert!(server.deliveries("failed").await[0]["error"].as_str().unwrap().contains("redirect"));
}

#[tokio::test]
async fn a_dead_sink_holds_up_neither_others_nor_its_own_order() {
    let server = Server::start().await;
    let (mut dead, mut live) = (Receiver::start().await, Receiver::start().await);
    dead.answer(&[(503, None), (503, None)]);
    server.channel("#dead", json!({"kind": "webhook", "url": dead.url})).await;
    server.channel("#live", json!({"kind": "webhook", "url": live.url})).await;
    server.tell("#dead");
    dead.next().await;
    server.tell("#dead");
    let tested = server.done("/v1/channels/%23live/test", json!({})).await;
    assert_eq!(tested["ok"], true);
    live.next().await;
    // The first goes on until it is taken; only then the second follows.
    let (again, third, second) = (dead.next().await, dead.next().await, dead.next().await);
    let number = |got: &super::receiver::Got| got.json()["message"].as_u64().unwrap();
    assert_eq!(number(&again), number(&third));
    assert!(number(&second) > number(&third));
}

#[tokio::test]
async fn mail_and_telegram_get_plain_text() {
    let server = Server::start().await;
    let (mail, taken) = mail_server().await;
    let sink = json!({"kind": "mail", "server": mail, "from": "ops@example.org",
        "to": ["dana@example.org"]});
    server.channel("#mail", sink).await;
    let tested = server.done("/v1/channels/%23mail/test", json!({})).await;
    assert_eq!(tested["ok"], true, "{tested}");
    let text = taken.await.unwrap();
    assert!(text.contains("Subject: Test of #mail") && text.contains("To: dana@example.org"));
    let mut bot = Receiver::start().await;
    let sink = json!({"kind": "telegram", "token": "1:abc", "chat": "-7", "base": bot.url});
    server.channel("#bot", sink).await;
    server.done("/v1/channels/%23bot/test", json!({})).await;
    let got = bot.next().await;
    assert_eq!(got.path, "/bot1:abc/sendMessage");
    assert_eq!((&got.json()["chat_id"], got.json().get("parse_mode")), (&json!("-7"), None));
}

#[tokio::test]
async fn a_channel_without_a_sink_is_read_in_the_inbox() {
    let server = Server::start().await;
    server.done("/v1/channels", json!({"name": "#ops-info"})).await;
    let tested = server.done("/v1/channels/%23ops-info/test", json!({})).await;
    assert_eq!(tested["ok"], true);
    assert_eq!(server.read("/v1/status").await["unread"], 1);
    let inbox = server.read("/v1/inbox?unread=true").await;
    assert_eq!(inbox["items"][0]["delivery"], "inbox");
    let read = server.done("/v1/inbox/read", json!({"through": inbox["items"][0]["id"]})).await;
    assert_eq!(read["unread"], 0);
}
