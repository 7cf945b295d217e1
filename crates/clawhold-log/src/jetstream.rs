//! A log in a stream of NATS JetStream, for several hosts.
//!
//! A record's number is the sequence of its message. An append says where the stream must end,
//! and the handle knows which epoch stands there, since no message ever changes; so one append at
//! a time is fenced on both. A takeover says instead which takeover must be the newest, so it
//! needs no number and beats a writer that is still busy. Where the log ends and single records
//! are asked of the stream's leader; only following and long reads go through a consumer, which
//! may lag but shows nothing that is not there.
//!
//! An answer that does not come leaves an outcome unknown. It is settled by the same bytes at the
//! same number: of a message that is still on its way and its repetition one lands at most.

mod address;
mod gate;
mod link;
mod message;
mod records;
mod refusal;
mod scratch;
mod shelf;
mod snapshot;
mod store;
mod tail;

pub use refusal::JetStreamRefusal;
pub(crate) use scratch::{check_url, remove_scratch};

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_nats::jetstream::stream::PurgeErrorKind;

use crate::check::check_write;
use crate::limits::{
    JETSTREAM_ANSWER_WAIT_MAX, JETSTREAM_FETCH_WAIT_MAX, JETSTREAM_GETS_MAX, JETSTREAM_LOOK,
    JETSTREAM_LOOK_AGAIN, JETSTREAM_POLL, JETSTREAM_SHORTER_MAX, TRIM_RECORDS_MAX,
};
use crate::{
    Append, Epoch, Head, Log, LogError, Number, OpenError, Presence, Record, Snapshot, TakeOver,
    Writer, frame,
};
use address::Address;
use link::{Expected, Link, Published, run};
use tail::{Heard, Tail};

/// A handle on a log in a stream of NATS JetStream, with a connection of its own.
///
/// There is no presence lock: a lock there could only be a lease on somebody's clock.
pub struct JetStreamLog {
    address: Arc<Address>,
    link: Link,
    writer: Writer,
    /// A record and its epoch; whatever a record's epoch is, it stays.
    known: Option<(Number, Epoch)>,
    /// The newest record that this handle knows of. Never falls.
    seen: Number,
    tail: Option<Tail>,
    /// Until when no other tail is begun after one was lost.
    rest_until: Option<Instant>,
    /// Since when the log has ended before what was seen in it.
    shorter_since: Option<Instant>,
}

impl JetStreamLog {
    /// Opens the log that a URL names, from its scheme and what follows the colon, and makes its
    /// streams if there are none.
    ///
    /// # Errors
    /// [`LogError::Open`] with what to do, for servers that cannot keep a log.
    pub fn open(scheme: &str, rest: &str) -> Result<Self, LogError> {
        let address = Address::parse(scheme, rest)?;
        let link = run(async {
            let link = Link::connect(&address).await?;
            gate::check_server(&link.client)?;
            let keepers = store::prepare(&link, &address).await?;
            gate::check_sync(&link, &address, &keepers).await?;
            Ok::<_, JetStreamRefusal>(link)
        });
        let mut log = Self::new(Arc::new(address), link.map_err(OpenError::JetStream)?)?;
        let last = log.head()?.last;
        // A follower without the right to a consumer would only be slow; so this is tried once.
        match run(Tail::begin(&log.link, last.next())) {
            Err(error) if log.link.was_denied() => Err(error),
            Ok(_) | Err(_) => Ok(log),
        }
    }

    fn new(address: Arc<Address>, link: Link) -> Result<Self, LogError> {
        let drawn = getrandom::u64().map_err(|error| LogError::Engine(Box::new(error)))?;
        let writer = Writer(drawn);
        Ok(Self {
            address,
            link,
            writer,
            known: None,
            seen: Number(0),
            tail: None,
            rest_until: None,
            shorter_since: None,
        })
    }

    /// Remembers a record that is in the log.
    fn know(&mut self, number: Number, epoch: Epoch) {
        self.known = Some((number, epoch));
        self.seen = self.seen.max(number);
    }

