//! A compiled condition, checked to be one and ready to run.
//!
//! What was stored is checked in full before it runs: the types fit, the stack is bounded, one
//! truth is left. Evaluation never allocates, never fails and takes each operation at most once.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use crate::units::Name;

use super::field::FieldSet;
use super::op::{Calculation, Comparison, Literal, Op, Type};
use super::value::{Facts, Truth, Value};
use super::{OPS_MAX, STACK_MAX};

/// Values on the stack of nearly every condition.
const STACK_SMALL: usize = 8;

/// A program: its operations, and what follows from them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Program {
    pub(super) ops: Box<[Op]>,
    /// For each operation, where to go on when what it leaves settles an `and` or an `or`.
    skips: Box<[Skip]>,
    pub(super) fields: FieldSet,
    /// The most values on the stack at once.
    stack: usize,
}

/// A jump to the `and` or `or` that a value settles, whatever the other side is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Skip {
    Never,
    IfFalse(usize),
    IfTrue(usize),
}

/// A value on the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot<'a> {
    Unknown,
    Bool(bool),
    Int(i64),
    Duration(i64),
    Text(&'a str),
    List(&'a [Name]),
}

impl Program {
    /// Returns the program of these operations, if they are one.
    pub(super) fn link(ops: Vec<Op>) -> Result<Self, &'static str> {
        if ops.len() > OPS_MAX {
            return Err("a condition with too many operations");
        }
        let starts = starts(&ops)?;
        let mut types: Vec<Type> = Vec::new();
        let mut skips = vec![Skip::Never; ops.len()];
        let mut fields = FieldSet::EMPTY;
        let mut stack = 0;
        for (at, op) in ops.iter().enumerate() {
            let taken = types.split_off(types.len() - op.takes());
            types.push(op.leaves(&taken).ok_or("a condition whose types do not fit")?);
            stack = stack.max(types.len());
            if let Some(field) = op.field() {
                fields.insert(field);
            }
            let skip = match op {
                Op::And => Skip::IfFalse(at),
                Op::Or => Skip::IfTrue(at),
                Op::Field(_)
                | Op::Literal(_)
                | Op::Has(_)
                | Op::Not
                | Op::Compare(_)
                | Op::Calculate(_)
                | Op::Negate
                | Op::Contains
                | Op::StartsWith
                | Op::EndsWith
                | Op::Size
                | Op::In
                | Op::OneOf(_) => continue,
            };
            let left = starts[at - 1] - 1;
            skips[left] = skip;
        }
        if stack > STACK_MAX {
            return Err("a condition that is nested too deep");
        }
        if types != [Type::Bool] {
            return Err("a condition that is neither true nor false");
        }
        Ok(Self { ops: ops.into(), skips: skips.into(), fields, stack })
    }

    pub(super) fn eval(&self, facts: &impl Facts) -> Truth {
        if self.stack <= STACK_SMALL {
            self.run::<STACK_SMALL>(facts)
        } else {
            self.run::<STACK_MAX>(facts)
        }
    }

    fn run<const N: usize>(&self, facts: &impl Facts) -> Truth {
        let mut stack = Stack::<N> { slots: [Slot::Unknown; N], len: 0 };
        let mut at = 0;
        while let Some(op) = self.ops.get(at) {
            stack.apply(op, facts);
            at = self.settled(at, stack.top());
            at += 1;
        }
        stack.top().truth()
    }

    /// Returns the last operation that a value makes superfluous, or the one that left it.
    fn settled(&self, mut at: usize, value: Slot<'_>) -> usize {
        let Slot::Bool(value) = value else { return at };
        loop {
            at = match self.skips[at] {
                Skip::IfFalse(to) if !value => to,
                Skip::IfTrue(to) if value => to,
                Skip::Never | Skip::IfFalse(_) | Skip::IfTrue(_) => return at,
            };
        }
    }

    /// Returns what the operations of a part of it leave.
    pub(super) fn part<'a>(ops: &'a [Op], facts: &'a impl Facts) -> Slot<'a> {
        let mut stack = Stack::<STACK_MAX> { slots: [Slot::Unknown; STACK_MAX], len: 0 };
        for op in ops {
            stack.apply(op, facts);
        }
        stack.top()
    }
}

/// Returns for each operation where the part that ends with it begins.
pub(super) fn starts(ops: &[Op]) -> Result<Vec<usize>, &'static str> {
    let mut starts = Vec::with_capacity(ops.len());
    let mut open: Vec<usize> = Vec::new();
    for (at, op) in ops.iter().enumerate() {
        let taken = open.len().checked_sub(op.takes()).ok_or("a condition with a value too few")?;
        let start = open.get(taken).copied().unwrap_or(at);
        open.truncate(taken);
        open.push(start);
        starts.push(start);
    }
    Ok(starts)
}

struct Stack<'a, const N: usize> {
    slots: [Slot<'a>; N],
    len: usize,
}

impl<'a, const N: usize> Stack<'a, N> {
    fn push(&mut self, slot: Slot<'a>) {
        self.slots[self.len] = slot;
        self.len += 1;
    }

