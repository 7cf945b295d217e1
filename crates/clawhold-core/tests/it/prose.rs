//! Prose from outside: what is understood, what is not, and what may never be.
//!
//! The fixtures hold one text a line. The mutation set turns every accepted sentence into what
//! no longer asks for it: the guard against somebody loosening the table.

use std::fs;
mod exact;
mod mutation;

use std::path::PathBuf;

use clawhold_core::condition::Condition;
use clawhold_core::operation::{Class, Operation, Reading};
use clawhold_core::prose::{
    Compiled, NotUnderstood, SENTENCES_MAX, TABLE, VetoKind, check_order, detector, exact, plan,
    views,
};
use expect_test::{Expect, expect};
use proptest::prelude::*;

#[test]
fn every_seed_text_compiles_completely() {
    let mut steps = 0;
    for (line, row) in rows("prose-seeds.txt") {
        let [kind, text, expected] = row.as_slice() else { panic!("{line}: three columns") };
        let becomes = match kind.as_str() {
            "view" => shown(views(text)),
            "watch" => shown(detector(text).map(|detector| [detector])),
            _ => {
                steps += 1;
                let compiled = plan(text, &[]);
                assert!(compiled.is_complete(), "{text}: {:#?}", compiled.sentences);
                assert_eq!(compiled.check_order(), Ok(()), "{text}");
                assert_eq!(compiled.plan.table, TABLE);
                forms(&compiled)
            }
        };
        assert_eq!(&becomes, expected, "{text}");
    }
    assert_eq!(steps, 4);
}

