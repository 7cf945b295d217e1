//! What a command tells: its message as views.

use alloc::string::ToString;
use alloc::vec::Vec;

use super::compile::trouble_of;
use super::grammar::{Grammar, Ready};
use super::line::{ExactTrouble, Line};
use super::near;
use super::pattern::{Form, Found, Vocabulary};
use super::report::{Hint, Nearest, NotUnderstood};
use super::table::{self, IDEAS};
use super::words::{self, Sentence};
use super::{NEAREST_MAX, WORDS_MAX, exact};
use crate::limits;
use crate::operation::{Operation, Show};

/// Returns what a command's message asks to be shown: every sentence of it, or nothing. The exact
/// form is `show.holder role=billing; show.lag`.
///
/// # Errors
/// [`NotUnderstood`] tells about the first sentence that is not a view.
pub fn views(text: &str) -> Result<Vec<Show>, NotUnderstood> {
    if text.trim_start().starts_with("show.") {
        return exact_views(text).map_err(|trouble| {
            let hint = Some(Hint::Exact(trouble.to_string()));
            NotUnderstood { hint, ..NotUnderstood::default() }
        });
    }
    let sentences = words::sentences(text);
    if sentences.is_empty() {
        return Err(NotUnderstood { hint: Some(Hint::Empty), ..NotUnderstood::default() });
    }
    let grammar = Grammar::new();
    let mut all = Vec::new();
    for sentence in &sentences {
        for show in read(&grammar, sentence)? {
            if !all.contains(&show) {
                all.push(show);
            }
        }
    }
    Ok(all)
}

fn exact_views(text: &str) -> Result<Vec<Show>, ExactTrouble> {
    let known = || exact::OPERATIONS.iter().filter(|(name, _)| name.starts_with("show."));
    let parts = text.split([';', '\n']).map(str::trim).filter(|part| !part.is_empty());
    parts
        .map(|part| {
            let line = Line::read(part)?;
            let unknown = || {
                let near = near::meant(&line.name, known().map(|(name, _)| *name));
                let near = near.map(Into::into);
                ExactTrouble::UnknownName { kind: "view", name: line.name.clone(), near }
            };
            let row = known().find(|(name, _)| *name == line.name);
            let (_, arguments) = row.ok_or_else(unknown)?;
            line.check(arguments)?;
            exact::shown(&line)?.ok_or_else(unknown)
        })
        .collect()
}

fn read(grammar: &Grammar, sentence: &Sentence) -> Result<Vec<Show>, NotUnderstood> {
    if sentence.tokens.len() > WORDS_MAX || sentence.text.len() > limits::TEXT_BYTES_MAX {
        return Err(NotUnderstood { hint: Some(Hint::Long), ..NotUnderstood::default() });
    }
    let readings: Vec<Vec<Operation>> = if sentence.is_question {
        asked(grammar, sentence)
    } else {
        grammar.read(sentence).into_iter().map(|asked| asked.operations).collect()
    };
    match readings.as_slice() {
        [operations] => shows(operations).ok_or_else(|| trouble(grammar, sentence)),
        [] => Err(trouble(grammar, sentence)),
        several => {
            let ties = several.iter().map(|o| super::compile::exact_form(o)).collect();
            Err(NotUnderstood { ties, ..NotUnderstood::default() })
        }
    }
}

fn shows(operations: &[Operation]) -> Option<Vec<Show>> {
    operations
        .iter()
        .map(
            |operation| {
                if let Operation::Show(show) = operation { Some(show.clone()) } else { None }
            },
        )
        .collect()
}

fn asked(grammar: &Grammar, sentence: &Sentence) -> Vec<Vec<Operation>> {
    let mut all = Vec::new();
    for row in table::QUESTIONS.iter().map(Ready::new) {
        let from = Found::at(0);
        for found in grammar.phrases.find(&row.node, sentence, &from, Form::Order) {
            let made = row.made(&found);
            if found.end == sentence.tokens.len() && !all.contains(&made) {
                all.push(made);
            }
        }
    }
    all
}

fn trouble(grammar: &Grammar, sentence: &Sentence) -> NotUnderstood {
    let mut known = grammar.vocabulary();
    let mut ideas = Vec::new();
    let mut examples = Vec::new();
    for (example, hints) in IDEAS.iter().filter(|(example, _)| example.starts_with("Show")) {
        let first = words::sentences(example).pop();
        let Some(asked) = first.and_then(|sentence| grammar.read(&sentence).pop()) else {
            continue;
        };
        let mut words = Vocabulary::default();
        for row in grammar.rows().filter(|row| row.bare() == asked.operations) {
            grammar.phrases.vocabulary(&row.node, &mut words);
        }
        known.extend(words.words.iter());
        ideas.push(near::Idea { words: words.words, hints });
        examples.push((example, asked.operations));
    }
    let typed: Vec<&str> = sentence.tokens.iter().map(|token| token.word.as_str()).collect();
    let ranked = near::rank(&typed, &ideas, NEAREST_MAX);
    let nearest = ranked
        .into_iter()
        .filter_map(|at| examples.get(at))
        .map(|(example, made)| Nearest { exact: super::compile::exact_form(made), example });
    NotUnderstood { nearest: nearest.collect(), ..trouble_of(sentence, &known) }
}
