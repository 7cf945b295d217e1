//! The compiled form of a condition: operations on a stack, in the order they are done.
//!
//! This form is what the log keeps, so that a later parser never changes a stored rule. Each
//! number is never reused.

use alloc::boxed::Box;
use alloc::vec::Vec;

use minicbor::{Decode, Encode};

use super::field::{Field, Kind};

/// One operation.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) enum Op {
    /// Puts a field's value on the stack.
    #[n(0)]
    Field(#[n(0)] Field),
    /// Puts a constant on the stack.
    #[n(1)]
    Literal(#[n(0)] Literal),
    /// Tells whether a field has a value.
    #[n(2)]
    Has(#[n(0)] Field),
    #[n(3)]
    Not,
    #[n(4)]
    And,
    #[n(5)]
    Or,
    #[n(6)]
    Compare(#[n(0)] Comparison),
    #[n(7)]
    Calculate(#[n(0)] Calculation),
    #[n(8)]
    Negate,
    /// Tells whether one text is a part of another.
    #[n(9)]
    Contains,
    #[n(10)]
    StartsWith,
    #[n(11)]
    EndsWith,
    /// Counts the characters of a text or the items of a list.
    #[n(12)]
    Size,
    /// Tells whether a text is in a list.
    #[n(13)]
    In,
    /// Tells whether a value is one of these.
    #[n(14)]
    OneOf(#[n(0)] Vec<Literal>),
}

/// A constant.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) enum Literal {
    #[n(0)]
    Bool(#[n(0)] bool),
    #[n(1)]
    Int(#[n(0)] i64),
    /// Milliseconds.
    #[n(2)]
    Duration(#[n(0)] u64),
    #[n(3)]
    Text(#[n(0)] Box<str>),
}

/// How two values are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub(super) enum Comparison {
    #[n(0)]
    Equal,
    #[n(1)]
    NotEqual,
    #[n(2)]
    Less,
    #[n(3)]
    LessEqual,
    #[n(4)]
    Greater,
    #[n(5)]
    GreaterEqual,
}

/// How two numbers are put together. Spans of time are only added and subtracted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub(super) enum Calculation {
    #[n(0)]
    Add,
    #[n(1)]
    Subtract,
    #[n(2)]
    Multiply,
    #[n(3)]
    Divide,
    #[n(4)]
    Remainder,
}

/// What kind of value stands on the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Bool,
    Int,
    Duration,
    Text,
    List,
}

impl Type {
    /// Returns what people call such a value.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Bool => "true or false",
            Self::Int => "a whole number",
            Self::Duration => "a duration",
            Self::Text => "text",
            Self::List => "a list",
        }
    }
}

impl From<Kind> for Type {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Bool => Self::Bool,
            Kind::Int => Self::Int,
            Kind::Duration => Self::Duration,
            Kind::Text | Kind::OneOf(_) => Self::Text,
            Kind::List => Self::List,
        }
    }
}

impl Literal {
    pub(super) fn kind(&self) -> Type {
        match self {
            Self::Bool(_) => Type::Bool,
            Self::Int(_) => Type::Int,
            Self::Duration(_) => Type::Duration,
            Self::Text(_) => Type::Text,
        }
    }
}

impl Comparison {
    /// Tells whether it asks which value is the greater one.
    pub(super) fn orders(self) -> bool {
        !matches!(self, Self::Equal | Self::NotEqual)
    }

    pub(super) fn sign(self) -> &'static str {
        match self {
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessEqual => "<=",
            Self::Greater => ">",
            Self::GreaterEqual => ">=",
        }
    }
}

impl Calculation {
    pub(super) fn sign(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Remainder => "%",
        }
    }
}

impl Op {
    /// Returns how many values it takes from the stack. Each leaves one.
    pub(super) fn takes(&self) -> usize {
        match self {
            Self::Field(_) | Self::Literal(_) | Self::Has(_) => 0,
            Self::Not | Self::Negate | Self::Size | Self::OneOf(_) => 1,
            Self::And
            | Self::Or
            | Self::Compare(_)
            | Self::Calculate(_)
            | Self::Contains
            | Self::StartsWith
            | Self::EndsWith
            | Self::In => 2,
        }
    }

    /// Returns the type of what it leaves, if it can take what there is.
    pub(super) fn leaves(&self, taken: &[Type]) -> Option<Type> {
        let fits = match (self, taken) {
            (Self::Field(field), []) => return Some(field.kind().into()),
            (Self::Literal(literal), []) => return Some(literal.kind()),
            (Self::Negate, [Type::Int]) | (Self::Size, [Type::Text | Type::List]) => {
                return Some(Type::Int);
            }
            (Self::Calculate(how), [Type::Duration, Type::Duration]) => {
                let may = matches!(how, Calculation::Add | Calculation::Subtract);
                return may.then_some(Type::Duration);
            }
            (Self::Calculate(_), [Type::Int, Type::Int]) => return Some(Type::Int),
            (Self::Compare(how), [left, right]) => {
                let ordered = matches!(left, Type::Int | Type::Duration);
                left == right && *left != Type::List && (ordered || !how.orders())
            }
            (Self::OneOf(items), [kind]) => {
                !items.is_empty() && items.iter().all(|item| item.kind() == *kind)
            }
            (Self::Has(_), [])
            | (Self::Not, [Type::Bool])
            | (Self::And | Self::Or, [Type::Bool, Type::Bool])
            | (Self::Contains | Self::StartsWith | Self::EndsWith, [Type::Text, Type::Text])
            | (Self::In, [Type::Text, Type::List]) => true,
            _ => false,
        };
        fits.then_some(Type::Bool)
    }

    /// Returns the field that it reads, if it reads one.
    pub(super) fn field(&self) -> Option<Field> {
        if let Self::Field(field) | Self::Has(field) = self { Some(*field) } else { None }
    }
}
