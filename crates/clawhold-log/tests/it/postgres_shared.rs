//! One PostgreSQL server for all tests of this program, whichever of its processes come and go.
//!
//! The first that needs it starts a keeper: this program again, which starts the server, and stops
//! it once no test has used it for a while.

use std::fs::{self, File, OpenOptions};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::postgres_server::{Server, answers, sql_on, url};

const FOLDER_VARIABLE: &str = "CLAWHOLD_LOG_TEST_POSTGRES";
const KEEPER_TEST: [&str; 3] = ["--exact", "postgres_shared::the_keeper_process", "--nocapture"];
const PATIENCE: Duration = Duration::from_secs(60);
/// How long the server stays without a test that uses it.
const IDLE: Duration = Duration::from_secs(8);

/// The server that all tests share.
#[derive(Debug)]
pub(crate) struct Shared {
    folder: PathBuf,
    port: u16,
    /// Held as long as this process lives: the server is in use.
    _user: File,
}

/// A schema of its own on the shared server.
#[derive(Debug)]
pub(crate) struct Schema {
    server: &'static Shared,
    name: String,
}

impl Schema {
    /// Returns a schema that nobody has used.
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let (process, count) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let draw = fastrand::u32(..);
        Self { server: Shared::get(), name: format!("test_{process}_{count}_{draw}") }
    }

    /// Returns the name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the URL of the log in it.
    pub(crate) fn url(&self) -> String {
        url(self.server.port, &self.name)
    }

    /// Runs a statement as the database's owner; `@` stands before the names in this schema.
    pub(crate) fn sql(&self, sql: &str) -> String {
        let sql = sql.replace('@', &format!("{}.", self.name));
        sql_on(&self.server.folder, self.server.port, &sql)
    }
}

impl Drop for Schema {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.sql(&format!("DROP SCHEMA IF EXISTS {} CASCADE", self.name));
        }
    }
}

impl Shared {
    fn get() -> &'static Self {
        static SERVER: OnceLock<Shared> = OnceLock::new();
        SERVER.get_or_init(Self::find)
    }

    fn find() -> Self {
        let base = base();
        fs::create_dir_all(&base).unwrap();
        let user = lock_file(&base, "users");
        user.lock_shared().unwrap();
        let starting = lock_file(&base, "starting");
        starting.lock().unwrap();
        let found = ready(&base).unwrap_or_else(|| start_keeper(&base));
        Self { folder: found.0, port: found.1, _user: user }
    }
}

#[test]
fn the_keeper_process() {
    let Some(base) = std::env::var_os(FOLDER_VARIABLE).map(PathBuf::from) else { return };
    let scratch = tempfile::Builder::new().prefix("clawhold-postgres-").tempdir().unwrap();
    let server = Server::start(scratch.path(), "");
    let text = format!("{}\n{}", server.port(), scratch.path().display());
    let written = base.join("ready.new");
    fs::write(&written, text).unwrap();
    fs::rename(&written, base.join("ready")).unwrap();
    let users = lock_file(&base, "users");
    let mut used = Instant::now();
    loop {
        std::thread::sleep(Duration::from_millis(500));
        if users.try_lock().is_err() {
            used = Instant::now();
            continue;
        }
        if IDLE < used.elapsed() {
            // Whoever comes next waits for the lock, and finds that nothing is ready.
            fs::remove_file(base.join("ready")).unwrap();
            return;
        }
        users.unlock().unwrap();
    }
}

/// Returns the folder that says where the server is. Each build of this program has its own.
fn base() -> PathBuf {
    let executable = std::env::current_exe().unwrap();
    let name: String = executable.file_name().unwrap().to_string_lossy().into_owned();
    let user = rustix::process::geteuid().as_raw();
    std::env::temp_dir().join(format!("clawhold-tests-{user}-{name}"))
}

fn lock_file(base: &Path, name: &str) -> File {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true).open(base.join(name)).unwrap()
}

fn ready(base: &Path) -> Option<(PathBuf, u16)> {
    let text = fs::read_to_string(base.join("ready")).ok()?;
    let (port, folder) = text.split_once('\n')?;
    let (folder, port) = (PathBuf::from(folder), port.parse().ok()?);
    answers(&folder, port).then_some((folder, port))
}

fn start_keeper(base: &Path) -> (PathBuf, u16) {
    let _ = fs::remove_file(base.join("ready"));
    let said = File::create(base.join("said")).unwrap();
    let mut keeper = Command::new(std::env::current_exe().unwrap());
    keeper.args(KEEPER_TEST).env(FOLDER_VARIABLE, base).process_group(0);
    let errors = said.try_clone().unwrap();
    #[expect(clippy::zombie_processes, reason = "it outlives this process, which reaps nobody")]
    let mut child = keeper.stdin(Stdio::null()).stdout(said).stderr(errors).spawn().unwrap();
    let since = Instant::now();
    loop {
        if let Some(found) = ready(base) {
            return found;
        }
        let ended = child.try_wait().unwrap().is_some();
        if ended || PATIENCE < since.elapsed() {
            panic!("no PostgreSQL: {}", fs::read_to_string(base.join("said")).unwrap());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
