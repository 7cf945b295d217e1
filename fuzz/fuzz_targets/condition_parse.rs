//! No text makes the parser of conditions panic, and no bytes its decoder.
//!
//! What is read decodes from its own bytes as an equal condition, and is shown as CEL that means
//! the same.

#![no_main]

use clawhold_core::condition::{BYTES_MAX, Condition, Facts, Field, Kind, Value};
use libfuzzer_sys::fuzz_target;

/// Facts that follow from a number, about one field in four without a value.
struct Sown(u64);

impl Facts for Sown {
    fn value(&self, field: Field) -> Value<'_> {
        let drawn = (self.0 ^ (field as u64)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        if drawn % 4 == 0 {
            return Value::Unknown;
        }
        match field.kind() {
            Kind::Bool => Value::Bool(drawn % 2 == 0),
            Kind::Int => Value::Int(i64::from(drawn as u8) - 4),
            Kind::Duration => Value::Duration(drawn),
            Kind::Text => Value::Text("a"),
            Kind::OneOf(values) => Value::Text(values[drawn as usize % values.len()]),
            Kind::List => Value::List(&[]),
        }
    }
}

fuzz_target!(|data: &[u8]| {
    if let Ok(text) = str::from_utf8(data) {
        check_text(text);
    }
    if let Ok(stored) = minicbor::decode::<Condition>(data) {
        check(&stored);
    }
});

fn check_text(text: &str) {
    match Condition::parse(text) {
        Ok(condition) => check(&condition),
        Err(trouble) => {
            assert!(trouble.start <= trouble.end && trouble.end <= text.len());
            assert!(trouble.to_string().contains(&*trouble.message));
        }
    }
}

fn check(condition: &Condition) {
    let bytes = minicbor::to_vec(condition).expect("a condition is written");
    let loaded: Condition = minicbor::decode(&bytes).expect("what was written is read");
    assert_eq!(&loaded, condition);
    let canonical = condition.canonical();
    // Spelt out, a condition may be longer than what may be typed.
    let again = Condition::parse(&canonical).ok().filter(|_| canonical.len() <= BYTES_MAX);
    for seed in 0..4 {
        let facts = Sown(seed);
        let truth = condition.eval(&facts);
        assert_eq!(condition.explain(&facts)[0].value, truth.as_str());
        if let Some(again) = &again {
            assert_eq!(again.eval(&facts), truth, "{canonical}");
        }
    }
}
