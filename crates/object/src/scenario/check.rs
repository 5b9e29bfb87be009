//! Whether the parts of a scenario fit together.

use super::{ObjectSet, Scenario, UserStep};
use crate::LoadError;
use crate::verbs::{StepKind, Uses};

impl Scenario {
    /// Refuses what could not be done.
    pub(crate) fn check(&self) -> Result<(), LoadError> {
        let refuse = |text: String| Err(LoadError::Asked(text));
        if self.steps.is_empty() {
            return refuse(
                "no operation; add [[operation]] with kind = \"put\", \"get\", \"list\", …".into(),
            );
        }
        if self.course().total_ns() == 0 || self.course().peak() <= 0.0 {
            return refuse("the load has no length, or never more than no users; give stages such as { for = \"30s\", to = 16 }".into());
        }
        // Copies of own objects alone begin with none.
        let uploads = self.steps.iter().any(|step| {
            let of_seeds = || step.from.iter().any(|from| from.set == ObjectSet::Seed);
            let uses = step.kind.verb().uses;
            uses.makes_object() && (uses.has_size() || step.from.is_empty() || of_seeds())
        });
        for step in &self.steps {
            let (word, uses) = (step.kind.word(), step.kind.verb().uses);
            let takes = |set| step.from.iter().any(|source| source.set == set);
            let needs_seed = uses.has_source() && !takes(ObjectSet::Own);
            if needs_seed && self.seed_count() == 0 {
                return refuse(format!(
                    "{word} needs objects that exist before: add [[seed]] with count and size"
                ));
            }
            if uses.has_source() && !needs_seed && !takes(ObjectSet::Seed) && !uploads {
                return refuse(format!(
                    "{word} of own objects needs an operation that uploads: add [[operation]] with kind = \"put\""
                ));
            }
            let reads = |step: &UserStep| step.kind.verb().uses.reads();
            if uses == Uses::Removed && takes(ObjectSet::Seed) && self.steps.iter().any(reads) {
                return refuse("a scenario that deletes its seeds cannot also read objects: the reads would fail".into());
            }
        }
        self.check_range()
    }

    fn check_range(&self) -> Result<(), LoadError> {
        let gets = |step: &UserStep| {
            let mut kinds = std::iter::once(step.kind).chain(step.then.iter().map(|of| of.kind));
            kinds.any(|kind| kind == StepKind::Get)
        };
        match self.range {
            Some(0) => Err(LoadError::asked(
                "--range: a part of an object has at least one byte; example: --range 64KiB",
            )),
            Some(_) if !self.steps.iter().any(gets) => Err(LoadError::asked(
                "--range: this load has no get, and of nothing else a part can be read",
            )),
            Some(_) | None => Ok(()),
        }
    }
}
