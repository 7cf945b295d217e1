//! What a command works with: where to print, and a client of the server it speaks to.
//!
//! Without a server named, the one that runs on the store is found by the note beside it; with
//! none there, this process becomes a server for as long as the command takes.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use clawhold_client::{Backoff, Client, ClientError, Patience};
use clawhold_server::Running;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Mutex, OnceCell};

use crate::api::{Code, Problem};
use crate::config::{self, Config, Place, Target};
use crate::duration::Span;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;

/// How long a server that is noted beside a store may take to say that it lives.
const LIVE_PATIENCE: Duration = Duration::from_millis(300);
/// How long a command that somebody waits for tries while no server answers.
const PATIENCE_WAITING: Duration = Duration::from_secs(10);
/// How long a command that runs on does.
const PATIENCE_RUNNING: Duration = Duration::from_secs(30);
/// How long a server of our own may take to take requests: a hold that another one left behind
/// has to lapse first.
const READY_PATIENCE: Duration = Duration::from_secs(70);

/// What a command works with.
#[derive(Debug)]
pub(crate) struct Context {
    /// Where to print.
    pub(crate) output: Output,
    place: Place,
    patience: Patience,
    /// Whether the command only reads: it makes no store.
    reads: bool,
    connection: OnceCell<Connection>,
}

/// What a command does by its nature.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Habit {
    /// It runs on until it is stopped.
    pub(crate) runs_on: bool,
    /// It changes nothing.
    pub(crate) reads: bool,
}

/// A client, and the server of our own behind it, if there is one.
#[derive(Debug)]
struct Connection {
    client: Client,
    own: Arc<Mutex<Own>>,
}

/// A server of our own.
#[derive(Debug, Default)]
enum Own {
    /// None was needed so far.
    #[default]
    None,
    /// It runs.
    Running(Box<Running>),
    /// The command is over: none may start any more.
    Over,
}

impl Context {
    /// Returns a context that connects when it is asked to. A command that runs on is more
    /// patient than one that somebody waits for.
    pub(crate) fn new(output: Output, place: Place, habit: Habit) -> Self {
        let usual = if habit.runs_on { PATIENCE_RUNNING } else { PATIENCE_WAITING };
        let total = place.patience.map_or(usual, Span::duration);
        let patience = Patience { total, ..Patience::default() };
        Self { output, place, patience, reads: habit.reads, connection: OnceCell::new() }
    }

    /// Returns a client of the server that runs on the store, if one does. None is started.
    ///
    /// # Errors
    /// When flags, environment and config file say what they may not.
    pub(crate) async fn running(&self, total: Duration) -> Result<Option<Client>, Failure> {
        let store = Config::load_store(&self.place)?;
        let token = self.config()?.token()?;
        let Some(url) = running_on(&store, token.as_deref()).await else { return Ok(None) };
        let patience = Patience { total, one_try: total, ..Patience::default() };
        Ok(Some(Client::connect_with(&[&url], token.as_deref(), patience)?))
    }

    /// Returns where to go, as flags, environment and config file say together.
    ///
    /// # Errors
    /// When one of them says what it may not.
    pub(crate) fn config(&self) -> Result<Config, Failure> {
        Config::load(&self.place)
    }

    /// Returns the flags that say where to go.
    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    /// Returns the client, connected at the first call.
    ///
    /// # Errors
    /// When there is no server and none can be started.
    pub(crate) async fn client(&self) -> Result<&Client, Failure> {
        let connection = self.connection.get_or_try_init(|| self.connect()).await?;
        Ok(&connection.client)
    }

    /// Stops the server of our own, if one was started.
    ///
    /// # Errors
    /// When that server could not go on.
    pub(crate) async fn leave(&self) -> Result<(), Failure> {
        let Some(connection) = self.connection.get() else { return Ok(()) };
        let own = std::mem::replace(&mut *connection.own.lock().await, Own::Over);
        let Own::Running(running) = own else { return Ok(()) };
        running.stop().await.map_err(|error| {
            Failure::failed("the server in this process ended badly").because(&error)
        })
    }

