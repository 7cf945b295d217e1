//! Locks that outlive their owner, and replays elsewhere.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use rustix::process::Signal;

use crate::place::{CLAWHOLD, Place, said};

/// The store of a place.
const STORE: &str = ".local/state/clawhold/clawhold.db";

/// Leaves something where the lock of a store is.
fn leave(kind: &str, lock: &Path) {
    match kind {
        "garbage" => fs::write(lock, b"\0\xff1\n").unwrap(),
        "its own pid" => fs::write(lock, std::process::id().to_string()).unwrap(),
        "the pid of init" => fs::write(lock, "1\n").unwrap(),
        "of the future" => {
            let later = SystemTime::now() + Duration::from_secs(10 * 365 * 86_400);
            File::create(lock).unwrap().set_modified(later).unwrap();
        }
        "read-only" => {
            fs::write(lock, "").unwrap();
            fs::set_permissions(lock, fs::Permissions::from_mode(0o400)).unwrap();
        }
        "a folder" => fs::create_dir(lock).unwrap(),
        kind => panic!("{kind} is nothing to leave"),
    }
}

#[test]
fn nothing_that_lies_where_the_lock_is_keeps_a_server_from_starting() {
    for kind in
        ["garbage", "its own pid", "the pid of init", "of the future", "read-only", "a folder"]
    {
        let place = Place::new();
        place.json("queue set q");
        let lock = place.path().join(format!("{STORE}.active"));
        // It may have been made by the command that is over.
        let _ = fs::remove_file(&lock);
        leave(kind, &lock);
        for _ in 0..2 {
            let served = place.serve("--hold 1s");
            assert_eq!(place.run("job add q --text x").code, 0, "{kind}");
            served.signal(Signal::KILL);
            served.end();
        }
        assert_eq!(place.json("status")["jobs"]["queued"], 2, "{kind}");
    }
}

#[test]
fn a_server_that_was_killed_is_followed_at_once_however_often() {
    let place = Place::new();
    for round in 1..=10_u64 {
        // A hold far longer than the test: only the lock tells that its owner is gone.
        let served = place.serve("--hold 1m");
        place.json("job add q --text x");
        assert_eq!(place.json("status")["server"]["epoch"], round);
        served.signal(Signal::KILL);
        served.end();
    }
    assert_eq!(place.json("status")["jobs"]["queued"], 10);
}

#[test]
fn a_replay_comes_to_the_same_state_under_any_zone_and_language() {
    let place = Place::new();
    for number in 0..5 {
        place.json(&format!("job add q --text {number} --delay 1d --unique k{number}"));
        place.json(&format!("stream append s --text {number}"));
    }
    place.json("role set r --ttl 5s");
    let position = place.json("status")["server"]["position"].as_u64().unwrap();
    let mut hashes: Vec<String> = Vec::new();
    for (zone, language) in [
        ("UTC", "C"),
        ("Pacific/Apia", "tr_TR.UTF-8"),
        ("America/St_Johns", "de_DE.UTF-8"),
        (":nonsense", "nonsense"),
    ] {
        let mut command = place.command(CLAWHOLD);
        command.args(["log", "state-at", &position.to_string(), "--json"]);
        command.env("TZ", zone).env("LC_ALL", language).env("LANG", language);
        let said = said(command, b"");
        assert_eq!(said.code, 0, "{zone} {language}: {}", said.out);
        hashes.push(said.document()["hash"].as_str().unwrap().to_owned());
    }
    hashes.dedup();
    assert_eq!(hashes.len(), 1, "{hashes:?}");
}
