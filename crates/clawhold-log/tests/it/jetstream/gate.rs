//! Which servers and streams are refused, and what the refusal tells to do.

use std::fs;
use std::time::Duration;

use async_nats::jetstream::stream::Config;
use clawhold_log::{Append, Epoch, JetStreamRefusal, Log, LogError, Number, OpenError, TakeOver};

use super::bench;
use super::servers::{Servers, Setup, Sync, Version, open};

#[test]
fn debians_server_is_refused_by_its_version_even_when_loss_is_accepted() {
    let servers =
        Servers::with(1, Setup { version: Version::Debian, sync: Sync::Later, ..Setup::default() });
    for url in [servers.url("LOG"), format!("{}&accept_loss_window=true", servers.url("LOG"))] {
        let error = refused(&url);
        let old = matches!(&error, JetStreamRefusal::OldServer { found, .. } if found == "2.9.10");
        assert!(old, "{error:?}");
        let text = "NATS server n0 has version 2.9.10, a log needs 2.10.23 or later";
        assert!(error.to_string().starts_with(text), "{error}");
    }
}

#[test]
fn a_server_that_syncs_later_is_refused_unless_loss_is_accepted() {
    let servers = Servers::with(1, Setup { sync: Sync::Later, ..Setup::default() });
    let error = refused(&servers.url("LOG"));
    assert!(matches!(&error, JetStreamRefusal::Unsynced { server } if server == "n0"), "{error:?}");
    assert!(error.to_string().contains("set sync_interval: always"), "{error}");
    let accepted = format!("{}&accept_loss_window=true", servers.url("LOG"));
    assert!(open(&accepted).unwrap().head().is_ok());
}

#[test]
fn one_server_of_a_cluster_that_syncs_later_is_enough_to_refuse() {
    let servers = Servers::with(3, Setup { sync: Sync::Later, ..Setup::default() });
    let error = refused(&servers.url("LOG"));
    assert!(matches!(error, JetStreamRefusal::Unsynced { .. }), "{error:?}");
}

#[test]
fn a_server_that_does_not_tell_how_it_syncs_is_refused_unless_the_system_account_says_it() {
    let servers = Servers::with(1, Setup { tells: false, ..Setup::default() });
    let error = refused(&servers.url("LOG"));
    assert!(matches!(&error, JetStreamRefusal::Unproven { server } if server == "n0"), "{error:?}");
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("password");
    fs::write(&path, "admin-secret\n").unwrap();
    let asked =
        format!("{}&system_user=admin&system_password_file={}", servers.url("LOG"), path.display());
    assert!(open(&asked).unwrap().head().is_ok());
}

#[test]
fn a_server_that_takes_too_little_in_a_message_is_refused() {
    let servers = Servers::with(1, Setup { max_payload_bytes: 500_000, ..Setup::default() });
    let error = refused(&servers.url("LOG"));
    assert!(matches!(error, JetStreamRefusal::Payload { found: 500_000, .. }), "{error:?}");
    assert!(error.to_string().contains("set max_payload to 1MB"), "{error}");
}

#[test]
fn a_wrong_password_or_address_is_named_without_the_password() {
    let servers = Servers::one();
    let wrong = servers.url("LOG").replace("app-secret", "hunter2");
    let error = refused(&wrong);
    assert!(matches!(error, JetStreamRefusal::Unreachable { .. }), "{error:?}");
    let nobody = "nats://app:hunter2@127.0.0.1:9";
    for error in [error, refused(nobody)] {
        let said = format!("{error} {error:?}");
        assert!(said.contains("127.0.0.1:") && !said.contains("hunter2"), "{said}");
    }
}