    /// Returns what to say of a log that ends before what was seen in it. A server of a cluster
    /// that is cut off may answer so for a while; for longer, records are lost.
    fn shorter(&mut self, last: Number) -> LogError {
        let seen = self.seen;
        let since = self.shorter_since.get_or_insert_with(Instant::now);
        if since.elapsed() < JETSTREAM_SHORTER_MAX {
            return LogError::Shorter { last, seen };
        }
        let (store, found) = (self.address.shown(), format!("ends at record {last}"));
        let accept = "start the servers again".to_owned();
        OpenError::Rewound { store, confirmed: seen, found, accept }.into()
    }

    /// Waits a moment for what was there first: a cluster refuses a message already for one that
    /// its servers have yet to agree on, which nobody can see before they have.
    fn look_again(&mut self) {
        self.known = None;
        std::thread::sleep(JETSTREAM_LOOK_AGAIN);
    }

    /// Returns the tail whose next record is `from`, beginning one if need be.
    fn tail_at(&mut self, from: Number) -> Result<&mut Tail, LogError> {
        let tail = match self.tail.take() {
            Some(tail) if tail.front() == from => tail,
            Some(_) | None => run(Tail::begin(&self.link, from))?,
        };
        Ok(self.tail.insert(tail))
    }

    /// Takes what is ready, from `from` on, as much as fits.
    fn take_ready(&mut self, from: Number, bytes_max: usize) -> Result<Vec<Record>, LogError> {
        let mut records = Vec::new();
        let Some(tail) = self.tail.as_mut().filter(|tail| tail.front() == from) else {
            return Ok(records);
        };
        run(tail.fill(bytes_max));
        let mut bytes = 0;
        while let Some(kept) = tail.first() {
            let number = kept.number;
            let record = match kept.record(&self.link.subjects) {
                Ok(record) => record,
                Err(_) if !records.is_empty() => break,
                Err(source) => {
                    self.tail = None;
                    return Err(LogError::Damaged { number, source });
                }
            };
            bytes += record.body.len();
            if !records.is_empty() && bytes_max < bytes {
                break;
            }
            records.push(record);
            tail.pass();
        }
        if let Some(last) = records.last() {
            self.seen = self.seen.max(last.number);
        }
        Ok(records)
    }

    /// Waits until the record at `from` is ready. A tail that is lost is not begun again at once:
    /// the servers may be in trouble, and each consumer is one more thing that they must agree on.
    fn listen(&mut self, from: Number, patience: Duration) -> Heard {
        if self.rest_until.is_some_and(|until| Instant::now() < until) {
            std::thread::sleep(patience.min(JETSTREAM_POLL));
            return Heard::Lost;
        }
        let heard = match self.tail_at(from) {
            Ok(tail) => run(tail.wait(patience)),
            Err(_) => Heard::Lost,
        };
        if heard == Heard::Lost {
            self.tail = None;
            self.rest_until = Some(Instant::now() + JETSTREAM_LOOK);
        }
        heard
    }

    /// Fetches records through a consumer, and returns what came in time.
    fn fetch(&mut self, from: Number, bytes_max: usize) -> Result<Vec<Record>, LogError> {
        match self.listen(from, JETSTREAM_FETCH_WAIT_MAX) {
            Heard::Record => self.take_ready(from, bytes_max),
            Heard::Nothing | Heard::Lost => {
                self.tail = None;
                Ok(Vec::new())
            }
        }
    }

    /// Gets records one by one from the stream's leader.
    fn get(
        &mut self,
        from: Number,
        last: Number,
        bytes_max: usize,
    ) -> Result<Vec<Record>, LogError> {
        let mut records: Vec<Record> = Vec::new();
        let mut bytes = 0;
        for place in from.0..=last.0.min(from.0 + JETSTREAM_GETS_MAX - 1) {
            let number = Number(place);
            let kept = run(records::get(&self.link, number))?;
            let checked = match kept {
                None => Err(LogError::Missing { number }),
                Some(kept) => {
                    let record = kept.record(&self.link.subjects);
                    record.map_err(|source| LogError::Damaged { number, source })
                }
            };
            let record = match checked {
                Ok(record) => record,
                Err(error) if records.is_empty() => return Err(error),
                Err(_) => break,
            };
            bytes += record.body.len();
            if !records.is_empty() && bytes_max < bytes {
                break;
            }
            records.push(record);
        }
        Ok(records)
    }

