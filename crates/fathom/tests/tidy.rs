//! The conventions of this repository that a machine can hold.
//!
//! Each test names what it found and what to do about it. Lists of exceptions carry their reason; a
//! list that has become longer than it needs to be fails as well, so that exceptions go away with
//! what they excused.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What each crate may depend on among our own, in any kind of dependency.
const EDGES: [(&str, &[&str]); 23] = [
    ("units", &[]),
    ("sys", &[]),
    ("trust", &["sys"]),
    ("stats", &["units"]),
    ("mpi", &[]),
    ("group", &["units", "sys", "mpi"]),
    ("workload", &["units"]),
    ("engine", &["units", "sys", "trust"]),
    ("record", &["units"]),
    ("host", &["units", "sys", "record"]),
    (
        "run",
        &["units", "sys", "workload", "engine", "record", "host"],
    ),
    ("import", &["units", "workload", "record"]),
    ("analyze", &["units", "stats", "workload", "record"]),
    (
        "report",
        &["units", "stats", "workload", "record", "analyze"],
    ),
    ("object", &["units", "sys", "trust", "record", "host"]),
    ("misbehave", &["units", "sys"]),
    ("house", &["units", "sys", "misbehave"]),
    ("s3", &["units", "sys", "misbehave", "house"]),
    ("share", &["units", "sys", "misbehave", "house"]),
    ("block", &["units", "sys", "misbehave", "house"]),
    ("lab", &["units", "stats", "record"]),
    (
        "conduct",
        &[
            "units", "sys", "stats", "workload", "engine", "host", "run", "object", "record",
            "lab", "import",
        ],
    ),
    (
        "fathom",
        &[
            "units",
            "sys",
            "stats",
            "workload",
            "engine",
            "host",
            "run",
            "record",
            "lab",
            "conduct",
            "object",
            "group",
            "mpi",
            "misbehave",
            "s3",
            "share",
            "block",
            "import",
            "analyze",
            "report",
        ],
    ),
];

/// No file has more lines than this before its tests.
const MOST_LINES: usize = 600;
/// Files beyond this are in [`RATCHET`].
const USUAL_LINES: usize = 400;
/// Files beyond the usual length and what they may have: the numbers only ever fall.
const RATCHET: [(&str, usize); 17] = [
    ("crates/analyze/src/compare/arms.rs", 431),
    ("crates/fathom/src/output.rs", 413),
    ("crates/object/src/http2.rs", 452),
    ("crates/run/src/prepare.rs", 429),
    ("crates/run/src/safety.rs", 631),
    ("crates/run/src/safety/block_device.rs", 714),
    ("crates/run/src/safety/owner.rs", 439),
    ("crates/run/src/safety/signature.rs", 514),
    ("crates/run/src/worker.rs", 434),
    ("crates/workload/src/fio/lower/files.rs", 408),
    ("crates/workload/src/settings.rs", 694),
    ("targets/s3/src/forms.rs", 520),
    ("targets/s3/src/lifecycle.rs", 505),
    ("targets/s3/src/protocol/checksums.rs", 475),
    ("targets/s3/src/storage/core.rs", 450),
    ("targets/s3/src/storage/engine.rs", 521),
    ("targets/s3/src/storage/files/disk.rs", 427),
];
/// The only files that may have more than the most: the table of options, with one row each
/// (docs/decisions/settings-table.md), and what is to be divided when it is changed next.
const BEYOND_THE_MOST: [&str; 3] = [
    "crates/workload/src/settings.rs",
    "crates/run/src/safety.rs",
    "crates/run/src/safety/block_device.rs",
];

/// Crates that may contain `unsafe`, and in which of their files.
const UNSAFE_CRATES: [(&str, &[&str]); 4] = [
    ("sys", &[""]),
    (
        "engine",
        &["arena.rs", "libaio.rs", "synchronous.rs", "uring.rs"],
    ),
    ("block", &["ublk/raw.rs"]),
    // A library that is opened when the program runs has no types.
    ("mpi", &["library.rs"]),
];

