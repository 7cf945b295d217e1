//! The sink K: takes `TOKEN WORD POSITION VALUE` lines, remembers the highest token and refuses
//! every lower one.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// What was sent to the sink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// Whoever took over raised the fence and means to go on after this position.
    Fence {
        /// The position.
        position: u64,
    },
    /// An event was dealt with.
    Write {
        /// Its number.
        position: u64,
    },
}

/// One line that the sink took in, in its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// The token it came under.
    pub(crate) token: u64,
    /// What it was.
    pub(crate) act: Act,
    /// When it came.
    pub(crate) at: Instant,
}

/// Everything that the sink knows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Book {
    /// The highest token.
    pub(crate) highest: u64,
    /// What was accepted.
    pub(crate) accepted: Vec<Line>,
    /// What was refused for its token.
    pub(crate) refused: Vec<Line>,
}

/// A sink that listens.
#[derive(Debug)]
pub(crate) struct Sink {
    /// Its port on loopback.
    pub(crate) port: u16,
    book: Arc<Mutex<Book>>,
    accepting: JoinHandle<()>,
}

impl Sink {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let book = Arc::new(Mutex::new(Book::default()));
        let accepting = tokio::spawn({
            let book = Arc::clone(&book);
            async move {
                while let Ok((stream, _)) = listener.accept().await {
                    tokio::spawn(serve(stream, Arc::clone(&book)));
                }
            }
        });
        Self { port, book, accepting }
    }

    /// Returns what the sink knows.
    pub(crate) fn book(&self) -> Book {
        self.book.lock().unwrap().clone()
    }

    /// Returns the highest token and how many writes were accepted under it.
    pub(crate) fn progress(&self) -> (u64, usize) {
        let book = self.book.lock().unwrap();
        let writes = book.writes().filter(|(token, _)| *token == book.highest).count();
        (book.highest, writes)
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Book {
    /// Returns the token and the position of each write that was accepted.
    pub(crate) fn writes(&self) -> impl DoubleEndedIterator<Item = (u64, u64)> + ExactSizeIterator {
        let writes = self.accepted.iter().filter_map(|line| match line.act {
            Act::Write { position } => Some((line.token, position)),
            Act::Fence { .. } => None,
        });
        writes.collect::<Vec<_>>().into_iter()
    }

    /// Takes one line in; tells whether it is accepted.
    fn take(&mut self, line: Line) -> bool {
        let is_current = self.highest <= line.token;
        if is_current {
            self.highest = line.token;
            self.accepted.push(line);
        } else {
            self.refused.push(line);
        }
        is_current
    }
}

async fn serve(stream: TcpStream, book: Arc<Mutex<Book>>) {
    let (read, mut write) = stream.into_split();
    let mut lines = BufReader::new(read).lines();
    while let Ok(Some(text)) = lines.next_line().await {
        // A writer that is killed in the middle of a line sends half of one.
        let Some((token, act)) = parse(&text) else { return };
        let is_accepted = book.lock().unwrap().take(Line { token, act, at: Instant::now() });
        let answer: &[u8] = if is_accepted { b"ok\n" } else { b"stale\n" };
        if write.write_all(answer).await.is_err() {
            return;
        }
    }
}

fn parse(text: &str) -> Option<(u64, Act)> {
    let mut words = text.split_whitespace();
    let token = words.next()?.parse().ok()?;
    let word = words.next()?;
    let position = words.next()?.parse().ok()?;
    match word {
        "fence" => Some((token, Act::Fence { position })),
        "write" => Some((token, Act::Write { position })),
        _ => None,
    }
}
