//! The files of this repository, as git lists them.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

/// Returns the folder that holds the workspace.
pub(crate) fn root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.ancestors().nth(2).expect("a package lives two folders below the root").to_path_buf()
}

/// A file of the repository that is text.
#[derive(Debug)]
pub(crate) struct File {
    /// Where it is, from the root on, with `/` between the parts.
    pub(crate) path: String,
    pub(crate) text: String,
}

/// Returns every text file that is committed or about to be, in order of its path.
///
/// # Panics
///
/// Panics when git cannot list them: without the list the rules would pass unseen.
pub(crate) fn files() -> Vec<File> {
    let listing = [
        "-c",
        "safe.directory=*",
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
        "--deduplicate",
    ];
    let listed = run("git", &listing);
    let paths = listed.split('\0').filter(|path| !path.is_empty());
    let mut files: Vec<File> = paths.filter_map(read).collect();
    assert!(files.len() > 50, "git lists only {} files; is this a whole checkout?", files.len());
    files.sort_by(|one, other| one.path.cmp(&other.path));
    files
}

/// Returns what cargo says about the packages of the workspace, without resolving anything.
pub(crate) fn metadata() -> Value {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let said = run(cargo, &["metadata", "--no-deps", "--format-version", "1"]);
    serde_json::from_str(&said).expect("cargo metadata speaks JSON")
}

/// Reads one file; a file that was deleted but not yet committed, or is not text, is left out.
fn read(path: &str) -> Option<File> {
    let bytes = fs::read(root().join(path)).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    Some(File { path: path.to_owned(), text })
}

fn run(program: impl AsRef<OsStr>, arguments: &[&str]) -> String {
    let program = program.as_ref();
    let output = Command::new(program)
        .args(arguments)
        .current_dir(root())
        .output()
        .unwrap_or_else(|error| panic!("cannot run {}: {error}", program.display()));
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{} {arguments:?}: {complaint}", program.display());
    String::from_utf8(output.stdout).expect("names in the repository are UTF-8")
}
