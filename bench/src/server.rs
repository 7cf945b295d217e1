//! A real server as a child process, and what it costs.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A running server and the folder with its store.
#[derive(Debug)]
pub struct Server {
    child: Child,
    program: PathBuf,
    folder: tempfile::TempDir,
    store: String,
    /// The port it listens on.
    pub port: u16,
}

impl Server {
    /// Starts a server on an empty store.
    ///
    /// # Errors
    /// When it does not answer within 30 seconds.
    pub fn start(program: &Path) -> io::Result<Self> {
        Self::start_on(program, None)
    }

    /// Starts a server on the store that a URL names, or on a file of its own.
    ///
    /// # Errors
    /// When it does not answer within 30 seconds.
    pub fn start_on(program: &Path, store: Option<&str>) -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("clawhold-bench").tempdir()?;
        let own = || format!("sqlite:{}", folder.path().join("store.db").display());
        let store = store.map_or_else(own, str::to_owned);
        let port = free_port()?;
        let child = spawn(program, folder.path(), &store, port)?;
        let server = Self { child, program: program.to_owned(), folder, store, port };
        server.wait_ready(Duration::from_secs(30))?;
        Ok(server)
    }

    /// Ends the process at once (as `kill -9` does) or in good order, starts another on the same
    /// store, and returns how long it took until that one was ready.
    ///
    /// # Errors
    /// When it does not answer within two minutes.
    pub fn restart(&mut self, gently: bool) -> io::Result<Duration> {
        if gently {
            let pid = rustix::process::Pid::from_child(&self.child);
            rustix::process::kill_process(pid, rustix::process::Signal::TERM)?;
        } else {
            self.child.kill()?;
        }
        self.child.wait()?;
        let started = Instant::now();
        self.child = spawn(&self.program, self.folder.path(), &self.store, self.port)?;
        self.wait_ready(Duration::from_secs(120))?;
        Ok(started.elapsed())
    }

    /// Returns the URL of the server.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Returns the folder with its store and its log.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the seconds of processor time it has used.
    #[must_use]
    pub fn cpu_seconds(&self) -> f64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()));
        let stat = stat.unwrap_or_default();
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
        let ticks = |at: usize| fields.get(at).and_then(|f| f.parse::<f64>().ok()).unwrap_or(0.0);
        (ticks(11) + ticks(12)) / 100.0
    }

    /// Returns the bytes of memory it holds.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let status = status.unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        kib.unwrap_or(0) * 1_024
    }

    /// Returns how many snapshots it has stored.
    #[must_use]
    pub fn snapshots(&self) -> usize {
        let log = std::fs::read_to_string(self.folder.path().join("server.log"));
        log.unwrap_or_default().matches("a snapshot was stored").count()
    }

    fn wait_ready(&self, patience: Duration) -> io::Result<()> {
        let started = Instant::now();
        loop {
            if is_ready(self.port) {
                return Ok(());
            }
            if started.elapsed() > patience {
                return Err(io::Error::other("the server is not ready"));
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn spawn(program: &Path, folder: &Path, store: &str, port: u16) -> io::Result<Child> {
    let log = std::fs::File::create(folder.join("server.log"))?;
    Command::new(program)
        .args(["serve", "--listen", &format!("127.0.0.1:{port}"), "--store", store])
        .env("HOME", folder)
        .env("XDG_STATE_HOME", folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
}

fn is_ready(port: u16) -> bool {
    use std::io::{Read, Write};
    let Ok(mut stream) = std::net::TcpStream::connect(("127.0.0.1", port)) else { return false };
    let ask = b"GET /readyz HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n";
    let mut answer = String::new();
    let asked = stream.write_all(ask).and_then(|()| stream.read_to_string(&mut answer));
    asked.is_ok() && answer.starts_with("HTTP/1.1 200")
}

fn free_port() -> io::Result<u16> {
    // Below the range from which the kernel draws, so that no client takes it meanwhile.
    for _ in 0..100 {
        let port = fastrand::u16(20_000..32_000);
        if std::net::TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return Ok(port);
        }
    }
    Err(io::Error::other("no free port"))
}
