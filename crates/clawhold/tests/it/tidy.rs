//! Rules of the house that a reader would otherwise have to remember.
//!
//! Each rule is a plain function from text to faults; a fault names the place, what is wrong and
//! what to do. Every rule is also shown a text that breaks it, so that none can pass by not looking.

mod deploy;
mod documents;
mod imports;
mod reports;
mod repository;
mod sources;

/// Fails the test when there are faults, one to a line.
fn assert_none(faults: &[String]) {
    assert!(faults.is_empty(), "{} fault(s):\n{}\n", faults.len(), faults.join("\n"));
}
