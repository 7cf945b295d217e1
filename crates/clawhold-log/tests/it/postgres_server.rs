//! A PostgreSQL server of the tests' own: Debian's programs on a folder and a port of its own.
//!
//! It keeps what it confirms as in production. It ends with whoever started it.

use std::fs;
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The database's user.
const USER: &str = "clawhold";
/// The user's password, as the URLs have it.
const PASSWORD: &str = "a pass/word";
const PATIENCE: Duration = Duration::from_secs(60);

/// A running server.
#[derive(Debug)]
pub(crate) struct Server {
    folder: PathBuf,
    port: u16,
    child: Child,
}

impl Server {
    /// Makes a database in `folder`, which must be empty, and starts a server on it. `settings`
    /// are lines of `postgresql.conf`.
    pub(crate) fn start(folder: &Path, settings: &str) -> Self {
        let identity = identity();
        std::os::unix::fs::chown(folder, Some(identity.0), Some(identity.1)).unwrap();
        let password = folder.join("password");
        fs::write(&password, PASSWORD).unwrap();
        std::os::unix::fs::chown(&password, Some(identity.0), Some(identity.1)).unwrap();
        let made = program("initdb", folder)
            .args(["--no-sync", "--no-instructions", "--auth-local=trust"])
            .args(["--auth-host=scram-sha-256", "--encoding=UTF8", "--no-locale", "-U", USER])
            .arg("--pwfile")
            .arg(&password)
            .arg("-D")
            .arg(folder.join("data"))
            .output()
            .unwrap();
        assert!(made.status.success(), "initdb: {}", String::from_utf8_lossy(&made.stderr));
        let port = free_port();
        let usual = format!(
            "port = {port}\nlisten_addresses = '127.0.0.1'\nunix_socket_directories = '{}'\n\
             shared_buffers = 32MB\nmax_connections = 200\n{settings}\n",
            folder.display()
        );
        let conf = folder.join("data/postgresql.conf");
        let before = fs::read_to_string(&conf).unwrap();
        fs::write(&conf, before + &usual).unwrap();
        let child = spawn(folder);
        let server = Self { folder: folder.to_owned(), port, child };
        server.wait();
        server
    }

    /// Returns the URL of a log in `schema`.
    pub(crate) fn url(&self, schema: &str) -> String {
        url(self.port, schema)
    }

    /// Returns the port.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Kills the server and all its processes as a loss of power does, but for the disk.
    pub(crate) fn kill(&mut self) {
        let postmaster = self.child.id().to_string();
        // Its children end by themselves once it is gone; SIGKILL them so that none says goodbye.
        let family = Command::new("pkill").args(["-KILL", "-P", &postmaster]).status();
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        drop(family);
    }

