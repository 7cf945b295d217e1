//! Types: what may be put together, and what to write instead where it may not.
//!
//! The parser hands over what it reads from left to right; each operation that fits is emitted at
//! once, behind the operations of what it takes.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::TargetKind;
use super::advice;
use super::field::{Field, Kind, Root};
use super::op::{Calculation, Comparison, Literal, Op, Type};
use super::target;
use super::trouble::{Span, Trouble};

/// What the parser has read.
#[derive(Debug)]
pub(super) enum Operand {
    /// Something that has a value; its operations are emitted.
    Value(Part),
    /// A bare word.
    Word(Span),
    /// Constants in brackets.
    List(Vec<(Literal, Span)>, Span),
    /// `null`.
    Null(Span),
}

/// A value: where it stands in the text, and where its operations begin.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub(super) span: Span,
    pub(super) kind: Type,
    start: usize,
    end: usize,
}

/// Emits operations whose types fit.
#[derive(Debug)]
pub(super) struct Checker<'a> {
    text: &'a str,
    ops: Vec<Op>,
    /// Where each root is read for the first time.
    roots: Vec<(Root, Span)>,
}

impl Operand {
    pub(super) fn span(&self) -> Span {
        match self {
            Self::Value(part) => part.span,
            Self::Word(span) | Self::List(_, span) | Self::Null(span) => *span,
        }
    }

    /// Returns the same with brackets around it.
    pub(super) fn within(self, span: Span) -> Self {
        match self {
            Self::Value(part) => Self::Value(Part { span, ..part }),
            Self::Word(_) | Self::List(..) | Self::Null(_) => self,
        }
    }
}

