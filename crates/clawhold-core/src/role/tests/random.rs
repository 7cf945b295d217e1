//! Commands in any order: nothing panics, every invariant holds after each entry, tokens rise.

use std::string::String;
use std::vec::Vec;
use std::{format, vec};

use proptest::prelude::*;
use proptest::sample::select;

use crate::session::transcript::play;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_order_of_commands_keeps_every_promise(
        steps in prop::collection::vec((0_u64..200, command()), 1..120),
    ) {
        let mut now = 0;
        let stamped = steps.iter().map(|(passed, command)| {
            now += passed;
            format!("{now} {command}")
        });
        let opened = ["ana", "ben", "cem"].map(|who| format!("0 open {who} 5000"));
        let lines: Vec<String> = opened.into_iter().chain(stamped).collect();
        let said = play(lines.iter().map(String::as_str));
        prop_assert_eq!(said, play(lines.iter().map(String::as_str)));
    }
}

/// Returns any command, with names that meet and tokens that are often the right ones.
fn command() -> impl Strategy<Value = String> {
    let forms = vec![
        "open WHO 1000",
        "open WHO 1000 mail",
        "open WHO 400 mail",
        "close WHO",
        "lose WHO",
        "lose WHO",
        "heard WHO",
        "drain WHO 300",
        "drain WHO 0",
        "resume WHO",
        "role ROLE lag=P",
        "remove-role ROLE",
        "acquire ROLE WHO ttl=500 stream=STREAM",
        "acquire ROLE WHO",
        "await ROLE WHO stream=STREAM",
        "await ROLE WHO stream=STREAM",
        "withdraw ROLE WHO",
        "release ROLE WHO now",
        "release ROLE WHO N",
        "hand-over ROLE WHO",
        "hand-over ROLE best",
        "hand-over ROLE WHO by=WHO token=N",
        "ask ROLE WHO 300",
        "ask ROLE best 300",
        "lapse ROLE now",
        "lapse ROLE N",
        "standings ROLE WHO:P:100 WHO:-:600",
        "stream STREAM events=P age=500",
        "remove-stream STREAM",
        "append STREAM a b c",
        "append STREAM a expected=N",
        "commit ROLE WHO now at=STREAM:P",
        "commit ROLE WHO now at=STREAM:P",
        "commit ROLE WHO N at=STREAM:P",
        "commit ROLE WHO now at=STREAM:N job=mail:a append=STREAM:b append=STREAM:c",
        "enqueue mail a b",
        "claim WHO mail",
        "complete WHO N 1",
        "take-over N",
        "step-down",
        "tick",
    ];
    let names = prop::collection::vec((0_usize..3, 1_u64..30), 8);
    (select(forms), names).prop_map(|(form, names)| fill(form, &names))
}

fn fill(form: &str, names: &[(usize, u64)]) -> String {
    let mut names = names.iter().cycle();
    let mut said: Vec<String> = Vec::new();
    for word in form.split(' ') {
        let mut word: String = word.into();
        for (key, choices) in [
            ("WHO", ["ana", "ben", "cem"]),
            ("ROLE", ["billing", "report", "billing"]),
            ("STREAM", ["orders", "bills", "orders"]),
        ] {
            let choice = names.next().map_or(0, |(choice, _)| *choice);
            word = word.replace(key, choices[choice]);
        }
        let number = names.next().map_or(1, |(_, number)| *number);
        word = word.replace('P', &format!("{}", number % 5));
        said.push(word.replace('N', &format!("{number}")));
    }
    said.join(" ")
}
