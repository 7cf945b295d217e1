//! A text of steps as a plan: each sentence whole, or a step that a person confirms.

use alloc::collections::BTreeSet;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::grammar::{Asked, Grammar};
use super::near;
use super::pattern::Vocabulary;
use super::report::{Compiled, Hint, Nearest, NotUnderstood, SentenceReport, Told, Veto};
use super::slot;
use super::subject::{self, Mentioned, Noun};
use super::table::IDEAS;
use super::words::{self, Kind, Sentence, Token};
use super::{NEAREST_MAX, SENTENCES_MAX, TABLE, WORDS_MAX, verbs, veto};
use crate::limits;
use crate::operation::{OnFail, Operation, Plan, PlannedStep, Reading, Subject};
use crate::units::{Name, Text, Title};

/// Returns the plan of a whole text, with a report on each sentence. It never fails: what is not
/// understood becomes a step that a person confirms, in its place.
///
/// `accepted` holds the number of a sentence and the number of the suggestion that a person took
/// for it, as `--accept 2=1` gives them.
#[must_use]
pub fn plan(text: &str, accepted: &[(usize, usize)]) -> Compiled {
    let grammar = Grammar::new();
    let mut compiler = Compiler {
        known: grammar.vocabulary(),
        grammar: &grammar,
        mentioned: Mentioned::default(),
        compiled: Compiled {
            plan: Plan { table: TABLE, steps: Vec::new() },
            sentences: Vec::new(),
            told: Vec::new(),
            unused: Vec::new(),
        },
    };
    let mut sentences = words::sentences(text);
    let more = sentences.split_off(sentences.len().min(SENTENCES_MAX));
    for (at, sentence) in sentences.iter().enumerate() {
        let number = at + 1;
        let choice = accepted.iter().find(|(sentence, _)| *sentence == number);
        compiler.add(number, sentence, choice.map(|(_, choice)| *choice));
    }
    if let Some(first) = more.first() {
        compiler.add_unread(sentences.len() + 1, first);
    }
    let mut compiled = compiler.compiled;
    let was_used = |(sentence, _): &&(usize, usize)| {
        let report = compiled.sentences.get(sentence.wrapping_sub(1));
        !report.is_some_and(|report| report.reading == Reading::Accepted)
    };
    compiled.unused = accepted.iter().filter(was_used).copied().collect();
    compiled
}

struct Compiler<'a> {
    grammar: &'a Grammar,
    known: BTreeSet<&'static str>,
    mentioned: Mentioned,
    compiled: Compiled,
}

/// What is near a sentence: for a person, and as operations.
#[derive(Debug, Default)]
struct Guesses {
    nearest: Vec<Nearest>,
    operations: Vec<Vec<Operation>>,
}

