//! A compiled condition in words: as CEL, and part by part with its values.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use core::fmt::Write;

use super::duration;
use super::op::{Literal, Op};
use super::program::{self, Program, Slot};
use super::value::Facts;

// How tightly CEL binds what a text says, loosest first.
const OR: u8 = 1;
const AND: u8 = 2;
const RELATION: u8 = 3;
const ADD: u8 = 4;
const MULTIPLY: u8 = 5;
const UNARY: u8 = 6;
const MEMBER: u8 = 7;

/// One part of a condition, with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explained {
    /// The part, as CEL.
    pub text: String,
    /// What it comes to: `true`, `12`, `1m30s`, `"text"`, `unknown`.
    pub value: String,
    /// How deep it lies; the whole is 0.
    pub depth: usize,
}

/// Returns operations as CEL.
pub(super) fn canonical(ops: &[Op]) -> String {
    let mut stack: Vec<(String, u8)> = Vec::new();
    for op in ops {
        let right = if op.takes() > 0 { stack.pop().unwrap_or_default() } else { <_>::default() };
        let left = if op.takes() > 1 { stack.pop().unwrap_or_default() } else { <_>::default() };
        let shown = match op {
            Op::Field(field) => (field.to_string(), MEMBER),
            Op::Literal(literal) => {
                let level = if matches!(literal, Literal::Int(..0)) { UNARY } else { MEMBER };
                (constant(literal), level)
            }
            Op::Has(field) => (format!("has({field})"), MEMBER),
            Op::Not => (format!("!{}", within(right, MEMBER)), UNARY),
            Op::Negate => (format!("-{}", within(right, MEMBER)), UNARY),
            Op::And => (infix(left, "&&", right, (AND, AND + 1)), AND),
            Op::Or => (infix(left, "||", right, (OR, OR + 1)), OR),
            Op::Compare(how) => {
                (infix(left, how.sign(), right, (RELATION + 1, RELATION + 1)), RELATION)
            }
            Op::Calculate(how) => {
                let level = if matches!(how.sign(), "+" | "-") { ADD } else { MULTIPLY };
                (infix(left, how.sign(), right, (level, level + 1)), level)
            }
            Op::Contains => (call(left, "contains", &right.0), MEMBER),
            Op::StartsWith => (call(left, "startsWith", &right.0), MEMBER),
            Op::EndsWith => (call(left, "endsWith", &right.0), MEMBER),
            Op::Size => (format!("size({})", right.0), MEMBER),
            Op::In => (infix(left, "in", right, (RELATION + 1, RELATION + 1)), RELATION),
            Op::OneOf(items) => {
                let items: Vec<String> = items.iter().map(constant).collect();
                let list = (format!("[{}]", items.join(", ")), MEMBER);
                (infix(right, "in", list, (RELATION + 1, MEMBER)), RELATION)
            }
        };
        stack.push(shown);
    }
    stack.pop().unwrap_or_default().0
}

/// Returns each part with its value, the whole first, then from left to right.
pub(super) fn explain(ops: &[Op], facts: &impl Facts) -> Vec<Explained> {
    let Ok(starts) = program::starts(ops) else { return Vec::new() };
    let mut explained = Vec::new();
    let mut open = vec![(ops.len() - 1, 0)];
    while let Some((at, depth)) = open.pop() {
        let op = &ops[at];
        if op.takes() == 2 {
            open.push((at - 1, depth + 1));
            open.push((starts[at - 1] - 1, depth + 1));
        } else if op.takes() == 1 {
            open.push((at - 1, depth + 1));
        }
        if matches!(op, Op::Literal(_)) {
            continue;
        }
        let part = &ops[starts[at]..=at];
        let value = value(Program::part(part, facts));
        explained.push(Explained { text: canonical(part), value, depth });
    }
    explained
}

/// Returns the fields that are read, in reading order, with their values.
pub(super) fn evidence(ops: &[Op], facts: &impl Facts) -> String {
    let mut said = Vec::new();
    let mut evidence = String::new();
    for field in ops.iter().filter_map(Op::field) {
        if said.contains(&field) {
            continue;
        }
        said.push(field);
        let between = if evidence.is_empty() { "" } else { ", " };
        let value = value(Program::part(&[Op::Field(field)], facts));
        write!(evidence, "{between}{field} = {value}").expect("a string takes whatever is written");
    }
    evidence
}

fn infix(left: (String, u8), sign: &str, right: (String, u8), levels: (u8, u8)) -> String {
    let mut text = within(left, levels.0);
    let right = within(right, levels.1);
    text.reserve(sign.len() + right.len() + 2);
    text.push(' ');
    text.push_str(sign);
    text.push(' ');
    text.push_str(&right);
    text
}

fn call(of: (String, u8), name: &str, argument: &str) -> String {
    format!("{}.{name}({argument})", within(of, MEMBER))
}

/// Returns a text, in brackets if it binds more loosely than its place allows.
fn within((text, level): (String, u8), level_min: u8) -> String {
    if level < level_min { format!("({text})") } else { text }
}

fn constant(literal: &Literal) -> String {
    match literal {
        Literal::Bool(value) => value.to_string(),
        Literal::Int(value) => value.to_string(),
        Literal::Duration(ms) => {
            let ms = i64::try_from(*ms).unwrap_or(i64::MAX);
            format!("duration(\"{}\")", duration::Shown(ms))
        }
        Literal::Text(text) => quoted(text),
    }
}

fn value(slot: Slot<'_>) -> String {
    match slot {
        Slot::Unknown => String::from("unknown"),
        Slot::Bool(value) => value.to_string(),
        Slot::Int(value) => value.to_string(),
        Slot::Duration(ms) => duration::Shown(ms).to_string(),
        Slot::Text(text) => quoted(text),
        Slot::List(items) => {
            let items: Vec<String> = items.iter().map(|item| quoted(item.as_str())).collect();
            format!("[{}]", items.join(", "))
        }
    }
}

/// Returns a text in quotes, as CEL reads it.
fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                quoted.push('\\');
                quoted.push(c);
            }
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            c if c.is_control() => {
                write!(quoted, "\\u{:04x}", u32::from(c))
                    .expect("a string takes whatever is written");
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
