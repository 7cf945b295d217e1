//! The engines, each through the conformance suite and then through what is its own.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![expect(clippy::print_stdout, reason = "a test that draws at random says its seed and count")]

mod backup;
mod certificates;
mod damage;
mod jetstream;
mod memory;
mod postgres;
mod postgres_process;
mod postgres_server;
mod postgres_shared;
mod postgres_tls;
mod sqlite;
mod sqlite_process;
