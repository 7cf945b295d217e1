//! Automation with real processes: what the seed commands promise, when something is killed,
//! frozen or sent home.

mod scene;
mod sink;

mod belief;
mod chat;
mod control;
mod delivery;
mod leave;
mod orphan;
mod promote;
mod runbook;
mod takeover;
