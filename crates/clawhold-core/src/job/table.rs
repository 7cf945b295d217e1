//! Every job by its id, in pages that copies of the state share.
//!
//! Ids rise with acceptance, so the live ones lie close together and a page is well filled. A page
//! counts its jobs by state: a list of one state passes over the pages that have none.

use alloc::collections::BTreeMap;
use core::ops::Bound;

use minicbor::decode::Error as DecodeError;
use minicbor::encode::{Error as EncodeError, Write};
use minicbor::{Decode, Decoder, Encode, Encoder};

use super::Job;
use crate::answer::JobState;
use crate::shared::Shared;
use crate::units::JobId;

/// Ids of one page.
const PAGE: usize = 64;

/// Every job by its id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Table {
    pages: BTreeMap<u64, Shared<Page>>,
    len: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Page {
    jobs: [Option<Shared<Job>>; PAGE],
    /// How many are in each state.
    counts: [u8; JobState::ALL.len()],
}

impl Page {
    fn new() -> Self {
        Self { jobs: [const { None }; PAGE], counts: [0; JobState::ALL.len()] }
    }

    fn count(&mut self, state: JobState) -> &mut u8 {
        &mut self.counts[state as usize]
    }

    fn is_empty(&self) -> bool {
        self.counts.iter().all(|count| *count == 0)
    }
}

impl Table {
    pub(crate) fn get(&self, id: JobId) -> Option<&Shared<Job>> {
        let (page, slot) = place(id);
        self.pages.get(&page)?.jobs[slot].as_ref()
    }

    /// Changes a job, if it is there. Its id stays.
    pub(crate) fn edit<R>(&mut self, id: JobId, edit: impl FnOnce(&mut Job) -> R) -> Option<R> {
        let (page, slot) = place(id);
        let page = &mut **self.pages.get_mut(&page)?;
        let job = &mut **page.jobs[slot].as_mut()?;
        let before = job.state;
        let result = edit(job);
        let after = job.state;
        if before != after {
            *page.count(before) -= 1;
            *page.count(after) += 1;
        }
        Some(result)
    }

    pub(crate) fn insert(&mut self, job: Job) {
        let (id, state) = (job.id, job.state);
        self.remove(id);
        let (page, slot) = place(id);
        let page = self.pages.entry(page).or_insert_with(|| Shared::new(Page::new()));
        page.jobs[slot] = Some(Shared::new(job));
        *page.count(state) += 1;
        self.len += 1;
    }

    pub(crate) fn remove(&mut self, id: JobId) -> Option<Shared<Job>> {
        let (number, slot) = place(id);
        let page = self.pages.get_mut(&number)?;
        page.jobs[slot].as_ref()?;
        let job = page.jobs[slot].take()?;
        *page.count(job.state) -= 1;
        self.len -= 1;
        if page.is_empty() {
            self.pages.remove(&number);
        }
        Some(job)
    }

    /// Returns the jobs from `from` on, in the order of their ids.
    pub(crate) fn listed(&self, from: JobId) -> impl Iterator<Item = &Job> {
        self.pages_from(from, |_| true)
    }

    /// Returns the jobs of one page from `from` on, in the order of their ids.
    pub(crate) fn page(&self, number: u64, from: JobId) -> impl Iterator<Item = &Job> {
        let page = self.pages.get(&number).into_iter();
        let jobs = page.flat_map(|page| page.jobs.iter().filter_map(|job| job.as_deref()));
        jobs.skip_while(move |job| job.id < from)
    }

    /// Returns the jobs in a state from `from` on, in the order of their ids.
    pub(crate) fn listed_in(&self, from: JobId, state: JobState) -> impl Iterator<Item = &Job> {
        let jobs = self.pages_from(from, move |page| page.counts[state as usize] > 0);
        jobs.filter(move |job| job.state == state)
    }