    async fn connect(&self) -> Result<Connection, Failure> {
        let config = self.config()?;
        let token = config.token()?;
        let open = |urls: &[String]| {
            Client::connect_with(urls, token.as_deref(), self.patience).map_err(Failure::from)
        };
        match &config.target {
            Target::Servers(urls) => Ok(Connection { client: open(urls)?, own: Arc::default() }),
            Target::Store(store) => match running_on(store, token.as_deref()).await {
                Some(url) => beside(store, url, open).await,
                None if self.reads => {
                    config::check_there(store)?;
                    alone(store, open).await
                }
                None => alone(store, open).await,
            },
        }
    }
}

/// What makes a client of some servers.
trait Open: FnOnce(&[String]) -> Result<Client, Failure> {}

impl<F: FnOnce(&[String]) -> Result<Client, Failure>> Open for F {}

/// Returns the URL of a live server on `store`, if the note beside the store leads to one.
///
/// The note may be old and its port may belong to a server of another store by now, so the server
/// is asked for its store.
async fn running_on(store: &str, token: Option<&str>) -> Option<String> {
    let url = clawhold_server::hint(store)?;
    let patience = Patience {
        total: LIVE_PATIENCE,
        one_try: LIVE_PATIENCE,
        connect: LIVE_PATIENCE,
        backoff: Backoff::default(),
    };
    let client = Client::connect_with(&[&url], token, patience).ok()?;
    match client.server().await {
        Ok(server) => (server.store == clawhold_server::shown(store)).then_some(url),
        // It lives and wants a token: the answer to the command itself will say so.
        Err(error) if error.is(Code::Unauthorized) || error.is(Code::Forbidden) => Some(url),
        Err(_) => None,
    }
}

/// Returns a connection to the server at `url`, and a server of our own that starts only when
/// that one is gone: the client's second URL is a listener on which nobody serves until the first
/// connection comes in.
async fn beside(store: &str, url: String, open: impl Open) -> Result<Connection, Failure> {
    let listener = listen().await?;
    let own_url = format!("http://{}", listener.local_addr().map_err(|error| no_port(&error))?);
    let client = open(&[url, own_url])?;
    let own = Arc::new(Mutex::new(Own::None));
    let (store, slot) = (store.to_owned(), Arc::clone(&own));
    tokio::spawn(async move {
        if let Err(error) = start_when_asked(&store, listener, &slot).await {
            tracing::warn!(%error, "cannot start a server in this process");
        }
    });
    Ok(Connection { client, own })
}

/// Starts a server at the first connection, which is then led to it.
async fn start_when_asked(
    store: &str,
    listener: TcpListener,
    slot: &Mutex<Own>,
) -> Result<(), Failure> {
    let address = listener.local_addr().map_err(|error| no_port(&error))?;
    let (mut first, _) = listener.accept().await.map_err(|error| no_port(&error))?;
    {
        let mut slot = slot.lock().await;
        if matches!(*slot, Own::Over) {
            return Ok(());
        }
        *slot = Own::Running(Box::new(start(store, listener).await?));
    }
    let inside = TcpStream::connect(address).await;
    let mut inside = inside.map_err(|error| no_port(&error))?;
    // Either end may go first; the caller sees that as it would see it from the server.
    let _ = tokio::io::copy_bidirectional(&mut first, &mut inside).await;
    Ok(())
}

async fn listen() -> Result<TcpListener, Failure> {
    TcpListener::bind("127.0.0.1:0").await.map_err(|error| no_port(&error))
}

fn no_port(error: &io::Error) -> Failure {
    Failure::failed("cannot listen on 127.0.0.1").because(error)
}

/// Returns a connection to a server of our own.
async fn alone(store: &str, open: impl Open) -> Result<Connection, Failure> {
    config::make_folder(store)?;
    let listener = listen().await?;
    let running = start(store, listener).await?;
    let client = open(&[running.url().to_owned()])?;
    if !running.ready(READY_PATIENCE).await {
        let text = format!(
            "no server became active on {} within {} s",
            clawhold_server::shown(store),
            READY_PATIENCE.as_secs()
        );
        let failure = Failure::new(Exit::Unreachable, "not_ready", text);
        return Err(match running.stop().await {
            Ok(()) => failure,
            Err(error) => failure
                .because(&error)
                .next("`clawhold doctor` says what is wrong with the store and what to do"),
        });
    }
    Ok(Connection { client, own: Arc::new(Mutex::new(Own::Running(Box::new(running)))) })
}

