//! The tally T: what the handlers wrote when they started and ended, a line each.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// One run of a job's handler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Run {
    /// Lines that say it started.
    pub(crate) starts: u64,
    /// Lines that say it ended.
    pub(crate) ends: u64,
}

/// The runs by job and claim.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    /// What was written of each.
    pub(crate) runs: BTreeMap<(u64, u64), Run>,
}

impl Tally {
    /// Reads the file at `path`.
    pub(crate) fn read(path: &Path) -> Self {
        let mut tally = Self::default();
        for line in fs::read_to_string(path).unwrap_or_default().lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let [word, job, claim, _] = words[..] else { panic!("no line of a tally: {line:?}") };
            let key = (job.parse().unwrap(), claim.parse().unwrap());
            let run = tally.runs.entry(key).or_default();
            match word {
                "start" => run.starts += 1,
                "end" => run.ends += 1,
                other => panic!("no word of a tally: {other:?}"),
            }
        }
        tally
    }

    /// Returns the highest claim of a job that ran, and its run.
    pub(crate) fn latest(&self, job: u64) -> Option<(u64, Run)> {
        let mut of_job = self.runs.range((job, 0)..=(job, u64::MAX));
        of_job.next_back().map(|((_, claim), run)| (*claim, *run))
    }
}
