//! What is proven about the servers before a log is kept on them.
//!
//! A server acknowledges a message by default before the disk has it. It tells how it is set
//! under `$SYS.REQ.SERVER.PING.VARZ`, which belongs to the system account: an account may import
//! it, or a login for the system account asks. Each server that keeps a copy is asked.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use async_nats::{Client, StatusCode};
use futures_util::StreamExt;
use serde::Deserialize;

use super::JetStreamRefusal;
use super::address::Address;
use super::link::{self, Link};
use crate::limits::{JETSTREAM_ANSWER_WAIT_MAX, RECORD_BODY_BYTES_MAX, SNAPSHOT_CHUNK_BYTES_MAX};

/// The first release that does not lose whole streams when it is killed.
const VERSION_MIN: ([u64; 3], &str) = ([2, 10, 23], "2.10.23");

/// The envelope of a record and the headers of its message, with room to spare.
const AROUND_BODY_BYTES: usize = 1024;

const _: () = assert!(SNAPSHOT_CHUNK_BYTES_MAX <= RECORD_BODY_BYTES_MAX);

const SERVERS_MAX: usize = 64;

/// What a server says about itself.
#[derive(Debug, Deserialize)]
struct Said {
    server: Server,
    data: Data,
}

#[derive(Debug, Deserialize)]
struct Server {
    name: String,
    ver: String,
}

#[derive(Debug, Deserialize)]
struct Data {
    #[serde(default)]
    jetstream: JetStream,
}

#[derive(Debug, Default, Deserialize)]
struct JetStream {
    #[serde(default)]
    config: Config,
}

#[derive(Debug, Default, Deserialize)]
struct Config {
    #[serde(default)]
    sync_always: bool,
}

/// Refuses a server that is too old or takes too little.
pub(super) fn check_server(client: &Client) -> Result<(), JetStreamRefusal> {
    let info = client.server_info();
    check_version(&info.server_name, &info.version)?;
    let needed = RECORD_BODY_BYTES_MAX + AROUND_BODY_BYTES;
    if info.max_payload < needed {
        let (server, found) = (info.server_name, info.max_payload);
        return Err(JetStreamRefusal::Payload { server, found, needed });
    }
    Ok(())
}

/// Refuses servers that acknowledge before they sync, or do not say, unless that was accepted.
///
/// `keepers` are the servers with a copy of the stream. Fewer than half of them may be down, so
/// that a log opens while they are; whoever answers must answer well.
pub(super) async fn check_sync(
    link: &Link,
    address: &Address,
    keepers: &[String],
) -> Result<(), JetStreamRefusal> {
    if address.accept_loss_window {
        return Ok(());
    }
    let said = if address.system.is_given() {
        let system = link::client(address, &address.system, Arc::new(Mutex::new(None))).await?;
        ask(&system, keepers).await
    } else {
        ask(&link.client, keepers).await
    };
    let silent: Vec<&String> =
        keepers.iter().filter(|keeper| !said.contains_key(*keeper)).collect();
    if let Some(server) = silent.first().filter(|_| keepers.len() <= silent.len() * 2) {
        return Err(JetStreamRefusal::Unproven { server: (*server).clone() });
    }
    for (keeper, said) in keepers.iter().filter_map(|keeper| said.get_key_value(keeper)) {
        check_version(keeper, &said.server.ver)?;
        if !said.data.jetstream.config.sync_always {
            return Err(JetStreamRefusal::Unsynced { server: keeper.clone() });
        }
    }
    Ok(())
}

/// Asks every server how it is set, until all of `keepers` have answered.
async fn ask(client: &Client, keepers: &[String]) -> BTreeMap<String, Said> {
    let mut heard = BTreeMap::new();
    let inbox = client.new_inbox();
    let Ok(mut answers) = client.subscribe(inbox.clone()).await else { return heard };
    let subject = "$SYS.REQ.SERVER.PING.VARZ";
    if client.publish_with_reply(subject, inbox, Vec::new().into()).await.is_err() {
        return heard;
    }
    let listen = async {
        for _ in 0..SERVERS_MAX {
            let Some(answer) = answers.next().await else { return };
            if answer.status == Some(StatusCode::NO_RESPONDERS) {
                return;
            }
            if let Ok(said) = serde_json::from_slice::<Said>(&answer.payload) {
                heard.insert(said.server.name.clone(), said);
            }
            if keepers.iter().all(|keeper| heard.contains_key(keeper)) {
                return;
            }
        }
    };
    // Whoever has not answered in time is missing from what was heard.
    let _ = tokio::time::timeout(JETSTREAM_ANSWER_WAIT_MAX, listen).await;
    heard
}

fn check_version(server: &str, found: &str) -> Result<(), JetStreamRefusal> {
    let (oldest, needed) = VERSION_MIN;
    if parse_version(found).is_some_and(|found| oldest <= found) {
        return Ok(());
    }
    Err(JetStreamRefusal::OldServer { server: server.to_owned(), found: found.to_owned(), needed })
}

/// Reads the three numbers of a version; what follows a hyphen is a release before it.
fn parse_version(text: &str) -> Option<[u64; 3]> {
    let (numbers, before) = match text.split_once('-') {
        Some((numbers, _)) => (numbers, true),
        None => (text, false),
    };
    let mut parts = numbers.split('.').map(|part| part.parse().ok());
    let version = [parts.next()??, parts.next()??, parts.next()??];
    let whole = parts.next().is_none();
    // A release candidate of the oldest version that will do is older than it.
    let candidate = before && version == VERSION_MIN.0;
    (whole && !candidate).then_some(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_old_or_new_enough_by_its_numbers() {
        for version in ["2.10.23", "2.10.100", "2.11.0-RC.1", "2.15.1", "3.0.0"] {
            assert!(check_version("n1", version).is_ok(), "{version}");
        }
        for version in ["2.9.10", "2.10.22", "2.10.23-beta.1", "1.99.99", "", "2.15", "latest"] {
            assert!(check_version("n1", version).is_err(), "{version}");
        }
    }

    #[test]
    fn a_server_that_syncs_at_intervals_does_not_say_that_it_always_does() {
        let text = r#"{"server":{"name":"n1","ver":"2.15.1"},
            "data":{"jetstream":{"config":{"sync_interval":120000000000}}}}"#;
        let said: Said = serde_json::from_str(text).unwrap();
        assert!(!said.data.jetstream.config.sync_always);
    }
}