#[test]
fn the_rights_that_the_documentation_gives_are_enough() {
    let servers = Servers::with(1, Setup { bounded: true, ..Setup::default() });
    let mut log = open(&servers.url("LOG")).unwrap();
    assert!(matches!(log.take_over(Epoch(1), b"lead").unwrap(), TakeOver::Done { .. }));
    for number in 2..=20 {
        assert_eq!(log.append(Number(number), Epoch(1), b"job").unwrap(), Append::Done);
    }
    let mut follower = log.another().unwrap();
    assert!(follower.wait(Number(19), Duration::from_secs(20)).unwrap());
    assert_eq!(follower.read(Number(1), usize::MAX).unwrap().len(), 20);
    for at in [8, 12, 15] {
        let mut chunks = std::iter::once(b"state".to_vec());
        log.put_snapshot(Number(at), Epoch(1), &mut chunks).unwrap();
    }
    assert_eq!(follower.latest_snapshot().unwrap().unwrap().at, Number(15));
    assert_eq!(log.trim(Number(20)).unwrap(), 12);
}

#[test]
fn a_right_that_is_missing_is_named_in_the_cause() {
    let servers = Servers::with(1, Setup { bounded: true, ..Setup::default() });
    let LogError::Engine(cause) = open(&servers.url("OTHER")).unwrap_err() else {
        panic!("it is the engine that refuses")
    };
    let cause = cause.to_string().to_lowercase();
    let named = "permissions violation for publish to \"$js.api.consumer.create.other.follower-";
    assert!(cause.contains(named), "{cause}");
}

#[test]
fn an_encrypted_connection_is_made_with_the_certificate_that_is_named_and_not_without() {
    let servers = Servers::with(1, Setup { encrypted: true, ..Setup::default() });
    let url = servers.url("LOG").replace("nats://", "tls://");
    let trusted = format!("{url}&tls_ca={}", servers.authority().display());
    assert!(open(&trusted).unwrap().head().is_ok());
    let error = refused(&url);
    assert!(matches!(error, JetStreamRefusal::Unreachable { .. }), "{error:?}");
}

#[test]
fn a_stream_of_another_program_is_refused_and_left_alone() {
    let servers = Servers::one();
    let url = servers.url("ORDERS");
    bench::make(&url, Config::from("ORDERS"));
    bench::publish(&url, "ORDERS".to_owned(), b"an order");
    let error = refused(&url);
    assert!(matches!(&error, JetStreamRefusal::Foreign { .. }), "{error:?}");
    assert!(error.to_string().contains("name another in the log URL"), "{error}");
    bench::publish(&url, "ORDERS".to_owned(), b"another order");
}

#[test]
fn a_stream_that_somebody_made_forgetful_is_refused() {
    let servers = Servers::one();
    drop(servers.log("LOG"));
    bench::edit(&servers.url("LOG"), "LOG", |config| config.max_messages = 100);
    let error = refused(&servers.url("LOG"));
    let setting = matches!(&error, JetStreamRefusal::Setting { setting: "max_msgs", .. });
    assert!(setting, "{error:?}");
}

#[test]
fn fewer_copies_than_asked_for_are_refused() {
    let servers = Servers::one();
    drop(servers.log("LOG"));
    let error = refused(&format!("{}&replicas=3", servers.url("LOG")));
    assert!(matches!(error, JetStreamRefusal::Replicas { found: 1, asked: 3, .. }), "{error:?}");
}

#[test]
fn a_cluster_keeps_three_copies_unless_asked_otherwise() {
    let servers = Servers::three();
    drop(servers.log("LOG"));
    assert_eq!(bench::replicas(&servers.url("LOG"), "LOG"), 3);
    assert_eq!(bench::replicas(&servers.url("LOG"), "LOG_SNAPSHOTS"), 3);
    drop(open(&format!("{}&replicas=1", servers.url("SMALL"))).unwrap());
    assert_eq!(bench::replicas(&servers.url("SMALL"), "SMALL"), 1);
}

fn refused(url: &str) -> JetStreamRefusal {
    let LogError::Open(OpenError::JetStream(refusal)) = open(url).unwrap_err() else {
        panic!("{url}")
    };
    refusal
}
