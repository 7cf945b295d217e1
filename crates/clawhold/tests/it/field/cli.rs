//! Values that look like something else, and what a script gets.

use serde_json::Value;

use crate::place::Place;

/// Messages as people and programs have given them.
const MESSAGES: [&str; 14] = [
    "--- start",
    "-5",
    "--name",
    "--",
    "line one\nline two\n",
    "from a file\r\nof another system\r\n",
    "$(touch pwned) `touch pwned` ${HOME}",
    "%s %n %d {} {0} {{x}}",
    "quotes 'inside \"of\" quotes'",
    "\u{201c}curly\u{201d} \u{2018}quotes\u{2019}",
    "*?[a-z]~!#&;|<>",
    "{\"json\": true}",
    " spaces at its ends ",
    "e\u{301} is not \u{e9}",
];

#[test]
fn what_an_agent_is_told_is_kept_byte_for_byte() {
    let place = Place::new();
    let _served = place.serve("");
    assert_eq!(place.words(&["agent", "add", "--name", "A"]).code, 0);
    for message in MESSAGES {
        for words in [
            vec!["agent", "edit", "A", "--append-message", message, "--json"],
            vec!["agent", "show", "A", "--json"],
        ] {
            let said = place.words(&words);
            assert_eq!((said.code, said.err.as_str()), (0, ""), "{message:?}: {}", said.out);
            said.document();
        }
        let glued = format!("--append-message={message}");
        assert_eq!(place.words(&["agent", "edit", "A", &glued]).code, 0, "{message:?}");
        let shown = place.json("agent show A");
        let kept = shown["spec"]["messages"].as_array().unwrap();
        assert_eq!(kept.last().unwrap(), message, "{shown}");
    }
    let shown = place.json("agent show A");
    assert_eq!(shown["spec"]["messages"].as_array().unwrap().len(), MESSAGES.len(), "{shown}");
    assert!(!place.path().join("pwned").exists());
}

#[test]
fn a_message_that_is_empty_or_too_long_is_refused_in_one_document() {
    let place = Place::new();
    assert_eq!(place.words(&["agent", "add", "--name", "A"]).code, 0);
    let long = "x".repeat(100_000);
    for message in ["", " ", "\n", long.as_str()] {
        let said = place.words(&["agent", "edit", "A", "--append-message", message, "--json"]);
        let document = said.document();
        assert_eq!((said.code, said.err.as_str()), (2, ""), "{}", said.out);
        assert_eq!(document["error"]["exit"], 2, "{document}");
        let error = document["error"].to_string();
        assert!(error.contains("message"), "{error}");
    }
    assert_eq!(place.json("agent show A")["spec"]["messages"], Value::Null);
}

/// What is written for the limits of a fix, and how it is told.
const WRITTEN: [(&str, &str, Option<&str>); 14] = [
    ("--max-runs", "6 per day", Some("6 per day")),
    ("--max-runs", "6/day", Some("6 per day")),
    ("--max-runs", "6 Per Day", Some("6 per day")),
    ("--max-runs", "six per day", None),
    ("--max-runs", "0 per day", None),
    ("--max-runs", "-1 per day", None),
    ("--max-runs", "6 per  fortnight", None),
    ("--max-runs", "99999999999999999999 per day", None),
    ("--cooldown", "-5m", None),
    ("--cooldown", "--5m", None),
    ("--approval", "Auto", Some("auto")),
    ("--approval", "AUTO", Some("auto")),
    ("--approval", "autom", None),
    ("--approval", "yes", None),
];

#[test]
fn a_limit_is_told_as_it_was_read_or_refused_by_its_flag() {
    let place = Place::new();
    let _served = place.serve("");
    for (at, (flag, written, told)) in WRITTEN.iter().enumerate() {
        let name = format!("fix {at}");
        let condition = "worker.leaving = true and worker.held_jobs > 0";
        let action = "Hand every held job back before the worker stops.";
        let words = ["auto-fix", "add", "--name", &name, "--condition", condition];
        let words = [&words[..], &["--action", action, flag, written, "--json"]].concat();
        let said = place.words(&words);
        let document = said.document();
        let Some(told) = told else {
            assert_eq!(said.code, 2, "{written}: {}", said.out);
            let field = document["error"]["problem"]["field"].as_str().unwrap_or("");
            assert!(field.starts_with(&flag[2..5]), "{written}: {document}");
            continue;
        };
        assert_eq!(said.code, 0, "{written}: {}", said.out);
        let spec = &place.json(&format!("auto-fix show '{name}'"))["spec"];
        let shown = if *flag == "--approval" { &spec["approval"] } else { &spec["max_runs"][0] };
        assert_eq!(shown, told, "{written}: {spec}");
    }
}

#[test]
fn a_word_or_flag_with_a_slip_never_ends_well() {
    let place = Place::new();
    place.json("queue set q");
    for line in [
        "queue lsit",
        "queeu list",
        "queue list --jsno",
        "queue list --limit",
        "queue set q --retian 1d",
        "queue set q --retain",
        "queue set q --live-max ''",
        "queue pause",
        "job add q --text x --delya 5s",
        "auto-fix ad --name x",
        "auto-fix add --nam x",
        "agent edit",
        "role list -- --json",
    ] {
        let said = place.run(line);
        assert_eq!((said.code, said.out.as_str()), (2, ""), "{line}: {}", said.err);
        let document = place.run(&format!("--json {line}")).document();
        assert_eq!(document["error"]["exit"], 2, "{line}: {document}");
    }
    assert_eq!(place.json("status")["jobs"]["queued"], 0);
}
