//! Wire to core: names, numbers within their ranges, times, keys. Nothing is decided here.

use std::fmt::{self, Display};

use clawhold_api::json::Json;
use clawhold_api::session::SessionKey as WireKey;
use clawhold_api::{job as wire, stream};
use clawhold_core::command::{
    Append, Due, NewJob, RetryRule, RunOutcome, SessionKey, Settlement, Wanted,
};
use clawhold_core::limits;
use clawhold_core::units::{
    Bytes, ClaimNumber, EventNumber, JobId, Key, Name, SessionId, Text, Timestamp,
};

use super::error::Rejected;

const NAME_ALLOWED: &str = "1 to 100 ASCII letters, digits and . _ - : @, \
                            beginning with a letter or digit";
const KEY_ALLOWED: &str = "1 to 256 bytes without control characters";
const TEXT_ALLOWED: &str = "at most 2048 bytes of text without NUL";
const SESSION_ALLOWED: &str = "the session key that was issued: ID.SECRET";
const LABEL_ALLOWED: &str = "a name with one character at least that is no digit, \
                             so that none is taken for an id";
const MOMENT_ALLOWED: &str = "RFC 3339, 1970-01-01T00:00:00Z to 9999-12-30T22:00:00Z: \
                              2026-11-30T16:00:00.000Z or 2026-11-30T17:00:00+01:00";

/// Returns a name.
pub(super) fn name(field: impl Display, text: &str) -> Result<Name, Rejected> {
    Name::parse(text).map_err(|_| Rejected::field(&field.to_string(), text, NAME_ALLOWED))
}

/// Returns the label of a session. Digits alone would be read as the id of another one.
pub(super) fn label(field: &str, text: &str) -> Result<Name, Rejected> {
    let name = name(field, text)?;
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Rejected::field(field, text, LABEL_ALLOWED));
    }
    Ok(name)
}

/// Returns a name, if there is one.
pub(super) fn name_opt(field: &str, text: Option<&str>) -> Result<Option<Name>, Rejected> {
    text.map(|text| name(field, text)).transpose()
}

/// Returns names, at least `min` and at most as many as a claim may name.
pub(super) fn names(field: &str, texts: &[String], min: u64) -> Result<Vec<Name>, Rejected> {
    count(field, texts.len(), min, limits::QUEUES_PER_CLAIM_MAX)?;
    let names = texts.iter().enumerate();
    names.map(|(at, text)| name(format_args!("{field}[{at}]"), text)).collect()
}

/// Returns text for people; empty when there is none.
pub(super) fn text(field: impl Display, given: Option<&str>) -> Result<Text, Rejected> {
    let given = given.unwrap_or("");
    let whole = Text::parse(given).ok().filter(|_| !given.contains('\0'));
    whole.ok_or_else(|| Rejected::field(&field.to_string(), given, TEXT_ALLOWED))
}

/// Returns a session's key. A wrong one is never repeated in the problem.
pub(super) fn session(field: &str, key: &WireKey) -> Result<SessionKey, Rejected> {
    let parsed = key.as_str().split_once('.').and_then(|(id, secret)| {
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let hex = secret.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        if !digits(id) || secret.len() != 16 || !hex {
            return None;
        }
        let id = SessionId(id.parse().ok()?);
        Some(SessionKey { id, secret: u64::from_str_radix(secret, 16).ok()? })
    });
    parsed.ok_or_else(|| Rejected::field(field, "no session key", SESSION_ALLOWED))
}

/// Returns a session's key as its owner is given it.
pub(super) fn session_text(key: SessionKey) -> WireKey {
    WireKey(format!("{}.{:016x}", key.id, key.secret))
}

/// Checks that a number lies within its range.
pub(super) fn range(field: impl Display, value: u64, min: u64, max: u64) -> Result<u64, Rejected> {
    if (min..=max).contains(&value) {
        return Ok(value);
    }
    Err(Rejected::field(&field.to_string(), &value.to_string(), &format!("{min} to {max}")))
}