impl Compiler<'_> {
    fn add(&mut self, number: usize, sentence: &Sentence, choice: Option<usize>) {
        if let Some(agent) = self.agent(sentence) {
            let operations = Vec::from([Operation::AgentJob { agent }]);
            return self.push(number, sentence, operations, Reading::Agent, None);
        }
        let trouble = match self.understood(sentence) {
            Ok(asked) => {
                let told = asked.orders.into_iter().map(|stated| Told {
                    sentence: number,
                    first: stated.first,
                    second: stated.second,
                    needs_first: stated.needs_first,
                });
                self.compiled.told.extend(told);
                return self.push(number, sentence, asked.operations, Reading::Understood, None);
            }
            Err(trouble) => trouble,
        };
        let mut guesses = self.guesses(sentence, &trouble);
        let trouble = NotUnderstood { nearest: guesses.nearest, ..trouble };
        let taken = choice.map(|choice| choice.wrapping_sub(1));
        match taken.filter(|taken| *taken < guesses.operations.len()) {
            Some(taken) => {
                let mut operations = guesses.operations.swap_remove(taken);
                match self.settle(&mut operations) {
                    Ok(()) => {
                        let reading = Reading::Accepted;
                        self.push(number, sentence, operations, reading, Some(trouble));
                    }
                    Err(trouble) => self.push_not_understood(number, sentence, trouble),
                }
            }
            None => self.push_not_understood(number, sentence, trouble),
        }
    }

    /// Adds what follows the last sentence that is read.
    fn add_unread(&mut self, number: usize, sentence: &Sentence) {
        let trouble = NotUnderstood { hint: Some(Hint::Long), ..NotUnderstood::default() };
        self.push_not_understood(number, sentence, trouble);
    }

    fn push_not_understood(&mut self, number: usize, sentence: &Sentence, trouble: NotUnderstood) {
        let why = Text::cut(&trouble.to_string());
        let operations = Vec::from([Operation::Confirm]);
        self.push(number, sentence, operations, Reading::NotUnderstood { why }, Some(trouble));
    }

    fn push(
        &mut self,
        number: usize,
        sentence: &Sentence,
        operations: Vec<Operation>,
        reading: Reading,
        trouble: Option<NotUnderstood>,
    ) {
        for operation in &operations {
            let steps = &mut self.compiled.plan.steps;
            let is_same = steps.last().is_some_and(|last| last.operation == *operation);
            if is_same && merges(operation) {
                continue;
            }
            steps.push(PlannedStep {
                operation: operation.clone(),
                sentence: Text::cut(&sentence.text),
                reading: reading.clone(),
                timeout_ms: None,
                on_fail: OnFail::Stop,
            });
        }
        let text = sentence.text.clone();
        self.compiled.sentences.push(SentenceReport { number, text, operations, reading, trouble });
    }

    /// Returns the agent that the sentence asks, as "Ask NAME to …".
    fn agent(&self, sentence: &Sentence) -> Option<Title> {
        let tokens = &sentence.tokens;
        let begins = |at: &usize| tokens.get(*at).is_some_and(|token| token.word == "ask");
        let ask = self.grammar.skip_lead(sentence).into_iter().find(begins)?;
        let to = tokens.iter().skip(ask).position(|token| token.word == "to")? + ask;
        let is_whole = !sentence.is_question
            && to + 1 < tokens.len()
            && sentence.text.len() <= limits::TEXT_BYTES_MAX;
        let name = tokens.get(ask + 1..to).filter(|_| is_whole)?;
        match name {
            [quoted] if quoted.kind == Kind::Quoted => Title::parse(&quoted.raw).ok(),
            names if !names.is_empty() && names.iter().all(is_part_of_name) => {
                let names: Vec<&str> = names.iter().map(|token| token.raw.as_str()).collect();
                Title::parse(&names.join(" ")).ok()
            }
            _ => None,
        }
    }

    /// Returns what the sentence asks for, if each of its words is explained, in one way only.
    fn understood(&mut self, sentence: &Sentence) -> Result<Asked, NotUnderstood> {
        let none = NotUnderstood::default;
        if sentence.tokens.len() > WORDS_MAX || sentence.text.len() > limits::TEXT_BYTES_MAX {
            return Err(NotUnderstood { hint: Some(Hint::Long), ..none() });
        }
        let mut readings = self.grammar.read(sentence);
        if sentence.is_question || readings.is_empty() {
            return Err(self.trouble(sentence));
        }
        if readings.len() > 1 {
            let ties = readings.iter().map(|asked| exact_form(&asked.operations)).collect();
            return Err(NotUnderstood { ties, ..none() });
        }
        let mut asked = readings.remove(0);
        self.settle(&mut asked.operations)?;
        Ok(asked)
    }

    /// Gives operations that name nobody the one that the text has named before.
    fn settle(&mut self, operations: &mut [Operation]) -> Result<(), NotUnderstood> {
        for operation in operations {
            self.mentioned.settle(operation).map_err(|names| {
                let names = names.into_iter().map(String::from).collect();
                NotUnderstood { hint: Some(Hint::Which(names)), ..NotUnderstood::default() }
            })?;
        }
        Ok(())
    }

    fn trouble(&self, sentence: &Sentence) -> NotUnderstood {
        let mut trouble = trouble_of(sentence, &self.known);
        if self.parts(sentence).iter().filter(|part| !part.is_understood).count() > 1 {
            trouble.hint = Some(Hint::Parts);
        }
        trouble
    }

    /// Returns what may stand in the place of the sentence: its understood parts as they are, and
    /// something near for the one that is not.
    fn guesses(&mut self, sentence: &Sentence, trouble: &NotUnderstood) -> Guesses {
        let may = trouble.veto.as_ref().is_none_or(|veto| veto.kind.allows_suggestion());
        let is_readable = !matches!(trouble.hint, Some(Hint::Long | Hint::Parts | Hint::Which(_)));
        let mut guesses = Guesses::default();
        if !may || !is_readable || !trouble.ties.is_empty() {
            return guesses;
        }
        let parts = self.parts(sentence);
        let Some(at) = parts.iter().position(|part| !part.is_understood) else { return guesses };
        let words: Vec<&str> = parts[at].tokens().map(|token| token.word.as_str()).collect();
        let Some(named) = self.named(&parts[at].sentence) else { return guesses };
        for (example, mut guess) in self.ideas(&words) {
            if !name_it(&mut guess, named.as_ref()) {
                continue;
            }
            let whole: Vec<Operation> = parts
                .iter()
                .enumerate()
                .flat_map(
                    |(other, part)| {
                        if other == at { guess.clone() } else { part.operations.clone() }
                    },
                )
                .collect();
            guesses.nearest.push(Nearest { exact: exact_form(&whole), example });
            guesses.operations.push(whole);
        }
        guesses.nearest.truncate(NEAREST_MAX);
        guesses.operations.truncate(NEAREST_MAX);
        guesses
    }

    /// Returns examples near the words, best first, with what they make.
    fn ideas(&self, words: &[&str]) -> Vec<(&'static str, Vec<Operation>)> {
        let mut made = Vec::new();
        let mut ideas = Vec::new();
        for (example, hints) in IDEAS {
            let sentence = words::sentences(example);
            let Some(asked) = sentence.first().and_then(|s| self.grammar.read(s).pop()) else {
                continue;
            };
            let mut known = Vocabulary::default();
            for row in self.grammar.rows() {
                if same_names(&row.bare(), &asked.operations) {
                    self.grammar.phrases.vocabulary(&row.node, &mut known);
                }
            }
            ideas.push(near::Idea { words: known.words, hints });
            made.push((*example, asked.operations));
        }
        let ranked = near::rank(words, &ideas, NEAREST_MAX);
        ranked.into_iter().filter_map(|at| made.get(at).cloned()).collect()
    }

    /// Returns the name that a part gives. `None` when it gives more than a suggestion can carry.
    fn named(&self, part: &Sentence) -> Option<Option<(Noun, Text)>> {
        let mut found = None;
        let mut count = 0_usize;
        for (at, token) in part.tokens.iter().enumerate() {
            let is_number = token.raw.bytes().any(|byte| byte.is_ascii_digit());
            let is_value = is_loose_name(&part.tokens, at, &self.known)
                || token.kind == Kind::Quoted
                || token.raw.starts_with('#')
                || is_number
                || (words::is_name_like(&token.raw) && !self.known.contains(token.word.as_str()));
            if !is_value {
                continue;
            }
            count += 1;
            found = noun_before(part, at);
        }
        match (count, &found) {
            (0, _) => Some(None),
            (1, Some(_)) => Some(found),
            _ => None,
        }
    }

    /// Returns the parts of a sentence, split after a comma, "and" or "then": before each verb, and
    /// behind each part that is understood as it stands.
    fn parts(&self, sentence: &Sentence) -> Vec<Part> {
        let mut parts = Vec::new();
        let mut begin = 0;
        for at in 1..=sentence.tokens.len() {
            let is_end = at == sentence.tokens.len();
            if !is_end && !is_join(&sentence.tokens[at - 1]) {
                continue;
            }
            let mut tokens = sentence.tokens[begin..at].to_vec();
            while !is_end && tokens.last().is_some_and(is_join) {
                tokens.pop();
            }
            let part = Sentence { tokens, ..sentence.clone() };
            let mut readings = self.grammar.read(&part);
            let is_understood = readings.len() == 1;
            if !is_end && !is_understood && !begins_part(&sentence.tokens, at) {
                continue;
            }
            let operations = readings.pop().map(|asked| asked.operations).unwrap_or_default();
            parts.push(Part { sentence: part, operations, is_understood });
            begin = at;
        }
        parts
    }
}

