//! The store beside a map: whatever is done to both, they show the same.

use super::testing::{assert_nothing_leaks, bytes, open, put, replace, shown};
use crate::content::Unobstructed;
use crate::error::ShareError;
use crate::options::ShareLayout;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

#[derive(Debug, Clone)]
enum Deed {
    Put(usize, Option<u64>),
    /// Of the upload at this place among those that were ever made.
    Replace(usize, usize),
    Remove(usize),
    Wait(u64),
    Sweep,
    Reopen,
    /// An upload that breaks off.
    BreakOff(usize),
}

/// Lengths around the edges of rows of 8 KiB.
fn length() -> impl Strategy<Value = usize> {
    prop_oneof![
        Just(0),
        1usize..30_000,
        Just(8192),
        (1usize..4).prop_map(|chunks| chunks * 9_177)
    ]
}

fn deed() -> impl Strategy<Value = Deed> {
    prop_oneof![
        4 => (length(), proptest::option::of(1u64..40)).prop_map(|(length, end)| Deed::Put(length, end)),
        2 => (0usize..20, length()).prop_map(|(at, length)| Deed::Replace(at, length)),
        2 => (0usize..20).prop_map(Deed::Remove),
        2 => (1u64..20).prop_map(Deed::Wait),
        1 => Just(Deed::Sweep),
        1 => Just(Deed::Reopen),
        1 => (1usize..30_000).prop_map(Deed::BreakOff),
    ]
}

type Model = BTreeMap<String, (Vec<u8>, Option<u64>)>;

fn agree(layout: ShareLayout, deeds: &[Deed]) {
    let dir = tempfile::tempdir().unwrap();
    let again = || open(dir.path(), layout, Arc::new(Unobstructed)).unwrap();
    let (mut store, mut model, mut ids, mut now) = (Some(again()), Model::new(), Vec::new(), 1u64);
    for (seed, deed) in deeds.iter().enumerate() {
        let content = |length| bytes(seed as u64, length);
        let opened = store.as_ref().expect("it is open");
        model.retain(|_, (_, end)| end.is_none_or(|end| now < end));
        match *deed {
            Deed::Put(length, after) => {
                let end = after.map(|after| now + after);
                let id = put(opened, &content(length), end, now).unwrap();
                model.insert(id.clone(), (content(length), end));
                ids.push(id);
            }
            Deed::Replace(at, length) => {
                let Some(id) = ids.get(at) else { continue };
                let outcome = replace(opened, id, &content(length), now);
                match model.get_mut(id) {
                    Some((kept, _)) => {
                        outcome.unwrap();
                        *kept = content(length);
                    }
                    None => assert!(matches!(outcome, Err(ShareError::Missing))),
                }
            }
            Deed::Remove(at) => {
                let Some(id) = ids.get(at) else { continue };
                let is_there = opened.index.find(id, now).unwrap().is_some();
                assert_eq!(is_there, model.remove(id).is_some());
                if is_there {
                    opened.index.remove(id, now).unwrap();
                }
            }
            Deed::Wait(span) => now += span,
            Deed::Sweep => drop(opened.sweep(now).unwrap()),
            Deed::Reopen => {
                drop(store.take());
                store = Some(again());
            }
            Deed::BreakOff(length) => {
                let mut draft = opened.begin().unwrap();
                draft.append(&content(length.min(9_177))).unwrap();
            }
        }
        model.retain(|_, (_, end)| end.is_none_or(|end| now < end));
        let expected: Vec<_> = model
            .iter()
            .map(|(id, (bytes, _))| (id.clone(), bytes.clone()))
            .collect();
        let opened = store.as_ref().expect("it is open");
        assert!(shown(opened, now) == expected, "{layout}: after {deed:?}");
    }
    let store = store.expect("it is open");
    store.sweep(now).unwrap();
    assert_nothing_leaks(&store, dir.path());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_store_and_a_map_agree(deeds in proptest::collection::vec(deed(), 1..25)) {
        for layout in [ShareLayout::FilePerShare, ShareLayout::OneDatabase] {
            agree(layout, &deeds);
        }
    }
}
