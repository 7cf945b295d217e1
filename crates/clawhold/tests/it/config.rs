//! Where a command goes: flag, environment, config file, default.

use expect_test::expect;

use crate::place::{CLAWHOLD, Place, Said, free_port, said};

fn with(place: &Place, line: &str, set: &[(&str, &str)]) -> Said {
    let mut command = place.command(CLAWHOLD);
    command.args(line.split_whitespace()).envs(set.iter().copied());
    said(command, b"")
}

#[test]
fn the_store_is_below_home_unless_it_is_named() {
    let place = Place::new();
    place.json("queue set here");
    assert!(place.path().join(".local/state/clawhold/clawhold.db").is_file());
    let state = place.path().join("state");
    let state = state.to_str().unwrap();
    assert_eq!(with(&place, "queue set x", &[("XDG_STATE_HOME", state)]).code, 0);
    assert!(place.path().join("state/clawhold/clawhold.db").is_file());
    place.json("queue set there --store sqlite:other/some.db");
    assert!(place.path().join("other/some.db").is_file());
    let queues = place.json("queue list --store sqlite:other/some.db");
    assert_eq!(queues["items"].as_array().unwrap().len(), 1);
    assert_eq!(queues["items"][0]["name"], "there");
}

#[test]
fn a_flag_goes_before_the_environment_and_that_before_the_file() {
    let place = Place::new();
    let dead = format!("http://127.0.0.1:{}", free_port());
    place.file(".config/clawhold/config.toml", "store = \"sqlite:file.db\"\n");
    for name in ["file", "env", "flag"] {
        place.json(&format!("queue set q --store sqlite:{name}.db"));
    }
    let store = |said: &Said| said.document()["server"]["store"].as_str().unwrap().to_owned();
    let line = "status --json";
    assert!(store(&with(&place, line, &[])).ends_with("/file.db"));
    let set = [("CLAWHOLD_STORE", "sqlite:env.db")];
    assert!(store(&with(&place, line, &set)).ends_with("/env.db"));
    assert!(
        store(&with(&place, "status --json --store sqlite:flag.db", &set)).ends_with("/flag.db")
    );
    // A store that is named by a flag goes before a server in the environment.
    let set = [("CLAWHOLD_SERVER", dead.as_str())];
    assert!(
        store(&with(&place, "status --json --store sqlite:flag.db", &set)).ends_with("/flag.db")
    );
}

#[test]
fn a_mistake_is_named_with_its_place() {
    let place = Place::new();
    let tried = [
        ("stores = \"sqlite:a.db\"\n", vec![]),
        ("store = 5\n", vec![]),
        ("", vec![("CLAWHOLD_SERVER", "")]),
        ("", vec![("CLAWHOLD_STORE", "")]),
        ("", vec![("CLAWHOLD_SERVER", "127.0.0.1:7717")]),
        ("", vec![("CLAWHOLD_SERVER", "http://127.0.0.1:7717,")]),
        ("token_file = \"gone\"\nserver = \"http://127.0.0.1:1\"\n", vec![]),
    ];
    let mut transcript = String::new();
    for (file, set) in tried {
        place.file(".config/clawhold/config.toml", file);
        let said = with(&place, "status", &set);
        assert_eq!(said.code, 2, "{file}{set:?}: {}{}", said.out, said.err);
        transcript.push_str(&place.mask(&said.err));
    }
    expect![[r#"
        error: the config file "HOME/.config/clawhold/config.toml" line 1: unknown field `stores`, expected one of `server`, `store`, `token_file`
          next: its keys are server, store and token_file
        error: the config file "HOME/.config/clawhold/config.toml" line 1: invalid type: integer `5`, expected a string
          next: its keys are server, store and token_file
        error: the variable CLAWHOLD_SERVER is empty
          next: unset CLAWHOLD_SERVER or give it a value
        error: the variable CLAWHOLD_STORE is empty
          next: unset CLAWHOLD_STORE or give it a value
        error: the server "127.0.0.1:7717" is no URL
          next: write it as http://127.0.0.1:PORT
        error: the server "" is no URL
          next: write it as http://127.0.0.1:PORT
        error: cannot read the token file "gone"
          because No such file or directory (os error 2)
          next: check --token-file, CLAWHOLD_TOKEN_FILE and token_file
    "#]].assert_eq(&transcript);
}
