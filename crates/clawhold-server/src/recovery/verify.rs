//! Checking a whole store: every record and snapshot, and that they tell the same.

use clawhold_core::replay::Replay;
use clawhold_log::{LogError, Number};
use serde::Serialize;

use super::RecoveryError;
use super::history::{Base, History, take};
use super::summary::StateAt;

/// What a running server says of its state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// The position.
    pub position: u64,
    /// The hash.
    pub hash: String,
}

/// What was found.
#[derive(Clone, Debug, Serialize)]
pub struct Verified {
    /// The oldest record.
    pub first_record: u64,
    /// The newest record.
    pub last_record: u64,
    /// Records that were read and checked.
    pub records: u64,
    /// Entries that were replayed.
    pub entries: u64,
    /// Records whose writer had been overtaken: they count for nothing.
    pub void_records: u64,
    /// The snapshots, newest first.
    pub snapshots: Vec<KeptSnapshot>,
    /// The state at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<StateAt>,
    /// Whether a running server's state was compared and is the same.
    pub server_agrees: Option<bool>,
    /// What is wrong, a line each.
    pub findings: Vec<String>,
}

/// A snapshot that is kept.
#[derive(Clone, Debug, Serialize)]
pub struct KeptSnapshot {
    /// The last record that it contains.
    pub record: u64,
    /// The position at that record, if it can be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<u64>,
    /// The hash of its state, if it can be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// Whether replaying from an older one comes to it, where that could be tried.
    pub replay_agrees: Option<bool>,
}

/// Checks a store: each checksum, that nothing is missing, that the terms follow each other, and
/// that replaying from the oldest snapshot comes to each newer one and to what a server `told`.
///
/// # Errors
/// [`RecoveryError`] when the store cannot even be opened; all else is a finding.
pub fn verify(store: &str, told: Option<&Told>) -> Result<Verified, RecoveryError> {
    let mut history = History::open(store)?;
    let head = history.head()?;
    let mut verified = Verified {
        first_record: head.first.0,
        last_record: head.last.0,
        records: 0,
        entries: 0,
        void_records: 0,
        snapshots: Vec::new(),
        state: None,
        server_agrees: None,
        findings: Vec::new(),
    };
    if let Err(error) = history.reader.check() {
        verified.find(&error);
    }
    match history.reader.structure() {
        Ok(lines) => verified.findings.extend(lines),
        Err(error) => verified.find(&error),
    }
    let bases = verified.look_at_snapshots(&mut history)?;
    let mut check = Check { verified: &mut verified, bases, told, replay: None };
    check.walk(&mut history, head.first, head.last)?;
    Ok(verified)
}

impl Verified {
    fn find(&mut self, error: &(dyn std::error::Error + 'static)) {
        self.findings.push(clawhold_log::chain(error));
    }

    /// Returns what can be replayed from, newest first.
    fn look_at_snapshots(&mut self, history: &mut History) -> Result<Vec<Base>, RecoveryError> {
        let mut bases = Vec::new();
        for mark in history.snapshots()? {
            let base = history.base(mark);
            let state = base.as_ref().ok().map(|base| &base.state);
            self.snapshots.push(KeptSnapshot {
                record: mark.at.0,
                position: state.map(|state| state.last().position.0),
                hash: state.map(clawhold_core::State::hash),
                replay_agrees: None,
            });
            match base {
                Ok(base) => bases.push(base),
                Err(error) => {
                    let at = mark.at;
                    let cause = clawhold_log::chain(error.as_ref());
                    self.findings
                        .push(format!("the snapshot at record {at} is of no use: {cause}"));
                }
            }
        }
        if history.head()?.first == Number(1) {
            bases.push(Base { at: Number(0), state: clawhold_core::State::default() });
        }
        Ok(bases)
    }

    fn compare(&mut self, at: Number, hash: &str) {
        let Some(kept) = self.snapshots.iter_mut().find(|kept| kept.record == at.0) else { return };
        let agrees = kept.hash.as_deref() == Some(hash);
        kept.replay_agrees = Some(agrees);
        if !agrees {
            let line = format!("replaying comes to another state than the snapshot at record {at}");
            self.findings.push(line);
        }
    }
}

/// A check under way.
struct Check<'a> {
    verified: &'a mut Verified,
    /// Not reached yet, newest first.
    bases: Vec<Base>,
    told: Option<&'a Told>,
    replay: Option<Replay>,
}

impl Check<'_> {
    /// Goes through all records. One that is damaged is a finding; what lies behind it is checked
    /// on, and replayed from the next snapshot.
    fn walk(
        &mut self,
        history: &mut History,
        first: Number,
        last: Number,
    ) -> Result<(), RecoveryError> {
        self.reach(Number(first.0.saturating_sub(1)));
        let mut next = first;
        while next <= last {
            match history.reader.read(next, 4 * 1_024 * 1_024) {
                Ok(records) => {
                    for record in records.iter().filter(|record| record.number <= last) {
                        self.record(record);
                        next = record.number.next();
                    }
                }
                Err(LogError::Trimmed { .. }) => return Err(RecoveryError::Trimmed),
                Err(error @ (LogError::Damaged { .. } | LogError::Missing { .. })) => {
                    self.verified.find(&error);
                    self.replay = None;
                    self.reach(next);
                    next = next.next();
                }
                Err(error) => {
                    self.verified.find(&error);
                    return Ok(());
                }
            }
        }
        match &self.replay {
            Some(replay) => {
                self.verified.state = Some(StateAt::of(replay.state(), last.0));
            }
            None => {
                self.verified.findings.push(format!("no state at record {last} can be reached"));
            }
        }
        Ok(())
    }

    fn record(&mut self, record: &clawhold_log::Record) {
        self.verified.records += 1;
        if let Some(replay) = &mut self.replay {
            let (verified, told) = (&mut *self.verified, self.told);
            let mut entries = 0;
            let taken = take(replay, record, |state, _| {
                entries += 1;
                if let Some(told) = told.filter(|told| told.position == state.last().position.0) {
                    agree(verified, told, &state.hash());
                }
            });
            self.verified.entries += entries;
            if entries == 0 && record.epoch.0 != replay.epoch().0 {
                self.verified.void_records += 1;
            }
            if let Err(error) = taken {
                self.verified.find(&error);
                self.replay = None;
            }
        }
        self.reach(record.number);
    }

    /// Takes the snapshot at a record: to replay from, or to compare with.
    fn reach(&mut self, at: Number) {
        while let Some(base) = self.bases.pop_if(|base| base.at <= at) {
            if base.at < at {
                continue;
            }
            if let Some(replay) = &self.replay {
                let hash = replay.state().hash();
                self.verified.compare(at, &hash);
            } else {
                if let Some(told) = self.told
                    && told.position == base.state.last().position.0
                {
                    agree(self.verified, told, &base.state.hash());
                }
                self.replay = Some(base.replay());
            }
        }
    }
}

fn agree(verified: &mut Verified, told: &Told, hash: &str) {
    let agrees = told.hash == hash;
    if verified.server_agrees != Some(false) {
        verified.server_agrees = Some(agrees);
    }
    if !agrees {
        let position = told.position;
        verified.findings.push(format!("the running server has another state at {position}"));
    }
}
