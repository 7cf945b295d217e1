//! The file in which a child finds its token, position and deadline, kept current.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// The variable that names the file.
pub(super) const LEASE_FILE: &str = "CLAWHOLD_LEASE_FILE";

/// What the file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lease {
    /// The role.
    pub(crate) role: String,
    /// The stream, if one was named.
    pub(crate) stream: Option<String>,
    /// What is held; unset while the child stands by.
    pub(crate) held: Option<HeldLease>,
    /// The position recorded last.
    pub(crate) position: u64,
}

/// A lease that is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HeldLease {
    /// The fencing token.
    pub(crate) token: u64,
    /// When to have stopped, in milliseconds of `CLOCK_BOOTTIME`.
    pub(crate) deadline_ms: u64,
}

/// A file of its own for each child, in a directory that only its user may read.
///
/// A child never finds another child's token here: the file goes with the child.
#[derive(Debug)]
pub(crate) struct LeaseFile {
    directory: TempDir,
}

impl LeaseFile {
    /// Makes the directory.
    ///
    /// # Errors
    /// When it cannot be made.
    pub(crate) fn create() -> io::Result<Self> {
        let builder = || {
            let mut builder = tempfile::Builder::new();
            builder.prefix("clawhold-lead-");
            builder
        };
        let run = std::env::var_os("XDG_RUNTIME_DIR").filter(|path| Path::new(path).is_dir());
        let directory = match run.map(|path| builder().tempdir_in(path)) {
            Some(Ok(directory)) => directory,
            Some(Err(_)) | None => builder().tempdir()?,
        };
        Ok(Self { directory })
    }

    /// Returns where the file is.
    pub(crate) fn path(&self) -> PathBuf {
        self.directory.path().join("lease")
    }

    /// Replaces what the file says, in one step: a reader finds the old text or the new one.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn write(&self, lease: &Lease) -> io::Result<()> {
        let next = next_to(&self.path());
        fs::write(&next, lease.text())?;
        fs::rename(&next, self.path())
    }
}

/// Returns where the next text is written before it replaces the file.
pub(super) fn next_to(file: &Path) -> PathBuf {
    file.with_extension("next")
}

impl Lease {
    /// Returns the file's text: lines of `key=value`, which a shell can source.
    fn text(&self) -> String {
        let mut text = format!("role={}\n", self.role);
        let mut line = |key: &str, value: &dyn std::fmt::Display| {
            writeln!(text, "{key}={value}").expect("a string takes any text");
        };
        if let Some(stream) = &self.stream {
            line("stream", stream);
        }
        line("state", &if self.held.is_some() { "leader" } else { "standby" });
        if let Some(held) = self.held {
            line("token", &held.token);
        }
        line("position", &self.position);
        if let Some(held) = self.held {
            line("deadline_ms", &held.deadline_ms);
        }
        text
    }

    /// Reads the field `key` of the file's text.
    pub(crate) fn field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
        text.lines()
            .filter_map(|line| line.split_once('='))
            .find_map(|(k, v)| (k == key).then_some(v))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_replaced_and_goes_with_its_owner() {
        let file = LeaseFile::create().unwrap();
        let mut lease =
            Lease { role: "r".to_owned(), stream: Some("s".to_owned()), held: None, position: 7 };
        file.write(&lease).unwrap();
        let path = file.path();
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text, "role=r\nstream=s\nstate=standby\nposition=7\n");
        lease.held = Some(HeldLease { token: 9, deadline_ms: 100 });
        file.write(&lease).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(Lease::field(&text, "token"), Some("9"));
        assert_eq!(Lease::field(&text, "deadline_ms"), Some("100"));
        assert_eq!(Lease::field(&text, "nothing"), None);
        drop(file);
        assert!(!path.exists());
    }
}
