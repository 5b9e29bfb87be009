//! A scenario as words, for records.

use super::{Arrivals, KeyChoice, ObjectSet, PayloadMode, Scenario, UserStep};
use crate::ramp::Ramp;
use std::collections::BTreeMap;
use units::{Bytes, Nanos};

impl Scenario {
    /// Everything that decides what is done and is no option of a load, by its name.
    pub(crate) fn described(&self) -> BTreeMap<String, String> {
        let mut out = BTreeMap::new();
        let mut set = |key: &str, text: String| drop(out.insert(key.to_owned(), text));
        set("scenario", self.name.clone());
        if let Arrivals::Open { connections, .. } = &self.arrivals {
            set("connections", connections.to_string());
        }
        let mix = self.steps.iter();
        let mix = mix.map(|step| format!("{} {}", step.kind.word(), step.weight));
        set("mix", mix.collect::<Vec<_>>().join(", "));
        for step in &self.steps {
            describe(step, &mut set);
        }
        set("prefixes", self.prefixes.to_string());
        let thresholds = self.thresholds.iter();
        let thresholds = thresholds.map(|threshold| threshold.text().to_owned());
        set("thresholds", thresholds.collect::<Vec<_>>().join(", "));
        out
    }

    /// The course of users, or of arrivals a second.
    pub(crate) fn stages_text(&self) -> String {
        match &self.arrivals {
            Arrivals::Closed { users } => stages(users, |value| value.to_string()),
            Arrivals::Open { rate, .. } => stages(rate, |value| format!("{value}/s")),
        }
    }

    /// What is made before; `None`: nothing.
    pub(crate) fn seeds_text(&self) -> Option<String> {
        let seed = |seed: &super::Seed| {
            let size = Bytes(seed.size).exact();
            format!("{} x {size} weight {}", seed.count, seed.weight)
        };
        let seeds: Vec<String> = self.seeds.iter().map(seed).collect();
        (!seeds.is_empty()).then(|| seeds.join(", "))
    }
}

impl KeyChoice {
    /// The text that is read as this.
    pub(crate) fn text(self) -> String {
        match self {
            Self::Uniform => "uniform".into(),
            Self::Zipf(theta) => format!("zipf:{theta}"),
        }
    }
}

impl PayloadMode {
    pub(crate) const ALL: &[Self] = &[Self::Signed, Self::Unsigned];

    /// The word in scenarios, flags and records.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Signed => "signed",
            Self::Unsigned => "unsigned",
        }
    }
}

fn stages(ramp: &Ramp, show: fn(f64) -> String) -> String {
    let leg = |leg: &crate::ramp::Leg| format!("{} in {}", show(leg.to), Nanos(leg.for_ns).exact());
    let legs = ramp.legs.iter().map(leg);
    std::iter::once(show(ramp.start))
        .chain(legs)
        .collect::<Vec<_>>()
        .join(", ")
}

fn describe(step: &UserStep, set: &mut impl FnMut(&str, String)) {
    let word = step.kind.word();
    let verb = step.kind.verb();
    if verb.uses.has_size() {
        set(&format!("{word}.size"), step.sizes.text.clone());
    }
    for option in verb.options {
        set(&format!("{word}.{}", option.name), (option.text)(step));
    }
    let source = |source: &super::ObjectSource| {
        let set = match source.set {
            ObjectSet::Own => "own",
            ObjectSet::Seed => "seed",
        };
        let last = source
            .last
            .map(|n| format!(" (last {n})"))
            .unwrap_or_default();
        format!("{set}{last} {}", source.weight)
    };
    if !step.from.is_empty() {
        set(
            &format!("{word}.from"),
            step.from.iter().map(source).collect::<Vec<_>>().join(", "),
        );
    }
    let sleep = |sleep: &super::Sleep| {
        let under = sleep
            .under
            .map(|bytes| format!(" under {}", Bytes(bytes).exact()))
            .unwrap_or_default();
        format!("{}{under}", Nanos(sleep.for_ns).exact())
    };
    if !step.sleeps.is_empty() {
        set(
            &format!("{word}.sleep"),
            step.sleeps.iter().map(sleep).collect::<Vec<_>>().join(", "),
        );
    }
    let follow = |follow: &super::Follow| {
        let most = follow
            .at_most
            .map(|bytes| format!(" up to {}", Bytes(bytes).exact()))
            .unwrap_or_default();
        format!("{} 1 in {}{most}", follow.kind.word(), follow.one_in)
    };
    if !step.then.is_empty() {
        set(
            &format!("{word}.then"),
            step.then.iter().map(follow).collect::<Vec<_>>().join(", "),
        );
    }
}
