//! Chance that does not depend on what was drawn before.
//!
//! Each draw names what it is for. A world that leaves one act out therefore draws the same
//! for all the others.

use fastrand::Rng;

/// Returns chance for one purpose: a world's seed and whatever tells the draw from others.
pub(crate) fn dice(seed: u64, what: &str, numbers: &[u64]) -> Rng {
    let letters = what.bytes().map(u64::from);
    let mixed = letters.chain(numbers.iter().copied()).fold(seed, |sum, number| mix(sum ^ number));
    Rng::with_seed(mixed)
}

/// One round of splitmix64.
fn mix(sum: u64) -> u64 {
    let sum = sum.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let sum = (sum ^ (sum >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let sum = (sum ^ (sum >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    sum ^ (sum >> 31)
}
