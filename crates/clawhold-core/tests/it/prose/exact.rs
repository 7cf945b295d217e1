//! The exact form: written, read back, and told what is wrong with it.

use clawhold_core::operation::{PlannedStep, Reading};
use clawhold_core::prose::{ExactTrouble, exact, plan};
use expect_test::{Expect, expect};

use super::{no_condition, rows};

#[test]
fn every_operation_is_written_in_the_exact_form_and_read_back() {
    let texts = rows("prose-exact.txt");
    let mut names: Vec<&str> = Vec::new();
    for (text, _) in &texts {
        let step = exact(text, no_condition).unwrap_or_else(|why| panic!("{text}: {why}"));
        assert_eq!(&step.to_string(), text);
        let again = exact(&step.to_string(), no_condition).unwrap();
        assert_eq!(again, step, "{text}");
        names.push(step.operation.name());
    }
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 35, "each but wait.until: {names:?}");
    for (_, row) in rows("prose-paraphrases.txt") {
        for step in plan(&row[0], &[]).plan.steps {
            let again = exact(&step.to_string(), no_condition).unwrap();
            assert_eq!(again.operation, step.operation, "{step}");
        }
    }
}

#[test]
fn the_trigger_and_the_run_name_the_same_and_quotes_name_a_name() {
    let form = |text: &str| exact(text, no_condition).unwrap().to_string();
    let returned = "job.return_held worker=run within=20s timeout=1m on_fail=continue";
    assert_eq!(
        form("job.return_held worker=trigger.worker within=20000ms timeout=60s on_fail=continue"),
        returned
    );
    assert_eq!(form("job.return_held within=20s timeout=1m on_fail=continue"), returned);
    assert_eq!(form("worker.stop worker=\"run\""), "worker.stop worker=\"run\"");
    assert_eq!(form("worker.stop on_fail=stop"), "worker.stop worker=run");
    let step = exact("manual.confirm text=\"Look at the \\\"books\\\"\"", no_condition).unwrap();
    assert_eq!(step.sentence.as_str(), "Look at the \"books\"");
    assert_eq!(step.reading, Reading::Exact);
}

#[test]
fn a_condition_is_read_by_the_one_who_knows_conditions() {
    let refused = |text: &str| Err(format!("seen {text}"));
    let trouble = exact("wait.until condition=\"worker.held_jobs = 0\"", refused).unwrap_err();
    let why = "seen worker.held_jobs = 0".to_owned();
    assert_eq!(trouble, ExactTrouble::BadCondition { why });
}

#[test]
fn a_mistake_in_the_exact_form_names_what_is_allowed_and_meant() {
    check_exact("", expect!["is empty; write an operation, as job.return_held worker=run"]);
    check_exact(
        "job.return_hold",
        expect![[r#"no operation is named "job.return_hold"; did you mean "job.return_held"?"#]],
    );
    check_exact("frobnicate", expect![[r#"no operation is named "frobnicate""#]]);
    check_exact(
        "job.return_held wroker=w-3",
        expect![[
            r#"job.return_held takes no argument "wroker"; it takes worker, within, timeout, on_fail; did you mean "worker"?"#
        ]],
    );
    check_exact(
        "job.return_held queue=a",
        expect![[
            r#"job.return_held takes no argument "queue"; it takes worker, within, timeout, on_fail"#
        ]],
    );
    check_exact("job.return_held w-3", expect![[r#""w-3" is no argument; write key=value"#]]);
    check_exact(
        "job.return_held worker=a worker=b",
        expect!["worker is given twice; give it once"],
    );
    check_exact(
        "job.return_held within=soon",
        expect!["within=soon is no duration from 0s to 3650d; write it as 500ms, 30s, 5m, 1h"],
    );
    check_exact(
        "job.return_held within=4000d",
        expect!["within=4000d is no duration from 0s to 3650d; write it as 500ms, 30s, 5m, 1h"],
    );
    check_exact(
        "job.return_held timeout=0s",
        expect!["timeout=0s is no duration from 1ms to 3650d; write it as 500ms, 30s, 5m, 1h"],
    );
    check_exact(
        "job.return_held on_fail=contineu",
        expect![[r#"on_fail=contineu is none of stop, continue, ask; did you mean "continue"?"#]],
    );
    check_exact(
        "job.return_held worker=trigger.role",
        expect![
            "worker=trigger.role is not what triggers give here; write worker=trigger.worker or worker=run"
        ],
    );
    check_exact(
        "job.return_held worker=\"a b\"",
        expect![[r#"worker="a b" contains ' ', which is not allowed"#]],
    );
    check_exact(
        "job.return_held worker=\"a",
        expect!["the quote that opens at character 24 is not closed"],
    );
    check_exact("wait.for", expect!["wait.for needs time; write time=…"]);
    check_exact("agent.job text=x", expect!["agent.job needs agent; write agent=…"]);
    check_exact("notify.send text=\"\"", expect![[r#"text="" is empty"#]]);
    check_exact(
        "show.workers role=a",
        expect![[r#"show.workers takes no argument "role"; it takes timeout, on_fail"#]],
    );
}

fn check_exact(text: &str, expected: Expect) {
    let read: Result<PlannedStep, ExactTrouble> = exact(text, no_condition);
    expected.assert_eq(&read.unwrap_err().to_string());
}
