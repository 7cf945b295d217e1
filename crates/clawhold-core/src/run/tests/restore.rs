//! What a restore means for held jobs, runs under way and the limits of fixes.

use super::*;
use crate::command::Restore;
use crate::units::ClaimNumber;

const FLOOR: u64 = 1 << 36;

#[test]
fn a_restore_pauses_fixes_until_a_person_resumes_and_a_role_is_given_natively_meanwhile() {
    let (mut world, _, _) = with_leader();
    world.define("Promote Standby", Spec::AutoFix(promote_standby()));
    restore(&mut world);
    let ben = world.session("ben", &[], 10_000);
    world.acquire("billing", ben);
    world.lapse("billing");
    assert_eq!(world.holder("billing"), Some(ben.id));
    assert!(world.state.roles().floor(&name("billing")).unwrap() > Token(FLOOR));
    assert!(world.runs().is_empty());
    let reason = world.state.automation().paused().unwrap().reason.as_str().to_owned();
    assert_eq!(
        reason,
        "restored from a backup; runs of fixes since then are not counted, see to it and resume"
    );
    let cem = world.session("cem", &[], 10_000);
    world.acquire("billing", cem);
    world.automate(Automate::UnpauseAutomation);
    world.lapse("billing");
    assert_eq!(world.holder("billing"), Some(cem.id));
    assert_eq!(world.runs().len(), 1);
    assert!(world.runs()[0].id > RunId(FLOOR), "{}", world.runs()[0].id);
}

#[test]
fn a_restore_leaves_automation_alone_where_there_is_no_fix() {
    let mut world = World::new();
    restore(&mut world);
    assert_eq!(world.state.automation().paused(), None);
}

#[test]
fn a_restore_refills_no_budget() {
    let (mut world, _, _) = with_leader();
    world.define("Promote Standby", Spec::AutoFix(promote_standby()));
    world.lapse("billing");
    let title = Title::parse("Promote Standby").unwrap();
    let left = world.state.runs_left(&title).unwrap().0;
    assert_eq!(left, 5);
    restore(&mut world);
    assert_eq!(world.state.runs_left(&title).unwrap().0, left);
}

#[test]
fn a_run_under_way_at_the_backup_is_called_off_since_nobody_knows_how_it_went_on() {
    let mut world = World::new();
    world.define("Hold", runbook([Operation::Confirm]));
    world.automate(Automate::StartRun(start(Noun::Runbook, "Hold", &[])));
    restore(&mut world);
    let runs = world.runs();
    assert_eq!((runs.len(), runs[0].state), (1, RunState::Cancelled));
    assert_eq!(runs[0].why.as_str(), "restored from a backup: how it went on is not known");
}

#[test]
fn a_held_job_comes_back_after_the_grace_under_a_claim_of_its_own_and_counts_no_loss() {
    let mut world = World::new();
    let ana = world.session("ana", &["mail"], 10_000);
    world.enqueue("mail", 2);
    assert_eq!(world.claim(ana, "mail", 1), 1);
    restore(&mut world);
    let ben = world.session("ben", &["mail"], 60_000);
    assert_eq!(world.claim(ben, "mail", 10), 1, "what a stranger holds is not given at once");
    world.pass(10_000);
    let job = world.state.jobs().job(JobId(1)).unwrap();
    assert_eq!((job.state, job.losses, job.attempts), (JobState::Returned, 0, 0));
    assert_eq!(world.claim(ben, "mail", 10), 1);
    for job in [1, 2] {
        let job = world.state.jobs().job(JobId(job)).unwrap();
        assert_eq!(job.claim, ClaimNumber(FLOOR + 1));
    }
    world.enqueue("mail", 1);
    assert!(world.state.jobs().job(JobId(FLOOR + 1)).is_some());
}

#[test]
fn a_definition_made_or_changed_after_a_restore_has_a_version_above_the_floor() {
    let mut world = World::new();
    let fix = promote_standby();
    world.define("Old", Spec::AutoFix(fix.clone()));
    restore(&mut world);
    world.define("New", Spec::AutoFix(fix.clone()));
    world.define("Old", Spec::AutoFix(AutoFix { approval_ms: 1, ..fix }));
    for title in ["New", "Old"] {
        let title = Title::parse(title).unwrap();
        let known = world.state.automation().catalog().get(Noun::AutoFix, &title).unwrap();
        assert_eq!(known.version, FLOOR + 1);
    }
}

fn restore(world: &mut World) {
    let reason = Text::cut("restored from a backup");
    world.ok(Command::Restore(Restore { floor: Position(FLOOR), drawn: 42, reason }));
}
