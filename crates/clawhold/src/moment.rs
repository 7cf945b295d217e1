//! Moments as people type them: RFC 3339 and nothing else, so that a moment never passes for a
//! span or a count of seconds.

use jiff::Timestamp;

/// Why a text is no moment.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadMoment {
    #[error("is no moment, write it as 2026-12-01T10:00:00Z or 2026-12-01T10:00:00+01:00")]
    Shape,
    #[error(
        "names a day, an hour or an offset that there is not, allowed is 1970-01-01T00:00:00Z to 9999-12-30T22:00:00Z"
    )]
    Range,
}

/// Reads a moment and returns it in UTC with milliseconds.
pub(crate) fn parse(text: &str) -> Result<String, BadMoment> {
    if !has_shape(text.as_bytes()) {
        return Err(BadMoment::Shape);
    }
    if &text[17..19] == "60" {
        return Err(BadMoment::Range);
    }
    let moment: Timestamp = text.parse().map_err(|_| BadMoment::Range)?;
    let ms = moment.as_millisecond();
    if !(0..=253_402_207_200_000).contains(&ms) {
        return Err(BadMoment::Range);
    }
    Ok(format!("{moment:.3}"))
}

/// Tells whether these bytes look like `2026-12-01T10:00:00[.fraction](Z|+01:00)`.
fn has_shape(bytes: &[u8]) -> bool {
    let Some((head, tail)) = bytes.split_at_checked(19) else { return false };
    if !matches(head, b"0000-00-00T00:00:00") {
        return false;
    }
    let fraction = match tail.split_first() {
        Some((b'.', rest)) => 1 + rest.iter().take_while(|b| b.is_ascii_digit()).count(),
        Some(_) | None => 0,
    };
    if fraction == 1 || fraction > 10 {
        return false;
    }
    let offset = &tail[fraction..];
    offset == b"Z" || matches(offset, b"+00:00") || matches(offset, b"-00:00")
}

/// Tells whether `bytes` has a digit where `shape` has a zero, and its bytes elsewhere.
fn matches(bytes: &[u8], shape: &[u8]) -> bool {
    let fits = |(b, s): (&u8, &u8)| if *s == b'0' { b.is_ascii_digit() } else { b == s };
    bytes.len() == shape.len() && bytes.iter().zip(shape).all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_echoed_in_utc() {
        for (text, utc) in [
            ("2026-12-01T10:00:00Z", "2026-12-01T10:00:00.000Z"),
            ("2026-12-01T10:00:00.5Z", "2026-12-01T10:00:00.500Z"),
            ("2026-12-01T10:00:00+01:00", "2026-12-01T09:00:00.000Z"),
            ("2026-12-01T00:30:00-00:00", "2026-12-01T00:30:00.000Z"),
            ("2026-12-01T10:00:00+14:00", "2026-11-30T20:00:00.000Z"),
            ("9999-12-30T22:00:00Z", "9999-12-30T22:00:00.000Z"),
        ] {
            assert_eq!(parse(text).as_deref(), Ok(utc), "{text}");
        }
    }

    #[test]
    fn a_number_a_word_or_half_a_moment_is_refused() {
        for text in [
            "0",
            "-1",
            "999999999",
            "1000000000",
            "1e12",
            "1000000000000000",
            "tomorrow",
            "now",
            "2026-12-01",
            "2026-12-01T10:00",
            "2026-12-01T10:00Z",
            "2026-12-01 10:00:00Z",
            "2026-12-01T10:00:00",
            "2026-12-01T10:00:00.Z",
            "2026-12-01t10:00:00z",
            "",
            "2026-12-01T10:00:00+01:00[Europe/Berlin]",
            "2026-12-01T10:00:00+0100",
            "5m",
            "２０２６-12-01T10:00:00Z",
            " 2026-12-01T10:00:00Z",
            "2026-12-01T10:00:00Z\n",
        ] {
            assert_eq!(parse(text), Err(BadMoment::Shape), "{text}");
        }
        for text in [
            "2026-02-30T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "0000-01-01T00:00:00Z",
            "1969-12-31T23:59:59Z",
            "2026-12-31T23:59:60Z",
            "2026-12-01T25:00:00Z",
            "9999-12-31T23:59:59Z",
            "2026-12-01T10:00:00+99:00",
        ] {
            assert_eq!(parse(text), Err(BadMoment::Range), "{text}");
        }
    }
}
