//! What a store is made of when it is opened.

use super::hold::{Hold, beside};
use crate::content::{Bodies, BodyFiles, BodyRows, Footing, Obstacle, Spare};
use crate::database::{Tuning, Vacuum};
use crate::error::{ShareError, ShareResult};
use crate::index::Index;
use crate::options::{JournalMode, ShareLayout, ShareOptions};
use std::sync::Arc;

/// The page cache of a connection to bodies.
const BODY_CACHE: u64 = 256 << 10;
const INDEX_CACHE: u64 = 1 << 20;
/// Memory of all downloads that read whole rows.
const ALL_READ: u64 = 10 << 20;
/// Pages of an index that stands by itself.
const INDEX_PAGE: u64 = 4096;

/// How many downloads may hold whole rows, of which each has up to three batches: one that is sent,
/// one that waits and one that is read.
pub(super) fn reading_ahead(options: &ShareOptions) -> usize {
    let each = 3 * options.chunk() * u64::from(options.read_batch.max(1));
    usize::try_from((ALL_READ / (each + BODY_CACHE)).clamp(1, 64)).unwrap_or(1)
}

/// What a store stands on.
pub(super) fn footing(
    hold: &Hold,
    options: &ShareOptions,
    obstacle: Arc<dyn Obstacle>,
) -> ShareResult<Footing> {
    let shares = beside(&hold.path, ".shares");
    if options.layout == ShareLayout::FilePerShare
        && hold.is_empty()
        && BodyFiles::has_some(&shares)
    {
        return Err(ShareError::Refused(format!(
            "the database is new, and {} has the uploads of another: put that database back, or move them away",
            shares.display()
        )));
    }
    let places = std::iter::once(hold.directory()).chain(shares.is_dir().then_some(shares));
    let reserve = options.reserve.map(|reserve| reserve.0);
    let spare = Spare::new(beside(&hold.path, ".spare"), tunings(options).0.page_size);
    Footing::new(obstacle, places.collect(), reserve, spare)
}

pub(super) fn bodies(
    hold: &Hold,
    options: &ShareOptions,
    index: &Index,
    ground: &Arc<Footing>,
) -> ShareResult<Box<dyn Bodies>> {
    let (ground, chunk, first) = (Arc::clone(ground), options.chunk(), index.next_body()?);
    Ok(match options.layout {
        ShareLayout::FilePerShare => Box::new(BodyFiles::open(
            beside(&hold.path, ".shares"),
            ground,
            tunings(options).1,
            chunk,
            first,
            index.setting("draft_mark")?.unwrap_or_default(),
        )?),
        ShareLayout::OneDatabase => Box::new(BodyRows::open(
            ground,
            Arc::clone(&index.writers),
            Arc::clone(&index.readers),
            chunk,
            first,
            Arc::clone(&hold.file),
        )?),
    })
}

/// How the index and the files of bodies are opened. In one database both are the same.
pub(super) fn tunings(options: &ShareOptions) -> (Tuning, Tuning) {
    let body = Tuning {
        page_size: options.page_size.0,
        journal: options.journal(),
        synchronous: options.synchronous,
        checkpoint: options.checkpoint.0,
        cache: BODY_CACHE,
        row: options.chunk(),
        vacuum: Vacuum::Never,
    };
    match options.layout {
        ShareLayout::FilePerShare => {
            let index = Tuning {
                page_size: INDEX_PAGE,
                journal: JournalMode::Wal,
                cache: INDEX_CACHE,
                row: 0,
                ..body
            };
            (index, body)
        }
        ShareLayout::OneDatabase => {
            let index = Tuning {
                vacuum: Vacuum::Incremental,
                cache: INDEX_CACHE,
                ..body
            };
            (index, body)
        }
    }
}
