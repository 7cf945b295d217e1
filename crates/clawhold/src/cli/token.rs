//! Tokens for servers that listen beyond their host.

use clap::{Args, Subcommand, ValueEnum};
use clawhold_server::auth;
use serde::Serialize;

use crate::failure::Failure;
use crate::output::{Reply, Style};

/// Bytes of randomness in a secret.
const SECRET_BYTES: usize = 32;

/// Make tokens for a server that listens beyond this host
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  clawhold token new ci --scope operator")]
pub(crate) struct Token {
    #[command(subcommand)]
    word: Word,
}

#[derive(Debug, Subcommand)]
enum Word {
    /// Make a token: show its secret once, and the lines for the server's tokens file
    #[command(after_help = "Example:\n  clawhold token new ci --scope operator")]
    New(New),
}

#[derive(Debug, Args)]
struct New {
    /// Who bears it; every act is recorded under this name
    name: String,
    /// What it allows; each scope includes the ones before it
    #[arg(long)]
    scope: Scope,
}

/// What a token allows.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Scope {
    /// To look
    Viewer,
    /// To work: sessions, roles, jobs, streams
    Worker,
    /// To direct: drain, pause, cancel, hand over
    Operator,
    /// To set up: queues, roles and streams
    Admin,
}

#[derive(Serialize)]
struct Made<'a> {
    name: &'a str,
    scope: &'a str,
    secret: &'a str,
    sha256: &'a str,
    toml: &'a str,
}

impl Token {
    /// Makes what was asked.
    pub(crate) fn run(self) -> Result<Reply, Failure> {
        let Word::New(new) = self.word;
        new.run()
    }
}

impl New {
    fn run(self) -> Result<Reply, Failure> {
        check(&self.name)?;
        let mut bytes = [0_u8; SECRET_BYTES];
        getrandom::fill(&mut bytes)
            .map_err(|error| Failure::failed("the system gives no randomness").because(&error))?;
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let secret = format!("clawhold_{hex}");
        let sha256 = auth::hash(&secret);
        let (name, scope) = (self.name.as_str(), self.scope.server().as_str());
        let toml =
            format!("[[token]]\nname = \"{name}\"\nscope = \"{scope}\"\nsha256 = \"{sha256}\"\n");
        let made = Made { name, scope, secret: &secret, sha256: &sha256, toml: &toml };
        Ok(Reply::of(&made)
            .line("The secret, shown this once; keep it in a file for --token-file:")
            .line("")
            .styled(Style::Bold, secret.as_str())
            .line("")
            .line("For the file that the server gets by --tokens:")
            .line("")
            .raw(toml))
    }
}

impl Scope {
    fn server(self) -> auth::Scope {
        match self {
            Self::Viewer => auth::Scope::Viewer,
            Self::Worker => auth::Scope::Worker,
            Self::Operator => auth::Scope::Operator,
            Self::Admin => auth::Scope::Admin,
        }
    }
}

/// Refuses what the server would refuse when it reads the file.
fn check(name: &str) -> Result<(), Failure> {
    let first = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
    let rest = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-:@".contains(&byte));
    if first && rest && name.len() <= 100 {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "NAME is {name:?}, allowed is 1 to 100 letters, digits and . _ - : @, the first a letter or digit"
    )))
}