/// Crates whose output is a function of their input alone, and what they therefore must not name.
const PURE_CRATES: [&str; 5] = ["units", "stats", "lab", "analyze", "report"];
const IMPURE: [&str; 8] = [
    "std::env",
    "std::fs",
    "std::net",
    "std::process",
    "std::thread",
    "Instant::now",
    "SystemTime::now",
    "std::io::std",
];

/// Public type names that two crates may share.
const SHARED_NAMES: [(&str, &str); 4] = [
    (
        "BlockSizes",
        "workload: the sizes of a mix; engine: the sizes that an NBD server takes",
    ),
    (
        "Access",
        "workload: order and mix; run: reading or writing, for the safety checks",
    ),
    (
        "Context",
        "run: what a process gives its runs; sys: the kernel's aio context",
    ),
    (
        "Fill",
        "workload: how files are filled; record: how much was filled",
    ),
];

/// Type names that several files give, in one crate or in several, and in how many: each is a word
/// with two meanings. The numbers only fall.
const REPEATED_NAMES: [(&str, usize); 67] = [
    ("About", 3),
    ("Address", 2),
    ("Advice", 2),
    ("Answered", 2),
    ("Asked", 2),
    ("Block", 2),
    ("Body", 2),
    ("Content", 2),
    ("Counts", 2),
    ("Device", 3),
    ("Disagreement", 2),
    ("Distribution", 2),
    ("Done", 2),
    ("Due", 2),
    ("Durability", 2),
    ("Ended", 2),
    ("Engine", 2),
    ("Entry", 3),
    ("Event", 2),
    ("Expected", 2),
    ("Experiment", 2),
    ("Failure", 2),
    ("Fault", 2),
    ("Files", 2),
    ("Format", 2),
    ("Gate", 2),
    ("Gaussian", 2),
    ("Heat", 2),
    ("Intake", 2),
    ("Job", 3),
    ("Layout", 2),
    ("Live", 2),
    ("Measured", 2),
    ("Order", 2),
    ("Pace", 3),
    ("Pattern", 2),
    ("Peer", 2),
    ("Place", 4),
    ("Placement", 2),
    ("Prepared", 2),
    ("Probe", 2),
    ("Question", 2),
    ("Refused", 2),
    ("Row", 4),
    ("Section", 2),
    ("Sender", 2),
    ("Shape", 2),
    ("Shared", 2),
    ("Slot", 2),
    ("Source", 3),
    ("Space", 2),
    ("Spacing", 2),
    ("Stall", 2),
    ("Stream", 3),
    ("Table", 2),
    ("Tally", 2),
    ("Task", 2),
    ("Told", 2),
    ("Turn", 2),
    ("Turns", 2),
    ("Unit", 2),
    ("Usage", 2),
    ("Use", 2),
    ("Verdict", 2),
    ("Verdicts", 2),
    ("Verify", 2),
    ("Wait", 2),
];

/// Words that say where or by whom something was written instead of what it does, and the files in
/// which they are part of the matter.
const FOREIGN_WORDS: [(&str, &[&str]); 1] = [("/root/", &[])];
const THIS_FILE: &str = "crates/fathom/tests/tidy.rs";

/// Flags in documents that belong to cargo.
const FOREIGN_FLAGS: [&str; 3] = ["--release", "--workspace", "--path"];

const MOST_NOTE_LINES: usize = 60;
const MOST_README_LINES: usize = 150;
const MOST_INVARIANTS: usize = 12;

fn root() -> PathBuf {
    // As cargo says now, not when it built: two trees may share a directory of builds.
    let crate_dir =
        std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    let root = Path::new(&crate_dir).join("../..");
    root.canonicalize()
        .expect("the crate lies in its workspace")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The path from the root on, with slashes.
fn shown(path: &Path) -> String {
    path.strip_prefix(root())
        .unwrap_or(path)
        .to_string_lossy()
        .replace('\\', "/")
}

/// All files below a directory but those of builds, of version control and of fuzzing.
fn files_below(dir: &Path, out: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display()));
    for entry in entries.flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => {
                if !["target", ".git", "corpus", "artifacts"]
                    .iter()
                    .any(|skipped| name == *skipped)
                {
                    files_below(&path, out);
                }
            }
            Ok(kind) if kind.is_file() => out.push(path),
            Ok(_) | Err(_) => {}
        }
    }
}

