//! Where to find the server and the store: flag, then environment, then config file, then the
//! default.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::duration::{Bounds, Span};
use crate::exit::Exit;
use crate::failure::Failure;

/// Bytes of a config file.
const CONFIG_BYTES_MAX: u64 = 64 * 1_024;
/// Bytes of a token file.
const TOKEN_BYTES_MAX: u64 = 4 * 1_024;
/// How long a command may try.
const PATIENCE: Bounds = Bounds { min: Span(100), max: Span(3_600_000) };
/// Engines that keep a store.
const ENGINES: [&str; 6] = ["sqlite", "postgres", "postgresql", "nats", "tls", "memory"];
/// Servers that may be named.
const SERVERS_MAX: usize = 16;

/// What the flags of every command say about where to go.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Place {
    /// A server's URL; give several with commas or by repeating
    #[arg(
        long,
        global = true,
        value_name = "URL",
        value_delimiter = ',',
        conflicts_with = "store"
    )]
    pub(crate) server: Vec<String>,
    /// The store to work on when no server is named, as sqlite:PATH or postgres://…
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) store: Option<String>,
    /// A file with the token to show to the server
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// How long to try while no server answers; 10s when absent, 30s for what runs on
    #[arg(long, global = true, value_name = "DURATION", allow_hyphen_values = true, value_parser = PATIENCE.parser())]
    pub(crate) patience: Option<Span>,
}

/// Where to go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// These servers.
    Servers(Vec<String>),
    /// This store, by whichever server runs on it.
    Store(String),
}

/// Where to go, as flags, environment, config file and defaults say together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Config {
    /// Where.
    pub(crate) target: Target,
    /// The file with the token to show.
    pub(crate) token_file: Option<PathBuf>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    server: Option<Servers>,
    store: Option<String>,
    token_file: Option<PathBuf>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "a URL or a list of URLs")]
enum Servers {
    One(String),
    Many(Vec<String>),
}

impl Config {
    /// Reads the environment and the config file below the flags in `place`.
    ///
    /// Of server and store, the one that is named at the highest level counts; at one level the
    /// server does.
    ///
    /// # Errors
    /// When the file cannot be read or says what it may not, or a variable is empty.
    pub(crate) fn load(place: &Place) -> Result<Self, Failure> {
        let file = read_file()?;
        let env_token = variable("CLAWHOLD_TOKEN_FILE")?.map(PathBuf::from);
        let token_file = place.token_file.clone().or(env_token).or(file.token_file.clone());
        for level in levels(place, file)? {
            if let Some(servers) = level.servers {
                return Ok(Self { target: Target::Servers(check(servers)?), token_file });
            }
            if let Some(store) = level.store {
                return Ok(Self { target: Target::Store(absolute(&store)?), token_file });
            }
        }
        Ok(Self { target: Target::Store(default_store()?), token_file })
    }

    /// Returns the store alone, whatever servers are named: for a server itself.
    ///
    /// # Errors
    /// As [`Config::load`].
    pub(crate) fn load_store(place: &Place) -> Result<String, Failure> {
        let levels = levels(place, read_file()?)?;
        match levels.into_iter().find_map(|level| level.store) {
            Some(store) => absolute(&store),
            None => default_store(),
        }
    }

    /// Reads the token, if a file was named.
    ///
    /// # Errors
    /// When the file cannot be read or holds no token.
    pub(crate) fn token(&self) -> Result<Option<String>, Failure> {
        let Some(path) = &self.token_file else { return Ok(None) };
        let text = read(path, TOKEN_BYTES_MAX, "token file");
        let text = text.map_err(|failure| {
            failure.next("check --token-file, CLAWHOLD_TOKEN_FILE and token_file")
        })?;
        let token = text.trim();
        if token.is_empty() || token.bytes().any(|byte| !byte.is_ascii_graphic()) {
            let text = format!("the token file {path:?} holds no token");
            return Err(Failure::usage(text)
                .next("write the secret alone into it, as `clawhold token new` shows it"));
        }
        Ok(Some(token.to_owned()))
    }
}

/// What one level says: the flags, the environment or the config file.
struct Level {
    servers: Option<Vec<String>>,
    store: Option<String>,
}

fn levels(place: &Place, file: File) -> Result<[Level; 3], Failure> {
    let flags = Some(place.server.clone()).filter(|servers| !servers.is_empty());
    let listed = file.server.map(|servers| match servers {
        Servers::One(list) => split(&list),
        Servers::Many(list) => list,
    });
    Ok([
        Level { servers: flags, store: place.store.clone() },
        Level {
            servers: text("CLAWHOLD_SERVER")?.map(|list| split(&list)),
            store: text("CLAWHOLD_STORE")?,
        },
        Level { servers: listed, store: file.store },
    ])
}

fn default_store() -> Result<String, Failure> {
    let path = state_folder()?.join("clawhold.db");
    let path = path.to_str().ok_or_else(|| {
        Failure::usage(format!("the path {path:?} of the store is no UTF-8"))
            .next("give --store sqlite:PATH")
    })?;
    absolute(&format!("sqlite:{path}"))
}