    /// Publishes a takeover record if no takeover came after the one at `before`.
    async fn publish_takeover(
        &self,
        before: u64,
        epoch: Epoch,
        body: &[u8],
    ) -> Result<Published, LogError> {
        let subject = &self.link.subjects.takeover;
        let encoded = frame::encode(message::ANYWHERE, epoch, self.writer, body);
        let expected = Expected::LastOfSubject(before);
        let published = self.link.publish(subject.clone(), expected, encoded).await?;
        let Published::At(sequence) = published else { return Ok(published) };
        // The server promised that no other came in between; two that both believe to lead
        // would be worse than one that looks.
        let records = &self.link.records;
        let next = records::next_of(&self.link, records, subject, before + 1).await;
        Ok(match next {
            Ok(Some(first)) if first.sequence == sequence => published,
            Ok(_) => Published::Refused,
            Err(error) => Published::Unknown(error.to_string()),
        })
    }
}

impl Log for JetStreamLog {
    fn writer(&self) -> Writer {
        self.writer
    }

    fn another(&self) -> Result<Box<dyn Log>, LogError> {
        let link = run(async {
            let link = Link::connect(&self.address).await?;
            gate::check_server(&link.client)?;
            Ok::<_, JetStreamRefusal>(link)
        });
        let mut log = Self::new(Arc::clone(&self.address), link.map_err(OpenError::JetStream)?)?;
        log.known = self.known;
        log.seen = self.seen;
        Ok(Box::new(log))
    }

    fn head(&mut self) -> Result<Head, LogError> {
        let head = run(records::head(&self.link, self.known))?;
        if head.last < self.seen {
            return Err(self.shorter(head.last));
        }
        self.shorter_since = None;
        self.know(head.last, head.epoch);
        Ok(head)
    }

    fn append(&mut self, number: Number, epoch: Epoch, body: &[u8]) -> Result<Append, LogError> {
        check_write(epoch, body)?;
        let before = Number(number.0.saturating_sub(1));
        let encoded = frame::encode(number, epoch, self.writer, body);
        let started = Instant::now();
        while started.elapsed() < JETSTREAM_ANSWER_WAIT_MAX {
            if self.known != Some((before, epoch)) {
                let head = self.head()?;
                if head.last.next() != number || head.epoch != epoch {
                    return Ok(Append::Overtaken { head });
                }
            }
            let (subject, bytes) = (self.link.subjects.record.clone(), encoded.clone());
            match run(self.link.publish(subject, Expected::Last(before.0), bytes))? {
                Published::At(sequence) if sequence == number.0 => {
                    self.know(number, epoch);
                    return Ok(Append::Done);
                }
                Published::At(sequence) => {
                    let cause = format!("the server put record {number} at {sequence}");
                    return Ok(Append::Unknown { cause });
                }
                Published::Refused => self.look_again(),
                Published::Unknown(cause) => return Ok(Append::Unknown { cause }),
            }
        }
        Err(LogError::Busy)
    }

    fn take_over(&mut self, epoch: Epoch, body: &[u8]) -> Result<TakeOver, LogError> {
        check_write(epoch, body)?;
        let started = Instant::now();
        while started.elapsed() < JETSTREAM_ANSWER_WAIT_MAX {
            let head = self.head()?;
            if head.epoch.next() != epoch {
                return Ok(TakeOver::Overtaken { head });
            }
            let (records, subject) = (&self.link.records, &self.link.subjects.takeover);
            let newest = run(records::last_of(&self.link, records, subject))?;
            let before = newest.map_or(0, |newest| newest.sequence);
            if head.last.0 < before {
                continue;
            }
            match run(self.publish_takeover(before, epoch, body))? {
                Published::At(sequence) => {
                    let number = Number(sequence);
                    self.know(number, epoch);
                    return Ok(TakeOver::Done { number });
                }
                Published::Refused => self.look_again(),
                Published::Unknown(cause) => return Ok(TakeOver::Unknown { cause }),
            }
        }
        Err(LogError::Busy)
    }

