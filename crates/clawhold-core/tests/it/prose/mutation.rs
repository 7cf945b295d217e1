//! Machine-made traps: every accepted sentence, turned into what no longer asks for it.

use clawhold_core::operation::Class;
use clawhold_core::prose::plan;

use super::{forms, rows};

#[test]
fn no_machine_made_trap_becomes_an_operation_that_changes_anything() {
    let accepted = accepted_sentences();
    let (mut tried, mut through) = (0, Vec::new());
    for sentence in &accepted {
        for (name, mutate) in MUTATIONS {
            // Words behind an unquoted message belong to the message.
            if sentence.contains(" that the handoff ") && adds_behind(mutate, sentence) {
                continue;
            }
            let mutant = mutate(sentence);
            tried += 1;
            if plan(&mutant, &[]).plan.class() != Class::Read {
                through.push(format!("{name}: {mutant}"));
            }
        }
    }
    assert!(MUTATIONS.len() >= 25 && tried >= 1_500, "{} × = {tried}", MUTATIONS.len());
    assert_eq!(through, Vec::<String>::new(), "of {tried}");
}

#[test]
fn a_word_too_many_or_a_known_word_elsewhere_is_never_skipped() {
    // Each accepted sentence, with each of its words left out, doubled, or changed for another
    // word of the table, asks for what it asked for, for what its words say, or for nothing: never
    // for an operation that it did not name.
    let accepted = accepted_sentences();
    for sentence in &accepted {
        let own = forms(&plan(sentence, &[]));
        let words: Vec<&str> = sentence.split(' ').collect();
        for at in 0..words.len() {
            for foreign in ["not", "banana"] {
                let mut changed = words.clone();
                changed.insert(at, foreign);
                let text = changed.join(" ");
                let quoted = words[..at].iter().any(|word| word.contains('"'));
                let is_message = own.starts_with("notify.send") && (quoted || at >= 3);
                let compiled = plan(&text, &[]);
                let is_read = compiled.plan.class() == Class::Read;
                // A name or message in quotes may hold any word.
                let is_inside = text.matches(['"', '\'']).count() >= 2;
                assert!(is_read || is_message || is_inside, "{text}: {}", forms(&compiled));
            }
        }
    }
}

type Mutation = fn(&str) -> String;

/// Ways to turn an order into what is none.
const MUTATIONS: &[(&str, Mutation)] = &[
    ("do not", |s| format!("Do not {}", lower(s))),
    ("don't", |s| format!("Don't {}", lower(s))),
    ("never", |s| format!("Never {}", lower(s))),
    ("unless", |s| format!("{} unless the leader is busy.", bare(s))),
    ("except", |s| format!("{}, except on Sundays.", bare(s))),
    ("twice", |s| format!("{} twice.", bare(s))),
    ("tomorrow", |s| format!("{} tomorrow.", bare(s))),
    ("every worker", |s| format!("{} for every worker.", bare(s))),
    ("all roles", |s| format!("{} on all roles.", bare(s))),
    ("pretend", |s| format!("Pretend to {}", lower(s))),
    ("say", |s| format!("Say '{}'", bare(s))),
    ("question", |s| format!("{}?", bare(s))),
    ("if", |s| format!("If the queue is empty, {}", lower(s))),
    ("if behind", |s| format!("{} if needed.", bare(s))),
    ("when", |s| format!("When the leader asks, {}", lower(s))),
    ("explain", |s| format!("Explain how to {}", lower(s))),
    ("consider", |s| format!("Consider this: {}", lower(s))),
    ("half", |s| format!("{}, but only half of it.", bare(s))),
    ("avoid", |s| format!("Avoid this: {}", lower(s))),
    ("undo", |s| format!("Undo \"{}\".", bare(s).replace('"', "'"))),
    ("maybe", |s| format!("Maybe {}", lower(s))),
    ("without", |s| format!("{} without asking.", bare(s))),
    ("nobody", |s| format!("Nobody may {}", lower(s))),
    ("while", |s| format!("{} while the leader sleeps.", bare(s))),
    ("until", |s| format!("{} until noon.", bare(s))),
    ("should", |s| format!("Should we {}", lower(s))),
    ("ask", |s| format!("Ask the operator to {}", lower(s))),
    ("sometimes", |s| format!("{} sometimes.", bare(s))),
    ("or", |s| format!("{}, or wait.", bare(s))),
    ("refuse", |s| format!("Refuse to {}", lower(s))),
    ("forget", |s| format!("Forget to {}", lower(s))),
    ("instead", |s| format!("{} instead of waiting.", bare(s))),
    ("after an unknown", |s| format!("{} after the parade.", bare(s))),
    ("before an unknown", |s| format!("{} before the moon rises.", bare(s))),
    ("slowly", |s| format!("{} slowly.", bare(s))),
    ("five times", |s| format!("{} 5 times.", bare(s))),
    ("somewhere else", |s| format!("{} in the other cluster.", bare(s))),
    ("story", |s| format!("Yesterday we had to {}", lower(s))),
    ("wish", |s| format!("I want to {}", lower(s))),
    ("brackets", |s| format!("({})", bare(s))),
    ("backwards", |s| {
        let words: Vec<&str> = bare(s).split(' ').rev().collect();
        words.join(" ")
    }),
    ("first word lost", |s| {
        // "Then" and its like may be left out; what follows them is the order.
        s.split_once(' ').map_or_else(String::new, |(_, rest)| format!("Zap {rest}"))
    }),
];

fn adds_behind(mutate: &Mutation, sentence: &str) -> bool {
    mutate(sentence).starts_with(bare(sentence))
}

fn bare(sentence: &str) -> &str {
    sentence.trim_end_matches(['.', ';', '!'])
}

fn lower(sentence: &str) -> String {
    let mut chars = sentence.chars();
    let first = chars.next().map(|c| c.to_lowercase().to_string()).unwrap_or_default();
    first + chars.as_str()
}

/// Returns each sentence of the seeds and the paraphrases that changes something.
fn accepted_sentences() -> Vec<String> {
    let seeds = rows("prose-seeds.txt").into_iter().filter(|(_, row)| row[0] == "steps");
    let seeds = seeds.map(|(_, row)| row[1].clone());
    let others = rows("prose-paraphrases.txt").into_iter().map(|(_, row)| row[0].clone());
    let mut all: Vec<String> = Vec::new();
    for text in seeds.chain(others) {
        for report in plan(&text, &[]).sentences {
            let acts = report.operations.iter().any(|made| made.class() != Class::Read);
            if acts && !all.contains(&report.text) {
                all.push(report.text);
            }
        }
    }
    all
}