/// Checks that a number, if there is one, lies within its range.
pub(super) fn range_opt(
    field: impl Display,
    value: Option<u64>,
    min: u64,
    max: u64,
) -> Result<Option<u64>, Rejected> {
    value.map(|value| range(field, value, min, max)).transpose()
}

/// Returns a number within its range as a smaller one.
pub(super) fn small(field: impl Display, value: u64, min: u64, max: u32) -> Result<u32, Rejected> {
    let value = range(field, value, min, u64::from(max))?;
    Ok(u32::try_from(value).unwrap_or(max))
}

/// Returns a number within its range as a smaller one, if there is one.
pub(super) fn small_opt(
    field: impl Display,
    value: Option<u64>,
    min: u64,
    max: u32,
) -> Result<Option<u32>, Rejected> {
    value.map(|value| small(field, value, min, max)).transpose()
}

/// Checks how many things a list holds.
pub(super) fn count(field: &str, count: usize, min: u64, max: usize) -> Result<(), Rejected> {
    if (min..=max as u64).contains(&(count as u64)) {
        return Ok(());
    }
    let allowed = format!("{min} to {max} of them");
    Err(Rejected::field(field, &format!("a list of {count}"), &allowed))
}

/// Returns any JSON as bytes, within a limit.
pub(super) fn bytes(field: impl Display, json: &Json, max: usize) -> Result<Bytes, Rejected> {
    let text = json.get();
    if text.len() > max {
        let value = format!("{} bytes long", text.len());
        return Err(Rejected::field(&field.to_string(), &value, &format!("at most {max} bytes")));
    }
    Ok(Bytes::from(text))
}

/// Returns bytes of the core as the JSON they came as.
pub(super) fn json(bytes: &Bytes) -> Json {
    let text = std::str::from_utf8(&bytes.0).ok();
    text.and_then(|text| Json::parse(text).ok()).unwrap_or_else(Json::null)
}

/// Returns how long a call may wait.
pub(super) fn wait_ms(wait_ms: Option<u64>) -> Result<u64, Rejected> {
    range("wait_ms", wait_ms.unwrap_or(0), 0, WAIT_MS_MAX)
}

/// Milliseconds that a long poll may wait.
pub(super) const WAIT_MS_MAX: u64 = 60_000;

/// Returns the jobs that are wanted.
pub(super) fn wanted(prefix: &str, queues: &[String], max: u64) -> Result<Wanted, Rejected> {
    let queues = names(&format!("{prefix}queues"), queues, 1)?;
    let count_max = small(format!("{prefix}max"), max, 1, ITEMS_MAX)?;
    Ok(Wanted { queues, count_max })
}

const ITEMS_MAX: u32 = 1_000;

/// Returns jobs as they are asked for.
pub(super) fn new_jobs(jobs: &[wire::NewJob], min: u64) -> Result<Vec<NewJob>, Rejected> {
    count("jobs", jobs.len(), min, limits::ITEMS_MAX)?;
    let mut converted: Vec<NewJob> = Vec::with_capacity(jobs.len());
    for (at, job) in jobs.iter().enumerate() {
        let before = converted.last().map(|job| &job.queue);
        let job = new_job(format_args!("jobs[{at}]"), job, before)?;
        converted.push(job);
    }
    Ok(converted)
}

