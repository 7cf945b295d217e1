//! Conditions as people type them: what they mean, and how they are shown.

mod limits;
mod names;
mod troubles;

use std::collections::BTreeMap;
use std::format;
use std::string::String;
use std::vec::Vec;

use expect_test::{Expect, expect};

use super::{Condition, Facts, Field, TargetKind, Truth, Value};
use crate::units::Name;

#[test]
fn the_two_conditions_of_the_first_commands_mean_what_they_say() {
    let lapsed = Condition::parse("lease.expired == true").unwrap();
    assert_eq!(lapsed.target(), TargetKind::Role);
    assert_eq!(lapsed.eval(&Given::from(&[(Field::LeaseExpired, TRUE)])), Truth::True);
    assert_eq!(lapsed.eval(&Given::from(&[(Field::LeaseExpired, FALSE)])), Truth::False);

    let leaving = Condition::parse("worker.leaving = true and worker.held_jobs > 0").unwrap();
    assert_eq!(leaving.target(), TargetKind::Worker);
    assert!(!leaving.is_timed());
    for (is_leaving, held, holds) in
        [(TRUE, 12, Truth::True), (TRUE, 0, Truth::False), (FALSE, 12, Truth::False)]
    {
        let facts = [(Field::WorkerLeaving, is_leaving), (Field::WorkerHeldJobs, Value::Int(held))];
        assert_eq!(leaving.eval(&Given::from(&facts)), holds);
    }
}

#[test]
fn every_habit_of_spelling_is_read_and_shown_as_cel() {
    check_canonical(&[
        "lease.expired == true",
        "lease.expired = true",
        "role.expired is true",
        "worker.leaving = true and worker.held_jobs > 0",
        "worker.leaving AND worker.held_jobs <> 0",
        "worker.name = \"rock and roll = fun or not\"",
        "worker.name = 'rock and roll = fun or not'",
        "worker.name = “rock and roll = fun or not”",
        "worker.name is ‘it is \"so\"’",
        "not worker.leaving = true",
        "!worker.leaving = true",
        "not worker.held_jobs > 5",
        "not worker.state = 'left' and worker.slots > 1",
        "worker.state not in ['left','lost']",
        "worker.state is not in ['left','lost']",
        "worker.state is not 'left'",
        "worker.held_jobs\u{a0}≥\u{a0}3 Or worker.slots ≤ 2 && worker.id ≠ 7",
        "queue.oldest_age > 1m",
        "queue.oldest_age > duration(\"1h30m\") or queue.oldest_age > 90000ms",
        "worker.queues contains 'gpu'",
        "worker.queues.contains('gpu')",
        "\"gpu\" in worker.queues",
        "worker.name contains 'gpu' and worker.name.startsWith('a') and worker.name ends with 'z'",
        "worker.name not contains \"a\\\\b\\\"c\\u0007\"",
        "size(worker.queues) > 1 and worker.name.size() < 5",
        "lease.holder is null or standby.ready = 0",
        "lease.holder != null and has(lease.age)",
        "queue.depth > queue.workers * 10 + 5 - -3",
        "(queue.depth - queue.running) * 2 >= 10 % 4",
        "queue.depth - (queue.running - 1) = -queue.failed",
        "(worker.leaving or worker.slots = 0) and (worker.held_jobs > 0) = true",
        "worker.leaving and (worker.slots = 0 and worker.id = 1)",
        "not (not worker.leaving)",
        "job.queue in worker.queues and job.attempts >= 3",
        "worker.drain_left < 5s and\n  worker.held_jobs > 0",
    ]);
}

