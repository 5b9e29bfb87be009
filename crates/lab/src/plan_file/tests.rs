use super::*;

const SMALL: &str = r#"
metric = "time"
[factors]
size = ["1", "2"]
depth = [4, 8]
exclude = [{ size = "2", depth = 8 }]
[workload]
command = "work --size {size} --depth {depth} '{flag} x' {scratch}"
[[arm]]
name = "a"
set = { flag = "-a" }
[[arm]]
name = "b"
set = { flag = "{size}b" }
expects = ["put"]
"#;

fn refused(text: &str) -> String {
    PlanFile::parse(text, "p.toml").unwrap_err().to_string()
}

fn command(plan: &PlanFile, row: usize, arm: usize) -> Vec<String> {
    let mut with = Builtins::unknown();
    with.set("scratch", "/s p");
    match plan.cells[row][arm].work(&with).unwrap() {
        WorkSpec::Command(spec) => spec.command,
        other @ (WorkSpec::Run { .. } | WorkSpec::Load { .. }) => panic!("{other:?}"),
    }
}

#[test]
fn rows_are_the_product_of_the_factors_without_what_is_excluded() {
    let plan = PlanFile::parse(SMALL, "dir/p.toml").unwrap();
    let rows: Vec<&str> = plan.rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(rows, ["size=1 depth=4", "size=1 depth=8", "size=2 depth=4"]);
    assert_eq!(
        (plan.name.as_str(), plan.arms[1].expects.as_slice()),
        ("p", ["put".to_owned()].as_slice())
    );
    assert_eq!(
        (plan.arms[0].role, plan.arms[1].role),
        (Role::Baseline, Role::Candidate)
    );
    assert!(!plan.has_control());
}

#[test]
fn placeholders_are_filled_by_arm_row_and_slot_and_what_a_slot_fills_in_is_one_word() {
    let plan = PlanFile::parse(SMALL, "p.toml").unwrap();
    assert_eq!(
        command(&plan, 2, 1),
        ["work", "--size", "2", "--depth", "4", "2b x", "/s p"]
    );
    let planned = plan.cells[0][0].planned();
    assert_eq!(
        planned.options["command"],
        "work --size 1 --depth 4 -a x {scratch}"
    );
}

#[test]
fn braces_that_are_doubled_stand_for_themselves_and_others_are_refused() {
    let text = SMALL.replace("'{flag} x'", "'{flag} {{size}} a{{2}} {{print $1}}'");
    let plan = PlanFile::parse(&text, "p.toml").unwrap();
    assert_eq!(command(&plan, 0, 0)[5], "-a {size} a{2} {print $1}");
    for (braces, expected) in [
        (
            "{flag} {y",
            "p.toml:8: the brace at \"{y' {scratch}\" (character 44) is no placeholder",
        ),
        (
            "{flag} {}",
            "the brace at \"{}' {scratch}\" (character 44) has no name",
        ),
        (
            "{flag} }",
            "the brace at \"}' {scratch}\" (character 44) ends no placeholder",
        ),
        (
            "{flag} a{2}",
            "is no placeholder; a placeholder is {name}, and {{ and }} are braces",
        ),
        ("{flag} {{un}", "ends no placeholder"),
    ] {
        let refused = refused(&SMALL.replace("'{flag} x'", &format!("'{braces}'")));
        assert!(refused.contains(expected), "{braces}: {refused}");
    }
    let unclosed = SMALL.replace("{scratch}\"", "{scratch\"");
    assert!(
        refused(&unclosed).contains("does not end"),
        "{}",
        refused(&unclosed)
    );
    let in_a_value = SMALL.replace("\"-a\"", "\"-a{\"");
    assert!(refused(&in_a_value).contains("the brace at \"{\""));
}

