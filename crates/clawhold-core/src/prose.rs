//! Prose to typed operations: every content word explained, or nothing.
