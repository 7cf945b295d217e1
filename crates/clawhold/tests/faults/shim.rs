//! A library that bends what one process sees of its disk and its wall clock.
//!
//! `shim.c` is compiled once for each test process. Each process of a fleet has a control file of
//! its own, which is changed while it runs.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What `shim.c` is.
const SOURCE: &str = include_str!("shim.c");
/// The variable that names the control file.
const CONTROL: &str = "FAULTS_CONTROL";

/// Where each number stands in a control file.
const WALL_AT: u64 = 0;
const SYNC_AT: u64 = 8;
const FULL_AT: u64 = 16;

/// The compiled library.
#[derive(Clone, Debug)]
pub(crate) struct Shim {
    library: PathBuf,
}

/// What one process sees; kept over its restarts.
#[derive(Debug)]
pub(crate) struct Control {
    library: PathBuf,
    path: PathBuf,
    file: File,
}

impl Shim {
    /// Compiles the library into `folder`.
    pub(crate) fn compile(folder: &Path) -> Self {
        let source = folder.join("shim.c");
        let library = folder.join("shim.so");
        fs::write(&source, SOURCE).unwrap();
        let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
        let said = Command::new(compiler)
            .args(["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", "-o"])
            .args([&library, &source])
            .output()
            .unwrap();
        let complaints = String::from_utf8_lossy(&said.stderr);
        assert!(said.status.success(), "shim.c does not compile: {complaints}");
        Self { library }
    }

    /// Makes a control file beside the library.
    pub(crate) fn control(&self, name: &str) -> Control {
        let path = self.library.with_file_name(format!("{name}.control"));
        let file = File::options().create(true).truncate(true).write(true).open(&path).unwrap();
        file.write_all_at(&[0; 24], 0).unwrap();
        Control { library: self.library.clone(), path, file }
    }
}

impl Control {
    /// Lets a command see what this control file says.
    pub(crate) fn apply(&self, command: &mut Command) {
        command.env("LD_PRELOAD", &self.library).env(CONTROL, &self.path);
    }

    /// Moves the wall clock.
    pub(crate) fn move_wall(&self, ms: i64) {
        self.put(WALL_AT, ms);
    }

    /// Lets each sync take so much longer.
    pub(crate) fn slow_syncs(&self, ms: i64) {
        self.put(SYNC_AT, ms);
    }

    /// Lets the store's disk be full, or have room again.
    pub(crate) fn fill_disk(&self, full: bool) {
        self.put(FULL_AT, i64::from(full));
    }

    /// Takes every fault back.
    pub(crate) fn heal(&self) {
        self.file.write_all_at(&[0; 24], 0).unwrap();
    }

    fn put(&self, at: u64, value: i64) {
        // Eight bytes at a multiple of eight: a reader sees the old number or the new one.
        self.file.write_all_at(&value.to_ne_bytes(), at).unwrap();
    }
}