#[test]
fn names_and_values_that_would_mislead_are_refused() {
    for (text, expected) in [
        (
            SMALL.replace("{ flag = \"-a\" }", "{ flag = \"-a\", size = \"9\" }"),
            "p.toml:11: size is a factor, and an arm sets it: every row would win over the arm",
        ),
        (
            SMALL.replace("name = \"b\"", "name = \"b\\u001b[31m\""),
            "p.toml:13: name: a name has no control characters",
        ),
        (
            SMALL.replace("name = \"b\"", "name = \"b\\u0000\""),
            "a name has no control characters",
        ),
        (
            SMALL.replace("[\"1\", \"2\"]", "[\"1\", \"2\\n\"]"),
            "p.toml:4: factor size: a value has no control characters",
        ),
        (
            format!("name = \"../x\"\n{SMALL}"),
            "p.toml:1: name: is the beginning of file names, and has no /",
        ),
        (
            format!("slot-limit = \"0s\"\n{SMALL}"),
            "p.toml:1: slot-limit: a time above 0, or every slot would fail",
        ),
        (
            SMALL.replace(
                "[[arm]]\nname = \"a\"",
                "timeout = \"0s\"\n[[arm]]\nname = \"a\"",
            ),
            "p.toml:9: timeout: a time above 0",
        ),
    ] {
        let refused = refused(&text);
        assert!(refused.contains(expected), "{expected:?}: {refused}");
    }
    let served = |section: &str| refused(&format!("{SMALL}[server]\ncommand = \"x\"\n{section}\n"));
    let limited = |limits: &str| {
        served(&format!(
            "ready = {{ tcp = \"a:1\" }}\nlimits = {{ {limits} }}"
        ))
    };
    assert!(limited("processes = 0").contains("processes: is a number above 0"));
    assert!(limited("memory = 0").contains("memory: is a size above 0"));
    for (section, expected) in [
        (
            "redy = { tcp = \"a:1\" }",
            "server has no key \"redy\", did you mean \"ready\"?",
        ),
        (
            "ready = { tpc = \"a:1\" }",
            "server.ready has no key \"tpc\"",
        ),
        (
            "ready = { tcp = \"a:1\" }\nstop = { singal = \"INT\" }",
            "server.stop has no key \"singal\", did you mean \"signal\"?",
        ),
        ("ready = \"a:1\"", "ready: is a table"),
    ] {
        let refused = served(section);
        assert!(refused.contains(expected), "{section}: {refused}");
    }
    let never = served("ready = { tcp = \"a:1\", within = \"0s\" }");
    assert!(never.contains("within: a time above 0"), "{never}");
}

#[test]
fn keys_values_and_placeholders_that_lead_nowhere_are_told_with_their_line() {
    let with = |line: &str| format!("{line}\n{SMALL}");
    for (text, expected) in [
        (
            with("metrik = 3"),
            "p.toml:1: a plan has no key \"metrik\", did you mean \"metric\"?",
        ),
        (
            SMALL.replace("command =", "comand ="),
            "p.toml:8: workload has no key \"comand\", did you mean \"command\"?",
        ),
        (
            SMALL.replace("{size} ", "{sise} "),
            "p.toml:8: the placeholder {sise} has no value",
        ),
        (
            SMALL.replace("{depth} ", ""),
            "p.toml:5: depth has no use: no text has {depth}",
        ),
        (
            SMALL.replace("'{flag} x'", ""),
            "p.toml:11: flag has no use",
        ),
        (
            SMALL.replace("{scratch}", "{tree}"),
            "p.toml:8: {tree} is known where there is a [build], and there is none",
        ),
        (
            SMALL.replace("{scratch}", "{pid}"),
            "p.toml:8: {pid} is known where there is a [server], and there is none",
        ),
        (
            SMALL.replace("depth = 8 }]", "dept = 8 }]"),
            "p.toml:6: exclude: there is no factor \"dept\", did you mean \"depth\"?",
        ),
        (
            SMALL.replace("name = \"b\"", "name = \"a\""),
            "two arms have the name \"a\"",
        ),
        (
            SMALL.replace("size = [\"1\", \"2\"]", "port = [\"1\", \"2\"]"),
            "\"port\" is a placeholder of every slot",
        ),
        (SMALL.replace(" x'", " x"), "p.toml:8: command"),
        (
            with("passes = [3, 200]"),
            "p.toml:1: passes: is a number above 0, or [least, most] of at most 90",
        ),
        (with("margin = \"0%\""), "p.toml:1: margin: must be above 0"),
        (with("budget = \"soon\""), "p.toml:1: budget: "),
        (with("seed = = 3"), "p.toml:1: "),
        ("[[arm]]\nname = \"a\"\n".into(), "there is one arm"),
        ("seed = 1\n".into(), "a plan has [[arm]] tables"),
    ] {
        let refused = refused(&text);
        assert!(refused.contains(expected), "{expected:?}: {refused}");
    }
}

#[test]
fn every_key_of_a_section_belongs_to_what_the_section_is() {
    let of = |workload: &str| {
        let text = format!("[workload]\n{workload}\n[[arm]]\nname=\"a\"\n[[arm]]\nname=\"b\"\n");
        PlanFile::parse(&text, "p.toml")
            .map(drop)
            .map_err(|e| e.to_string())
    };
    assert_eq!(of("run = { random = true }\ntarget = \"f\""), Ok(()));
    for (workload, expected) in [
        (
            "run = { random = true }\nwarmup = 2",
            "p.toml:3: warmup: does not belong to run",
        ),
        (
            "run = { random = true }\nprepare = \"make a mess\"",
            "p.toml:3: prepare: does not belong to run",
        ),
        (
            "command = \"x\"\nread = [{ name = \"a\", json = \"/a\", form = \"stderr\" }]",
            "p.toml:3: workload.read has no key \"form\", did you mean \"from\"?",
        ),
        (
            "command = \"x\"\nread = \"/a\"",
            "p.toml:3: read: is a table, or a list of tables",
        ),
        (
            "command = \"x\"\nshell = \"perhaps\"",
            "p.toml:3: shell: is true or false",
        ),
        (
            "run = {}\nload = \"put\"",
            "[workload] has one of run, load and command",
        ),
        (
            "load = \"put\"\ntarget = \"x\"\nrepeat = 2",
            "p.toml:4: repeat: does not belong to load",
        ),
        (
            "command = \"x\"\ntarget = \"y\"",
            "target: does not belong to command",
        ),
        (
            "command = \"x\"\nrepeat = 2\nfor = \"2s\"",
            "for: and repeat both say",
        ),
        (
            "command = \"x\"\nread = { regex = \"a(b)\" }",
            "name: is needed",
        ),
        (
            "command = \"x\"\nread = { name = \"a\", regex = \"a(b)\", json = \"/a\" }",
            "read has one of regex, json and import",
        ),
        (
            "command = \"x 'y\"",
            "p.toml:2: command: a quote does not end",
        ),
        ("command = \"\"", "names no program"),
    ] {
        let refused = of(workload).unwrap_err();
        assert!(refused.contains(expected), "{expected:?}: {refused}");
    }
}

