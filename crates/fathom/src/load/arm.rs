//! A load as an arm of an experiment: the options of `fathom load` by their names.

use super::{options, usage};
use anyhow::Result;
use conduct::LoadTask;
use object::{AskedLoad, LOAD_OPTIONS, LoadOption};
use std::collections::BTreeMap;
use workload::SpecError;
use workload::settings::nearest;

/// Whether an arm has an option of this name.
pub(crate) fn is_key(key: &str) -> bool {
    LoadOption::named(key).is_some_and(|option| option.is_of_arms)
}

/// Whether an arm may have it several times.
pub(crate) fn is_repeated(key: &str) -> bool {
    LoadOption::named(key).is_some_and(|option| option.is_repeated)
}

/// Refuses what no option of an arm is called.
///
/// # Errors
/// The nearest that there is.
pub(crate) fn check_key(key: &str) -> Result<(), SpecError> {
    named(key).map(drop)
}

fn named(key: &str) -> Result<&'static LoadOption, SpecError> {
    let of_arms = || LOAD_OPTIONS.iter().filter(|option| option.is_of_arms);
    of_arms()
        .find(|option| option.name == key)
        .ok_or_else(|| SpecError::UnknownKey {
            key: key.to_owned(),
            suggestion: nearest(key, of_arms().map(|option| option.name)),
        })
}

/// What may be told of an option of an arm.
pub(crate) fn recorded(key: &str, text: &str) -> String {
    LoadOption::named(key).map_or_else(|| text.to_owned(), |option| option.recorded(text))
}

/// The load of a scenario with these options, as its command line would have it.
///
/// # Errors
/// As `fathom load` would refuse it.
pub(crate) fn task(scenario: &str, given: &BTreeMap<String, String>) -> Result<LoadTask> {
    let mut load = AskedLoad::default();
    let mut asked = BTreeMap::from([("scenario".to_owned(), scenario.to_owned())]);
    for (key, text) in given {
        let option = named(key)?;
        match option.is_repeated {
            true => text
                .lines()
                .try_for_each(|line| option.read(&mut load, line)),
            false => option.read(&mut load, text),
        }
        .map_err(usage)?;
        // A switch that is off was not asked for.
        if option.value().is_some() || text == "true" {
            asked.insert(key.clone(), option.recorded(text));
        }
    }
    let plan = options::plan(Some(scenario), load).map_err(usage)?;
    plan.check().map_err(usage)?;
    Ok(LoadTask { plan, asked })
}
