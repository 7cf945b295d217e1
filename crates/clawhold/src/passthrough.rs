//! Living beside another `openclaw`: what is not one of our words goes to the next program of
//! that name on PATH, by exec, its arguments unchanged.
//!
//! A variable keeps the programs of ours that have handed on already, so that two copies of us
//! never hand a call to each other. It counts processes as well, so that a script of that name
//! which looks itself up on PATH does not go on for ever.

use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::Failure;

/// The name under which words are handed on.
const NAME: &str = "openclaw";
/// The variable that keeps who has handed on. Set to anything else, it switches that off.
const GUARD: &str = "CLAWHOLD_PASSTHROUGH";
/// Processes, each started by the one before, that may hand on.
const HOPS_MAX: u32 = 16;

/// Words that are ours under either name.
pub(crate) const OURS: [&str; 25] = [
    "command",
    "alert-rule",
    "alert-route",
    "alert",
    "auto-fix",
    "runbook",
    "run",
    "channel",
    "source",
    "inbox",
    "notify",
    "condition",
    "automation",
    "export",
    "import",
    "serve",
    "role",
    "lead",
    "commit",
    "work",
    "worker",
    "queue",
    "job",
    "stream",
    "drill",
];
/// What follows `agent` when it is ours.
pub(crate) const AGENT: [&str; 11] = [
    "edit", "add", "list", "show", "remove", "rm", "enable", "disable", "history", "revert", "test",
];
/// Our flags before the word that take a value.
const FLAGS_WITH_VALUE: [&str; 5] =
    ["--patience", "--server", "--store", "--token-file", "--color"];

/// What a call under the other name is.
#[derive(Debug, PartialEq, Eq)]
enum Word<'a> {
    /// One of our words.
    Ours,
    /// A word that belongs to the other program where there is one.
    Theirs(&'a OsStr),
    /// No word at all, or a flag that is not ours before it.
    None,
}

/// Hands the call on if it is not ours. Returns only if it is, or if nobody is there to take it.
///
/// # Errors
/// When the other program cannot be started, or a loop is seen.
pub(crate) fn hand_on(argv: &[OsString]) -> Result<(), Failure> {
    let Some((name, arguments)) = argv.split_first() else { return Ok(()) };
    if Path::new(name).file_name() != Some(OsStr::new(NAME)) || word(arguments) == Word::Ours {
        return Ok(());
    }
    let Some(guard) = Guard::read(std::env::var_os(GUARD).as_deref()) else { return Ok(()) };
    if guard.hops >= HOPS_MAX {
        let text = format!("`{NAME}` called itself {HOPS_MAX} times in a row");
        let next = format!(
            "look for a script named {NAME} on PATH that calls {NAME}; our own words work as `clawhold WORD`"
        );
        return Err(Failure::failed(text).next(next));
    }
    let guard = guard.with_us();
    let Some(other) = other(&guard) else { return Ok(()) };
    match exec(&other, name, arguments, &guard) {
        Ok(never) => match never {},
        Err(error) => {
            let text = format!("cannot run {other:?}, the next `{NAME}` on PATH");
            Err(Failure::failed(text).because(&error))
        }
    }
}

/// Returns the failure of a word that is neither ours nor anybody's, for a call under the other
/// name.
pub(crate) fn nobody(argv: &[OsString]) -> Option<Failure> {
    let (name, arguments) = argv.split_first()?;
    if Path::new(name).file_name() != Some(OsStr::new(NAME)) {
        return None;
    }
    let Word::Theirs(word) = word(arguments) else { return None };
    let word = word.to_string_lossy();
    let text = format!("`{NAME} {word}` is no word of Clawhold, and no other `{NAME}` is on PATH");
    Some(Failure::usage(text).next("see `clawhold --help`; each of our words is `clawhold WORD`"))
}

fn exec(
    program: &Path,
    name: &OsStr,
    arguments: &[OsString],
    guard: &Guard,
) -> std::io::Result<Infallible> {
    let error = Command::new(program).arg0(name).args(arguments).env(GUARD, guard.text()).exec();
    Err(error)
}

fn word(arguments: &[OsString]) -> Word<'_> {
    let mut left = arguments.iter();
    while let Some(argument) = left.next() {
        let bytes = argument.as_bytes();
        if !bytes.starts_with(b"-") {
            return belongs(argument, left.next());
        }
        let (flag, value) = match bytes.iter().position(|byte| *byte == b'=') {
            Some(at) => (&bytes[..at], true),
            None => (bytes, false),
        };
        let takes_value = FLAGS_WITH_VALUE.iter().any(|ours| ours.as_bytes() == flag);
        if takes_value && !value {
            left.next();
        } else if !takes_value && flag != b"--json" {
            return Word::None;
        }
    }
    Word::None
}

