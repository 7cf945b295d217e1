//! What a file of the repository may hold: its size, its opening, and a few absences.

use super::{assert_none, repository};

/// The longest that a source file may be; past it, the file is split by subject.
const FILE_LINES_MAX: usize = 600;

/// What only makes sense on one machine. Put together here, so that this file does not break the
/// rule itself.
const OF_ONE_MACHINE: [&str; 8] = [
    concat!("/ro", "ot/"),
    concat!("/wo", "rk/"),
    concat!("/ho", "me/"),
    concat!("/Us", "ers/"),
    concat!("index.", "crates.io"),
    concat!("static.", "crates.io"),
    concat!("registry.", "npmjs.org"),
    concat!("replace", "-with"),
];

/// Where a program writes to its own standard streams: the one room for output, the report of the
/// simulator, helper processes, whose streams belong to the program that started them, and the
/// worker, which passes on what its handlers say.
const SPEAKERS: [&str; 7] = [
    "crates/clawhold/src/output.rs",
    "crates/clawhold/src/hidden.rs",
    "crates/clawhold/src/hidden/",
    "crates/clawhold/src/drill/indexer.rs",
    "crates/clawhold/src/drill/program.rs",
    "crates/clawhold/src/work/run.rs",
    "crates/clawhold-sim/src/main.rs",
];

/// Reads a file by its path and text and returns its faults.
type Rule = fn(&str, &str) -> Vec<String>;

#[test]
fn no_source_file_is_longer_than_600_lines() {
    check_all(too_long);
}

#[test]
fn each_source_file_opens_with_what_it_promises() {
    check_all(unintroduced);
}

#[test]
fn each_crate_keeps_the_lints_of_the_workspace_and_the_name_of_its_folder() {
    check_all(off_the_lints);
}

#[test]
fn no_test_is_ignored() {
    check_all(ignored);
}

#[test]
fn no_file_names_a_place_on_one_machine() {
    check_all(of_one_machine);
}

#[test]
fn only_the_room_for_output_prints() {
    check_all(printing);
}

#[test]
fn a_file_may_have_600_lines_but_not_one_more() {
    assert_eq!(too_long("a.rs", &"x\n".repeat(600)), [""; 0]);
    assert_eq!(
        too_long("a.rs", &"x\n".repeat(601)),
        ["a.rs: 601 lines, at most 600; split it by subject"]
    );
    assert_eq!(too_long("a.json", &"x\n".repeat(601)), [""; 0]);
}

#[test]
fn a_source_file_without_an_opening_is_a_fault() {
    assert_eq!(unintroduced("a.rs", "//! Jobs.\n"), [""; 0]);
    assert_eq!(
        unintroduced("a.rs", "use std::fs;\n//! Jobs.\n"),
        ["a.rs: begins with \"use std::fs;\"; begin with `//!` and what the file promises"]
    );
    assert_eq!(unintroduced("a.rs", "//!\n//! Jobs.\n").len(), 1);
    assert_eq!(unintroduced("a.rs", "").len(), 1);
}

#[test]
fn a_crate_without_the_lints_or_under_another_name_is_a_fault() {
    let kept = "[package]\nname = \"clawhold-log\"\n[lints]\nworkspace = true\n";
    assert_eq!(off_the_lints("crates/clawhold-log/Cargo.toml", kept), [""; 0]);
    assert_eq!(
        off_the_lints("crates/log/Cargo.toml", kept),
        ["crates/log/Cargo.toml: the package is clawhold-log, the folder is log; make them equal"]
    );
    let fault = "crates/a/Cargo.toml: has no `[lints] workspace = true`";
    for lints in ["", "[lints]\nworkspace = false\n", "[lints.rust]\nunsafe_code = \"allow\"\n"] {
        let manifest = format!("[package]\nname = \"a\"\n{lints}");
        assert_eq!(off_the_lints("crates/a/Cargo.toml", &manifest), [fault]);
    }
}

#[test]
fn a_test_that_is_skipped_for_good_is_a_fault() {
    let skipped = [
        concat!("#[", "ignore]"),
        concat!("    #[", "ignore = \"slow\"]"),
        concat!("#[cfg_attr(windows, ", "ignore)]"),
        concat!("/// ``", "`ignore"),
        concat!("//! ``", "`rust,ignore"),
    ];
    for line in skipped {
        let fault = "a.rs:2: an ignored test is never run; skip it by an environment variable";
        assert_eq!(ignored("a.rs", &format!("//! Jobs.\n{line}\n")), [fault], "{line}");
    }
    assert_eq!(ignored("a.rs", "// We ignore the rest.\n/// ```\nlet ignore = 1;\n"), [""; 0]);
}

#[test]
fn a_place_on_one_machine_is_a_fault_but_a_folder_of_ours_is_none() {
    for place in OF_ONE_MACHINE {
        for text in [place.to_owned(), format!("sqlite:{place}x.db"), format!("\"file://{place}\"")]
        {
            let faults = of_one_machine("a.md", &text);
            let fault =
                format!("a.md:1: \"{place}\" makes sense on one machine only; leave it out");
            assert_eq!(faults, [fault], "{text}");
        }
    }
    for ours in ["src/work/run.rs", "~/work/x", "$HOME/home/x", "https://example.com/home/x"] {
        assert_eq!(of_one_machine("a.md", ours), [""; 0], "{ours}");
    }
}

