//! One store, with a server on it or without.

use std::fs;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::place::{CLAWHOLD, PATIENCE, Place, free_port, read_until, wait};

#[test]
fn without_a_server_each_command_is_one_for_a_moment_and_the_store_stays() {
    let place = Place::new();
    for number in 1..=5 {
        place.json(&format!("job add mail --text {number}"));
    }
    let jobs = place.json("job list");
    let ids: Vec<_> = jobs["items"].as_array().unwrap().iter().map(|job| &job["id"]).collect();
    assert_eq!(ids, [1, 2, 3, 4, 5]);
}

#[test]
fn a_server_that_runs_on_the_store_is_found() {
    let place = Place::new();
    let served = place.serve("");
    place.json("queue set mail");
    let status = place.json("status");
    assert_eq!(status["active_url"], served.url.as_str());
    assert_eq!(status["server"]["advertise"], served.url.as_str());
    let direct = place.json(&format!("queue list --server {}", served.url));
    assert_eq!(direct["items"][0]["name"], "mail");
}

#[test]
fn a_note_that_leads_nowhere_or_to_another_store_is_not_followed() {
    let place = Place::new();
    place.json("queue set here");
    let note = place.path().join(".local/state/clawhold/clawhold.db.url");
    fs::write(&note, format!("http://127.0.0.1:{}", free_port())).unwrap();
    assert_eq!(place.json("queue list")["items"][0]["name"], "here");
    let other = place.serve("--store sqlite:other.db");
    fs::write(&note, &other.url).unwrap();
    place.json("queue set too");
    let queues = place.json(&format!("queue list --server {}", other.url));
    assert_eq!(queues["items"].as_array().unwrap().len(), 0, "the other store is untouched");
}

#[test]
fn many_commands_at_once_share_the_store() {
    let place = Place::new();
    place.json("queue set mail");
    thread::scope(|scope| {
        for worker in 0..4 {
            let place = &place;
            scope.spawn(move || {
                for number in 0..4 {
                    place.json(&format!("job add mail --text {worker}-{number}"));
                }
            });
        }
    });
    let status = place.json("status");
    assert_eq!(status["jobs"]["queued"], 16);
}

#[test]
fn a_server_stops_in_good_order_and_the_next_one_goes_on() {
    let place = Place::new();
    for signal in [Signal::TERM, Signal::INT] {
        let served = place.serve("");
        place.json("job add mail --text x");
        served.signal(signal);
        assert_eq!(served.end(), Some(0));
    }
    let served = place.serve("");
    assert_eq!(place.json("status")["jobs"]["queued"], 2);
    served.signal(Signal::KILL);
    drop(served);
    assert_eq!(place.json("status")["jobs"]["queued"], 2, "and a killed one loses nothing");
}

#[test]
fn a_server_that_cannot_start_says_why() {
    let place = Place::new();
    let served = place.serve("");
    let address = served.url.trim_start_matches("http://");
    for (line, code, text) in [
        (format!("serve --listen {address}"), 1, "in use"),
        ("serve --listen 0.0.0.0:0".to_owned(), 2, "without tokens"),
        ("serve --listen nonsense".to_owned(), 1, "cannot listen"),
        ("serve --hold 100ms".to_owned(), 2, "500ms to 1m"),
        ("serve --advertise nonsense".to_owned(), 2, "cannot advertise"),
        ("serve --tokens gone".to_owned(), 2, "cannot read the tokens file"),
        (format!("serve --server {}", served.url), 2, "no --server"),
        ("serve --listen 127.0.0.1:0 --store sqlite:/proc/x.db".to_owned(), 1, "store"),
    ] {
        let said = place.run(&line);
        assert_eq!(said.code, code, "{line}: {}", said.err);
        assert!(said.err.contains(text), "{line}: {}", said.err);
    }
}