#[test]
fn an_arm_has_what_is_common_unless_it_says_otherwise() {
    let text = r#"
[server]
command = "serve --port {port}"
env = { A = "1", B = "2" }
ready = { tcp = "127.0.0.1:{port}", within = "5s" }
limits = { memory = "64MiB" }
[workload]
load = "get"
target = "{url}/x"
set = { users = 3, duration = "1s" }
[[arm]]
name = "a"
[[arm]]
name = "b"
server = { env = { B = "3" }, stop = { signal = "INT" } }
workload = { set = { users = 4 } }
"#;
    let plan = PlanFile::parse(text, "p.toml").unwrap();
    let mut with = Builtins::unknown();
    with.set("port", "80");
    with.set("url", "http://h:80");
    let server = plan.cells[0][1].server(&with).unwrap().unwrap();
    assert_eq!(server.command, ["serve", "--port", "80"]);
    assert_eq!(
        (server.env["A"].as_str(), server.env["B"].as_str()),
        ("1", "3")
    );
    assert_eq!(
        (server.stop_signal.as_str(), server.ready_within_ns),
        ("INT", 5_000_000_000)
    );
    assert_eq!(server.limits.memory_bytes, Some(64 << 20));
    let WorkSpec::Load {
        target, options, ..
    } = plan.cells[0][1].work(&with).unwrap()
    else {
        panic!("it is a load")
    };
    assert_eq!(target.as_deref(), Some("http://h:80/x"));
    assert_eq!(
        (options["users"].as_str(), options["duration"].as_str()),
        ("4", "1s")
    );
}

#[test]
fn a_control_is_there_with_two_candidates_or_where_it_is_asked_for() {
    let with = |line: &str, arms: usize| {
        let arms: String = (0..arms)
            .map(|arm| format!("[[arm]]\nname = \"{arm}\"\n"))
            .collect();
        PlanFile::parse(
            &format!("{line}\n[workload]\ncommand = \"true\"\n{arms}"),
            "p",
        )
        .unwrap()
        .has_control()
    };
    assert_eq!(
        [
            with("", 2),
            with("", 3),
            with("control = true", 2),
            with("control = false", 3)
        ],
        [false, true, true, false]
    );
}

proptest::proptest! {
    #[test]
    fn no_text_is_too_strange_to_be_refused(text in "([a-z{}\\[\\]=\"\n. ]{0,80})") {
        let _either = PlanFile::parse(&text, "p.toml");
        let _either = PlanFile::parse(&SMALL.replace("{flag}", &text), "p.toml");
    }
}

#[test]
fn no_budget_ends_a_plan_before_its_first_look_unless_it_says_so() {
    for (rows, least) in [(0, 8), (1, 8), (2, 4), (3, 3), (8, 1), (20, 1)] {
        assert_eq!(Passes::UntilKnown.ends(rows), [least, 90]);
    }
    assert_eq!(Passes::ByLooks([1, 12]).ends(1), [1, 12]);
    assert_eq!(Passes::Fixed(5).ends(20), [5, 5]);
}

#[test]
fn names_and_values_that_look_alike_are_refused() {
    for (text, expected) in [
        (
            SMALL.replace("name = \"b\"", "name = \"a\\u200b\""),
            "p.toml:13: name: a name has no letters that are not seen",
        ),
        (
            SMALL.replace("name = \"b\"", "name = \"\\u202eb\""),
            "no letters that are not seen",
        ),
        (
            SMALL.replace("name = \"b\"", "name = \"a \""),
            "no blanks at its ends: two would look alike",
        ),
        (
            SMALL.replace("[\"1\", \"2\"]", "[\"1\", \"1\\u200b\"]"),
            "p.toml:4: factor size: a value has no letters that are not seen",
        ),
    ] {
        let told = refused(&text);
        assert!(told.contains(expected), "{told}");
    }
}