    fn read(&mut self, from: Number, bytes_max: usize) -> Result<Vec<Record>, LogError> {
        let ready = self.take_ready(from, bytes_max)?;
        if !ready.is_empty() {
            return Ok(ready);
        }
        let Head { first, last, .. } = self.head()?;
        if from < first {
            return Err(LogError::Trimmed { first });
        }
        if last.next() < from {
            return Err(LogError::Beyond { from, last });
        }
        if from.0 + JETSTREAM_GETS_MAX <= last.0 {
            // Making a consumer needs more servers than a record does; what fails here is asked
            // for below.
            match self.fetch(from, bytes_max) {
                Ok(fetched) if !fetched.is_empty() => return Ok(fetched),
                Ok(_) | Err(_) => self.tail = None,
            }
        }
        match self.get(from, last, bytes_max) {
            // A trim may have come in between.
            Err(LogError::Missing { number }) => {
                let first = self.head()?.first;
                let missing = LogError::Missing { number };
                Err(if number < first { LogError::Trimmed { first } } else { missing })
            }
            result => result,
        }
    }

    fn wait(&mut self, after: Number, timeout: Duration) -> Result<bool, LogError> {
        if after < self.seen {
            return Ok(true);
        }
        if timeout.is_zero() {
            return Ok(after < self.head()?.last);
        }
        let deadline = Instant::now() + timeout;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let heard = self.listen(after.next(), left.min(JETSTREAM_LOOK));
            if heard == Heard::Record {
                return Ok(true);
            }
            let silent = self.tail.as_ref().is_some_and(|tail| tail.is_silent_for(JETSTREAM_LOOK));
            if silent || heard == Heard::Lost {
                if after < self.head()?.last {
                    self.tail = None;
                    return Ok(true);
                }
                if let Some(tail) = &mut self.tail {
                    tail.look();
                }
            }
            if deadline <= Instant::now() {
                return Ok(false);
            }
        }
    }

    fn put_snapshot(
        &mut self,
        at: Number,
        epoch: Epoch,
        chunks: &mut dyn Iterator<Item = Vec<u8>>,
    ) -> Result<(), LogError> {
        let last = self.head()?.last;
        snapshot::put(&self.link, last, at, epoch, chunks)
    }

    fn latest_snapshot(&mut self) -> Result<Option<Snapshot>, LogError> {
        let head = self.head()?;
        run(snapshot::latest(&self.link, head))
    }

    fn trim(&mut self, upto: Number) -> Result<u64, LogError> {
        let Some(contained) = run(snapshot::contained(&self.link))? else { return Ok(0) };
        let head = self.head()?;
        let end = upto.min(contained).next().min(head.last);
        let count = end.0.saturating_sub(head.first.0).min(TRIM_RECORDS_MAX);
        if count == 0 {
            return Ok(0);
        }
        let link = &self.link;
        run(async {
            match link.records.purge().sequence(head.first.0 + count).await {
                Ok(answer) => Ok(answer.purged),
                Err(error) => {
                    let timed_out = error.kind() == PurgeErrorKind::TimedOut;
                    Err(link.failure("purging", error, timed_out).await)
                }
            }
        })
    }

    fn claim_presence(&mut self) -> Presence {
        Presence::Unsupported
    }

    fn release_presence(&mut self) {}
}

impl fmt::Debug for JetStreamLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JetStreamLog")
            .field("address", &self.address)
            .field("writer", &self.writer)
            .field("known", &self.known)
            .field("seen", &self.seen)
            .finish_non_exhaustive()
    }
}
