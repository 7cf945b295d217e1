//! `drill`: the whole of it, on real processes and a few real files.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::process::Stdio;

use rustix::process::Signal;

use crate::lead::{kill, until};
use crate::place::{CLAWHOLD, Place, wait};

/// Runs a drill on the folder `files` and returns its document.
fn drill(place: &Place, flags: &str) -> serde_json::Value {
    let said = place.run(&format!("drill files {flags} --json"));
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
    let report = said.document();
    assert_eq!(report["ok"], true, "{report}");
    let failed = report["checks"].as_array().unwrap().iter().filter(|check| check["ok"] != true);
    assert_eq!(failed.count(), 0, "{report}");
    report
}

fn faults(report: &serde_json::Value) -> Vec<String> {
    let events = report["timeline"].as_array().unwrap().iter();
    let whats = events.filter_map(|event| event["what"].as_str()?.strip_prefix("FAULT: "));
    whats.map(|what| what.split(" in the middle").next().unwrap().to_owned()).collect()
}

#[test]
fn a_drill_on_a_folder_of_odd_files_keeps_every_promise() {
    let place = Place::new();
    for number in 0..23 {
        place.file(&format!("files/{number}/ü {number}%.txt"), "line\n".repeat(number * 1_000));
    }
    fs::write(place.path().join("files").join(OsStr::from_bytes(b"odd\xff\nname")), "x").unwrap();
    place.file("files/empty", "");
    let closed = place.file("files/closed", "only root reads this");
    fs::set_permissions(closed, fs::Permissions::from_mode(0o000)).unwrap();
    std::os::unix::fs::symlink("empty", place.path().join("files/link")).unwrap();
    let _socket = UnixListener::bind(place.path().join("files/socket")).unwrap();
    let report = drill(&place, "--seed 3");
    assert_eq!(report["files"], 26);
    let faults = faults(&report);
    assert_eq!(faults.len(), 5, "{faults:?}");
    let leads = report["timeline"].as_array().unwrap().iter().filter(|e| e["what"] == "leads");
    let tokens: Vec<u64> = leads.map(|event| event["token"].as_u64().unwrap()).collect();
    assert!(tokens.len() >= 3 && tokens.is_sorted(), "{tokens:?}");
}

#[test]
fn a_drill_without_files_and_with_one_has_every_fault_too() {
    let place = Place::new();
    fs::create_dir(place.path().join("files")).unwrap();
    let report = drill(&place, "--seed 1");
    assert_eq!((report["files"].as_u64(), faults(&report).len()), (Some(0), 5));
    place.file("files/one", "1\n2\n");
    let report = drill(&place, "--seed 2");
    assert_eq!((report["files"].as_u64(), faults(&report).len()), (Some(1), 5));
}

#[test]
fn an_interrupted_drill_leaves_nothing_behind() {
    let place = Place::new();
    place.file("files/one", "1");
    let scratch = place.path().join("scratch");
    fs::create_dir(&scratch).unwrap();
    let mut command = place.command(CLAWHOLD);
    command.args(["drill", "files"]).env("TMPDIR", &scratch);
    let mut drill = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until("the workers to start", || (running(&scratch, "work") >= 4).then_some(()));
    kill(drill.id(), Signal::INT);
    assert_eq!(wait(&mut drill), Some(130));
    until("every process to end", || (running(&scratch, "") == 0).then_some(()));
    assert_eq!(fs::read_dir(&scratch).unwrap().count(), 0);
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let said = Place::new().run("drill no/such/folder");
    assert_eq!(said.code, 2);
    assert!(said.err.contains("cannot list the folder \"no/such/folder\""), "{}", said.err);
}

/// Returns how many processes live whose environment names `scratch` and whose first argument
/// is `word`.
fn running(scratch: &std::path::Path, word: &str) -> usize {
    let scratch = scratch.as_os_str().as_bytes();
    let names_it = |pid: &str| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.windows(scratch.len()).any(|part| part == scratch)
    };
    let first = |pid: &str| {
        let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let word = words.split(|byte| *byte == 0).nth(1).unwrap_or_default().to_owned();
        String::from_utf8_lossy(&word).into_owned()
    };
    let own = std::process::id().to_string();
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().into_string().ok());
    pids.filter(|pid| pid.bytes().all(|b| b.is_ascii_digit()) && *pid != own)
        .filter(|pid| names_it(pid) && (word.is_empty() || first(pid) == word))
        .count()
}
