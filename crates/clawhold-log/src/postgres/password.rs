//! The password, when the URL has none: `PGPASSWORD`, then the file that libpq would read.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use tokio_postgres::Config;
use tokio_postgres::config::Host;

use crate::{LogError, OpenError};

/// Bytes of a password file.
const FILE_BYTES_MAX: u64 = 64 * 1_024;
/// The port where none is named.
const PORT_DEFAULT: u16 = 5_432;

/// Gives `config` a password from the environment or a file, if there is one.
///
/// The file is `passfile` of the URL, `PGPASSFILE`, or `.pgpass` in the home folder, with lines of
/// `host:port:database:user:password`. One that others may read is refused.
pub(super) fn find(config: &mut Config, passfile: Option<&str>) -> Result<(), LogError> {
    if let Some(password) = std::env::var_os("PGPASSWORD").filter(|text| !text.is_empty()) {
        config.password(password.into_encoded_bytes());
        return Ok(());
    }
    let named =
        passfile.map(PathBuf::from).or_else(|| std::env::var_os("PGPASSFILE").map(PathBuf::from));
    let usual = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".pgpass"));
    let Some(path) = named.clone().or_else(usual) else { return Ok(()) };
    let text = match read(&path) {
        Ok(text) => text,
        Err(error) if named.is_none() && error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(source) => return Err(OpenError::File { path, source }.into()),
    };
    if let Some(password) = look_up(&text, config) {
        config.password(password);
    }
    Ok(())
}

fn read(path: &Path) -> io::Result<String> {
    let file = fs::File::open(path)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        if file.metadata()?.permissions().mode() & 0o077 != 0 {
            return Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "others may read this password file: chmod 600 it",
            ));
        }
    }
    let mut text = String::new();
    file.take(FILE_BYTES_MAX).read_to_string(&mut text)?;
    Ok(text)
}

/// Returns the password of the first line that fits.
fn look_up(text: &str, config: &Config) -> Option<String> {
    let port = config.get_ports().first().copied().unwrap_or(PORT_DEFAULT).to_string();
    let user = config.get_user().unwrap_or_default();
    let database = config.get_dbname().unwrap_or(user);
    let hosts: Vec<_> = config.get_hosts().iter().map(host).collect();
    text.lines().filter(|line| !line.starts_with('#')).map(fields).find_map(|fields| {
        let [on_host, on_port, on_database, on_user, password] = fields.as_slice() else {
            return None;
        };
        let fits = |pattern: &str, value: &str| pattern == "*" || pattern == value;
        let fits = hosts.iter().any(|name| fits(on_host, name))
            && fits(on_port, &port)
            && fits(on_database, database)
            && fits(on_user, user);
        fits.then(|| password.clone())
    })
}

/// Returns the name that a host has in the file: every socket is `localhost`.
fn host(host: &Host) -> &str {
    match host {
        Host::Tcp(name) => name,
        Host::Unix(_) => "localhost",
    }
}

/// Splits a line at its colons; a backslash takes the meaning from the sign after it.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut signs = line.chars();
    while let Some(sign) = signs.next() {
        match sign {
            ':' => fields.push(String::new()),
            '\\' => fields.last_mut().expect("never empty").extend(signs.next()),
            _ => fields.last_mut().expect("never empty").push(sign),
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_fits_has_the_password() {
        let text = "# a remark\n\
                    db:5432:log:ben:no\n\
                    other:5432:log:ann:no\n\
                    db:5433:log:ann:a\\:b\\\\c\n\
                    *:*:*:*:last\n";
        let find = |url: &str| look_up(text, &url.parse().unwrap());
        assert_eq!(find("postgres://ann@db:5433/log").as_deref(), Some("a:b\\c"));
        assert_eq!(find("postgres://ann@db/log").as_deref(), Some("last"));
        assert_eq!(look_up("db:5432:log:ben", &"postgres://ben@db/log".parse().unwrap()), None);
    }

    #[test]
    #[cfg(unix)]
    fn a_password_file_that_others_may_read_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pass");
        fs::write(&path, "*:*:*:*:pw\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let error = read(&path).unwrap_err();
        assert!(error.to_string().contains("chmod 600"), "{error}");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(read(&path).unwrap(), "*:*:*:*:pw\n");
    }
}
