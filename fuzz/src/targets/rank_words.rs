//! What ranks say of themselves, and the root of all of them, a line each: faults are told on as they came, whoever is heard has a place at its target,
//! and nothing that another says is more than a text.

use fathom::fuzzing;

/// Each rank is one of those that have its target.
fn are_places(places: &[(u32, u32)]) {
    for (place, users) in places {
        assert!(place < users && *users as usize <= places.len());
    }
}

pub fn run(bytes: &[u8]) {
    let words: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').take(16).collect();
    for word in &words {
        if let Some((fault, again)) = fuzzing::fault(word) {
            assert_eq!(fuzzing::fault(&again), Some((fault, again.clone())));
        }
        let said = fuzzing::said(word);
        assert!(said.len() <= word.len(), "{said}");
        let (places, unseen) = fuzzing::decided(word);
        are_places(&places);
        assert!(unseen.len() <= word.len());
    }
    let (places, told) = fuzzing::hellos(&words);
    assert_eq!(places.len(), words.len());
    are_places(&places);
    assert!(told.iter().all(|told| !told.is_empty()));
}
