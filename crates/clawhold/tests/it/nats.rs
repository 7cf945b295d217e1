//! Servers on a log in NATS JetStream, on NATS servers that the tests start themselves.

use std::collections::BTreeSet;
use std::fs;
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::failover::{Load, Member, same_state};
use crate::place::{PATIENCE, Place, free_port};

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

#[test]
fn a_drill_on_one_nats_server_keeps_every_promise_and_leaves_nothing_there() {
    let (nats, place) = (Nats::start(1, "sync_interval: always"), Place::new());
    drill(&place, &nats.url());
    let streams = nats.folder.path().join("n0/jetstream/APP/streams");
    let end = Instant::now() + PATIENCE;
    // The server takes what was removed from the disk when it has time, under a hidden name.
    loop {
        let left: Vec<_> = fs::read_dir(&streams).unwrap().flatten().collect();
        let names: Vec<_> = left.iter().map(|entry| entry.file_name()).collect();
        if names.is_empty() {
            break;
        }
        assert!(Instant::now() < end, "left there: {names:?}");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_drill_on_three_nats_servers_keeps_every_promise() {
    let (nats, place) = (Nats::start(3, "sync_interval: always"), Place::new());
    drill(&place, &nats.url());
}

#[test]
fn every_acknowledged_job_is_there_after_servers_and_a_nats_server_are_killed_under_load() {
    let (mut nats, place) = (Nats::start(3, "sync_interval: always"), Place::new());
    let store = nats.url();
    let mut active = Member::start_on(&place, Some(&store));
    active.wait_active();
    let mut accepted = BTreeSet::new();
    for round in 0..3 {
        let standby = Member::start_on(&place, Some(&store));
        let load = Load::start(&[&standby, &active]);
        load.wait_for(50);
        active.kill();
        load.wait_for_more(1);
        nats.kill(round);
        load.wait_for_more(20);
        nats.run(round);
        load.wait_for_more(20);
        accepted.extend(load.stop());
        active = standby;
    }
    assert_eq!(active.missing(&accepted), BTreeSet::new());
    let late = Member::start_on(&place, Some(&store));
    same_state(&late, &active);
}

#[test]
fn servers_that_confirm_before_they_sync_are_refused_unless_the_loss_is_accepted() {
    let (nats, place) = (Nats::start(1, ""), Place::new());
    let said = place.run(&format!("serve --listen 127.0.0.1:0 --store {}", nats.url()));
    assert_eq!(said.code, 1, "{}", said.err);
    assert!(said.err.contains("accept_loss_window=true"), "{}", said.err);
    assert!(!said.err.contains("app-secret"), "{}", said.err);
    let served = place.serve(&format!("--accept-loss-window --store {}", nats.url()));
    let said = place.run(&format!("job add mail --text hello --server {}", served.url));
    assert_eq!(said.code, 0, "{}", said.err);
    let said = place.run("serve --accept-loss-window --store sqlite:here.db");
    assert_eq!(said.code, 2, "{}", said.err);
    assert!(said.err.contains("is for a store in NATS"), "{}", said.err);
}

fn drill(place: &Place, store: &str) {
    for number in 0..12 {
        place.file(&format!("files/{number}"), "line\n".repeat(number * 1_000));
    }
    let said = place.run(&format!("drill files --seed 3 --json --store {store}"));
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
    assert_eq!(said.document()["ok"], true);
}

/// One NATS server, or several that form a cluster. They end with the test.
struct Nats {
    folder: TempDir,
    program: String,
    ports: Vec<u16>,
    children: Vec<Option<Child>>,
}

impl Nats {
    fn start(count: usize, sync: &str) -> Self {
        let folder = TempDir::new().unwrap();
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/nats");
        let found = Command::new(script).output().unwrap();
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
                    "cluster {{ name: C, listen: 127.0.0.1:{own}, routes: [{routes}] }}\n"
                ));
            }
            fs::write(folder.path().join(format!("n{place}.conf")), text).unwrap();
        }
        let children = (0..count).map(|_| None).collect();
        let mut nats = Self { folder, program, ports, children };
        (0..count).for_each(|place| nats.run(place));
        nats
    }

    fn url(&self) -> String {
        let hosts: Vec<String> =
            self.ports.iter().map(|port| format!("127.0.0.1:{port}")).collect();
        format!("nats://app:app-secret@{}", hosts.join(","))
    }

    fn run(&mut self, place: usize) {
        let mut command = Command::new(&self.program);
        command.arg("-c").arg(self.folder.path().join(format!("n{place}.conf")));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.children[place] = Some(command.spawn().unwrap());
        let started = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.ports[place])).is_err() {
            assert!(started.elapsed() < PATIENCE, "NATS does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn kill(&mut self, place: usize) {
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
