//! The values that a shell completes, from the tables that read them. A command line is read without
//! this: what reads a value says better why it is none.

use analyze::rules;
use clap::builder::PossibleValuesParser;
use clap::{Arg, Command};
use object::Scenario;
use record::Quantity;
use workload::settings::Setting;
use workload::{EngineName, EngineTarget, SpecError, Workload, settings};

/// Kinds of operations of which metrics are completed; others are as good.
const KINDS: [&str; 4] = ["read", "write", "get", "put"];
/// Where a file may stand in the place of a value.
pub(crate) const OR_FILES: [(&str, &str); 1] = [("load", "scenario")];

/// The command with the values of its arguments.
pub(crate) fn with_values(command: Command) -> Command {
    of_verb(command, "")
}

fn of_verb(command: Command, path: &str) -> Command {
    let command = command.mut_args(|arg| match values(path, &arg) {
        values if values.is_empty() => arg,
        values => arg.value_parser(PossibleValuesParser::new(values)),
    });
    crate::help::each_below(command, path, of_verb)
}

/// The values of an argument; empty: it takes others than these as well, or says them itself.
fn values(path: &str, arg: &Arg) -> Vec<String> {
    let words = |words: &mut dyn Iterator<Item = &str>| words.map(str::to_owned).collect();
    match (path, arg.get_id().as_str()) {
        ("explain", "rule") => words(&mut rules().iter().map(|rule| rule.id)),
        ("load", "scenario" | "print-scenario") | ("compare", "load") => Scenario::presets()
            .map(|(name, _)| name.to_owned())
            .collect(),
        (_, "metric") => metrics(),
        ("compare", "factor") => settings::SETTINGS.iter().map(|of| of.key.into()).collect(),
        ("serve s3", "sync") => ["always", "interval=100ms", "never"]
            .map(str::to_owned)
            .into(),
        ("profile", "engine") => {
            let of_files = |engine: &&EngineName| engine.target() == EngineTarget::Files;
            words(
                &mut EngineName::ALL
                    .iter()
                    .filter(of_files)
                    .map(|engine| engine.word()),
            )
        }
        ("run", key) => settings::find(key).map_or_else(Vec::new, of_setting),
        _ => Vec::new(),
    }
}

/// The words that an option takes, as its refusal of none of them says.
fn of_setting(setting: &Setting) -> Vec<String> {
    match setting.apply(&mut Workload::default(), "none of them") {
        Err(SpecError::NotOneOf { allowed, .. }) => {
            allowed.split(", ").map(str::to_owned).collect()
        }
        Ok(()) | Err(_) => Vec::new(),
    }
}

/// Names of quantities.
fn metrics() -> Vec<String> {
    let studied = Quantity::in_studies();
    let of_kinds = KINDS.iter().flat_map(|kind| {
        let of_kind = studied.iter().map(|quantity| quantity.of_kind(kind).key());
        of_kind.filter(|key| Quantity::parse(key).is_ok())
    });
    let whole = Quantity::of_whole_records();
    let all = studied.iter().chain(&whole).map(Quantity::key);
    let mut out: Vec<String> = Vec::new();
    for key in all.chain(of_kinds) {
        if !out.contains(&key) {
            out.push(key);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_scenarios_rules_and_metrics_are_completed_by_what_is_read() {
        let command = with_values(crate::verbs());
        let of = |verb: &str, id: &str| -> Vec<String> {
            let verb = command.find_subcommand(verb).unwrap();
            let arg = verb.get_arguments().find(|arg| arg.get_id() == id).unwrap();
            let values = arg.get_value_parser().possible_values();
            values
                .into_iter()
                .flatten()
                .map(|value| value.get_name().to_owned())
                .collect()
        };
        let engines = of("run", "engine");
        assert!(engines.contains(&"io_uring".to_owned()) && engines.contains(&"null".to_owned()));
        assert!(!of("profile", "engine").contains(&"null".to_owned()));
        assert!(of("run", "distribution").contains(&"zipf".to_owned()));
        assert!(of("run", "queue-depth").is_empty() && of("run", "file-size").is_empty());
        for (verb, id) in [("load", "scenario"), ("compare", "load")] {
            assert!(
                of(verb, id).contains(&"put-get-verify".to_owned()),
                "{verb}"
            );
        }
        assert_eq!(of("explain", "rule").len(), rules().len());
        for verb in ["compare", "report"] {
            let metrics = of(verb, "metric");
            for known in ["iops", "p99.9", "cpu/op", "get.p99", "read.throughput"] {
                assert!(
                    metrics.contains(&known.to_owned()),
                    "{verb}: {known} {metrics:?}"
                );
            }
            let unknown = metrics.iter().filter(|key| Quantity::parse(key).is_err());
            assert_eq!(unknown.count(), 0);
        }
    }

    #[test]
    fn every_engine_that_is_completed_is_read() {
        for value in values("run", &Arg::new("engine")) {
            assert!(EngineName::of_word(&value).is_some(), "{value}");
        }
    }
}
