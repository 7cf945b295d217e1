//! Text that forges lines or repaints the terminal: refused as a name, written out elsewhere.

use crate::place::Place;

/// What hides, recolours or forges what an operator reads.
const HOSTILE: [&str; 9] = [
    "a\n99  root  remove role billing  done",
    "a\r\u{1b}[2Kforged",
    "\u{1b}[2J\u{1b}[31mred",
    "\u{1b}]8;;http://evil.example\u{7}here\u{1b}]8;;\u{7}",
    "\u{1b}]0;title\u{7}",
    "secret\u{8}\u{8}\u{8}\u{8}\u{8}\u{8}public",
    "\u{202e}txt.exe",
    "a\u{2028}b\u{85}c\u{200d}d",
    "tab\tand\u{9b}31m",
];

/// Checks that every character is seen as itself.
fn is_plain(text: &str, what: &str) {
    let odd = text.chars().find(|c| {
        let hides = matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{feff}');
        hides || (c.is_control() && *c != '\n')
    });
    assert_eq!(odd, None, "{what}: {text:?}");
}

#[test]
fn a_reason_or_a_payload_never_forges_a_line_of_the_log_or_of_a_list() {
    let place = Place::new();
    let _served = place.serve("");
    place.json("queue set q");
    for hostile in HOSTILE {
        let said = place.words(&["queue", "pause", "q", "--reason", hostile]);
        assert_eq!(said.code, 0, "{hostile:?}: {}", said.err);
        is_plain(&said.out, hostile);
        assert_eq!(place.words(&["job", "add", "q", "--text", hostile]).code, 0);
        for line in ["queue show q", "queue list", "job list", "status"] {
            is_plain(&place.run(line).out, line);
        }
    }
    for id in 1..=HOSTILE.len() {
        is_plain(&place.run(&format!("job show {id}")).out, "job show");
    }
    let page = place.json("log show --limit 500");
    let entries = page["entries"].as_array().unwrap();
    let pauses = entries.iter().filter(|entry| entry["command"] == "pause_queue").count();
    assert_eq!(pauses, HOSTILE.len());
    let shown = place.run("log show --limit 500").out;
    is_plain(&shown, "log show");
    let mut first_words: Vec<&str> = Vec::new();
    for line in shown.lines() {
        first_words.extend(line.split_whitespace().next());
    }
    for entry in entries {
        let position = entry["position"].to_string();
        let told = first_words.iter().filter(|word| **word == position).count();
        assert_eq!(told, 1, "entry {position} is told once:\n{shown}");
    }
}

#[test]
fn a_name_that_hides_something_is_refused_and_shown_as_it_is() {
    let place = Place::new();
    for hostile in HOSTILE {
        for words in [
            vec!["queue", "set", hostile],
            vec!["role", "set", hostile],
            vec!["stream", "append", hostile, "--text", "x"],
            vec!["runbook", "add", "--name", hostile, "--step", "show.workers"],
            vec!["agent", "add", "--name", hostile],
            vec!["job", "add", "q", "--text", "x", "--unique", hostile],
        ] {
            let said = place.words(&words);
            assert_eq!(said.code, 2, "{words:?}: {}{}", said.out, said.err);
            assert!(said.err.contains("allowed is"), "{words:?}: {}", said.err);
            is_plain(&said.err, words[0]);
        }
    }
    let status = place.json("status");
    assert_eq!((&status["queues"]["count"], &status["streams"]), (&0.into(), &0.into()));
}

#[test]
fn ten_thousand_marks_on_one_letter_are_kept_where_they_belong_and_refused_where_people_read() {
    let place = Place::new();
    place.json("queue set q");
    let marks = format!("a{}", "\u{301}".repeat(10_000));
    assert_eq!(place.words(&["queue", "pause", "q", "--reason", &marks]).code, 2);
    assert_eq!(place.words(&["queue", "set", &marks]).code, 2);
    assert_eq!(place.words(&["job", "add", "q", "--text", &marks]).code, 0);
    let shown = place.json("job show 1");
    assert_eq!(shown["payload"], marks.as_str());
}
