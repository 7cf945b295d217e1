//! The program: arguments, output and exit codes. It can do nothing that the API cannot.
//!
//! [`main`] is called by both binaries, `clawhold` and `openclaw`.

mod cli;
mod config;
mod context;
mod duration;
mod exit;
mod failure;
mod moment;
mod number;
mod output;
mod passthrough;
mod program;
mod runnable;
mod suggest;
mod table;
mod text;

mod drill;
mod hidden;
mod interrupt;
mod lead;
mod work;

pub(crate) use clawhold_client::api;

pub use program::main;

/// Jobs come and go in millions, on several threads: the system's allocator takes a third of the
/// processor for that.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