/// Returns the store's URL with an absolute path, so that a server and its callers name it alike
/// wherever they were started.
pub(crate) fn absolute(store: &str) -> Result<String, Failure> {
    let scheme = store.split_once(':').map_or("", |(scheme, _)| scheme);
    if !ENGINES.contains(&scheme) {
        // The rest is not repeated: it may hold a password.
        return Err(Failure::usage(format!("the store names the engine {scheme:?}"))
            .next("write it as sqlite:PATH, postgres://USER@HOST/DATABASE or nats://HOST"));
    }
    let Some(path) = store.strip_prefix("sqlite:") else { return Ok(store.to_owned()) };
    let path = path.strip_prefix("//").unwrap_or(path);
    if path.is_empty()
        || path == ":memory:"
        || (store.starts_with("sqlite://") && !path.starts_with('/'))
    {
        return Ok(store.to_owned());
    }
    let full = std::path::absolute(path).map_err(|error| {
        Failure::usage(format!("cannot find the store {store:?}")).because(&error)
    })?;
    let folder = full.parent().and_then(|folder| folder.canonicalize().ok());
    let full = match (folder, full.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        _ => full,
    };
    let full = full
        .to_str()
        .ok_or_else(|| Failure::usage(format!("the path {full:?} of the store is no UTF-8")))?;
    Ok(format!("sqlite:{full}"))
}

/// Makes the folder of a store, if it is missing.
pub(crate) fn make_folder(store: &str) -> Result<(), Failure> {
    let Some(path) = store.strip_prefix("sqlite:") else { return Ok(()) };
    let Some(folder) = Path::new(path).parent().filter(|folder| folder.is_absolute()) else {
        return Ok(());
    };
    fs::create_dir_all(folder).map_err(|error| {
        Failure::failed(format!("cannot make the folder {folder:?} for the store"))
            .because(&error)
            .next("give --store sqlite:PATH with a folder that can be written")
    })
}

/// Refuses a store that was named and is not there, for a command that only reads: with a mistyped
/// path it would make a new store and find it empty. The default store need not be there yet.
pub(crate) fn check_there(store: &str) -> Result<(), Failure> {
    let Some(path) = store.strip_prefix("sqlite:") else { return Ok(()) };
    let is_missing = Path::new(path)
        .symlink_metadata()
        .is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound);
    if !is_missing || default_store().is_ok_and(|usual| usual == store) {
        return Ok(());
    }
    let text = format!("there is no store at {path:?}, and a command that only reads makes none");
    Err(Failure::new(Exit::NotFound, "no_store", text)
        .next("check --store, CLAWHOLD_STORE and the config file; `clawhold serve` makes a store"))
}

fn read_file() -> Result<File, Failure> {
    let Some(folder) = xdg("XDG_CONFIG_HOME", ".config") else { return Ok(File::default()) };
    let path = folder.join("clawhold").join("config.toml");
    if let Err(error) = path.metadata()
        && error.kind() == std::io::ErrorKind::NotFound
    {
        return Ok(File::default());
    }
    let text = read(&path, CONFIG_BYTES_MAX, "config file")?;
    toml::from_str(&text).map_err(|error: toml::de::Error| {
        let line = error.span().map_or(1, |span| 1 + text[..span.start].matches('\n').count());
        Failure::usage(format!("the config file {path:?} line {line}: {}", error.message()))
            .next("its keys are server, store and token_file")
    })
}

fn read(path: &Path, bytes_max: u64, what: &str) -> Result<String, Failure> {
    let cannot = |error: std::io::Error| {
        Failure::usage(format!("cannot read the {what} {path:?}")).because(&error)
    };
    // A device says that it has no bytes, so what is read is bounded as well.
    let file = fs::File::open(path).map_err(cannot)?;
    let mut text = String::new();
    file.take(bytes_max.saturating_add(1)).read_to_string(&mut text).map_err(cannot)?;
    if bytes_max < text.len() as u64 {
        let text = format!("the {what} {path:?} has more than {bytes_max} bytes");
        return Err(Failure::usage(text));
    }
    Ok(text)
}

/// Returns a variable. An empty one is an error: it is a mistake, never a wish.
fn variable(name: &str) -> Result<Option<OsString>, Failure> {
    match env::var_os(name) {
        Some(value) if value.is_empty() => {
            Err(Failure::usage(format!("the variable {name} is empty"))
                .next(format!("unset {name} or give it a value")))
        }
        value => Ok(value),
    }
}

fn text(name: &str) -> Result<Option<String>, Failure> {
    let Some(value) = variable(name)? else { return Ok(None) };
    let text = value.into_string();
    text.map(Some).map_err(|value| {
        Failure::usage(format!("the variable {name} is {value:?}, which is no UTF-8"))
    })
}

fn split(list: &str) -> Vec<String> {
    list.split(',').map(|url| url.trim().to_owned()).collect()
}

fn check(servers: Vec<String>) -> Result<Vec<String>, Failure> {
    if servers.is_empty() || servers.len() > SERVERS_MAX {
        let count = servers.len();
        return Err(Failure::usage(format!(
            "{count} servers are named, allowed is 1 to {SERVERS_MAX}"
        )));
    }
    for url in &servers {
        let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
        let fits = rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/'))
            && url.bytes().all(|byte| byte.is_ascii_graphic());
        if !fits {
            return Err(Failure::usage(format!("the server {url:?} is no URL"))
                .next("write it as http://127.0.0.1:7717"));
        }
    }
    Ok(servers)
}

/// Returns the folder in which this program keeps what it has to remember.
///
/// # Errors
/// When no variable says where.
pub(crate) fn state_folder() -> Result<PathBuf, Failure> {
    let folder = xdg("XDG_STATE_HOME", ".local/state").ok_or_else(|| {
        Failure::usage("neither XDG_STATE_HOME nor HOME says where to keep the store")
            .next("give --store sqlite:PATH")
    })?;
    Ok(folder.join("clawhold"))
}

/// Returns a folder as the XDG base directory rules say: a relative or empty variable counts as
/// none.
fn xdg(name: &str, below_home: &str) -> Option<PathBuf> {
    let given = env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || env::var_os("HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    given.or_else(|| home().map(|home| home.join(below_home)))
}