async fn start(store: &str, listener: TcpListener) -> Result<Running, Failure> {
    let config = clawhold_server::Config {
        store: store.to_owned(),
        state: config::state_folder().ok(),
        advertise: None,
        hold_ms: clawhold_server::HOLD_MS_DEFAULT,
        tokens: clawhold_server::auth::Tokens::default(),
        notify: false,
    };
    clawhold_server::start(config, listener).await.map_err(|error| {
        Failure::failed("cannot start a server in this process")
            .because(&error)
            .next("check --store, or name a server with --server URL")
    })
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        let (exit, code) = match error {
            ClientError::Refused(problem) => return refused(*problem),
            ClientError::Setting { .. } => (Exit::Usage, "usage"),
            ClientError::Unreachable { .. } => (Exit::Unreachable, "unreachable"),
            ClientError::NoAnswer { .. } => (Exit::Unreachable, "no_answer"),
            ClientError::Unknown { .. } => (Exit::Unreachable, "outcome_unknown"),
            ClientError::Strange { .. } => (Exit::Failed, "strange_answer"),
            ClientError::Body { .. } | ClientError::Thread(_) => (Exit::Failed, "failed"),
            _ => (Exit::Failed, "failed"),
        };
        let failure = Self::new(exit, code, error.to_string());
        let failure = match std::error::Error::source(&error) {
            Some(cause) => failure.because(cause),
            None => failure,
        };
        match code {
            "unreachable" => {
                failure.next("start a server with `clawhold serve`, or check --server")
            }
            "outcome_unknown" => {
                failure.next("look whether it was carried out before doing it again")
            }
            "strange_answer" => failure.next("check that --server names a Clawhold server"),
            _ => failure,
        }
    }
}

/// What to do after a refusal, where its text does not say so.
const NEXT_STEPS: [(Code, &str); 10] = [
    (Code::Unauthorized, "give --token-file FILE; `clawhold token new` makes a token"),
    (Code::Forbidden, "use a token with a wider scope"),
    (Code::NoCandidate, "start a standby with `clawhold lead ROLE --standby -- CMD`"),
    (Code::NotCandidate, "see `clawhold role show ROLE` for who stands by"),
    (Code::WrongVersion, "look at it again: somebody has changed it"),
    (Code::PlanChanged, "look at the run again with `clawhold run show RUN`, then decide"),
    (Code::SimilarName, "use the name that is there, or one that nobody takes for it"),
    (Code::TriggerTaken, "choose other words, or change what bears them"),
    (Code::BadCondition, "see `clawhold condition fields` for what there is to ask"),
    (Code::OutcomeUnknown, "look whether it was carried out before doing it again"),
];

fn refused(problem: Problem) -> Failure {
    let next = next_step(&problem);
    let failure = Failure::of(problem);
    match next {
        Some(next) => failure.next(next),
        None => failure,
    }
}

/// Returns what to do after a refusal, from the facts that came with it.
fn next_step(problem: &Problem) -> Option<String> {
    if !problem.ids.is_empty() {
        let ids: Vec<_> = problem.ids.iter().map(u64::to_string).collect();
        return Some(format!("use one of the ids {}", ids.join(", ")));
    }
    if let Some(param) = &problem.param {
        let choices: Vec<_> =
            problem.choices.iter().map(|choice| format!("--param {param}={choice}")).collect();
        return Some(if choices.is_empty() {
            format!("name it with --param {param}=NAME")
        } else {
            format!("say which: {}", choices.join(" or "))
        });
    }
    let known = NEXT_STEPS.iter().find(|(known, _)| *known == problem.code);
    if let Some((_, next)) = known {
        return Some((*next).to_owned());
    }
    let meant: Vec<_> = problem.choices.iter().take(3).map(String::as_str).collect();
    (!meant.is_empty()).then(|| format!("did you mean {}?", meant.join(" or ")))
}
