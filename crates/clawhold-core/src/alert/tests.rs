//! Alerts from the first sign to the end, told as transcripts.

mod find;
mod tell;
mod turn;
