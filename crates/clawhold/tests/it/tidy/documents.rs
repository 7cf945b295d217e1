//! Documents that tell the truth: a command shown in a `console` block is run.
//!
//! A line that starts with `$ ` is a command for the shell; one that ends with `\` goes on in the
//! next line. It must end with code 0. The lines under it, if any, must be found in its output in
//! that order; `…` stands for any text. The commands of one document share one scratch home, with
//! the program on PATH and no server running. Blocks of any other kind are only read.

use std::{
    env, fmt, fs,
    fs::File,
    os::unix::process::CommandExt,
    path::{Component, Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
};

use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::TempDir;

use super::{assert_none, repository};

/// The longest that one command of a document may take.
const SECONDS_MAX: u32 = 60;

/// A command that a document shows, and what it says will come out.
#[derive(Debug, Default, PartialEq, Eq)]
struct Example {
    /// The line of the document that holds the command.
    line: usize,
    command: String,
    expected: Vec<String>,
}

#[test]
fn every_command_shown_in_a_console_block_does_what_the_document_says() {
    let files = repository::files();
    let documents = files.iter().filter(|file| file.path.ends_with(".md"));
    let faults: Vec<String> = documents.flat_map(|file| faults(&file.path, &file.text)).collect();
    assert_none(&faults);
}

#[test]
fn every_link_between_documents_leads_somewhere() {
    let files = repository::files();
    let there: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let documents = files.iter().filter(|file| file.path.ends_with(".md"));
    let faults: Vec<String> =
        documents.flat_map(|file| dead_links(&file.path, &file.text, &there)).collect();
    assert_none(&faults);
}

#[test]
fn a_document_is_read_block_by_block() {
    let document = "\
Text, and `$ not this`.

```console
$ clawhold status
active …
$ printf '%s' \\
>   two
```

1. In a list:

   ````console
   $ printf '```'
   ```
   ````

```sh
$ only read
```
";
    let example = |line, command: &str, expected: &[&str]| Example {
        line,
        command: command.to_owned(),
        expected: expected.iter().map(|line| (*line).to_owned()).collect(),
    };
    assert_eq!(
        read(document),
        Ok(vec![
            example(4, "clawhold status", &["active …"]),
            example(6, "printf '%s' \\\n  two", &[]),
            example(13, "printf '```'", &["```"]),
        ])
    );
}

#[test]
fn a_block_that_cannot_be_run_is_a_fault() {
    let faults = [
        ("```console\n```\n", "a.md:1: a console block without a command; start one with `$ `"),
        ("```console\nls\n```\n", "a.md:2: output before the first command; start one with `$ `"),
        ("```console\n$ ls\n", "a.md:1: the block never ends"),
        ("x\n```sh\n", "a.md:2: the block never ends"),
    ];
    for (document, fault) in faults {
        assert_eq!(self::faults("a.md", document), [fault]);
    }
}

