//! What a log URL says: which servers, as whom, and which stream.
//!
//! ```text
//! nats://[USER:PASSWORD@]HOST[:PORT][,HOST[:PORT]…][/][?OPTION=VALUE&…]
//! tls://…                    the same, and the connection must be encrypted
//! ```

use std::fmt;
use std::path::PathBuf;

use percent_encoding::percent_decode_str;

use super::JetStreamRefusal;
use crate::{LogError, OpenError};

const STREAM_DEFAULT: &str = "CLAWHOLD";
const STREAM_NAME_BYTES_MAX: usize = 32;
const HOSTS_MAX: usize = 16;
const EXAMPLE: &str = "write nats://HOST[:PORT][,HOST[:PORT]]?stream=NAME";

/// Where a log is, and how it may be reached.
#[derive(Clone, Debug, Default)]
pub(super) struct Address {
    /// Each as `nats://HOST:PORT` or `tls://HOST:PORT`, without a secret.
    pub(super) hosts: Vec<String>,
    pub(super) encrypted: bool,
    pub(super) login: Login,
    /// A login for the system account, only to ask servers how they sync.
    pub(super) system: Login,
    /// The name of the stream that keeps the records.
    pub(super) stream: String,
    /// How many copies; `None` takes what is there, or makes as many as the servers allow.
    pub(super) replicas: Option<usize>,
    pub(super) tls_ca: Option<PathBuf>,
    pub(super) tls_cert: Option<PathBuf>,
    pub(super) tls_key: Option<PathBuf>,
    pub(super) accept_loss_window: bool,
}

/// As whom a connection is made.
#[derive(Clone, Debug, Default)]
pub(super) struct Login {
    /// A name, or a token if there is no password.
    pub(super) user: Option<Secret>,
    pub(super) password: Option<Secret>,
    pub(super) password_file: Option<PathBuf>,
    pub(super) credentials: Option<PathBuf>,
}

impl Login {
    /// Tells whether it names anybody.
    pub(super) fn is_given(&self) -> bool {
        self.user.is_some() || self.credentials.is_some()
    }
}

/// Text that no error and no log line shows.
#[derive(Clone)]
pub(super) struct Secret(pub(super) String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}

impl Address {
    /// Reads a log URL from its scheme, `nats` or `tls`, and what follows the colon.
    pub(super) fn parse(scheme: &str, rest: &str) -> Result<Self, LogError> {
        let Some(rest) = rest.strip_prefix("//") else {
            return malformed("names no host");
        };
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let place = place.strip_suffix('/').unwrap_or(place);
        let (login, hosts) = match place.rsplit_once('@') {
            Some((login, hosts)) => (parse_login(login), hosts),
            None => (Login::default(), place),
        };
        let hosts = parse_hosts(scheme, hosts)?;
        let encrypted = scheme == "tls";
        let stream = STREAM_DEFAULT.to_owned();
        let mut address = Self { hosts, encrypted, login, stream, ..Self::default() };
        for option in query.split('&').filter(|option| !option.is_empty()) {
            let (name, value) = option.split_once('=').unwrap_or((option, ""));
            address.set(name, decode(value))?;
        }
        Ok(address)
    }

    /// Returns the servers for a person to read.
    pub(super) fn shown(&self) -> String {
        self.hosts.join(", ")
    }

    fn set(&mut self, name: &str, value: String) -> Result<(), LogError> {
        let path = || Some(PathBuf::from(&value));
        match name {
            "stream" if is_stream_name(&value) => self.stream = value,
            "stream" => {
                return refused(name, "takes 1 to 32 letters, digits, - and _, as in CLAWHOLD");
            }
            "replicas" => {
                self.replicas = Some(match value.as_str() {
                    "1" => 1,
                    "3" => 3,
                    "5" => 5,
                    _ => return refused(name, "takes 1, 3 or 5"),
                });
            }
            "accept_loss_window" => {
                self.accept_loss_window = match value.as_str() {
                    "true" => true,
                    "false" => false,
                    _ => return refused(name, "takes true or false"),
                };
            }
            "credentials" => self.login.credentials = path(),
            "password_file" => self.login.password_file = path(),
            "system_credentials" => self.system.credentials = path(),
            "system_user" => self.system.user = Some(Secret(value)),
            "system_password_file" => self.system.password_file = path(),
            "tls_ca" => self.tls_ca = path(),
            "tls_cert" => self.tls_cert = path(),
            "tls_key" => self.tls_key = path(),
            _ => {
                let known = "is not known: there are stream, replicas, credentials, \
                             password_file, tls_ca, tls_cert, tls_key, system_credentials, \
                             system_user, system_password_file and accept_loss_window";
                return refused(name, known);
            }
        }
        Ok(())
    }
}

