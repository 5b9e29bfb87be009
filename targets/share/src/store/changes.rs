//! Changes that come too late, and those that could not be made.

use super::ShareStore;
use super::testing::{options, put, written};
use crate::content::Unobstructed;
use crate::error::ShareError;
use crate::index::Amended;
use crate::options::ShareLayout;
use std::path::Path;
use std::sync::Arc;

const LAYOUTS: [ShareLayout; 2] = [ShareLayout::FilePerShare, ShareLayout::OneDatabase];

fn attached(dir: &Path, layout: ShareLayout) -> ShareStore {
    let path = dir.join("x.db");
    let attached = ShareStore::attach_with(&path, options(layout), Arc::new(Unobstructed));
    attached.unwrap().0
}

#[test]
fn an_upload_whose_time_ends_while_other_bytes_come_is_neither_replaced_nor_changed() {
    for layout in LAYOUTS {
        let dir = tempfile::tempdir().unwrap();
        let store = attached(dir.path(), layout);
        let id = put(&store, b"one", Some(50), 10).unwrap();
        let before = store.index.find(&id, 49).unwrap().unwrap();
        let draft = written(&store, b"two").unwrap();
        let late = store.replace(draft, 3, before, None, 50);
        assert!(matches!(late, Err(ShareError::Missing)), "{layout:?}");
        let never = Amended {
            expires: Some(None),
            ..Amended::default()
        };
        let late = store.index.amend(&id, &never, 50);
        assert!(matches!(late, Err(ShareError::Missing)), "{layout:?}");
        assert!(store.index.amend(&id, &never, 49).is_ok());
        drop(store);
        let path = dir.path().join("x.db");
        let again = ShareStore::attach_with(&path, options(layout), Arc::new(Unobstructed));
        assert_eq!(
            again.unwrap().1.removed,
            0,
            "what came too late was removed"
        );
    }
}

#[test]
fn a_store_that_could_not_be_written_is_ill_until_a_probe_can_and_that_leaves_nothing() {
    for layout in LAYOUTS {
        let dir = tempfile::tempdir().unwrap();
        let store = attached(dir.path(), layout);
        assert_eq!(store.check().unwrap(), Ok(()));
        store.note_change(true);
        assert!(store.check().unwrap().is_err());
        store.recover();
        assert_eq!(store.check().unwrap(), Ok(()), "{layout:?}");
        drop(store);
        let path = dir.path().join("x.db");
        let again = ShareStore::attach_with(&path, options(layout), Arc::new(Unobstructed));
        assert_eq!(again.unwrap().1.removed, 0, "{layout:?}");
    }
}