/// Returns a job as it is asked for. Most jobs go where the one before went: its name is shared.
fn new_job(
    at: fmt::Arguments<'_>,
    job: &wire::NewJob,
    before: Option<&Name>,
) -> Result<NewJob, Rejected> {
    let key = |field: &str, text: &Option<String>| {
        let keyed = text.as_deref().map(|text| {
            let bad = |_| Rejected::field(&format!("{at}.{field}"), text, KEY_ALLOWED);
            Key::parse(text).map_err(bad)
        });
        keyed.transpose()
    };
    let duration_max = limits::DURATION_MS_MAX;
    let timeout_ms = range_opt(format_args!("{at}.timeout_ms"), job.timeout_ms, 1, duration_max)?;
    let payload_max = limits::PAYLOAD_BYTES_MAX;
    Ok(NewJob {
        queue: match before.filter(|name| name.as_str() == job.queue) {
            Some(name) => name.clone(),
            None => name(format_args!("{at}.queue"), &job.queue)?,
        },
        payload: bytes(format_args!("{at}.payload"), &job.payload, payload_max)?,
        priority: priority(format_args!("{at}.priority"), job.priority.unwrap_or(0))?,
        due: due(at, job)?,
        unique: key("unique_key", &job.unique_key)?,
        order: key("order_key", &job.order_key)?,
        retry: retry_rule(at, job)?,
        timeout_ms,
    })
}

fn priority(field: fmt::Arguments<'_>, value: i64) -> Result<i8, Rejected> {
    let (min, max) = (limits::PRIORITY_MIN, limits::PRIORITY_MAX);
    let fits = i8::try_from(value).ok().filter(|value| (min..=max).contains(value));
    fits.ok_or_else(|| {
        let field = field.to_string();
        Rejected::field(&field, &value.to_string(), &format!("{min} to {max}"))
    })
}

fn due(at: fmt::Arguments<'_>, job: &wire::NewJob) -> Result<Due, Rejected> {
    match (job.delay_ms, &job.run_at) {
        (None, None) => Ok(Due::Now),
        (Some(delay), None) => {
            range(format_args!("{at}.delay_ms"), delay, 0, limits::DURATION_MS_MAX).map(Due::After)
        }
        (None, Some(run_at)) => moment(&format!("{at}.run_at"), run_at).map(Due::At),
        (Some(_), Some(run_at)) => {
            let allowed = "either delay_ms or run_at, not both";
            Err(Rejected::field(&format!("{at}.run_at"), run_at, allowed))
        }
    }
}

/// The last moment that has a date wherever one is: 9999-12-30T22:00:00Z.
const MOMENT_MS_MAX: u64 = 253_402_207_200_000;

fn moment(field: &str, text: &str) -> Result<Timestamp, Rejected> {
    let bad = || Rejected::field(field, text, MOMENT_ALLOWED);
    if !is_moment(text.as_bytes()) {
        return Err(bad());
    }
    let parsed: jiff::Timestamp = text.parse().map_err(|_| bad())?;
    let ms = u64::try_from(parsed.as_millisecond()).map_err(|_| bad())?;
    if ms > MOMENT_MS_MAX {
        return Err(bad());
    }
    Ok(Timestamp(ms))
}

/// Tells whether these bytes look like `2026-11-30T16:00:00[.fraction](Z|+01:00)`: a date alone, a
/// named zone or a leap second would be taken for something that nobody wrote.
fn is_moment(bytes: &[u8]) -> bool {
    let Some((head, tail)) = bytes.split_at_checked(19) else { return false };
    let fraction = match tail.strip_prefix(b".") {
        Some(rest) => 1 + rest.iter().take_while(|byte| byte.is_ascii_digit()).count(),
        None => 0,
    };
    let (fraction, offset) = tail.split_at(fraction);
    let zone = offset == b"Z" || like(offset, b"+00:00") || like(offset, b"-00:00");
    let shaped = like(head, b"0000-00-00T00:00:00") && zone && fraction != b".";
    shaped && &head[17..] != b"60"
}

/// Tells whether `bytes` has a digit where `shape` has a zero, and its bytes elsewhere.
fn like(bytes: &[u8], shape: &[u8]) -> bool {
    let fits = |(b, s): (&u8, &u8)| if *s == b'0' { b.is_ascii_digit() } else { b == s };
    bytes.len() == shape.len() && bytes.iter().zip(shape).all(fits)
}

