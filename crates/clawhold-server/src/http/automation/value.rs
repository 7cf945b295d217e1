//! Values as people write them: names, lengths of time, limits, approvals, secrets.

use clawhold_api::automation::definition::HIDDEN;
use clawhold_core::catalog::{Approval, Cooldown, Grouping, MaxRuns, Secret, Severity, Trigger};
use clawhold_core::limits;
use clawhold_core::units::{Name, Prose, Text, Title};

use crate::http::convert;
use crate::http::error::Rejected;

const TITLE_ALLOWED: &str =
    "1 to 100 bytes, without control or hidden characters, and no space at its ends";
const DURATION_ALLOWED: &str =
    "a length of time, at most 3650d: 500ms, 90s, 15m, 2h, 1d, 1w, 1h30m";
const MAX_RUNS_ALLOWED: &str =
    "6 per day, 3 per 2 hours, once per hour, 20/day, or unlimited; to allow none, disable it";
const APPROVAL_ALLOWED: &str = "auto, ask, ask:2, ask:@group, ask:2@group or never";

const SECOND: u64 = 1_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;
const WEEK: u64 = 7 * DAY;

/// Returns a name as people give it.
pub(super) fn title(field: &str, text: &str) -> Result<Title, Rejected> {
    Title::parse(text).map_err(|_| Rejected::field(field, text, TITLE_ALLOWED))
}

/// Returns a name as people give it, if one is given; what is empty is none.
pub(super) fn title_opt(field: &str, text: Option<&str>) -> Result<Option<Title>, Rejected> {
    given(text).map(|text| title(field, text)).transpose()
}

/// Returns names as people give them.
pub(super) fn titles(field: &str, texts: &[String]) -> Result<Vec<Title>, Rejected> {
    list(field, texts, |at, text| title(at, text))
}

/// Returns names of actors.
pub(super) fn names(field: &str, texts: &[String]) -> Result<Vec<Name>, Rejected> {
    list(field, texts, |at, text| convert::name(at, text))
}

/// Returns a list, each of its items read by `read`.
pub(super) fn list<T, U>(
    field: &str,
    items: &[T],
    read: impl Fn(&str, &T) -> Result<U, Rejected>,
) -> Result<Vec<U>, Rejected> {
    convert::count(field, items.len(), 0, limits::LIST_MAX)?;
    let items = items.iter().enumerate();
    items.map(|(at, item)| read(&format!("{field}[{at}]"), item)).collect()
}

/// Returns what is given; what is empty is not.
pub(super) fn given(text: Option<&str>) -> Option<&str> {
    text.filter(|text| !text.trim().is_empty())
}

/// Returns text for people, if any is given.
pub(super) fn text_opt(field: &str, text: Option<&str>) -> Result<Option<Text>, Rejected> {
    given(text).map(|text| convert::text(field, Some(text))).transpose()
}

/// Returns a text that is read as sentences.
pub(super) fn prose(field: &str, text: &str) -> Result<Prose, Rejected> {
    let allowed = || format!("at most {} bytes of text", limits::PROSE_BYTES_MAX);
    let odd = text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t'));
    let parsed = Prose::parse(text).ok().filter(|_| !odd);
    parsed.ok_or_else(|| {
        let shown: String = text.chars().take(60).collect();
        Rejected::field(field, &shown, &allowed())
    })
}

/// Returns the words that start something.
pub(super) fn trigger(field: &str, text: &str) -> Result<Trigger, Rejected> {
    let allowed = "`/` and 1 to 5 words of visible ASCII, at most 100 bytes: /runbook rebalance";
    Trigger::parse(text).ok_or_else(|| Rejected::field(field, text, allowed))
}

/// Returns how bad something is.
pub(super) fn severity(field: &str, text: &str) -> Result<Severity, Rejected> {
    match text.trim().to_ascii_lowercase().as_str() {
        "info" => Ok(Severity::Info),
        "warning" | "warn" => Ok(Severity::Warning),
        "critical" => Ok(Severity::Critical),
        _ => Err(Rejected::field(field, text, "critical, warning or info")),
    }
}

