//! Who may import whom: seven crates, eight edges, down the page only.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{assert_none, repository};

/// Each crate and what it imports of ours.
const MAP: [(&str, &[&str]); 7] = [
    ("clawhold", &["clawhold-client", "clawhold-server"]),
    ("clawhold-sim", &["clawhold-core", "clawhold-log"]),
    ("clawhold-server", &["clawhold-api", "clawhold-core", "clawhold-log"]),
    ("clawhold-client", &["clawhold-api"]),
    ("clawhold-core", &[]),
    ("clawhold-log", &[]),
    ("clawhold-api", &[]),
];

/// All that the core may lean on. None of it may bring std along.
const CORE_EXTERNALS: [&str; 3] = ["minicbor", "sha2", "thiserror"];

#[test]
fn the_crates_import_each_other_as_the_map_says() {
    assert_none(&off_the_map(&repository::metadata()));
}

#[test]
fn the_core_leans_on_three_crates_and_never_on_std() {
    assert_none(&core_externals(&repository::metadata()));
    let files = repository::files();
    let core = |path: &str| path.strip_prefix("crates/clawhold-core/src/").map(str::to_owned);
    let rooms: Vec<(String, &str)> =
        files.iter().filter_map(|file| Some((core(&file.path)?, file.text.as_str()))).collect();
    assert!(rooms.iter().any(|(path, _)| path == "lib.rs"), "the core has no lib.rs");
    let faults: Vec<String> = rooms.iter().flat_map(|(path, text)| std_in(path, text)).collect();
    assert_none(&faults);
}

#[test]
fn the_map_as_it_stands_has_eight_edges_and_no_fault() {
    let edges: usize = MAP.iter().map(|(_, imports)| imports.len()).sum();
    assert_eq!(edges, 8);
    assert_eq!(off_the_map(&drawn()), [""; 0]);
    assert_eq!(core_externals(&drawn()), [""; 0]);
}

#[test]
fn an_edge_off_the_map_is_a_fault_even_for_tests_alone() {
    for kind in [Value::Null, json!("dev"), json!("build")] {
        let house = with_dependency("clawhold-core", json!({"name": "clawhold-log", "kind": kind}));
        assert_eq!(
            off_the_map(&house),
            [
                "clawhold-core must not import clawhold-log; the map in tidy/imports.rs has no such edge"
            ]
        );
    }
}

#[test]
fn a_crate_missing_from_the_map_or_from_the_house_is_a_fault() {
    let mut house = drawn();
    let packages = house["packages"].as_array_mut().expect("a list of packages");
    packages.retain(|package| package["name"] != "clawhold-sim");
    packages.push(json!({"name": "clawhold-common", "dependencies": []}));
    assert_eq!(
        off_the_map(&house),
        [
            "clawhold-common is not in the map in tidy/imports.rs",
            "clawhold-sim is in the map but not in the workspace",
        ]
    );
}

#[test]
fn an_edge_that_is_no_longer_needed_leaves_the_map_too() {
    let mut house = drawn();
    let packages = house["packages"].as_array_mut().expect("a list of packages");
    for package in packages.iter_mut().filter(|package| package["name"] == "clawhold-client") {
        package["dependencies"] = json!([]);
    }
    assert_eq!(
        off_the_map(&house),
        ["clawhold-client does not import clawhold-api, though the map says so"]
    );
}

#[test]
fn the_core_may_not_take_a_fourth_crate_or_one_with_std() {
    let no_std = json!({"name": "rand", "kind": null, "uses_default_features": false});
    assert_eq!(
        core_externals(&with_dependency("clawhold-core", no_std)),
        ["clawhold-core must not use rand; it may use minicbor, sha2, thiserror"]
    );
    let with_std = json!({"name": "sha2", "kind": null, "uses_default_features": true});
    assert_eq!(
        core_externals(&with_dependency("clawhold-core", with_std)),
        ["clawhold-core uses sha2 with its default features; those may need std"]
    );
    let for_tests = json!({"name": "proptest", "kind": "dev", "uses_default_features": true});
    assert_eq!(core_externals(&with_dependency("clawhold-core", for_tests)), [""; 0]);
}

