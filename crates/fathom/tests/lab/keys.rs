//! Each key of a plan file, by something that would be otherwise if the key did nothing.

use super::{in_dir, names, records_in, text, with_plan};
use serde_json::Value;
use std::fs;

/// A plan with one key of interest, and what came of it.
struct Ran {
    dir: tempfile::TempDir,
    told: String,
    code: Option<i32>,
    /// Of slots alone.
    slots: Vec<Value>,
}

const ARMS: &str = "[[arm]]\nname = \"a\"\n[[arm]]\nname = \"b\"\n";

/// A plan whose general part has these lines beside what keeps it short, and these further sections.
fn plan(general: &str, workload: &str, sections: &str) -> String {
    let usual = [
        ("metric", "\"time\""),
        ("passes", "1"),
        ("settle", "\"0s\""),
        ("keep-free", "\"1MiB\""),
        ("calibrate", "0"),
    ];
    let is_given = |key: &str| general.lines().any(|line| line.starts_with(key));
    let mut out = format!("{general}\n");
    for (key, value) in usual {
        if !is_given(key) {
            out.push_str(&format!("{key} = {value}\n"));
        }
    }
    let arms = if sections.contains("[[arm]]") {
        ""
    } else {
        ARMS
    };
    format!("{out}[workload]\n{workload}\n{sections}\n{arms}")
}

fn lab(verb: &str, plan: &str) -> Ran {
    let dir = with_plan(plan);
    fs::write(dir.path().join("five"), "12345").expect("the test can do this");
    fs::write(dir.path().join("nine.json"), "{\"a\": [9]}").expect("the test can do this");
    let output = in_dir(dir.path(), &["lab", verb, "p.toml"]);
    let file = dir.path().join("p.jsonl");
    let mut slots = if file.is_file() {
        records_in(&file)
    } else {
        Vec::new()
    };
    slots.retain(|record| !record["trial"].is_null());
    Ran {
        told: text(&output.stdout) + &text(&output.stderr),
        code: output.status.code(),
        dir,
        slots,
    }
}

impl Ran {
    /// The words of a file that commands wrote.
    fn words(&self, name: &str) -> Vec<String> {
        let text = fs::read_to_string(self.dir.path().join(name)).unwrap_or_default();
        text.split_whitespace().map(str::to_owned).collect()
    }

    fn value(&self, name: &str) -> Option<f64> {
        self.slots.first()?["summaries"]["run"]["figures"][name].as_f64()
    }
}

/// A key, a plan that has it, and what shows that it was heard.
type Case = (&'static str, &'static str, String, fn(&Ran) -> bool);

fn check(cases: &[Case]) {
    for (key, verb, plan, is_heard) in cases {
        let ran = lab(verb, plan);
        assert!(
            is_heard(&ran),
            "{key} did nothing: exit code {:?}, {} slots, files {:?}\n{plan}\n{}",
            ran.code,
            ran.slots.len(),
            names(ran.dir.path()),
            ran.told
        );
    }
}

#[test]
fn keys_of_the_experiment_are_alive() {
    let of = |general: &str| plan(general, "command = \"true\"", "");
    let counted = "command = \"sh -c 'echo c >> log'\"\nwarmup = 0";
    let long = "command = \"sleep 1000\"\nwarmup = 0";
    check(&[
        ("name", "run", of("name = \"other\""), |ran| {
            names(ran.dir.path()).contains(&"other.jsonl".into())
        }),
        ("question", "plan", of("question = \"Why?\""), |ran| {
            ran.told.contains("question    Why?")
        }),
        ("seed", "plan", of("seed = 7"), |ran| {
            ran.told.contains("order       seed 7;")
        }),
        ("metric", "plan", of("metric = \"cpu/op\""), |ran| {
            ran.told.contains("CPU")
        }),
        ("margin", "plan", of("margin = \"20%\""), |ran| {
            ran.told.contains("margin 20.0 %")
        }),
        ("passes", "run", of("passes = 2"), |ran| {
            ran.slots.len() == 4
        }),
        (
            "passes and budget",
            "run",
            of("passes = [3, 9]\nbudget = \"1ms\""),
            |ran| ran.slots.len() == 6 && ran.code == Some(5),
        ),
        ("control", "run", of("control = true"), |ran| {
            ran.slots.len() == 3
        }),
        (
            "calibrate",
            "run",
            plan("calibrate = 4", counted, ""),
            |ran| ran.words("log").len() == 6,
        ),
        (
            "slot-limit",
            "run",
            plan("slot-limit = \"200ms\"", long, ""),
            |ran| ran.code == Some(1) && ran.told.contains("not ended after"),
        ),
        (
            "scratch",
            "run",
            plan(
                "scratch = \"here\"",
                "command = \"sh -c 'ls -d {scratch} > at'\"",
                "",
            ),
            |ran| ran.words("at").concat().contains("/here/"),
        ),
        ("keep-free", "run", of("keep-free = \"900TiB\""), |ran| {
            ran.told.contains("and keep-free is 900 TiB")
        }),
    ]);
}