#[test]
fn the_program_is_on_path_under_both_names_in_a_home_of_its_own() {
    let document = "\
```console
$ clawhold --version
clawhold …
$ openclaw --version >both && test -s both
$ test \"$PWD\" = \"$HOME\" && echo kept >\"$HOME/file\"
$ cat file; echo and more
kept
…more
$ env
HOME=…
```
";
    assert_eq!(faults("a.md", document), [""; 0]);
}

#[test]
fn a_command_that_fails_or_says_something_else_is_a_fault() {
    let failed = faults("a.md", "```console\n$ echo no >&2; exit 4\n```\n");
    assert_eq!(failed, ["a.md:2: `echo no >&2; exit 4` ended with exit status: 4:\nno\n"]);
    let other = faults("a.md", "```console\n$ printf 'one\\ntwo\\n'\ntwo\none\n```\n");
    assert_eq!(other, ["a.md:2: `printf 'one\\ntwo\\n'` did not say \"one\" there:\none\ntwo\n"]);
}

#[test]
fn what_a_command_leaves_running_ends_with_its_document() {
    let home = tempfile::tempdir().expect("a scratch folder");
    let pipe = home.path().join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().expect("mkfifo starts");
    assert!(made.success());
    // Reading ends when the last process that can write has ended.
    let reader = thread::spawn(move || fs::read_to_string(pipe));
    let document = "```console\n$ exec 3>pipe; (sleep 20; echo survived >&3) &\n```\n";
    assert_eq!(faults_in(&home, "a.md", document), [""; 0]);
    let read = reader.join().expect("the reader ends").expect("the pipe can be read");
    assert_eq!(read, "");
}

#[test]
fn a_link_to_a_file_that_is_not_there_is_a_fault() {
    let there = ["README.md", "docs/work.md", "docs/lead.md"];
    let links = "[a](docs/work.md) [b](docs/work.md#c) [d](https://example.com/x) [e](#here)";
    assert_eq!(dead_links("README.md", links, &there), [""; 0]);
    assert_eq!(dead_links("docs/lead.md", "[a](work.md), [b](../README.md)", &there), [""; 0]);
    assert_eq!(
        dead_links("docs/lead.md", "One.\n[a](docs/work.md)\n", &there),
        ["docs/lead.md:2: links to docs/docs/work.md, which is not there"]
    );
    assert_eq!(dead_links("README.md", "[a](docs)", &there), [""; 0]);
}

#[test]
fn dots_stand_for_any_text() {
    for (pattern, line) in [("a", "a"), ("a…", "a"), ("…", "x"), ("a…c…", "a b c d"), ("a  ", "a")]
    {
        assert!(fits(pattern, line), "{pattern:?} {line:?}");
    }
    for (pattern, line) in [("a", "ab"), ("a…", "ba"), ("a…a", "a"), ("…c", "cd"), ("a…b…c", "acb")]
    {
        assert!(!fits(pattern, line), "{pattern:?} {line:?}");
    }
}

/// Reads and runs one document in a home of its own.
fn faults(path: &str, text: &str) -> Vec<String> {
    faults_in(&tempfile::tempdir().expect("a scratch folder"), path, text)
}

fn faults_in(home: &TempDir, path: &str, text: &str) -> Vec<String> {
    let examples = match read(text) {
        Ok(examples) => examples,
        Err((line, fault)) => return vec![format!("{path}:{line}: {fault}")],
    };
    let mut running = Running::default();
    let mut faults = Vec::new();
    for example in examples {
        let (line, command) = (example.line, &example.command);
        if let Err(fault) = running.run(&example, home.path()) {
            faults.push(format!("{path}:{line}: `{command}` {fault}"));
        }
    }
    faults
}

/// Returns the commands of a document, or the line and the fault of a block that cannot be run.
fn read(text: &str) -> Result<Vec<Example>, (usize, &'static str)> {
    let mut examples = Vec::new();
    let mut lines = (1..).zip(text.lines());
    while let Some((opened, line)) = lines.next() {
        let indent = line.len() - line.trim_start().len();
        let info = line.trim_start().trim_start_matches('`');
        let fence = &line[indent..line.len() - info.len()];
        if fence.len() < 3 {
            continue;
        }
        let mut block = Vec::new();
        loop {
            let (number, line) = lines.next().ok_or((opened, "the block never ends"))?;
            let line = line.get(indent..).unwrap_or_default().trim_end();
            if line == fence {
                break;
            }
            block.push((number, line));
        }
        if info.split_whitespace().next() == Some("console") {
            examples.extend(commands(opened, &block)?);
        }
    }
    Ok(examples)
}

/// Returns the commands of one block that opened at a line.
fn commands(opened: usize, block: &[(usize, &str)]) -> Result<Vec<Example>, (usize, &'static str)> {
    let mut examples: Vec<Example> = Vec::new();
    for (line, text) in block {
        if let Some(command) = text.strip_prefix("$ ") {
            let command = command.to_owned();
            examples.push(Example { line: *line, command, expected: Vec::new() });
            continue;
        }
        let early = (*line, "output before the first command; start one with `$ `");
        let example = examples.last_mut().ok_or(early)?;
        if example.expected.is_empty() && example.command.ends_with('\\') {
            example.command.push('\n');
            example.command.push_str(text.strip_prefix("> ").unwrap_or(text));
        } else {
            example.expected.push((*text).to_owned());
        }
    }
    if examples.is_empty() {
        return Err((opened, "a console block without a command; start one with `$ `"));
    }
    Ok(examples)
}

