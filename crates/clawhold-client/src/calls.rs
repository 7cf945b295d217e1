//! A typed call for every route, one file for each noun.

mod job;
mod queue;
mod role;
mod server;
mod session;
mod stream;
mod worker;
