//! Doors for the fuzz targets in `fuzz/`: what a rank makes of the words of others.

use super::agree::apart;
use super::beforehand::{at_targets, notes, sets_of, target_sets};
use super::course::StepWord;
use super::marks::{reach_of, unseen_by};
use super::reach::{ReachAsked, unlike_paths};
use super::words::{fault_of, fault_word};
use host::PeerFault;
use serde_json::Value;

/// The fault that a word is, and the word that it is again.
#[must_use]
pub fn fault(word: &[u8]) -> Option<(PeerFault, Vec<u8>)> {
    let fault = fault_of(word)?;
    let again = fault_word(&fault).to_string().into_bytes();
    Some((fault, again))
}

/// What else a word says, where it is no fault.
#[must_use]
pub fn said(word: &[u8]) -> String {
    super::words::said(word)
}

/// The step that a word says as a word again, and as it is understood.
#[must_use]
pub fn step(word: &[u8]) -> Option<(Vec<u8>, String)> {
    let step = StepWord::hear(word)?;
    Some((step.say().to_string().into_bytes(), format!("{step:?}")))
}

/// What the root makes of what ranks say of themselves: each rank's place among those that have its
/// target, and what it tells people.
#[must_use]
pub fn hellos(words: &[&[u8]]) -> (Vec<(u32, u32)>, Vec<String>) {
    let read = |word: &&[u8]| -> Value { serde_json::from_slice(word).unwrap_or_default() };
    let hellos: Vec<Value> = words.iter().map(read).collect();
    let places: Vec<Value> = hellos.iter().map(|hello| hello["place"].clone()).collect();
    let hosts = hellos.iter().map(|hello| hello["host"].to_string());
    let hosts: Vec<String> = hosts.collect();
    let called = |rank: u32| format!("rank {rank}");
    let mut told = notes(&places, called);
    told.extend(unlike_paths(&places, called, ReachAsked::default()));
    told.extend(apart(&hosts).map(|by| by.to_string()));
    (at_targets(&target_sets(&places)), told)
}

/// What a rank makes of what the root has decided: each rank's place among those that have its target,
/// and which do not see it.
#[must_use]
pub fn decided(word: &[u8]) -> (Vec<(u32, u32)>, Vec<u32>) {
    let answer: Value = serde_json::from_slice(word).unwrap_or_default();
    let _any = reach_of(&answer);
    (at_targets(&sets_of(&answer)), unseen_by(&answer))
}