fn begins_part(tokens: &[Token], at: usize) -> bool {
    tokens[at - 1].word == "then" || verbs::doing(&tokens[at].word).is_some()
}

#[derive(Debug)]
struct Part {
    sentence: Sentence,
    operations: Vec<Operation>,
    is_understood: bool,
}

impl Part {
    fn tokens(&self) -> impl Iterator<Item = &Token> {
        self.sentence.tokens.iter().filter(|token| token.kind == Kind::Word)
    }
}

/// Returns what is the matter with a sentence that no pattern explains.
pub(super) fn trouble_of(sentence: &Sentence, known: &BTreeSet<&'static str>) -> NotUnderstood {
    let veto = veto::of_sentence(sentence, known);
    let mut unknown: Vec<String> = Vec::new();
    for token in &sentence.tokens {
        let is_name = token.kind == Kind::Quoted || words::is_name_like(&token.raw);
        let is_number = words::number(&token.word).is_some()
            || slot::compact_span(&token.word).is_some()
            || words::unit_ms(&token.word).is_some();
        let is_known = known.contains(token.word.as_str()) || veto::of_word(&token.word).is_some();
        if !is_name && !is_number && !is_known && !unknown.contains(&token.raw) {
            unknown.push(token.raw.clone());
        }
    }
    let veto = veto.map(|(word, kind)| Veto { word: word.into(), kind });
    let loose = (0..sentence.tokens.len()).find(|at| is_loose_name(&sentence.tokens, *at, known));
    let hint = match loose.map(|at| sentence.tokens[at].raw.clone()) {
        Some(word) if unknown.contains(&word) => Some(Hint::Name(word)),
        _ => (veto.is_none() && unknown.is_empty()).then_some(Hint::Order),
    };
    NotUnderstood { unknown, veto, hint, ..NotUnderstood::default() }
}

