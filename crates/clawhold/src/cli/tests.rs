//! What holds for every word.

use clap::{CommandFactory, Parser};

use super::Cli;

/// Returns every command that people see, with its words.
fn commands() -> Vec<(String, clap::Command)> {
    let mut root = Cli::command();
    root.build();
    let mut open = vec![("clawhold".to_owned(), root)];
    let mut all = Vec::new();
    while let Some((words, command)) = open.pop() {
        let below = command.get_subcommands().filter(|below| !below.is_hide_set());
        for below in below.filter(|below| below.get_name() != "help") {
            open.push((format!("{words} {}", below.get_name()), below.clone()));
        }
        all.push((words, command));
    }
    all
}

#[test]
fn the_tree_of_words_is_sound() {
    Cli::command().debug_assert();
}

#[test]
fn every_help_has_an_example_that_is_a_command_of_ours() {
    let mut examples = 0;
    for (words, mut command) in commands() {
        let help = command.render_long_help().to_string();
        let (_, shown) = help.split_once("Example").unwrap_or_else(|| panic!("{words}:\n{help}"));
        // A line that ends with a backslash goes on in the next one.
        let shown = shown.replace("\\\n", " ");
        for line in shown.lines().filter_map(|line| line.strip_prefix("  clawhold ")) {
            // What stands left of the pipe is somebody else's, and what follows `>` as well.
            let typed = format!("clawhold {line}");
            let typed = typed.split([">", "|"].map(|c| c.chars().next().unwrap())).next().unwrap();
            let parsed = Cli::try_parse_from(split(typed));
            assert!(parsed.is_ok(), "{words}: {typed}\n{}", parsed.unwrap_err());
            examples += 1;
        }
    }
    assert!(examples > 40, "{examples} examples");
}

#[test]
fn every_flag_and_word_is_explained() {
    for (words, command) in commands() {
        assert!(command.get_about().is_some(), "{words}");
        for argument in command.get_arguments() {
            assert!(argument.get_help().is_some(), "{words} {}", argument.get_id());
        }
    }
}

#[test]
fn unknown_and_repeated_flags_are_refused() {
    for line in [
        "role list --nam x",
        "role lst",
        "job add q --text a --text b",
        "job add q --text a --payload 1",
        "job add q --text a --delay 5s --run-at 2026-12-01T10:00:00Z",
        "role show",
        "role show a b",
        "--server http://a --store sqlite:b role list",
        "queue set q --retain forever",
        "job cancel",
        "job cancel 1 --queue q",
        "job add --text x",
        "role set r --ttl 5",
        "role set r --ttl 199ms",
        "role set r --ttl 25h",
        "role set r --ttl -5m",
        "job add q --text a --priority 101",
        "job add q --text a --attempts 0",
        "job show 0",
        "job show -1",
        "job show 9007199254740992",
        "job list --state lost",
    ] {
        let parsed = Cli::try_parse_from(split(&format!("clawhold {line}")));
        assert!(parsed.is_err(), "{line}");
    }
}

#[test]
fn text_that_begins_with_dashes_is_text() {
    for line in [
        "job add q --text '--- start'",
        "job add q --text -5",
        "job add q --text=-5",
        "job add q --text ''",
        "job add q --text=",
        "job add q --payload -5",
        "job add q --text a --priority -5",
        "worker drain w --reason '-- goes home'",
        "stream append s --text -x",
        "role show -- -odd",
    ] {
        let parsed = Cli::try_parse_from(split(&format!("clawhold {line}")));
        assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
    }
}

/// Splits a line as a shell would, with single and double quotes.
fn split(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in line.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}