#[test]
fn tokens_are_asked_for_and_allow_what_their_scope_says() {
    let place = Place::new();
    let viewer = place.json("token new eva --scope viewer");
    let admin = place.json("token new ada --scope admin");
    let toml = format!("{}{}", viewer["toml"].as_str().unwrap(), admin["toml"].as_str().unwrap());
    place.file("tokens.toml", toml);
    place.file("eva", viewer["secret"].as_str().unwrap());
    place.file("ada", format!("{}\n", admin["secret"].as_str().unwrap()));
    let _served = place.serve("--tokens tokens.toml");
    for (line, code) in [
        ("queue list", 5),
        ("queue list --token-file eva", 0),
        ("queue set mail --token-file eva", 5),
        ("queue set mail --token-file ada", 0),
    ] {
        let said = place.run(line);
        assert_eq!(said.code, code, "{line}: {}{}", said.out, said.err);
    }
}

#[test]
fn an_interrupted_command_ends_with_130() {
    let place = Place::new();
    place.json("stream append s --text x");
    let mut command = place.command(CLAWHOLD);
    command
        .args(["stream", "follow", "s", "--after", "0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    read_until(child.stdout.as_mut().unwrap(), "\"x\"");
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(wait(&mut child), Some(130));
}

#[test]
fn a_command_whose_signals_are_ignored_by_whoever_started_it_is_carried_out() {
    let place = Place::new();
    place.json("stream append s --text x");
    let mut command = place.command("/bin/sh");
    let line = "trap '' TERM INT; exec \"$0\" stream follow s --after 0 --count 2";
    let mut child = command.args(["-c", line, CLAWHOLD]).stdout(Stdio::piped()).spawn().unwrap();
    read_until(child.stdout.as_mut().unwrap(), "\"x\"");
    for signal in [Signal::TERM, Signal::INT] {
        kill_process(Pid::from_child(&child), signal).unwrap();
    }
    place.json("stream append s --text y");
    read_until(child.stdout.as_mut().unwrap(), "\"y\"");
    assert_eq!(wait(&mut child), Some(0));
}

#[test]
fn an_interrupted_change_says_that_its_outcome_is_unknown() {
    let place = Place::new();
    place.json("queue set q");
    let mut command = place.command(CLAWHOLD);
    command.args(["job", "add", "q", "--file", "-"]).stdin(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let end = Instant::now() + PATIENCE;
    while !signals_are_caught(child.id()) {
        assert!(Instant::now() < end, "it does not listen for signals");
        thread::sleep(Duration::from_millis(5));
    }
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    read_until(child.stderr.as_mut().unwrap(), "whether it was carried out is unknown");
    assert_eq!(wait(&mut child), Some(130));
}

#[test]
fn a_command_goes_on_by_itself_when_the_server_it_found_is_killed() {
    let place = Place::new();
    let served = place.serve("--hold 500ms");
    place.json("stream append s --text before");
    let mut command = place.command(CLAWHOLD);
    command.args(["stream", "follow", "s", "--after", "0", "--count", "2"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    read_until(child.stdout.as_mut().unwrap(), "before");
    served.signal(Signal::KILL);
    drop(served);
    place.json("stream append s --text after");
    read_until(child.stdout.as_mut().unwrap(), "after");
    assert_eq!(wait(&mut child), Some(0));
}

#[test]
fn a_command_that_waits_for_its_input_hears_an_interrupt() {
    let place = Place::new();
    for line in ["job add q --file -", "job add q --payload-file -", "stream append s --file -"] {
        let mut command = place.command(CLAWHOLD);
        command.args(line.split_whitespace()).stdin(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.args(["--store", "sqlite:waits.db"]).spawn().unwrap();
        let end = Instant::now() + PATIENCE;
        // The command listens for signals before it connects; the payload is read before that.
        while !signals_are_caught(child.id()) {
            assert!(Instant::now() < end, "{line} never listened");
            thread::sleep(Duration::from_millis(5));
        }
        kill_process(Pid::from_child(&child), Signal::INT).unwrap();
        assert_eq!(wait(&mut child), Some(130), "{line}");
    }
}

/// Tells whether a process has handlers for SIGINT and SIGTERM.
fn signals_are_caught(process: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
    let caught = u64::from_str_radix(caught.trim(), 16).unwrap();
    caught & (1 << 1) != 0 && caught & (1 << 14) != 0
}
