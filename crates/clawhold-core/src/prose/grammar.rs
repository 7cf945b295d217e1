//! The table, ready: what the clauses of a sentence make.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::pattern::{self, Form, Found, Node, Phrases, Vocabulary};
use super::phrases::PHRASES;
use super::slot::Marks;
use super::table::{self, Make, Row};
use super::words::Sentence;
use crate::operation::{Check, Operation};

/// Readings of one sentence that are told apart; two are enough to refuse it.
const READINGS_MAX: usize = 4;

/// The patterns of the table.
#[derive(Debug)]
pub(super) struct Grammar {
    pub(super) phrases: Phrases,
    orders: Vec<Ready<Operation>>,
    facts: Vec<Ready<Operation>>,
    views: Vec<Ready<Operation>>,
    lead: Node,
    join: Node,
    confirm: Node,
    say: Node,
}

/// A row, ready to be held against words.
#[derive(Debug)]
pub(super) struct Ready<T: 'static> {
    make: Make<T>,
    pub(super) node: Node,
}

impl<T> Ready<T> {
    pub(super) fn new(row: &Row<T>) -> Self {
        Self { make: row.make, node: pattern::parse(row.pattern) }
    }

    /// Returns what the row makes when nothing is named.
    pub(super) fn bare(&self) -> Vec<T> {
        (self.make)(Marks(&[]))
    }

    pub(super) fn made(&self, found: &Found) -> Vec<T> {
        (self.make)(Marks(&found.marks))
    }
}

/// What a sentence asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) operations: Vec<Operation>,
    pub(super) orders: Vec<Stated>,
}

/// An order that a clause states: operations by their names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stated {
    pub(super) first: &'static str,
    pub(super) second: &'static str,
    pub(super) needs_first: bool,
}

/// What a clause is, for the one that follows it after "and".
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Order,
    Confirm,
    View,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Clause {
    end: usize,
    kind: Kind,
    asked: Asked,
}

type Cache = BTreeMap<(usize, Kind), Vec<Asked>>;

impl Grammar {
    pub(super) fn new() -> Self {
        let phrases: Vec<_> = PHRASES.iter().chain(table::phrases()).copied().collect();
        Self {
            phrases: Phrases::new(&phrases),
            orders: table::orders().map(Ready::new).collect(),
            facts: table::FACTS.iter().map(Ready::new).collect(),
            views: table::VIEWS.iter().map(Ready::new).collect(),
            lead: pattern::parse("[<lead>] [<lead>]"),
            join: pattern::parse("<join>"),
            confirm: pattern::parse("<confirm>"),
            say: pattern::parse("<say>"),
        }
    }

    /// Returns everything that the whole sentence may ask for: one reading when it is understood,
    /// none when a word is left over, several when it may mean different things.
    pub(super) fn read(&self, sentence: &Sentence) -> Vec<Asked> {
        let mut cache = Cache::new();
        let mut readings: Vec<Asked> = Vec::new();
        for lead in self.skip_lead(sentence) {
            for asked in self.rest(sentence, lead, Kind::Order, &mut cache) {
                if !readings.iter().any(|known| known.operations == asked.operations) {
                    readings.push(asked);
                }
            }
        }
        readings
    }

    /// Returns where the sentence may begin, after words such as "then".
    pub(super) fn skip_lead(&self, sentence: &Sentence) -> Vec<usize> {
        let found = self.phrases.find(&self.lead, sentence, &Found::at(0), Form::Order);
        found.into_iter().map(|found| found.end).collect()
    }