    fn pages_from(&self, from: JobId, has: impl Fn(&Page) -> bool) -> impl Iterator<Item = &Job> {
        let (first, slot) = place(from);
        let pages = self.pages.range((Bound::Included(first), Bound::Unbounded));
        let pages = pages.filter(move |(_, page)| has(page));
        pages.flat_map(move |(number, page)| {
            let skip = if *number == first { slot } else { 0 };
            page.jobs[skip..].iter().filter_map(|job| job.as_deref())
        })
    }
}

/// Returns the page on which a job is.
pub(crate) fn page_of(id: JobId) -> u64 {
    id.0 / PAGE as u64
}

fn place(id: JobId) -> (u64, usize) {
    let slot = id.0 % PAGE as u64;
    (page_of(id), usize::try_from(slot).unwrap_or(0))
}

/// Written as the map from id to job that it is.
impl<C> Encode<C> for Table {
    fn encode<W: Write>(
        &self,
        e: &mut Encoder<W>,
        context: &mut C,
    ) -> Result<(), EncodeError<W::Error>> {
        e.map(self.len)?;
        self.listed(JobId(0)).try_for_each(|job| {
            job.id.encode(e, context)?;
            job.encode(e, context)
        })
    }
}

impl<'b, C> Decode<'b, C> for Table {
    fn decode(d: &mut Decoder<'b>, context: &mut C) -> Result<Self, DecodeError> {
        let mut table = Self::default();
        for entry in d.map_iter_with::<C, JobId, Job>(context)? {
            let (id, job) = entry?;
            if id != job.id {
                return Err(DecodeError::message("a job under another's id"));
            }
            table.insert(job);
        }
        Ok(table)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::queue::QueueId;
    use crate::units::{Bytes, ClaimNumber, Position, Served, Stamp, Timestamp};

    fn any_job(id: JobId, state: JobState) -> Job {
        let stamp = Stamp { at: Timestamp(1), served: Served(1), position: Position(1) };
        Job {
            id,
            queue: QueueId(1),
            priority: 0,
            state,
            payload: Bytes::default(),
            claim: ClaimNumber(0),
            attempts: 0,
            losses: 0,
            hand_backs: 0,
            due: stamp.at,
            created: stamp,
            since: stamp,
            rule: None,
            keys: None,
            run: None,
            past: None,
        }
    }

    #[test]
    fn a_table_is_a_map_by_id_whatever_goes_in_and_out() {
        let mut rng = fastrand::Rng::with_seed(11);
        let (mut table, mut model) = (Table::default(), BTreeMap::new());
        for n in 1..6_000_u64 {
            let id = JobId(rng.u64(1..700));
            match rng.u8(..3) {
                0 => {
                    let job = any_job(id, JobState::ALL[rng.usize(..JobState::ALL.len())]);
                    table.insert(job.clone());
                    model.insert(id, job);
                }
                1 => assert_eq!(table.remove(id).map(|job| (*job).clone()), model.remove(&id)),
                _ => {
                    let state = JobState::ALL[rng.usize(..JobState::ALL.len())];
                    let edited = table.edit(id, |job| job.state = state);
                    let expected = model.get_mut(&id).map(|job| job.state = state);
                    assert_eq!(edited, expected);
                }
            }
            assert_eq!(table.len, model.len() as u64);
            if n % 100 == 0 {
                let from = JobId(rng.u64(..800));
                assert!(table.listed(from).eq(model.range(from..).map(|(_, job)| job)));
                for state in JobState::ALL {
                    let listed: Vec<&Job> = table.listed_in(from, state).collect();
                    let jobs = model.range(from..).map(|(_, job)| job);
                    assert_eq!(listed, jobs.filter(|job| job.state == state).collect::<Vec<_>>());
                }
                let bytes = minicbor::to_vec(&table).unwrap();
                assert_eq!(bytes, minicbor::to_vec(&model).unwrap());
                assert_eq!(minicbor::decode::<Table>(&bytes).unwrap(), table);
            }
        }
    }
}
