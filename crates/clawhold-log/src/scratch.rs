//! Logs for a while: a drill's own, on an engine that others use too.

use crate::{LogError, OpenError};

/// Begins the name of every log that may be removed.
#[cfg(any(feature = "jetstream", feature = "postgres"))]
pub(crate) const PREFIX: &str = "clawhold_drill_";

/// Returns the URL of a log of its own on the engine that `url` names: of a schema in a PostgreSQL
/// database, or of a stream on NATS servers.
///
/// # Errors
/// When the URL cannot be used, or its engine keeps one log only.
#[cfg_attr(
    not(any(feature = "jetstream", feature = "postgres")),
    expect(unused_variables, reason = "no engine of this build keeps a log under a name")
)]
pub fn scratch_url(url: &str, name: &str) -> Result<String, LogError> {
    let scheme = url.split(':').next().unwrap_or_default();
    match scheme {
        #[cfg(feature = "postgres")]
        "postgres" | "postgresql" => {
            let scratch = with_option(url, "schema", &format!("{PREFIX}{name}"));
            crate::postgres::check_url(&scratch)?;
            Ok(scratch)
        }
        #[cfg(feature = "jetstream")]
        "nats" | "tls" => {
            let scratch = with_option(url, "stream", &format!("{PREFIX}{name}"));
            crate::jetstream::check_url(&scratch)?;
            Ok(scratch)
        }
        _ => Err(no_scratch()),
    }
}

/// Removes a log that [`scratch_url`] named, and everything in it.
///
/// # Errors
/// When the URL names another log, or it cannot be removed.
pub fn remove_scratch(url: &str) -> Result<(), LogError> {
    let scheme = url.split(':').next().unwrap_or_default();
    match scheme {
        #[cfg(feature = "postgres")]
        "postgres" | "postgresql" => crate::postgres::remove_scratch(url),
        #[cfg(feature = "jetstream")]
        "nats" | "tls" => crate::jetstream::remove_scratch(url),
        _ => Err(no_scratch()),
    }
}

fn no_scratch() -> LogError {
    let reason = "names no server on which a log of its own can be made";
    let next = "use postgres://USER@HOST/DATABASE or nats://HOST";
    OpenError::Malformed { reason, next }.into()
}

/// Returns the refusal to remove a log that is no drill's.
#[cfg(any(feature = "jetstream", feature = "postgres"))]
pub(crate) fn not_a_drill() -> LogError {
    let reason = "names a log that is no drill's";
    OpenError::Malformed { reason, next: "remove it with the tools of its engine" }.into()
}

/// Returns the URL with one option set, whatever it was before.
#[cfg(any(feature = "jetstream", feature = "postgres"))]
fn with_option(url: &str, key: &str, value: &str) -> String {
    let (place, query) = url.split_once('?').unwrap_or((url, ""));
    let is_other = |pair: &&str| !pair.is_empty() && pair.split('=').next() != Some(key);
    let set = format!("{key}={value}");
    let pairs: Vec<&str> = query.split('&').filter(is_other).chain([set.as_str()]).collect();
    format!("{place}?{}", pairs.join("&"))
}

#[cfg(all(test, feature = "jetstream", feature = "postgres"))]
mod tests {
    use super::*;

    #[test]
    fn a_drill_gets_a_log_of_its_own_and_removes_no_other() {
        for (url, expected) in [
            (
                "postgres://ann@db/log?schema=prod&sslmode=require",
                "postgres://ann@db/log?sslmode=require&schema=clawhold_drill_7",
            ),
            ("postgres://ann@db/log", "postgres://ann@db/log?schema=clawhold_drill_7"),
            ("nats://a,b?stream=PROD", "nats://a,b?stream=clawhold_drill_7"),
        ] {
            assert_eq!(scratch_url(url, "7").unwrap(), expected);
        }
        for url in ["postgres://ann@db/log?schema=prod", "nats://a?stream=PROD", "sqlite:a.db"] {
            let error = remove_scratch(url).unwrap_err();
            assert!(matches!(error, LogError::Open(OpenError::Malformed { .. })), "{error:?}");
        }
        assert!(scratch_url("sqlite:a.db", "7").is_err());
    }
}