fn retry_rule(at: fmt::Arguments<'_>, job: &wire::NewJob) -> Result<RetryRule, Rejected> {
    let given = RetryRule::default();
    let attempts = job.attempts_max.unwrap_or(u64::from(given.attempts_max));
    let ceiling = job.backoff_max_ms.unwrap_or(given.ceiling_ms);
    let duration_max = limits::DURATION_MS_MAX;
    let ceiling_ms = range(format_args!("{at}.backoff_max_ms"), ceiling, 0, duration_max)?;
    let first = job.backoff_ms.unwrap_or(given.first_ms.min(ceiling_ms));
    let attempts_max = limits::ATTEMPTS_MAX_MAX;
    Ok(RetryRule {
        attempts_max: small(format_args!("{at}.attempts_max"), attempts, 1, attempts_max)?,
        first_ms: range(format_args!("{at}.backoff_ms"), first, 0, ceiling_ms)?,
        ceiling_ms,
    })
}

/// Returns settlements as they are asked for.
pub(super) fn settlements(given: &[wire::Settlement]) -> Result<Vec<Settlement>, Rejected> {
    count("settlements", given.len(), 1, limits::ITEMS_MAX)?;
    let all = given.iter().enumerate().map(|(at, one)| {
        let outcome = outcome(format_args!("settlements[{at}].outcome"), &one.outcome)?;
        Ok(Settlement { job: JobId(one.job), claim: ClaimNumber(one.claim), outcome })
    });
    all.collect()
}

fn outcome(at: fmt::Arguments<'_>, outcome: &wire::Outcome) -> Result<RunOutcome, Rejected> {
    let duration_max = limits::DURATION_MS_MAX;
    let checkpoint = |field: fmt::Arguments<'_>, given: &Option<Json>| {
        let kept = given.as_ref().map(|json| bytes(field, json, limits::CHECKPOINT_BYTES_MAX));
        kept.transpose()
    };
    Ok(match outcome {
        wire::Outcome::Completed { result } => {
            let field = format_args!("{at}.completed.result");
            let max = limits::RESULT_BYTES_MAX;
            let result = result.as_ref().map(|json| bytes(field, json, max)).transpose()?;
            RunOutcome::Completed { result: result.unwrap_or_else(|| Bytes::from("null")) }
        }
        wire::Outcome::Failed { error, retry_after_ms } => RunOutcome::Failed {
            error: text(format_args!("{at}.failed.error"), Some(error))?,
            retry_after_ms: range_opt(
                format_args!("{at}.failed.retry_after_ms"),
                *retry_after_ms,
                0,
                duration_max,
            )?,
        },
        wire::Outcome::Dead { error } => {
            RunOutcome::Dead { error: text(format_args!("{at}.dead.error"), Some(error))? }
        }
        wire::Outcome::HandedBack { checkpoint: given, reason } => RunOutcome::HandedBack {
            checkpoint: checkpoint(format_args!("{at}.handed_back.checkpoint"), given)?,
            reason: text(format_args!("{at}.handed_back.reason"), reason.as_deref())?,
        },
        wire::Outcome::Snoozed { for_ms, checkpoint: given } => RunOutcome::Snoozed {
            for_ms: range(format_args!("{at}.snoozed.for_ms"), *for_ms, 0, duration_max)?,
            checkpoint: checkpoint(format_args!("{at}.snoozed.checkpoint"), given)?,
        },
    })
}

/// Returns ids of jobs, 1 to 1000.
pub(super) fn job_ids(jobs: &[u64]) -> Result<Vec<JobId>, Rejected> {
    count("jobs", jobs.len(), 1, limits::ITEMS_MAX)?;
    Ok(jobs.iter().copied().map(JobId).collect())
}

/// Returns events as they are to be appended.
pub(super) fn events(field: &str, events: &[Json]) -> Result<Vec<Bytes>, Rejected> {
    count(field, events.len(), 1, limits::ITEMS_MAX)?;
    let events = events.iter().enumerate();
    events
        .map(|(at, event)| bytes(format_args!("{field}[{at}]"), event, limits::EVENT_BYTES_MAX))
        .collect()
}