#[test]
fn std_is_in_the_core_for_tests_alone() {
    assert_eq!(std_in("lib.rs", "#![no_std]\n#[cfg(test)]\nextern crate std;\n"), [""; 0]);
    assert_eq!(std_in("lib.rs", "//! Decisions.\n"), ["lib.rs: has no line `#![no_std]`"]);
    assert_eq!(
        std_in("job.rs", "//! Jobs.\nextern crate std;\n"),
        ["job.rs:2: std is for tests alone; put `#[cfg(test)]` on the line before"]
    );
}

/// Returns how the packages in `metadata` differ from the map.
fn off_the_map(metadata: &Value) -> Vec<String> {
    let map: BTreeMap<&str, &[&str]> = MAP.into_iter().collect();
    let packages: BTreeMap<&str, BTreeSet<&str>> = packages(metadata)
        .map(|package| (name(package), dependencies(package).map(name).collect()))
        .collect();
    let mut faults = Vec::new();
    for (package, dependencies) in &packages {
        let Some(imports) = map.get(package) else {
            faults.push(format!("{package} is not in the map in tidy/imports.rs"));
            continue;
        };
        let ours = dependencies.iter().filter(|name| *name != package);
        let ours: BTreeSet<&str> =
            ours.filter(|name| packages.contains_key(*name)).copied().collect();
        let drawn: BTreeSet<&str> = imports.iter().copied().collect();
        faults.extend(ours.difference(&drawn).map(|wrong| {
            format!(
                "{package} must not import {wrong}; the map in tidy/imports.rs has no such edge"
            )
        }));
        faults.extend(
            drawn
                .difference(&ours)
                .filter(|name| packages.contains_key(*name))
                .map(|stale| format!("{package} does not import {stale}, though the map says so")),
        );
    }
    let gone = map.keys().filter(|package| !packages.contains_key(*package));
    faults.extend(gone.map(|package| format!("{package} is in the map but not in the workspace")));
    faults
}

/// Returns what the core leans on and should not.
fn core_externals(metadata: &Value) -> Vec<String> {
    let core = packages(metadata).find(|package| name(package) == "clawhold-core");
    let core = core.expect("the core is in the workspace");
    let shipped = dependencies(core).filter(|dependency| dependency["kind"] != "dev");
    let mut faults = Vec::new();
    for dependency in shipped {
        let used = name(dependency);
        if !CORE_EXTERNALS.contains(&used) {
            let allowed = CORE_EXTERNALS.join(", ");
            faults.push(format!("clawhold-core must not use {used}; it may use {allowed}"));
        } else if dependency["uses_default_features"] != false {
            faults.push(format!(
                "clawhold-core uses {used} with its default features; those may need std"
            ));
        }
    }
    faults
}

/// Returns where a file of the core reaches for std outside its tests.
fn std_in(path: &str, text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if path == "lib.rs" && !text.lines().any(|line| line == "#![no_std]") {
        faults.push(format!("{path}: has no line `#![no_std]`"));
    }
    let mut before = "";
    for (number, line) in (1..).zip(text.lines().map(str::trim)) {
        if line.starts_with("extern crate std") && before != "#[cfg(test)]" {
            let cure = "std is for tests alone; put `#[cfg(test)]` on the line before";
            faults.push(format!("{path}:{number}: {cure}"));
        }
        before = line;
    }
    faults
}

fn packages(metadata: &Value) -> impl Iterator<Item = &Value> {
    metadata["packages"].as_array().expect("a list of packages").iter()
}

fn dependencies(package: &Value) -> impl Iterator<Item = &Value> {
    package["dependencies"].as_array().expect("a list of dependencies").iter()
}

fn name(thing: &Value) -> &str {
    thing["name"].as_str().expect("a package and a dependency have a name")
}

/// Returns the metadata of a house that is exactly as the map draws it.
fn drawn() -> Value {
    let packages = MAP.map(|(package, imports)| {
        let dependencies: Vec<Value> =
            imports.iter().map(|import| json!({"name": import, "kind": null})).collect();
        json!({"name": package, "dependencies": dependencies})
    });
    json!({"packages": packages})
}

fn with_dependency(package: &str, dependency: Value) -> Value {
    let mut house = drawn();
    let packages = house["packages"].as_array_mut().expect("a list of packages");
    let package = packages.iter_mut().find(|drawn| drawn["name"] == package);
    let package = package.expect("the package is on the map");
    package["dependencies"].as_array_mut().expect("a list of dependencies").push(dependency);
    house
}