fn files(below: &str) -> Vec<PathBuf> {
    let mut out = Vec::new();
    let dir = root().join(below);
    if dir.is_dir() {
        files_below(&dir, &mut out);
    }
    out.sort();
    out
}

fn rust_sources() -> Vec<PathBuf> {
    files("crates")
        .into_iter()
        .chain(files("targets"))
        .filter(|path| path.extension().is_some_and(|ext| ext == "rs"))
        .collect()
}

fn assert_none(found: &[String], advice: &str) {
    assert!(found.is_empty(), "{advice}:\n  {}", found.join("\n  "));
}

/// What cargo says of the packages of this workspace.
fn packages() -> Vec<serde_json::Value> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args([
            "metadata",
            "--offline",
            "--no-deps",
            "--format-version",
            "1",
        ])
        .current_dir(root())
        .output()
        .expect("cargo runs where its tests run");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: serde_json::Value =
        serde_json::from_slice(&output.stdout).expect("cargo metadata is JSON");
    metadata["packages"].as_array().cloned().unwrap_or_default()
}

fn text(value: &serde_json::Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[test]
fn crates_depend_on_each_other_only_as_the_diagram_shows() {
    let packages = packages();
    let ours: BTreeSet<String> = packages
        .iter()
        .map(|package| text(&package["name"]))
        .collect();
    let rows: BTreeMap<&str, &[&str]> = EDGES.into_iter().collect();
    let mut wrong = Vec::new();
    for package in &packages {
        let name = text(&package["name"]);
        let Some(allowed) = rows.get(name.as_str()) else {
            wrong.push(format!("{name} has no row in EDGES"));
            continue;
        };
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let to = text(&dependency["name"]);
            if ours.contains(&to) && !allowed.contains(&to.as_str()) {
                wrong.push(format!("{name} depends on {to}"));
            }
        }
    }
    assert_none(
        &wrong,
        "ARCHITECTURE.md forbids these edges; move the code, or change the diagram and EDGES together",
    );
}

#[test]
fn judging_crates_read_no_clock_and_no_environment() {
    let pure = |path: &Path| {
        PURE_CRATES
            .iter()
            .any(|name| shown(path).starts_with(&format!("crates/{name}/src/")))
    };
    let mut found = Vec::new();
    for path in rust_sources().iter().filter(|path| pure(path)) {
        let source = read(path);
        let (code, _) = parts(&source);
        for (number, line) in code
            .lines()
            .enumerate()
            .filter(|(_, line)| !line.trim_start().starts_with("//"))
        {
            if let Some(word) = IMPURE.iter().find(|word| line.contains(*word)) {
                found.push(format!("{}:{}: {word}", shown(path), number + 1));
            }
        }
    }
    assert_none(
        &found,
        "these crates give the same output for the same input; take the value as an argument",
    );
}

#[test]
fn unsafe_code_is_forbidden_outside_sys_and_the_rings() {
    let rows: BTreeMap<&str, &[&str]> = UNSAFE_CRATES.into_iter().collect();
    let mut found = Vec::new();
    for package in packages() {
        let name = text(&package["name"]);
        for target in package["targets"].as_array().into_iter().flatten() {
            let kinds: Vec<String> = target["kind"]
                .as_array()
                .into_iter()
                .flatten()
                .map(text)
                .collect();
            let path = PathBuf::from(text(&target["src_path"]));
            let is_product = kinds.iter().any(|kind| kind == "lib" || kind == "bin");
            if is_product
                && !rows.contains_key(name.as_str())
                && !read(&path).contains("#![forbid(unsafe_code)]")
            {
                found.push(shown(&path));
            }
        }
    }
    assert_none(&found, "begin these files with #![forbid(unsafe_code)]");
    for (name, allowed) in rows {
        let home = format!("crates/{name}/src/");
        found.extend(
            files(&home)
                .iter()
                .filter(|path| {
                    let inside = shown(path);
                    let inside = inside.strip_prefix(&home).unwrap_or_default();
                    !allowed.iter().any(|file| inside.starts_with(file))
                })
                .filter(|path| read(path).contains("unsafe {"))
                .map(|path| shown(path)),
        );
    }
    assert_none(&found, "wrap the system call in crate sys");
}