#[test]
fn printing_outside_the_room_for_output_is_a_fault() {
    let printed = [
        concat!("print", "ln!(\"x\");"),
        concat!("    eprint", "!(\"x\");"),
        concat!("let out = io::", "stdout().lock();"),
        concat!("writeln!(std", "err(), \"x\")?;"),
    ];
    for line in printed {
        let fault = "crates/clawhold/src/a.rs:1: only output.rs prints; return the text to it";
        assert_eq!(printing("crates/clawhold/src/a.rs", line), [fault], "{line}");
        assert_eq!(printing("crates/clawhold/src/output.rs", line), [""; 0]);
        assert_eq!(printing("crates/clawhold/tests/it/a.rs", line), [""; 0]);
    }
    let quiet = [
        "command.stdout(Stdio::piped());",
        "child.stderr.take();",
        "let printed = 1;",
        concat!("io::", "stdout().is_terminal()"),
        concat!("//! print", "ln!(\"an example\");"),
    ];
    for quiet in quiet {
        assert_eq!(printing("crates/clawhold/src/a.rs", quiet), [""; 0], "{quiet}");
    }
}

/// Reads the whole repository by one rule.
fn check_all(rule: Rule) {
    let files = repository::files();
    let faults: Vec<String> = files.iter().flat_map(|file| rule(&file.path, &file.text)).collect();
    assert_none(&faults);
}

fn too_long(path: &str, text: &str) -> Vec<String> {
    let lines = text.lines().count();
    let long = path.ends_with(".rs") && FILE_LINES_MAX < lines;
    let fault = format!("{path}: {lines} lines, at most {FILE_LINES_MAX}; split it by subject");
    long.then_some(fault).into_iter().collect()
}

fn unintroduced(path: &str, text: &str) -> Vec<String> {
    let first = text.lines().next().unwrap_or_default();
    let introduced = first.strip_prefix("//! ").is_some_and(|promise| !promise.trim().is_empty());
    let fault =
        format!("{path}: begins with {first:?}; begin with `//!` and what the file promises");
    (path.ends_with(".rs") && !introduced).then_some(fault).into_iter().collect()
}

fn off_the_lints(path: &str, text: &str) -> Vec<String> {
    let folder = path.strip_prefix("crates/").and_then(|rest| rest.strip_suffix("/Cargo.toml"));
    let Some(folder) = folder else { return Vec::new() };
    let manifest: toml::Table = match text.parse() {
        Ok(manifest) => manifest,
        Err(error) => return vec![format!("{path}: is no TOML: {error}")],
    };
    let entry = |table: &str, key: &str| manifest.get(table).and_then(|table| table.get(key));
    let mut faults = Vec::new();
    let package = entry("package", "name").and_then(toml::Value::as_str).unwrap_or_default();
    if package != folder {
        faults.push(format!(
            "{path}: the package is {package}, the folder is {folder}; make them equal"
        ));
    }
    if entry("lints", "workspace").and_then(toml::Value::as_bool) != Some(true) {
        faults.push(format!("{path}: has no `[lints] workspace = true`"));
    }
    faults
}

fn ignored(path: &str, text: &str) -> Vec<String> {
    let fault = "an ignored test is never run; skip it by an environment variable";
    lines_of_source(path, text, is_ignored, fault)
}

fn is_ignored(line: &str) -> bool {
    let line = line.trim_start();
    let attribute = line.starts_with("#[ignore")
        || (line.starts_with("#[cfg_attr(") && line.contains("ignore"));
    let comment = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
    let fence = comment.and_then(|comment| comment.trim_start().strip_prefix("```"));
    attribute || fence.is_some_and(|info| info.split(',').any(|word| word.trim() == "ignore"))
}

fn of_one_machine(path: &str, text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let named = OF_ONE_MACHINE.iter().filter(|place| names(line, place));
        faults.extend(named.map(|place| {
            format!("{path}:{number}: \"{place}\" makes sense on one machine only; leave it out")
        }));
    }
    faults
}

/// Returns whether `line` has `place` at the start of a path, and not deep inside another.
fn names(line: &str, place: &str) -> bool {
    let inside = |before: char| before.is_alphanumeric() || "_-.~*$})".contains(before);
    line.match_indices(place).any(|(at, _)| !line[..at].ends_with(inside))
}

fn printing(path: &str, text: &str) -> Vec<String> {
    let shipped = path.starts_with("crates/") && path.contains("/src/");
    if !shipped || SPEAKERS.iter().any(|speaker| path.starts_with(speaker)) {
        return Vec::new();
    }
    lines_of_source(path, text, prints, "only output.rs prints; return the text to it")
}

fn prints(line: &str) -> bool {
    if line.trim_start().starts_with("//") {
        return false;
    }
    let part_of_a_word = |before: char| before.is_alphanumeric() || before == '_';
    let macros = ["print!(", "println!(", "eprint!(", "eprintln!("];
    let by_macro = macros.iter().any(|print| {
        line.match_indices(print).any(|(at, _)| !line[..at].ends_with(part_of_a_word))
    });
    let by_stream = ["stdout()", "stderr()"].iter().any(|stream| {
        line.match_indices(stream).any(|(at, _)| {
            let (before, after) = (&line[..at], &line[at + stream.len()..]);
            !before.ends_with(['.', '_']) && !after.starts_with(".is_terminal()")
        })
    });
    by_macro || by_stream
}

fn lines_of_source(path: &str, text: &str, wrong: fn(&str) -> bool, fault: &str) -> Vec<String> {
    if !path.ends_with(".rs") {
        return Vec::new();
    }
    let lines = (1..).zip(text.lines()).filter(|(_, line)| wrong(line));
    lines.map(|(number, _)| format!("{path}:{number}: {fault}")).collect()
}
