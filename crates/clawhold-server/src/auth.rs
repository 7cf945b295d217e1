//! Who may do what: bearer tokens with a scope, and the checks that need no token.
//!
//! Without tokens only loopback is served. Host and Origin are checked even there, so that a page
//! in a browser cannot reach the server under a name of its own.

use std::collections::BTreeMap;
use std::io::Read;
use std::net::IpAddr;
use std::path::Path;

use axum::http::{HeaderMap, Method, header};
use serde::Deserialize;
use sha2::{Digest, Sha256};

/// Bytes of a tokens file.
const TOKENS_FILE_BYTES_MAX: u64 = 1_024 * 1_024;

/// What a token allows. Each scope includes the ones before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// To look.
    Viewer,
    /// To work: sessions, roles, jobs, streams.
    Worker,
    /// To direct: drain, pause, cancel, hand over.
    Operator,
    /// To set up: queues, roles and streams are made and removed.
    Admin,
}

impl Scope {
    /// Returns the word for this scope.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Worker => "worker",
            Self::Operator => "operator",
            Self::Admin => "admin",
        }
    }
}

/// The tokens that are known, by the SHA-256 of their secret.
#[derive(Clone, Debug, Default)]
pub struct Tokens {
    by_hash: BTreeMap<String, Token>,
}

/// A token without its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// Who bears it, for the record.
    pub name: String,
    /// What it allows.
    pub scope: Scope,
}

