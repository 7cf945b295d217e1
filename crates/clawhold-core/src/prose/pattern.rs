//! Patterns: what a clause may look like, word by word.
//!
//! `word` stands for itself, `^verb` for a verb in the form that is asked for, `[x]` may be
//! missing, `(a|b)` is one of both, `<phrase>` a phrase by its name, `{slot}` a value. Nothing
//! else is skipped: what a pattern does not spell out, it does not explain.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::slot::{self, Mark};
use super::verbs;
use super::words::{Kind, Sentence};

/// How the verb of a clause stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// "Stop …"
    Order,
    /// "… before stopping …"
    Doing,
}

/// A pattern, ready to be held against words.
#[derive(Debug)]
pub(super) enum Node {
    Word(&'static str),
    Verb(&'static str),
    Phrase(&'static str),
    Slot(&'static str),
    Maybe(Box<Node>),
    Row(Vec<Node>),
    Any(Vec<Node>),
}

/// How far a pattern explains a sentence, and which values it met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) end: usize,
    pub(super) marks: Vec<Mark>,
}

impl Found {
    pub(super) fn at(end: usize) -> Self {
        Self { end, marks: Vec::new() }
    }
}

/// The words that patterns may explain.
#[derive(Debug, Default)]
pub(super) struct Vocabulary {
    pub(super) words: BTreeSet<&'static str>,
    phrases: BTreeSet<&'static str>,
}

/// The phrases that patterns refer to.
#[derive(Debug)]
pub(super) struct Phrases(BTreeMap<&'static str, Node>);

impl Phrases {
    pub(super) fn new(phrases: &[(&'static str, &'static str)]) -> Self {
        Self(phrases.iter().map(|(name, pattern)| (*name, parse(pattern))).collect())
    }

    /// Returns every way in which `node` explains the words of `sentence` from `from` on.
    pub(super) fn find(
        &self,
        node: &Node,
        sentence: &Sentence,
        from: &Found,
        form: Form,
    ) -> Vec<Found> {
        match node {
            Node::Word(word) => step(sentence, from, word),
            Node::Verb(verb) => match form {
                Form::Order => step(sentence, from, verb),
                Form::Doing => verbs::doing(verb).map_or(Vec::new(), |w| step(sentence, from, w)),
            },
            Node::Phrase(name) => {
                self.0.get(name).map_or(Vec::new(), |node| self.find(node, sentence, from, form))
            }
            Node::Slot(name) => slot::find(name, sentence, from),
            Node::Maybe(node) => {
                let mut all = self.find(node, sentence, from, form);
                add(&mut all, from.clone());
                all
            }
            Node::Row(nodes) => nodes.iter().fold(Vec::from([from.clone()]), |reached, node| {
                let mut all = Vec::new();
                for next in reached.iter().flat_map(|f| self.find(node, sentence, f, form)) {
                    add(&mut all, next);
                }
                all
            }),
            Node::Any(nodes) => {
                let mut all = Vec::new();
                for next in nodes.iter().flat_map(|node| self.find(node, sentence, from, form)) {
                    add(&mut all, next);
                }
                all
            }
        }
    }

    /// Adds every word that `node` may explain.
    pub(super) fn vocabulary(&self, node: &Node, known: &mut Vocabulary) {
        match node {
            Node::Word(word) => {
                known.words.insert(word);
            }
            Node::Verb(verb) => {
                known.words.insert(verb);
                known.words.extend(verbs::doing(verb));
            }
            Node::Phrase(name) => {
                // A phrase may end in itself; its words are known by then.
                let inner = self.0.get(name).filter(|_| known.phrases.insert(name));
                if let Some(node) = inner {
                    self.vocabulary(node, known);
                }
            }
            Node::Slot(_) => {}
            Node::Maybe(node) => self.vocabulary(node, known),
            Node::Row(nodes) | Node::Any(nodes) => {
                nodes.iter().for_each(|node| self.vocabulary(node, known));
            }
        }
    }

    /// Returns what in `node` refers to a phrase, verb or slot that there is not.
    #[cfg(test)]
    pub(super) fn dangling(&self, node: &Node) -> Vec<&'static str> {
        let unless =
            |known: bool, name: &'static str| if known { Vec::new() } else { Vec::from([name]) };
        match node {
            Node::Word(_) => Vec::new(),
            Node::Verb(verb) => unless(verbs::doing(verb).is_some(), verb),
            Node::Phrase(name) => unless(self.0.contains_key(name), name),
            Node::Slot(name) => unless(slot::NAMES.contains(name), name),
            Node::Maybe(node) => self.dangling(node),
            Node::Row(nodes) | Node::Any(nodes) => {
                nodes.iter().flat_map(|node| self.dangling(node)).collect()
            }
        }
    }

    #[cfg(test)]
    pub(super) fn all(&self) -> impl Iterator<Item = &Node> {
        self.0.values()
    }
}

fn step(sentence: &Sentence, from: &Found, word: &str) -> Vec<Found> {
    let token = sentence.tokens.get(from.end);
    let fits = token.is_some_and(|token| token.kind != Kind::Quoted && token.word == word);
    if fits {
        Vec::from([Found { end: from.end + 1, marks: from.marks.clone() }])
    } else {
        Vec::new()
    }
}

fn add(all: &mut Vec<Found>, next: Found) {
    if !all.contains(&next) {
        all.push(next);
    }
}

/// Returns the pattern that `text` spells.
pub(super) fn parse(text: &'static str) -> Node {
    let mut rest = text;
    parse_any(&mut rest)
}

fn parse_any(rest: &mut &'static str) -> Node {
    let mut ways = Vec::from([parse_row(rest)]);
    while let Some(after) = rest.strip_prefix('|') {
        *rest = after;
        ways.push(parse_row(rest));
    }
    if ways.len() > 1 { Node::Any(ways) } else { ways.remove(0) }
}

fn parse_row(rest: &mut &'static str) -> Node {
    let mut nodes = Vec::new();
    loop {
        *rest = rest.trim_start();
        match rest.chars().next() {
            None | Some('|' | ')' | ']') => return Node::Row(nodes),
            Some('(') => nodes.push(parse_group(rest, ')')),
            Some('[') => nodes.push(Node::Maybe(Box::new(parse_group(rest, ']')))),
            Some('<') => nodes.push(Node::Phrase(take_name(rest, '>'))),
            Some('{') => nodes.push(Node::Slot(take_name(rest, '}'))),
            Some(_) => {
                let end = rest.find([' ', '|', ')', ']', '(', '[', '\n']).unwrap_or(rest.len());
                let (word, after) = rest.split_at(end);
                *rest = after;
                nodes.push(word.strip_prefix('^').map_or(Node::Word(word), Node::Verb));
            }
        }
    }
}

fn parse_group(rest: &mut &'static str, close: char) -> Node {
    *rest = &rest[1..];
    let node = parse_any(rest);
    *rest = rest.strip_prefix(close).unwrap_or(rest);
    node
}

fn take_name(rest: &mut &'static str, close: char) -> &'static str {
    let end = rest.find(close).unwrap_or(rest.len() - 1);
    let name = &rest[1..end];
    *rest = &rest[end + 1..];
    name
}
