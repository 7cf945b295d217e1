//! Conditions drawn from a seed: what they come to is what CEL says, and what is shown as CEL, or
//! stored, means the same.
//!
//! The oracle is the `cel` crate, on the canonical text; a field without a value is a key that
//! its map lacks, which makes an error there, and `&&` and `||` absorb errors as ours absorb the
//! unknown. Left out, because CEL has no such thing or `cel` differs from CEL's own text: `null`
//! (shown as `has`), and hostile texts, which make `cel` abort.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use cel::{Context, Program};
use clawhold_core::condition::{Condition, Facts, Field, Kind, Root, Truth, Value};
use clawhold_core::units::Name;
use proptest::prelude::{ProptestConfig, any, prop_assert, prop_assert_eq, proptest};
use proptest::sample::select;

use crate::draw::Dice;

const CONDITIONS: u64 = 3_000;
const FACTS_PER_CONDITION: u64 = 4;
const DEPTH: u32 = 4;

#[test]
fn a_condition_comes_to_what_cel_says() {
    let durations = Durations::default();
    let mut seen: BTreeMap<&str, u64> = BTreeMap::new();
    for seed in 0..CONDITIONS {
        let mut dice = Dice(seed);
        let (text, roots) = draw_condition(&mut dice);
        let condition = Condition::parse(&text).unwrap_or_else(|t| panic!("seed {seed}: {t}"));
        let canonical = condition.canonical();
        let program = Program::compile(&canonical)
            .unwrap_or_else(|error| panic!("seed {seed}: {canonical}: {error}"));
        for _ in 0..FACTS_PER_CONDITION {
            let facts = draw_facts(&mut dice, roots);
            let ours = condition.eval(&facts);
            let theirs = match program.execute(&facts.context(&durations)) {
                Ok(cel::Value::Bool(value)) => Truth::from(value),
                Ok(other) => panic!("seed {seed}: {canonical} is {other:?}"),
                Err(_) => Truth::Unknown,
            };
            assert_eq!(ours, theirs, "seed {seed}: {canonical}\n{}", condition.evidence(&facts));
            *seen.entry(ours.as_str()).or_default() += 1;
        }
    }
    let enough = CONDITIONS * FACTS_PER_CONDITION / 10;
    assert!(seen.len() == 3 && seen.values().all(|count| *count > enough), "{seen:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_shown_as_cel_or_stored_means_the_same(seed in any::<u64>()) {
        let mut dice = Dice(seed);
        let (text, roots) = draw_condition(&mut dice);
        let condition = Condition::parse(&text).unwrap();
        let again = Condition::parse(&condition.canonical()).unwrap();
        let stored = minicbor::to_vec(&condition).unwrap();
        let loaded: Condition = minicbor::decode(&stored).unwrap();
        prop_assert_eq!(&loaded, &condition);
        prop_assert_eq!(again.target(), condition.target());
        prop_assert_eq!(again.fields(), condition.fields());
        prop_assert_eq!(again.canonical(), condition.canonical());
        for _ in 0..FACTS_PER_CONDITION {
            let facts = draw_facts(&mut dice, roots);
            let truth = condition.eval(&facts);
            prop_assert_eq!(again.eval(&facts), truth);
            prop_assert_eq!(loaded.eval(&facts), truth);
            prop_assert_eq!(&condition.explain(&facts)[0].value, truth.as_str());
        }
    }

    #[test]
    fn any_text_is_read_or_refused_at_a_place_within_it(
        words in proptest::collection::vec(select(WORDS), 0..40),
        between in select(&["", " ", "\n"][..]),
    ) {
        let text = words.join(between);
        match Condition::parse(&text) {
            Ok(condition) => prop_assert_eq!(condition.text(), text),
            Err(trouble) => {
                prop_assert!(trouble.start <= trouble.end && trouble.end <= text.len());
                prop_assert!(text.is_char_boundary(trouble.start));
                prop_assert!(text.is_char_boundary(trouble.end));
                prop_assert!(trouble.to_string().contains(&*trouble.message));
            }
        }
    }
}

