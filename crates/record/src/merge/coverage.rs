//! The blocks that several hosts used, where they used different ones.

use super::accounts::{Sharing, add_to};
use crate::Coverage;
use units::lossless::u64_to_f64;

impl Coverage {
    /// The use of all together, of which each has this for itself; unknown where they may have used the
    /// same blocks.
    ///
    /// What there is of each file is added as a run adds the files of its workers. Blocks of the same
    /// file were different ones, and the file is as long as each of them says.
    pub(super) fn beside(all: &[&Self], are: Sharing) -> Option<Self> {
        let plus = match are {
            Sharing::OwnFiles => Self::with_other_files,
            Sharing::OwnBlocks => Self::with_other_blocks,
            Sharing::SameFiles | Sharing::Unknown => return None,
        };
        let (first, rest) = all.split_first()?;
        let mut rest = rest.iter().copied();
        rest.try_fold((*first).clone(), plus)
    }

    fn with_other_files(self, other: &Self) -> Option<Self> {
        let uses = u64_to_f64(self.uses.saturating_add(other.uses).max(1));
        let hottest = |of: &Self| of.hottest_fifth_share * u64_to_f64(of.uses);
        let hottest_fifth_share = (hottest(&self) + hottest(other)) / uses;
        let blocks = self.blocks.saturating_add(other.blocks);
        Some(Self {
            blocks,
            hottest_fifth_share,
            ..self.with_uses(other)?
        })
    }

    fn with_other_blocks(self, other: &Self) -> Option<Self> {
        if self.blocks != other.blocks {
            return None;
        }
        let mut all = self.with_uses(other)?;
        let mut sorted = all.buckets.clone();
        sorted.sort_unstable_by(|a, b| b.cmp(a));
        let hottest = sorted.iter().take(sorted.len().div_ceil(5));
        let hottest = hottest.fold(0_u64, |sum, uses| sum.saturating_add(*uses));
        all.hottest_fifth_share = u64_to_f64(hottest) / u64_to_f64(all.uses.max(1));
        Some(all)
    }

    /// With the uses of other blocks of the same size, in as many buckets.
    fn with_uses(mut self, other: &Self) -> Option<Self> {
        if (self.block_bytes, self.buckets.len()) != (other.block_bytes, other.buckets.len()) {
            return None;
        }
        add_to(&mut self.touched, other.touched);
        add_to(&mut self.uses, other.uses);
        let buckets = self.buckets.iter_mut().zip(&other.buckets);
        buckets.for_each(|(mine, theirs)| add_to(mine, *theirs));
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{GroupAccount, Record, TargetReach};

    /// What a rank did to the blocks of a target that is shared so.
    fn rank(number: u32, shared: &str, uses: [u64; 5]) -> Record {
        let mut record = Record {
            id: number.to_string(),
            elapsed_ns: 1,
            group: Some(GroupAccount::default()),
            coverage: Some(Coverage {
                block_bytes: 4096,
                blocks: 10,
                touched: uses.iter().filter(|uses| **uses > 0).count() as u64,
                uses: uses.iter().sum(),
                hottest_fifth_share: 0.75,
                buckets: uses.to_vec(),
            }),
            ..Record::default()
        };
        let option = ("file-distribution".to_owned(), shared.to_owned());
        record.effective.extend([option]);
        record.generator_mut().rank = Some(number);
        record
    }

    fn together(shared: &str) -> Option<Coverage> {
        let parts = [
            rank(0, shared, [3, 1, 0, 0, 0]),
            rank(1, shared, [0, 0, 2, 3, 3]),
        ];
        Record::merge_all(parts).unwrap().coverage
    }

    #[test]
    fn files_of_each_rank_are_added_whole() {
        let all = together("per-worker").unwrap();
        assert_eq!((all.blocks, all.touched, all.uses), (20, 5, 12));
        assert_eq!(all.buckets, [3, 1, 2, 3, 3]);
        assert_eq!(all.hottest_fifth_share, 0.75);
    }

    #[test]
    fn different_blocks_of_one_file_are_added_and_the_file_is_one() {
        for shared in ["partitioned", "interleaved"] {
            let all = together(shared).unwrap();
            assert_eq!((all.blocks, all.touched, all.uses), (10, 5, 12));
            assert_eq!(all.hottest_fifth_share, 0.25);
        }
    }

    /// Two ranks on one machine and one on another, each machine with a target of its own.
    fn local(shared: &str, sets: [Option<u32>; 3]) -> Option<Coverage> {
        let uses = [[3, 1, 0, 0, 0], [0, 0, 2, 3, 3], [1; 5]];
        let parts = (0..3).map(|number| {
            let at = number as usize;
            let mut part = rank(number, shared, uses[at]);
            part.group.as_mut()?.target_is = Some(TargetReach::Local);
            let host = part.generator_mut();
            host.target_set = sets[at];
            host.environment.system.boot_id = Some(["a", "a", "b"][at].into());
            Some(part)
        });
        Record::merge_all(parts.flatten()).unwrap().coverage
    }

    #[test]
    fn ranks_of_one_target_are_added_as_its_users_and_targets_as_files() {
        let known = [Some(0), Some(0), Some(1)];
        let all = local("partitioned", known).unwrap();
        assert_eq!((all.blocks, all.touched, all.uses), (20, 10, 17));
        assert_eq!(all.buckets, [4, 2, 3, 4, 4]);
        let all = local("per-worker", known).unwrap();
        assert_eq!(all.blocks, 30);
        assert_eq!(local("shared", known), None, "two of them use one file");
        let each = local("shared", [Some(0), Some(1), Some(2)]).unwrap();
        assert_eq!((each.blocks, each.uses), (30, 17));
        assert_eq!(local("partitioned", [None; 3]), None, "nobody knows");
        assert_eq!(local("per-worker", [None; 3]).unwrap().blocks, 30);
    }

    #[test]
    fn what_ranks_share_or_one_of_them_does_not_say_is_unknown() {
        assert_eq!(together("shared"), None);
        let mut silent = rank(1, "per-worker", [1; 5]);
        silent.coverage = None;
        let parts = [rank(0, "per-worker", [1; 5]), silent];
        assert_eq!(Record::merge_all(parts).unwrap().coverage, None);
        let mut overlapping = [
            rank(0, "partitioned", [1; 5]),
            rank(1, "partitioned", [1; 5]),
        ];
        for part in &mut overlapping {
            let regions = ("worker-regions".to_owned(), "1m/4m".to_owned());
            part.effective.extend([regions]);
        }
        assert_eq!(Record::merge_all(overlapping).unwrap().coverage, None);
    }
}
