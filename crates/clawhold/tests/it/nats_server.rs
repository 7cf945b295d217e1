//! NATS servers of the tests' own: one, or several that form a cluster, on folders and ports of
//! their own. They end with the test.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// How long a server may take to listen.
const PATIENCE: Duration = Duration::from_secs(60);
/// The account may ask the servers how they sync, as docs/engines-jetstream.md has it.
const ACCOUNTS: &str = r#"
    system_account: SYSTEM
    accounts {
      SYSTEM: {
        users: [{user: admin, password: admin-secret}]
        exports: [{service: "$SYS.REQ.SERVER.PING.VARZ", response_type: Stream}]
      }
      APP: {
        jetstream: enabled
        users: [{user: app, password: app-secret}]
        imports: [{service: {account: SYSTEM, subject: "$SYS.REQ.SERVER.PING.VARZ"}}]
      }
    }
"#;

/// One NATS server, or several that form a cluster. They end with the test.
#[derive(Debug)]
pub(crate) struct Nats {
    folder: TempDir,
    program: String,
    ports: Vec<u16>,
    children: Vec<Option<Child>>,
}

impl Nats {
    /// Starts so many servers; `sync` is a line of their set-up for JetStream.
    pub(crate) fn start(count: usize, sync: &str) -> Self {
        let folder = TempDir::new().unwrap();
        let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
        let script = above.map(|above| above.join("scripts/nats")).find(|script| script.exists());
        let found = Command::new(script.unwrap()).output().unwrap();
        assert!(found.status.success(), "{}", String::from_utf8_lossy(&found.stderr));
        let program = String::from_utf8(found.stdout).unwrap().trim().to_owned();
        let ports: Vec<u16> = (0..count).map(|_| free_port()).collect();
        let routed: Vec<u16> = (0..count).map(|_| free_port()).collect();
        let routes: Vec<String> =
            routed.iter().map(|port| format!("nats://127.0.0.1:{port}")).collect();
        for (place, port) in ports.iter().enumerate() {
            let files = folder.path().join(format!("n{place}"));
            let mut text = format!("server_name: n{place}\nlisten: 127.0.0.1:{port}\n");
            text.push_str(&format!("jetstream {{ store_dir: {files:?}, {sync} }}\n{ACCOUNTS}"));
            if count > 1 {
                let (own, routes) = (routed[place], routes.join(", "));
                text.push_str(&format!(
                    "cluster {{ name: C, listen: 127.0.0.1:{own}, routes: [{routes}], no_advertise: true }}\n"
                ));
            }
            fs::write(folder.path().join(format!("n{place}.conf")), text).unwrap();
        }
        let children = (0..count).map(|_| None).collect();
        let mut nats = Self { folder, program, ports, children };
        (0..count).for_each(|place| nats.run(place));
        nats
    }

    /// Returns the URL of a log on them.
    pub(crate) fn url(&self) -> String {
        Self::url_of(&self.ports)
    }

    /// Returns the URL of a log on servers that are dialled at these ports.
    pub(crate) fn url_of(ports: &[u16]) -> String {
        let hosts: Vec<String> = ports.iter().map(|port| format!("127.0.0.1:{port}")).collect();
        format!("nats://app:app-secret@{}", hosts.join(","))
    }

    /// Returns the port of each server.
    pub(crate) fn ports(&self) -> &[u16] {
        &self.ports
    }

    /// Returns the number of each process that runs.
    pub(crate) fn ids(&self) -> Vec<u32> {
        self.children.iter().flatten().map(Child::id).collect()
    }

    /// Returns the folder in which the only account of a server keeps its streams.
    pub(crate) fn streams(&self, place: usize) -> PathBuf {
        self.folder.path().join(format!("n{place}/jetstream/APP/streams"))
    }

    /// Starts a server that does not run, and waits until it listens.
    pub(crate) fn run(&mut self, place: usize) {
        let mut command = Command::new(&self.program);
        command.arg("-c").arg(self.folder.path().join(format!("n{place}.conf")));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.children[place] = Some(command.spawn().unwrap());
        let started = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.ports[place])).is_err() {
            assert!(started.elapsed() < PATIENCE, "NATS does not listen");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Kills a server as a crash of its process does.
    pub(crate) fn kill(&mut self, place: usize) {
        let Some(mut child) = self.children[place].take() else { return };
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        (0..self.children.len()).for_each(|place| self.kill(place));
    }
}

/// Returns a port that is free, below those that the system gives away by itself.
fn free_port() -> u16 {
    for _ in 0..1_000 {
        let port = fastrand::u16(15_000..32_000);
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
    panic!("no port is free")
}
