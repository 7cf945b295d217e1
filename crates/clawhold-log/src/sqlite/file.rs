//! The file a log lives in: made private to its owner, and only where locks work.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use crate::OpenError;

/// Makes the file and the directories above it if they do not exist, and returns its path with
/// links resolved, so that every process finds the same files beside it.
///
/// An existing file is never opened here: closing it would release the locks that SQLite holds
/// on it elsewhere in this process.
pub(super) fn prepare(path: &Path) -> Result<PathBuf, OpenError> {
    let reach = |source| OpenError::File { path: path.to_owned(), source };
    if path.is_dir() {
        return Err(OpenError::Directory { path: path.to_owned() });
    }
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        Some(_) | None => Path::new("."),
    };
    make_directories(parent).map_err(reach)?;
    if let Some(kind) = network_disk(parent).map_err(reach)? {
        return Err(OpenError::NetworkDisk { path: path.to_owned(), kind });
    }
    check_not_orphaned(path)?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    only_for_owner(&mut options);
    match options.open(path) {
        Ok(_) => File::open(parent).and_then(|directory| directory.sync_all()).map_err(reach)?,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => (),
        Err(error) => return Err(reach(error)),
    }
    fs::canonicalize(path).map_err(reach)
}

/// Which file is at a path: its device and inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity(u64, u64);

impl Identity {
    /// Returns which file is at a path; `None` when there is none.
    #[cfg(unix)]
    pub(super) fn of(path: &Path) -> Option<Self> {
        use std::os::unix::fs::MetadataExt;
        fs::metadata(path).ok().map(|found| Self(found.dev(), found.ino()))
    }

    /// Returns whether there is a file at a path: this system does not tell which.
    #[cfg(not(unix))]
    pub(super) fn of(path: &Path) -> Option<Self> {
        fs::metadata(path).ok().map(|_| Self(0, 0))
    }
}

/// Refuses a file that is missing or empty while its write-ahead file is there: SQLite would
/// delete that.
fn check_not_orphaned(path: &Path) -> Result<(), OpenError> {
    let bytes = |path: &Path| fs::metadata(path).map_or(0, |found| found.len());
    if bytes(path) == 0 && bytes(&beside(path, "-wal")) > 0 {
        return Err(OpenError::Orphaned { path: path.to_owned() });
    }
    Ok(())
}

/// Returns the path of a file that is there, with links resolved.
pub(super) fn find(path: &Path) -> Result<PathBuf, OpenError> {
    if path.is_dir() {
        return Err(OpenError::Directory { path: path.to_owned() });
    }
    check_not_orphaned(path)?;
    fs::canonicalize(path).map_err(|source| {
        let path = path.to_owned();
        if source.kind() == io::ErrorKind::NotFound {
            return OpenError::Missing { path };
        }
        OpenError::File { path, source }
    })
}

/// Returns the path with `suffix` added to the file's name.
pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Tells whether a live process holds the presence lock of the log at `path`.
#[must_use]
pub fn is_in_use(path: &Path) -> bool {
    let lock = OpenOptions::new().write(true).open(beside(path, ".active"));
    lock.is_ok_and(|lock| matches!(lock.try_lock(), Err(TryLockError::WouldBlock)))
}

/// Lets a file that is made be read and written by its owner alone.
pub(super) fn only_for_owner(options: &mut OpenOptions) {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    #[cfg(not(unix))]
    let _ = options;
}

fn make_directories(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Returns which network file system the directory is on, if it is.
///
/// # Errors
/// When the directory cannot be looked at.
#[cfg(target_os = "linux")]
pub fn network_disk(directory: &Path) -> io::Result<Option<&'static str>> {
    let kind = i128::from(rustix::fs::statfs(directory)?.f_type);
    // From linux/magic.h and the statfs manual page.
    Ok(match kind {
        0x6969 => Some("NFS"),
        0x517b | 0xff53_4d42 | 0xfe53_4d42 => Some("SMB"),
        0x0102_1997 => Some("9P"),
        0x00c3_6400 => Some("Ceph"),
        0x5346_414f | 0x6b41_4653 => Some("AFS"),
        0x0bd0_0bd0 => Some("Lustre"),
        _ => None,
    })
}

/// Elsewhere it is not known which disks are remote; SQLite's own checks remain.
///
/// # Errors
/// Never.
#[cfg(not(target_os = "linux"))]
pub fn network_disk(_directory: &Path) -> io::Result<Option<&'static str>> {
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_local_directory_is_no_network_disk() {
        assert_eq!(network_disk(&std::env::temp_dir()).unwrap(), None);
    }
}
