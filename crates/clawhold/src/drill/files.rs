//! The files that a drill works on: every regular file below a folder, in a fixed order.

use std::collections::BTreeMap;
use std::fs::{self, FileType, Metadata};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use walkdir::{DirEntry, WalkDir};

/// The file that marks a folder as a cache that can be made again, by common agreement.
const CACHE_TAG: &str = "CACHEDIR.TAG";
/// What every such file begins with.
const CACHE_SIGNATURE: &[u8] = b"Signature: 8a477f597d28d172789f06886806bc55";

/// The files found, and what was left out by rule.
#[derive(Debug, Default)]
pub(crate) struct Files {
    /// Regular files, ordered by their bytes.
    pub(crate) found: Vec<Found>,
    /// How many things of each kind were left out.
    pub(crate) left_out: BTreeMap<&'static str, u64>,
}

/// One file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// Where it is.
    pub(crate) path: PathBuf,
    /// What it looked like when it was found.
    pub(crate) mark: Mark,
}

/// What tells one version of a file from the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    device: u64,
    inode: u64,
    size: u64,
    changed_s: i64,
    changed_ns: i64,
}

impl Mark {
    /// Returns the mark of the file at `path` as it is, if there is one.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        fs::symlink_metadata(path).ok().map(|metadata| Self::read(&metadata))
    }

    fn read(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            changed_s: metadata.ctime(),
            changed_ns: metadata.ctime_nsec(),
        }
    }
}

/// Lists the files below `root`, at most `files_max` of them.
///
/// Symbolic links are not followed. Folders that are marked as caches are left out, unless
/// `root` itself is one.
///
/// # Errors
/// When `root` is not a folder that can be listed.
pub(crate) fn list(root: &Path, files_max: usize) -> io::Result<Files> {
    fs::read_dir(root)?;
    let mut files = Files::default();
    let mut caches = 0;
    let walk = WalkDir::new(root).sort_by_file_name().into_iter().filter_entry(|entry| {
        let cache = entry.depth() > 0 && is_cache(entry);
        caches += u64::from(cache);
        !cache
    });
    for entry in walk {
        if files.found.len() == files_max {
            break;
        }
        let Ok(entry) = entry else {
            *files.left_out.entry("unreadable folders").or_default() += 1;
            continue;
        };
        if let Some(kind) = left_out(entry.file_type()) {
            *files.left_out.entry(kind).or_default() += 1;
        } else if entry.file_type().is_file() {
            let Ok(metadata) = entry.metadata() else {
                *files.left_out.entry("vanished files").or_default() += 1;
                continue;
            };
            files.found.push(Found { mark: Mark::read(&metadata), path: entry.into_path() });
        }
    }
    if caches > 0 {
        files.left_out.insert("cache folders", caches);
    }
    Ok(files)
}

fn left_out(kind: FileType) -> Option<&'static str> {
    if kind.is_symlink() {
        Some("symbolic links")
    } else if kind.is_fifo() {
        Some("named pipes")
    } else if kind.is_socket() {
        Some("sockets")
    } else if kind.is_block_device() || kind.is_char_device() {
        Some("devices")
    } else {
        None
    }
}

fn is_cache(entry: &DirEntry) -> bool {
    entry.file_type().is_dir()
        && fs::read(entry.path().join(CACHE_TAG))
            .is_ok_and(|text| text.starts_with(CACHE_SIGNATURE))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn regular_files_are_found_in_order_and_odd_things_are_left_out() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path();
        fs::create_dir_all(root.join("b/c")).unwrap();
        fs::create_dir(root.join("cache")).unwrap();
        fs::write(root.join("cache").join(CACHE_TAG), CACHE_SIGNATURE).unwrap();
        fs::write(root.join("cache/x"), "x").unwrap();
        fs::write(root.join("b/c/deep"), "1").unwrap();
        fs::write(root.join(OsStr::from_bytes(b"a\xff\n")), "2").unwrap();
        symlink(root, root.join("loop")).unwrap();
        let _socket = UnixListener::bind(root.join("socket")).unwrap();

        let files = list(root, usize::MAX).unwrap();
        let names: Vec<_> =
            files.found.iter().map(|file| file.path.strip_prefix(root).unwrap()).collect();
        assert_eq!(names, [Path::new(OsStr::from_bytes(b"a\xff\n")), Path::new("b/c/deep")]);
        let left_out: Vec<_> = files.left_out.into_iter().collect();
        assert_eq!(left_out, [("cache folders", 1), ("sockets", 1), ("symbolic links", 1)]);
        assert_eq!(list(root, 1).unwrap().found.len(), 1);
    }

    #[test]
    fn a_change_shows_in_the_mark() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("f");
        fs::write(&path, "1").unwrap();
        let before = Mark::of(&path);
        fs::write(&path, "22").unwrap();
        assert_ne!(before, Mark::of(&path));
    }

    #[test]
    fn a_file_is_no_folder() {
        let place = tempfile::NamedTempFile::new().unwrap();
        assert!(list(place.path(), 1).is_err());
    }
}
