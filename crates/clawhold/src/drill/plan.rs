//! The faults of a drill in their seeded order, and the files that go with each.

use std::ops::Range;

/// Something that goes wrong on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The leader is frozen past its ttl and thawed once the standby acts.
    FreezeLeader,
    /// The leader, who was promoted after the freeze, is killed with -9.
    KillLeader,
    /// A worker leaves by SIGTERM in the middle of a job.
    DrainWorker,
    /// A worker is killed with -9 in the middle of a job.
    KillWorker,
    /// The active server is killed with -9.
    KillServer,
}

impl Fault {
    /// Every fault.
    pub(crate) const ALL: [Self; 5] = [
        Self::FreezeLeader,
        Self::KillLeader,
        Self::DrainWorker,
        Self::KillWorker,
        Self::KillServer,
    ];

    /// Returns what happens, in words.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::FreezeLeader => "freeze leader",
            Self::KillLeader => "kill leader",
            Self::DrainWorker => "drain worker",
            Self::KillWorker => "kill worker",
            Self::KillServer => "kill server",
        }
    }
}

/// What a drill does and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    /// The faults in their order.
    pub(crate) stages: Vec<Stage>,
    /// The files that are announced after the last fault.
    pub(crate) rest: Range<usize>,
}

/// One fault and the files that are announced with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stage {
    /// What goes wrong.
    pub(crate) fault: Fault,
    /// The files that go with it: some are announced before it goes wrong, the rest as it does.
    pub(crate) files: Range<usize>,
    /// How many jobs have ended when it goes wrong.
    pub(crate) after_completed: usize,
    /// Which of the eligible processes it meets.
    pub(crate) pick: u32,
}

impl Plan {
    /// Returns the plan that `seed` stands for, over `files_count` files.
    pub(crate) fn new(seed: u64, files_count: usize) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut faults = Fault::ALL;
        random.shuffle(&mut faults);
        put_freeze_before_kill(&mut faults);
        // Rounded up, so that the first stage has the only file if there is one.
        let parts = faults.len() + 1;
        let bound = |part: usize| (files_count * part).div_ceil(parts);
        let stages = faults.iter().enumerate().map(|(part, fault)| {
            let files = bound(part)..bound(part + 1);
            let percent = random.usize(20..70);
            let after_completed = files.start + files.len() * percent / 100;
            Stage { fault: *fault, files, after_completed, pick: random.u32(..) }
        });
        let stages = stages.collect();
        Self { stages, rest: bound(faults.len())..files_count }
    }
}

/// The leader that is killed is the one that was promoted when the first was frozen.
fn put_freeze_before_kill(faults: &mut [Fault]) {
    let place = |wanted: Fault| faults.iter().position(|fault| *fault == wanted);
    let (freeze, kill) = (place(Fault::FreezeLeader), place(Fault::KillLeader));
    if let (Some(freeze), Some(kill)) = (freeze, kill)
        && kill < freeze
    {
        faults.swap(kill, freeze);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_seed_repeats_the_plan_and_another_gives_another_order() {
        assert_eq!(Plan::new(5, 100), Plan::new(5, 100));
        let orders: HashSet<Vec<&str>> = (0..2_000)
            .map(|seed| Plan::new(seed, 0).stages.iter().map(|s| s.fault.as_str()).collect())
            .collect();
        assert_eq!(orders.len(), 60, "5 faults in every order that has the freeze first");
    }

    #[test]
    fn every_file_is_announced_once_whatever_their_number() {
        for files_count in [0, 1, 2, 5, 6, 7, 2_000, 10_007] {
            let plan = Plan::new(3, files_count);
            let ranges = plan.stages.iter().map(|stage| &stage.files).chain([&plan.rest]);
            let files: Vec<usize> = ranges.flat_map(Clone::clone).collect();
            assert_eq!(files, (0..files_count).collect::<Vec<_>>());
            for stage in &plan.stages {
                assert!(stage.after_completed <= stage.files.end);
            }
        }
    }

    #[test]
    fn every_fault_happens_and_the_freeze_comes_before_the_kill() {
        for seed in 0..100 {
            let faults: Vec<Fault> = Plan::new(seed, 9).stages.iter().map(|s| s.fault).collect();
            assert!(Fault::ALL.iter().all(|fault| faults.contains(fault)));
            let place = |wanted| faults.iter().position(|fault| *fault == wanted);
            assert!(place(Fault::FreezeLeader) < place(Fault::KillLeader));
        }
    }
}
