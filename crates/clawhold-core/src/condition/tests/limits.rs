//! What is stored, and what is too much.

use std::format;
use std::string::{String, ToString};
use std::time::{Duration, Instant};
use std::vec::Vec;

use expect_test::expect;

use super::{Given, TRUE};
use crate::condition::{self, Condition, Field, Truth};

#[test]
fn a_stored_condition_comes_back_equal_and_a_damaged_one_is_refused() {
    let text = "job.state in ['failed'] and not (job.age > 1h or worker.name contains \"x\") \
                and job.attempts * 2 > -3 and job.holder is null and size(queue.name) < 5";
    let condition = Condition::parse(text).unwrap();
    let bytes = minicbor::to_vec(&condition).unwrap();
    assert_eq!(minicbor::decode::<Condition>(&bytes).unwrap(), condition);
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << bit;
            let Ok(other) = minicbor::decode::<Condition>(&damaged) else { continue };
            let _ = other.eval(&Given::default());
            let _ = (other.canonical(), other.explain(&Given::default()));
        }
    }
}

#[test]
fn a_stored_condition_keeps_its_bytes() {
    let bytes = minicbor::to_vec(Condition::parse("worker.held_jobs > 0").unwrap()).unwrap();
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    expect!["8274776f726b65722e68656c645f6a6f6273203e203083820081148201818201810082068104"]
        .assert_eq(&hex);
}

#[test]
fn a_stored_program_without_end_is_refused() {
    let field = [0x82, 0x00, 0x81, 0x13];
    for (count, joined) in [(2_000_u16, false), (300, true), (600, true)] {
        let mut ops = Vec::new();
        for _ in 0..count {
            ops.extend_from_slice(&field);
        }
        let ands = if joined { count - 1 } else { 0 };
        for _ in 0..ands {
            ops.extend_from_slice(&[0x82, 0x04, 0x80]);
        }
        let [high, low] = (count + ands).to_be_bytes();
        let mut bytes = std::vec![0x82, 0x61, b'x', 0x99, high, low];
        bytes.extend_from_slice(&ops);
        let refused = minicbor::decode::<Condition>(&bytes).unwrap_err();
        assert!(refused.to_string().contains("a condition"), "{refused}");
    }
}

#[test]
fn hostile_texts_are_refused_at_once() {
    let many = |text: &str, count: usize| text.repeat(count);
    let nested = |open: &str, close: &str, count: usize| {
        format!("{}worker.leaving{}", open.repeat(count), close.repeat(count))
    };
    let texts = [
        many("worker.leaving and ", 60_000),
        many("a", 1_000_000),
        many("\u{202e}é", 2_000),
        nested("(", ")", 5_000),
        nested("(", ")", 200),
        nested("(", ")", 33),
        nested("[", "]", 1_000),
        nested("{", "}", 1_000),
        nested("!(", ")", 300),
        nested("not ", "", 300),
        nested("-", "", 1_000),
        nested("!", "", 4_000),
        nested("worker.leaving or (true and 1 < 2 + 3 * size(", ")", 60),
        format!(">{}", many("{", 30) + "?" + &many("[(", 500)),
        format!("1{} > 0", many(" + 1", 1_500)),
        format!("a{}", many(".b", 2_000)),
        format!("worker{}", many(".b", 5_000)),
        format!("worker.held{} > 0", many("-jobs", 800)),
        many("[1,2].map(x, ", 30),
        many("\"", 4_000),
        many("“", 1_300),
        many("'\\u0041'", 500),
        many("9", 4_000),
        many("9h", 2_000),
        many("\u{200b}", 1_300),
        many("\0", 4_000),
        many("=", 4_000),
        many(" ", 4_096),
        many("x-", 255),
        "worker.name.matches('((((a{100}){100}){100}){100})')".into(),
    ];
    for text in &texts {
        let started = Instant::now();
        for _ in 0..10 {
            let trouble = Condition::parse(text).unwrap_err();
            assert!(trouble.to_string().len() < 2_000, "{}", trouble.to_string().len());
        }
        let taken = started.elapsed();
        assert!(taken < Duration::from_millis(50), "{taken:?} for {text:.40}");
    }
}

#[test]
fn a_condition_at_its_limits_is_read() {
    let depth = |count: usize| format!("{}worker.leaving{}", "(".repeat(count), ")".repeat(count));
    assert!(Condition::parse(&depth(condition::DEPTH_MAX)).is_ok());
    let wide = std::vec!["worker.leaving"; 128].join(" or ");
    assert!(Condition::parse(&wide).is_ok());
    let deep = format!(
        "{}true{}",
        "worker.leaving or (worker.leaving and 1 + 2 * 3 > 4 = (".repeat(16),
        "))".repeat(16)
    );
    let deep = deep.replace("4 = (", "4 and (");
    let condition = Condition::parse(&deep).unwrap();
    let leaving = Given::from(&[(Field::WorkerLeaving, TRUE)]);
    assert_eq!(condition.eval(&leaving), Truth::True);
    let list: Vec<String> = (0..250).map(|number| number.to_string()).collect();
    let listed = format!("worker.id in [{}]", list.join(","));
    assert!(Condition::parse(&listed).is_ok());
}
