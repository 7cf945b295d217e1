//! Prose from outside: what is understood, what is not, and what may never be.
//!
//! The fixtures hold one text a line. The mutation set turns every accepted sentence into what
//! no longer asks for it: the guard against somebody loosening the table.

use std::fs;
use std::path::PathBuf;

use clawhold_core::condition::Condition;
use clawhold_core::operation::{Class, Operation, PlannedStep, Reading};
use clawhold_core::prose::{
    Compiled, ExactTrouble, NotUnderstood, SENTENCES_MAX, TABLE, VetoKind, check_order, detector,
    exact, plan, views,
};
use expect_test::{Expect, expect};

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
fn no_machine_made_trap_becomes_an_operation_that_changes_anything() {
    let accepted = accepted_sentences();
    let (mut tried, mut through) = (0, Vec::new());
    for sentence in &accepted {
        for (name, mutate) in MUTATIONS {
            // Words behind an unquoted message belong to the message.
            if sentence.contains(" that the handoff ") && adds_behind(mutate, sentence) {
                continue;
            }
            let mutant = mutate(sentence);
            tried += 1;
            if plan(&mutant, &[]).plan.class() != Class::Read {
                through.push(format!("{name}: {mutant}"));
            }
        }
    }
    assert!(MUTATIONS.len() >= 25 && tried >= 1_500, "{} × = {tried}", MUTATIONS.len());
    assert_eq!(through, Vec::<String>::new(), "of {tried}");
}