/// Returns what alerts are told apart by.
pub(super) fn grouping(field: &str, text: &str) -> Result<Grouping, Rejected> {
    let all = [Grouping::Role, Grouping::Queue, Grouping::Worker, Grouping::Job];
    let found = all.into_iter().find(|grouping| text.eq_ignore_ascii_case(grouping.as_str()));
    found.ok_or_else(|| Rejected::field(field, text, "role, queue, worker or job"))
}

/// Returns the milliseconds of a length of time.
pub(super) fn duration(field: &str, text: &str) -> Result<u64, Rejected> {
    let bad = || Rejected::field(field, text, DURATION_ALLOWED);
    let mut rest = text.trim();
    let mut total = 0_u64;
    if rest.is_empty() {
        return Err(bad());
    }
    while !rest.is_empty() {
        let (count, after) = split(rest, u8::is_ascii_digit);
        let (word, after) = split(after.trim_start(), u8::is_ascii_alphabetic);
        let count: u64 = count.parse().map_err(|_| bad())?;
        let unit = unit(word).ok_or_else(bad)?;
        let more = count.checked_mul(unit).ok_or_else(bad)?;
        total = total.checked_add(more).ok_or_else(bad)?;
        rest = after.trim_start();
    }
    if total > limits::DURATION_MS_MAX { Err(bad()) } else { Ok(total) }
}

/// Splits a text behind its first bytes that are `like`.
fn split(text: &str, like: impl Fn(&u8) -> bool) -> (&str, &str) {
    text.split_at(text.bytes().take_while(|byte| like(byte)).count())
}

fn unit(word: &str) -> Option<u64> {
    match word.to_ascii_lowercase().as_str() {
        "ms" => Some(1),
        "s" | "sec" | "secs" | "second" | "seconds" => Some(SECOND),
        "m" | "min" | "mins" | "minute" | "minutes" => Some(MINUTE),
        "h" | "hr" | "hour" | "hours" => Some(HOUR),
        "d" | "day" | "days" => Some(DAY),
        "w" | "week" | "weeks" => Some(WEEK),
        _ => None,
    }
}

/// Writes a length of time in its largest whole unit.
pub(super) fn show_duration(ms: u64) -> String {
    let units = [(WEEK, "w"), (DAY, "d"), (HOUR, "h"), (MINUTE, "m"), (SECOND, "s")];
    let whole = units.into_iter().find(|(unit, _)| ms > 0 && ms.is_multiple_of(*unit));
    match whole {
        Some((unit, letter)) => format!("{}{letter}", ms / unit),
        None if ms == 0 => "0s".to_owned(),
        None => format!("{ms}ms"),
    }
}

/// Returns a limit of runs; `None` for none.
pub(super) fn max_runs(
    field: &str,
    text: &str,
    per_target: bool,
) -> Result<Option<MaxRuns>, Rejected> {
    let bad = || Rejected::field(field, text, MAX_RUNS_ALLOWED);
    let lower = text.trim().to_ascii_lowercase().replace('/', " per ");
    let words: Vec<&str> = lower.split_whitespace().collect();
    if words == ["unlimited"] {
        return Ok(None);
    }
    let (count, period) = match words.as_slice() {
        [count, "per" | "a" | "an" | "each" | "every", period @ ..] => (*count, period),
        _ => return Err(bad()),
    };
    let count = match count {
        "once" => 1,
        "twice" => 2,
        digits => digits.parse().map_err(|_| bad())?,
    };
    let per_ms = match period {
        [word] if word.starts_with(|c: char| c.is_ascii_digit()) => duration(field, word)?,
        [word] => unit(word).ok_or_else(bad)?,
        [times, word] => {
            let times: u64 = times.parse().map_err(|_| bad())?;
            times.checked_mul(unit(word).ok_or_else(bad)?).ok_or_else(bad)?
        }
        _ => return Err(bad()),
    };
    let fits = (1..=limits::MAX_RUNS_MAX).contains(&count)
        && (SECOND..=limits::DURATION_MS_MAX).contains(&per_ms);
    fits.then_some(Some(MaxRuns { count, per_ms, per_target })).ok_or_else(bad)
}

