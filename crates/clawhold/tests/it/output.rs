//! What a command prints: for people, as JSON, in colour, to a closed pipe.

use std::fs::File;
use std::io::Read;
use std::process::Stdio;

use expect_test::expect;

use crate::place::{CLAWHOLD, Place, free_port, said, wait};

#[test]
fn every_failure_is_one_document_with_its_exit_code() {
    let place = Place::new();
    let port = free_port();
    place.file("tokens", "");
    let cases = [
        ("role show nobody".to_owned(), 3, "not_found"),
        ("role show -- -x".to_owned(), 2, "out_of_range"),
        ("role lst".to_owned(), 2, "usage"),
        ("role list --colour".to_owned(), 2, "usage"),
        ("role list --limit 0".to_owned(), 2, "usage"),
        ("job show 7".to_owned(), 3, "not_found"),
        ("job cancel --queue q".to_owned(), 2, "confirmation_needed"),
        ("job add q --payload {".to_owned(), 2, "usage"),
        ("job add q --text x --run-at tomorrow".to_owned(), 2, "usage"),
        ("token new ../x --scope viewer".to_owned(), 2, "usage"),
        ("runbook add".to_owned(), 2, "usage"),
        ("role list --token-file tokens".to_owned(), 2, "usage"),
        ("role list --server nowhere".to_owned(), 2, "usage"),
        ("role list --store mysql://root:hunter2@db/x".to_owned(), 2, "usage"),
        (format!("role list --patience 1s --server http://127.0.0.1:{port}"), 6, "unreachable"),
    ];
    for (line, code, word) in cases {
        let said = place.run(&format!("{line} --json").replace("-- -x --json", "--json -- -x"));
        let document = said.document();
        assert_eq!(said.code, code, "{line}: {}", said.out);
        assert_eq!(document["error"]["exit"], code, "{line}");
        assert_eq!(document["error"]["code"], word, "{line}: {}", said.out);
        assert!(!said.out.contains("hunter2"), "{line}: {}", said.out);
        assert_eq!(said.err, "", "{line}");
    }
}

#[test]
fn a_failure_names_the_cause_and_the_next_step() {
    Place::new().check(
        "
        role show nobody
        job add q --text x --delay 5
        job add q --text x --delay 10000d
        job add q --text x --run-at 1700000000
        role set r --ttl 100ms
        role lst
        job add
        role list --nam x
        ",
        expect![[r#"
            $ clawhold role show nobody
            ! error: there is no role nobody
            [3]
            $ clawhold job add q --text x --delay 5
            ! error: invalid value '5' for '--delay <DURATION>': has a number without a unit, write 5s or 5ms; allowed is 0s to 3650d
            !   next: see the same command with --help
            [2]
            $ clawhold job add q --text x --delay 10000d
            ! error: invalid value '10000d' for '--delay <DURATION>': lies outside of what is allowed, 0s to 3650d
            !   next: see the same command with --help
            [2]
            $ clawhold job add q --text x --run-at 1700000000
            ! error: invalid value '1700000000' for '--run-at <MOMENT>': is no moment, write it as 2026-12-01T10:00:00Z or 2026-12-01T10:00:00+01:00
            !   next: see the same command with --help
            [2]
            $ clawhold role set r --ttl 100ms
            ! error: invalid value '100ms' for '--ttl <DURATION>': lies outside of what is allowed, 200ms to 1d
            !   next: see the same command with --help
            [2]
            $ clawhold role lst
            ! error: unrecognized subcommand 'lst'
            ! 
            !   tip: a similar subcommand exists: 'list'
            ! 
            ! Usage: clawhold role [OPTIONS] <COMMAND>
            !   next: see the same command with --help
            [2]
            $ clawhold job add
            ! error: the following required arguments were not provided:
            !   <--payload <JSON>|--text <STRING>|--payload-file <FILE>|--file <FILE>>
            !   <QUEUE>
            ! 
            ! Usage: clawhold job add <--payload <JSON>|--text <STRING>|--payload-file <FILE>|--file <FILE>> <QUEUE>
            !   next: see the same command with --help
            [2]
            $ clawhold role list --nam x
            ! error: unexpected argument '--nam' found
            ! 
            ! Usage: clawhold role list [OPTIONS]
            !   next: see the same command with --help
            [2]
        "#]],
    );
}

#[test]
fn what_was_typed_never_repaints_the_terminal() {
    let place = Place::new();
    let said = place.run("role list \u{1b}[2Jx\ny");
    assert_eq!(said.code, 2);
    let odd = said.err.chars().any(|c| c.is_control() && c != '\n');
    assert!(!odd, "{:?}", said.err);
}

#[test]
fn help_and_version_go_to_standard_output() {
    let place = Place::new();
    let said = place.run("job add --help");
    assert_eq!((said.code, said.err.as_str()), (0, ""));
    assert!(said.out.contains("Examples:"), "{}", said.out);
    let said = place.run("--version --json");
    assert!(said.document()["help"].as_str().unwrap().starts_with("clawhold "));
    let said = place.run("");
    assert_eq!((said.code, said.out.as_str()), (2, ""));
    assert!(said.err.contains("Usage: clawhold"), "{}", said.err);
}

#[test]
fn colour_is_asked_for_and_never_the_only_sign() {
    let place = Place::new();
    place.json("job add q --text x");
    let colored = |set: &[(&str, &str)], more: &[&str]| {
        let mut command = place.command(CLAWHOLD);
        command.args(["queue", "list"]).args(more).envs(set.iter().copied());
        said(command, b"").out.contains('\u{1b}')
    };
    assert!(!colored(&[], &[]), "a pipe has no colour");
    assert!(colored(&[], &["--color", "always"]));
    assert!(colored(&[("CLICOLOR_FORCE", "1")], &[]));
    assert!(!colored(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], &[]));
    assert!(!colored(&[("CLICOLOR_FORCE", "1")], &["--color=never"]));
    assert!(!colored(&[("CLICOLOR_FORCE", "1")], &["--json"]));
}

#[test]
fn a_closed_pipe_is_no_panic_and_a_full_disk_is_a_failure() {
    let place = Place::new();
    place.json("stream append s --text hello");
    let mut command = place.command(CLAWHOLD);
    command.args(["man"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    let code = wait(&mut child);
    let mut err = String::new();
    child.stderr.unwrap().read_to_string(&mut err).unwrap();
    assert_eq!((code, err.as_str()), (Some(0), ""));
    let full = File::options().write(true).open("/dev/full").unwrap();
    let mut command = place.command(CLAWHOLD);
    command.args(["stream", "read", "s"]).stdout(full).stderr(Stdio::piped());
    let output = command.spawn().unwrap().wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr).unwrap().contains("cannot write"));
}

#[test]
fn completions_and_manual_pages_know_every_word() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let said = place.run(&format!("completion {shell}"));
        assert_eq!(said.code, 0);
        assert!(said.out.contains("hand-over"), "{shell}");
    }
    let pages = place.json("man pages");
    let pages: Vec<_> =
        pages["pages"].as_array().unwrap().iter().map(|page| page.as_str().unwrap()).collect();
    for page in ["clawhold.1", "clawhold-role.1", "clawhold-role-hand-over.1", "clawhold-job-add.1"]
    {
        assert!(pages.contains(&page), "{pages:?}");
        assert!(place.path().join("pages").join(page).is_file());
    }
    assert!(pages.contains(&"clawhold-runbook-add.1"));
}