/// What hostile and mistyped texts are made of.
const WORDS: &[&str] = &[
    "worker",
    "lease",
    "role",
    ".",
    "leaving",
    "held_jobs",
    "worker.leaving",
    "worker.queues",
    "worker.state",
    "queue.oldest_age",
    "job.id",
    "and",
    "or",
    "not",
    "in",
    "is",
    "null",
    "true",
    "contains",
    "startsWith",
    "size",
    "has",
    "duration",
    "(",
    ")",
    "[",
    "]",
    ",",
    "=",
    "==",
    "!=",
    "<",
    ">=",
    "<>",
    "≠",
    "!",
    "-",
    "+",
    "*",
    "/",
    "%",
    "&&",
    "||",
    "&",
    "1",
    "0",
    "30s",
    "1h30m",
    "9223372036854775808",
    "\"a\"",
    "'left'",
    "“é”",
    "\"",
    "\\",
    "\u{200b}",
    "\u{a0}",
    "é",
    "{",
];

/// Values of fields, of any kind but only those of the roots they were drawn for.
#[derive(Debug, Default)]
struct Drawn(BTreeMap<Field, Owned>);

#[derive(Debug)]
enum Owned {
    Bool(bool),
    Int(i64),
    Duration(u64),
    Text(String),
    List(Vec<Name>),
}

impl Facts for Drawn {
    fn value(&self, field: Field) -> Value<'_> {
        match self.0.get(&field) {
            None => Value::Unknown,
            Some(Owned::Bool(value)) => Value::Bool(*value),
            Some(Owned::Int(value)) => Value::Int(*value),
            Some(Owned::Duration(ms)) => Value::Duration(*ms),
            Some(Owned::Text(text)) => Value::Text(text),
            Some(Owned::List(items)) => Value::List(items),
        }
    }
}

impl Drawn {
    fn context(&self, durations: &Durations) -> Context<'static, 'static> {
        let mut context = Context::default();
        for root in Root::ALL {
            let mut map: HashMap<String, cel::Value> = HashMap::new();
            for (field, value) in self.0.iter().filter(|(field, _)| field.root() == root) {
                let value = match value {
                    Owned::Bool(value) => cel::Value::Bool(*value),
                    Owned::Int(value) => cel::Value::Int(*value),
                    Owned::Duration(ms) => durations.0[ms].clone(),
                    Owned::Text(text) => text.as_str().into(),
                    Owned::List(items) => {
                        let items = items.iter().map(|item| item.as_str().into()).collect();
                        cel::Value::List(Arc::new(items))
                    }
                };
                map.insert(field.short_name().to_owned(), value);
            }
            context.add_variable_from_value(root.name(), cel::Value::from(map));
        }
        context
    }
}

/// The spans of time that are drawn, as `cel` knows them.
struct Durations(BTreeMap<u64, cel::Value>);

impl Default for Durations {
    fn default() -> Self {
        let as_cel = |ms: u64| {
            let program = Program::compile(&format!("duration(\"{ms}ms\")")).unwrap();
            (ms, program.execute(&Context::default()).unwrap())
        };
        Self(DURATIONS.iter().map(|(ms, _)| as_cel(*ms)).collect())
    }
}

const DURATIONS: [(u64, &str); 5] =
    [(0, "0s"), (1, "1ms"), (90_000, "90s"), (3_600_000, "1h"), (86_400_001, "1d1ms")];
const INTS: [i64; 9] = [-3, -1, 0, 1, 2, 3, 12, i64::MAX, i64::MIN];
const TEXTS: [&str; 6] = ["", "mail", "bills", "mail and = or", "é\"x\\y'", "m"];
const NAMES: [&str; 3] = ["mail", "bills", "m"];
/// Roots that go together. What the condition is about comes first: it is always read.
const RELATED: [&[Root]; 6] = [
    &[Root::Lease, Root::Standby],
    &[Root::Worker],
    &[Root::Queue],
    &[Root::Job, Root::Queue],
    &[Root::Job, Root::Worker],
    &[Root::Job, Root::Queue, Root::Worker],
];

