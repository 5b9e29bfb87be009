//! How much a worker looks for what torn units hold: an end to the time that damage can cost.

/// Headers that are tried in vain, in all. What a write that was cut short has left is found, and
/// costs nothing of it; damage is not.
const IN_VAIN: u64 = 1 << 26;
/// Pieces of fewer bytes than tell a write for certain that are taken for a write's all the same. A
/// kill cuts at most the writes in flight, and few of them there.
const RESTS: u32 = 64;

/// What one worker may still look for in vain, and believe.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Searches {
    in_vain: u64,
    rests: u32,
}

impl Default for Searches {
    fn default() -> Self {
        Self {
            in_vain: IN_VAIN,
            rests: RESTS,
        }
    }
}

impl Searches {
    #[cfg(test)]
    pub(super) fn in_vain(headers: u64) -> Self {
        Self {
            in_vain: headers,
            ..Self::default()
        }
    }

    /// Whether everything may be tried that is permitted, and not the likeliest alone.
    pub(super) fn may_be_long(&self) -> bool {
        self.in_vain > 0
    }

    /// So many headers were tried in vain.
    pub(super) fn failed(&mut self, headers: u64) {
        self.in_vain = self.in_vain.saturating_sub(headers);
    }

    /// Whether one more short piece may be believed.
    pub(super) fn may_believe(&self) -> bool {
        self.rests > 0
    }

    /// A short piece was believed.
    pub(super) fn believed(&mut self) {
        self.rests = self.rests.saturating_sub(1);
    }
}
