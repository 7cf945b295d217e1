//! The table of what failed elsewhere names tests that are there.
//!
//! The last cell of a row names files and tests in backticks, each test after its file.

use super::{assert_none, repository};

const DOCUMENT: &str = "docs/reliability.md";
const TABLE: &str = "## What failed elsewhere";

#[test]
fn every_test_that_the_table_of_failures_names_is_in_its_file() {
    let files = repository::files();
    let document = files.iter().find(|file| file.path == DOCUMENT).expect("the document is there");
    assert_none(&faults(&document.text, &files));
}

#[test]
fn a_test_that_is_not_there_a_row_without_one_and_a_missing_table_are_faults() {
    let file = |path: &str, text: &str| repository::File { path: path.into(), text: text.into() };
    let files = [file("a/b.rs", "#[test]\nfn it_holds() {}\n")];
    let table =
        |cell: &str| format!("{TABLE}\n\n| what | test |\n|---|---|\n| x | {cell} |\n\nEnd.");
    assert_eq!(faults(&table("`a/b.rs`: `it_holds`"), &files), [""; 0]);
    for cell in [
        "`a/b.rs`: `it_hold`",
        "`a/b.rs`: `it_holds`, `it_does_not`",
        "`a/c.rs`: `it_holds`",
        "`it_holds`",
        "`a/b.rs`",
        "nothing",
    ] {
        assert_eq!(faults(&table(cell), &files).len(), 1, "{cell}");
    }
    assert_eq!(faults("no table", &files).len(), 1);
}

/// Returns what is wrong with the table of a document.
fn faults(document: &str, files: &[repository::File]) -> Vec<String> {
    let Some((_, rest)) = document.split_once(TABLE) else {
        return vec![format!("{DOCUMENT} has no heading {TABLE:?}: put the table back")];
    };
    let lines = rest.lines().take_while(|line| !line.starts_with("## "));
    let rows = lines.filter(|line| line.starts_with("| ")).skip(1);
    rows.flat_map(|row| row_faults(row, files)).collect()
}

fn row_faults(row: &str, files: &[repository::File]) -> Vec<String> {
    let cell = row.trim_end_matches([' ', '|']).rsplit_once('|').map_or("", |(_, cell)| cell);
    let mut within: Option<&repository::File> = None;
    let (mut named, mut faults) = (0, Vec::new());
    for word in cell.split('`').skip(1).step_by(2) {
        if word.ends_with(".rs") {
            within = files.iter().find(|file| file.path == word);
            continue;
        }
        named += 1;
        let test = format!("fn {word}(");
        if !within.is_some_and(|file| file.text.contains(&test)) {
            faults.push(format!("{DOCUMENT}: there is no test {word} where the table says: {row}"));
        }
    }
    if named == 0 {
        faults.push(format!("{DOCUMENT}: this row names no test: {row}"));
    }
    faults
}