/// The shells of one document. What they left running ends with this value.
#[derive(Debug, Default)]
struct Running(Vec<Child>);

impl Running {
    /// Runs one command and compares it with what its document says.
    fn run(&mut self, example: &Example, home: &Path) -> Result<(), Fault> {
        let said = home.join(".said");
        let output = File::create(&said).expect("the scratch home can be written");
        let errors = output.try_clone().expect("a file can be opened twice");
        let mut shell = shell(&example.command, home);
        let child = shell.stdout(output).stderr(errors).spawn().expect("the shell starts");
        self.0.push(child);
        let child = self.0.last_mut().expect("it was pushed");
        let status = child.wait().expect("a child can be awaited");
        let said = String::from_utf8_lossy(&fs::read(&said).expect("the file is there")).into();
        if status.code() == Some(124) {
            return Err(Fault::Slow);
        }
        if !status.success() {
            return Err(Fault::Ended { status: status.to_string(), said });
        }
        let mut lines = said.lines();
        let missing = example.expected.iter().find(|line| !lines.any(|said| fits(line, said)));
        match missing {
            Some(line) => Err(Fault::Unsaid { line: line.clone(), said }),
            None => Ok(()),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        for child in &self.0 {
            let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
            // A group with nobody left is what we want; there is nothing to report.
            let _ = group.map(|group| kill_process_group(group, Signal::KILL));
        }
    }
}

/// Why a command is not what its document says.
#[derive(Debug)]
enum Fault {
    Slow,
    Ended { status: String, said: String },
    Unsaid { line: String, said: String },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Slow => write!(f, "took longer than {SECONDS_MAX} s"),
            Self::Ended { status, said } => write!(f, "ended with {status}:\n{said}"),
            Self::Unsaid { line, said } => write!(f, "did not say {line:?} there:\n{said}"),
        }
    }
}

/// Returns a shell for one command: a group of its own, a clean environment, a time limit.
fn shell(command: &str, home: &Path) -> Command {
    let programs = Path::new(env!("CARGO_BIN_EXE_clawhold")).parent();
    let mut path = vec![programs.expect("a program lies in a folder").to_path_buf()];
    path.extend(env::split_paths(&env::var_os("PATH").unwrap_or_default()));
    let path = env::join_paths(path).expect("each part came from a PATH");
    let mut shell = Command::new("timeout");
    shell.arg(SECONDS_MAX.to_string()).args(["sh", "-c", command]);
    shell.current_dir(home).env_clear();
    shell.env("PATH", path).env("HOME", home).env("LANG", "C.UTF-8").env("TERM", "dumb");
    shell.stdin(Stdio::null()).process_group(0);
    shell
}

/// Returns whether a line of output is what a document shows, `…` standing for any text.
fn fits(pattern: &str, line: &str) -> bool {
    let (pattern, line) = (pattern.trim_end(), line.trim_end());
    let Some((first, rest)) = pattern.split_once('…') else { return pattern == line };
    let Some(mut left) = line.strip_prefix(first) else { return false };
    let (middle, last) = rest.rsplit_once('…').unwrap_or(("", rest));
    for part in middle.split('…') {
        let Some((_, after)) = left.split_once(part) else { return false };
        left = after;
    }
    left.ends_with(last)
}

/// Returns the links of one document to files and folders of the repository that are not there.
fn dead_links(path: &str, text: &str, there: &[&str]) -> Vec<String> {
    let folder = Path::new(path).parent().unwrap_or(Path::new(""));
    let mut faults = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let links = line.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
        let files = links.map(|(link, _)| link.split('#').next().unwrap_or_default());
        for file in files.filter(|file| !file.is_empty() && !file.contains(':')) {
            let target = joined(folder, file);
            if !there.iter().any(|known| Path::new(known).starts_with(&target)) {
                let target = target.display();
                faults.push(format!("{path}:{number}: links to {target}, which is not there"));
            }
        }
    }
    faults
}

/// Returns where a link in a document of `folder` leads, from the root on.
fn joined(folder: &Path, link: &str) -> PathBuf {
    let mut joined = PathBuf::new();
    for part in folder.join(link).components() {
        match part {
            Component::ParentDir => _ = joined.pop(),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
            Component::Normal(name) => joined.push(name),
        }
    }
    joined
}
