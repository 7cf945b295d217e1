//! The simulator itself: same seed, same world; scripts; and that the checker notices.