    /// Starts it again on the same folder and port.
    pub(crate) fn restart(&mut self) {
        let lock = self.folder.join("data/postmaster.pid");
        let since = Instant::now();
        loop {
            // The last of the killed processes may still hold the shared memory.
            let _ = fs::remove_file(&lock);
            self.child = spawn(&self.folder);
            if self.comes_up() {
                return;
            }
            assert!(since.elapsed() < PATIENCE, "PostgreSQL does not come back: {}", self.said());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Starts a server that copies this one, in the empty `folder`.
    pub(crate) fn replica(&self, folder: &Path) -> Self {
        let (user, group) = identity();
        std::os::unix::fs::chown(folder, Some(user), Some(group)).unwrap();
        let source = self.port.to_string();
        let copied = program("pg_basebackup", folder)
            .args(["-U", USER, "-p", &source, "-R", "--checkpoint=fast", "--no-sync", "-h"])
            .arg(&self.folder)
            .arg("-D")
            .arg(folder.join("data"))
            .output()
            .unwrap();
        assert!(copied.status.success(), "{}", String::from_utf8_lossy(&copied.stderr));
        let port = free_port();
        let conf = folder.join("data/postgresql.conf");
        let before = fs::read_to_string(&conf).unwrap();
        let own = format!("port = {port}\nunix_socket_directories = '{}'\n", folder.display());
        fs::write(&conf, before + &own).unwrap();
        let replica = Self { folder: folder.to_owned(), port, child: spawn(folder) };
        replica.wait();
        replica
    }

    /// Runs a statement as the database's owner and returns what it says.
    pub(crate) fn sql(&self, sql: &str) -> String {
        sql_on(&self.folder, self.port, sql)
    }

    /// Replaces the rules of who may connect how.
    pub(crate) fn admit(&self, rules: &str) {
        fs::write(self.folder.join("data/pg_hba.conf"), rules).unwrap();
        self.sql("SELECT pg_reload_conf()");
    }

    fn wait(&self) {
        let since = Instant::now();
        while !answers(&self.folder, self.port) {
            assert!(since.elapsed() < PATIENCE, "PostgreSQL does not start: {}", self.said());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn comes_up(&mut self) -> bool {
        let since = Instant::now();
        while since.elapsed() < PATIENCE {
            if self.child.try_wait().unwrap().is_some() {
                return false;
            }
            if answers(&self.folder, self.port) {
                return true;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        false
    }

    fn said(&self) -> String {
        fs::read_to_string(self.folder.join("said")).unwrap_or_default()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It has ended already when a test killed it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the URL of a log in `schema` of the server on `port`.
pub(crate) fn url(port: u16, schema: &str) -> String {
    let password = PASSWORD.replace(' ', "%20").replace('/', "%2F");
    format!("postgres://{USER}:{password}@127.0.0.1:{port}/postgres?schema={schema}")
}

/// Runs a statement on a server through its socket.
pub(crate) fn sql_on(folder: &Path, port: u16, sql: &str) -> String {
    let port = port.to_string();
    let mut psql = Command::new(programs().join("psql"));
    psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-U", USER, "-d", "postgres"]);
    let said = psql.arg("-h").arg(folder).args(["-p", &port, "-c", sql]).output().unwrap();
    assert!(said.status.success(), "{sql}: {}", String::from_utf8_lossy(&said.stderr));
    String::from_utf8(said.stdout).unwrap().trim().to_owned()
}

/// Tells whether a server takes statements.
pub(crate) fn answers(folder: &Path, port: u16) -> bool {
    let port = port.to_string();
    let mut ready = Command::new(programs().join("pg_isready"));
    ready.arg("-q").arg("-h").arg(folder).args(["-p", &port]);
    ready.stdout(Stdio::null()).status().is_ok_and(|status| status.success())
}

fn spawn(folder: &Path) -> Child {
    let said = fs::File::create(folder.join("said")).unwrap();
    let mut server = program("postgres", folder);
    server.arg("-D").arg(folder.join("data"));
    server.stdin(Stdio::null()).stdout(Stdio::null()).stderr(said).process_group(0);
    server.spawn().unwrap()
}

/// Returns a command of PostgreSQL, under a user that it accepts. It dies with this process.
fn program(name: &str, folder: &Path) -> Command {
    let mut command = Command::new("setpriv");
    command.current_dir(folder).args(["--pdeathsig", "KILL"]);
    if rustix::process::geteuid().is_root() {
        // PostgreSQL refuses to run as root.
        let (user, group) = identity();
        command.arg(format!("--reuid={user}")).arg(format!("--regid={group}"));
        command.arg("--clear-groups");
    }
    command.arg(programs().join(name));
    command
}

/// Returns the user and group under which PostgreSQL runs here.
pub(crate) fn identity() -> (u32, u32) {
    let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
    if !user.is_root() {
        return (user.as_raw(), group.as_raw());
    }
    let of = |flag: &str| {
        let said = Command::new("id").args([flag, "postgres"]).output().ok()?;
        String::from_utf8(said.stdout).ok()?.trim().parse().ok()
    };
    (of("-u").unwrap_or(65_534), of("-g").unwrap_or(65_534))
}

/// Returns the folder with PostgreSQL's programs, the newest version's.
fn programs() -> PathBuf {
    let mut found: Vec<(u32, PathBuf)> = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let version = entry.file_name().to_str()?.parse().ok()?;
            let programs = entry.path().join("bin");
            programs.join("postgres").exists().then_some((version, programs))
        })
        .collect();
    found.sort();
    let newest = found.pop().map(|(_, programs)| programs);
    newest.expect("this test needs a PostgreSQL server: apt-get install postgresql")
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
