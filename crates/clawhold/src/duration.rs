//! Spans of time as people type and read them: `500ms`, `5s`, `15m`, `1h30m`, `2d`.

use std::fmt;
use std::time::Duration;

const UNITS: [(&str, u64); 5] =
    [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

/// A span of time in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Span(pub(crate) u64);

/// The spans that a flag takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// The shortest.
    pub(crate) min: Span,
    /// The longest.
    pub(crate) max: Span,
}

/// The longest delay, timeout or retention: ten years.
pub(crate) const SPAN_MAX: Span = Span(10 * 365 * 86_400_000);
/// Any length, none included.
pub(crate) const ANY: Bounds = Bounds { min: Span(0), max: SPAN_MAX };
/// Any length but none.
pub(crate) const SOME: Bounds = Bounds { min: Span(1), max: SPAN_MAX };
/// A lease, a session.
pub(crate) const TTL: Bounds = Bounds { min: Span(200), max: Span(86_400_000) };
/// Something that somebody waits for, at most a day.
pub(crate) const DAY: Bounds = Bounds { min: Span(0), max: Span(86_400_000) };

/// Why a text is no span within its bounds.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadSpan {
    #[error("is empty, write a number with its unit such as 15m; allowed is {0}")]
    Empty(Bounds),
    #[error("has a number without a unit, write {0}s or {0}ms; allowed is {1}")]
    NoUnit(String, Bounds),
    #[error(
        "is no span of time, write whole numbers with units such as 500ms, 5s, 15m, 1h30m or 2d; allowed is {0}"
    )]
    Malformed(Bounds),
    #[error(
        "has its units out of order or twice, write d, h, m, s, ms from large to small; allowed is {0}"
    )]
    Order(Bounds),
    #[error("lies outside of what is allowed, {0}")]
    Outside(Bounds),
}

impl Bounds {
    /// Reads a span that must lie within these bounds.
    pub(crate) fn parse(self, text: &str) -> Result<Span, BadSpan> {
        if text.is_empty() {
            return Err(BadSpan::Empty(self));
        }
        let mut left = text;
        let mut total: u64 = 0;
        let mut units = UNITS.iter();
        while !left.is_empty() {
            let digits = left.bytes().take_while(u8::is_ascii_digit).count();
            let (number, rest) = left.split_at(digits);
            let letters = rest.bytes().take_while(u8::is_ascii_lowercase).count();
            let (unit, rest) = rest.split_at(letters);
            if number.is_empty() {
                return Err(BadSpan::Malformed(self));
            }
            if unit.is_empty() {
                let whole = rest.is_empty() && left.len() == text.len();
                return Err(if whole {
                    BadSpan::NoUnit(number.to_owned(), self)
                } else {
                    BadSpan::Malformed(self)
                });
            }
            if !UNITS.iter().any(|(name, _)| *name == unit) {
                return Err(BadSpan::Malformed(self));
            }
            let (_, ms) = units.find(|(name, _)| *name == unit).ok_or(BadSpan::Order(self))?;
            let part = number.parse::<u64>().ok().and_then(|number| number.checked_mul(*ms));
            total = part.and_then(|part| total.checked_add(part)).ok_or(BadSpan::Outside(self))?;
            left = rest;
        }
        let span = Span(total);
        if self.min <= span && span <= self.max { Ok(span) } else { Err(BadSpan::Outside(self)) }
    }

    /// Returns what reads a flag's value within these bounds.
    pub(crate) fn parser(
        self,
    ) -> impl Fn(&str) -> Result<Span, BadSpan> + Clone + Send + Sync + 'static {
        move |text| self.parse(text)
    }
}

impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.min, self.max)
    }
}

impl Span {
    /// Returns the span for a timer.
    pub(crate) fn duration(self) -> Duration {
        Duration::from_millis(self.0)
    }
}

impl fmt::Display for Span {
    /// Writes the span exactly, as it would be typed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return f.write_str("0s");
        }
        let mut left = self.0;
        for (name, ms) in UNITS {
            if left >= ms {
                write!(f, "{}{name}", left / ms)?;
                left %= ms;
            }
        }
        Ok(())
    }
}

