//! What was counted in one world, or in many.

use std::fmt;
use std::ops::AddAssign;

macro_rules! totals {
    ($($(#[$doc:meta])* $field:ident),* $(,)?) => {
        /// What was counted.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub(crate) struct Totals {
            $($(#[$doc])* pub(crate) $field: u64),*
        }

        impl AddAssign for Totals {
            fn add_assign(&mut self, other: Self) {
                $(self.$field += other.$field;)*
            }
        }
    };
}

totals! {
    /// Commands whose answer reached their client.
    answered,
    takeovers,
    grants,
    lapses,
    jobs,
    claims,
    returned,
    completed,
    /// Events that a leader dealt with.
    events,
    kills,
    power_cuts,
    pauses,
    partitions,
    messages_broken,
    clock_jumps,
    snapshots,
    /// Servers that found the log trimmed and began anew with a snapshot.
    restored,
    /// Writes whose outcome their server did not learn in time.
    unknown,
    /// Records that were written under an overtaken term.
    void,
    /// Requests that ran again after a clock jumped beyond the time their answers are kept.
    forgotten,
    /// States compared by their hash.
    hashes,
    /// Requests that came again and got the first answer.
    replayed,
    stale_refused,
    /// Milliseconds from the last fault to the end.
    calm_ms,
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { answered, takeovers, grants, lapses, jobs, claims, .. } = self;
        let Self { returned, completed, events, kills, power_cuts, pauses, partitions, .. } = self;
        let Self { messages_broken, clock_jumps, snapshots, restored, unknown, void, .. } = self;
        let Self { forgotten, hashes, replayed, stale_refused, .. } = self;
        writeln!(
            f,
            "{answered} commands acknowledged, {jobs} jobs, {claims} claims, {returned} returned, \
             {completed} completed, {events} events dealt with"
        )?;
        writeln!(
            f,
            "{takeovers} takeovers, {grants} grants, {lapses} lapses, {replayed} repeated requests \
             answered alike, {forgotten} run again a day of wall clock later, {stale_refused} stale \
             writes refused"
        )?;
        writeln!(
            f,
            "{kills} kills, {power_cuts} power cuts, {pauses} pauses, {partitions} partitions, \
             {messages_broken} messages lost, late or doubled, {clock_jumps} clock jumps"
        )?;
        write!(
            f,
            "{unknown} writes of unknown outcome, {void} void records, {snapshots} snapshots, \
             {restored} restarts behind a trimmed log, {hashes} states compared"
        )
    }
}
