//! Secrets, read when they are used and never shown: neither in answers nor in the server's log.

use std::fmt;
use std::io::Read;

use clawhold_core::catalog::Secret;

/// Bytes of a file with a secret.
const FILE_BYTES_MAX: u64 = 64 * 1_024;

/// A secret as it was read. It does not show itself.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Opened(String);

/// Why a secret cannot be read. The secret itself is in none of these.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Sealed {
    /// The file cannot be read.
    #[error("the secret's file {path:?} cannot be read on the server: {source}")]
    File {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// The file is too large to be a secret.
    #[error("the secret's file {path:?} has more than {FILE_BYTES_MAX} bytes")]
    Large {
        /// The file.
        path: String,
    },
    /// The variable is not set.
    #[error("the server's environment has no variable {name:?} for the secret")]
    Variable {
        /// The variable.
        name: String,
    },
    /// There is nothing in it.
    #[error("the secret is empty")]
    Empty,
}

impl Opened {
    /// Returns the secret.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the secret's bytes.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl fmt::Debug for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a secret")
    }
}

/// Reads a secret: what stands in the file or the variable, without space around it.
///
/// # Errors
/// [`Sealed`] names the file or the variable.
pub(crate) fn open(secret: &Secret) -> Result<Opened, Sealed> {
    let text = match secret {
        Secret::File(path) => read_file(path.as_str())?,
        Secret::Env(name) => std::env::var(name.as_str())
            .map_err(|_| Sealed::Variable { name: name.as_str().to_owned() })?,
        Secret::Plain(text) => text.as_str().to_owned(),
    };
    let text = text.trim();
    if text.is_empty() {
        return Err(Sealed::Empty);
    }
    Ok(Opened(text.to_owned()))
}

fn read_file(path: &str) -> Result<String, Sealed> {
    let unread = |source| Sealed::File { path: path.to_owned(), source };
    let is_file = std::fs::metadata(path).map_err(unread)?.is_file();
    if !is_file {
        return Err(unread(std::io::Error::other("it is not a file")));
    }
    let mut text = String::new();
    let file = std::fs::File::open(path).map_err(unread)?;
    file.take(FILE_BYTES_MAX + 1).read_to_string(&mut text).map_err(unread)?;
    if text.len() as u64 > FILE_BYTES_MAX {
        return Err(Sealed::Large { path: path.to_owned() });
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use clawhold_core::units::Text;

    use super::*;

    #[test]
    fn a_secret_is_read_where_it_is_and_does_not_show_itself() {
        let plain = open(&Secret::Plain(Text::cut(" s3cret\n"))).unwrap();
        assert_eq!(plain.as_str(), "s3cret");
        assert_eq!(format!("{plain:?}"), "a secret");
        let path = std::env::temp_dir().join(format!("clawhold-secret-{}", std::process::id()));
        std::fs::write(&path, "from a file\n").unwrap();
        let file = open(&Secret::File(Text::cut(path.to_str().unwrap()))).unwrap();
        assert_eq!(file.as_str(), "from a file");
        std::fs::remove_file(&path).unwrap();
        let cargo = std::env::var("CARGO_PKG_NAME").unwrap();
        let env = open(&Secret::Env(Text::cut("CARGO_PKG_NAME"))).unwrap();
        assert_eq!(env.as_str(), cargo);
    }

    #[test]
    fn what_cannot_be_read_is_named_by_where_it_should_be() {
        let cases = [
            (Secret::File(Text::cut("/no/such/file")), "/no/such/file"),
            (Secret::File(Text::cut("/dev/zero")), "not a file"),
            (Secret::Env(Text::cut("NO_SUCH_VARIABLE_HERE")), "NO_SUCH_VARIABLE_HERE"),
            (Secret::Plain(Text::cut("  ")), "empty"),
        ];
        for (secret, part) in cases {
            let error = open(&secret).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