/// A source before its tests, and its tests.
fn parts(source: &str) -> (&str, &str) {
    source
        .find("\n#[cfg(test)]\nmod tests {")
        .map_or((source, ""), |at| source.split_at(at + 1))
}

/// One file of a crate as its `mod` lines reach it.
struct Module {
    path: PathBuf,
    /// Reached through `#[cfg(test)]`, or a file of tests.
    is_test: bool,
}

/// Every file that `mod` lines reach from the roots of all targets.
fn modules() -> Vec<Module> {
    let mut out = Vec::new();
    for package in packages() {
        for target in package["targets"].as_array().into_iter().flatten() {
            let kinds: Vec<String> = target["kind"]
                .as_array()
                .into_iter()
                .flatten()
                .map(text)
                .collect();
            let path = PathBuf::from(text(&target["src_path"]));
            let is_test = !kinds.iter().any(|kind| kind == "lib" || kind == "bin");
            let home = path
                .parent()
                .expect("a source file lies in a directory")
                .to_path_buf();
            follow(Module { path, is_test }, &home, &mut out);
        }
    }
    out
}

fn follow(module: Module, home: &Path, out: &mut Vec<Module>) {
    let source = read(&module.path);
    let (is_test, own_dir) = (
        module.is_test,
        module
            .path
            .parent()
            .expect("a source file lies in a directory")
            .to_path_buf(),
    );
    out.push(module);
    let mut attributes: Vec<&str> = Vec::new();
    for line in source.lines().map(str::trim) {
        if let Some(name) = mod_line(line) {
            let elsewhere = attributes
                .iter()
                .find_map(|line| line.strip_prefix("#[path = \"")?.strip_suffix("\"]"));
            let path = elsewhere.map_or_else(
                || home.join(format!("{name}.rs")),
                |place| own_dir.join(place),
            );
            assert!(path.is_file(), "`mod {name};` has no file {}", shown(&path));
            let is_test = is_test || attributes.contains(&"#[cfg(test)]") || name == "tests";
            let below = elsewhere.map_or_else(
                || home.join(name),
                |_| path.parent().unwrap_or(home).to_path_buf(),
            );
            follow(Module { path, is_test }, &below, out);
        }
        if line.starts_with("#[") {
            attributes.push(line);
        } else {
            attributes.clear();
        }
    }
}

/// The name in `mod NAME;`, whatever its visibility.
fn mod_line(line: &str) -> Option<&str> {
    let rest = line.trim_start();
    let rest = rest.strip_prefix("pub").map_or(rest, |rest| {
        rest.split_once(')')
            .filter(|_| rest.starts_with('('))
            .map_or(rest, |(_, rest)| rest)
    });
    let name = rest.trim_start().strip_prefix("mod ")?.strip_suffix(';')?;
    name.chars()
        .all(|c| c.is_ascii_alphanumeric() || c == '_')
        .then_some(name)
}

#[test]
fn mod_lines_are_recognised() {
    assert_eq!(
        ["mod a;", "pub mod b_2;", "    pub(crate) mod c;"].map(mod_line),
        [Some("a"), Some("b_2"), Some("c")]
    );
    assert_eq!(
        ["mod a {", "// mod a;", "use mod a;", "model;"].map(mod_line),
        [None; 4]
    );
}

#[test]
fn every_source_file_is_part_of_its_crate() {
    let reached: BTreeSet<PathBuf> = modules().into_iter().map(|module| module.path).collect();
    let orphans: Vec<String> = rust_sources()
        .iter()
        .filter(|path| !reached.contains(*path))
        .map(|path| shown(path))
        .collect();
    assert_none(
        &orphans,
        "no `mod` line reaches these files; add one, or delete them",
    );
}

#[test]
fn no_module_is_a_mod_rs() {
    let found: Vec<String> = rust_sources()
        .iter()
        .filter(|path| path.ends_with("mod.rs"))
        .map(|path| shown(path))
        .collect();
    assert_none(
        &found,
        "name the file after the module, beside its directory",
    );
}

