//! A TCP relay that loses, delays or cuts what goes through it, and never resets a connection
//! that it holds back.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;

/// What becomes of the bytes that go one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// They arrive.
    Open,
    /// They arrive so many milliseconds later.
    Slow(u64),
    /// They arrive when the hole is closed, however late.
    Held,
    /// They are lost, and so is everything that follows on the same connection.
    Lost,
}

/// What becomes of the bytes of both ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Law {
    /// From the one who dialled.
    pub(crate) up: Way,
    /// To the one who dialled.
    pub(crate) down: Way,
}

impl Law {
    /// Everything arrives.
    pub(crate) const OPEN: Self = Self { up: Way::Open, down: Way::Open };
}

/// A relay to one address.
#[derive(Debug)]
pub(crate) struct Relay {
    /// The URL that leads through it.
    pub(crate) url: String,
    address: SocketAddr,
    law: watch::Sender<Law>,
    /// How often every connection was cut.
    cuts: watch::Sender<u64>,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct Shared {
    /// Answers to writes that are still to be dropped.
    drops: AtomicU64,
    /// Answers to writes that were dropped.
    dropped: AtomicU64,
    /// Bytes that were lost or held back.
    kept: AtomicU64,
}

impl Relay {
    /// Starts a relay to `target`.
    pub(crate) async fn start(target: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let url = format!("http://{address}");
        let (law, watched) = watch::channel(Law::OPEN);
        let (cuts, cut) = watch::channel(0);
        let shared = Arc::new(Shared::default());
        let accepting = tokio::spawn({
            let shared = Arc::clone(&shared);
            async move {
                while let Ok((near, _)) = listener.accept().await {
                    let (law, mut cuts) = (watched.clone(), cut.clone());
                    cuts.mark_unchanged();
                    let joined = join(near, target, law, Arc::clone(&shared));
                    tokio::spawn(async move {
                        tokio::select! {
                            () = joined => {}
                            // The relay is gone: its connections stay.
                            Ok(()) = cuts.changed() => {}
                        }
                    });
                }
            }
        });
        Self { url, address, law, cuts, shared, accepting }
    }

    /// Returns the port that it listens on.
    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    /// Closes every connection.
    pub(crate) fn cut(&self) {
        self.cuts.send_modify(|count| *count += 1);
    }

    /// Sets what becomes of the bytes from now on.
    pub(crate) fn set(&self, law: Law) {
        self.law.send_replace(law);
    }

    /// Drops the answers to the next so many writes: each is carried out, and its caller finds the
    /// connection closed.
    pub(crate) fn drop_answers(&self, count: u64) {
        self.shared.drops.store(count, Ordering::SeqCst);
    }

    /// Returns how many answers were dropped.
    pub(crate) fn dropped(&self) -> u64 {
        self.shared.dropped.load(Ordering::SeqCst)
    }

    /// Returns how many bytes were lost or held back.
    pub(crate) fn kept(&self) -> u64 {
        self.shared.kept.load(Ordering::SeqCst)
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// One connection through the relay.
#[derive(Debug)]
struct Link {
    law: watch::Receiver<Law>,
    shared: Arc<Shared>,
    /// The next answer on this connection is to be dropped.
    marked: AtomicU64,
    cut: Notify,
}

async fn join(near: TcpStream, target: SocketAddr, law: watch::Receiver<Law>, shared: Arc<Shared>) {
    // Where nobody listens the connection is closed, as a proxy would.
    let Ok(far) = TcpStream::connect(target).await else { return };
    // A small answer must not wait for another one.
    let _ = (near.set_nodelay(true), far.set_nodelay(true));
    let (near_read, near_write) = near.into_split();
    let (far_read, far_write) = far.into_split();
    let link = Link { law, shared, marked: AtomicU64::new(0), cut: Notify::new() };
    tokio::select! {
        ((), ()) = async {
            tokio::join!(link.up(near_read, far_write), link.down(far_read, near_write))
        } => {}
        () = link.cut.notified() => {}
    }
}

impl Link {
    async fn up(&self, mut from: OwnedReadHalf, mut to: OwnedWriteHalf) {
        let mut law = self.law.clone();
        let mut bytes = vec![0; 64 * 1_024];
        let mut is_lost = false;
        while let Some(count) = read(&mut from, &mut bytes).await {
            if bytes[..count].starts_with(b"POST /v1/jobs ") && take_one(&self.shared.drops) {
                self.marked.store(1, Ordering::SeqCst);
            }
            if !self.pass(&mut law, |law| law.up, count, &mut is_lost).await {
                continue;
            }
            if to.write_all(&bytes[..count]).await.is_err() {
                break;
            }
        }
        self.end(&mut law, |law| law.up, is_lost).await;
        let _ = to.shutdown().await;
    }

    async fn down(&self, mut from: OwnedReadHalf, mut to: OwnedWriteHalf) {
        let mut law = self.law.clone();
        let mut bytes = vec![0; 64 * 1_024];
        let mut is_lost = false;
        while let Some(count) = read(&mut from, &mut bytes).await {
            if take_one(&self.marked) {
                self.shared.dropped.fetch_add(1, Ordering::SeqCst);
                self.cut.notify_one();
                return;
            }
            if !self.pass(&mut law, |law| law.down, count, &mut is_lost).await {
                continue;
            }
            if to.write_all(&bytes[..count]).await.is_err() {
                break;
            }
        }
        self.end(&mut law, |law| law.down, is_lost).await;
        let _ = to.shutdown().await;
    }

    /// Waits until bytes may go on; tells whether they do.
    async fn pass(
        &self,
        law: &mut watch::Receiver<Law>,
        way: fn(&Law) -> Way,
        count: usize,
        is_lost: &mut bool,
    ) -> bool {
        let now = way(&law.borrow());
        if now == Way::Lost || *is_lost {
            *is_lost = true;
            self.keep(count);
            return false;
        }
        match now {
            Way::Open | Way::Lost => {}
            Way::Slow(ms) => tokio::time::sleep(Duration::from_millis(ms)).await,
            Way::Held => {
                self.keep(count);
                // The relay is gone: nobody is left to read.
                let _ = law.wait_for(|law| way(law) != Way::Held).await;
            }
        }
        true
    }

    /// Waits until the end of a connection may be told: never while its bytes are held or lost.
    async fn end(&self, law: &mut watch::Receiver<Law>, way: fn(&Law) -> Way, is_lost: bool) {
        if is_lost {
            // A peer that heard nothing hears nothing of the end either.
            std::future::pending::<()>().await;
        }
        let _ = law.wait_for(|law| matches!(way(law), Way::Open | Way::Slow(_))).await;
    }

    fn keep(&self, count: usize) {
        self.shared.kept.fetch_add(u64::try_from(count).unwrap(), Ordering::SeqCst);
    }
}

async fn read(from: &mut OwnedReadHalf, bytes: &mut [u8]) -> Option<usize> {
    from.read(bytes).await.ok().filter(|count| *count > 0)
}

/// Takes one from a count that is not zero.
fn take_one(count: &AtomicU64) -> bool {
    let less = |left: u64| left.checked_sub(1);
    count.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less).is_ok()
}