#[test]
fn keys_of_factors_and_arms_are_alive() {
    let factors = "[factors]\nsize = [\"1\", \"2\"]\ndepth = [3, 4]\nexclude = [{ size = \"1\", depth = 3 }]\n";
    let of = |arms: &str| plan("", "command = \"true\"", arms);
    check(&[
        (
            "factors",
            "run",
            plan("", "command = \"echo {size} {depth}\"", factors),
            |ran| {
                let mut rows: Vec<&str> = ran
                    .slots
                    .iter()
                    .filter_map(|slot| slot["trial"]["row"].as_str())
                    .collect();
                rows.sort_unstable();
                rows.dedup();
                rows == ["size=1 depth=4", "size=2 depth=3", "size=2 depth=4"]
            },
        ),
        (
            "role",
            "plan",
            of(
                "[[arm]]\nname = \"x\"\nrole = \"candidate\"\n[[arm]]\nname = \"y\"\nrole = \"baseline\"\n",
            ),
            |ran| ran.told.contains("y (baseline)") && ran.told.contains("x (candidate)"),
        ),
        (
            "expects",
            "run",
            of("[[arm]]\nname = \"x\"\n[[arm]]\nname = \"y\"\nexpects = [\"read\"]\n"),
            |ran| ran.told.contains("placebo: y is to change read"),
        ),
        (
            "set",
            "run",
            plan(
                "",
                "command = \"sh -c 'echo {word} >> log'\"\nwarmup = 0",
                "[[arm]]\nname = \"x\"\nset = { word = \"one\" }\n[[arm]]\nname = \"y\"\nset = { word = \"two\" }\n",
            ),
            |ran| {
                let mut words = ran.words("log");
                words.sort();
                words == ["one", "two"]
            },
        ),
    ]);
}

#[test]
fn keys_of_a_command_are_alive() {
    let of = |workload: &str| plan("", workload, "");
    let log = "sh -c 'echo c >> log'";
    let around = format!(
        "command = \"{log}\"\nprepare = \"sh -c 'echo p >> log'\"\ncleanup = \"sh -c 'echo e >> log'\"\nwarmup = 2\nrepeat = 3"
    );
    check(&[
        (
            "prepare, warmup, repeat, cleanup",
            "run",
            of(&around),
            |ran| ran.words("log") == "p c c c c c e p c c c c c e".split(' ').collect::<Vec<_>>(),
        ),
        (
            "for",
            "run",
            of(&format!("command = \"{log}\"\nwarmup = 0\nfor = \"3s\"")),
            |ran| ran.words("log").len() > 2,
        ),
        (
            "timeout",
            "run",
            of("command = \"sleep 1000\"\ntimeout = \"100ms\""),
            |ran| ran.code == Some(1) && ran.told.contains("not ended after"),
        ),
        (
            "exit-codes",
            "run",
            of("command = \"sh -c 'exit 3'\"\nexit-codes = [0, 3]"),
            |ran| ran.slots.len() == 2 && ran.slots[0]["outcome"]["status"] == "ok",
        ),
    ]);
}

#[test]
fn keys_of_what_a_command_takes_and_states_are_alive() {
    let of = |workload: &str| plan("", workload, "");
    check(&[
        (
            "input",
            "run",
            of(
                "command = \"wc -c\"\ninput = \"five\"\nread = { name = \"v\", regex = \"([0-9]+)\" }",
            ),
            |ran| ran.value("v") == Some(5.0),
        ),
        (
            "shell",
            "run",
            of(
                "command = \"echo $((1+1))\"\nshell = true\nread = { name = \"v\", regex = \"([0-9]+)\" }",
            ),
            |ran| ran.value("v") == Some(2.0),
        ),
        (
            "env",
            "run",
            of("command = \"sh -c 'echo $WORD >> log'\"\nenv = { WORD = \"{arm}\" }\nwarmup = 0"),
            |ran| ran.words("log").len() == 2,
        ),
        (
            "read: from, unit",
            "run",
            of(
                "command = \"sh -c 'echo 7 >&2; echo 8'\"\nread = { name = \"v\", regex = \"([0-9]+)\", from = \"stderr\", unit = \"MB/s\" }",
            ),
            |ran| {
                let written = &ran.slots[0]["summaries"]["run"]["as_written"]["v"];
                ran.value("v") == Some(7.0) && *written == "MB/s"
            },
        ),
        (
            "read: json, file, a list",
            "run",
            of(
                "command = \"echo 4\"\nread = [{ name = \"v\", json = \"/a/0\", file = \"nine.json\" }, { name = \"w\", regex = \"([0-9])\" }]",
            ),
            |ran| ran.value("v") == Some(9.0) && ran.value("w") == Some(4.0),
        ),
        (
            "better",
            "run",
            plan(
                "metric = \"value:v\"\nbetter = \"lower\"\npasses = 6",
                "command = \"echo {word}.{pass}\"\nread = { name = \"v\", regex = \"([0-9.]+)\" }",
                "[[arm]]\nname = \"a\"\nset = { word = 1 }\n[[arm]]\nname = \"b\"\nset = { word = 2 }\n",
            ),
            |ran| ran.code == Some(3),
        ),
    ]);
}

