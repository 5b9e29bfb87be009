//! A rank's connection as a run uses it, which knows of no group but that others work beside it.

use super::RankLink;
use crate::group::words::{SAID, fault_word};
use group::{GroupEvent, MemberInput};
use host::{PeerFault, Peers};
use serde_json::json;

impl Peers for RankLink {
    fn meet(&self, own: Result<(), PeerFault>) -> Result<(), PeerFault> {
        let word = own
            .err()
            .map_or_else(|| json!({}), |fault| fault_word(&fault));
        self.come_together(&word, &mut |_| String::new()).map(drop)
    }

    fn confer(
        &self,
        own: String,
        decide: &mut dyn FnMut(&[String]) -> String,
    ) -> Result<String, PeerFault> {
        self.come_together(&json!({ SAID: own }), decide)
    }

    fn start(&self) -> Result<u64, PeerFault> {
        if !self.seen.lost().is_empty() {
            return Err(self.loss());
        }
        self.want(MemberInput::Ready);
        loop {
            let told = self.next()?;
            if let GroupEvent::Begin { at, .. } = told {
                return Ok(at);
            }
            if matches!(told, GroupEvent::Lost(_)) {
                return Err(self.loss());
            }
        }
    }

    fn is_halted(&self) -> bool {
        self.seen.is_halted()
    }

    fn halt(&self) {
        if !self.is_halted() {
            self.want(MemberInput::Halt);
        }
    }

    fn reached(&self, most: u64) {
        self.want(MemberInput::Reached(most));
    }

    fn most_reached(&self) -> Option<u64> {
        self.seen.most()
    }

    fn left(&self, steps: u64) {
        self.want(MemberInput::Left(steps));
    }

    fn left_by_all(&self) -> u64 {
        self.seen.left_by_all()
    }
}
