//! Where the servers of a fleet keep their log: in the scratch folder, or on a small disk of its
//! own that can be filled.
//!
//! The disk is a tmpfs in a mount namespace that a process holds open, where the system lets this
//! test make one; nothing of it is seen outside.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A small disk in a mount namespace of its own.
#[derive(Debug)]
pub(crate) struct Disk {
    keeper: Child,
    mounted: PathBuf,
}

impl Disk {
    /// Mounts a disk of so many mebibytes at `folder`; none where that is not permitted.
    pub(crate) fn mount(folder: &Path, mebibytes: u64) -> Option<Self> {
        fs::create_dir_all(folder).unwrap();
        let script = "mount -t tmpfs -o size=\"$2\" none \"$1\" && echo mounted && exec cat";
        let mut keeper = Command::new("unshare")
            .args(["--mount", "--propagation", "private", "sh", "-c", script, "sh"])
            .arg(folder)
            .arg(format!("{mebibytes}m"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let mut line = String::new();
        BufReader::new(keeper.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let disk = Self { mounted: folder.to_owned(), keeper };
        (line == "mounted\n").then_some(disk)
    }

    /// Returns the words before a command that is to see the disk.
    pub(crate) fn words(&self) -> Vec<String> {
        let namespace = format!("--mount=/proc/{}/ns/mnt", self.keeper.id());
        ["nsenter".to_owned(), namespace, "--".to_owned()].into()
    }

    /// Fills the disk to the last byte.
    pub(crate) fn fill(&self) {
        let mut filler = File::create(self.filler()).unwrap();
        for size in [64 * 1_024, 4_096, 64, 1] {
            let bytes = vec![b'x'; size];
            while filler.write_all(&bytes).is_ok() {}
        }
    }

    /// Gives the room back.
    pub(crate) fn free(&self) {
        fs::remove_file(self.filler()).unwrap();
    }

    fn filler(&self) -> PathBuf {
        let below = self.mounted.strip_prefix("/").unwrap();
        Path::new("/proc")
            .join(self.keeper.id().to_string())
            .join("root")
            .join(below)
            .join("filler")
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // The namespace ends with the last process in it.
        let _ = self.keeper.kill();
        let _ = self.keeper.wait();
    }
}
