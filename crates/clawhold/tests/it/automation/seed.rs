//! The eight commands that people know, typed into a shell as they stand, on a fresh install.

use std::process::Command;

use expect_test::{Expect, expect};

use crate::place::{OPENCLAW, Place, said};

/// The commands, byte for byte as people paste them.
const SEED: &str = include_str!("seed-commands.txt");

/// Returns a shell in a home with our program on PATH under the other name.
fn shell(place: &Place, line: &str) -> Command {
    let folder = std::path::Path::new(OPENCLAW).parent().unwrap();
    let mut command = place.command("/bin/sh");
    command.env("PATH", format!("{}:/usr/bin:/bin", folder.display())).arg("-c").arg(line);
    command
}

/// Types lines into a shell and compares what comes out.
fn check(place: &Place, lines: &str, expected: Expect) {
    let mut transcript = String::new();
    for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let said = said(shell(place, line), b"");
        let typed: String = line.chars().take(60).collect();
        transcript.push_str(&format!("$ {typed}\n{}", said.out));
        for line in said.err.lines() {
            transcript.push_str(&format!("! {line}\n"));
        }
        assert_eq!(said.code, 0, "{line}\n{}{}", said.out, said.err);
    }
    expected.assert_eq(&place.mask(&transcript));
}

#[test]
fn each_of_the_eight_commands_is_taken_and_says_what_became_of_each_sentence() {
    let place = Place::new();
    check(&place, SEED, expect![[""]]);
}

#[test]
fn list_and_show_tell_the_truth_about_them() {
    let place = Place::new();
    for line in SEED.lines() {
        assert_eq!(said(shell(&place, line), b"").code, 0, "{line}");
    }
    check(
        &place,
        "
        openclaw agent list
        openclaw command list
        openclaw alert-rule list
        openclaw auto-fix list
        openclaw runbook list
        openclaw runbook list --tag queue
        openclaw auto-fix show 'Promote Standby'
        openclaw runbook show 'Hand Off Leadership'
        openclaw alert-rule show 'Job Without Owner'
        openclaw command show 'leader holder'
        openclaw agent show 'DevOps Monitor'
        openclaw auto-fix history 'Promote Standby'
        ",
        expect![[""]],
    );
}

#[test]
fn a_second_time_each_is_there_already_and_the_line_that_changes_it_is_shown() {
    let place = Place::new();
    for line in SEED.lines() {
        assert_eq!(said(shell(&place, line), b"").code, 0, "{line}");
    }
    for line in SEED.lines() {
        let said = said(shell(&place, line), b"");
        if line.contains("agent edit") {
            // What it is told already is not added again.
            assert_eq!(said.code, 0, "{}", said.err);
            assert!(said.out.contains("nothing changed"), "{}", said.out);
            continue;
        }
        assert_eq!(said.code, 4, "{line}\n{}{}", said.out, said.err);
        assert!(said.err.contains(" edit \""), "{}", said.err);
        let next = said.err.lines().find_map(|line| line.strip_prefix("  next: ")).unwrap();
        let edited = crate::place::said(shell(&place, next), b"");
        assert_eq!(edited.code, 0, "{next}\n{}{}", edited.out, edited.err);
        assert!(edited.out.contains("nothing changed"), "{next}\n{}", edited.out);
    }
}

#[test]
fn the_flags_of_the_other_lessons_are_taken_as_well() {
    let place = Place::new();
    check(
        &place,
        "
        openclaw alert-route add --name \"Critical Alerts\" --severity critical --channel slack --to \"#ops-critical\" --also-page \"@oncall\"
        openclaw alert-route add --name \"All the Rest\" --severity info --channel slack --to \"#ops-info\"
        openclaw command add --name \"queue depth\" --trigger \"/queues\" --source \"AWS Production, Staging\" --message \"Show the queues.\" --announce --channel slack --to \"#ops-info\"
        openclaw alert-route list
        openclaw command show \"queue depth\"
        ",
        expect![[""]],
    );
}
