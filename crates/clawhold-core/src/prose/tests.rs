//! The table itself: nothing in it dangles, and what it suggests it understands.

use alloc::collections::BTreeSet;
use std::vec::Vec;

use super::grammar::Grammar;
use super::near::edits;
use super::table::IDEAS;
use super::{table, words};

#[test]
fn every_phrase_verb_and_slot_that_a_pattern_names_is_there() {
    let grammar = Grammar::new();
    let questions: Vec<_> = table::QUESTIONS.iter().map(super::grammar::Ready::new).collect();
    let rows = grammar.rows().chain(&questions).map(|row| &row.node);
    let dangling: Vec<_> =
        rows.chain(grammar.phrases.all()).flat_map(|node| grammar.phrases.dangling(node)).collect();
    assert_eq!(dangling, Vec::<&str>::new());
    assert_eq!(super::watch::dangling(), Vec::<&str>::new());
}

#[test]
fn no_phrase_is_named_twice() {
    let mut seen = BTreeSet::new();
    for (name, _) in super::phrases::PHRASES.iter().chain(table::phrases()) {
        assert!(seen.insert(name), "{name} is there twice");
    }
}

#[test]
fn every_suggestion_is_understood_and_says_another_thing() {
    let grammar = Grammar::new();
    let mut seen = Vec::new();
    for (example, _) in IDEAS {
        let sentence = words::sentences(example).pop().unwrap();
        let readings = grammar.read(&sentence);
        assert_eq!(readings.len(), 1, "{example}");
        assert!(!seen.contains(&readings), "{example} says what another one says");
        seen.push(readings);
    }
    for (example, _) in super::watch::EXAMPLES {
        super::detector(example).unwrap();
    }
}

#[test]
fn a_swapped_a_missing_and_a_wrong_letter_are_one_slip_each() {
    assert_eq!(edits("bakc", "back"), 1);
    assert_eq!(edits("bck", "back"), 1);
    assert_eq!(edits("bakk", "back"), 1);
    assert_eq!(edits("pause", "place"), 3);
    assert_eq!(edits("", "stop"), 4);
}

#[test]
fn sentences_end_at_marks_and_lists_never_at_a_wrapped_line() {
    let texts = |text: &str| -> Vec<std::string::String> {
        words::sentences(text).into_iter().map(|sentence| sentence.text).collect()
    };
    assert_eq!(
        texts("Stop the leaving worker\nfrom taking new work."),
        ["Stop the leaving worker\nfrom taking new work."]
    );
    assert_eq!(texts("1. Release the lease\n2) Place them"), ["Release the lease", "Place them"]);
    assert_eq!(texts("- One v1.2; two!\n\nthree?!"), ["One v1.2;", "two!", "three?"]);
    assert_eq!(texts(" ... "), ["..."]);
    assert_eq!(texts("\n\n"), Vec::<&str>::new());
}
