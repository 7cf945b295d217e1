//! What to write instead: the `help` under a trouble.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::duration;
use super::field::{Field, Kind, Root};
use super::near;
use super::op::{Literal, Op, Type};

/// Characters of a typed word that a message repeats.
const REPEATED_MAX: usize = 60;

/// Returns a typed word, cut where it is too long to be repeated.
pub(super) fn short(typed: &str) -> Cow<'_, str> {
    match typed.char_indices().nth(REPEATED_MAX) {
        Some((end, _)) => format!("{}…", &typed[..end]).into(),
        None => typed.into(),
    }
}

/// Returns what to write for a field that there is not.
pub(super) fn field(typed: &str) -> String {
    if let Some(field) = near::field(typed) {
        return format!("did you mean `{field}`?");
    }
    let root = typed.split('.').next().unwrap_or_default();
    let root = if root == "role" { "lease" } else { root };
    match Root::ALL.into_iter().find(|known| known.name() == root) {
        Some(known) => {
            let names: Vec<&str> = known.fields().map(Field::short_name).collect();
            format!("{root} has {}", names.join(", "))
        }
        None => String::from("a condition reads lease, standby, worker, queue or job"),
    }
}

/// Returns what to write for a text that is none of the values.
pub(super) fn value(typed: &str, values: &[&'static str]) -> String {
    match near::word(typed, values) {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => format!("it is one of {}", quoted(values)),
    }
}

/// Returns what to write for a bare word, given the field that it is compared with.
pub(super) fn bare_word(typed: &str, other: Option<Field>) -> String {
    let in_quotes = || format!("put text in quotes: \"{}\"", short(typed));
    let Some(other) = other else {
        let near = near::field(typed).map(|field| format!("did you mean `{field}`?"));
        return near.unwrap_or_else(|| {
            format!("{}; fields are written like `worker.leaving`", in_quotes())
        });
    };
    match other.kind() {
        Kind::OneOf(values) => match near::word(typed, values) {
            Some(near) => format!("put text in quotes: \"{near}\""),
            None => format!("it is one of {}", quoted(values)),
        },
        Kind::Text | Kind::List => in_quotes(),
        Kind::Bool => String::from("write true or false"),
        Kind::Int => String::from("write a whole number"),
        Kind::Duration => String::from("write a duration such as 30s, 15m or 1h"),
    }
}

/// Returns a comparison that a field is good for.
pub(super) fn example(field: Field) -> String {
    match field.kind() {
        Kind::Bool => format!("{field} = true"),
        Kind::Int => format!("{field} > 0"),
        Kind::Duration => format!("{field} > 30s"),
        Kind::Text => format!("{field} = \"…\""),
        Kind::OneOf(values) => format!("{field} = \"{}\"", values[0]),
        Kind::List => format!("{field} contains \"…\""),
    }
}

/// Returns what to write where two sides are of different types. A side is its type, and its one
/// operation if it has only one.
pub(super) fn mismatch(left: (Type, Option<&Op>), right: (Type, Option<&Op>)) -> Option<String> {
    let of = |side: (Type, Option<&Op>), other: Type| match side.1 {
        Some(Op::Literal(literal)) => rewritten(literal, other),
        _ => None,
    };
    let list = match (left, right) {
        ((Type::List, Some(Op::Field(list))), (Type::Text, _))
        | ((Type::Text, _), (Type::List, Some(Op::Field(list)))) => {
            Some(format!("write `{list} contains \"…\"`"))
        }
        _ => None,
    };
    list.or_else(|| of(right, left.0)).or_else(|| of(left, right.0))
}

/// Returns how a constant is written so that it has the wanted type.
fn rewritten(literal: &Literal, wanted: Type) -> Option<String> {
    match (literal, wanted) {
        (Literal::Text(text), Type::Int) => {
            let number = text.trim().parse::<i64>();
            Some(number.map_or_else(
                |_| String::from("write a whole number"),
                |number| format!("write {number} without quotes"),
            ))
        }
        (Literal::Text(text), Type::Duration) => {
            let text = text.trim();
            let known = duration::parse(text).is_ok();
            Some(if known {
                format!("write {text} without quotes")
            } else {
                String::from("write a duration such as 30s, 15m or 1h")
            })
        }
        (Literal::Text(text), Type::Bool) => {
            let word = text.trim().to_lowercase();
            let known = word == "true" || word == "false";
            Some(if known {
                format!("write {word} without quotes")
            } else {
                String::from("write true or false")
            })
        }
        (Literal::Int(0), Type::Duration) => Some(String::from("write 0s")),
        (Literal::Int(number), Type::Duration) => Some(format!("write {number}s or {number}m")),
        (Literal::Duration(_), Type::Int) => Some(String::from("write a number without a unit")),
        (Literal::Int(number), Type::Text) => Some(format!("write \"{number}\" with quotes")),
        (Literal::Bool(value), Type::Text) => Some(format!("write \"{value}\" with quotes")),
        (Literal::Int(_) | Literal::Duration(_), Type::Bool) => {
            Some(String::from("write true or false"))
        }
        _ => None,
    }
}

fn quoted(values: &[&str]) -> String {
    let quoted: Vec<String> = values.iter().map(|value| format!("\"{value}\"")).collect();
    quoted.join(", ")
}