    fn pop(&mut self) -> Slot<'a> {
        self.len -= 1;
        self.slots[self.len]
    }

    fn top(&self) -> Slot<'a> {
        self.slots[self.len - 1]
    }

    fn apply(&mut self, op: &'a Op, facts: &'a impl Facts) {
        let left = match op {
            Op::Field(field) => Slot::of(facts.value(*field)),
            Op::Literal(literal) => Slot::of_literal(literal),
            Op::Has(field) => Slot::Bool(facts.value(*field) != Value::Unknown),
            Op::Not => self.pop().not(),
            Op::Negate => self.pop().negate(),
            Op::Size => self.pop().size(),
            Op::OneOf(items) => self.pop().one_of(items),
            Op::And
            | Op::Or
            | Op::Compare(_)
            | Op::Calculate(_)
            | Op::Contains
            | Op::StartsWith
            | Op::EndsWith
            | Op::In => {
                let right = self.pop();
                self.pop().with(op, right)
            }
        };
        self.push(left);
    }
}

impl<'a> Slot<'a> {
    fn of(value: Value<'a>) -> Self {
        match value {
            Value::Unknown => Self::Unknown,
            Value::Bool(value) => Self::Bool(value),
            Value::Int(value) => Self::Int(value),
            Value::Duration(ms) => Self::Duration(i64::try_from(ms).unwrap_or(i64::MAX)),
            Value::Text(text) => Self::Text(text),
            Value::List(items) => Self::List(items),
        }
    }

    fn of_literal(literal: &'a Literal) -> Self {
        match literal {
            Literal::Bool(value) => Self::Bool(*value),
            Literal::Int(value) => Self::Int(*value),
            Literal::Duration(ms) => Self::of(Value::Duration(*ms)),
            Literal::Text(text) => Self::Text(text),
        }
    }

    fn truth(self) -> Truth {
        if let Self::Bool(value) = self { value.into() } else { Truth::Unknown }
    }

    fn not(self) -> Self {
        if let Self::Bool(value) = self { Self::Bool(!value) } else { Self::Unknown }
    }

    fn negate(self) -> Self {
        let Self::Int(value) = self else { return Self::Unknown };
        value.checked_neg().map_or(Self::Unknown, Self::Int)
    }

    fn size(self) -> Self {
        let size = match self {
            Self::Text(text) => text.chars().count(),
            Self::List(items) => items.len(),
            Self::Unknown | Self::Bool(_) | Self::Int(_) | Self::Duration(_) => {
                return Self::Unknown;
            }
        };
        Self::Int(i64::try_from(size).unwrap_or(i64::MAX))
    }

    fn one_of(self, items: &'a [Literal]) -> Self {
        if self == Self::Unknown {
            return Self::Unknown;
        }
        Self::Bool(items.iter().any(|item| Self::of_literal(item) == self))
    }

    fn with(self, op: &Op, right: Self) -> Self {
        match (op, self, right) {
            (Op::And, Self::Bool(false), _) | (Op::And, _, Self::Bool(false)) => Self::Bool(false),
            (Op::Or, Self::Bool(true), _) | (Op::Or, _, Self::Bool(true)) => Self::Bool(true),
            (_, Self::Unknown, _) | (_, _, Self::Unknown) => Self::Unknown,
            (Op::And, Self::Bool(true), Self::Bool(true)) => Self::Bool(true),
            (Op::Or, Self::Bool(false), Self::Bool(false)) => Self::Bool(false),
            (Op::Compare(how), left, right) => compare(*how, left, right),
            (Op::Calculate(how), Self::Int(a), Self::Int(b)) => {
                calculate(*how, a, b).map_or(Self::Unknown, Self::Int)
            }
            (Op::Calculate(how), Self::Duration(a), Self::Duration(b)) => {
                calculate(*how, a, b).map_or(Self::Unknown, Self::Duration)
            }
            (Op::Contains, Self::Text(a), Self::Text(b)) => Self::Bool(a.contains(b)),
            (Op::StartsWith, Self::Text(a), Self::Text(b)) => Self::Bool(a.starts_with(b)),
            (Op::EndsWith, Self::Text(a), Self::Text(b)) => Self::Bool(a.ends_with(b)),
            (Op::In, Self::Text(text), Self::List(items)) => {
                Self::Bool(items.iter().any(|item| item.as_str() == text))
            }
            // A value of another kind than the schema says is as good as none.
            _ => Self::Unknown,
        }
    }
}

fn compare<'a>(how: Comparison, left: Slot<'a>, right: Slot<'a>) -> Slot<'a> {
    let order = match (left, right) {
        (Slot::Bool(a), Slot::Bool(b)) => a.cmp(&b),
        (Slot::Int(a), Slot::Int(b)) | (Slot::Duration(a), Slot::Duration(b)) => a.cmp(&b),
        (Slot::Text(a), Slot::Text(b)) => a.cmp(b),
        _ => return Slot::Unknown,
    };
    Slot::Bool(match how {
        Comparison::Equal => order.is_eq(),
        Comparison::NotEqual => order.is_ne(),
        Comparison::Less => order.is_lt(),
        Comparison::LessEqual => order.is_le(),
        Comparison::Greater => order.is_gt(),
        Comparison::GreaterEqual => order.is_ge(),
    })
}

/// Returns the result, unless it is beyond what a number holds.
fn calculate(how: Calculation, left: i64, right: i64) -> Option<i64> {
    match how {
        Calculation::Add => left.checked_add(right),
        Calculation::Subtract => left.checked_sub(right),
        Calculation::Multiply => left.checked_mul(right),
        Calculation::Divide => left.checked_div(right),
        Calculation::Remainder => left.checked_rem(right),
    }
}
