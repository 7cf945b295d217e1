//! What a condition reads, and what it comes to.

use crate::units::Name;

use super::field::Field;

/// The values of one target, as they are at one position in the log.
pub trait Facts {
    /// Returns the value of a field; [`Value::Unknown`] when it has none.
    fn value(&self, field: Field) -> Value<'_>;
}

/// The value of a field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Value<'a> {
    /// There is none.
    #[default]
    Unknown,
    /// True or false.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// Milliseconds.
    Duration(u64),
    /// Text.
    Text(&'a str),
    /// A list of names.
    List(&'a [Name]),
}

/// What a condition comes to. A value that is missing makes what rests on it unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truth {
    /// It holds.
    True,
    /// It does not hold.
    False,
    /// It cannot be told.
    Unknown,
}

impl Truth {
    /// Tells whether the condition holds. What is unknown does not.
    #[must_use]
    pub fn is_true(self) -> bool {
        self == Self::True
    }

    /// Returns the word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::True => "true",
            Self::False => "false",
            Self::Unknown => "unknown",
        }
    }
}

impl From<bool> for Truth {
    fn from(value: bool) -> Self {
        if value { Self::True } else { Self::False }
    }
}
