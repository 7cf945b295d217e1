//! Spans of time as people write them: `90s`, `1h30m`.

use core::fmt;

use crate::limits;

const UNITS: [(&str, u64); 12] = [
    ("ms", 1),
    ("s", 1_000),
    ("sec", 1_000),
    ("secs", 1_000),
    ("m", 60_000),
    ("min", 60_000),
    ("mins", 60_000),
    ("h", 3_600_000),
    ("hr", 3_600_000),
    ("hrs", 3_600_000),
    ("d", 86_400_000),
    ("w", 7 * 86_400_000),
];

/// Why a text is no span of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BadDuration {
    /// It is not made of whole numbers and units.
    Shape,
    /// It is longer than any that is allowed.
    Long,
}

/// Returns the milliseconds that a text such as `1h30m` means.
pub(super) fn parse(text: &str) -> Result<u64, BadDuration> {
    let mut rest = text;
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).ok_or(BadDuration::Shape)?;
        let (number, after) = rest.split_at(digits);
        let letters = after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len());
        let (unit, after) = after.split_at(letters);
        if number.is_empty() {
            return Err(BadDuration::Shape);
        }
        let unit = UNITS.iter().find(|(name, _)| *name == unit).ok_or(BadDuration::Shape)?.1;
        let number: u64 = number.parse().map_err(|_| BadDuration::Long)?;
        let ms = number.checked_mul(unit).ok_or(BadDuration::Long)?;
        total = total.checked_add(ms).ok_or(BadDuration::Long)?;
        rest = after;
    }
    match total {
        _ if text.is_empty() => Err(BadDuration::Shape),
        ms if ms > limits::DURATION_MS_MAX => Err(BadDuration::Long),
        ms => Ok(ms),
    }
}

/// Returns the unit that a whole word such as `minutes` means.
pub(super) fn unit_of_word(word: &str) -> Option<&'static str> {
    match word.to_ascii_lowercase().as_str() {
        "ms" | "millisecond" | "milliseconds" => Some("ms"),
        "s" | "sec" | "secs" | "second" | "seconds" => Some("s"),
        "m" | "min" | "mins" | "minute" | "minutes" => Some("m"),
        "h" | "hr" | "hrs" | "hour" | "hours" => Some("h"),
        "d" | "day" | "days" => Some("d"),
        "w" | "week" | "weeks" => Some("w"),
        _ => None,
    }
}

/// Shows milliseconds in hours, minutes, seconds and milliseconds, as CEL reads them.
pub(super) struct Shown(pub(super) i64);

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0.unsigned_abs();
        if rest == 0 {
            return f.write_str("0s");
        }
        if self.0 < 0 {
            f.write_str("-")?;
        }
        for (unit, ms) in [("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)] {
            if rest >= ms {
                write!(f, "{}{unit}", rest / ms)?;
                rest %= ms;
            }
        }
        Ok(())
    }
}
