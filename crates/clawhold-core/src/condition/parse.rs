//! The grammar: operators by how tightly they bind, loosest first.
//!
//! `or`, `and`, `not` (the word), comparisons (which do not chain), `+ -`, `* / %`, `!` and a minus
//! sign, calls. A word is an operator only where an operator or a value may begin, never after a
//! dot. Nesting is bounded, so the parser's own recursion is.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::advice;
use super::check::{Checker, Operand};
use super::duration;
use super::field::Field;
use super::lex::{self, Sign, Token};
use super::near;
use super::op::{Calculation, Comparison, Literal, Op};
use super::trouble::{Span, Trouble};
use super::{DEPTH_MAX, TargetKind};

const OR: u8 = 1;
const AND: u8 = 2;
const NOT: u8 = 3;
const COMPARE: u8 = 4;
const ADD: u8 = 5;
const MULTIPLY: u8 = 6;

/// The functions, for advice.
const FUNCTIONS: [&str; 6] = ["contains", "startsWith", "endsWith", "size", "has", "duration"];

/// Returns the operations of a condition, and what it is about.
pub(super) fn parse(text: &str) -> Result<(Vec<Op>, TargetKind), Trouble> {
    let tokens = lex::lex(text)?;
    let mut parser = Parser { text, tokens, at: 0, depth: 0, checker: Checker::new(text) };
    if *parser.token() == Token::End {
        let trouble = Trouble::at(text, parser.span(), "the condition is empty");
        return Err(trouble.help("write e.g. `worker.leaving and worker.held_jobs > 0`"));
    }
    let whole = parser.expression(0)?;
    if *parser.token() != Token::End {
        return Err(parser.unexpected("an operator such as and, or, =, >"));
    }
    parser.checker.finish(whole)
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<(Token<'a>, Span)>,
    at: usize,
    depth: usize,
    checker: Checker<'a>,
}

/// An operator between two sides, and how many tokens spell it.
struct Infix {
    power: u8,
    tokens: usize,
    does: Does,
}

enum Does {
    Join(Op),
    Compare(Comparison),
    In(Negated),
    Ask(Op, Negated),
    Calculate(Calculation),
}

type Negated = bool;

impl<'a> Parser<'a> {
    fn expression(&mut self, power_min: u8) -> Result<Operand, Trouble> {
        let mut left = self.prefix()?;
        while let Some(infix) = self.infix().filter(|infix| infix.power >= power_min) {
            self.at += infix.tokens;
            let right = self.expression(infix.power + 1)?;
            left = self.combine(infix.does, left, right)?;
            let chained =
                infix.power == COMPARE && self.infix().is_some_and(|next| next.power == COMPARE);
            if chained {
                let trouble = self.trouble(self.span(), "comparisons do not chain");
                return Err(trouble.help("write `a < b and b < c`, or use brackets"));
            }
        }
        Ok(left)
    }

    fn combine(&mut self, does: Does, left: Operand, right: Operand) -> Result<Operand, Trouble> {
        let span = left.span().to(right.span());
        let (asked, negated) = match does {
            Does::Join(op) => return self.checker.join(op, left, right),
            Does::Compare(how) => return self.checker.compare(how, left, right),
            Does::Calculate(how) => return self.checker.calculate(how, left, right),
            Does::In(negated) => (self.checker.member(left, right)?, negated),
            Does::Ask(op, negated) => (self.checker.ask(op, left, right)?, negated),
        };
        if negated { self.checker.not(span, asked) } else { Ok(asked) }
    }

    /// Reads the operator that stands here, without taking it.
    fn infix(&self) -> Option<Infix> {
        let (power, does) = match self.token() {
            Token::Word(_) => return self.infix_word(),
            Token::Sign(sign) => match sign {
                Sign::Or => (OR, Does::Join(Op::Or)),
                Sign::And => (AND, Does::Join(Op::And)),
                Sign::Equal => (COMPARE, Does::Compare(Comparison::Equal)),
                Sign::NotEqual => (COMPARE, Does::Compare(Comparison::NotEqual)),
                Sign::Less => (COMPARE, Does::Compare(Comparison::Less)),
                Sign::LessEqual => (COMPARE, Does::Compare(Comparison::LessEqual)),
                Sign::Greater => (COMPARE, Does::Compare(Comparison::Greater)),
                Sign::GreaterEqual => (COMPARE, Does::Compare(Comparison::GreaterEqual)),
                Sign::Plus => (ADD, Does::Calculate(Calculation::Add)),
                Sign::Minus => (ADD, Does::Calculate(Calculation::Subtract)),
                Sign::Star => (MULTIPLY, Does::Calculate(Calculation::Multiply)),
                Sign::Slash => (MULTIPLY, Does::Calculate(Calculation::Divide)),
                Sign::Percent => (MULTIPLY, Does::Calculate(Calculation::Remainder)),
                Sign::Dot
                | Sign::Comma
                | Sign::Open
                | Sign::Close
                | Sign::OpenList
                | Sign::CloseList
                | Sign::Not => return None,
            },
            Token::Int(_) | Token::Duration(_) | Token::Text(_) | Token::End => return None,
        };
        Some(Infix { power, tokens: 1, does })
    }

    fn infix_word(&self) -> Option<Infix> {
        let is = usize::from(self.is_word(0, "is"));
        let not = usize::from(self.is_word(is, "not"));
        let at = is + not;
        let negated = not == 1;
        let infix = |power, tokens, does| Some(Infix { power, tokens, does });
        if self.is_word(at, "in") {
            return infix(COMPARE, at + 1, Does::In(negated));
        }
        if is == 1 {
            let how = if negated { Comparison::NotEqual } else { Comparison::Equal };
            return infix(COMPARE, at, Does::Compare(how));
        }
        if let Some((op, words)) = self.asking(at) {
            return infix(COMPARE, at + words, Does::Ask(op, negated));
        }
        match at {
            0 if self.is_word(0, "or") => infix(OR, 1, Does::Join(Op::Or)),
            0 if self.is_word(0, "and") => infix(AND, 1, Does::Join(Op::And)),
            _ => None,
        }
    }

    /// Reads `contains`, `startsWith` or `endsWith`, in one word or two.
    fn asking(&self, ahead: usize) -> Option<(Op, usize)> {
        let Token::Word(word) = self.ahead(ahead) else { return None };
        let two = self.is_word(ahead + 1, "with");
        match word.to_ascii_lowercase().as_str() {
            "starts" if two => Some((Op::StartsWith, 2)),
            "ends" if two => Some((Op::EndsWith, 2)),
            word => asking(word).map(|op| (op, 1)),
        }
    }

    /// Reads a value with what stands before and behind it.
    fn prefix(&mut self) -> Result<Operand, Trouble> {
        let start = self.span();
        match self.token() {
            Token::Sign(Sign::Not) => {
                self.at += 1;
                let operand = self.nested(Self::prefix)?;
                let span = start.to(operand.span());
                self.checker.not(span, operand)
            }
            Token::Sign(Sign::Minus) => {
                self.at += 1;
                if let Token::Int(_) = self.token() {
                    let literal = self.int(start)?;
                    return self.suffix(literal);
                }
                let operand = self.nested(Self::prefix)?;
                let span = start.to(operand.span());
                self.checker.negate(span, operand)
            }
            Token::Word(_) if self.is_word(0, "not") => {
                self.at += 1;
                let operand = self.nested(|parser| parser.expression(NOT))?;
                let span = start.to(operand.span());
                self.checker.not(span, operand)
            }
            Token::Word(_)
            | Token::Int(_)
            | Token::Duration(_)
            | Token::Text(_)
            | Token::Sign(_)
            | Token::End => {
                let operand = self.primary()?;
                self.suffix(operand)
            }
        }
    }

    fn primary(&mut self) -> Result<Operand, Trouble> {
        let start = self.span();
        match self.token() {
            Token::Sign(Sign::Open) => {
                self.at += 1;
                let operand = self.nested(|parser| parser.expression(0))?;
                let end = self.expect(Sign::Close, "`)`")?;
                Ok(operand.within(start.to(end)))
            }
            Token::Sign(Sign::OpenList) => self.nested(Self::list),
            Token::Word(word) => {
                let word = *word;
                self.word(word)
            }
            Token::Int(_) | Token::Duration(_) | Token::Text(_) => {
                let (literal, span) = self.constant()?;
                Ok(self.checker.literal(span, literal))
            }
            Token::Sign(_) | Token::End => Err(self.unexpected("a field or a value")),
        }
    }

    fn word(&mut self, word: &'a str) -> Result<Operand, Trouble> {
        let span = self.span();
        let dotted = *self.ahead(1) == Token::Sign(Sign::Dot);
        if dotted {
            return self.path(word);
        }
        if *self.ahead(1) == Token::Sign(Sign::Open) {
            return self.call(word);
        }
        match word.to_ascii_lowercase().as_str() {
            "true" | "false" => {
                let (literal, span) = self.constant()?;
                Ok(self.checker.literal(span, literal))
            }
            "null" => {
                self.at += 1;
                Ok(Operand::Null(span))
            }
            "and" | "or" | "in" | "is" => Err(self.unexpected("a field or a value")),
            _ => {
                let mut end = span;
                self.at += 1;
                while self.is_part_of_word() && self.span().start == end.end {
                    end = self.span();
                    self.at += 1;
                }
                Ok(Operand::Word(span.to(end)))
            }
        }
    }

    /// Tells whether a token may go on a bare word that was meant as one: `gpu-1`.
    fn is_part_of_word(&self) -> bool {
        matches!(
            self.token(),
            Token::Word(_) | Token::Int(_) | Token::Sign(Sign::Minus | Sign::Dot | Sign::Slash)
        )
    }

    fn path(&mut self, root: &'a str) -> Result<Operand, Trouble> {
        let mut span = self.span();
        let mut typed = String::from(root);
        self.at += 1;
        while *self.token() == Token::Sign(Sign::Dot) {
            let Token::Word(word) = self.ahead(1) else {
                self.at += 1;
                return Err(self.unexpected("a name after the dot"));
            };
            if *self.ahead(2) == Token::Sign(Sign::Open) {
                break;
            }
            typed.push('.');
            typed.push_str(word);
            span = span.to(self.tokens[self.at + 1].1);
            self.at += 2;
        }
        self.check_hyphens(span, &typed)?;
        self.checker.field(span, &typed)
    }

    /// Refuses `worker.held-jobs`, which reads as a subtraction and is meant as a name.
    fn check_hyphens(&self, path: Span, typed: &str) -> Result<(), Trouble> {
        let mut joined = String::from(typed);
        let mut end = path.end;
        let mut ahead = 0;
        while let (Token::Sign(Sign::Minus), Token::Word(word)) =
            (self.ahead(ahead), self.ahead(ahead + 1))
        {
            let (minus, span) = (self.span_ahead(ahead), self.span_ahead(ahead + 1));
            if minus.start != end || span.start != minus.end {
                break;
            }
            joined.push('_');
            joined.push_str(word);
            end = span.end;
            ahead += 2;
        }
        let meant = match Field::find(typed) {
            _ if ahead == 0 => None,
            Some(_) => Field::find(&joined),
            None => near::field(&joined),
        };
        let Some(meant) = meant else { return Ok(()) };
        let span = Span::new(path.start, end);
        let message = format!("`{}` is read as a subtraction", advice::short(span.of(self.text)));
        Err(self.trouble(span, message).help(format!("did you mean `{meant}`?")))
    }

    fn call(&mut self, word: &str) -> Result<Operand, Trouble> {
        let name = self.span();
        self.at += 1;
        let named = word.to_ascii_lowercase();
        if named == "duration" {
            return self.duration_call(name);
        }
        if named == "age" {
            let trouble = self.trouble(name, "age is a field, not a function");
            return Err(trouble.help("write `lease.age`, `worker.age` or `job.age`"));
        }
        if !FUNCTIONS.iter().any(|function| function.eq_ignore_ascii_case(word)) {
            return Err(self.unknown_function(name));
        }
        let (mut arguments, end) = self.arguments()?;
        let span = name.to(end);
        match (named.as_str(), arguments.len()) {
            ("size", 1) => self.checker.size(span, arguments.remove(0)),
            ("has", 1) => self.checker.has(span, arguments.remove(0)),
            ("size" | "has", count) => Err(self.wrong_count(span, word, 1, count)),
            _ => {
                let help = format!("write `worker.name.{word}(\"…\")`");
                Err(self.trouble(span, format!("`{word}` is asked of a text")).help(help))
            }
        }
    }

    fn duration_call(&mut self, name: Span) -> Result<Operand, Trouble> {
        self.expect(Sign::Open, "`(`")?;
        let span = self.span();
        let Token::Text(text) = self.token().clone() else {
            return Err(self.unexpected("a text such as \"15m\""));
        };
        self.at += 1;
        let end = self.expect(Sign::Close, "`)`")?;
        let ms = duration::parse(&text)
            .map_err(|bad| lex::bad_duration(self.text, span, span.of(self.text), bad))?;
        Ok(self.checker.literal(name.to(end), Literal::Duration(ms)))
    }

    /// Reads what stands behind a value: calls such as `.contains("x")`.
    fn suffix(&mut self, mut operand: Operand) -> Result<Operand, Trouble> {
        while *self.token() == Token::Sign(Sign::Dot) {
            self.at += 1;
            let name = self.span();
            let Token::Word(word) = *self.token() else {
                return Err(self.unexpected("a name after the dot"));
            };
            self.at += 1;
            let op = asking(&word.to_ascii_lowercase());
            if op.is_none() && !word.eq_ignore_ascii_case("size") {
                return Err(self.unknown_function(name));
            }
            let (mut arguments, end) = self.arguments()?;
            let span = operand.span().to(end);
            let count = arguments.len();
            operand = match (op, count) {
                (Some(op), 1) => self.checker.ask(op, operand, arguments.remove(0))?.within(span),
                (None, 0) => self.checker.size(span, operand)?,
                (Some(_), _) => return Err(self.wrong_count(span, word, 1, count)),
                (None, _) => return Err(self.wrong_count(span, word, 0, count)),
            };
        }
        Ok(operand)
    }

    /// Reads values in brackets, separated by commas.
    fn arguments(&mut self) -> Result<(Vec<Operand>, Span), Trouble> {
        self.expect(Sign::Open, "`(`")?;
        let mut arguments = Vec::new();
        while *self.token() != Token::Sign(Sign::Close) {
            if !arguments.is_empty() {
                self.expect(Sign::Comma, "a comma or `)`")?;
            }
            arguments.push(self.nested(|parser| parser.expression(0))?);
        }
        let end = self.expect(Sign::Close, "`)`")?;
        Ok((arguments, end))
    }

    fn list(&mut self) -> Result<Operand, Trouble> {
        let start = self.expect(Sign::OpenList, "`[`")?;
        let mut items = Vec::new();
        while *self.token() != Token::Sign(Sign::CloseList) {
            if !items.is_empty() {
                self.expect(Sign::Comma, "a comma or `]`")?;
            }
            items.push(self.constant()?);
        }
        let end = self.expect(Sign::CloseList, "`]`")?;
        Ok(Operand::List(items, start.to(end)))
    }

    fn constant(&mut self) -> Result<(Literal, Span), Trouble> {
        let span = self.span();
        let literal = match self.token() {
            Token::Duration(ms) => Literal::Duration(*ms),
            Token::Text(text) => Literal::Text(Box::from(&**text)),
            Token::Word(_) if self.is_word(0, "true") => Literal::Bool(true),
            Token::Word(_) if self.is_word(0, "false") => Literal::Bool(false),
            Token::Int(_) => return self.number(None),
            Token::Sign(Sign::Minus) if matches!(self.ahead(1), Token::Int(_)) => {
                self.at += 1;
                return self.number(Some(span));
            }
            Token::Word(word) => {
                let message = format!("a list holds constants, `{}` is none", advice::short(word));
                let help = format!("put text in quotes: \"{}\"", advice::short(word));
                return Err(self.trouble(span, message).help(help));
            }
            Token::Sign(_) | Token::End => return Err(self.unexpected("a value")),
        };
        self.at += 1;
        Ok((literal, span))
    }

    /// Reads a whole number behind a minus sign.
    fn int(&mut self, minus: Span) -> Result<Operand, Trouble> {
        let (literal, span) = self.number(Some(minus))?;
        Ok(self.checker.literal(span, literal))
    }

    fn number(&mut self, minus: Option<Span>) -> Result<(Literal, Span), Trouble> {
        let Token::Int(number) = *self.token() else {
            return Err(self.unexpected("a whole number"));
        };
        let span = minus.map_or(self.span(), |minus| minus.to(self.span()));
        self.at += 1;
        if let Token::Word(word) = self.token()
            && let Some(unit) = duration::unit_of_word(word)
        {
            let span = span.to(self.span());
            let help = format!("write {number}{unit}");
            return Err(self.trouble(span, "a duration is written in one word").help(help));
        }
        let signed = if minus.is_some() {
            0_i64.checked_sub_unsigned(number)
        } else {
            number.try_into().ok()
        };
        let message = format!("{number} is too large, at most {} is allowed", i64::MAX);
        signed.map(|number| (Literal::Int(number), span)).ok_or_else(|| self.trouble(span, message))
    }

    /// Reads something one level deeper.
    fn nested<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, Trouble>,
    ) -> Result<T, Trouble> {
        if self.depth == DEPTH_MAX {
            let message = format!("it is nested deeper than {DEPTH_MAX} levels");
            return Err(self.trouble(self.span(), message).help("split it into several rules"));
        }
        self.depth += 1;
        let read = read(self)?;
        self.depth -= 1;
        Ok(read)
    }

    fn expect(&mut self, sign: Sign, shown: &str) -> Result<Span, Trouble> {
        let span = self.span();
        if *self.token() != Token::Sign(sign) {
            return Err(self.unexpected(shown));
        }
        self.at += 1;
        Ok(span)
    }

    fn unexpected(&self, wanted: &str) -> Trouble {
        let span = self.span();
        if *self.token() == Token::End {
            return self.trouble(span, format!("it ends too early, {wanted} is missing"));
        }
        let found: String = span.of(self.text).chars().take(20).collect();
        self.trouble(span, format!("expected {wanted}, found `{found}`"))
    }

    fn unknown_function(&self, name: Span) -> Trouble {
        let word = name.of(self.text);
        let near = near::word(word, &FUNCTIONS);
        let help = near.map_or_else(
            || format!("there are {}", FUNCTIONS.join(", ")),
            |near| format!("did you mean `{near}`?"),
        );
        let word: String = word.chars().take(40).collect();
        self.trouble(name, format!("unknown function `{word}`")).help(help)
    }

    fn wrong_count(&self, span: Span, word: &str, wanted: usize, count: usize) -> Trouble {
        self.trouble(span, format!("`{word}` takes {wanted} in its brackets, here are {count}"))
    }

    fn token(&self) -> &Token<'a> {
        self.ahead(0)
    }

    /// Returns the token so many places on; the end when there are not so many.
    fn ahead(&self, count: usize) -> &Token<'a> {
        self.tokens.get(self.at + count).map_or(&Token::End, |(token, _)| token)
    }

    fn span(&self) -> Span {
        self.span_ahead(0)
    }

    fn span_ahead(&self, count: usize) -> Span {
        let end = Span::new(self.text.len(), self.text.len());
        self.tokens.get(self.at + count).map_or(end, |(_, span)| *span)
    }

    fn is_word(&self, ahead: usize, word: &str) -> bool {
        matches!(self.ahead(ahead), Token::Word(typed) if typed.eq_ignore_ascii_case(word))
    }

    fn trouble(&self, span: Span, message: impl Into<Box<str>>) -> Trouble {
        Trouble::at(self.text, span, message)
    }
}

/// Returns what a word asks of a text.
fn asking(word: &str) -> Option<Op> {
    match word {
        "contains" => Some(Op::Contains),
        "startswith" | "starts_with" => Some(Op::StartsWith),
        "endswith" | "ends_with" => Some(Op::EndsWith),
        _ => None,
    }
}