#[test]
fn a_word_too_many_or_a_known_word_elsewhere_is_never_skipped() {
    // Each accepted sentence, with each of its words left out, doubled, or changed for another
    // word of the table, asks for what it asked for, for what its words say, or for nothing: never
    // for an operation that it did not name.
    let accepted = accepted_sentences();
    for sentence in &accepted {
        let own = forms(&plan(sentence, &[]));
        let words: Vec<&str> = sentence.split(' ').collect();
        for at in 0..words.len() {
            for foreign in ["not", "banana"] {
                let mut changed = words.clone();
                changed.insert(at, foreign);
                let text = changed.join(" ");
                let quoted = words[..at].iter().any(|word| word.contains('"'));
                let is_message = own.starts_with("notify.send") && (quoted || at >= 3);
                let compiled = plan(&text, &[]);
                let is_read = compiled.plan.class() == Class::Read;
                // A name or message in quotes may hold any word.
                let is_inside = text.matches(['"', '\'']).count() >= 2;
                assert!(is_read || is_message || is_inside, "{text}: {}", forms(&compiled));
            }
        }
    }
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
          unknown word: frobnicate; nearest: 1 lease.release role=run ("Release the lease.")
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
          unknown word: billing; nearest: 1 lease.release role=run ("Release the lease.")
    "#]],
    );
    check_told(
        "Stop worker mid-job.",
        expect![[r#"
            1 manual.confirm <- "Stop worker mid-job."
              unknown word: mid-job; nearest: 1 worker.stop_intake worker=run ("Stop the worker from taking new work."); 2 worker.stop worker=run ("Stop the worker at once."); 3 queue.pause_new queue=run ("Pause new work.")
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
    let returned = "job.return_held worker=run within=10s timeout=1m on_fail=continue";
    assert_eq!(
        form("job.return_held worker=trigger.worker within=10000ms timeout=60s on_fail=continue"),
        returned
    );
    assert_eq!(form("job.return_held within=10s timeout=1m on_fail=continue"), returned);
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
            r#"job.return_held takes no argument "wroker"; did you mean "worker"?; it takes worker, within, timeout, on_fail"#
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

type Mutation = fn(&str) -> String;

/// Ways to turn an order into what is none.
const MUTATIONS: &[(&str, Mutation)] = &[
    ("do not", |s| format!("Do not {}", lower(s))),
    ("don't", |s| format!("Don't {}", lower(s))),
    ("never", |s| format!("Never {}", lower(s))),
    ("unless", |s| format!("{} unless the leader is busy.", bare(s))),
    ("except", |s| format!("{}, except on Sundays.", bare(s))),
    ("twice", |s| format!("{} twice.", bare(s))),
    ("tomorrow", |s| format!("{} tomorrow.", bare(s))),
    ("every worker", |s| format!("{} for every worker.", bare(s))),
    ("all roles", |s| format!("{} on all roles.", bare(s))),
    ("pretend", |s| format!("Pretend to {}", lower(s))),
    ("say", |s| format!("Say '{}'", bare(s))),
    ("question", |s| format!("{}?", bare(s))),
    ("if", |s| format!("If the queue is empty, {}", lower(s))),
    ("if behind", |s| format!("{} if needed.", bare(s))),
    ("when", |s| format!("When the leader asks, {}", lower(s))),
    ("explain", |s| format!("Explain how to {}", lower(s))),
    ("consider", |s| format!("Consider this: {}", lower(s))),
    ("half", |s| format!("{}, but only half of it.", bare(s))),
    ("avoid", |s| format!("Avoid this: {}", lower(s))),
    ("undo", |s| format!("Undo \"{}\".", bare(s).replace('"', "'"))),
    ("maybe", |s| format!("Maybe {}", lower(s))),
    ("without", |s| format!("{} without asking.", bare(s))),
    ("nobody", |s| format!("Nobody may {}", lower(s))),
    ("while", |s| format!("{} while the leader sleeps.", bare(s))),
    ("until", |s| format!("{} until noon.", bare(s))),
    ("should", |s| format!("Should we {}", lower(s))),
    ("ask", |s| format!("Ask the operator to {}", lower(s))),
    ("sometimes", |s| format!("{} sometimes.", bare(s))),
    ("or", |s| format!("{}, or wait.", bare(s))),
    ("refuse", |s| format!("Refuse to {}", lower(s))),
    ("forget", |s| format!("Forget to {}", lower(s))),
    ("instead", |s| format!("{} instead of waiting.", bare(s))),
    ("after an unknown", |s| format!("{} after the parade.", bare(s))),
    ("before an unknown", |s| format!("{} before the moon rises.", bare(s))),
    ("slowly", |s| format!("{} slowly.", bare(s))),
    ("five times", |s| format!("{} 5 times.", bare(s))),
    ("somewhere else", |s| format!("{} in the other cluster.", bare(s))),
    ("story", |s| format!("Yesterday we had to {}", lower(s))),
    ("wish", |s| format!("I want to {}", lower(s))),
    ("brackets", |s| format!("({})", bare(s))),
    ("backwards", |s| {
        let words: Vec<&str> = bare(s).split(' ').rev().collect();
        words.join(" ")
    }),
    ("first word lost", |s| {
        // "Then" and its like may be left out; what follows them is the order.
        s.split_once(' ').map_or_else(String::new, |(_, rest)| format!("Zap {rest}"))
    }),
];

fn adds_behind(mutate: &Mutation, sentence: &str) -> bool {
    mutate(sentence).starts_with(bare(sentence))
}

fn bare(sentence: &str) -> &str {
    sentence.trim_end_matches(['.', ';', '!'])
}

fn lower(sentence: &str) -> String {
    let mut chars = sentence.chars();
    let first = chars.next().map(|c| c.to_lowercase().to_string()).unwrap_or_default();
    first + chars.as_str()
}

/// Returns each sentence of the seeds and the paraphrases that changes something.
fn accepted_sentences() -> Vec<String> {
    let seeds = rows("prose-seeds.txt").into_iter().filter(|(_, row)| row[0] == "steps");
    let seeds = seeds.map(|(_, row)| row[1].clone());
    let others = rows("prose-paraphrases.txt").into_iter().map(|(_, row)| row[0].clone());
    let mut all: Vec<String> = Vec::new();
    for text in seeds.chain(others) {
        for report in plan(&text, &[]).sentences {
            let acts = report.operations.iter().any(|made| made.class() != Class::Read);
            if acts && !all.contains(&report.text) {
                all.push(report.text);
            }
        }
    }
    all
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

fn check_exact(text: &str, expected: Expect) {
    let read: Result<PlannedStep, ExactTrouble> = exact(text, no_condition);
    expected.assert_eq(&read.unwrap_err().to_string());
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
