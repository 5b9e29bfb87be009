//! The commands of README.md run.
//!
//! Every line of a fenced block marked `sh` is one command (a trailing backslash continues it). By
//! these rules:
//! * `cargo run --release -- ARGS` is `fathom ARGS` with the binary that was built for this test;
//! * lines that fetch, enter or build the repository (`git`, `cd`, `cargo build`, `cargo test`,
//!   `cargo install`) are not run here, nor are lines that end in `# slow`;
//! * sizes and times are scaled down: the values of `--file-size`, `--size`, `--duration` and
//!   `--runtime`, and a profile is given a small `--size` and `--budget`, nothing else;
//! * all lines run in order in one empty directory, so that later commands find what earlier ones
//!   made.
//!
//! Each must end with exit code 0 and say something.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const NOT_RUN: [&str; 5] = ["git ", "cd ", "cargo build", "cargo test", "cargo install"];
const SCALED: [(&str, &str); 4] = [
    ("--file-size", "16M"),
    ("--size", "16M"),
    ("--duration", "1s"),
    ("--runtime", "1"),
];

fn document(name: &str) -> String {
    let crate_dir =
        std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    let path = Path::new(&crate_dir).join("../..").join(name);
    fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The commands of all `sh` blocks, in order, each on one line.
fn commands(document: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut inside = false;
    let mut begun = String::new();
    for line in document.lines() {
        match (line.trim_end(), inside) {
            ("```sh", false) => inside = true,
            ("```", true) => inside = false,
            (text, true) => match text.strip_suffix('\\') {
                Some(part) => begun.push_str(part),
                None => out.push(std::mem::take(&mut begun) + text),
            },
            (_, false) => {}
        }
    }
    out.retain(|command| !command.trim().is_empty() && !command.trim_start().starts_with('#'));
    out
}

/// The command as it runs here; `None` if it does not.
fn runnable(command: &str) -> Option<String> {
    let command = command.trim();
    if NOT_RUN.iter().any(|start| command.starts_with(start)) || command.ends_with("# slow") {
        return None;
    }
    let command = command.replace("cargo run --release --", "fathom");
    let mut words: Vec<String> = command.split(' ').map(str::to_owned).collect();
    for at in 0..words.len() {
        for (flag, value) in SCALED {
            // A run until complete has no length to scale.
            if words[at] == flag && words.get(at + 1).is_some_and(|given| given != "0s") {
                words[at + 1] = value.to_owned();
            } else if words[at].starts_with(&format!("{flag}=")) {
                words[at] = format!("{flag}={value}");
            }
        }
    }
    if words.starts_with(&["fathom".to_owned(), "profile".to_owned()]) {
        words.push("--size 16M --budget 4s".to_owned());
    }
    Some(words.join(" "))
}

/// A directory that holds the two programs alone.
fn programs(below: &Path) -> PathBuf {
    let bin = below.join("bin");
    fs::create_dir(&bin).expect("a temporary directory can be written");
    for (name, built) in [
        ("fathom", env!("CARGO_BIN_EXE_fathom")),
        ("iopulse", env!("CARGO_BIN_EXE_iopulse")),
    ] {
        std::os::unix::fs::symlink(built, bin.join(name))
            .expect("a temporary directory can be written");
    }
    bin
}

#[test]
fn every_command_of_the_readme_works() {
    // Beside the build, because that lies on a disk; the system's directory for temporary files
    // often lies in memory.
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))
        .expect("a temporary directory can be made");
    let (place, bin) = (dir.path().join("reader"), programs(dir.path()));
    fs::create_dir(&place).expect("a temporary directory can be written");
    let path = format!(
        "{}:{}",
        bin.display(),
        std::env::var("PATH").unwrap_or_default()
    );
    let commands: Vec<String> = commands(&document("README.md"))
        .iter()
        .filter_map(|command| runnable(command))
        .collect();
    for verb in ["profile", "run", "compare", "report", "load"] {
        let shown = commands
            .iter()
            .any(|command| command.contains(&format!("fathom {verb} ")));
        assert!(shown, "the README shows no `fathom {verb}`: {commands:?}");
    }
    for command in commands {
        let said = runs(&command, &place, &path, &[0]);
        assert!(!said.trim().is_empty(), "`{command}` said nothing");
        if command.starts_with("fathom profile") {
            has_the_shape_of_the_example(&said);
        }
    }
}