/// Writes a limit of runs.
pub(super) fn show_max_runs(limit: MaxRuns) -> String {
    let units = [(WEEK, "week"), (DAY, "day"), (HOUR, "hour"), (MINUTE, "minute")];
    let whole = units.into_iter().find(|(unit, _)| limit.per_ms.is_multiple_of(*unit));
    let (times, unit) = match whole {
        Some((unit, word)) => (limit.per_ms / unit, word.to_owned()),
        None if limit.per_ms.is_multiple_of(SECOND) => (limit.per_ms / SECOND, "second".to_owned()),
        None => return format!("{} per {}ms", limit.count, limit.per_ms),
    };
    if times == 1 {
        return format!("{} per {unit}", limit.count);
    }
    format!("{} per {times} {unit}s", limit.count)
}

/// Returns how long a fix rests.
pub(super) fn cooldown(field: &str, text: Option<&str>) -> Result<Cooldown, Rejected> {
    let Some(text) = given(text) else { return Ok(Cooldown::default()) };
    let trimmed = text.trim();
    let rest = trimmed.strip_suffix("per rule").or_else(|| trimmed.strip_suffix("per-rule"));
    let per_rule = rest.is_some();
    let rest = rest.or_else(|| trimmed.strip_suffix("per target")).unwrap_or(trimmed);
    Ok(Cooldown { ms: duration(field, rest)?, per_rule })
}

/// Writes how long a fix rests.
pub(super) fn show_cooldown(cooldown: Cooldown) -> Option<String> {
    let length = show_duration(cooldown.ms);
    let shown = if cooldown.per_rule { format!("{length} per rule") } else { length };
    (cooldown.ms > 0).then_some(shown)
}

/// Returns who is asked.
pub(super) fn approval(field: &str, text: Option<&str>) -> Result<Approval, Rejected> {
    let text = given(text).unwrap_or("ask");
    let bad = || Rejected::field(field, text, APPROVAL_ALLOWED);
    let lower = text.trim().to_ascii_lowercase();
    match lower.as_str() {
        "auto" => return Ok(Approval::Auto),
        "never" => return Ok(Approval::Never),
        "ask" | "manual" | "required" => return Ok(Approval::Ask { count: 1, group: None }),
        _ => {}
    }
    let rest = text.trim().get(4..).filter(|_| lower.starts_with("ask:")).ok_or_else(bad)?;
    let (count, group) = match rest.split_once('@') {
        Some((count, group)) => (count.trim_end_matches(':'), Some(group)),
        None => (rest, None),
    };
    let count: u32 = if count.is_empty() { 1 } else { count.parse().map_err(|_| bad())? };
    let group = group.map(|group| Name::parse(group).map_err(|_| bad())).transpose()?;
    let fits = (1..=limits::LIST_MAX).contains(&usize::try_from(count).unwrap_or(0));
    fits.then_some(Approval::Ask { count, group }).ok_or_else(bad)
}

/// Writes who is asked.
pub(super) fn show_approval(approval: &Approval) -> String {
    match approval {
        Approval::Auto => "auto".to_owned(),
        Approval::Never => "never".to_owned(),
        Approval::Ask { count: 1, group: None } => "ask".to_owned(),
        Approval::Ask { count, group: None } => format!("ask:{count}"),
        Approval::Ask { count: 1, group: Some(group) } => format!("ask:@{group}"),
        Approval::Ask { count, group: Some(group) } => format!("ask:{count}@{group}"),
    }
}

/// Returns a secret; one that is hidden stays the one that is known.
pub(super) fn secret(field: &str, text: &str, known: Option<&Secret>) -> Result<Secret, Rejected> {
    // A secret is never repeated in a problem.
    let bad = |allowed: &str| Rejected::field(field, HIDDEN, allowed);
    if text == HIDDEN {
        return known.cloned().ok_or_else(|| bad("a secret, file:PATH or env:NAME"));
    }
    let kept = |text: &str| {
        let odd = text.trim().is_empty() || text.contains(['\0', '\n', '\r']);
        let kept = Text::parse(text).ok().filter(|_| !odd);
        kept.ok_or_else(|| bad("1 to 2048 bytes on one line"))
    };
    if let Some(path) = text.strip_prefix("file:") {
        if !path.starts_with('/') {
            return Err(bad("file: and an absolute path on the server"));
        }
        return kept(path).map(Secret::File);
    }
    match text.strip_prefix("env:") {
        Some(name) => kept(name).map(Secret::Env),
        None => kept(text).map(Secret::Plain),
    }
}