/// Why a tokens file is not one.
#[derive(Debug, thiserror::Error)]
pub enum BadTokens {
    /// It cannot be read.
    #[error("cannot read the tokens file {path:?}")]
    Unreadable {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// It is larger than any tokens file.
    #[error("the tokens file {path:?} has more than {TOKENS_FILE_BYTES_MAX} bytes")]
    Large {
        /// The file.
        path: String,
    },
    /// It is not what it should be.
    #[error("the tokens file {path:?} is not a list of [[token]] with name, scope and sha256")]
    Malformed {
        /// The file.
        path: String,
        /// Where and why.
        source: Box<toml::de::Error>,
    },
    /// A hash is not one.
    #[error(
        "token {name:?} has a sha256 that is not 64 lower-case hex digits; make one with `clawhold token new`"
    )]
    Hash {
        /// The token.
        name: String,
    },
    /// A name cannot be kept as an actor.
    #[error("token name {name:?} is not a name: letters, digits and . _ - : @, at most 100")]
    Name {
        /// The name.
        name: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TokensFile {
    #[serde(default)]
    token: Vec<TokenLine>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenLine {
    name: String,
    scope: Scope,
    sha256: String,
}

impl Tokens {
    /// Reads a tokens file: TOML, one `[[token]]` each with `name`, `scope` and `sha256`.
    ///
    /// # Errors
    /// [`BadTokens`] names the file and the line or token at fault.
    pub fn load(path: &Path) -> Result<Self, BadTokens> {
        let shown = path.display().to_string();
        let unreadable = |source| BadTokens::Unreadable { path: shown.clone(), source };
        // A device says that it has no bytes, so what is read is bounded.
        let mut text = String::new();
        let file = std::fs::File::open(path).map_err(unreadable)?;
        file.take(TOKENS_FILE_BYTES_MAX + 1).read_to_string(&mut text).map_err(unreadable)?;
        if TOKENS_FILE_BYTES_MAX < text.len() as u64 {
            return Err(BadTokens::Large { path: shown });
        }
        let file: TokensFile = toml::from_str(&text)
            .map_err(|source| BadTokens::Malformed { path: shown, source: Box::new(source) })?;
        let mut by_hash = BTreeMap::new();
        for line in file.token {
            let hex = line.sha256.len() == 64
                && line.sha256.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
            if !hex {
                return Err(BadTokens::Hash { name: line.name });
            }
            if clawhold_core::units::Name::parse(&line.name).is_err() {
                return Err(BadTokens::Name { name: line.name });
            }
            by_hash.insert(line.sha256, Token { name: line.name, scope: line.scope });
        }
        Ok(Self { by_hash })
    }

    /// Tells whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_hash.is_empty()
    }

    /// Returns the token whose secret this is.
    #[must_use]
    pub fn find(&self, secret: &str) -> Option<&Token> {
        self.by_hash.get(&hash(secret))
    }
}

/// Returns the SHA-256 of a token's secret, as the tokens file keeps it.
#[must_use]
pub fn hash(secret: &str) -> String {
    Sha256::digest(secret.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns what a request needs: looking, working, directing or setting up.
#[must_use]
pub fn scope_needed(method: &Method, path: &str) -> Scope {
    if method == Method::GET || method == Method::HEAD {
        return Scope::Viewer;
    }
    if let Some(scope) = automation_scope(method, path) {
        return scope;
    }
    if method == Method::PUT || method == Method::DELETE || method == Method::PATCH {
        return Scope::Admin;
    }
    let directs = ["/drain", "/resume", "/pause", "/gate", "/admit", "/ask-hand-over"];
    let jobs = ["/v1/jobs/cancel", "/v1/jobs/retry", "/v1/jobs/hand-back"];
    if directs.iter().any(|end| path.ends_with(end)) || jobs.contains(&path) {
        return Scope::Operator;
    }
    Scope::Worker
}

/// Returns what a write to automation needs: definitions are set up, what runs is directed, and
/// what changes nothing may be asked by anybody who may look. `None` for all other paths.
fn automation_scope(method: &Method, path: &str) -> Option<Scope> {
    let rest = path.strip_prefix("/v1/")?;
    let noun = rest.split('/').next()?;
    if ["conditions", "run"].contains(&noun) {
        // What words start is looked at once they are read.
        return Some(Scope::Viewer);
    }
    let directed = ["runs", "alerts", "silences", "inbox", "deliveries", "automation"];
    if directed.contains(&noun) {
        return Some(Scope::Operator);
    }
    if noun == "import" {
        return Some(Scope::Admin);
    }
    let is_definition = clawhold_api::Noun::ALL.iter().any(|known| known.plural() == noun);
    if !is_definition {
        return None;
    }
    let directs = ["/enable", "/disable", "/run", "/reset", "/test"];
    if method == Method::POST && directs.iter().any(|end| path.ends_with(end)) {
        return Some(Scope::Operator);
    }
    if method == Method::POST && path.ends_with("/backtest") {
        return Some(Scope::Viewer);
    }
    Some(Scope::Admin)
}

/// Returns the bearer token's secret, if the request carries one.
#[must_use]
pub fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, secret) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(secret.trim())
}

/// Tells whether a Host or Origin header names this server: a loopback name, an IP address that
/// was dialled directly on loopback, or the advertised host.
#[must_use]
pub fn is_own_host(value: &str, advertised: Option<&str>) -> bool {
    let host = value.rsplit_once("://").map_or(value, |(_, host)| host);
    let name = host_name(host);
    let loopback = name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    loopback || advertised.is_some_and(|own| host_name(own).eq_ignore_ascii_case(name))
}

fn host_name(host: &str) -> &str {
    if let Some(rest) = host.strip_prefix('[') {
        return rest.split_once(']').map_or(rest, |(name, _)| name);
    }
    host.rsplit_once(':').map_or(host, |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_its_own_names_reach_the_server() {
        for own in
            ["localhost:7717", "127.0.0.1:7717", "[::1]:7717", "LOCALHOST", "http://localhost:7717"]
        {
            assert!(is_own_host(own, None), "{own}");
        }
        for other in ["evil.example", "localhost.evil.example:7717", "10.0.0.1:7717", "", "null"] {
            assert!(!is_own_host(other, None), "{other}");
        }
        assert!(is_own_host("leader.example:7717", Some("leader.example:7717")));
    }

    #[test]
    fn looking_working_directing_and_setting_up_need_rising_scopes() {
        assert_eq!(scope_needed(&Method::GET, "/v1/roles"), Scope::Viewer);
        assert_eq!(scope_needed(&Method::POST, "/v1/jobs/claim"), Scope::Worker);
        assert_eq!(scope_needed(&Method::POST, "/v1/jobs/cancel"), Scope::Operator);
        assert_eq!(scope_needed(&Method::POST, "/v1/workers/7/drain"), Scope::Operator);
        assert_eq!(scope_needed(&Method::DELETE, "/v1/queues/mail"), Scope::Admin);
        assert_eq!(scope_needed(&Method::POST, "/v1/auto-fixes"), Scope::Admin);
        assert_eq!(scope_needed(&Method::PATCH, "/v1/channels/a"), Scope::Admin);
        assert_eq!(scope_needed(&Method::POST, "/v1/channels/a/revert"), Scope::Admin);
        assert_eq!(scope_needed(&Method::POST, "/v1/auto-fixes/a/run"), Scope::Operator);
        assert_eq!(scope_needed(&Method::POST, "/v1/runs/7/decide"), Scope::Operator);
        assert_eq!(scope_needed(&Method::DELETE, "/v1/silences/7"), Scope::Operator);
        assert_eq!(scope_needed(&Method::POST, "/v1/run"), Scope::Viewer);
        assert!(Scope::Viewer < Scope::Worker && Scope::Worker < Scope::Operator);
    }
}