fn check_canonical(texts: &[&str]) {
    let mut shown = String::new();
    for text in texts {
        let condition = Condition::parse(text).unwrap_or_else(|t| panic!("{text}: {t}"));
        let canonical = condition.canonical();
        let again = Condition::parse(&canonical).unwrap_or_else(|t| panic!("{canonical}: {t}"));
        assert_eq!(again.canonical(), canonical);
        shown.push_str(&format!("{canonical}\n"));
    }
    expect![[r#"
        lease.expired == true
        lease.expired == true
        lease.expired == true
        worker.leaving == true && worker.held_jobs > 0
        worker.leaving && worker.held_jobs != 0
        worker.name == "rock and roll = fun or not"
        worker.name == "rock and roll = fun or not"
        worker.name == "rock and roll = fun or not"
        worker.name == "it is \"so\""
        !(worker.leaving == true)
        !worker.leaving == true
        !(worker.held_jobs > 5)
        !(worker.state == "left") && worker.slots > 1
        !(worker.state in ["left", "lost"])
        !(worker.state in ["left", "lost"])
        worker.state != "left"
        worker.held_jobs >= 3 || worker.slots <= 2 && worker.id != 7
        queue.oldest_age > duration("1m")
        queue.oldest_age > duration("1h30m") || queue.oldest_age > duration("1m30s")
        "gpu" in worker.queues
        "gpu" in worker.queues
        "gpu" in worker.queues
        worker.name.contains("gpu") && worker.name.startsWith("a") && worker.name.endsWith("z")
        !worker.name.contains("a\\b\"c\u0007")
        size(worker.queues) > 1 && size(worker.name) < 5
        !has(lease.holder) || standby.ready == 0
        has(lease.holder) && has(lease.age)
        queue.depth > queue.workers * 10 + 5 - -3
        (queue.depth - queue.running) * 2 >= 10 % 4
        queue.depth - (queue.running - 1) == -queue.failed
        (worker.leaving || worker.slots == 0) && (worker.held_jobs > 0) == true
        worker.leaving && (worker.slots == 0 && worker.id == 1)
        !(!worker.leaving)
        job.queue in worker.queues && job.attempts >= 3
        worker.drain_left < duration("5s") && worker.held_jobs > 0
    "#]]
    .assert_eq(&shown);
}

#[test]
fn what_is_unknown_makes_unknown_only_what_rests_on_it() {
    let value = |truth| match truth {
        't' => Value::Bool(true),
        'f' => Value::Bool(false),
        _ => Value::Unknown,
    };
    // Left, right, and, or, equal.
    for case in ["ttttt", "tfftf", "tuutu", "ftftf", "fffft", "fufuu", "ututu", "uffuu", "uuuuu"] {
        let case: Vec<char> = case.chars().collect();
        let facts = Given::from(&[
            (Field::LeaseHeld, value(case[0])),
            (Field::LeaseExpired, value(case[1])),
        ]);
        let of = |text: &str| match Condition::parse(text).unwrap().eval(&facts) {
            Truth::True => 't',
            Truth::False => 'f',
            Truth::Unknown => 'u',
        };
        assert_eq!(of("lease.held and lease.expired"), case[2], "{case:?}");
        assert_eq!(of("lease.held or lease.expired"), case[3], "{case:?}");
        assert_eq!(of("lease.held = lease.expired"), case[4], "{case:?}");
    }
}

#[test]
fn a_field_without_a_value_never_makes_a_rule_fire() {
    let nothing = Given::default();
    for text in [
        "queue.oldest_age > 1m",
        "not queue.oldest_age > 1m",
        "queue.oldest_age != 1m",
        "queue.depth / queue.workers > 1",
        "size(worker.queues) = 0",
        "worker.state in ['left']",
        "worker.state not in ['left']",
        "not worker.queues contains 'mail'",
        "lease.holder = lease.holder",
    ] {
        assert_eq!(Condition::parse(text).unwrap().eval(&nothing), Truth::Unknown, "{text}");
    }
    let none = Condition::parse("queue.oldest_age is null").unwrap();
    assert_eq!(none.eval(&nothing), Truth::True);
    let zero = Given::from(&[
        (Field::QueueDepth, Value::Int(i64::MAX)),
        (Field::QueueWorkers, Value::Int(0)),
    ]);
    for text in ["queue.depth / queue.workers > 1", "queue.depth + 1 > 0", "queue.depth * 2 > 0"] {
        assert_eq!(Condition::parse(text).unwrap().eval(&zero), Truth::Unknown, "{text}");
    }
}

#[test]
fn each_part_is_explained_with_its_value_in_reading_order() {
    let text = "(worker.leaving = true or worker.drain_left < 90s) and \
                (worker.queues contains 'mail' or worker.held_jobs - 1 > worker.slots)";
    let condition = Condition::parse(text).unwrap();
    let queues = [Name::parse("bills").unwrap(), Name::parse("scans").unwrap()];
    let facts = Given::from(&[
        (Field::WorkerLeaving, TRUE),
        (Field::WorkerQueues, Value::List(&queues)),
        (Field::WorkerHeldJobs, Value::Int(12)),
    ]);
    let mut shown = String::new();
    for part in condition.explain(&facts) {
        let lead = "  ".repeat(part.depth);
        shown.push_str(&format!("{lead}{} → {}\n", part.text, part.value));
    }
    shown.push_str(&condition.evidence(&facts));
    expect![[r#"
        (worker.leaving == true || worker.drain_left < duration("1m30s")) && ("mail" in worker.queues || worker.held_jobs - 1 > worker.slots) → unknown
          worker.leaving == true || worker.drain_left < duration("1m30s") → true
            worker.leaving == true → true
              worker.leaving → true
            worker.drain_left < duration("1m30s") → unknown
              worker.drain_left → unknown
          "mail" in worker.queues || worker.held_jobs - 1 > worker.slots → unknown
            "mail" in worker.queues → false
              worker.queues → ["bills", "scans"]
            worker.held_jobs - 1 > worker.slots → unknown
              worker.held_jobs - 1 → 11
                worker.held_jobs → 12
              worker.slots → unknown
        worker.leaving = true, worker.drain_left = unknown, worker.queues = ["bills", "scans"], worker.held_jobs = 12, worker.slots = unknown"#]].assert_eq(&shown);
}

#[test]
fn only_ages_and_times_left_change_by_time_alone() {
    let timed: Vec<&str> =
        Field::ALL.iter().filter(|field| field.is_timed()).map(|field| field.name()).collect();
    let expected =
        expect!["lease.age lease.vacant_for worker.age worker.drain_left queue.oldest_age job.age"];
    expected.assert_eq(&timed.join(" "));
    assert!(Condition::parse("lease.vacant and lease.vacant_for > 5s").unwrap().is_timed());
    assert!(!Condition::parse("lease.ttl > 5s").unwrap().is_timed());
}

#[test]
fn the_schema_numbers_each_field_once_and_finds_it_by_its_name() {
    assert!(Field::ALL.len() <= 64);
    for (at, field) in Field::ALL.iter().enumerate() {
        assert_eq!(*field as usize, at);
        assert_eq!(Field::find(field.name()), Some(*field));
        assert!(field.name().starts_with(field.root().name()), "{field}");
        assert!(field.help().ends_with('.') && field.help().len() <= 100, "{field}");
        let text = super::advice::example(*field);
        assert!(Condition::parse(&text).is_ok(), "{text}");
    }
}

const TRUE: Value<'static> = Value::Bool(true);
const FALSE: Value<'static> = Value::Bool(false);

#[derive(Default)]
struct Given<'a>(BTreeMap<Field, Value<'a>>);

impl<'a> From<&[(Field, Value<'a>)]> for Given<'a> {
    fn from(values: &[(Field, Value<'a>)]) -> Self {
        Self(values.iter().copied().collect())
    }
}

impl<'a, const N: usize> From<&[(Field, Value<'a>); N]> for Given<'a> {
    fn from(values: &[(Field, Value<'a>); N]) -> Self {
        Self::from(values.as_slice())
    }
}

impl Facts for Given<'_> {
    fn value(&self, field: Field) -> Value<'_> {
        self.0.get(&field).copied().unwrap_or_default()
    }
}

fn check_troubles(texts: &[&str], expected: &Expect) {
    let mut shown = String::new();
    for text in texts {
        let trouble = Condition::parse(text).expect_err(text);
        assert!(trouble.start <= trouble.end && trouble.end <= text.len());
        shown.push_str(&format!("{trouble}\n\n"));
    }
    expected.assert_eq(&shown);
}