impl<'a> Checker<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, ops: Vec::new(), roots: Vec::new() }
    }

    /// Returns the operations of a whole condition, and what it is about.
    pub(super) fn finish(self, whole: Operand) -> Result<(Vec<Op>, TargetKind), Trouble> {
        self.truth(whole)?;
        if self.roots.is_empty() {
            let trouble = self.trouble(Span::new(0, self.text.len()), "it reads no field");
            return Err(trouble.help("a condition reads something, e.g. `worker.leaving`"));
        }
        let roots: Vec<Root> = self.roots.iter().map(|(root, _)| *root).collect();
        let about = target::of(&roots).map_err(|unrelated| {
            let mut reads = self.roots.iter().rev();
            let later = reads.find(|(root, _)| unrelated.is_about(*root));
            let span = later.map_or(Span::default(), |(_, span)| *span);
            self.trouble(span, unrelated.message()).help(target::ALLOWED)
        })?;
        Ok((self.ops, about))
    }

    pub(super) fn literal(&mut self, span: Span, literal: Literal) -> Operand {
        self.emit(span, literal.kind(), Op::Literal(literal), self.ops.len())
    }

    pub(super) fn field(&mut self, span: Span, typed: &str) -> Result<Operand, Trouble> {
        let Some(field) = Field::find(typed) else {
            let message = format!("unknown field `{}`", advice::short(typed));
            return Err(self.trouble(span, message).help(advice::field(typed)));
        };
        if !self.roots.iter().any(|(root, _)| *root == field.root()) {
            self.roots.push((field.root(), span));
        }
        Ok(self.emit(span, field.kind().into(), Op::Field(field), self.ops.len()))
    }

    pub(super) fn not(&mut self, span: Span, operand: Operand) -> Result<Operand, Trouble> {
        let part = self.truth(operand)?;
        Ok(self.emit(span, Type::Bool, Op::Not, part.start))
    }

    pub(super) fn negate(&mut self, span: Span, operand: Operand) -> Result<Operand, Trouble> {
        let part = self.value(operand)?;
        if part.kind != Type::Int {
            let message = format!("`-` needs a whole number, this is {}", part.kind.words());
            return Err(self.trouble(part.span, message));
        }
        Ok(self.emit(span, Type::Int, Op::Negate, part.start))
    }

    /// Joins two truths with `and` or `or`.
    pub(super) fn join(
        &mut self,
        op: Op,
        left: Operand,
        right: Operand,
    ) -> Result<Operand, Trouble> {
        let left = self.truth(left)?;
        let right = self.truth(right)?;
        Ok(self.emit(left.span.to(right.span), Type::Bool, op, left.start))
    }

    pub(super) fn compare(
        &mut self,
        how: Comparison,
        left: Operand,
        right: Operand,
    ) -> Result<Operand, Trouble> {
        let span = left.span().to(right.span());
        let (left, right) = match (left, right) {
            (Operand::Value(left), Operand::Value(right)) => (left, right),
            (Operand::Value(part), Operand::Null(null))
            | (Operand::Null(null), Operand::Value(part)) => {
                return self.compare_null(how, part, null);
            }
            (Operand::Value(part), Operand::Word(word))
            | (Operand::Word(word), Operand::Value(part)) => {
                return Err(self.bare_word(word, Some(part)));
            }
            (Operand::Value(left), Operand::List(_, list)) => {
                let name = self.single_field(left).map_or("x", Field::name);
                let trouble = self.trouble(list, "a list stands only after `in`");
                return Err(trouble.help(format!("write `{name} in [\"a\", \"b\"]`")));
            }
            (left, right) => (self.value(left)?, self.value(right)?),
        };
        self.check_comparison(how, left, right)?;
        self.check_values(left, right)?;
        self.check_values(right, left)?;
        Ok(self.emit(span, Type::Bool, Op::Compare(how), left.start))
    }

    fn check_comparison(&self, how: Comparison, left: Part, right: Part) -> Result<(), Trouble> {
        if left.kind != right.kind {
            let odd = if self.single_literal(left).is_some() { left } else { right };
            let end =
                if how.orders() { "they cannot be compared" } else { "they can never be equal" };
            let (a, b) = (left.kind.words(), right.kind.words());
            let message = format!("left side is {a}, right side is {b}: {end}");
            let help = advice::mismatch(
                (left.kind, self.single_op(left)),
                (right.kind, self.single_op(right)),
            );
            return Err(self.trouble(odd.span, message).help_if(help));
        }
        let both = left.span.to(right.span);
        match left.kind {
            Type::Int | Type::Duration => Ok(()),
            Type::Bool | Type::Text if !how.orders() => Ok(()),
            Type::Bool => Err(self
                .trouble(both, "true or false has no order")
                .help("compare it with = or !=")),
            Type::Text => {
                Err(self.trouble(both, "text has no order").help("compare it with = or !="))
            }
            Type::List => Err(self
                .trouble(both, "lists cannot be compared")
                .help("ask for one item: `worker.queues contains \"mail\"`")),
        }
    }

    /// Checks a constant that is compared with a field of few values.
    fn check_values(&self, field: Part, literal: Part) -> Result<(), Trouble> {
        let Some(Literal::Text(text)) = self.single_literal(literal) else { return Ok(()) };
        self.check_value(field, text, literal.span)
    }

    fn check_value(&self, field: Part, text: &str, span: Span) -> Result<(), Trouble> {
        let Some(field) = self.single_field(field) else { return Ok(()) };
        let Kind::OneOf(values) = field.kind() else { return Ok(()) };
        if values.contains(&text) {
            return Ok(());
        }
        let message = format!("{field} is never {:?}", advice::short(text));
        Err(self.trouble(span, message).help(advice::value(text, values)))
    }

    fn compare_null(
        &mut self,
        how: Comparison,
        part: Part,
        null: Span,
    ) -> Result<Operand, Trouble> {
        if how.orders() {
            let trouble = self.trouble(null, "null has no order");
            return Err(trouble.help("write `is null` or `is not null`"));
        }
        let span = part.span.to(null);
        let has = self.has(span, Operand::Value(part))?;
        if how == Comparison::Equal { self.not(span, has) } else { Ok(has) }
    }

    /// Asks whether a field has a value.
    pub(super) fn has(&mut self, span: Span, operand: Operand) -> Result<Operand, Trouble> {
        let part = self.value(operand)?;
        let Some(field) = self.single_field(part) else {
            let trouble = self.trouble(part.span, "only a field can have no value");
            return Err(trouble.help("write e.g. `has(lease.holder)` or `lease.holder is null`"));
        };
        self.ops.truncate(part.start);
        Ok(self.emit(span, Type::Bool, Op::Has(field), part.start))
    }

    pub(super) fn calculate(
        &mut self,
        how: Calculation,
        left: Operand,
        right: Operand,
    ) -> Result<Operand, Trouble> {
        let left = self.value(left)?;
        let right = self.value(right)?;
        let span = left.span.to(right.span);
        let op = Op::Calculate(how);
        let Some(kind) = op.leaves(&[left.kind, right.kind]) else {
            let (a, b) = (left.kind.words(), right.kind.words());
            let message = format!("`{}` does not take {a} and {b}", how.sign());
            return Err(self.trouble(span, message));
        };
        Ok(self.emit(span, kind, op, left.start))
    }

    /// Asks whether an item is in a list.
    pub(super) fn member(&mut self, item: Operand, list: Operand) -> Result<Operand, Trouble> {
        let span = item.span().to(list.span());
        let (items, of) = match (item, list) {
            (Operand::Word(word), Operand::Value(list)) => {
                return Err(self.bare_word(word, Some(list)));
            }
            (item, Operand::Value(list)) => return self.member_of_field(item, list),
            (item, Operand::List(items, _)) => (items, self.value(item)?),
            (_, other) => return Err(self.no_list(other.span())),
        };
        if items.is_empty() {
            return Err(self
                .trouble(span, "an empty list holds nothing")
                .help("say what is in it"));
        }
        for (literal, span) in &items {
            if literal.kind() != of.kind {
                let (a, b) = (of.kind.words(), literal.kind().words());
                let message = format!("left side is {a}, this is {b}: they can never be equal");
                let odd = Op::Literal(literal.clone());
                let help =
                    advice::mismatch((of.kind, self.single_op(of)), (literal.kind(), Some(&odd)));
                return Err(self.trouble(*span, message).help_if(help));
            }
            if let Literal::Text(text) = literal {
                self.check_value(of, text, *span)?;
            }
        }
        let items = items.into_iter().map(|(literal, _)| literal).collect();
        Ok(self.emit(span, Type::Bool, Op::OneOf(items), of.start))
    }

    fn member_of_field(&mut self, item: Operand, list: Part) -> Result<Operand, Trouble> {
        let item = self.value(item)?;
        if list.kind != Type::List {
            let help = match (list.kind, self.single_field(list)) {
                (Type::Text, Some(field)) => Some(format!("write `{field} contains \"…\"`")),
                _ => None,
            };
            return Err(self.no_list(list.span).help_if(help));
        }
        self.check_text(item, "an item of this list")?;
        Ok(self.emit(item.span.to(list.span), Type::Bool, Op::In, item.start))
    }

    fn no_list(&self, span: Span) -> Trouble {
        self.trouble(span, "`in` needs a list on its right side")
            .help("write e.g. `worker.state in [\"left\", \"lost\"]`")
    }

    /// Asks something of a text; a list may be asked for an item.
    pub(super) fn ask(&mut self, op: Op, of: Operand, part: Operand) -> Result<Operand, Trouble> {
        let of = match (of, &part) {
            (Operand::List(items, span), _) if op == Op::Contains => {
                return self.member(part, Operand::List(items, span));
            }
            (Operand::Value(of), Operand::Word(word)) => {
                return Err(self.bare_word(*word, Some(of)));
            }
            (of, _) => self.value(of)?,
        };
        if let Operand::List(_, list) = part {
            let trouble = self.trouble(list, "only one item can be asked for");
            return Err(trouble.help("ask for each one, joined with or"));
        }
        let part = self.value(part)?;
        let span = of.span.to(part.span);
        if of.kind == Type::List && op == Op::Contains {
            self.check_text(part, "an item of this list")?;
            // Only a field is a list: its one operation moves behind those of the item.
            let list = self.ops.remove(of.start);
            self.ops.push(list);
            return Ok(self.emit(span, Type::Bool, Op::In, of.start));
        }
        if of.kind != Type::Text {
            let does = if op == Op::Contains { "contains" } else { "begins or ends with" };
            let message = format!("only text {does} something, this is {}", of.kind.words());
            return Err(self.trouble(of.span, message));
        }
        self.check_text(part, "what is looked for")?;
        Ok(self.emit(span, Type::Bool, op, of.start))
    }

    fn check_text(&self, part: Part, what: &str) -> Result<(), Trouble> {
        if part.kind == Type::Text {
            return Ok(());
        }
        let message = format!("{what} is text, this is {}", part.kind.words());
        Err(self.trouble(part.span, message))
    }

    pub(super) fn size(&mut self, span: Span, operand: Operand) -> Result<Operand, Trouble> {
        if let Operand::List(_, list) = operand {
            return Err(self.trouble(list, "the size of this list is plain to see"));
        }
        let part = self.value(operand)?;
        if !matches!(part.kind, Type::Text | Type::List) {
            let message = format!("only text and lists have a size, this is {}", part.kind.words());
            return Err(self.trouble(part.span, message));
        }
        Ok(self.emit(span, Type::Int, Op::Size, part.start))
    }

    /// Returns what is true or false.
    fn truth(&self, operand: Operand) -> Result<Part, Trouble> {
        let part = self.value(operand)?;
        if part.kind == Type::Bool {
            return Ok(part);
        }
        let field = self.single_field(part);
        let what: Cow<'_, str> = field.map_or("this".into(), |field| format!("`{field}`").into());
        let message = format!("{what} is {}, a condition is true or false", part.kind.words());
        let help = match (field, self.single_literal(part)) {
            (Some(field), _) => {
                format!("compare it with something, e.g. `{}`", advice::example(field))
            }
            (None, Some(Literal::Text(_))) => {
                String::from("to compare with one of several, write `x in [\"a\", \"b\"]`")
            }
            (None, _) => String::from("compare it with something, e.g. `> 0`"),
        };
        Err(self.trouble(part.span, message).help(help))
    }

    fn value(&self, operand: Operand) -> Result<Part, Trouble> {
        match operand {
            Operand::Value(part) => Ok(part),
            Operand::Word(word) => Err(self.bare_word(word, None)),
            Operand::List(_, list) => Err(self
                .trouble(list, "a list stands only after `in`")
                .help("write e.g. `worker.state in [\"left\", \"lost\"]`")),
            Operand::Null(null) => Err(self
                .trouble(null, "null is only compared with a field")
                .help("write e.g. `lease.holder is null`")),
        }
    }

    /// Returns what is wrong with a bare word, given what it is compared with.
    fn bare_word(&self, word: Span, other: Option<Part>) -> Trouble {
        let typed = word.of(self.text);
        let field = other.and_then(|other| self.single_field(other));
        let help = advice::bare_word(typed, field);
        self.trouble(word, format!("unknown word `{}`", advice::short(typed))).help(help)
    }

    fn single_op(&self, part: Part) -> Option<&Op> {
        self.ops.get(part.start).filter(|_| part.end == part.start + 1)
    }

    fn single_field(&self, part: Part) -> Option<Field> {
        if let Some(Op::Field(field)) = self.single_op(part) { Some(*field) } else { None }
    }

    fn single_literal(&self, part: Part) -> Option<&Literal> {
        if let Some(Op::Literal(literal)) = self.single_op(part) { Some(literal) } else { None }
    }

    /// Emits an operation whose part begins at `start`, and tells what it leaves.
    fn emit(&mut self, span: Span, kind: Type, op: Op, start: usize) -> Operand {
        self.ops.push(op);
        Operand::Value(Part { span, kind, start, end: self.ops.len() })
    }

    fn trouble(&self, span: Span, message: impl Into<Box<str>>) -> Trouble {
        Trouble::at(self.text, span, message)
    }
}
