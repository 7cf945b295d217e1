//! The two streams of a log: made by this program, and checked each time a log is opened.
//!
//! Messages are kept in files until they are purged, whatever their age or number; a stream that
//! is full refuses the new and keeps the old, and no single message can be deleted. Direct gets
//! are off, since a copy that lags behind answers them too.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use async_nats::jetstream::context::RequestError;
use async_nats::jetstream::stream::{
    Config, DiscardPolicy, Info, PersistenceMode, RetentionPolicy, StorageType, Stream,
};
use async_nats::jetstream::{self, ErrorCode};

use super::JetStreamRefusal;
use super::address::Address;
use super::link::Link;
use crate::limits::{JETSTREAM_RECONNECT_PAUSE_MAX, OPEN_WAIT_MAX};

/// Under this name a stream says which version of this program's layout it has.
const STORE_VERSION_KEY: &str = "clawhold.store";

/// The version of the layout. A later one gets the next number; none is used twice.
const STORE_VERSION: &str = "1";

/// How many copies are made where several servers form a cluster and nobody said how many.
const REPLICAS_IN_CLUSTER: usize = 3;

/// No message carries an id, so there is nothing to remember; the server wants some window.
const DUPLICATE_WINDOW: Duration = Duration::from_secs(1);

type Cause = Box<dyn std::error::Error + Send + Sync>;

/// Makes the streams that are not there, checks both, and returns the servers that keep copies
/// of the records.
pub(super) async fn prepare(
    link: &Link,
    address: &Address,
) -> Result<Vec<String>, JetStreamRefusal> {
    let subjects = &link.subjects;
    let records = vec![subjects.record.clone(), subjects.takeover.clone()];
    let info = prepare_one(link, address, &link.records, &subjects.records_stream, records).await?;
    let pieces = vec![format!("{}*", subjects.piece), subjects.kept.clone()];
    prepare_one(link, address, &link.snapshots, &subjects.snapshots_stream, pieces).await?;
    Ok(keepers(link, &info))
}

async fn prepare_one(
    link: &Link,
    address: &Address,
    stream: &Stream<()>,
    name: &str,
    subjects: Vec<String>,
) -> Result<Info, JetStreamRefusal> {
    let failed =
        |what, source: Cause| JetStreamRefusal::Stream { stream: name.to_owned(), what, source };
    let wanted = config(link, address, name, subjects);
    let started = Instant::now();
    let info = loop {
        let error = match stream.get_info().await {
            Ok(info) => break info,
            Err(error) => error,
        };
        match answer(&error) {
            Some(ErrorCode::STREAM_NOT_FOUND) => {
                let made = link.context.create_stream(&wanted).await;
                made.map_err(|source| failed("make", Box::new(source)))?;
            }
            Some(
                ErrorCode::JETSTREAM_NOT_ENABLED | ErrorCode::JETSTREAM_NOT_ENABLED_FOR_ACCOUNT,
            ) => {
                return Err(no_jetstream(link, error));
            }
            // A stream whose servers have yet to agree on its leader does not answer.
            None if started.elapsed() < OPEN_WAIT_MAX => {
                tokio::time::sleep(JETSTREAM_RECONNECT_PAUSE_MAX).await;
            }
            None => return Err(no_jetstream(link, error)),
            Some(_) => return Err(failed("show", Box::new(error))),
        }
    };
    check(&info.config, &wanted, address)?;
    Ok(info)
}

fn no_jetstream(link: &Link, error: RequestError) -> JetStreamRefusal {
    let server = link.client.server_info().server_name;
    JetStreamRefusal::NoJetStream { server, source: Box::new(error) }
}

/// Returns the code of an answer that is an error; `None` if there was no answer.
fn answer(error: &RequestError) -> Option<ErrorCode> {
    let answer = std::error::Error::source(error)?.downcast_ref::<jetstream::Error>()?;
    Some(answer.error_code())
}

fn config(link: &Link, address: &Address, name: &str, subjects: Vec<String>) -> Config {
    let clustered = link.client.server_info().cluster.is_some_and(|name| !name.is_empty());
    let replicas = if clustered { REPLICAS_IN_CLUSTER } else { 1 };
    let version = (STORE_VERSION_KEY.to_owned(), STORE_VERSION.to_owned());
    Config {
        name: name.to_owned(),
        subjects,
        description: Some("The log of clawhold; only its servers write here.".to_owned()),
        retention: RetentionPolicy::Limits,
        storage: StorageType::File,
        discard: DiscardPolicy::New,
        max_messages: -1,
        max_messages_per_subject: -1,
        max_bytes: -1,
        max_consumers: -1,
        num_replicas: address.replicas.unwrap_or(replicas),
        duplicate_window: DUPLICATE_WINDOW,
        deny_delete: true,
        allow_direct: false,
        metadata: HashMap::from([version]),
        ..Config::default()
    }
}

/// Compares what a stream is with what a log needs.
fn check(found: &Config, wanted: &Config, address: &Address) -> Result<(), JetStreamRefusal> {
    let stream = || wanted.name.clone();
    match found.metadata.get(STORE_VERSION_KEY) {
        None => return Err(JetStreamRefusal::Foreign { stream: stream() }),
        Some(version) if version != STORE_VERSION => {
            let (found, known) = (version.clone(), STORE_VERSION);
            return Err(JetStreamRefusal::NewerStore { stream: stream(), found, known });
        }
        Some(_) => {}
    }
    if let Some((setting, found, needed)) = faults(found, wanted).into_iter().next() {
        return Err(JetStreamRefusal::Setting { stream: stream(), setting, found, needed });
    }
    let (found, asked) = (found.num_replicas, address.replicas.unwrap_or(0));
    if found < asked {
        return Err(JetStreamRefusal::Replicas { stream: stream(), found, asked });
    }
    Ok(())
}

