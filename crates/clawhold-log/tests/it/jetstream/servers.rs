//! NATS servers of a test's own: started, killed, paused and started again.

use std::fmt::Write as _;
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use clawhold_log::{JetStreamLog, LogError};
use tempfile::TempDir;

use crate::certificates::certify;

/// How long servers may take to be ready, and a cluster to agree.
const START_PATIENCE: Duration = Duration::from_secs(90);

/// How servers are set up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup {
    pub(crate) version: Version,
    pub(crate) sync: Sync,
    /// Whether the account may ask servers how they are set.
    pub(crate) tells: bool,
    /// Whether the user may do no more than the documentation says is needed.
    pub(crate) bounded: bool,
    pub(crate) encrypted: bool,
    pub(crate) max_payload_bytes: u64,
    pub(crate) store_bytes_max: u64,
}

/// Which release of the server runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    Pinned,
    Debian,
}

/// When a server syncs what it acknowledges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sync {
    Always,
    Later,
}

impl Default for Setup {
    fn default() -> Self {
        let (max_payload_bytes, store_bytes_max) = (1 << 20, 4 << 30);
        Self {
            version: Version::Pinned,
            sync: Sync::Always,
            tells: true,
            bounded: false,
            encrypted: false,
            max_payload_bytes,
            store_bytes_max,
        }
    }
}

/// One server, or several that form a cluster. They end with the test.
#[derive(Debug)]
pub(crate) struct Servers {
    directory: TempDir,
    binary: String,
    nodes: Vec<Node>,
}

#[derive(Debug)]
struct Node {
    port: u16,
    cluster_port: u16,
    configuration: PathBuf,
    child: Option<Child>,
}

impl Servers {
    /// Starts one server.
    pub(crate) fn one() -> Self {
        Self::with(1, Setup::default())
    }

    /// Starts three servers that form a cluster, and waits until they have agreed.
    pub(crate) fn three() -> Self {
        Self::with(3, Setup::default())
    }

