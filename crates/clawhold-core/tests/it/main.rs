//! The core from outside: what holds whatever is asked, and whenever.
#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test says what went wrong by its panic, and its seed before it starts"
)]

mod condition;
mod draw;
mod golden;
mod model;
mod presence;
mod prose;
mod replica;
mod wall;
