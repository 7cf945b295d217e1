//! Living beside another program named `openclaw`.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::Command;

use expect_test::expect;

use crate::place::{CLAWHOLD, OPENCLAW, Place, Said, said};

/// The other program: says how it was called, each argument in brackets.
const OTHER: &str =
    "#!/bin/sh\nprintf 'other'\nfor word; do printf ' [%s]' \"$word\"; done\necho\nexit 7\n";

fn call(place: &Place, path: &str, line: &str) -> Said {
    let mut command = place.command(OPENCLAW);
    command.env("PATH", path).args(line.split_whitespace());
    said(command, b"")
}

/// A place with the other program on PATH, behind a folder with our own.
fn beside_another() -> (Place, String) {
    let place = Place::new();
    place.script("theirs/openclaw", OTHER);
    fs::create_dir(place.path().join("ours")).unwrap();
    std::os::unix::fs::symlink(OPENCLAW, place.path().join("ours/openclaw")).unwrap();
    let at = |folder: &str| place.path().join(folder).display().to_string();
    let path = format!("{}:{}:/usr/bin:/bin", at("ours"), at("theirs"));
    (place, path)
}

#[test]
fn our_words_are_ours_and_every_other_word_goes_to_the_other_program() {
    let (place, path) = beside_another();
    for line in ["role list", "--json queue list", "job list", "agent edit x", "stream list"] {
        let said = call(&place, &path, line);
        assert!(!said.out.starts_with("other"), "{line}: {}", said.out);
    }
    for (line, out) in [
        ("gateway run --port 1", "other [gateway] [run] [--port] [1]\n"),
        ("status", "other [status]\n"),
        ("agent --to x", "other [agent] [--to] [x]\n"),
        ("agent", "other [agent]\n"),
        ("--version", "other [--version]\n"),
        ("", "other\n"),
        ("completion bash", "other [completion] [bash]\n"),
    ] {
        let said = call(&place, &path, line);
        assert_eq!((said.out.as_str(), said.code), (out, 7), "{line}");
    }
}

#[test]
fn its_arguments_arrive_byte_for_byte() {
    let place = Place::new();
    place.script("theirs/openclaw", "#!/bin/sh\nprintf '%s\\0' \"$0\" \"$@\" > \"$HOME/seen\"\n");
    let words: [&[u8]; 6] =
        [b"send", b"", b"two words", b"\xff\xfe\x80", b"--json=\n$(x) `y` \"z\"", b"--"];
    let mut command = place.command(OPENCLAW);
    command.env("PATH", place.path().join("theirs"));
    command.args(words.iter().map(|word| OsStr::from_bytes(word)));
    assert_eq!(said(command, b"").code, 0);
    let seen = fs::read(place.path().join("seen")).unwrap();
    let seen: Vec<&[u8]> = seen.split(|byte| *byte == 0).collect();
    assert_eq!(seen[1..], [&words[..], &[b""]].concat());
}

#[test]
fn with_nobody_else_there_it_is_our_own_word_or_a_clear_error() {
    let place = Place::new();
    let path = "/usr/bin:/bin";
    assert_eq!(call(&place, path, "status").code, 0);
    let said = call(&place, path, "gateway run");
    assert_eq!(said.code, 2);
    expect![[r#"
        error: `openclaw gateway` is no word of Clawhold, and no other `openclaw` is on PATH
          next: see `clawhold --help`; each of our words is `clawhold WORD`
    "#]]
    .assert_eq(&said.err);
    let said = call(&place, path, "gateway run --json");
    assert_eq!(said.document()["error"]["exit"], 2);
    assert_eq!(said.err, "");
}

#[test]
fn the_other_name_alone_hands_nothing_on() {
    let (place, path) = beside_another();
    let mut command = place.command(CLAWHOLD);
    command.env("PATH", path).arg("gateway");
    let said = said(command, b"");
    assert_eq!((said.out.as_str(), said.code), ("", 2));
}

#[test]
fn two_copies_of_ours_never_hand_a_call_to_each_other() {
    let (place, _) = beside_another();
    for copy in ["one", "two"] {
        fs::create_dir(place.path().join(copy)).unwrap();
        fs::copy(OPENCLAW, place.path().join(copy).join("openclaw")).unwrap();
    }
    let at = |folder: &str| place.path().join(folder).display().to_string();
    let path = format!("{}:{}", at("one"), at("two"));
    let said = call(&place, &path, "gateway");
    assert_eq!(said.code, 2, "{}{}", said.out, said.err);
    let path = format!("{}:{}:{}", at("one"), at("two"), at("theirs"));
    assert_eq!(call(&place, &path, "gateway").out, "other [gateway]\n");
}

#[test]
fn a_script_that_calls_itself_by_name_is_stopped() {
    let place = Place::new();
    place.script("loop/openclaw", "#!/bin/sh\nopenclaw \"$@\"\n");
    fs::create_dir(place.path().join("ours")).unwrap();
    std::os::unix::fs::symlink(OPENCLAW, place.path().join("ours/openclaw")).unwrap();
    let at = |folder: &str| place.path().join(folder).display().to_string();
    let path = format!("{}:{}:/usr/bin:/bin", at("ours"), at("loop"));
    let said = call(&place, &path, "gateway");
    assert_eq!(said.code, 1);
    assert!(said.err.contains("called itself 16 times"), "{}", said.err);
}

#[test]
fn a_variable_switches_handing_on_off() {
    let (place, path) = beside_another();
    let mut command = place.command(OPENCLAW);
    command.env("PATH", path).env("CLAWHOLD_PASSTHROUGH", "off").arg("gateway");
    assert_eq!(said(command, b"").code, 2);
}

#[test]
fn what_is_no_program_is_passed_over() {
    let (place, path) = beside_another();
    fs::create_dir_all(place.path().join("folder/openclaw")).unwrap();
    place.file("plain/openclaw", "not a program");
    let at = |folder: &str| place.path().join(folder).display().to_string();
    let path = format!("/nowhere::{}:{}:{path}", at("folder"), at("plain"));
    assert_eq!(call(&place, &path, "gateway").out, "other [gateway]\n");
}

#[test]
fn the_words_of_automation_are_ours_even_beside_another_program() {
    let (place, path) = beside_another();
    for line in [
        "command list",
        "alert-rule list",
        "alert-route list",
        "alert list",
        "auto-fix list",
        "runbook add --help",
        "run list",
        "channel list",
        "source list",
        "inbox list",
        "notify failed",
        "condition fields",
        "automation status",
        "export",
        "agent list",
        "agent history --help",
    ] {
        let said = call(&place, &path, line);
        assert_eq!((said.err.as_str(), said.code), ("", 0), "{line}: {}", said.out);
        assert!(!said.out.starts_with("other"), "{line}: {}", said.out);
    }
    for line in ["agents list", "channels list", "automations list", "agent exec"] {
        assert!(call(&place, &path, line).out.starts_with("other"), "{line}");
    }
}

#[test]
fn a_program_that_cannot_be_started_is_named() {
    let place = Place::new();
    let other: PathBuf = place.script("theirs/openclaw", "#!/nowhere/interpreter\n");
    let mut command: Command = place.command(OPENCLAW);
    command.env("PATH", other.parent().unwrap()).arg("gateway");
    let said = said(command, b"");
    assert_eq!(said.code, 1);
    assert!(said.err.contains(other.to_str().unwrap()), "{}", said.err);
}