#[test]
fn files_are_short_and_the_long_ones_do_not_grow() {
    let ratchet: BTreeMap<&str, usize> = RATCHET.into_iter().collect();
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    for module in modules().into_iter().filter(|module| !module.is_test) {
        let (name, source) = (shown(&module.path), read(&module.path));
        let lines = parts(&source).0.lines().count();
        let most = ratchet.get(name.as_str()).copied();
        match most {
            Some(most) if lines > most => found.push(format!(
                "{name}: {lines} lines before its tests, {most} allowed; divide it"
            )),
            Some(_) if lines <= USUAL_LINES => {
                found.push(format!("{name}: {lines} lines; take it off RATCHET"))
            }
            None if lines > USUAL_LINES => found.push(format!(
                "{name}: {lines} lines before its tests, {USUAL_LINES} allowed; divide it"
            )),
            Some(_) | None => {}
        }
        seen.insert(name);
    }
    for (name, most) in RATCHET {
        if !seen.contains(name) {
            found.push(format!("{name} is in RATCHET and does not exist"));
        }
        if most > MOST_LINES && !BEYOND_THE_MOST.contains(&name) {
            found.push(format!(
                "{name}: {most} in RATCHET, and no file has more than {MOST_LINES}"
            ));
        }
    }
    assert_none(&found, "file lengths");
}

/// Names of the types that a source shows to other files of its crate alone.
fn inner_types(source: &str) -> Vec<String> {
    let lines = parts(source).0.lines().map(str::trim);
    let declared = lines.filter_map(|line| {
        let (_, rest) = line.strip_prefix("pub(")?.split_once(") ")?;
        let (kind, rest) = rest.split_once(' ')?;
        let is_type = ["struct", "enum", "trait", "union", "type"].contains(&kind);
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        is_type.then(|| rest.chars().take_while(|c| is_part(*c)).collect())
    });
    declared.collect()
}

/// Names of the types that a source declares public.
fn public_types(source: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut in_words = false;
    for line in parts(source).0.lines().map(str::trim) {
        let declared = ["struct ", "enum ", "trait ", "union ", "type "]
            .iter()
            .find_map(|kind| line.strip_prefix("pub ")?.strip_prefix(kind))
            .or_else(|| line.strip_prefix("pub unsafe trait "));
        // `words!` declares an enum from a name and its words.
        let after_macro = line.strip_prefix("words!(");
        in_words |= after_macro.is_some();
        let candidate = if in_words {
            Some(after_macro.unwrap_or(line)).filter(|rest| !rest.starts_with("//"))
        } else {
            declared
        };
        let name: String = candidate
            .unwrap_or_default()
            .chars()
            .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
            .collect();
        if name.chars().next().is_some_and(char::is_uppercase) {
            out.push(name);
            in_words = false;
        }
    }
    out
}

#[test]
fn public_types_are_recognised() {
    let source = "pub struct A(u8);\nstruct B;\npub(crate) enum C {}\nwords!(\n    /// About D.\n    D { X = \"x\" }\n);\nwords!(E { Y = \"y\" });\n";
    assert_eq!(public_types(source), ["A", "D", "E"]);
    let source = "pub(super) struct A<T>(T);\npub(in crate::b) enum B {}\npub(crate) fn c() {}\n";
    assert_eq!(inner_types(source), ["A", "B"]);
}

#[test]
fn a_type_name_means_one_thing() {
    let mut homes: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for module in modules().into_iter().filter(|module| !module.is_test) {
        let home = shown(&module.path)
            .split('/')
            .nth(1)
            .unwrap_or_default()
            .to_owned();
        for name in public_types(&read(&module.path)) {
            homes.entry(name).or_default().insert(home.clone());
        }
    }
    let shared: BTreeSet<&str> = homes
        .iter()
        .filter(|(_, homes)| homes.len() > 1)
        .map(|(name, _)| name.as_str())
        .collect();
    let allowed: BTreeSet<&str> = SHARED_NAMES.iter().map(|(name, _)| *name).collect();
    let found: Vec<String> = shared
        .difference(&allowed)
        .map(|name| format!("{name}: {:?}", homes[*name]))
        .collect();
    assert_none(
        &found,
        "two crates give one name to two types; rename one, or give the reason in SHARED_NAMES",
    );
    let stale: Vec<String> = allowed
        .difference(&shared)
        .map(ToString::to_string)
        .collect();
    assert_none(
        &stale,
        "these are not shared any more; take them off SHARED_NAMES",
    );
}