fn draw_facts(dice: &mut Dice, roots: &[Root]) -> Drawn {
    let mut drawn = Drawn::default();
    for field in roots.iter().flat_map(|root| root.fields()) {
        if dice.chance(12) {
            continue;
        }
        let value = match field.kind() {
            Kind::Bool => Owned::Bool(dice.chance(50)),
            Kind::Int => Owned::Int(int(dice)),
            Kind::Duration => Owned::Duration(dice.pick(&DURATIONS).unwrap().0),
            Kind::Text => Owned::Text((*dice.pick(&TEXTS).unwrap()).to_owned()),
            Kind::OneOf(values) => Owned::Text((*dice.pick(values).unwrap()).to_owned()),
            Kind::List => {
                let count = usize::try_from(dice.below(4)).unwrap();
                Owned::List(NAMES[..count].iter().map(|name| Name::parse(name).unwrap()).collect())
            }
        };
        drawn.0.insert(field, value);
    }
    drawn
}

/// Draws a condition that reads some field, and the roots that it may read.
fn draw_condition(dice: &mut Dice) -> (String, &'static [Root]) {
    let roots = *dice.pick(&RELATED).unwrap();
    let mut writer = Writer { dice, roots };
    let first = writer.comparison(DEPTH);
    let rest = writer.truth(DEPTH);
    let main = writer.roots[0].fields().filter(|field| field.kind() == Kind::Int);
    let field = *writer.dice.pick(&main.collect::<Vec<Field>>()).unwrap();
    (format!("{first} or {field} = 1 and {rest}"), roots)
}

/// Int values, the extreme ones seldom.
fn int(dice: &mut Dice) -> i64 {
    let end = if dice.chance(6) { INTS.len() } else { INTS.len() - 2 };
    *dice.pick(&INTS[..end]).unwrap()
}

/// Writes conditions as people might.
struct Writer<'a> {
    dice: &'a mut Dice,
    roots: &'static [Root],
}

