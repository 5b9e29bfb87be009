//! How quantities are written.

use super::table::{Measure, TABLE};
use super::{ITERATION, LATENESS, NoQuantity, Quantity, RequestPart};

/// What a number stated by a source begins with.
const STATED: &str = "value:";

impl Quantity {
    /// Reads the name of a quantity.
    ///
    /// # Errors
    /// The text names none.
    pub fn parse(text: &str) -> Result<Self, NoQuantity> {
        let refused = |why: String| NoQuantity { why };
        let stated = text.split_once(STATED).filter(|(_, name)| !name.is_empty());
        if let Some(((subject, name), measure)) = stated.zip(value()) {
            let (kind, part) = subject_of(subject)?;
            return Ok(Self {
                kind,
                part,
                parameter: name.to_owned(),
                ..Self::of_all(measure)
            });
        }
        if let Some(measure) = of_record(text) {
            return Ok(Self::of_all(measure));
        }
        let (subject, measure, parameter) = suffix(text).ok_or_else(|| {
            let word = text.rsplit('.').next().unwrap_or(text);
            refused(format!("{word:?} is no metric; metrics are {}", forms()))
        })?;
        let (kind, part) = subject_of(subject)?;
        let has_times_alone =
            part.is_some() || matches!(kind.as_deref(), Some(ITERATION | LATENESS));
        if has_times_alone && !measure.is_of_times() {
            return Err(refused("phases and iterations have times only".to_owned()));
        }
        Ok(Self {
            kind,
            part,
            parameter,
            ..Self::of_all(measure)
        })
    }
}

/// Every name of a measure, for help and refusals.
#[must_use]
pub fn forms() -> String {
    let names = TABLE.iter().map(|measure| {
        let name = measure
            .name
            .replace("p{}", "p50 to p100")
            .replace("{}", "NAME");
        std::iter::once(name)
            .chain(measure.aliases.iter().map(|alias| (*alias).to_owned()))
            .collect::<Vec<_>>()
            .join(" or ")
    });
    names.collect::<Vec<_>>().join(", ")
}

/// Kind and part of what stands before a measure: nothing, or words that each end with a dot.
fn subject_of(text: &str) -> Result<(Option<String>, Option<RequestPart>), NoQuantity> {
    let refused = |why: String| NoQuantity { why };
    if text.is_empty() {
        return Ok((None, None));
    }
    let mut words: Vec<&str> = text.strip_suffix('.').unwrap_or(text).split('.').collect();
    let part = words.last().and_then(|word| RequestPart::named(word));
    if part.is_some() {
        words.pop();
    }
    let kind = words.pop();
    if !words.is_empty() {
        return Err(refused("too many dots".to_owned()));
    }
    let is_word = |kind: &str| {
        let mut letters = kind.chars();
        !kind.is_empty() && letters.all(|c| c.is_ascii_lowercase() || matches!(c, '-' | '_'))
    };
    match kind.filter(|kind| !is_word(kind)) {
        Some(kind) => Err(refused(format!("{kind:?} is no kind of operation"))),
        None => Ok((kind.map(str::to_owned), part)),
    }
}

/// What a source states under a name.
fn value() -> Option<&'static Measure> {
    TABLE.iter().find(|measure| measure.name == "value:{}")
}

/// The measure that stands alone under this name.
fn of_record(text: &str) -> Option<&'static Measure> {
    TABLE
        .iter()
        .filter(|measure| measure.is_of_record())
        .find(|measure| measure.name == text || measure.aliases.contains(&text))
}

/// What stands before the name of a measure with the dot between them, the measure, and its
/// parameter. The dot of `p99.9` divides nothing.
fn suffix(text: &str) -> Option<(&str, &'static Measure, String)> {
    let before = |name: &str| {
        let rest = text.strip_suffix(name)?;
        (rest.is_empty() || rest.ends_with('.')).then_some(rest)
    };
    let alike = |word: &str| before(word).map(str::len);
    let plain = TABLE
        .iter()
        .filter(|measure| !measure.is_of_record() && !measure.has_parameter())
        .find_map(|measure| {
            let mut names = std::iter::once(&measure.name).chain(measure.aliases);
            names.find_map(|name| Some((before(name)?, measure, String::new())))
        });
    let percentile = TABLE.iter().find(|measure| measure.name == "p{}")?;
    let middle = ["median", "med"].into_iter().find_map(alike);
    plain.or_else(|| {
        let (at, percent) = match middle {
            Some(at) => (at, 50.0),
            None => {
                let at = text.rfind(".p").map_or(0, |at| at + 1);
                (at, percentage(text[at..].strip_prefix('p')?)?)
            }
        };
        let rest = &text[..at];
        if percent < 100.0 {
            return Some((rest, percentile, percent.to_string()));
        }
        let max = TABLE.iter().find(|measure| measure.name == "max")?;
        Some((rest, max, String::new()))
    })
}

/// A percentage in digits, with or without a fraction: `50`, `99.9`.
fn percentage(text: &str) -> Option<f64> {
    let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let number = text.split('.').all(are_digits).then(|| text.parse().ok());
    number
        .flatten()
        .filter(|percent| (0.0..=100.0).contains(percent))
}
