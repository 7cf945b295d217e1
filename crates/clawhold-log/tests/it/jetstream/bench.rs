//! Looking into a log's streams past the engine, and damaging what is in them.

use std::sync::LazyLock;

use async_nats::jetstream::{self, Context, stream::Stream};
use clawhold_log::conformance::Bench;
use clawhold_log::{Log, Number};
use tokio::runtime::Runtime;

use super::servers::{Servers, open};

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());

/// A log of its own on servers that it may share.
pub(crate) struct JetStream<'a> {
    pub(crate) servers: &'a Servers,
    pub(crate) stream: String,
}

impl Bench for JetStream<'_> {
    fn handle(&self) -> Box<dyn Log> {
        Box::new(open(&self.servers.url(&self.stream)).unwrap())
    }

    fn damage_record(&self, number: Number) {
        let url = self.servers.url(&self.stream);
        RUNTIME.block_on(flip(&url, &self.stream, |sequence, _| sequence == number.0));
    }

    fn damage_snapshot(&self, age: usize) {
        let url = self.servers.url(&self.stream);
        let stream = format!("{}_SNAPSHOTS", self.stream);
        RUNTIME.block_on(async {
            let subject = format!("clawhold.{}.snapshot", self.stream);
            let found = find(&url, &stream).await;
            let kept = format!("{subject}.kept");
            let shelf = found.get_last_raw_message_by_subject(&kept).await.unwrap().payload;
            assert!(age < usize::from(shelf[6]), "there is no snapshot of age {age}");
            let place = 7 + 36 * age + 20;
            let field = |at: usize| u64::from_le_bytes(shelf[at..at + 8].try_into().unwrap());
            let piece = format!("{subject}.piece.{:016x}{:016x}", field(place), field(place + 8));
            let last = found.get_last_raw_message_by_subject(&piece).await.unwrap().sequence;
            flip(&url, &stream, |sequence, _| sequence == last).await;
        });
    }
}

/// Returns the name of the server that leads a stream.
pub(crate) fn leader(url: &str, stream: &str) -> Option<String> {
    RUNTIME.block_on(async {
        let info = find(url, stream).await.get_info().await.ok()?;
        info.cluster?.leader
    })
}

/// Returns how many copies a stream has.
pub(crate) fn replicas(url: &str, stream: &str) -> usize {
    RUNTIME
        .block_on(async { find(url, stream).await.get_info().await.unwrap().config.num_replicas })
}

/// Sends a message to a subject, as a program does that has no business there.
pub(crate) fn publish(url: &str, subject: String, payload: &'static [u8]) {
    RUNTIME.block_on(async {
        let context = context(url).await;
        context.publish(subject, payload.into()).await.unwrap().await.unwrap();
    });
}

/// Changes the configuration of a stream.
pub(crate) fn edit(url: &str, stream: &str, change: impl FnOnce(&mut jetstream::stream::Config)) {
    RUNTIME.block_on(async {
        let mut config = find(url, stream).await.get_info().await.unwrap().config;
        change(&mut config);
        context(url).await.update_stream(config).await.unwrap();
    });
}

/// Makes a stream as another program does.
pub(crate) fn make(url: &str, config: jetstream::stream::Config) {
    RUNTIME.block_on(async {
        context(url).await.create_stream(config).await.unwrap();
    });
}

/// Deletes a stream.
pub(crate) fn delete(url: &str, stream: &str) {
    RUNTIME.block_on(async {
        context(url).await.delete_stream(stream).await.unwrap();
    });
}

async fn context(url: &str) -> Context {
    let (login, hosts) = url.strip_prefix("nats://").unwrap().rsplit_once('@').unwrap();
    let hosts = hosts.split_once('?').map_or(hosts, |(hosts, _)| hosts);
    let hosts: Vec<String> = hosts.split(',').map(|host| format!("nats://{host}")).collect();
    let (user, password) = login.split_once(':').unwrap();
    let options = async_nats::ConnectOptions::new();
    let options = options.user_and_password(user.to_owned(), password.to_owned());
    jetstream::new(options.connect(hosts).await.unwrap())
}

async fn find(url: &str, stream: &str) -> Stream<()> {
    context(url).await.get_stream_no_info(stream).await.unwrap()
}

/// Makes a stream anew with the same messages in the same places, but the last bit of one.
async fn flip(url: &str, name: &str, picked: impl Fn(u64, &str) -> bool) {
    let context = context(url).await;
    let stream = find(url, name).await;
    let info = stream.get_info().await.unwrap();
    let mut messages = Vec::new();
    for sequence in info.state.first_sequence..=info.state.last_sequence {
        if let Ok(message) = stream.get_raw_message(sequence).await {
            let mut payload = message.payload.to_vec();
            if picked(sequence, &message.subject) {
                *payload.last_mut().unwrap() ^= 1;
            }
            messages.push((message.subject, payload));
        }
    }
    context.delete_stream(name).await.unwrap();
    let mut config = info.config;
    config.first_sequence = Some(info.state.first_sequence);
    context.create_stream(config).await.unwrap();
    for (subject, payload) in messages {
        context.publish(subject, payload.into()).await.unwrap().await.unwrap();
    }
}
