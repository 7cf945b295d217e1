//! Automation as operators meet it: what they type, what they are told, and what then happens,
//! also when something is killed, frozen or sent home.

mod scene;
mod sink;

mod definitions;
mod errors;
mod following;
mod running;
mod seed;

mod belief;
mod chat;
mod control;
mod delivery;
mod leave;
mod orphan;
mod promote;
mod runbook;
mod takeover;
