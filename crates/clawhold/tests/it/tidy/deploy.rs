//! What lies in `deploy/` uses flags, settings and probes that the program has.

use super::{assert_none, repository};
use crate::place::Place;

/// Environment that systemd and the C library know, not the program.
const FOREIGN: [&str; 3] = ["XDG_STATE_HOME", "PGPASSWORD", "CLAWHOLD_LISTEN"];

#[test]
fn what_is_deployed_uses_what_the_program_has() {
    let help = Place::new().run("serve --help").out;
    let sources = repository::files();
    let files: Vec<_> = sources.iter().filter(|file| file.path.starts_with("deploy/")).collect();
    assert!(files.len() >= 4, "deploy/ has {} files", files.len());
    let faults = files.iter().flat_map(|file| faults(&file.path, &file.text, &help));
    assert_none(&faults.collect::<Vec<String>>());
}

#[test]
fn a_flag_a_probe_and_a_setting_that_do_not_exist_are_faults() {
    let help = "--tokens <FILE> --log-format <FORMAT>";
    let sound = "- --tokens=/x\nserve --log-format json\nhttpGet: { path: /readyz, port: http }";
    assert_eq!(faults("a", sound, help), [""; 0]);
    let found =
        faults("a", "- --token=/x\nhttpGet: { path: /ready, port: http }\nCLAWHOLD_STOR: x", help);
    assert_eq!(found.len(), 3, "{found:?}");
}

/// Returns what a file of `deploy/` names that is not there.
fn faults(path: &str, text: &str, help: &str) -> Vec<String> {
    let probes = ["/livez", "/readyz", "/healthz", "/leaderz"];
    let mut faults = Vec::new();
    let serving = text.lines().filter(|line| {
        let line = line.trim_start();
        line.starts_with("- --") || (line.contains("serve") && !line.starts_with('#'))
    });
    let flags = serving.flat_map(|line| line.split([' ', '"', ',', '=', '[', ']']));
    for flag in flags.filter(|word| word.starts_with("--")) {
        if !help.split([' ', '\n']).any(|word| word == flag) {
            faults.push(format!("{path}: `serve` has no {flag}; see `clawhold serve --help`"));
        }
    }
    for (_, probe) in text.lines().filter_map(|line| line.split_once("httpGet: { path: ")) {
        let probe = probe.split(',').next().unwrap_or(probe);
        if !probes.contains(&probe) {
            faults.push(format!("{path}: no probe is served at {probe}; there are {probes:?}"));
        }
    }
    for word in text.split(|c: char| !c.is_ascii_uppercase() && c != '_') {
        let known = word == "CLAWHOLD_STORE" || FOREIGN.contains(&word);
        if word.starts_with("CLAWHOLD_") && !known {
            faults.push(format!("{path}: nothing reads {word}; correct the name"));
        }
    }
    faults
}
