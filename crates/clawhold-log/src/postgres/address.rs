//! Where a log on PostgreSQL is, as its URL says.
//!
//! The URL is libpq's, with its options of the same names, and one of our own: `schema`, the
//! schema that holds the log, so that several clusters share a database.

use std::path::PathBuf;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{SslMode, TargetSessionAttrs};

use super::password;
use super::tls::Trust;
use crate::limits::{CONNECT_WAIT_MAX, NETWORK_SILENCE_MAX};
use crate::{LogError, OpenError, shown};

/// The schema when the URL names none.
const SCHEMA_DEFAULT: &str = "clawhold";
/// The longest name; with `clawhold_` before it, it is still one that PostgreSQL does not cut.
const SCHEMA_BYTES_MAX: usize = 54;
/// The name under which connections are listed at the server.
const APPLICATION_NAME: &str = "clawhold";

/// A database, the schema in it, and how to get there.
#[derive(Clone, Debug)]
pub(super) struct Address {
    /// How to connect. Its `Debug` hides the password.
    pub(super) config: Config,
    /// Whom to trust when the connection is encrypted.
    pub(super) trust: Trust,
    /// The schema, of letters, digits and `_` alone.
    pub(super) schema: String,
    /// The URL without its password.
    pub(super) shown: String,
}

/// The options that are taken out of the URL before the driver reads the rest.
#[derive(Debug, Default)]
struct Options {
    schema: Option<String>,
    sslmode: Option<String>,
    sslrootcert: Option<String>,
    sslcert: Option<String>,
    sslkey: Option<String>,
    passfile: Option<String>,
    tcp_user_timeout: Option<String>,
    /// The others, as they were written.
    rest: String,
}

impl Address {
    /// Reads a `postgres://` URL, and the password from where it says.
    pub(super) fn parse(url: &str) -> Result<Self, LogError> {
        let (place, query) = url.split_once('?').unwrap_or((url, ""));
        let options = Options::parse(query)?;
        let schema = options.schema.as_deref().unwrap_or(SCHEMA_DEFAULT).to_owned();
        check_schema(&schema)?;
        let mut config = driver_config(place, &options.rest)?;
        let trust = options.trust(&mut config)?;
        if config.get_application_name().is_none() {
            config.application_name(APPLICATION_NAME);
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_WAIT_MAX);
        }
        let silence = match &options.tcp_user_timeout {
            Some(text) => Duration::from_millis(text.parse().map_err(|_| {
                malformed("has a tcp_user_timeout that is no number", "give milliseconds")
            })?),
            None => NETWORK_SILENCE_MAX,
        };
        config.tcp_user_timeout(silence);
        if !options.rest.contains("keepalives") {
            let third = (NETWORK_SILENCE_MAX / 3).max(Duration::from_secs(1));
            config.keepalives_idle(third).keepalives_interval(third).keepalives_retries(2);
        }
        // A replica takes no records; of several hosts the one that does is looked for.
        config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        if config.get_password().is_none() {
            password::find(&mut config, options.passfile.as_deref())?;
        }
        Ok(Self { config, trust, schema, shown: shown(url) })
    }

    /// Puts the schema before each name that is written as `@name`.
    pub(super) fn sql(&self, text: &str) -> String {
        text.replace('@', &format!("\"{}\".", self.schema))
    }
}

impl Options {
    fn parse(query: &str) -> Result<Self, LogError> {
        let mut options = Self::default();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let Some((key, value)) = pair.split_once('=') else {
                return Err(malformed("has an option without a value", "write it as name=value"));
            };
            let slot = match key {
                "schema" => &mut options.schema,
                "sslmode" => &mut options.sslmode,
                "sslrootcert" => &mut options.sslrootcert,
                "sslcert" => &mut options.sslcert,
                "sslkey" => &mut options.sslkey,
                "passfile" => &mut options.passfile,
                "tcp_user_timeout" => &mut options.tcp_user_timeout,
                _ => {
                    let and = if options.rest.is_empty() { "" } else { "&" };
                    options.rest.push_str(and);
                    options.rest.push_str(pair);
                    continue;
                }
            };
            if slot.replace(decode(value)?).is_some() {
                return Err(malformed("has an option twice", "write each option once"));
            }
        }
        Ok(options)
    }

    /// Returns whom to trust, and tells the driver whether to encrypt.
    fn trust(&self, config: &mut Config) -> Result<Trust, LogError> {
        let root = self.sslrootcert.clone().map(PathBuf::from);
        let mode = self.sslmode.as_deref().unwrap_or("prefer");
        let (driver, trust) = match (mode, root) {
            ("disable", _) => (SslMode::Disable, Trust::Anybody),
            ("allow" | "prefer", _) => (SslMode::Prefer, Trust::Anybody),
            // As libpq does: with a certificate to compare with, it is compared.
            ("require", None) => (SslMode::Require, Trust::Anybody),
            ("require" | "verify-ca", root) => (SslMode::Require, Trust::Authority(root)),
            ("verify-full", root) => (SslMode::Require, Trust::Host(root)),
            _ => {
                let next = "use disable, prefer, require, verify-ca or verify-full";
                return Err(malformed("has an sslmode that does not exist", next));
            }
        };
        config.ssl_mode(driver);
        let own = match (&self.sslcert, &self.sslkey) {
            (Some(cert), Some(key)) => Some((PathBuf::from(cert), PathBuf::from(key))),
            (None, None) => None,
            (Some(_), None) | (None, Some(_)) => {
                let next = "give both sslcert and sslkey";
                return Err(malformed("has half of a client certificate", next));
            }
        };
        Ok(trust.with_own(own))
    }
}

