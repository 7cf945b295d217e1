//! A world in writing: its size, its seed and everything that happens in it from outside.
//!
//! What is not written, such as how long each message travels, follows from the seed and from
//! the message's own number, so that a line may be left out without moving the others.

use std::fmt::Write as _;

use crate::act::Act;
use crate::rule::Rule;

/// A world, ready to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Script {
    pub(crate) seed: u64,
    pub(crate) servers: usize,
    pub(crate) clients: usize,
    /// Whether the log has a presence lock, as one on a local disk does.
    pub(crate) presence: bool,
    pub(crate) hold_ms: u64,
    pub(crate) lease_ttl_ms: u64,
    /// The rule that is broken on purpose, if one is.
    pub(crate) rule: Option<Rule>,
    pub(crate) acts: Vec<Act>,
}

impl Script {
    /// Returns the script as text that [`Script::parse`] reads.
    pub(crate) fn print(&self) -> String {
        let mut text = String::new();
        let presence = if self.presence { "yes" } else { "no" };
        let _ = writeln!(text, "seed {}\nservers {}", self.seed, self.servers);
        let _ = writeln!(text, "clients {}\npresence {presence}", self.clients);
        let _ = writeln!(text, "hold {}\nttl {}", self.hold_ms, self.lease_ttl_ms);
        if let Some(rule) = self.rule {
            let _ = writeln!(text, "break {rule}");
        }
        for act in &self.acts {
            let _ = writeln!(text, "{act}");
        }
        text
    }

    /// Reads a script. Empty lines and what follows a `#` are left out.
    ///
    /// # Errors
    /// A sentence that names the line and what may stand there.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut script = Self {
            seed: 1,
            servers: 3,
            clients: 4,
            presence: false,
            hold_ms: 1_000,
            lease_ttl_ms: 1_000,
            rule: None,
            acts: Vec::new(),
        };
        for (number, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default().trim();
            let read = if line.is_empty() { Ok(()) } else { script.read(line) };
            read.map_err(|reason| format!("line {}: {reason}", number + 1))?;
        }
        script.acts.sort_by_key(|act| act.at_ms);
        Ok(script)
    }

    fn read(&mut self, line: &str) -> Result<(), String> {
        if line.starts_with(|c: char| c.is_ascii_digit()) {
            self.acts.push(line.parse()?);
            return Ok(());
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        let [what, value] = &words[..] else {
            return Err(format!("{line:?} is neither an act nor a setting"));
        };
        match *what {
            "seed" => self.seed = number(what, value, 0, u64::MAX)?,
            "servers" => self.servers = small(what, value, 1, 9)?,
            "clients" => self.clients = small(what, value, 1, 50)?,
            "presence" => self.presence = *value == "yes",
            "hold" => self.hold_ms = number(what, value, 50, 60_000)?,
            "ttl" => self.lease_ttl_ms = number(what, value, 200, 60_000)?,
            "break" => self.rule = Some(value.parse()?),
            _ => {
                return Err(format!(
                    "{what:?} is no setting; there are seed, servers, clients, presence, hold, \
                     ttl and break"
                ));
            }
        }
        Ok(())
    }
}

fn number(what: &str, value: &str, min: u64, max: u64) -> Result<u64, String> {
    let number = value.parse().ok().filter(|number| (min..=max).contains(number));
    number.ok_or_else(|| format!("{what} is {value}, allowed is {min} to {max}"))
}

fn small(what: &str, value: &str, min: u64, max: u64) -> Result<usize, String> {
    let number = number(what, value, min, max)?;
    usize::try_from(number).map_err(|_| format!("{what} is {value}, allowed is {min} to {max}"))
}
