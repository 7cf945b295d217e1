//! Following changes: what is missed is asked for again, and a gap is told.

use clawhold_client::ChangeEvent;
use clawhold_client::api::server::{Change, What};
use serde_json::json;

use crate::server::{Act, Server};

fn change(position: u64) -> String {
    format!(
        "event: queue\ndata: {{\"position\":{position},\"kind\":\"queue\",\"queue\":\"mail\"}}\n"
    )
}

#[tokio::test]
async fn changes_go_on_after_the_last_whole_position_when_the_connection_breaks() {
    let server = Server::start(|request| match request.target.as_str() {
        // The second change of position 6 is cut off before its id.
        "/v1/events?after=4" => {
            Act::Stream(format!(": hello\n\n{}id: 5\n\n{}\n", change(5), change(6)))
        }
        "/v1/events?after=5" => {
            Act::Stream("event: reset\ndata: {\"position\":9}\nid: 9\n\n".to_owned())
        }
        "/v1/events?after=9" => Act::Stream(format!("{}id: 10\n\n", change(10))),
        target => Act::Reply(400, json!(target)),
    })
    .await;
    let mut changes = server.client().changes(Some(4)).await.unwrap();
    let what = || What::Queue { queue: "mail".to_owned() };
    let expected = [
        ChangeEvent::Change(Change { position: 5, what: what() }),
        ChangeEvent::Change(Change { position: 6, what: what() }),
        ChangeEvent::Reset(9),
        ChangeEvent::Change(Change { position: 10, what: what() }),
    ];
    for event in expected {
        assert_eq!(changes.next().await.unwrap(), event);
    }
    assert_eq!(changes.position(), 10);
    assert!(changes.next().await.is_err(), "a refusal is told");
}
