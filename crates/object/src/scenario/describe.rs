//! A scenario as words, for records.

use super::{Arrivals, KeyChoice, ObjectSet, PayloadMode, Scenario, UserStep};
use crate::ramp::Ramp;
use std::collections::BTreeMap;
use units::{Bytes, Nanos, Rate};

impl Scenario {
    /// Everything that decides what is done, by names that are flags where there is one.
    #[expect(
        clippy::too_many_lines,
        reason = "to be divided when it is changed next"
    )]
    pub(crate) fn described(&self) -> BTreeMap<String, String> {
        let mut out = BTreeMap::new();
        let mut set = |key: &str, text: String| drop(out.insert(key.to_owned(), text));
        set("scenario", self.name.clone());
        set("duration", Nanos(self.course().total_ns()).exact());
        match &self.arrivals {
            Arrivals::Closed { users } => {
                set("users", self.most_users().to_string());
                set("stages", stages(users, |value| value.to_string()));
            }
            Arrivals::Open {
                rate,
                spacing,
                connections,
            } => {
                set("connections", connections.to_string());
                set("rate", Rate(rate.mean()).to_string());
                set("stages", stages(rate, |value| format!("{value}/s")));
                set("arrival", spacing.word().into());
            }
        }
        set(
            "mix",
            self.steps
                .iter()
                .map(|step| format!("{} {}", step.kind.word(), step.weight))
                .collect::<Vec<_>>()
                .join(", "),
        );
        for step in &self.steps {
            describe(step, &mut set);
        }
        if !self.seeds.is_empty() {
            let seed = |seed: &super::Seed| {
                format!(
                    "{} x {} weight {}",
                    seed.count,
                    Bytes(seed.size).exact(),
                    seed.weight
                )
            };
            set(
                "seeds",
                self.seeds.iter().map(seed).collect::<Vec<_>>().join(", "),
            );
        }
        set(
            "keys",
            match self.keys {
                KeyChoice::Uniform => "uniform".into(),
                KeyChoice::Zipf(theta) => format!("zipf:{theta}"),
            },
        );
        set("prefixes", self.prefixes.to_string());
        set(
            "payload",
            match self.payload {
                PayloadMode::Signed => "signed".into(),
                PayloadMode::Unsigned => "unsigned".into(),
            },
        );
        set("data", self.data.word().into());
        set("verify", self.verify.to_string());
        set(
            "thresholds",
            self.thresholds
                .iter()
                .map(|threshold| threshold.text().to_owned())
                .collect::<Vec<_>>()
                .join(", "),
        );
        out
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_says_all_of_the_mixed_scenario() {
        let text: Vec<String> = Scenario::preset("mixed")
            .unwrap()
            .described()
            .into_iter()
            .map(|(key, text)| format!("{key} = {text}"))
            .collect();
        for line in [
            "users = 100",
            "stages = 25, 25 in 30s, 100 in 10s, 100 in 30s, 25 in 10s, 0 in 30s",
            "mix = put 40, get 50, list 7, delete 3",
            "get.from = own (last 50) 70, seed 30",
            "put.sleep = 500ms",
            "seeds = 20 x 10k weight 1",
            "payload = signed",
        ] {
            assert!(text.iter().any(|have| have == line), "{line}\n{text:#?}");
        }
    }
}