fn belongs<'a>(word: &'a OsStr, next: Option<&OsString>) -> Word<'a> {
    let is = |words: &[&str], given: &OsStr| words.iter().any(|ours| OsStr::new(ours) == given);
    let helper = word.as_bytes().starts_with(b"__");
    let agent = word == "agent" && next.is_some_and(|next| is(&AGENT, next));
    let help = word == "help" && next.is_some_and(|next| is(&OURS, next));
    if is(&OURS, word) || helper || agent || help { Word::Ours } else { Word::Theirs(word) }
}

/// Returns the first other program of that name on PATH.
fn other(guard: &Guard) -> Option<PathBuf> {
    let us = std::env::current_exe().ok().and_then(|path| path.canonicalize().ok());
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .filter(|folder| !folder.as_os_str().is_empty())
        .map(|folder| folder.join(NAME))
        .find(|program| is_other(program, us.as_deref(), guard))
}

fn is_other(program: &Path, us: Option<&Path>, guard: &Guard) -> bool {
    let Ok(meta) = program.metadata() else { return false };
    let runs = meta.is_file() && meta.permissions().mode() & 0o111 != 0;
    let same_path = us.is_some() && program.canonicalize().ok().as_deref() == us;
    runs && !same_path && !guard.seen.contains(&Inode { device: meta.dev(), number: meta.ino() })
}

/// A file by what it is, whatever its names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Inode {
    device: u64,
    number: u64,
}

/// Who has handed this call on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Guard {
    /// Processes, each started by the one before, that handed on.
    hops: u32,
    /// The programs of ours that this very process has been.
    seen: Vec<Inode>,
}

impl Guard {
    /// Reads the variable: `HOPS:PID:DEVICE-INODE,…`. `None` when it switches handing on off.
    fn read(text: Option<&OsStr>) -> Option<Self> {
        let Some(text) = text else { return Some(Self::default()) };
        let (hops, rest) = text.to_str()?.split_once(':')?;
        let (pid, seen) = rest.split_once(':')?;
        let hops = hops.parse().ok()?;
        let seen = seen.split(',').map(|inode| {
            let (device, number) = inode.split_once('-')?;
            Some(Inode { device: device.parse().ok()?, number: number.parse().ok()? })
        });
        let seen = seen.collect::<Option<Vec<_>>>()?;
        // An exec keeps the process: what another process was says nothing about this one.
        let same = pid.parse::<u32>().ok()? == std::process::id();
        Some(Self { hops, seen: if same { seen } else { Vec::new() } })
    }

    /// Returns the guard with this program in it.
    fn with_us(mut self) -> Self {
        let us = std::env::current_exe().and_then(|path| path.metadata());
        if let Ok(us) = us {
            self.seen.push(Inode { device: us.dev(), number: us.ino() });
        }
        self.hops += 1;
        self
    }

    fn text(&self) -> String {
        let seen: Vec<_> =
            self.seen.iter().map(|inode| format!("{}-{}", inode.device, inode.number)).collect();
        format!("{}:{}:{}", self.hops, std::process::id(), seen.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn our_words_are_ours_and_the_rest_is_not() {
        for line in [
            "role list",
            "--json role list",
            "--server http://a queue list",
            "--color=never job",
            "agent edit x",
            "agent add",
            "help lead",
            "__guard 3",
            "auto-fix add --name x",
            "run /leader",
            "inbox read",
        ] {
            assert_eq!(word(&call(line)), Word::Ours, "{line}");
        }
        for line in ["status", "agent", "agent --to x", "agent exec", "help", "gateway run", "Role"]
        {
            assert!(matches!(word(&call(line)), Word::Theirs(_)), "{line}");
        }
        for line in ["", "--version", "--profile dev status", "-h", "--json", "--server"] {
            assert_eq!(word(&call(line)), Word::None, "{line}");
        }
    }

    #[test]
    fn the_guard_keeps_what_this_process_was_and_forgets_what_another_was() {
        let guard = Guard { hops: 2, seen: vec![Inode { device: 1, number: 2 }] };
        let text = OsString::from(guard.text());
        assert_eq!(Guard::read(Some(&text)), Some(guard));
        let other = OsString::from(format!("2:{}:1-2", std::process::id() + 1));
        assert_eq!(Guard::read(Some(&other)), Some(Guard { hops: 2, seen: vec![] }));
        assert_eq!(Guard::read(None), Some(Guard::default()));
        assert_eq!(Guard::read(Some(OsStr::new("off"))), None);
    }
}
