//! A typed call for every route, one file for each noun.

mod alert;
mod condition;
mod definition;
mod inbox;
mod job;
mod queue;
mod role;
mod run;
mod server;
mod session;
mod stream;
mod worker;