#[test]
fn no_more_type_names_stand_for_several_things_than_did() {
    let mut homes: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for module in modules().into_iter().filter(|module| !module.is_test) {
        let source = read(&module.path);
        for name in inner_types(&source)
            .into_iter()
            .chain(public_types(&source))
        {
            homes.entry(name).or_default().insert(shown(&module.path));
        }
    }
    let shared = homes.iter().filter(|(name, files)| {
        files.len() > 1 && SHARED_NAMES.iter().all(|(shared, _)| shared != name)
    });
    let shared: BTreeMap<&str, usize> = shared
        .map(|(name, files)| (name.as_str(), files.len()))
        .collect();
    let listed: BTreeMap<&str, usize> = REPEATED_NAMES.into_iter().collect();
    let mut found = Vec::new();
    for name in shared.keys().chain(listed.keys()).collect::<BTreeSet<_>>() {
        let (has, may) = (shared.get(name), listed.get(name));
        if has != may {
            found.push(format!(
                "{name}: {has:?} files, {may:?} in REPEATED_NAMES: {:?}",
                homes.get(*name)
            ));
        }
    }
    assert_none(
        &found,
        "one name stands for several types: rename one; where there are fewer, shorten REPEATED_NAMES, whose numbers only fall",
    );
}

#[test]
fn no_file_speaks_of_the_place_where_it_was_written() {
    let mut found = Vec::new();
    let mut excused = BTreeSet::new();
    for path in files("") {
        let name = shown(&path);
        let short = fs::metadata(&path).is_ok_and(|facts| facts.len() < 1 << 20);
        if name == THIS_FILE || name == "Cargo.lock" || !short {
            continue;
        }
        let Ok(source) = fs::read_to_string(&path) else {
            continue;
        };
        let source = source.to_lowercase();
        for (word, allowed) in FOREIGN_WORDS {
            let line = source.lines().position(|line| line.contains(word));
            match line {
                Some(_) if allowed.contains(&name.as_str()) => {
                    excused.insert((word, name.clone()));
                }
                Some(line) => found.push(format!("{name}:{}: {word:?}", line + 1)),
                None => {}
            }
        }
    }
    assert_none(
        &found,
        "say what the code does; where the word is part of the matter, add the file to FOREIGN_WORDS",
    );
    let listed = FOREIGN_WORDS
        .iter()
        .flat_map(|(word, files)| files.iter().map(|file| (*word, (*file).to_owned())));
    let stale: Vec<String> = listed
        .filter(|entry| !excused.contains(entry))
        .map(|(word, file)| format!("{word:?} in {file}"))
        .collect();
    assert_none(
        &stale,
        "these exceptions excuse nothing; take them off FOREIGN_WORDS",
    );
}

#[test]
fn documents_are_short() {
    let mut found = Vec::new();
    let mut limit = |path: &Path, most: usize| {
        let lines = read(path).lines().count();
        if lines > most {
            found.push(format!("{}: {lines} lines, {most} allowed", shown(path)));
        }
    };
    limit(&root().join("README.md"), MOST_README_LINES);
    let notes: Vec<PathBuf> = files("docs/decisions")
        .into_iter()
        .filter(|path| path.extension().is_some_and(|ext| ext == "md"))
        .collect();
    assert!(!notes.is_empty(), "there is a directory of decision notes");
    notes.iter().for_each(|note| limit(note, MOST_NOTE_LINES));
    assert_none(&found, "shorten these documents");
}

/// The `path::name` of tests that a text names between backticks.
fn named_tests(text: &str) -> Vec<(String, String)> {
    let quoted = text.split('`').skip(1).step_by(2);
    quoted
        .filter_map(|word| {
            word.split_once(".rs::")
                .map(|(path, name)| (format!("{path}.rs"), name.to_owned()))
        })
        .collect()
}