fn parse_login(login: &str) -> Login {
    let (user, password) = match login.split_once(':') {
        Some((user, password)) => (user, Some(Secret(decode(password)))),
        None => (login, None),
    };
    Login { user: Some(Secret(decode(user))), password, ..Login::default() }
}

fn parse_hosts(scheme: &str, hosts: &str) -> Result<Vec<String>, LogError> {
    let hosts: Vec<&str> = hosts.split(',').collect();
    if HOSTS_MAX < hosts.len() {
        return malformed("names more than 16 hosts");
    }
    let sound = |host: &&str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':');
        let inner = host.strip_prefix('[').and_then(|host| host.split_once(']'));
        match inner {
            Some((address, port)) => {
                address.parse::<std::net::Ipv6Addr>().is_ok()
                    && (port.is_empty() || port.strip_prefix(':').is_some_and(is_port))
            }
            None => {
                let (name, port) = host.split_once(':').unwrap_or((host, "4222"));
                !name.is_empty() && host.chars().all(plain) && is_port(port)
            }
        }
    };
    if !hosts.iter().all(sound) {
        return malformed("names a host that is none");
    }
    Ok(hosts.into_iter().map(|host| format!("{scheme}://{host}")).collect())
}

fn is_port(text: &str) -> bool {
    text.parse::<u16>().is_ok_and(|port| port != 0)
}

fn is_stream_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    !name.is_empty() && name.len() <= STREAM_NAME_BYTES_MAX && name.bytes().all(plain)
}

fn decode(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

fn malformed<T>(reason: &'static str) -> Result<T, LogError> {
    Err(OpenError::Malformed { reason, next: EXAMPLE }.into())
}

fn refused<T>(name: &str, reason: &'static str) -> Result<T, LogError> {
    let refusal = JetStreamRefusal::Option { name: name.to_owned(), reason };
    Err(OpenError::JetStream(refusal).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_servers_a_login_and_a_stream() {
        let address =
            Address::parse("nats", "//ops:p%40ss@a:4223,b,[::1]:4222/?stream=LOG-2&replicas=3");
        let address = address.unwrap();
        assert_eq!(address.hosts, ["nats://a:4223", "nats://b", "nats://[::1]:4222"]);
        assert_eq!(address.login.user.unwrap().0, "ops");
        assert_eq!(address.login.password.unwrap().0, "p@ss");
        assert_eq!((address.stream.as_str(), address.replicas), ("LOG-2", Some(3)));
        assert!(!address.accept_loss_window);
    }

    #[test]
    fn a_url_without_options_takes_the_stream_of_this_program() {
        let address = Address::parse("tls", "//db").unwrap();
        assert_eq!(address.stream, "CLAWHOLD");
        assert!(address.encrypted);
    }

    #[test]
    fn an_address_that_is_shown_keeps_its_password() {
        let address = Address::parse("nats", "//t0ken:hunter2@db").unwrap();
        let shown = format!("{address:?} {}", address.shown());
        assert!(!shown.contains("hunter2") && !shown.contains("t0ken"), "{shown}");
    }

    #[test]
    fn a_url_that_is_none_says_what_to_write() {
        for (rest, text) in [
            ("db", "names no host"),
            ("//", "names a host that is none"),
            ("//a,,b", "names a host that is none"),
            ("//a:99999", "names a host that is none"),
            ("//a/path", "names a host that is none"),
            ("//a?stream=a.b", "option stream: takes 1 to 32 letters"),
            ("//a?replicas=2", "option replicas: takes 1, 3 or 5"),
            ("//a?accept_loss_window=1", "option accept_loss_window: takes true or false"),
            ("//a?sync=always", "option sync: is not known: there are stream, replicas"),
        ] {
            let LogError::Open(error) = Address::parse("nats", rest).unwrap_err() else {
                panic!("{rest}")
            };
            assert!(error.to_string().contains(text), "{rest}: {error}");
        }
    }
}
