//! Automation as operators meet it: what they type, what they are told, and what then happens.

mod definitions;
mod errors;
mod following;
mod running;
mod seed;