    /// Returns each word that some pattern explains.
    pub(super) fn vocabulary(&self) -> BTreeSet<&'static str> {
        let mut known = Vocabulary::default();
        let own = [&self.lead, &self.join, &self.confirm, &self.say];
        let rows = self.rows().map(|row| &row.node);
        own.into_iter().chain(rows).for_each(|node| self.phrases.vocabulary(node, &mut known));
        known.words.extend(["before", "after", "once", "only", "ask", "to"]);
        known.words
    }

    /// Returns the rows, whatever they make.
    pub(super) fn rows(&self) -> impl Iterator<Item = &Ready<Operation>> {
        self.orders.iter().chain(&self.facts).chain(&self.views)
    }

    fn rest(&self, sentence: &Sentence, at: usize, after: Kind, cache: &mut Cache) -> Vec<Asked> {
        if let Some(known) = cache.get(&(at, after)) {
            return known.clone();
        }
        let mut all = Vec::new();
        for clause in self.clauses(sentence, at, after) {
            if clause.end == sentence.tokens.len() {
                push(&mut all, clause.asked);
                continue;
            }
            let joins =
                self.phrases.find(&self.join, sentence, &Found::at(clause.end), Form::Order);
            for join in joins {
                for next in self.rest(sentence, join.end, clause.kind, cache) {
                    push(&mut all, clause.asked.clone().and(next));
                }
            }
        }
        cache.insert((at, after), all.clone());
        all
    }

    /// Returns the clauses that begin at `at`, each with what it says about order.
    fn clauses(&self, sentence: &Sentence, at: usize, after: Kind) -> Vec<Clause> {
        let mut all = Vec::new();
        for plain in self.plain(sentence, at, after) {
            for ordered in self.with_suffix(sentence, plain) {
                push(&mut all, ordered);
            }
        }
        for (prefix, end) in self.prefixes(sentence, at) {
            for plain in self.plain(sentence, end, Kind::Order) {
                let asked = prefix.clone().applied(plain.asked);
                push(&mut all, Clause { asked, ..plain });
            }
        }
        all
    }

    fn plain(&self, sentence: &Sentence, at: usize, after: Kind) -> Vec<Clause> {
        let from = Found::at(at);
        let mut all = self.held(&self.orders, sentence, &from, Form::Order, Kind::Order);
        for confirm in self.phrases.find(&self.confirm, sentence, &from, Form::Order) {
            all.extend(self.held(&self.facts, sentence, &confirm, Form::Order, Kind::Confirm));
        }
        for say in self.phrases.find(&self.say, sentence, &from, Form::Order) {
            all.extend(self.held(&self.views, sentence, &say, Form::Order, Kind::View));
        }
        match after {
            Kind::Order => {}
            Kind::Confirm => {
                let from = Found::at(self.word(sentence, at, "that").unwrap_or(at));
                all.extend(self.held(&self.facts, sentence, &from, Form::Order, Kind::Confirm));
            }
            Kind::View => {
                all.extend(self.held(&self.views, sentence, &from, Form::Order, Kind::View));
            }
        }
        all
    }

    fn held(
        &self,
        rows: &[Ready<Operation>],
        sentence: &Sentence,
        from: &Found,
        form: Form,
        kind: Kind,
    ) -> Vec<Clause> {
        let mut all = Vec::new();
        for row in rows {
            for found in self.phrases.find(&row.node, sentence, from, form) {
                let operations = row.made(&found);
                if found.end > from.end && !operations.is_empty() {
                    let asked = Asked { operations, orders: Vec::new() };
                    push(&mut all, Clause { end: found.end, kind, asked });
                }
            }
        }
        all
    }

    /// Returns the clause as it stands, and with "before …ing" or "once …" behind it.
    fn with_suffix(&self, sentence: &Sentence, plain: Clause) -> Vec<Clause> {
        let at = self.word(sentence, plain.end, ",").unwrap_or(plain.end);
        let mut all = Vec::new();
        for (prefix, end) in self.limits(sentence, at) {
            let asked = prefix.applied(plain.asked.clone());
            all.push(Clause { end, kind: plain.kind, asked });
        }
        all.push(plain);
        all
    }

    /// Returns what stands before a clause about its order, with the comma after it.
    fn prefixes(&self, sentence: &Sentence, at: usize) -> Vec<(Limit, usize)> {
        let limits = self.limits(sentence, at).into_iter();
        limits
            .filter_map(|(limit, end)| self.word(sentence, end, ",").map(|end| (limit, end)))
            .collect()
    }

    fn limits(&self, sentence: &Sentence, at: usize) -> Vec<(Limit, usize)> {
        let mut all = Vec::new();
        if let Some(at) = self.word(sentence, at, "before") {
            let doings = self.doings(sentence, at).into_iter();
            all.extend(doings.map(|(end, later)| (Limit::Before(later), end)));
        }
        let only = self.word(sentence, at, "only").unwrap_or(at);
        let once = self.word(sentence, only, "once");
        if let Some(at) = once.or_else(|| self.word(sentence, only, "after")) {
            let facts =
                self.held(&self.facts, sentence, &Found::at(at), Form::Order, Kind::Confirm);
            all.extend(facts.into_iter().map(|c| (Limit::Once(c.asked.operations), c.end)));
            for (end, earlier) in self.doings(sentence, at) {
                let limit = fact_after(&earlier).map_or(Limit::After(earlier), Limit::Once);
                all.push((limit, end));
            }
        }
        all
    }

    fn doings(&self, sentence: &Sentence, at: usize) -> Vec<(usize, Vec<Operation>)> {
        let from = Found::at(at);
        let mut all = self.held(&self.orders, sentence, &from, Form::Doing, Kind::Order);
        for confirm in self.phrases.find(&self.confirm, sentence, &from, Form::Doing) {
            all.extend(self.held(&self.facts, sentence, &confirm, Form::Order, Kind::Confirm));
        }
        all.into_iter().map(|clause| (clause.end, clause.asked.operations)).collect()
    }

    fn word(&self, sentence: &Sentence, at: usize, word: &'static str) -> Option<usize> {
        let found = self.phrases.find(&Node::Word(word), sentence, &Found::at(at), Form::Order);
        found.first().map(|found| found.end)
    }
}