/// Returns the settings that a log cannot live with: name, what it is, what it must be.
fn faults(found: &Config, wanted: &Config) -> Vec<(&'static str, String, String)> {
    let mut faults = Vec::new();
    let mut must = |setting, holds: bool, found: String, needed: &str| {
        if !holds {
            faults.push((setting, found, needed.to_owned()));
        }
    };
    let mut sorted = found.subjects.clone();
    sorted.sort_unstable();
    let mut needed = wanted.subjects.clone();
    needed.sort_unstable();
    must("subjects", sorted == needed, sorted.join(" "), &needed.join(" "));
    let (storage, retention) = (found.storage, found.retention);
    must("storage", storage == StorageType::File, format!("{storage:?}"), "File");
    must("retention", retention == RetentionPolicy::Limits, format!("{retention:?}"), "Limits");
    must("discard", found.discard == DiscardPolicy::New, format!("{:?}", found.discard), "New");
    must("max_age", found.max_age.is_zero(), format!("{:?}", found.max_age), "0");
    let (messages, per_subject) = (found.max_messages, found.max_messages_per_subject);
    must("max_msgs", messages <= 0, messages.to_string(), "-1");
    must("max_msgs_per_subject", per_subject <= 0, per_subject.to_string(), "-1");
    let size = found.max_message_size;
    must("max_msg_size", size <= 0, size.to_string(), "-1");
    let persistence = found.persist_mode;
    let sync = persistence != Some(PersistenceMode::Async);
    must("persist_mode", sync, format!("{persistence:?}"), "default");
    must("deny_delete", found.deny_delete, "false".to_owned(), "true");
    let others = [
        ("deny_purge", found.deny_purge),
        ("no_ack", found.no_ack),
        ("sealed", found.sealed),
        ("allow_rollup_hdrs", found.allow_rollup),
        ("allow_msg_ttl", found.allow_message_ttl),
        ("allow_msg_counter", found.allow_message_counter),
        ("allow_msg_schedules", found.allow_message_schedules),
        ("mirror", found.mirror.is_some()),
        ("sources", found.sources.as_ref().is_some_and(|sources| !sources.is_empty())),
        ("subject_transform", found.subject_transform.is_some()),
    ];
    for (setting, on) in others {
        must(setting, !on, "on".to_owned(), "off");
    }
    faults
}

fn keepers(link: &Link, info: &Info) -> Vec<String> {
    let Some(cluster) = info.cluster.as_ref().filter(|cluster| cluster.leader.is_some()) else {
        return vec![link.client.server_info().server_name];
    };
    let others = cluster.replicas.iter().map(|peer| peer.name.clone());
    cluster.leader.iter().cloned().chain(others).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted() -> Config {
        Config {
            name: "CLAWHOLD".to_owned(),
            subjects: vec!["b".to_owned(), "a".to_owned()],
            discard: DiscardPolicy::New,
            max_messages: -1,
            max_messages_per_subject: -1,
            num_replicas: 1,
            deny_delete: true,
            metadata: HashMap::from([(STORE_VERSION_KEY.to_owned(), STORE_VERSION.to_owned())]),
            ..Config::default()
        }
    }

    fn refusal(change: impl FnOnce(&mut Config), replicas: Option<usize>) -> String {
        let mut found = wanted();
        change(&mut found);
        let address = Address { replicas, ..Address::default() };
        check(&found, &wanted(), &address)
            .map_or_else(|error| error.to_string(), |()| String::new())
    }

    #[test]
    fn a_stream_as_it_was_made_is_taken() {
        assert_eq!(refusal(|found| found.subjects.reverse(), Some(1)), "");
        assert_eq!(refusal(|found| found.max_bytes = 1 << 30, None), "");
    }

    #[test]
    fn a_stream_that_was_changed_is_refused_by_the_name_of_the_setting() {
        let age = refusal(|found| found.max_age = Duration::from_secs(9), None);
        assert!(age.contains("CLAWHOLD has max_age = 9s, a log needs 0"), "{age}");
        let old = refusal(|found| found.discard = DiscardPolicy::Old, None);
        assert!(old.contains("discard = Old, a log needs New"), "{old}");
        let quick = refusal(|found| found.persist_mode = Some(PersistenceMode::Async), None);
        assert!(quick.contains("persist_mode"), "{quick}");
        let memory = refusal(|found| found.storage = StorageType::Memory, None);
        assert!(memory.contains("storage = Memory, a log needs File"), "{memory}");
    }

    #[test]
    fn a_stream_of_another_program_or_version_or_with_fewer_copies_is_refused() {
        let foreign = refusal(|found| found.metadata.clear(), None);
        assert!(foreign.contains("was not made by this program"), "{foreign}");
        let newer = refusal(
            |found| drop(found.metadata.insert(STORE_VERSION_KEY.to_owned(), "2".to_owned())),
            None,
        );
        assert!(newer.contains("has store version 2"), "{newer}");
        let fewer = refusal(|_| {}, Some(3));
        assert!(fewer.contains("has 1 replicas and 3 are asked for"), "{fewer}");
    }
}