#[test]
fn every_invariant_names_a_test_that_exists() {
    let document = read(&root().join("ARCHITECTURE.md"));
    let (_, rest) = document
        .split_once("\n## Invariants\n")
        .expect("ARCHITECTURE.md has a section of invariants");
    let section = rest.split("\n## ").next().unwrap_or_default();
    let starts_item = |line: &str| {
        line.split_once(". ")
            .is_some_and(|(number, _)| number.parse::<u32>().is_ok())
    };
    let mut items: Vec<String> = Vec::new();
    for line in section.lines() {
        match items.last_mut() {
            _ if starts_item(line) => items.push(line.to_owned()),
            Some(item) => item.push_str(line),
            None => {}
        }
    }
    assert!(
        (1..=MOST_INVARIANTS).contains(&items.len()),
        "{} invariants",
        items.len()
    );
    let mut found = Vec::new();
    for item in &items {
        let tests = named_tests(item);
        if tests.is_empty() {
            found.push(format!("names no test: {item}"));
        }
        for (path, name) in tests {
            let exists = fs::read_to_string(root().join(&path))
                .is_ok_and(|source| source.contains(&format!("fn {name}(")));
            if !exists {
                found.push(format!("{path} has no test {name}"));
            }
        }
    }
    assert_none(&found, "an invariant without a test is a wish");
}

/// The long flags in a text.
fn flags(text: &str) -> BTreeSet<String> {
    let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let mut out = BTreeSet::new();
    let mut rest = text;
    while let Some(at) = rest.find("--") {
        let (before, after) = rest.split_at(at);
        let name: String = after[2..].chars().take_while(|c| is_part(*c)).collect();
        let is_start = !before.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '-');
        if is_start && name.starts_with(|c: char| c.is_ascii_lowercase()) {
            out.insert(format!("--{}", name.trim_end_matches('-')));
        }
        rest = &after[2 + name.len()..];
    }
    out
}

#[test]
fn flags_are_recognised() {
    let found = flags("`--file-size 1G`, --direct. | --- | a--b -- x --name=1 --P");
    assert_eq!(
        found.iter().map(String::as_str).collect::<Vec<_>>(),
        ["--direct", "--file-size", "--name"]
    );
}

#[test]
fn every_flag_that_a_document_names_exists() {
    let help = |verb: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_fathom"))
            .args(verb.split(' '))
            .arg("--help")
            .output()
            .expect("the binary was built for this test");
        String::from_utf8(output.stdout).expect("help is text")
    };
    let mut known: BTreeSet<String> = [
        "profile",
        "run",
        "load",
        "compare",
        "report",
        "audit",
        "import",
        "calibrate",
        "serve s3",
        "serve share",
        "serve block",
        "lab plan",
        "lab run",
        "lab status",
        "lab report",
    ]
    .iter()
    .flat_map(|verb| flags(&help(verb)))
    .collect();
    known.extend(FOREIGN_FLAGS.map(str::to_owned));
    let mut found = Vec::new();
    for name in ["README.md", "METHODOLOGY.md", "LIMITS.md"] {
        for (number, line) in read(&root().join(name)).lines().enumerate() {
            // What follows `run -- ` is a command line of fio.
            let ours = line.split("run -- --").next().unwrap_or_default();
            found.extend(
                flags(ours)
                    .difference(&known)
                    .map(|flag| format!("{name}:{}: {flag}", number + 1)),
            );
        }
    }
    assert_none(&found, "`fathom run --help` does not have these flags");
}

/// Words behind the program's name that are no verbs: in a label, in a sentence, in `fathom's`, in
/// the mark of a file.
const NO_VERBS: [&str; 5] = ["commit", "that", "s", "under", "verdicts"];