#[test]
fn keys_of_a_server_are_alive() {
    let of = |server: &str, workload: &str| {
        let server =
            format!("[server]\nready = {{ line = \"^up [0-9]+$\", within = \"60s\" }}\n{server}\n");
        plan("", workload, &server)
    };
    let quiet = "command = \"sh -c 'echo up 12; exec sleep 1000'\"";
    let asked = "command = \"sh -c 'readlink /proc/{pid}/cwd >> log; tr \\\"\\\\\\\\000\\\" \\\"\\\\\\\\n\\\" < /proc/{pid}/environ >> env'\"\nwarmup = 0";
    check(&[
        (
            "server: env, directory",
            "run",
            of(
                &format!("{quiet}\nenv = {{ WORD = \"w{{arm}}\" }}\ndirectory = \"/\""),
                asked,
            ),
            |ran| {
                let (at, env) = (ran.words("log"), ran.words("env"));
                let has = |word: &str| env.iter().any(|of| of.starts_with(word));
                at == ["/", "/"] && has("WORD=wa") && has("WORD=wb") && !has("CARGO_")
            },
        ),
        (
            "server: prepare, reset",
            "run",
            of(
                &format!(
                    "{quiet}\nprepare = \"sh -c 'echo p >> log'\"\nreset = \"sh -c 'echo r >> log'\""
                ),
                "command = \"sh -c 'echo c >> log'\"\nwarmup = 0",
            ),
            |ran| ran.words("log") == ["p", "c", "r", "p", "c", "r"],
        ),
        (
            "server: stop.signal",
            "run",
            of(
                "command = '''sh -c \"trap 'echo usr1 >> {scratch}/../../../log; exit 0' USR1; echo up 1; while :; do sleep 0.01; done\"'''\nstop = { signal = \"USR1\", within = \"60s\" }",
                "command = \"true\"",
            ),
            |ran| ran.words("log") == ["usr1", "usr1"],
        ),
        (
            "server: stop.within",
            "run",
            of(
                "command = '''sh -c \"trap '' TERM; echo up 1; while :; do sleep 0.01; done\"'''\nstop = { signal = \"TERM\", within = \"50ms\" }",
                "command = \"true\"",
            ),
            |ran| {
                ran.slots[0]["notices"]
                    .to_string()
                    .contains("did not end within 50 ms")
            },
        ),
        (
            "server: ready.within",
            "run",
            of("command = \"sleep 1000\"", "command = \"true\"").replace("60s", "50ms"),
            |ran| ran.code == Some(1) && ran.told.contains("was not ready within 50 ms"),
        ),
    ]);
}

#[test]
fn placeholders_of_a_slot_are_what_they_are_called() {
    let told = "command = \"sh -c 'echo {arm} {row} {pass} {seed} {port} {url} {fathom} {scratch} >> log'\"\nwarmup = 0";
    let ran = lab("run", &plan("seed = 5\npasses = 2", told, ""));
    let words = ran.words("log");
    let lines: Vec<&[String]> = words.chunks(8).collect();
    assert_eq!(lines.len(), 4, "{words:?}{}", ran.told);
    for line in &lines {
        let number = |at: usize| line[at].parse::<u64>().expect("a number");
        assert!(["a", "b"].contains(&line[0].as_str()), "{line:?}");
        assert_eq!((line[1].as_str(), number(3)), ("run", 5 + number(2)));
        assert_eq!(line[5], format!("http://127.0.0.1:{}", line[4]));
        assert!(line[6].ends_with("/fathom"), "{line:?}");
    }
    let mut scratch: Vec<&String> = lines.iter().map(|line| &line[7]).collect();
    scratch.sort();
    scratch.dedup();
    assert_eq!(scratch.len(), 4, "a directory of its own for each slot");
}