/// Returns operations in the exact form, one after another.
pub(super) fn exact_form(operations: &[Operation]) -> String {
    let forms: Vec<String> = operations.iter().map(ToString::to_string).collect();
    forms.join("; ")
}

/// Tells whether doing it twice in a row is doing it once.
fn merges(operation: &Operation) -> bool {
    !matches!(
        operation,
        Operation::WaitFor { .. }
            | Operation::Notify { .. }
            | Operation::Confirm
            | Operation::AgentJob { .. }
            | Operation::Webhook { .. }
    )
}

fn same_names(a: &[Operation], b: &[Operation]) -> bool {
    a.iter().map(Operation::name).eq(b.iter().map(Operation::name))
}

fn is_join(token: &Token) -> bool {
    matches!(token.word.as_str(), "," | "and" | "then")
}

/// Tells whether a word without quotes may belong to an agent's name.
fn is_part_of_name(token: &Token) -> bool {
    const NOBODY: &[&str] = &[
        "the",
        "a",
        "an",
        "me",
        "us",
        "him",
        "her",
        "them",
        "it",
        "someone",
        "somebody",
        "anyone",
        "anybody",
        "everyone",
        "everybody",
        "nobody",
        "no",
        "every",
        "each",
        "all",
        "any",
        "not",
        "whether",
        "if",
        "yourself",
        "permission",
        "one",
        "how",
        "when",
        "before",
    ];
    let begins_large = token.raw.starts_with(|c: char| c.is_uppercase());
    token.kind == Kind::Word
        && (begins_large || words::is_name_like(&token.raw))
        && !NOBODY.contains(&token.word.as_str())
}

/// Returns the name at `at` with the noun that stands before it.
fn noun_before(part: &Sentence, at: usize) -> Option<(Noun, Text)> {
    let before = part.tokens[..at].iter().rev();
    let noun =
        before.map(|token| token.word.as_str()).find(|w| !matches!(*w, "named" | "called"))?;
    let noun = match noun {
        "worker" => Noun::Worker,
        "role" => Noun::Role,
        "queue" => Noun::Queue,
        "job" => Noun::Job,
        _ => return None,
    };
    let name = Name::parse(&part.tokens.get(at)?.raw).ok()?;
    Some((noun, Text::cut(name.as_str())))
}

/// Tells whether an unknown word stands right behind a noun that takes a name.
fn is_loose_name(tokens: &[Token], at: usize, known: &BTreeSet<&'static str>) -> bool {
    let nouns = ["worker", "role", "queue", "job", "named", "called"];
    let follows = at > 0 && nouns.contains(&tokens[at - 1].word.as_str());
    let word = tokens[at].word.as_str();
    let is_unknown = !known.contains(word) && veto::of_word(word).is_none();
    follows && is_unknown && tokens[at].kind == Kind::Word && Name::parse(word).is_ok()
}

/// Gives the operations of a suggestion the name that the sentence gives. Returns `false` when
/// they cannot carry it.
fn name_it(operations: &mut [Operation], named: Option<&(Noun, Text)>) -> bool {
    let Some((noun, name)) = named else { return true };
    operations.iter_mut().all(|operation| match subject::of(operation) {
        Some((own, subject)) if own == *noun => {
            *subject = Subject::Named(name.clone());
            true
        }
        _ => false,
    })
}