    pub(crate) fn with(count: usize, setup: Setup) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let binary = binary(setup.version);
        if setup.encrypted {
            certify(directory.path());
        }
        let ports: Vec<(u16, u16)> = (0..count).map(|_| (free_port(), free_port())).collect();
        let mut servers = Self { directory, binary, nodes: Vec::new() };
        for (place, (port, cluster_port)) in ports.into_iter().enumerate() {
            let configuration = servers.directory.path().join(format!("n{place}.conf"));
            servers.nodes.push(Node { port, cluster_port, configuration, child: None });
        }
        servers.configure(setup);
        for place in 0..count {
            servers.start(place);
        }
        let agreed = if setup.sync == Sync::Always { "" } else { "&accept_loss_window=true" };
        if 1 < count {
            servers.until_open(&format!("{}{agreed}", servers.url("READY")));
        }
        servers
    }

    /// Returns the URL of a log on these servers.
    pub(crate) fn url(&self, stream: &str) -> String {
        let hosts: Vec<String> =
            self.nodes.iter().map(|node| format!("127.0.0.1:{}", node.port)).collect();
        format!("nats://app:app-secret@{}?stream={stream}", hosts.join(","))
    }

    /// Opens a log, as soon as the servers are ready for it.
    pub(crate) fn log(&self, stream: &str) -> JetStreamLog {
        self.until_open(&self.url(stream))
    }

    fn until_open(&self, url: &str) -> JetStreamLog {
        let started = Instant::now();
        loop {
            match open(url) {
                Ok(log) => return log,
                Err(error) if START_PATIENCE < started.elapsed() => {
                    panic!("{error:?}\n{}", self.said())
                }
                Err(_) => std::thread::sleep(Duration::from_millis(100)),
            }
        }
    }

    /// Starts a server that is not running, and waits until it listens.
    pub(crate) fn start(&mut self, place: usize) {
        let node = &mut self.nodes[place];
        let said = node.configuration.with_extension("said");
        let said = fs::File::options().create(true).append(true).open(said).unwrap();
        let mut command = Command::new(&self.binary);
        command.arg("-c").arg(&node.configuration).stdin(Stdio::null());
        command.stdout(said.try_clone().unwrap()).stderr(said);
        node.child = Some(command.spawn().unwrap());
        let started = Instant::now();
        while TcpStream::connect(("127.0.0.1", node.port)).is_err() {
            assert!(started.elapsed() < START_PATIENCE, "no server listens\n{}", self.said());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Kills a server as a crash of its process does.
    pub(crate) fn kill(&mut self, place: usize) {
        let mut child = self.nodes[place].child.take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Starts all servers again with another set-up.
    pub(crate) fn grow(&mut self, setup: Setup) {
        for place in 0..self.nodes.len() {
            self.kill(place);
        }
        self.configure(setup);
        for place in 0..self.nodes.len() {
            self.start(place);
        }
    }

    fn configure(&self, setup: Setup) {
        for place in 0..self.nodes.len() {
            let text = self.configuration(place, setup);
            fs::write(&self.nodes[place].configuration, text).unwrap();
        }
    }

    fn configuration(&self, place: usize, setup: Setup) -> String {
        let Node { port, cluster_port, .. } = &self.nodes[place];
        let directory = self.directory.path();
        let files = directory.join(format!("n{place}"));
        let Setup { max_payload_bytes, store_bytes_max, .. } = setup;
        let sync = if setup.sync == Sync::Always { "sync_interval: always" } else { "" };
        let (tell, hear) = if setup.tells {
            let varz = "$SYS.REQ.SERVER.PING.VARZ";
            (
                format!("exports: [{{service: \"{varz}\", response_type: Stream}}]"),
                format!("imports: [{{service: {{account: SYSTEM, subject: \"{varz}\"}}}}]"),
            )
        } else {
            (String::new(), String::new())
        };
        let rights = if setup.bounded { documented_rights("LOG") } else { String::new() };
        let mut text = format!(
            "server_name: n{place}
         listen: 127.0.0.1:{port}
         max_payload: {max_payload_bytes}
         jetstream {{ store_dir: {files:?}, max_file_store: {store_bytes_max}, {sync} }}
         system_account: SYSTEM
         accounts {{
           SYSTEM: {{ users: [{{user: admin, password: admin-secret}}]
             {tell} }}
           APP: {{ jetstream: enabled, users: [{{user: app, password: app-secret, {rights}}}]
             {hear} }}
         }}\n"
        );
        if setup.encrypted {
            let (cert, key) = (directory.join("server.pem"), directory.join("server.key"));
            writeln!(text, "tls {{ cert_file: {cert:?}, key_file: {key:?} }}").unwrap();
        }
        if 1 < self.nodes.len() {
            let routes =
                self.nodes.iter().map(|node| format!("nats://127.0.0.1:{}", node.cluster_port));
            let routes: Vec<String> = routes.collect();
            let routes = routes.join(", ");
            writeln!(
                text,
                "cluster {{ name: C, listen: 127.0.0.1:{cluster_port}, routes: [{routes}] }}"
            )
            .unwrap();
        }
        text
    }

    /// Stops a server in its tracks, or lets it go on.
    pub(crate) fn signal(&self, place: usize, signal: &str) {
        signal_process(self.nodes[place].child.as_ref().unwrap().id(), signal);
    }

    /// Returns which server leads the stream of a log's records.
    pub(crate) fn leader(&self, stream: &str) -> Option<usize> {
        let name = super::bench::leader(&self.url(stream), stream)?;
        name.strip_prefix('n')?.parse().ok()
    }

    /// Returns the file with the certificate that signed those of the servers.
    pub(crate) fn authority(&self) -> PathBuf {
        self.directory.path().join("ca.pem")
    }

    /// Returns how many servers there are.
    pub(crate) fn count(&self) -> usize {
        self.nodes.len()
    }

    /// Returns what the servers wrote, for the text of a failure.
    pub(crate) fn said(&self) -> String {
        let mut said = String::new();
        for node in &self.nodes {
            let text = fs::read_to_string(node.configuration.with_extension("said"));
            let text = text.unwrap_or_default();
            let tail: Vec<&str> = text.lines().rev().take(15).collect();
            for line in tail.iter().rev() {
                writeln!(said, "{}: {line}", node.port).unwrap();
            }
        }
        said
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        for node in &mut self.nodes {
            if let Some(child) = &mut node.child {
                let _ = child.kill();
                let _ = child.wait();
            }
        }
    }
}

/// Opens the log that a URL names, as the program does.
pub(crate) fn open(url: &str) -> Result<JetStreamLog, LogError> {
    let (scheme, rest) = url.split_once(':').unwrap();
    JetStreamLog::open(scheme, rest)
}

pub(crate) fn signal_process(id: u32, signal: &str) {
    let sent = Command::new("kill").arg(format!("-{signal}")).arg(id.to_string()).status();
    assert!(sent.unwrap().success(), "cannot send {signal} to {id}");
}

fn binary(version: Version) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/nats");
    let mut command = Command::new(script);
    if version == Version::Debian {
        command.arg("--old");
    }
    let output = command.stderr(Stdio::inherit()).output().unwrap();
    assert!(output.status.success(), "scripts/nats found no server, see above");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Returns a port that nobody listens on, below those that connections get by themselves.
fn free_port() -> u16 {
    for _ in 0..1000 {
        let port = fastrand::u16(15_000..32_000);
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
    panic!("no port is free");
}

/// Returns the rights that the documentation gives, for a log of another name.
fn documented_rights(stream: &str) -> String {
    let text = include_str!("../../../../../docs/engines-jetstream.md");
    let begin = text.find("permissions: {").unwrap();
    let end = begin + text[begin..].find("\n    }").unwrap() + "\n    }".len();
    text[begin..end].replace("CLAWHOLD", stream)
}
