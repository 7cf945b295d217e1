//! What an agent is told with each job: kept in a file that is replaced when it changes.
//!
//! A job that starts finds the file as it is; a program that runs longer may read it again.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use clawhold_client::api::Noun;
use clawhold_client::api::automation::definition::{Agent, Definition, Spec};
use clawhold_client::api::server::What;
use clawhold_client::{ChangeEvent, Changes, Client, ClientError};

use crate::failure::Failure;
use crate::output::Output;
use crate::text::{counted, quoted};

/// How long the next look is put off when the changes cannot be followed.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// What an agent is told.
#[derive(Debug)]
pub(super) struct Briefing {
    /// The agent's name.
    pub(super) agent: String,
    /// The file with its messages.
    pub(super) file: PathBuf,
    /// The queue of its jobs.
    pub(super) queue: String,
    version: AtomicU64,
}

impl Briefing {
    /// Writes down what the agent is told, and returns it with the changes from here on.
    ///
    /// # Errors
    /// When there is no such agent, or the file cannot be written.
    pub(super) async fn start(
        client: &Client,
        name: &str,
        folder: &Path,
    ) -> Result<(Self, Changes), Failure> {
        // The changes first, so that none falls between them and what is read.
        let changes = client.changes(None).await?;
        let known = crate::cli::agent_named(client, name).await?;
        let agent = agent_of(&known);
        let briefing = Self {
            agent: known.name.clone(),
            file: folder.join("messages"),
            queue: agent.queue.clone().unwrap_or_else(|| queue_of(&known.name)),
            version: AtomicU64::new(known.version),
        };
        briefing.write(&agent.messages).map_err(|error| {
            Failure::failed("cannot write the messages of an agent").because(&error)
        })?;
        Ok((briefing, changes))
    }

    /// Returns the version that the file holds.
    pub(super) fn version(&self) -> u64 {
        self.version.load(Ordering::Relaxed)
    }

    /// Returns the name as workers are listed under it.
    pub(super) fn label(&self) -> String {
        slug(&self.agent)
    }

    /// Keeps the file as the agent is told, for as long as the worker works.
    pub(super) async fn keep(&self, client: &Client, mut changes: Changes, output: &Output) {
        loop {
            match changes.next().await {
                Ok(ChangeEvent::Change(change)) if !self.is_about(&change.what) => {}
                Ok(ChangeEvent::Change(_) | ChangeEvent::Reset(_)) => {
                    if let Err(error) = self.look(client, output).await {
                        tracing::warn!(%error, "cannot read what the agent is told");
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot follow what the agent is told");
                    tokio::time::sleep(LOOK_AGAIN).await;
                }
            }
        }
    }

    fn is_about(&self, what: &What) -> bool {
        let What::Definition { noun, name } = what else { return false };
        noun == Noun::Agent.as_str() && *name == self.agent
    }

    async fn look(&self, client: &Client, output: &Output) -> Result<(), ClientError> {
        let known = client.definition(Noun::Agent, &self.agent).await?;
        if known.version == self.version() {
            return Ok(());
        }
        let messages = &agent_of(&known).messages;
        if let Err(error) = self.write(messages) {
            tracing::warn!(%error, "cannot write what the agent is told");
            return Ok(());
        }
        self.version.store(known.version, Ordering::Relaxed);
        output.note(&format!(
            "agent {} is told {} from now on (v{})",
            quoted(&self.agent),
            counted(messages.len() as u64, "message"),
            known.version
        ));
        Ok(())
    }

    /// Replaces the file in one step: a program reads the old messages or the new ones.
    fn write(&self, messages: &[String]) -> io::Result<()> {
        let new = self.file.with_extension("new");
        let mut text = messages.join("\n\n");
        if !text.is_empty() {
            text.push('\n');
        }
        fs::write(&new, text)?;
        fs::rename(&new, &self.file)
    }
}

fn agent_of(known: &Definition) -> Agent {
    match &known.spec {
        Spec::Agent(agent) => agent.clone(),
        Spec::Command(_)
        | Spec::AlertRule(_)
        | Spec::AlertRoute(_)
        | Spec::AutoFix(_)
        | Spec::Runbook(_)
        | Spec::Channel(_)
        | Spec::Source(_) => Agent::default(),
    }
}

/// Returns the queue of an agent that has none of its own.
fn queue_of(agent: &str) -> String {
    format!("agent.{}", slug(agent))
}

/// Returns a name as letters, digits and dashes.
fn slug(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    name.chars().take(80).map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_without_a_queue_has_one_named_after_it() {
        assert_eq!(queue_of("DevOps Monitor"), "agent.devops-monitor");
        assert_eq!(queue_of("a/b é"), "agent.a-b--");
    }

    #[test]
    fn the_file_is_replaced_as_a_whole() {
        let folder = tempfile::tempdir().unwrap();
        let briefing = Briefing {
            agent: "x".to_owned(),
            file: folder.path().join("messages"),
            queue: String::new(),
            version: AtomicU64::new(1),
        };
        briefing.write(&["Stop first.".to_owned(), "Then report.".to_owned()]).unwrap();
        let text = fs::read_to_string(&briefing.file).unwrap();
        assert_eq!(text, "Stop first.\n\nThen report.\n");
        briefing.write(&[]).unwrap();
        assert_eq!(fs::read_to_string(&briefing.file).unwrap(), "");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
