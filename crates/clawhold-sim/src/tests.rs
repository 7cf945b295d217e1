//! The simulator itself: one seed is one world, a script is a world, and the checker notices.

use std::path::Path;

use crate::plan;
use crate::rule::Rule;
use crate::script::Script;
use crate::shrink::shrink;
use crate::world::World;

/// Commands of one world in these tests.
const COMMANDS: u64 = 250;
/// Worlds within which a broken rule must be noticed.
const SEEDS_MAX: u64 = 200;

#[test]
fn the_same_seed_gives_the_same_world_twice_and_another_seed_another_one() {
    let digest = |seed| World::new(plan::draw(seed, COMMANDS, None)).run().digest;
    assert_eq!(digest(1), digest(1));
    assert_ne!(digest(1), digest(2));
}

#[test]
fn a_script_that_is_printed_and_read_again_is_the_same_world() {
    let script = plan::draw(7, COMMANDS, Some(Rule::SkipHold));
    let read = Script::parse(&script.print()).unwrap();
    assert_eq!(read, script);
    let sound = Script { rule: None, ..script };
    let read = Script { rule: None, ..read };
    assert_eq!(World::new(read).run().digest, World::new(sound).run().digest);
}

#[test]
fn a_line_that_is_no_act_and_no_setting_is_named() {
    let error = Script::parse("seed 1\n12 c0 dance 3").unwrap_err();
    assert!(error.starts_with("line 2: \"12 c0 dance 3\" is no act"), "{error}");
    let error = Script::parse("servers 70").unwrap_err();
    assert_eq!(error, "line 1: servers is 70, allowed is 1 to 9");
}

#[test]
fn every_rule_that_is_broken_on_purpose_is_noticed() {
    for rule in Rule::ALL {
        let noticed = (1..=SEEDS_MAX).find(|seed| {
            let outcome = World::new(plan::draw(*seed, COMMANDS, Some(rule))).run();
            !outcome.broken.is_empty()
        });
        assert!(noticed.is_some(), "{rule} is broken and {SEEDS_MAX} worlds look sound");
    }
}

#[test]
fn a_failing_world_is_made_small_and_still_fails_alike() {
    let script = plan::draw(1, COMMANDS, Some(Rule::StaleCompletion));
    let outcome = World::new(script.clone()).run();
    assert!(outcome.broken[0].contains("a stale completion was accepted"), "{outcome:?}");
    let (small, again) = shrink(&script, &outcome);
    assert!(small.acts.len() * 10 < script.acts.len(), "{} acts are left", small.acts.len());
    assert!(again.broken[0].contains("a stale completion was accepted"), "{again:?}");
}

/// Each script in the folder was a failure once; the product has been mended since.
#[test]
fn every_world_that_failed_once_is_sound() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let script = Script::parse(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let broken = World::new(script).run().broken;
        assert_eq!(broken, Vec::<String>::new(), "{}", path.display());
        count += 1;
    }
    assert!(count > 0, "there is no script");
}