fn driver_config(place: &str, rest: &str) -> Result<Config, LogError> {
    let mark = if rest.is_empty() { "" } else { "?" };
    // What the driver says may hold a part of the password.
    let parsed = format!("{place}{mark}{rest}").parse::<Config>().map_err(|_| {
        let next = "write it as postgres://USER@HOST:PORT/DATABASE?schema=NAME, with the options \
                    that docs/engines.md names, and signs such as @ : / in a password as %40 %3A %2F";
        malformed("is not one that PostgreSQL understands", next)
    })?;
    if parsed.get_hosts().is_empty() && parsed.get_hostaddrs().is_empty() {
        let next =
            "write it as postgres://USER@HOST/DATABASE, or a socket's folder as ?host=FOLDER";
        return Err(malformed("names no host", next));
    }
    Ok(parsed)
}

/// The name goes into statements and has to mean the same in `psql` without quotes.
fn check_schema(name: &str) -> Result<(), LogError> {
    let letter = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
    let fits = name.len() <= SCHEMA_BYTES_MAX
        && name.bytes().next().is_some_and(letter)
        && name.bytes().all(|byte| letter(byte) || byte.is_ascii_digit())
        && !name.starts_with("pg_")
        && !["public", "information_schema"].contains(&name);
    if fits {
        return Ok(());
    }
    let next = "use 1 to 54 of a-z, 0-9 and _, no digit first, not public, not beginning with pg_";
    Err(malformed("has a schema that cannot be used", next))
}

/// Decodes `%41`.
fn decode(text: &str) -> Result<String, LogError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let (byte, next) = match (first, after) {
            (b'%', [high, low, next @ ..]) => (hex(*high) << 4 | hex(*low), next),
            (byte, next) => (*byte, next),
        };
        bytes.push(byte);
        rest = next;
    }
    String::from_utf8(bytes)
        .map_err(|_| malformed("has an option that is no UTF-8", "check its % signs"))
}

fn hex(digit: u8) -> u8 {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok()).unwrap_or(0)
}

fn malformed(reason: &'static str, next: &'static str) -> LogError {
    OpenError::Malformed { reason, next }.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(url: &str) -> String {
        match Address::parse(url) {
            Err(LogError::Open(error)) => error.to_string(),
            other => panic!("{url}: {other:?}"),
        }
    }

    #[test]
    fn a_url_says_where_which_schema_and_how() {
        let url = "postgres://ann:p%40ss@one:5433,two/log?schema=team_a&sslmode=verify-full&\
                   sslrootcert=/etc/ca%20one.pem&tcp_user_timeout=1500&connect_timeout=7";
        let address = Address::parse(url).unwrap();
        assert_eq!(address.schema, "team_a");
        assert_eq!(address.config.get_password(), Some(&b"p@ss"[..]));
        assert_eq!(address.config.get_hosts().len(), 2);
        assert_eq!(address.config.get_ssl_mode(), SslMode::Require);
        assert_eq!(address.config.get_tcp_user_timeout(), Some(&Duration::from_millis(1_500)));
        assert_eq!(address.config.get_connect_timeout(), Some(&Duration::from_secs(7)));
        assert_eq!(address.config.get_application_name(), Some("clawhold"));
        let root = Some(PathBuf::from("/etc/ca one.pem"));
        assert_eq!(address.trust, Trust::Host(root));
        assert_eq!(address.sql("SELECT last FROM @head"), "SELECT last FROM \"team_a\".head");
        assert!(!format!("{address:?}").contains("p@ss"));
        assert!(!address.shown.contains("p%40ss"));
    }

    #[test]
    fn what_is_not_said_has_a_value_that_fits_the_hold() {
        let address = Address::parse("postgresql://ann:pw@db/log").unwrap();
        assert_eq!(address.schema, "clawhold");
        assert_eq!(address.trust, Trust::Anybody);
        assert_eq!(address.config.get_ssl_mode(), SslMode::Prefer);
        assert_eq!(address.config.get_tcp_user_timeout(), Some(&Duration::from_secs(3)));
        assert_eq!(address.config.get_connect_timeout(), Some(&Duration::from_secs(3)));
    }

    #[test]
    fn a_url_that_cannot_be_used_is_refused_without_repeating_it() {
        for (url, part) in [
            ("postgres://ann:s3cret@db/log?schema=Robert'); DROP", "has a schema that cannot"),
            ("postgres://ann:s3cret@db/log?schema=public", "has a schema that cannot"),
            ("postgres://ann:s3cret@db/log?schema=pg_x", "has a schema that cannot"),
            ("postgres://ann:s3cret@db/log?schema=", "has a schema that cannot"),
            ("postgres://ann:s3cret@db/log?sslmode=maybe", "has an sslmode that does not exist"),
            ("postgres://ann:s3cret@db/log?schema=a&schema=b", "has an option twice"),
            ("postgres://ann:s3cret@db/log?schema", "has an option without a value"),
            ("postgres://ann:s3cret@db/log?sslcert=/a", "has half of a client certificate"),
            ("postgres://ann:s3cret@db/log?tcp_user_timeout=soon", "has a tcp_user_timeout"),
            ("postgres://ann:s3cret@db:port/log", "is not one that PostgreSQL understands"),
            ("postgres:///log", "names no host"),
        ] {
            let text = refused(url);
            assert!(text.contains(part), "{url}: {text}");
            assert!(!text.contains("cret"), "{text}");
        }
    }
}
