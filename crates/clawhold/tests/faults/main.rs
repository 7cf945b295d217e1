//! The promises under faults: real processes that are killed, frozen, cut off and starved of their
//! disk, and what the record, an outside sink and a tally say afterwards.
//!
//! Each test starts a fleet of its own: two servers on one store (a file, or in `engines` PostgreSQL
//! and NATS), two that lead or stand by, two
//! workers, and producers that keep a ledger of every answer. The named tests show one kind of
//! fault each; `rounds` draws many from a seed (`CLAWHOLD_FAULT_ROUNDS` rounds, `CLAWHOLD_FAULT_SEED`
//! to repeat one choice).
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may panic, and says what it saw"
)]

mod backend;
mod fleet;
mod ledger;
mod process;
mod relay;
mod shim;
mod sink;
mod store;
mod tally;
mod verdict;

mod fault;
mod schedule;

mod clock;
mod cut;
mod disk;
mod engines;
mod kill;
mod pause;
mod reply;
mod rounds;
mod slow;