/// Returns a span for people to read: two units at most, rounded down.
pub(crate) fn rough(ms: u64) -> String {
    if ms < 1_000 {
        return Span(ms).to_string();
    }
    if ms < 10_000 {
        return format!("{}.{}s", ms / 1_000, ms % 1_000 / 100);
    }
    let first = UNITS.iter().position(|(_, unit)| ms >= *unit).unwrap_or(UNITS.len() - 1);
    let (_, unit) = UNITS[first];
    let finer = UNITS.get(first + 1).map_or(1, |(_, unit)| *unit).max(1_000).min(unit);
    Span(ms - ms % finer).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn what_people_type_is_read_exactly() {
        for (text, ms) in [
            ("500ms", 500),
            ("5s", 5_000),
            ("15m", 900_000),
            ("1h30m", 5_400_000),
            ("2d", 172_800_000),
            ("1d2h3m4s5ms", 93_784_005),
            ("0s", 0),
            ("007s", 7_000),
            ("90s", 90_000),
            ("3650d", 315_360_000_000),
        ] {
            assert_eq!(ANY.parse(text), Ok(Span(ms)), "{text}");
        }
    }

    #[test]
    fn anything_else_is_refused_with_the_range() {
        let tried = [
            "",
            "0",
            "-1",
            "-5m",
            "5",
            "5M",
            " 5m ",
            "5m ",
            "1e3s",
            "0.0004s",
            "1.5h",
            "PT5M",
            "5 minutes",
            "5min",
            "٥m",
            "NaN",
            "Infinity",
            "s",
            "ms",
            "5m5m",
            "5s1m",
            "5m5",
            "86400000000000",
            "199ms",
            "86400001ms",
            "1d1ms",
            "18446744073709551615ms",
            "18446744073709551616ms",
            "18446744073709551615d",
            "99999999999999999999999s",
        ];
        let mut said = String::new();
        for text in tried {
            let error = TTL.parse(text).expect_err(text);
            said.push_str(&format!("{text:?} {error}\n"));
        }
        expect![[r#"
            "" is empty, write a number with its unit such as 15m; allowed is 200ms to 1d
            "0" has a number without a unit, write 0s or 0ms; allowed is 200ms to 1d
            "-1" is no span of time, write whole numbers with units such as 500ms, 5s, 15m, 1h30m or 2d; allowed is 200ms to 1d
            "-5m" is no span of time, write whole numbers with units such as 500ms, 5s, 15m, 1h30m or 2d; allowed is 200ms to 1d
            "5" has a number without a unit, write 5s or 5ms; allowed is 200ms to 1d
            "5M" is no span of time, write whole numbers with units such as 500ms, 5s, 15m, 1h30m or 2d; allowed is 200ms to 1d
            " 5m " is no span of time, write whole numbers with units such as 500ms, 5s, 15m, 1h30m or 2d; allowed is 200ms to 1d
            "5m " is no span of time, write whole numbers with units such as 500ms, 5s, 15m, 1h30m or 2d; allowed is 200ms to 1d
            "1e3s" is no span of time, write whole numbers with units such as 500ms, 5s, 15m, 1h30m or 2d; allowed is 200ms to 1d
            "0.0004s" is no span of time, write whole numbers with units such as 500ms, 5s, 15m, 1h30m or 2d; allowed is 200ms to 1d
            "1.5h" is no span of time, write whole numbers with units such as 500ms, 5s, 15m, 1h30m or 2d; allowed is 200ms to 1d
            "PT5M" is no span of time, write whole numbers with units such as 500ms, 5s, 15m, 1h30m or 2d; allowed is 200ms to 1d
            "5 minutes" is no span of time, write whole numbers with units such as 500ms, 5s, 15m, 1h30m or 2d; allowed is 200ms to 1d
            "5min" is no span of time, write whole numbers with units such as 500ms, 5s, 15m, 1h30m or 2d; allowed is 200ms to 1d
            "٥m" is no span of time, write whole numbers with units such as 500ms, 5s, 15m, 1h30m or 2d; allowed is 200ms to 1d
            "NaN" is no span of time, write whole numbers with units such as 500ms, 5s, 15m, 1h30m or 2d; allowed is 200ms to 1d
            "Infinity" is no span of time, write whole numbers with units such as 500ms, 5s, 15m, 1h30m or 2d; allowed is 200ms to 1d
            "s" is no span of time, write whole numbers with units such as 500ms, 5s, 15m, 1h30m or 2d; allowed is 200ms to 1d
            "ms" is no span of time, write whole numbers with units such as 500ms, 5s, 15m, 1h30m or 2d; allowed is 200ms to 1d
            "5m5m" has its units out of order or twice, write d, h, m, s, ms from large to small; allowed is 200ms to 1d
            "5s1m" has its units out of order or twice, write d, h, m, s, ms from large to small; allowed is 200ms to 1d
            "5m5" is no span of time, write whole numbers with units such as 500ms, 5s, 15m, 1h30m or 2d; allowed is 200ms to 1d
            "86400000000000" has a number without a unit, write 86400000000000s or 86400000000000ms; allowed is 200ms to 1d
            "199ms" lies outside of what is allowed, 200ms to 1d
            "86400001ms" lies outside of what is allowed, 200ms to 1d
            "1d1ms" lies outside of what is allowed, 200ms to 1d
            "18446744073709551615ms" lies outside of what is allowed, 200ms to 1d
            "18446744073709551616ms" lies outside of what is allowed, 200ms to 1d
            "18446744073709551615d" lies outside of what is allowed, 200ms to 1d
            "99999999999999999999999s" lies outside of what is allowed, 200ms to 1d
        "#]].assert_eq(&said);
    }

    #[test]
    fn a_span_is_written_as_it_would_be_typed() {
        for ms in [0, 1, 999, 1_000, 5_400_000, 93_784_005, 315_360_000_000] {
            assert_eq!(ANY.parse(&Span(ms).to_string()), Ok(Span(ms)));
        }
    }

    #[test]
    fn a_rough_span_has_two_units_at_most() {
        for (ms, text) in [
            (0, "0s"),
            (950, "950ms"),
            (1_000, "1.0s"),
            (4_290, "4.2s"),
            (59_999, "59s"),
            (61_500, "1m1s"),
            (3_600_000, "1h"),
            (5_430_000, "1h30m"),
            (93_784_005, "1d2h"),
        ] {
            assert_eq!(rough(ms), text);
        }
    }
}
