//! Keys of scenario files that are options of a load, read by the table of those.

use super::Adjustments;
use crate::LoadError;
use crate::options::{AskedLoad, LOAD_OPTIONS};
use toml::de::{DeTable, DeValue};

/// Takes the options of a load out of a file.
pub(super) fn options(top: &mut DeTable<'_>) -> Result<Adjustments, LoadError> {
    let mut asked = AskedLoad::default();
    for option in &LOAD_OPTIONS {
        let Some(key) = option.scenario_key else {
            continue;
        };
        let Some(value) = taken(top, key) else {
            continue;
        };
        let texts = match value.as_array().filter(|_| option.is_repeated) {
            Some(items) => items.iter().map(|item| one_text(item.get_ref())).collect(),
            None => one_text(&value).map(|text| vec![text]),
        };
        let texts = texts.ok_or_else(|| {
            LoadError::asked(format!("{key}: is neither text, number nor switch"))
        })?;
        for text in texts {
            let read = option.read(&mut asked, &text);
            read.map_err(|error| LoadError::asked(format!("{key}: {error}")))?;
        }
    }
    Ok(asked.changes)
}

/// The value of a key, or of one in a table, which the file has no more.
fn taken<'a>(top: &mut DeTable<'a>, key: &str) -> Option<DeValue<'a>> {
    let (table, key) = match key.split_once('.') {
        None => (top, key),
        Some((table, key)) => {
            let DeValue::Table(inner) = top.get_mut(table)?.get_mut() else {
                return None;
            };
            (inner, key)
        }
    };
    table.remove(key).map(toml::Spanned::into_inner)
}

fn one_text(value: &DeValue<'_>) -> Option<String> {
    let number = || value.as_integer().map(|number| number.as_str().to_owned());
    let text = value.as_str().map(str::to_owned);
    text.or_else(|| value.as_bool().map(|is_on| is_on.to_string()))
        .or_else(number)
}

/// What the reader of TOML leaves out where it lists the keys that a file may have.
pub(super) fn more_keys(message: &str, of_file: &[String]) -> String {
    let unknown = message.strip_prefix("unknown field `");
    let unknown = unknown.and_then(|rest| rest.split_once('`'));
    if !unknown.is_some_and(|(key, _)| of_file.iter().any(|known| known == key)) {
        return String::new();
    }
    let keys = LOAD_OPTIONS.iter().filter_map(|option| option.scenario_key);
    let of_file = keys.filter(|key| !key.contains('.'));
    of_file.map(|key| format!(", `{key}`")).collect()
}