/// The verbs that a text sends its reader to: what follows `fathom` as a word of its own.
fn verbs(text: &str) -> BTreeSet<String> {
    let is_word = |c: char| c.is_ascii_lowercase() || c == '-';
    let mut out = BTreeSet::new();
    for (at, _) in text.match_indices("fathom ") {
        let is_command = text[..at].ends_with(['`', ' ', '"']) || at == 0;
        let verb: String = text[at + 7..].chars().take_while(|c| is_word(*c)).collect();
        if is_command
            && !verb.is_empty()
            && !verb.starts_with('-')
            && !NO_VERBS.contains(&verb.as_str())
        {
            out.insert(verb);
        }
    }
    out
}

#[test]
fn verbs_are_recognised() {
    let found = verbs("see fathom lab, or `fathom compare --run`; \"fathom 0.1\", a fathom --help");
    assert_eq!(
        found.iter().map(String::as_str).collect::<Vec<_>>(),
        ["compare", "lab"]
    );
}

/// The help of a verb, or of the verbs below it.
fn pages(verb: &str, help: &dyn Fn(&[&str]) -> String) -> Vec<String> {
    match verb {
        "serve" => vec![help(&["serve", "s3"])],
        "lab" => ["plan", "run", "status", "report"]
            .map(|below| help(&["lab", below]))
            .into(),
        _ => vec![help(&[verb])],
    }
}

#[test]
fn every_verb_and_flag_that_a_message_or_a_document_names_exists() {
    let help = |words: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_fathom"))
            .args(words)
            .arg("--help")
            .output()
            .expect("the binary was built for this test");
        String::from_utf8(output.stdout).expect("help is text")
    };
    let known: BTreeSet<String> = help(&[])
        .lines()
        .filter_map(|line| {
            line.strip_prefix("  ")?
                .split_whitespace()
                .next()
                .map(str::to_owned)
        })
        .filter(|word| word.starts_with(|c: char| c.is_ascii_lowercase()))
        .collect();
    let mut flags_of: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for verb in &known {
        let below = pages(verb, &help);
        flags_of.insert(verb, below.iter().flat_map(|text| flags(text)).collect());
    }
    let mut found = Vec::new();
    let sources = modules()
        .into_iter()
        .filter(|module| !module.is_test)
        .map(|module| module.path);
    let documents = ["README.md", "METHODOLOGY.md", "LIMITS.md"].map(|name| root().join(name));
    for path in sources.chain(documents) {
        let text = read(&path);
        for (number, line) in parts(&text)
            .0
            .lines()
            .enumerate()
            .filter(|(_, line)| !line.trim_start().starts_with("//"))
        {
            let place = format!("{}:{}", shown(&path), number + 1);
            found.extend(
                verbs(line)
                    .difference(&known)
                    .map(|verb| format!("{place}: fathom {verb}")),
            );
            // A command in backticks: its flags are those of its verb.
            for command in line
                .split('`')
                .skip(1)
                .step_by(2)
                .filter_map(|command| command.strip_prefix("fathom "))
            {
                let ours = command.split(" -- ").next().unwrap_or_default();
                let verb = ours.split(' ').next().unwrap_or_default();
                let Some(has) = flags_of.get(verb) else {
                    continue;
                };
                found.extend(
                    flags(ours)
                        .difference(has)
                        .map(|flag| format!("{place}: fathom {verb} {flag}")),
                );
            }
        }
    }
    assert_none(
        &found,
        "these commands do not exist; a message sends nobody to them",
    );
}

/// What opens a file for writing.
const WRITERS: [&str; 5] = [
    "fs::write(",
    "File::create",
    "OpenOptions",
    "Store::open(",
    "fs::copy(",
];

#[test]
fn verbs_write_files_through_safety_alone() {
    let mut found = Vec::new();
    for module in modules()
        .into_iter()
        .filter(|module| !module.is_test && shown(&module.path).starts_with("crates/fathom/src/"))
    {
        let text = read(&module.path);
        for (number, line) in parts(&text).0.lines().enumerate() {
            if WRITERS.iter().any(|writer| line.contains(writer)) {
                found.push(format!(
                    "{}:{}: {}",
                    shown(&module.path),
                    number + 1,
                    line.trim()
                ));
            }
        }
    }
    assert_none(
        &found,
        "a file of results is opened by run::safety::OutputFile, which destroys nothing",
    );
}