/// Returns what a coordinator appends.
pub(super) fn appends(given: &[stream::StreamAppend]) -> Result<Vec<Append>, Rejected> {
    count("appends", given.len(), 0, limits::ITEMS_MAX)?;
    let all = given.iter().enumerate().map(|(at, one)| {
        Ok(Append {
            stream: name(format!("appends[{at}].stream"), &one.stream)?,
            events: events(&format!("appends[{at}].events"), &one.events)?,
            expected: one.expected.map(EventNumber),
        })
    });
    all.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field<T: fmt::Debug>(outcome: Result<T, Rejected>) -> String {
        let Rejected(problem) = outcome.unwrap_err();
        problem.field.unwrap()
    }

    #[test]
    fn a_session_key_reads_back_and_a_wrong_one_is_not_repeated() {
        let key = SessionKey { id: SessionId(12), secret: 0xab };
        let text = session_text(key);
        assert_eq!(text.as_str(), "12.00000000000000ab");
        assert_eq!(session("session", &text).unwrap(), key);
        for bad in
            ["", "12", "12.ab", "-1.00000000000000ab", "12.00000000000000AB", "+2.00000000000000ab"]
        {
            let Rejected(problem) = session("session", &WireKey(bad.to_owned())).unwrap_err();
            assert_eq!(problem.field.as_deref(), Some("session"));
            assert!(bad.is_empty() || !problem.detail.contains(bad), "{}", problem.detail);
        }
    }

    #[test]
    fn each_field_of_a_job_has_its_range() {
        let job = || wire::NewJob::new("mail", Json::null());
        let cases = [
            ("jobs[0].queue", wire::NewJob { queue: "../x".to_owned(), ..job() }),
            ("jobs[0].priority", wire::NewJob { priority: Some(101), ..job() }),
            ("jobs[0].priority", wire::NewJob { priority: Some(i64::MIN), ..job() }),
            ("jobs[0].delay_ms", wire::NewJob { delay_ms: Some(u64::MAX), ..job() }),
            (
                "jobs[0].run_at",
                wire::NewJob { run_at: Some("1969-12-31T00:00:00Z".to_owned()), ..job() },
            ),
            ("jobs[0].run_at", wire::NewJob { run_at: Some("tomorrow".to_owned()), ..job() }),
            ("jobs[0].unique_key", wire::NewJob { unique_key: Some(String::new()), ..job() }),
            ("jobs[0].order_key", wire::NewJob { order_key: Some("a\0".to_owned()), ..job() }),
            ("jobs[0].attempts_max", wire::NewJob { attempts_max: Some(0), ..job() }),
            (
                "jobs[0].backoff_ms",
                wire::NewJob { backoff_ms: Some(2), backoff_max_ms: Some(1), ..job() },
            ),
            ("jobs[0].timeout_ms", wire::NewJob { timeout_ms: Some(0), ..job() }),
        ];
        for (name, job) in cases {
            assert_eq!(field(new_jobs(&[job], 1)), name);
        }
        let both = wire::NewJob {
            delay_ms: Some(1),
            run_at: Some("2026-11-30T16:00:00Z".to_owned()),
            ..job()
        };
        assert_eq!(field(new_jobs(&[both], 1)), "jobs[0].run_at");
        assert_eq!(field(new_jobs(&[], 1)), "jobs");
        let big = Json::of(&"x".repeat(limits::PAYLOAD_BYTES_MAX)).unwrap();
        assert_eq!(field(new_jobs(&[wire::NewJob::new("mail", big)], 1)), "jobs[0].payload");
        assert!(new_jobs(&[job()], 1).is_ok());
    }

    #[test]
    fn a_short_ceiling_lowers_the_first_backoff_that_was_not_given() {
        let job = wire::NewJob { backoff_max_ms: Some(10), ..wire::NewJob::new("q", Json::null()) };
        let jobs = new_jobs(&[job], 1).unwrap();
        assert_eq!((jobs[0].retry.first_ms, jobs[0].retry.ceiling_ms), (10, 10));
    }
}