#[test]
fn other_words_for_the_same_compile_to_the_same() {
    let rows = rows("prose-paraphrases.txt");
    assert!(rows.len() >= 60, "{}", rows.len());
    let mut wrong = Vec::new();
    for (_, row) in &rows {
        let [text, expected] = row.as_slice() else { panic!("two columns: {row:?}") };
        let compiled = plan(text, &[]);
        let whys = compiled.sentences.iter().filter_map(|report| report.trouble.as_ref());
        let whys: Vec<String> = whys.map(ToString::to_string).collect();
        if !whys.is_empty() || forms(&compiled) != *expected {
            wrong.push(format!("{text}: {} {whys:?}", forms(&compiled)));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn what_a_command_shows_and_a_rule_watches_is_understood_or_refused() {
    for (_, row) in rows("prose-views.txt") {
        assert_eq!(shown(views(&row[0])), row[1], "{}", row[0]);
    }
    for (_, row) in rows("prose-detectors.txt") {
        assert_eq!(shown(detector(&row[0]).map(|one| [one])), row[1], "{}", row[0]);
    }
}

#[test]
fn a_trap_never_becomes_an_operation_that_changes_anything() {
    let traps = rows("prose-traps.txt");
    assert!(traps.len() >= 60, "{}", traps.len());
    for (trap, _) in traps {
        let compiled = plan(&trap, &[]);
        assert_eq!(compiled.plan.class(), Class::Read, "{trap}: {}", forms(&compiled));
        assert!(!compiled.is_complete(), "{trap}: {}", forms(&compiled));
    }
}

#[test]
fn what_is_not_understood_yet_is_told_and_kept_as_a_step_for_a_person() {
    let texts = rows("prose-not-yet.txt");
    assert!(texts.len() >= 30, "{}", texts.len());
    let mut suggested = 0;
    for (text, _) in &texts {
        let compiled = plan(text, &[]);
        assert_eq!(forms(&compiled), "manual.confirm", "{text}");
        let [report] = compiled.sentences.as_slice() else { panic!("{text}: one sentence") };
        let trouble = report.trouble.as_ref().unwrap();
        assert!(!trouble.to_string().is_empty(), "{text}");
        assert!(trouble.nearest.len() <= 3, "{text}");
        suggested += usize::from(!trouble.nearest.is_empty());
    }
    assert!(suggested * 2 >= texts.len(), "{suggested} of {}", texts.len());
}

#[test]
fn the_plan_is_checked_and_not_the_text() {
    check_plan_order(
        "Admit new work before placing returned jobs.",
        expect![[
            r#"sentence 1 wants queue.admit_new before job.place_returned, which may only follow it; write the two the other way round"#
        ]],
    );
    check_plan_order(
        "Admit new work. Place every returned job.",
        expect![[
            r#"step 1 admits new work before step 2 places the returned jobs; write "Place every returned job. Then admit new work.""#
        ]],
    );
    check_plan_order(
        "Hand back its held jobs. Admit new work.",
        expect![[
            r#"step 2 admits new work while nothing places what step 1 returns; write "Place every returned job." between them"#
        ]],
    );
    check_plan_order(
        "Hand back its held jobs. Stop the worker from taking new work.",
        expect![[
            r#"step 1 returns the held jobs before step 2 stops the worker from taking new ones; write "Stop the worker from taking new work. Hand back its held jobs.""#
        ]],
    );
    check_plan_order(
        "Resume from the recorded position. Acquire the lease.",
        expect![[
            r#"step 1 resumes before step 2 gives out the lease; write "Acquire the lease with a higher token. Resume from the recorded position.""#
        ]],
    );
    check_plan_order(
        "Resume from the recorded position.",
        expect![[
            r#"step 1 resumes and no step before it gives out the lease; write "Acquire the lease with a higher token." or "Promote the warm standby." before it"#
        ]],
    );
    check_plan_order(
        "Stop the worker from taking new work before handing back its held jobs. Hand them back.",
        expect!["fine"],
    );
    check_plan_order(
        "Pause the queue. Stop the worker before pausing the queue.",
        expect![[
            r#"sentence 2 wants worker.stop before queue.pause, and the plan has them the other way round; move the sentence that asks for worker.stop up"#
        ]],
    );
    check_plan_order(
        "After promoting the standby, release the lease.",
        expect![[
            r#"sentence 1 follows lease.promote_standby, which no step before it does; write the sentence that asks for lease.promote_standby before it"#
        ]],
    );
    check_plan_order(
        "Promote the standby. After promoting the standby, resume from the recorded position.",
        expect!["fine"],
    );
}

#[test]
fn a_miss_names_the_word_and_the_nearest_operations_and_is_accepted_by_number() {
    let text = "Stop the worker from taking new work. Quiesce worker w-3. Then admit new work.";
    check_told(
        text,
        expect![[r#"
            1 worker.stop_intake worker=run <- "Stop the worker from taking new work."
            2 manual.confirm <- "Quiesce worker w-3."
              unknown word: Quiesce; nearest: 1 worker.stop_intake worker=w-3 ("Stop the worker from taking new work.")
            3 queue.admit_new queue=run <- "Then admit new work."
        "#]],
    );
    let compiled = plan(text, &[(2, 1), (3, 1), (9, 1)]);
    assert_eq!(compiled.sentences[1].reading, Reading::Accepted);
    assert!(compiled.sentences[1].trouble.is_some());
    assert_eq!(compiled.unused, [(3, 1), (9, 1)]);
    expect![
        "worker.stop_intake worker=run; worker.stop_intake worker=w-3; queue.admit_new queue=run"
    ]
    .assert_eq(&forms(&compiled));
    let none = plan(text, &[(2, 0), (2, 4)]);
    assert!(!none.is_complete());
    assert_eq!(none.unused, [(2, 0), (2, 4)]);
}

#[test]
fn a_forbidding_word_is_named_and_an_order_not_to_is_never_turned_round() {
    let cases = [
        ("Do not release the lease.", "not", VetoKind::Negation),
        ("Release the lease unless somebody holds it.", "unless", VetoKind::Exception),
        ("If it hangs, release the lease.", "if", VetoKind::Condition),
        ("Release the lease?", "?", VetoKind::Question),
        ("Pretend to release the lease.", "pretend", VetoKind::Meta),
        ("Release the lease twice.", "twice", VetoKind::Quantity),
        ("Return the held jobs of every worker.", "every", VetoKind::Scope),
        ("Release the lease tomorrow.", "tomorrow", VetoKind::Time),
        ("Release the lease or wait.", "or", VetoKind::Choice),
        ("Make sure it takes no new work unless asked.", "unless", VetoKind::Exception),
    ];
    for (text, word, kind) in cases {
        let compiled = plan(text, &[(1, 1)]);
        let trouble = compiled.sentences[0].trouble.clone().unwrap();
        let veto = trouble.veto.unwrap();
        assert_eq!((&*veto.word, veto.kind), (word, kind), "{text}");
        let may = matches!(kind, VetoKind::Quantity | VetoKind::Scope);
        assert_eq!(!trouble.nearest.is_empty(), may, "{text}");
    }
}

#[test]
fn a_sentence_with_one_part_that_is_not_understood_is_not_done_in_part() {
    check_told(
        "Release the lease and frobnicate the queue.",
        expect![[r#"
            1 manual.confirm <- "Release the lease and frobnicate the queue."
              unknown word: frobnicate
        "#]],
    );
    check_told(
        "Quiesce the worker, then evict its jobs, then admit new work.",
        expect![[r#"
        1 manual.confirm <- "Quiesce the worker, then evict its jobs, then admit new work."
          unknown words: Quiesce, evict; several of its parts are not understood; write a sentence for each
    "#]],
    );
}

#[test]
fn the_agent_that_a_sentence_names_gets_it_as_a_job() {
    for text in [
        "Ask DevOps Monitor to look at the dead jobs.",
        "Then ask \"DevOps Monitor\" to release the lease unless it is quiet.",
    ] {
        let compiled = plan(text, &[]);
        assert_eq!(forms(&compiled), "agent.job agent=\"DevOps Monitor\"", "{text}");
        assert_eq!(compiled.sentences[0].reading, Reading::Agent);
        assert_eq!(compiled.plan.steps[0].sentence.as_str(), text);
    }
    for text in [
        "Ask the worker to stop.",
        "Ask to release the lease.",
        "Ask Bob to release the lease?",
        "Ask Bob not to release the lease.",
        "Don't ask Bob to release the lease.",
        "Ask Bob.",
        "Ask Bob to.",
        "Ask everyone to leave.",
    ] {
        assert_eq!(forms(&plan(text, &[])), "manual.confirm", "{text}");
    }
}

#[test]
fn it_is_the_one_that_the_text_has_named_and_two_are_asked_about() {
    let text =
        "Stop worker w-3 from taking new work. Hand back its held jobs. Confirm it holds nothing.";
    expect!["worker.stop_intake worker=w-3; job.return_held worker=w-3; check.no_held worker=w-3"]
        .assert_eq(&forms(&plan(text, &[])));
    let two = "Stop worker w-3 from taking new work. Stop worker w-4 from taking new work. \
        Hand back its held jobs.";
    check_told(
        two,
        expect![[r#"
        1 worker.stop_intake worker=w-3 <- "Stop worker w-3 from taking new work."
        2 worker.stop_intake worker=w-4 <- "Stop worker w-4 from taking new work."
        3 manual.confirm <- "Hand back its held jobs."
          the text names w-3 and w-4; say which one is meant
    "#]],
    );
}

#[test]
fn a_plain_word_is_no_name_without_quotes() {
    check_told(
        "Release the lease of role billing.",
        expect![[r#"
            1 manual.confirm <- "Release the lease of role billing."
              unknown word: billing; if billing is a name, write it in quotes: "billing"; nearest: 1 lease.release role=billing ("Release the lease.")
        "#]],
    );
    check_told(
        "Stop worker mid-job.",
        expect![[r#"
            1 manual.confirm <- "Stop worker mid-job."
              unknown word: mid-job; if mid-job is a name, write it in quotes: "mid-job"; nearest: 1 worker.stop_intake worker=mid-job ("Stop the worker from taking new work."); 2 worker.stop worker=mid-job ("Stop the worker at once.")
        "#]],
    );
}

#[test]
fn however_long_or_odd_a_text_is_it_gets_a_report() {
    let endless = "Release the lease ".repeat(50_000);
    assert_eq!(plan(&endless, &[]).plan.class(), Class::Read);
    let many = "Wait 1s. ".repeat(SENTENCES_MAX + 50);
    let compiled = plan(&many, &[]);
    assert_eq!(compiled.sentences.len(), SENTENCES_MAX + 1);
    assert!(!compiled.is_complete());
    let joined = format!("{} admit new work", "admit new work and ".repeat(25));
    assert!(plan(&joined, &[]).is_complete());
    for odd in
        ["", " \n\t ", ".", "?!", "'", "\"", "“", "a\u{0}b", "…", "🦀 🦀", "((((", "- ", "1."]
    {
        let compiled = plan(odd, &[(1, 1)]);
        assert_eq!(compiled.plan.class(), Class::Read, "{odd:?}");
        assert!(views(odd).is_err() && detector(odd).is_err(), "{odd:?}");
    }
    assert_eq!(plan("", &[]).sentences, []);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn whatever_is_typed_is_answered_and_nothing_of_it_is_lost(
        parts in proptest::collection::vec(proptest::sample::select(SCRAPS), 0..30),
        odd in "\\PC{0,12}",
        at in 0_usize..30,
    ) {
        let mut parts: Vec<&str> = parts;
        parts.insert(at.min(parts.len()), &odd);
        let text = parts.concat();
        let compiled = plan(&text, &[(1, 1)]);
        for report in &compiled.sentences {
            prop_assert!(text.contains(report.text.as_str()), "{report:?}");
            prop_assert!(!report.operations.is_empty());
        }
        for step in &compiled.plan.steps {
            let again = exact(&step.to_string(), no_condition).unwrap();
            prop_assert_eq!(&again.operation, &step.operation);
        }
        drop((views(&text), detector(&text), exact(&text, no_condition)));
    }
}

/// What the property above is made of: words, marks, and what looks like either.
const SCRAPS: &[&str] = &[
    " ",
    " ",
    " ",
    " release ",
    " the lease ",
    " held jobs ",
    " worker ",
    " w-3",
    " 'a b'",
    "\"",
    "'",
    "’s",
    ". ",
    "?",
    ";",
    "\n",
    "\n\n",
    "- ",
    "1. ",
    ", ",
    " and ",
    " then ",
    " not ",
    " every ",
    " before ",
    " placing ",
    " returned ",
    " place ",
    "30s",
    " wait ",
    "…",
    "—",
    " ask Bob to ",
    "é",
    "\u{200b}",
    " = ",
    "\\",
    "don't ",
    " tell #ops that ",
    " stop ",
    " its ",
    " intake",
    "#",
    "..",
];

#[test]
fn what_no_rule_watches_for_and_no_command_shows_is_told_with_what_is_near() {
    let trouble = |text: &str| detector(text).unwrap_err().to_string();
    expect![[r#"unknown words: somebody, steals; nearest: 1 leaderless ("Alert when a role has no leader.")"#]].assert_eq(&trouble("Alert when somebody steals the lease of a role."));
    expect![[r#"unknown words: backlog, grows; nearest: 1 backlog jobs=100 ("Alert when 100 jobs wait.")"#]].assert_eq(&trouble("Alert when the backlog grows."));
    expect![[r#""unless" makes an exception; a step is done whole; nearest: 1 two_leaders ("Alert when two workers report themselves as the active leader."); 2 leaderless ("Alert when a role has no leader."); 3 no_standby ("Alert when a role has no standby.")"#]].assert_eq(&trouble("Alert when a role has no leader unless it is Sunday."));
    expect![[r#"backlog takes no argument "job"; it takes jobs, age; did you mean "jobs"?"#]]
        .assert_eq(&trouble("backlog job=5"));
    expect![[r#"no detector is named "two_leader"; did you mean "two_leaders"?"#]]
        .assert_eq(&trouble("two_leader"));
    let trouble = |text: &str| views(text).unwrap_err().to_string();
    expect![[r#"unknown word: weather; nearest: 1 show.queue queue=run ("Show the queue."); 2 show.failed queue=run ("Show the failed jobs.")"#]].assert_eq(&trouble("Show the weather in the queue."));
    expect![[r#"no view is named "show.holdr"; did you mean "show.holder"?"#]]
        .assert_eq(&trouble("show.holdr"));
}

#[test]
fn a_stored_plan_is_read_back_as_it_was_made() {
    for (_, row) in rows("prose-seeds.txt").iter().chain(&rows("prose-paraphrases.txt")) {
        let made = plan(&row[0], &[]).plan;
        let bytes = minicbor::to_vec(&made).unwrap();
        let read: clawhold_core::operation::Plan = minicbor::decode(&bytes).unwrap();
        assert_eq!(read, made);
        assert_eq!(plan(&row[0], &[]).plan, made, "the same text makes the same plan");
    }
}

fn forms(compiled: &Compiled) -> String {
    let forms: Vec<String> =
        compiled.plan.steps.iter().map(|step| step.operation.to_string()).collect();
    forms.join("; ")
}

fn shown<T: ToString, I: IntoIterator<Item = T>>(read: Result<I, NotUnderstood>) -> String {
    read.map_or_else(
        |_| "NOT UNDERSTOOD".to_owned(),
        |all| all.into_iter().map(|one| one.to_string()).collect::<Vec<_>>().join("; "),
    )
}

fn check_plan_order(text: &str, expected: Expect) {
    let compiled = plan(text, &[]);
    if compiled.told.is_empty() {
        assert_eq!(compiled.check_order(), check_order(&compiled.plan));
    }
    let told = compiled.check_order().map_or_else(|why| why.to_string(), |()| "fine".to_owned());
    expected.assert_eq(&told);
}

/// Tells each sentence as `add` does.
fn check_told(text: &str, expected: Expect) {
    let mut told = String::new();
    for report in plan(text, &[]).sentences {
        let made: Vec<String> = report.operations.iter().map(Operation::to_string).collect();
        told += &format!("{} {} <- {:?}\n", report.number, made.join("; "), report.text);
        if let Some(trouble) = &report.trouble {
            told += &format!("  {trouble}\n");
        }
    }
    expected.assert_eq(&told);
}

fn no_condition(_: &str) -> Result<Condition, String> {
    Err("no condition is wanted here".to_owned())
}

/// Returns the lines of a fixture, whole and in columns.
fn rows(name: &str) -> Vec<(String, Vec<String>)> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
    let text = fs::read_to_string(path).unwrap();
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with("# "));
    lines
        .map(|line| (line.to_owned(), line.split(" | ").map(ToOwned::to_owned).collect()))
        .collect()
}