/// Returns a secret, if one is given.
pub(super) fn secret_opt(
    field: &str,
    text: Option<&str>,
    known: Option<&Secret>,
) -> Result<Option<Secret>, Rejected> {
    given(text).map(|text| secret(field, text, known)).transpose()
}

/// Writes where a secret is, never the secret itself.
pub(super) fn show_secret(secret: &Secret) -> String {
    match secret {
        Secret::File(path) => format!("file:{}", path.as_str()),
        Secret::Env(name) => format!("env:{}", name.as_str()),
        Secret::Plain(_) => HIDDEN.to_owned(),
    }
}

/// Returns those of `known` that come near to `word`, the nearest first.
pub(in crate::http) fn near<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Vec<String> {
    let lower = word.to_lowercase();
    let mut found: Vec<(usize, &str)> = known
        .map(|name| (strsim::osa_distance(&lower, &name.to_lowercase()), name))
        .filter(|(distance, name)| {
            *distance <= (name.chars().count() / 3).max(2) || name.to_lowercase().contains(&lower)
        })
        .collect();
    found.sort_unstable();
    found.into_iter().take(3).map(|(_, name)| name.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time_read_as_they_are_written() {
        let cases = [("15m", 900_000), ("1h30m", 5_400_000), ("90 s", 90_000), ("2 days", 2 * DAY)];
        for (text, ms) in cases {
            assert_eq!(duration("x", text).unwrap(), ms, "{text}");
        }
        for bad in ["", "15", "m", "1.5h", "-1s", "1y", "99999999999999999999s"] {
            assert!(duration("x", bad).is_err(), "{bad}");
        }
        assert_eq!(show_duration(900_000), "15m");
        assert_eq!(show_duration(90_000), "90s");
        assert_eq!(show_duration(1_500), "1500ms");
    }

    #[test]
    fn limits_of_runs_read_as_people_write_them_and_none_is_no_limit() {
        let read = |text: &str| max_runs("x", text, false).unwrap().map(show_max_runs);
        let cases = [
            ("6 per day", "6 per day"),
            ("3 per 2 hours", "3 per 2 hours"),
            ("20/day", "20 per day"),
            ("once per hour", "1 per hour"),
            ("5 a week", "5 per week"),
            ("4 per 90s", "4 per 90 seconds"),
        ];
        for (text, shown) in cases {
            assert_eq!(read(text).as_deref(), Some(shown), "{text}");
        }
        assert_eq!(read("unlimited"), None);
        for bad in ["", "0 per day", "6", "6 day", "six per day", "6 per year", "10001 per day"] {
            assert!(max_runs("x", bad, false).is_err(), "{bad}");
        }
    }

    #[test]
    fn approvals_name_how_many_and_whose_word_counts() {
        for text in ["auto", "never", "ask", "ask:2", "ask:@oncall", "ask:2@oncall"] {
            assert_eq!(show_approval(&approval("x", Some(text)).unwrap()), text);
        }
        assert_eq!(show_approval(&approval("x", Some("manual")).unwrap()), "ask");
        assert_eq!(show_approval(&approval("x", None).unwrap()), "ask");
        for bad in ["always", "ask:", "ask:0", "ask:x", "ask:@", "ask:2@a b", "asks"] {
            let refused = approval("x", Some(bad));
            assert_eq!(refused.is_err(), bad != "ask:", "{bad}");
        }
    }

    #[test]
    fn a_secret_is_where_it_is_or_hidden_and_a_hidden_one_stays() {
        let file = secret("x", "file:/run/secret", None).unwrap();
        assert_eq!(show_secret(&file), "file:/run/secret");
        assert!(secret("x", "file:run/secret", None).is_err());
        let plain = secret("x", "s3cret", None).unwrap();
        assert_eq!(show_secret(&plain), HIDDEN);
        assert_eq!(secret("x", HIDDEN, Some(&plain)).unwrap(), plain);
        assert!(secret("x", HIDDEN, None).is_err());
        let Rejected(problem) = secret("x", "two\nlines-s3cret", None).unwrap_err();
        assert!(!problem.detail.contains("s3cret"), "{}", problem.detail);
    }

    #[test]
    fn what_is_near_comes_first() {
        let known = ["Promote Standby", "Return Held Jobs", "Promote standby 2"];
        let found = near("promote stanby", known.into_iter());
        assert_eq!(found, ["Promote Standby", "Promote standby 2"]);
    }
}
