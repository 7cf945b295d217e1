//! What every engine must do, as tests that an engine runs on itself.
//!
//! Implement [`Bench`] for the engine and write
//! `clawhold_log::conformance!(MyBench::new());` in a test module: it becomes one test per case,
//! each on a log of its own.

mod records;
mod snapshots;

use std::time::Duration;

use crate::{Append, Epoch, Head, Log, MemoryStore, Number, Record, TakeOver};

pub use records::*;
pub use snapshots::*;

/// One log under test.
pub trait Bench: Sync {
    /// Opens another handle on the log. When all are dropped, the log is closed but still there.
    fn handle(&self) -> Box<dyn Log>;
    /// Flips the last bit of the record.
    fn damage_record(&self, number: Number);
    /// Flips the last bit of a snapshot; 0 is the newest, 1 the one before.
    fn damage_snapshot(&self, age: usize);
}

impl Bench for MemoryStore {
    fn handle(&self) -> Box<dyn Log> {
        Box::new(Self::handle(self))
    }

    fn damage_record(&self, number: Number) {
        assert!(Self::damage_record(self, number), "record {number} is not kept");
    }

    fn damage_snapshot(&self, age: usize) {
        assert!(Self::damage_snapshot(self, age), "there is no snapshot of age {age}");
    }
}

/// Makes one test of each case; the argument is an expression for a fresh [`Bench`].
#[macro_export]
macro_rules! conformance {
    (@with $then:ident [$($argument:tt)*]) => {
        $crate::conformance! {
            @$then [$($argument)*]
            an_empty_log_says_so
            records_are_read_as_they_were_appended
            an_append_that_leaves_a_gap_is_refused
            an_append_at_a_taken_number_is_refused
            an_append_in_another_epoch_is_refused
            nobody_appends_before_a_takeover
            a_takeover_must_follow_the_current_epoch
            a_takeover_beats_a_busy_writer_and_fences_it
            of_two_racing_takeovers_exactly_one_wins
            racing_appends_at_one_number_land_once
            reading_back_settles_an_unknown_outcome
            a_follower_sees_each_record_once_and_in_order
            waiting_ends_with_the_next_record_or_the_timeout
            a_read_stops_at_its_byte_limit_but_returns_one_record
            a_reader_beyond_the_end_is_told
            a_record_of_the_largest_size_fits_and_one_byte_more_does_not
            an_empty_body_is_a_record
            a_damaged_record_is_named_and_those_before_it_are_read
            a_snapshot_is_visible_only_when_whole
            a_snapshot_that_breaks_off_leaves_the_one_before
            two_snapshots_are_kept_and_a_damaged_newest_falls_back
            a_damaged_snapshot_is_not_counted_as_kept
            a_lost_state_is_an_error_and_not_an_empty_one
            a_snapshot_lies_between_the_newest_and_the_end
            snapshots_of_any_size_come_back_whole
            nothing_is_trimmed_before_two_snapshots_contain_it
            the_last_record_is_never_trimmed
            trimming_goes_in_bounded_steps
            numbers_go_on_after_a_trim_and_reopening
            a_reader_below_the_floor_is_told
            reopening_keeps_everything
            one_handle_holds_presence_until_it_is_dropped
            presence_can_be_handed_over
        }
    };
    (@tests [$bench:expr] $($case:ident)*) => {
        $(
            #[test]
            fn $case() {
                $crate::conformance::$case(&$bench);
            }
        )*
    };
    (@table [] $($case:ident)*) => {
        [$((stringify!($case), $crate::conformance::$case as $crate::conformance::Case)),*]
    };
    ($bench:expr) => {
        $crate::conformance!(@with tests [$bench]);
    };
}

/// One case, for a bench of its own.
pub type Case = fn(&dyn Bench);

/// Every case with its name, for an engine that is too slow to start one for each.
#[must_use]
pub fn cases() -> Vec<(&'static str, Case)> {
    conformance!(@with table []).to_vec()
}

/// How long a case waits for what must happen.
const PATIENCE: Duration = Duration::from_secs(20);

fn lead(bench: &dyn Bench) -> Box<dyn Log> {
    let mut log = bench.handle();
    take_over(&mut log, 1);
    log
}

fn take_over(log: &mut Box<dyn Log>, epoch: u64) -> u64 {
    match log.take_over(Epoch(epoch), b"take over").expect("nothing fails") {
        TakeOver::Done { number } => number.0,
        refused @ (TakeOver::Overtaken { .. } | TakeOver::Unknown { .. }) => {
            panic!("takeover of epoch {epoch}: {refused:?}")
        }
    }
}

fn append(log: &mut Box<dyn Log>, number: u64, epoch: u64, body: &[u8]) {
    let answer = log.append(Number(number), Epoch(epoch), body).expect("nothing fails");
    assert_eq!(answer, Append::Done, "append of {number}");
}

fn refuse(log: &mut Box<dyn Log>, number: u64, epoch: u64) {
    let head = head(log);
    let answer = log.append(Number(number), Epoch(epoch), b"refused").expect("nothing fails");
    assert_eq!(answer, Append::Overtaken { head }, "append of {number} in epoch {epoch}");
    assert_eq!(self::head(log), head);
}

fn put(log: &mut Box<dyn Log>, at: u64, bytes: &[u8]) {
    let mut chunks = std::iter::once(bytes.to_vec());
    log.put_snapshot(Number(at), Epoch(1), &mut chunks).expect("nothing fails");
}

fn latest(log: &mut Box<dyn Log>) -> Option<(u64, Vec<u8>)> {
    let found = log.latest_snapshot().expect("nothing fails");
    found.map(|snapshot| (snapshot.at.0, snapshot.bytes))
}

fn trim_all(log: &mut Box<dyn Log>, upto: u64) -> u64 {
    let mut removed = 0;
    loop {
        let step = log.trim(Number(upto)).expect("nothing fails");
        if step == 0 {
            return removed;
        }
        removed += step;
    }
}

fn head(log: &mut Box<dyn Log>) -> Head {
    log.head().expect("nothing fails")
}

fn read(log: &mut Box<dyn Log>, from: u64) -> Vec<Record> {
    log.read(Number(from), usize::MAX).expect("nothing fails")
}

fn body(number: u64) -> Vec<u8> {
    format!("record {number}").into_bytes()
}
