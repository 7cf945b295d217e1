//! What the program is asked to do.

use std::path::PathBuf;

use crate::rule::Rule;

/// Commands that the clients of one world send when nothing is said.
const COMMANDS_DEFAULT: u64 = 400;
/// Seeds that are run twice before any result counts.
const CHECKED_DEFAULT: usize = 3;

/// How to call it.
pub(crate) const USAGE: &str = "\
usage: clawhold-sim [--seeds N | --seed S | --script FILE]... [OPTION]...
  --seeds N      run the worlds of the seeds 1 to N (100)
  --seed S       run the world of the seed S
  --script FILE  run the world that a file describes
  --commands C   let the clients of a world send C commands (400)
  --check N      run the first N worlds twice and compare their digests (3)
  --break RULE   break a rule on purpose; a run then succeeds if the checker notices
  --brief        name what fails and do not make it small
  --story        tell what happens in each world
  --script-out FILE  keep the minimal script of the first world that fails";

/// What was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Args {
    pub(crate) seeds: Vec<u64>,
    pub(crate) scripts: Vec<PathBuf>,
    pub(crate) commands: u64,
    pub(crate) checked: usize,
    pub(crate) rule: Option<Rule>,
    pub(crate) story: bool,
    pub(crate) brief: bool,
    pub(crate) script_out: Option<PathBuf>,
}

impl Args {
    /// Reads the words of a call.
    ///
    /// # Errors
    /// A sentence that names the word.
    pub(crate) fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut args = Self {
            seeds: Vec::new(),
            scripts: Vec::new(),
            commands: COMMANDS_DEFAULT,
            checked: CHECKED_DEFAULT,
            rule: None,
            story: false,
            brief: false,
            script_out: None,
        };
        while let Some(word) = words.next() {
            if word == "--story" {
                args.story = true;
                continue;
            }
            if word == "--brief" {
                args.brief = true;
                continue;
            }
            let value = words.next().ok_or_else(|| format!("{word} needs a value"))?;
            args.set(&word, &value)?;
        }
        if args.seeds.is_empty() && args.scripts.is_empty() {
            args.seeds = (1..=100).collect();
        }
        Ok(args)
    }

    fn set(&mut self, word: &str, value: &str) -> Result<(), String> {
        match word {
            "--seeds" => self.seeds.extend(1..=number(word, value)?),
            "--seed" => self.seeds.push(number(word, value)?),
            "--script" => self.scripts.push(value.into()),
            "--commands" => self.commands = number(word, value)?,
            "--check" => self.checked = usize::try_from(number(word, value)?).unwrap_or(usize::MAX),
            "--break" => self.rule = Some(value.parse()?),
            "--script-out" => self.script_out = Some(value.into()),
            _ => return Err(format!("there is no option {word}")),
        }
        Ok(())
    }
}

fn number(word: &str, value: &str) -> Result<u64, String> {
    let bad = || format!("{word} is {value:?}, allowed is a number from 1 to {}", u64::MAX);
    value.parse().ok().filter(|number| *number > 0).ok_or_else(bad)
}
