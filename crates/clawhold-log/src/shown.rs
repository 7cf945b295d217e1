//! A log's URL as it may be shown to anybody.

/// Returns the URL without any password: for messages, answers and lists of processes.
///
/// What stands between the scheme and the last `@` is credentials, however oddly it is written.
/// Of those, a PostgreSQL user is kept.
#[must_use]
pub fn shown(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        // Written wrongly, as such a URL is, a password may stand anywhere in it.
        return match url.split_once(':') {
            Some((scheme @ ("postgres" | "postgresql" | "nats" | "tls"), _)) => {
                format!("{scheme}:…")
            }
            Some(_) | None => url.to_owned(),
        };
    };
    let (user, rest) = match rest.rsplit_once('@') {
        Some((credentials, rest)) if scheme.starts_with("postgres") => {
            (credentials.split_once(':').map_or(credentials, |(user, _)| user), rest)
        }
        Some((_, rest)) => ("", rest),
        None => ("", rest),
    };
    let at = if user.is_empty() { "" } else { "@" };
    let (place, query) = rest.split_once('?').map_or((rest, ""), |(place, query)| (place, query));
    let kept: Vec<_> = query.split('&').filter(|pair| !is_secret(pair)).collect();
    let query = kept.join("&");
    let mark = if query.is_empty() { "" } else { "?" };
    format!("{scheme}://{user}{at}{place}{mark}{query}")
}

/// Tells whether a `key=value` names something that opens a door.
fn is_secret(pair: &str) -> bool {
    let pair = pair.to_ascii_lowercase();
    ["password", "pass", "token", "secret", "jwt", "seed"].iter().any(|word| pair.contains(word))
        && !pair.starts_with("passfile=")
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn no_password_is_ever_shown() {
        for (url, expected) in [
            ("sqlite:/var/lib/clawhold.db", "sqlite:/var/lib/clawhold.db"),
            ("memory:", "memory:"),
            ("postgres:u:SECRETx@h/db", "postgres:…"),
            ("nats:/u:SECRETx@h", "nats:…"),
            ("postgres://h/db?user=u;password=SECRETx", "postgres://h/db"),
            ("postgres://db/log", "postgres://db/log"),
            ("postgres://ann@db/log", "postgres://ann@db/log"),
            (
                "postgres://ann:pw@db:5432,db2/log?schema=x",
                "postgres://ann@db:5432,db2/log?schema=x",
            ),
            ("postgresql://ann:p@ss/word?@db/log", "postgresql://ann@db/log"),
            (
                "postgres://db/log?user=ann&password=pw&schema=x",
                "postgres://db/log?user=ann&schema=x",
            ),
            ("postgres://db/log?sslpassword=pw", "postgres://db/log"),
            ("postgres://db/log?passfile=/etc/pass", "postgres://db/log?passfile=/etc/pass"),
            ("nats://ann:pw@one:4222,two:4222", "nats://one:4222,two:4222"),
            ("nats://s3cr3t@one:4222", "nats://one:4222"),
        ] {
            assert_eq!(shown(url), expected);
        }
    }
}
