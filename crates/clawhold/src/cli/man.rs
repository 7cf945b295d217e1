//! Manual pages.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, CommandFactory};
use serde::Serialize;

use crate::cli::Cli;
use crate::failure::Failure;
use crate::output::Reply;

/// Print the manual page, or write all of them to a folder
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  clawhold man | man -l -\n  clawhold man ~/.local/share/man/man1"
)]
pub(crate) struct Man {
    /// The folder that gets one page for each command; made when it is missing
    folder: Option<PathBuf>,
}

#[derive(Serialize)]
struct Page {
    page: String,
}

#[derive(Serialize)]
struct Pages {
    folder: String,
    pages: Vec<String>,
}

impl Man {
    /// Prints the main page, or writes every page.
    pub(crate) fn run(self) -> Result<Reply, Failure> {
        let Some(folder) = self.folder else {
            let mut bytes = Vec::new();
            clap_mangen::Man::new(Cli::command())
                .render(&mut bytes)
                .map_err(|error| Failure::failed("cannot make the page").because(&error))?;
            let page = String::from_utf8_lossy(&bytes).into_owned();
            return Ok(Reply::of(&Page { page: page.clone() }).raw(page));
        };
        let cannot = |error: std::io::Error| {
            Failure::failed(format!("cannot write manual pages to {folder:?}")).because(&error)
        };
        fs::create_dir_all(&folder).map_err(cannot)?;
        let pages = write(&folder).map_err(cannot)?;
        let line = format!("wrote {} manual pages to {}", pages.len(), folder.display());
        let folder = folder.display().to_string();
        Ok(Reply::of(&Pages { folder, pages }).line(line))
    }
}

/// Writes one page for each command that people see; returns the names of the files.
fn write(folder: &Path) -> std::io::Result<Vec<String>> {
    let mut root = Cli::command().disable_help_subcommand(true);
    root.build();
    let mut open = vec![root];
    let mut written = Vec::new();
    while let Some(command) = open.pop() {
        open.extend(command.get_subcommands().filter(|below| !below.is_hide_set()).cloned());
        let man = clap_mangen::Man::new(command);
        man.generate_to(folder)?;
        written.push(man.get_filename());
    }
    written.sort();
    Ok(written)
}