impl Writer<'_> {
    fn truth(&mut self, depth: u32) -> String {
        if depth == 0 {
            return self.comparison(0);
        }
        match self.dice.below(9) {
            0..=2 => {
                let sign = self.one_of(&["and", "AND", "&&"]);
                format!("{} {sign} {}", self.operand(depth), self.operand(depth))
            }
            3..=5 => {
                let sign = self.one_of(&["or", "Or", "||"]);
                format!("{} {sign} {}", self.operand(depth), self.operand(depth))
            }
            6 => format!("not {}", self.comparison(depth - 1)),
            7 => format!("!({})", self.truth(depth - 1)),
            _ => self.comparison(depth),
        }
    }

    /// A side of `and` or `or`, sometimes in brackets.
    fn operand(&mut self, depth: u32) -> String {
        let inner = self.truth(depth - 1);
        if self.dice.chance(50) { format!("({inner})") } else { inner }
    }

    fn comparison(&mut self, depth: u32) -> String {
        match self.dice.below(10) {
            0..=3 => {
                let sign =
                    self.one_of(&["=", "==", "is", "!=", "<>", "is not", "<", "<=", "≤", ">", "≥"]);
                format!("{} {sign} {}", self.number(depth), self.number(depth))
            }
            4 => {
                let sign = self.one_of(&["<", ">=", "=", "≠"]);
                self.durations()
                    .map_or("true".into(), |(left, right)| format!("{left} {sign} {right}"))
            }
            5 => self.listed(),
            6 => self.text_question(),
            7 => {
                let field = self.field(|_| true);
                let asked = self.one_of(&["is null", "is not null", "!= null", "has"]);
                if asked == "has" { format!("has({field})") } else { format!("{field} {asked}") }
            }
            8 if depth > 0 => {
                let sign = self.one_of(&["=", "is not"]);
                format!("({}) {sign} ({})", self.truth(depth - 1), self.truth(depth - 1))
            }
            _ => self.boolean(),
        }
    }

    fn boolean(&mut self) -> String {
        if !self.has(|kind| kind == Kind::Bool) {
            return String::from("true");
        }
        let field = self.field(|kind| kind == Kind::Bool);
        let asked = self.one_of(&["", " = true", " is false", " <> TRUE", " == false"]);
        format!("{field}{asked}")
    }

    fn listed(&mut self) -> String {
        let negated = self.one_of(&["in", "not in", "IN", "is not in"]);
        if self.dice.chance(40) && self.has(|kind| kind == Kind::List) {
            let list = self.field(|kind| kind == Kind::List);
            let item = self.text();
            return if self.dice.chance(50) {
                format!("{item} {negated} {list}")
            } else {
                format!("{list} contains {item}")
            };
        }
        if self.dice.chance(50) {
            let values: Vec<String> = (0..3).map(|_| int(self.dice).to_string()).collect();
            return format!("{} {negated} [{}]", self.number(1), values.join(", "));
        }
        let field = self.field(|kind| matches!(kind, Kind::Text | Kind::OneOf(_)));
        let values = format!("{}, {}", self.constant_for(field), self.constant_for(field));
        format!("{field} {negated} [{values}]")
    }

    fn text_question(&mut self) -> String {
        let field = self.field(|kind| matches!(kind, Kind::Text | Kind::OneOf(_)));
        let constant = self.constant_for(field);
        let text = self.text();
        match self.dice.below(6) {
            0 => format!("{field} = {constant}"),
            1 => format!("{field} is not {constant}"),
            2 => format!("{field} contains {text}"),
            3 => format!("{field}.startsWith({text})"),
            4 => format!("{field} not endsWith {text}"),
            _ => format!("{constant} == {field}"),
        }
    }

    /// A constant that the field may have.
    fn constant_for(&mut self, field: Field) -> String {
        match field.kind() {
            Kind::OneOf(values) => format!("'{}'", self.one_of(values)),
            Kind::Bool | Kind::Int | Kind::Duration | Kind::Text | Kind::List => self.constant(),
        }
    }

    fn constant(&mut self) -> String {
        let text = self.one_of(&TEXTS);
        format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
    }

    fn text(&mut self) -> String {
        if self.dice.chance(70) {
            return self.constant();
        }
        self.field(|kind| kind == Kind::Text).to_string()
    }

    fn number(&mut self, depth: u32) -> String {
        match self.dice.below(8) {
            0..=2 => self.field(|kind| kind == Kind::Int).to_string(),
            3 => int(self.dice).to_string(),
            4 if depth > 0 => {
                let sign = self.one_of(&["+", "-", "*", "/", "%"]);
                format!("({} {sign} {})", self.number(depth - 1), self.number(depth - 1))
            }
            5 if depth > 0 => {
                let sign = self.one_of(&["+", "-", "*"]);
                let field = self.field(|kind| kind == Kind::Int);
                format!("{field} {sign} {}", self.number(depth - 1))
            }
            6 => format!("-{}", self.field(|kind| kind == Kind::Int)),
            _ => format!("size({})", self.field(|kind| matches!(kind, Kind::Text | Kind::List))),
        }
    }

    fn durations(&mut self) -> Option<(String, String)> {
        if !self.has(|kind| kind == Kind::Duration) {
            return None;
        }
        let left = self.field(|kind| kind == Kind::Duration);
        let (_, right) = *self.dice.pick(&DURATIONS).unwrap();
        let other = self.field(|kind| kind == Kind::Duration);
        Some(match self.dice.below(4) {
            0 => (left.to_string(), other.to_string()),
            1 => (format!("{left} - {other}"), right.to_owned()),
            2 => (right.to_owned(), format!("{left} + {other}")),
            _ => (left.to_string(), right.to_owned()),
        })
    }

    fn has(&self, wanted: impl Fn(Kind) -> bool) -> bool {
        self.roots.iter().any(|root| root.fields().any(|field| wanted(field.kind())))
    }

    fn field(&mut self, wanted: impl Fn(Kind) -> bool) -> Field {
        let fields = self.roots.iter().flat_map(|root| root.fields());
        let fields: Vec<Field> = fields.filter(|field| wanted(field.kind())).collect();
        *self.dice.pick(&fields).unwrap()
    }

    fn one_of<'w>(&mut self, words: &[&'w str]) -> &'w str {
        self.dice.pick(words).unwrap()
    }
}