/// What a clause says about its order.
#[derive(Clone, Debug)]
enum Limit {
    /// "before placing …": states an order, adds nothing.
    Before(Vec<Operation>),
    /// "after promoting …": takes for granted that it was done.
    After(Vec<Operation>),
    /// "once each job has an owner": a check that must pass.
    Once(Vec<Operation>),
}

impl Limit {
    fn applied(self, mut asked: Asked) -> Asked {
        let stated = |first: &[Operation], second: &[Operation], needs_first: bool| {
            let mut all = Vec::new();
            for (first, second) in first.iter().flat_map(|f| second.iter().map(move |s| (f, s))) {
                all.push(Stated { first: first.name(), second: second.name(), needs_first });
            }
            all
        };
        match self {
            Self::Before(later) => asked.orders.extend(stated(&asked.operations, &later, false)),
            Self::After(earlier) => asked.orders.extend(stated(&earlier, &asked.operations, true)),
            Self::Once(mut checks) => {
                checks.append(&mut asked.operations);
                asked.operations = checks;
            }
        }
        asked
    }
}

/// Returns what passes when the operations have been done, if there is such a thing: a check, or
/// the wait itself.
fn fact_after(done: &[Operation]) -> Option<Vec<Operation>> {
    let check = match done {
        [Operation::WaitFor { .. }] => return Some(done.to_vec()),
        [Operation::PlaceReturned { queue }] => Check::OneOwner { queue: queue.clone() },
        [Operation::ReturnHeld { worker, .. }] => Check::NoHeld { worker: worker.clone() },
        [Operation::Check(check)] => check.clone(),
        _ => return None,
    };
    Some(Vec::from([Operation::Check(check)]))
}

impl Asked {
    fn and(mut self, next: Self) -> Self {
        self.operations.extend(next.operations);
        self.orders.extend(next.orders);
        self
    }
}

fn push<T: PartialEq>(all: &mut Vec<T>, next: T) {
    if all.len() < READINGS_MAX.saturating_mul(16) && !all.contains(&next) {
        all.push(next);
    }
}
