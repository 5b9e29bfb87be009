//! What follows from what a workload says.

use super::{FileSharing, VerifyPattern, VerifyWhen, Workload};
use crate::SpecError;
use units::Nanos;

impl VerifyPattern {
    /// Whether two writes of a block differ: the content of the others is a matter of the address.
    #[must_use]
    pub fn tells_writes_apart(self) -> bool {
        self == Self::Header
    }
}

impl Workload {
    /// Share of reads in percent: one side given decides the other; nothing given reads only.
    ///
    /// # Errors
    /// Both given and not adding to 100.
    pub fn read_percent(&self) -> Result<f64, SpecError> {
        match (self.access.read_percent, self.access.write_percent) {
            (None, None) => Ok(100.0),
            (Some(read), None) => Ok(read.0),
            (None, Some(write)) => Ok(100.0 - write.0),
            (Some(read), Some(write)) if (read.0 + write.0 - 100.0).abs() < 1e-9 => Ok(read.0),
            (Some(read), Some(write)) => Err(SpecError::Conflict(format!(
                "--read-percent {} and --write-percent {} add to {}, not 100; give one of them and the other follows",
                read.0,
                write.0,
                read.0 + write.0
            ))),
        }
    }

    /// Whether it writes blocks of its targets. Metadata operations make and remove files, and write no block
    /// of any; shares of reads and writes that contradict each other may write, until somebody refuses them.
    #[must_use]
    pub fn writes_blocks(&self) -> bool {
        let reads_alone = self.read_percent().is_ok_and(|percent| percent >= 100.0);
        !reads_alone && self.files.meta.is_empty()
    }

    /// Whether the run ends when every block was used once.
    #[must_use]
    pub fn runs_to_completion(&self) -> bool {
        self.stop.complete || self.stop.duration == Some(Nanos(0)) || self.reads_back()
    }

    /// Whether every pass of writes is followed by a pass of reads that checks it.
    #[must_use]
    pub fn reads_back(&self) -> bool {
        self.verify.on && self.verify.when == VerifyWhen::Passes
    }

    /// Whether the blocks of a target are dealt out to all workers that use it.
    #[must_use]
    pub fn deals_out_blocks(&self) -> bool {
        match self.files.sharing {
            FileSharing::Partitioned | FileSharing::Interleaved => true,
            FileSharing::Shared | FileSharing::PerWorker => self.stop.complete,
        }
    }

    /// Whether no block is used by two workers: each has its own, for reads as for writes.
    #[must_use]
    pub fn parts_blocks(&self) -> bool {
        let files = &self.files;
        // An operation may be longer than what is left of a part, where lengths differ.
        let is_one_length = self.blocks.0.len() == 1;
        let deals_in_order = self.runs_to_completion() && !self.access.random;
        let is_parted = match files.sharing {
            FileSharing::Partitioned | FileSharing::Interleaved => true,
            FileSharing::Shared => deals_in_order,
            FileSharing::PerWorker => return true,
        };
        is_one_length && is_parted && files.regions.is_none()
    }

    /// Whether somebody gave up what its targets hold.
    #[must_use]
    pub fn gives_up_targets(&self) -> bool {
        let given_up = |target| self.files.allow_destroy.contains(target);
        !self.targets.is_empty() && self.targets.iter().all(given_up)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::apply;

    #[test]
    fn what_is_not_known_to_read_alone_writes_blocks_unless_it_works_on_names() {
        let writes = |options: &[(&str, &str)]| {
            let mut workload = Workload::default();
            for (key, text) in options {
                apply(&mut workload, key, text).expect("it is an option");
            }
            workload.writes_blocks()
        };
        assert!(!writes(&[]));
        assert!(!writes(&[("read-percent", "100")]));
        assert!(!writes(&[("write-percent", "0")]));
        assert!(writes(&[("read-percent", "99.9")]));
        assert!(writes(&[("write-percent", "1")]));
        let contradictory = [("read-percent", "100"), ("write-percent", "100")];
        assert!(writes(&contradictory));
        let names = ("meta", "create,unlink");
        assert!(!writes(&[names]));
        assert!(!writes(&[names, ("write-percent", "100")]));
    }
}
