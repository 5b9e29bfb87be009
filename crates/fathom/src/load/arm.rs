//! A load as an arm of an experiment: the options of `fathom load` by their names.

use super::{options, usage};
use crate::exit::Usage;
use anyhow::Result;
use conduct::LoadTask;
use std::collections::BTreeMap;
use workload::SpecError;
use workload::settings::nearest;

/// Options of which an experiment decides itself.
const OF_THE_EXPERIMENT: [&str; 4] = ["find-knee", "step-duration", "most-rate", "dry-run"];

/// Whether a load has an option of this name.
pub(crate) fn is_key(key: &str) -> bool {
    keys().any(|known| known == key)
}

fn keys() -> impl Iterator<Item = &'static str> {
    let of_a_load = options::keys().chain(["target", "cacert"]);
    of_a_load.filter(|name| !OF_THE_EXPERIMENT.contains(name))
}

/// Refuses what no option of a load is called.
///
/// # Errors
/// The nearest that there is.
pub(crate) fn check_key(key: &str) -> Result<(), SpecError> {
    if is_key(key) {
        return Ok(());
    }
    Err(SpecError::UnknownKey {
        key: key.to_owned(),
        suggestion: nearest(key, keys()),
    })
}

/// The load of a scenario with these options, as its command line would have it.
///
/// # Errors
/// As `fathom load` would refuse it.
pub(crate) fn task(scenario: &str, given: &BTreeMap<String, String>) -> Result<LoadTask> {
    let mut line = vec!["load".to_owned(), scenario.to_owned()];
    for (key, value) in given {
        match (options::is_switch(key), value.as_str()) {
            (false, _) => line.push(format!("--{key}={value}")),
            (true, "true") => line.push(format!("--{key}")),
            (true, "false") => {}
            (true, _) => {
                return Err(Usage(format!("{key}={value}: a switch is true or false")).into());
            }
        }
    }
    let matches = options::command().try_get_matches_from(line);
    let matches = matches.map_err(|error| Usage(error.to_string()))?;
    let plan = options::plan(&matches).map_err(usage)?;
    plan.check().map_err(usage)?;
    Ok(LoadTask {
        plan,
        asked: options::asked(&matches),
    })
}
