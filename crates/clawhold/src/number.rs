//! Whole numbers within a range that the error repeats.

use std::fmt::Display;
use std::str::FromStr;

/// The largest number that JSON carries everywhere.
pub(crate) const NUMBER_MAX: u64 = (1 << 53) - 1;

/// Returns what reads a flag's value as a number from `min` to `max`.
pub(crate) fn within<T>(
    min: T,
    max: T,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static
where
    T: FromStr + PartialOrd + Display + Copy + Send + Sync + 'static,
{
    move |text| {
        let plain = text.strip_prefix('-').unwrap_or(text);
        let digits = !plain.is_empty() && plain.bytes().all(|byte| byte.is_ascii_digit());
        let number = digits.then(|| text.parse::<T>().ok()).flatten();
        let number = number.filter(|number| min <= *number && *number <= max);
        number.ok_or_else(|| format!("is no whole number from {min} to {max}"))
    }
}

/// Returns what reads a flag's value as any number that JSON carries everywhere.
pub(crate) fn any() -> impl Fn(&str) -> Result<u64, String> + Clone + Send + Sync + 'static {
    within(0, NUMBER_MAX)
}

/// Returns what reads the number of a job, a claim or an event.
pub(crate) fn id() -> impl Fn(&str) -> Result<u64, String> + Clone + Send + Sync + 'static {
    within(1, NUMBER_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_read_within_its_range_and_nothing_else_is() {
        assert_eq!(any()("9007199254740991"), Ok(NUMBER_MAX));
        assert_eq!(within(-100, 100)("-100"), Ok(-100));
        for text in [
            "",
            "-",
            "-1",
            "+1",
            "1.0",
            "1e3",
            "0x1",
            " 1",
            "9007199254740992",
            "٣",
            "18446744073709551616",
        ] {
            let error = any()(text).expect_err(text);
            assert_eq!(error, "is no whole number from 0 to 9007199254740991");
        }
        assert!(id()("0").is_err());
    }
}
