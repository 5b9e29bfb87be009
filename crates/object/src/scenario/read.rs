//! Scenarios as TOML.

use super::keys::{more_keys, options};
use super::{
    Adjustments, Arrivals, Follow, KeyChoice, ObjectSet, ObjectSizes, ObjectSource, PayloadMode,
    Scenario, Seed, Sleep, UserStep,
};
use crate::LoadError;
use crate::payload::ObjectData;
use crate::ramp::{Leg, Ramp, Spacing};
use crate::verbs::{self, StepKind, Uses};
use serde::Deserialize;
use toml::de::DeTable;
use units::{Bytes, Nanos, Rate};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: Option<String>,
    #[serde(default)]
    about: String,
    users: Option<Users>,
    rate: Option<Rates>,
    #[serde(default)]
    seed: Vec<SeedTable>,
    prefixes: Option<u32>,
    #[serde(default)]
    operation: Vec<Operation>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Users {
    #[serde(default)]
    start: u32,
    stages: Vec<StageTable<u32>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rates {
    start: Option<String>,
    stages: Vec<StageTable<String>>,
    connections: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StageTable<L> {
    #[serde(rename = "for")]
    for_text: String,
    to: L,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SeedTable {
    #[serde(default = "one")]
    count: u64,
    size: String,
    #[serde(default = "one_f64")]
    weight: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Operation {
    kind: StepKind,
    #[serde(default = "one_f64")]
    weight: f64,
    size: Option<String>,
    part_size: Option<String>,
    field: Option<String>,
    #[serde(default)]
    from: Vec<FromTable>,
    #[serde(default)]
    sleep: Vec<SleepTable>,
    #[serde(default)]
    then: Vec<ThenTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FromTable {
    objects: ObjectSet,
    #[serde(default = "one_f64")]
    weight: f64,
    last: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SleepTable {
    under: Option<String>,
    #[serde(rename = "for")]
    for_text: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct ThenTable {
    kind: StepKind,
    #[serde(default = "one_u32")]
    one_in: u32,
    at_most: Option<String>,
}

fn one() -> u64 {
    1
}

fn one_u32() -> u32 {
    1
}

fn one_f64() -> f64 {
    1.0
}

/// Smallest part that S3 takes, but for the last.
const USUAL_PART: u64 = 5 << 20;

impl Scenario {
    /// Reads a scenario; `file` names it in errors and, where the text has no name, in the record.
    ///
    /// # Errors
    /// No TOML, an unknown key, a value that makes no sense: where, and what to write instead.
    pub fn parse(text: &str, file: &str) -> Result<Self, LoadError> {
        let (raw, changes) =
            tables(text).map_err(|error| LoadError::asked(format!("{file}: {error}")))?;
        let at = |place: String| {
            move |error: LoadError| LoadError::asked(format!("{file}: {place}: {error}"))
        };
        let arrivals = arrivals(raw.users, raw.rate).map_err(at("the load".into()))?;
        let mut seeds = Vec::new();
        for (number, seed) in (1..).zip(raw.seed) {
            let place = format!("seed {number}");
            let size = bytes(&seed.size).map_err(at(place.clone()))?;
            positive(seed.weight).map_err(at(place))?;
            seeds.push(Seed {
                count: seed.count,
                size,
                weight: seed.weight,
            });
        }
        let mut steps = Vec::new();
        for (number, operation) in (1..).zip(raw.operation) {
            let place = format!("operation {number} ({})", operation.kind.word());
            steps.push(step(operation).map_err(at(place))?);
        }
        let stem = || {
            std::path::Path::new(file)
                .file_stem()
                .map_or_else(|| "load".into(), |stem| stem.to_string_lossy().into_owned())
        };
        let scenario = Self {
            name: raw.name.unwrap_or_else(stem),
            about: raw.about,
            arrivals,
            seeds,
            keys: KeyChoice::default(),
            prefixes: raw.prefixes.unwrap_or(1).max(1),
            steps,
            thresholds: Vec::new(),
            payload: PayloadMode::default(),
            data: ObjectData::default(),
            verify: false,
            range: None,
        };
        scenario
            .adjusted(&changes)
            .map_err(|error| LoadError::asked(format!("{file}: {error}")))
    }
}

/// What a file says, and the options of a load among it.
fn tables(text: &str) -> Result<(File, Adjustments), LoadError> {
    let refused = |mut error: toml::de::Error, more: &str| {
        error.set_input(Some(text));
        LoadError::asked(format!("{}{more}", error.to_string().trim_end()))
    };
    let mut top = DeTable::parse(text).map_err(|error| refused(error, ""))?;
    let changes = options(top.get_mut())?;
    let unread: Vec<String> = top
        .get_ref()
        .keys()
        .map(|key| key.get_ref().to_string())
        .collect();
    let file = File::deserialize(toml::Deserializer::from(top));
    let file = file.map_err(|error| {
        let more = more_keys(error.message(), &unread);
        refused(error, &more)
    })?;
    Ok((file, changes))
}

impl KeyChoice {
    /// Reads `uniform`, `zipf` or `zipf:THETA`.
    ///
    /// # Errors
    /// The text is none of these.
    pub fn parse(text: &str) -> Result<Self, LoadError> {
        match text.split_once(':').unwrap_or((text, "0.99")) {
            ("uniform", "0.99") if !text.contains(':') => Ok(Self::Uniform),
            ("zipf", theta) => match theta.parse::<f64>() {
                Ok(theta) if (0.0..=5.0).contains(&theta) => Ok(Self::Zipf(theta)),
                Ok(_) | Err(_) => Err(LoadError::asked(format!(
                    "keys {text:?}: theta is a number from 0 to 5; example: zipf:0.99"
                ))),
            },
            _ => Err(LoadError::asked(format!(
                "keys {text:?} is neither uniform nor zipf:THETA"
            ))),
        }
    }
}

fn arrivals(users: Option<Users>, rate: Option<Rates>) -> Result<Arrivals, LoadError> {
    match (users, rate) {
        (Some(users), None) => Ok(Arrivals::Closed {
            users: Ramp {
                start: f64::from(users.start),
                legs: legs(&users.stages, |level| Ok(f64::from(*level)))?,
            },
        }),
        (None, Some(rates)) => {
            let legs = legs(&rates.stages, |level| per_second(level))?;
            let start = rates.start.as_deref().map_or(Ok(0.0), per_second)?;
            if rates.connections == 0 {
                return Err(LoadError::asked("connections must be 1 or more"));
            }
            Ok(Arrivals::Open {
                rate: Ramp { start, legs },
                spacing: Spacing::default(),
                connections: rates.connections,
            })
        }
        (Some(_), Some(_)) => Err(LoadError::asked(
            "[users] is a closed loop and [rate] an open one; give one of them",
        )),
        (None, None) => Err(LoadError::asked(
            "neither [users] nor [rate]; give one, with stages such as { for = \"30s\", to = 16 }",
        )),
    }
}

fn legs<L>(
    stages: &[StageTable<L>],
    level: impl Fn(&L) -> Result<f64, LoadError>,
) -> Result<Vec<Leg>, LoadError> {
    let leg = |stage: &StageTable<L>| {
        Ok(Leg {
            for_ns: time(&stage.for_text)?,
            to: level(&stage.to)?,
        })
    };
    stages.iter().map(leg).collect()
}

fn per_second(text: &str) -> Result<f64, LoadError> {
    let rate = Rate::parse(text).map_err(|e| LoadError::asked(e.to_string()))?;
    Ok(rate.0)
}

/// Whether a verb has the keys that it is given.
fn check_keys(raw: &Operation) -> Result<(), LoadError> {
    let verb = raw.kind.verb();
    let refuse = |text: String| Err(LoadError::Asked(text));
    if verb.uses.has_size() && raw.size.is_none() {
        return refuse("what is written has a size; add size = \"4KiB\"".into());
    }
    if !verb.uses.has_size() && raw.size.is_some() {
        return refuse(
            "size belongs to what is written; what is read has the size it was made with".into(),
        );
    }
    if !raw.from.is_empty() && !verb.uses.has_source() {
        return refuse(format!(
            "from belongs to {}",
            verbs::words(Uses::has_source)
        ));
    }
    if !raw.then.is_empty() && !verb.uses.makes_object() {
        return refuse(format!(
            "then belongs to {}",
            verbs::words(Uses::makes_object)
        ));
    }
    for (option, given) in [
        ("part-size", raw.part_size.is_some()),
        ("field", raw.field.is_some()),
    ] {
        if given && !verb.has_option(option) {
            return refuse(format!(
                "{option} would change nothing for {}",
                raw.kind.word()
            ));
        }
    }
    Ok(())
}

fn step(raw: Operation) -> Result<UserStep, LoadError> {
    positive(raw.weight)?;
    check_keys(&raw)?;
    let kind = raw.kind;
    let part_bytes = raw.part_size.as_deref().map_or(Ok(USUAL_PART), bytes)?;
    if part_bytes == 0 {
        return Err(LoadError::asked("part-size must be above 0"));
    }
    let mut from = Vec::new();
    for source in &raw.from {
        positive(source.weight)?;
        from.push(ObjectSource {
            set: source.objects,
            weight: source.weight,
            last: source.last,
        });
    }
    let mut sleeps = Vec::new();
    for sleep in &raw.sleep {
        sleeps.push(Sleep {
            under: sleep.under.as_deref().map(bytes).transpose()?,
            for_ns: time(&sleep.for_text)?,
        });
    }
    let mut then = Vec::new();
    for follow in &raw.then {
        if !follow.kind.verb().uses.follows() || follow.one_in == 0 {
            return Err(LoadError::Asked(format!(
                "then is one of {}, one-in 1 or more",
                verbs::words(Uses::follows)
            )));
        }
        then.push(Follow {
            kind: follow.kind,
            one_in: follow.one_in,
            at_most: follow.at_most.as_deref().map(bytes).transpose()?,
        });
    }
    let sizes = ObjectSizes::parse(raw.size.as_deref().unwrap_or("0"))?;
    Ok(UserStep {
        kind,
        weight: raw.weight,
        sizes,
        part_bytes,
        field: raw.field.unwrap_or_else(|| "file".into()),
        from,
        sleeps,
        then,
    })
}

fn positive(weight: f64) -> Result<(), LoadError> {
    if weight > 0.0 && weight.is_finite() {
        Ok(())
    } else {
        Err(LoadError::asked(format!(
            "weight {weight} is no number above 0"
        )))
    }
}

fn bytes(text: &str) -> Result<u64, LoadError> {
    Bytes::parse(text)
        .map(|bytes| bytes.0)
        .map_err(|e| LoadError::asked(e.to_string()))
}

fn time(text: &str) -> Result<u64, LoadError> {
    Nanos::parse(text)
        .map(|time| time.0)
        .map_err(|e| LoadError::asked(e.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SOUND: &str = "[users]\nstages = [{ for = \"1s\", to = 2 }]\n[[operation]]\nkind = \"put\"\nsize = \"1KiB\"\n";

    #[test]
    fn a_small_scenario_has_the_name_of_its_file() {
        let scenario = Scenario::parse(SOUND, "dir/mine.toml").unwrap();
        assert_eq!(
            (
                scenario.name.as_str(),
                scenario.most_users(),
                scenario.prefixes
            ),
            ("mine", 2, 1)
        );
    }

    #[test]
    fn an_open_loop_has_a_rate_and_connections() {
        let text = "[rate]\narrival = \"constant\"\nconnections = 9\nstages = [{ for = \"1s\", to = \"2k\" }]\n[[operation]]\nkind = \"fetch\"\n";
        let scenario = Scenario::parse(text, "x").unwrap();
        let rate = Ramp {
            start: 0.0,
            legs: vec![Leg {
                for_ns: 1_000_000_000,
                to: 2000.0,
            }],
        };
        assert_eq!(
            scenario.arrivals,
            Arrivals::Open {
                rate,
                spacing: Spacing::Constant,
                connections: 9
            }
        );
    }

    #[test]
    fn a_mistake_is_told_with_file_place_and_remedy() {
        let seeded = "[[seed]]\nsize = \"1KiB\"\n";
        for (text, told) in [
            ("x", "f.toml: TOML parse error at line 1"),
            ("[users]\nstages = []\nnope = 1", "unknown field `nope`"),
            ("", "neither [users] nor [rate]"),
            (&format!("{SOUND}sizes = 1"), "unknown field `sizes`"),
            (
                &format!("verfy = true\n{SOUND}"),
                "`operation`, `thresholds`, `keys`, `range`, `data`, `payload`, `verify`",
            ),
            (
                &format!("data = \"noise\"\n{SOUND}"),
                "data: --data \"noise\" is not one of random, text, zeros",
            ),
            (
                &format!("keys = [\"uniform\"]\n{SOUND}"),
                "keys: is neither text, number nor switch",
            ),
            (&SOUND.replace("1KiB", "1KB"), "operation 1 (put)"),
            (&SOUND.replace("\"1s\"", "\"1x\""), "the load"),
            (&SOUND.replace("\"1s\"", "\"0s\""), "the load has no length"),
            (&SOUND.replace("size = \"1KiB\"", ""), "add size = \"4KiB\""),
            (
                &SOUND.replace("put", "get"),
                "size belongs to what is written",
            ),
            (
                &SOUND.replace("put", "get").replace("size = \"1KiB\"", ""),
                "add [[seed]]",
            ),
            (
                &SOUND
                    .replace("put", "delete")
                    .replace("size = \"1KiB\"", "from = [{ objects = \"own\" }]"),
                "needs an operation that uploads",
            ),
            (&format!("{SOUND}weight = -1.0"), "no number above 0"),
            (
                &format!("{SOUND}part-size = \"5MiB\""),
                "part-size would change nothing for put",
            ),
            (
                &format!("{SOUND}from = [{{ objects = \"own\" }}]"),
                "from belongs to get, head, delete",
            ),
            (
                &format!("thresholds = [\"p95\"]\n{SOUND}"),
                "thresholds: threshold \"p95\"",
            ),
            (
                &format!("keys = \"random\"\n{SOUND}"),
                "neither uniform nor zipf",
            ),
            (
                &format!(
                    "{seeded}{}",
                    "[users]\nstages = [{ for = \"1s\", to = 2 }]\n"
                ),
                "no operation",
            ),
        ] {
            let error = Scenario::parse(text, "f.toml").unwrap_err();
            assert!(
                matches!(&error, LoadError::Asked(said) if said.starts_with("f.toml: ") && said.contains(told)),
                "{told}: {error}"
            );
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[\\[\\]a-z =\"\n{},0-9]{0,200}") {
            let _any = Scenario::parse(&text, "f");
            let _any = Scenario::parse(&format!("{SOUND}{text}"), "f");
        }
    }
}
