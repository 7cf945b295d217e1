//! A scratch home for the program, and transcripts of what it says there.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

use clawhold_client::Client;
use expect_test::Expect;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// The program.
pub(crate) const CLAWHOLD: &str = env!("CARGO_BIN_EXE_clawhold");
/// The program under its other name.
pub(crate) const OPENCLAW: &str = env!("CARGO_BIN_EXE_openclaw");
/// How long anything in these tests may take before it counts as stuck.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A scratch home: every command in it works on the store below it and sees no other.
pub(crate) struct Place {
    folder: TempDir,
}

/// What a command came to.
pub(crate) struct Said {
    /// Standard output.
    pub(crate) out: String,
    /// Standard error.
    pub(crate) err: String,
    /// The exit code.
    pub(crate) code: i32,
}

/// A server that runs until it is dropped.
pub(crate) struct Served {
    child: Child,
    /// Its URL.
    pub(crate) url: String,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { folder: TempDir::new().unwrap() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file and returns its path.
    pub(crate) fn file(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// Writes a program that a shell runs.
    pub(crate) fn script(&self, name: &str, text: &str) -> PathBuf {
        let path = self.file(name, text);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// Returns a command with nothing in its environment but this home.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("HOME", self.path())
            .env("PATH", "/usr/bin:/bin")
            .current_dir(self.path())
            .stdin(Stdio::null());
        command
    }

    /// Runs a line, split at spaces outside of quotes.
    pub(crate) fn run(&self, line: &str) -> Said {
        self.run_with(line, "")
    }

    /// Runs a line with something on its standard input.
    pub(crate) fn run_with(&self, line: &str, input: impl AsRef<[u8]>) -> Said {
        let mut command = self.command(CLAWHOLD);
        command.args(split(line));
        said(command, input.as_ref())
    }

    /// Runs a line that must do well, and returns its document.
    pub(crate) fn json(&self, line: &str) -> serde_json::Value {
        let said = self.run(&format!("{line} --json"));
        assert_eq!(said.code, 0, "{line}\n{}{}", said.out, said.err);
        said.document()
    }

    /// Runs lines and compares what they say, with what differs from run to run masked.
    pub(crate) fn check(&self, lines: &str, expected: Expect) {
        let mut transcript = String::new();
        for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let said = self.run(line);
            transcript.push_str(&format!("$ clawhold {line}\n{}", said.out));
            for line in said.err.lines() {
                transcript.push_str(&format!("! {line}\n"));
            }
            if said.code != 0 {
                transcript.push_str(&format!("[{}]\n", said.code));
            }
        }
        expected.assert_eq(&self.mask(&transcript));
    }

    /// Masks moments, ports, this place and what is left of a time.
    pub(crate) fn mask(&self, text: &str) -> String {
        let text = text.replace(self.path().canonicalize().unwrap().to_str().unwrap(), "HOME");
        let text = text.replace(self.path().to_str().unwrap(), "HOME");
        let text = mask_after(&text, "http://127.0.0.1:", "PORT");
        let text = mask_after(&text, "\"left_ms\":", "N");
        let text = mask_after(&text, "\"silent_ms\":", "N");
        let text = mask_after(&text, "\"position\":", "N");
        let text = mask_after(&text, "at position ", "N");
        mask_moments(&text)
    }

    /// Starts a server on this place's store.
    pub(crate) fn serve(&self, more: &str) -> Served {
        let mut command = self.command(CLAWHOLD);
        command.args(["serve", "--listen", "127.0.0.1:0", "--json"]).args(split(more));
        Served::start(command)
    }
}

impl Said {
    /// Returns the one document on standard output.
    pub(crate) fn document(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {:?}", self.out))
    }
}

impl Served {
    /// Starts a server and waits until it says where it is and takes requests.
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let started: serde_json::Value = serde_json::from_str(&line).unwrap();
        let url = started["url"].as_str().unwrap().to_owned();
        let served = Self { child, url };
        let end = Instant::now() + PATIENCE;
        while !block_on(served.client().is_active(PATIENCE)).unwrap_or(false) {
            assert!(Instant::now() < end, "{} never became active", served.url);
            thread::sleep(Duration::from_millis(20));
        }
        served
    }

    pub(crate) fn client(&self) -> Client {
        Client::connect(&[&self.url], None).unwrap()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// Waits until the server has ended and returns its exit code.
    pub(crate) fn end(mut self) -> Option<i32> {
        wait(&mut self.child)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits for a process to end, within the patience of these tests.
pub(crate) fn wait(child: &mut Child) -> Option<i32> {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        assert!(Instant::now() < end, "process {} does not end", child.id());
        thread::sleep(Duration::from_millis(10));
    }
}

/// Runs a command to its end.
pub(crate) fn said(mut command: Command, input: &[u8]) -> Said {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = thread::spawn(move || {
        // A command that needs no input may be gone before it has all.
        let _ = stdin.write_all(&input);
    });
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    writer.join().unwrap();
    Said {
        out: String::from_utf8(stdout).unwrap(),
        err: String::from_utf8(stderr).unwrap(),
        code: status.code().unwrap_or(-1),
    }
}

/// Runs one call of a client.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(future)
}

/// Returns a port on which nobody listens.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Reads lines of a running command until one contains `text`.
pub(crate) fn read_until(reader: &mut impl Read, text: &str) -> String {
    let mut all = String::new();
    for line in BufReader::new(reader).lines() {
        let line = line.unwrap();
        all.push_str(&line);
        all.push('\n');
        if line.contains(text) {
            return all;
        }
    }
    panic!("{text:?} never came:\n{all}");
}

/// Splits a line as a shell would, with single quotes.
pub(crate) fn split(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (number, part) in line.split('\'').enumerate() {
        if number % 2 == 0 {
            words.extend(part.split_whitespace().map(str::to_owned));
        } else {
            words.push(part.to_owned());
        }
    }
    words
}

fn mask_after(text: &str, mark: &str, mask: &str) -> String {
    let mut parts = text.split(mark);
    let mut masked = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        masked.push_str(mark);
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
        if rest.len() < part.len() {
            masked.push_str(mask);
        }
        masked.push_str(rest);
    }
    masked
}

/// Masks every `2026-11-30T16:00:00.000Z`.
fn mask_moments(text: &str) -> String {
    const SHAPE: &[u8] = b"0000-00-00T00:00:00.000Z";
    let bytes = text.as_bytes();
    let fits = |at: usize| {
        bytes.get(at..at + SHAPE.len()).is_some_and(|some| {
            some.iter()
                .zip(SHAPE)
                .all(|(b, s)| if *s == b'0' { b.is_ascii_digit() } else { b == s })
        })
    };
    let mut masked = String::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        if fits(at) {
            masked.push_str("MOMENT");
            at += SHAPE.len();
        } else {
            masked.push(c);
            at += c.len_utf8();
        }
    }
    masked
}
