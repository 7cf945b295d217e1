//! Sources: clusters that commands ask.

use std::path::PathBuf;

use clap::Subcommand;

use crate::api::automation::Noun;
use crate::api::automation::definition::{Source as Body, SourcePatch};
use crate::cli::definition::{self, How, NewName, verbs};
use crate::config::Place;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::Reply;

/// Sources: clusters that commands ask
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  clawhold source list")]
pub(crate) struct Source {
    #[command(subcommand)]
    word: Word,
}

verbs!(Noun::Source, "source", "'AWS Production'");

#[derive(Debug, Subcommand)]
enum Word {
    /// Add a source
    ///
    /// Here --token-file FILE names the file in which the server finds the token for the source,
    /// not the token for this command.
    #[command(
        after_help = "Example:\n  clawhold source add 'AWS Production' \\\n    --url http://10.0.0.5:7717 --token-file /etc/clawhold/aws.token"
    )]
    Add(Add),
    /// Change what is named
    #[command(
        after_help = "Example:\n  clawhold source edit 'AWS Production' --url http://10.0.0.6:7717"
    )]
    Edit(Edit),
    #[command(flatten)]
    Verb(Verb),
}

#[derive(Debug, clap::Args)]
struct Add {
    #[command(flatten)]
    name: NewName,
    /// Its server; this server when absent
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// The token for it: `env:NAME`, `file:PATH`, or the token itself, which is never shown
    #[arg(long, value_name = "SECRET")]
    token: Option<String>,
    #[arg(skip)]
    file: Option<PathBuf>,
    #[command(flatten)]
    how: How,
}

#[derive(Debug, clap::Args)]
struct Edit {
    /// Its name
    name: String,
    /// Its server; empty for this server
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// The token for it; empty for none
    #[arg(long, value_name = "SECRET")]
    token: Option<String>,
    #[arg(skip)]
    file: Option<PathBuf>,
    #[command(flatten)]
    how: How,
}

impl Source {
    /// Takes `--token-file` from the flags of every command: here it belongs to the source.
    pub(crate) fn take_token_file(&mut self, place: &mut Place) {
        match &mut self.word {
            Word::Add(add) => add.file = place.token_file.take(),
            Word::Edit(edit) => edit.file = place.token_file.take(),
            Word::Verb(_) => {}
        }
    }

    /// Does what was asked.
    pub(crate) async fn run(self, context: &Context) -> Result<Reply, Failure> {
        match self.word {
            Word::Add(add) => {
                let token = token(add.token, add.file)?;
                let body = Body { name: add.name.get(), url: add.url, token, enabled: None };
                definition::add(Noun::Source, &body, add.how, context).await
            }
            Word::Edit(edit) => {
                let token = token(edit.token, edit.file)?;
                let patch = SourcePatch { url: edit.url, token, version: None };
                definition::edit(Noun::Source, &edit.name, &patch, edit.how, context).await
            }
            Word::Verb(verb) => verb.run(context).await,
        }
    }
}

/// Returns the token of a source, from the flag or as the file in which it is found.
fn token(token: Option<String>, file: Option<PathBuf>) -> Result<Option<String>, Failure> {
    let Some(file) = file else { return Ok(token) };
    if token.is_some() {
        return Err(Failure::usage("a source has one token, not --token and --token-file"));
    }
    let shown = file.display().to_string();
    let cannot = |error: std::io::Error| {
        Failure::usage(format!("cannot find {shown}, the file of the token")).because(&error)
    };
    // The server may run in another folder than this command.
    let file = std::path::absolute(&file).map_err(cannot)?;
    Ok(Some(format!("file:{}", file.display())))
}
