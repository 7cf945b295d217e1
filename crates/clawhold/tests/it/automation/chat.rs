//! A runbook that is started from Slack: only a signed request of now starts it, and once.

use std::time::{SystemTime, UNIX_EPOCH};

use super::runbook::REBALANCING;
use super::scene::{LONG_JOB, Process, REBALANCE, Scene, assert_in_order};
use super::sink::{Answer, Receiver, post, sign};

const SECRET: &str = "8f742231b10e8888abcd99yyyzzz85a5";

/// One slash command as Slack sends it.
struct Slash {
    at: u64,
    body: String,
}

impl Slash {
    fn new(text: &str, user: &str, response_url: &str) -> Self {
        let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let body = format!(
            "command=%2Frunbook&text={text}&user_id={user}&user_name=dana&response_url={}",
            response_url.replace(':', "%3A").replace('/', "%2F")
        );
        Self { at, body }
    }

    /// Sends it with the signature that `secret` makes.
    fn send(&self, scene: &Scene, secret: &str) -> Answer {
        let signature = sign(secret, &format!("v0:{}:{}", self.at, self.body));
        let headers = [
            ("content-type", "application/x-www-form-urlencoded"),
            ("x-slack-request-timestamp", &self.at.to_string()),
            ("x-slack-signature", &format!("v0={signature}")),
        ];
        post(&scene.served.url, "/v1/hooks/slack/ops-info", &headers, &self.body)
    }
}

#[test]
fn a_signed_slash_command_rebalances_once_and_its_result_goes_where_slack_wants_it() {
    let channel =
        format!("openclaw channel add '#ops-info' --signing {SECRET} --user U024BE7LH=dana");
    let scene = Scene::with(&[REBALANCE, &channel]);
    let receiver = Receiver::at(0);
    let ids = scene.add(3);
    let leaving = Process::work(&scene, "w-3", "--concurrency 3 --ttl 1s", LONG_JOB);
    leaving.wrote_lines(3);
    let staying = Process::work(&scene, "w-2", "--concurrency 9 --ttl 1s", LONG_JOB);

    let text = "rebalance+worker%3Dw-3";
    let slash = Slash::new(text, "U024BE7LH", &receiver.url);
    let forged = slash.send(&scene, "another secret");
    assert_eq!(forged.status, 401, "{forged:?}");
    let old = Slash { at: slash.at - 301, body: slash.body.clone() }.send(&scene, SECRET);
    assert_eq!(old.status, 401, "{old:?}");
    let stranger = Slash::new(text, "U99", &receiver.url).send(&scene, SECRET);
    assert_eq!(stranger.status, 200);
    assert!(stranger.body.contains("your id is U99"), "{stranger:?}");
    assert_eq!(scene.runs("Rebalance Workers").len(), 0);

    let answer = slash.send(&scene, SECRET);
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(answer.body.contains("Rebalance Workers"), "{answer:?}");
    let run = scene.ended("Rebalance Workers");
    assert_in_order(&run, &REBALANCING);
    assert_eq!((run.actor.as_deref(), run.origin.as_str()), (Some("dana"), "trigger"));
    assert_eq!(run.returned, ids);
    staying.wrote_lines(3);
    let told = receiver.wait_for("succeeded");
    for step in REBALANCING {
        assert!(told.body.contains(step), "{step}: {}", told.body);
    }

    let replayed = slash.send(&scene, SECRET);
    assert_eq!(replayed.status, 200);
    let same = format!("run {} of ", run.id);
    assert!(answer.body.contains(&same) && replayed.body.contains(&same), "{replayed:?}");
    assert_eq!(scene.runs("Rebalance Workers").len(), 1, "and nothing was done again");
    assert_eq!(receiver.received().len(), 1, "{:?}", receiver.received());
}
