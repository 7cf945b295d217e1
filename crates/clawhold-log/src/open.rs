//! From a log's URL to a handle on it.

use std::path::Path;

use crate::{Log, LogError, MemoryStore, OpenError};

/// Opens the log that `url` names: `sqlite:PATH`, `postgres://…`, `nats://…`, or `memory:` for one
/// that ends with its handle.
///
/// # Errors
/// [`LogError::Open`] for a URL that names no log this build can open, and for every reason the
/// engine has not to open it. The text never repeats a password from the URL.
pub fn open(url: &str) -> Result<Box<dyn Log>, LogError> {
    open_with(url, None)
}

/// Opens the log that `url` names. `folder` is where this host remembers of a log that is kept
/// elsewhere what was confirmed; a log in a file has that beside it.
///
/// # Errors
/// As [`open`].
pub fn open_with(url: &str, folder: Option<&Path>) -> Result<Box<dyn Log>, LogError> {
    let Some((scheme, rest)) = url.split_once(':') else {
        let next = "put the engine first, as in sqlite:PATH";
        return Err(OpenError::Malformed { reason: "names no engine", next }.into());
    };
    match scheme {
        "memory" if rest.is_empty() => Ok(Box::new(MemoryStore::new().handle())),
        "memory" => {
            let reason = "memory: takes no path";
            Err(OpenError::Malformed { reason, next: "use memory: or sqlite:PATH" }.into())
        }
        "sqlite" => open_sqlite(rest),
        "postgres" | "postgresql" => open_postgres(url, folder),
        "nats" | "tls" => open_jetstream(scheme, rest),
        _ => Err(OpenError::UnknownScheme { scheme: scheme.to_owned() }.into()),
    }
}

/// Opens the log that `url` names only to read it: nothing is made, locked or written.
///
/// # Errors
/// As [`open`], and [`OpenError::Missing`] when there is no log.
#[cfg(feature = "sqlite")]
pub fn open_to_read(url: &str) -> Result<crate::SqliteReader, LogError> {
    crate::SqliteReader::open(sqlite_path(url)?)
}

/// Returns the path of the log that `url` names.
///
/// # Errors
/// [`LogError::Open`] when the URL names no log in a file.
#[cfg(feature = "sqlite")]
pub fn sqlite_path(url: &str) -> Result<&Path, LogError> {
    match url.split_once(':') {
        Some(("sqlite", rest)) => path_of(rest),
        Some(("memory", _)) => {
            let reason = "memory: ends with its process, there is nothing to read";
            Err(OpenError::Malformed { reason, next: "use sqlite:PATH" }.into())
        }
        Some(("postgres" | "postgresql", _)) => {
            let reason = "names no file, and this reads the files of a store";
            let next = "use sqlite:PATH; for PostgreSQL see docs/engines.md, for backups pg_dump";
            Err(OpenError::Malformed { reason, next }.into())
        }
        Some(("nats" | "tls", _)) => {
            let reason = "names no file, and this reads the files of a store";
            let next = "use sqlite:PATH; for NATS see docs/engines-jetstream.md";
            Err(OpenError::Malformed { reason, next }.into())
        }
        Some(_) | None => match open(url) {
            Err(error) => Err(error),
            Ok(_) => {
                Err(OpenError::Malformed { reason: "names no file", next: "use sqlite:PATH" }
                    .into())
            }
        },
    }
}

#[cfg(feature = "sqlite")]
fn open_sqlite(rest: &str) -> Result<Box<dyn Log>, LogError> {
    Ok(Box::new(crate::SqliteLog::open(path_of(rest)?)?))
}

#[cfg(feature = "jetstream")]
fn open_jetstream(scheme: &str, rest: &str) -> Result<Box<dyn Log>, LogError> {
    Ok(Box::new(crate::JetStreamLog::open(scheme, rest)?))
}

#[cfg(not(feature = "jetstream"))]
fn open_jetstream(_scheme: &str, _rest: &str) -> Result<Box<dyn Log>, LogError> {
    Err(OpenError::NotCarried { engine: "NATS JetStream" }.into())
}

#[cfg(feature = "sqlite")]
fn path_of(rest: &str) -> Result<&Path, LogError> {
    let malformed = |reason, next| Err(OpenError::Malformed { reason, next }.into());
    let path = match rest.strip_prefix("//") {
        Some(absolute) if absolute.starts_with('/') => absolute,
        Some(_) => return malformed("sqlite:// names a host", "use sqlite:PATH"),
        None => rest,
    };
    if path.is_empty() {
        return malformed("sqlite: has no path", "use sqlite:PATH");
    }
    if path == ":memory:" {
        return malformed("sqlite::memory: cannot be shared", "use memory:");
    }
    Ok(Path::new(path))
}

#[cfg(feature = "postgres")]
fn open_postgres(url: &str, folder: Option<&Path>) -> Result<Box<dyn Log>, LogError> {
    Ok(Box::new(crate::PostgresLog::open_with(url, folder)?))
}

#[cfg(not(feature = "postgres"))]
fn open_postgres(_url: &str, _folder: Option<&Path>) -> Result<Box<dyn Log>, LogError> {
    Err(OpenError::NotCarried { engine: "PostgreSQL" }.into())
}

#[cfg(not(feature = "sqlite"))]
fn open_sqlite(_rest: &str) -> Result<Box<dyn Log>, LogError> {
    Err(OpenError::NotCarried { engine: "SQLite" }.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_that_names_no_log_says_what_to_write_instead() {
        for (url, text) in [
            ("clawhold.db", "log URL names no engine, put the engine first, as in sqlite:PATH"),
            (
                "mysql://root:secret@db/log",
                "log URL with unknown scheme \"mysql\", use sqlite:PATH, postgres://…, nats://… or \
                 memory:",
            ),
            (
                "postgres://clawhold:secret@db/log?schema=public",
                "log URL has a schema that cannot be used, use 1 to 54 of a-z, 0-9 and _, no digit \
                 first, not public, not beginning with pg_",
            ),
            ("memory:x", "log URL memory: takes no path, use memory: or sqlite:PATH"),
            ("sqlite:", "log URL sqlite: has no path, use sqlite:PATH"),
            ("sqlite://host/x", "log URL sqlite:// names a host, use sqlite:PATH"),
            ("sqlite::memory:", "log URL sqlite::memory: cannot be shared, use memory:"),
        ] {
            let error = open(url).expect_err(url);
            let LogError::Open(cause) = error else { panic!("{url}: {error:?}") };
            assert_eq!(cause.to_string(), text);
        }
    }

    #[test]
    fn a_log_in_memory_opens_empty() {
        let mut log = open("memory:").unwrap();
        assert_eq!(log.head().unwrap(), crate::Head::default());
    }
}