/// What the README shows of its first command has lines that begin as those of the command do, and
/// columns that it has; the numbers are those of the machine, and so are the findings.
fn has_the_shape_of_the_example(said: &str) {
    let readme = document("README.md");
    let (_, example) = readme.split_once("\n```\nProfile of").expect("an example");
    let (example, _) = example.split_once("\n```").expect("the example ends");
    let is_finding = |line: &&str| line.contains("]: ");
    let lines = example.lines().skip(1).filter(|line| !is_finding(line));
    for line in lines.filter(|line| !line.is_empty()) {
        let start = line.split("  ").next().unwrap_or_default();
        let start = start
            .split(|c: char| c.is_ascii_digit())
            .next()
            .unwrap_or_default();
        let start = start.split(" No: ").next().unwrap_or_default();
        let start = start.trim_end();
        assert!(
            said.lines().any(|line| line.starts_with(start)),
            "no line begins with {start:?}:\n{said}"
        );
        if line.starts_with("Row ") {
            let columns = |line: &str| -> Vec<String> {
                let cells = line.split("  ").map(str::trim);
                cells
                    .filter(|cell| !cell.is_empty())
                    .map(str::to_owned)
                    .collect()
            };
            let printed = said.lines().find(|line| line.starts_with("Row "));
            let printed = columns(printed.unwrap_or_default());
            // An interval is a range where runs depend on when they ran.
            let known = |column: &String| printed.contains(column) || column.contains("(IOPS)");
            let unknown: Vec<String> = columns(line).into_iter().filter(|of| !known(of)).collect();
            assert!(unknown.is_empty(), "{unknown:?} of {printed:?}");
        }
    }
}

/// Runs a command, which must end with one of these codes; what it said.
fn runs(command: &str, place: &Path, path: &str, codes: &[i32]) -> String {
    let output = Command::new("sh")
        .args(["-c", command])
        .current_dir(place)
        .env("PATH", path)
        .output()
        .expect("there is a shell");
    let said = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    assert!(
        output
            .status
            .code()
            .is_some_and(|code| codes.contains(&code)),
        "`{command}` ended with {}:\n{said}",
        output.status
    );
    said
}

#[test]
fn every_command_of_the_page_on_experiments_works_with_the_plan_that_it_shows() {
    let page = document("docs/experiments.md");
    let (_, plan) = page.split_once("```toml\n").expect("it shows a plan");
    let (plan, _) = plan.split_once("```").expect("the plan ends");
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))
        .expect("a temporary directory can be made");
    let (place, bin) = (dir.path().join("reader"), programs(dir.path()));
    fs::create_dir(&place).expect("a temporary directory can be written");
    fs::write(place.join("gzip.toml"), plan).expect("a temporary directory can be written");
    let given = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{given}", bin.display());
    let commands = commands(&page);
    for verb in ["plan", "run", "status", "report"] {
        let has = |command: &String| command.starts_with(&format!("fathom lab {verb} "));
        assert!(commands.iter().any(has), "{verb}: {commands:?}");
    }
    for command in commands {
        // A verdict is what is measured; slower, or none, is an answer too.
        runs(&command, &place, &path, &[0, 3, 4]);
    }
    for file in [
        "gzip.jsonl",
        "gzip.plan.toml",
        "gzip.html",
        "ci.md",
        "ci.xml",
    ] {
        assert!(place.join(file).is_file(), "{file}");
    }
}

#[test]
fn commands_are_found_joined_and_scaled() {
    let document = "text\n```sh\n# a remark\ncargo run --release -- run x --file-size 1G \\\n  --duration 10s\ncargo test --workspace\nfathom slow # slow\n\
                    fathom run -- --size=1g --runtime=10\n```\n```\nnot this\n```\n";
    let ran: Vec<String> = commands(document)
        .iter()
        .filter_map(|command| runnable(command))
        .collect();
    assert_eq!(
        ran,
        [
            "fathom run x --file-size 16M   --duration 1s",
            "fathom run -- --size=16M --runtime=1"
        ]
    );
    assert_eq!(
        runnable("iopulse x --duration 0s").as_deref(),
        Some("iopulse x --duration 0s")
    );
    let profile = runnable("cargo run --release -- profile --report p.html");
    assert_eq!(
        profile.as_deref(),
        Some("fathom profile --report p.html --size 16M --budget 4s")
    );
}
