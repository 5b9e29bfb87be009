//! Reading what a version consisted of when it was opened.

use super::core::{Core, add};
use super::extent::{ExtentFile, ExtentWriter};
use super::files::Wait;
use super::intake::{Parcel, packed_row, unpack};
use super::records::{Body, Layout, ObjectRecord, PartRecord, Piece, Stored};
use super::tables::{Table, View};
use super::{
    FileSpan, ObjectReader, StorageError, StorageResult, VersionId, keys, uploads, versions,
};
use bytes::Bytes;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The bytes of some pieces in a row, which stay for as long as this lives.
pub(crate) struct PieceReader {
    core: Arc<Core>,
    /// Each piece with the offset at which it begins.
    pieces: Vec<(u64, Piece)>,
    packed: HashMap<u64, Bytes>,
    pinned: Vec<u64>,
    at: u64,
    end: u64,
    open: Option<(u64, Arc<ExtentFile>)>,
    /// Whether its files stay open for other readers.
    pub(crate) keeps_open: bool,
}

impl PieceReader {
    /// The pieces' files are pinned already.
    fn new(core: &Arc<Core>, pieces: Vec<Piece>) -> Self {
        let file = |piece: &Piece| match piece.stored {
            Stored::File(id) => Some(id),
            Stored::Packed(_) => None,
        };
        let pinned = pieces.iter().filter_map(file).collect();
        let mut end = 0u64;
        let place = |piece: Piece| {
            let start = end;
            end = end.saturating_add(piece.len);
            (start, piece)
        };
        let pieces = pieces.into_iter().map(place).collect();
        Self {
            core: Arc::clone(core),
            pieces,
            packed: HashMap::new(),
            pinned,
            at: 0,
            end,
            open: None,
            keeps_open: false,
        }
    }

    /// Packed bytes may go with the next commit: they are read while the view that names them
    /// lives.
    fn load_packed(&mut self, view: &dyn View) -> StorageResult<()> {
        for (_, piece) in &self.pieces {
            if let Stored::Packed(id) = piece.stored {
                let row = view.read(Table::Packed, &keys::id(id))?;
                self.packed.insert(
                    id,
                    row.ok_or_else(|| {
                        StorageError::corrupt("the bytes of a packed object are missing")
                    })?,
                );
            }
        }
        Ok(())
    }

    /// The pieces that make up a range of the bytes.
    fn clip(&self, range: &Range<u64>) -> Vec<Piece> {
        let cut = |(start, piece): &(u64, Piece)| {
            let (from, to) = (range.start.max(*start), range.end.min(start + piece.len));
            (from < to).then(|| Piece {
                stored: piece.stored,
                start: piece.start + (from - start),
                len: to - from,
            })
        };
        self.pieces.iter().filter_map(cut).collect()
    }

    /// The bytes of a piece from `skip` on, at most to the end of a block.
    fn read(&mut self, piece: &Piece, skip: u64, most: u64, wait: Wait) -> StorageResult<Bytes> {
        let offset = piece.start + skip;
        match piece.stored {
            Stored::Packed(id) => {
                let row = self.packed.get(&id).ok_or_else(|| {
                    StorageError::corrupt("the bytes of a packed object are missing")
                })?;
                let bytes = unpack(row)?;
                let within = |at: u64| usize::try_from(at).ok().filter(|at| *at <= bytes.len());
                match (within(offset), within(offset + most)) {
                    (Some(from), Some(to)) => Ok(bytes.slice(from..to)),
                    _ => Err(StorageError::corrupt(
                        "an object is longer than its packed bytes",
                    )),
                }
            }
            Stored::File(id) => {
                let extent = match self.opened(id) {
                    Some(open) => open,
                    None => self.open(id, wait)?,
                };
                extent.read(offset, most, wait, self.core.recent.now())
            }
        }
    }

    /// A file that is open already, by this reader or another.
    fn opened(&mut self, id: u64) -> Option<Arc<ExtentFile>> {
        if self.open.as_ref().is_none_or(|(open, _)| *open != id) {
            let kept = if self.keeps_open {
                self.core.recent.get(id)
            } else {
                None
            };
            self.open = kept.map(|file| (id, file));
        }
        self.open.as_ref().map(|(_, file)| Arc::clone(file))
    }

    fn open(&mut self, id: u64, wait: Wait) -> StorageResult<Arc<ExtentFile>> {
        let file = Arc::new(ExtentFile::open(
            self.core.with_a_file(|| self.core.files.open(id))?,
            wait,
        )?);
        if self.keeps_open {
            self.core.recent.keep(id, &file);
        }
        self.open = Some((id, Arc::clone(&file)));
        Ok(file)
    }

    /// The piece at which this stands, how many of its bytes have been read, and how many are still
    /// wanted of it.
    fn standing(&self) -> Option<(Piece, u64, u64)> {
        if self.at >= self.end {
            return None;
        }
        let index = self.pieces.partition_point(|(start, _)| *start <= self.at) - 1;
        let (start, piece) = self.pieces[index].clone();
        let skip = self.at - start;
        let most = (piece.len - skip).min(self.end - self.at);
        Some((piece, skip, most))
    }

    fn passed(&mut self, bytes: u64) {
        self.at += bytes;
        add(&self.core.counts.bytes_out, bytes);
    }

    /// Gives a range of the bytes a second owner: files get a second name, packed rows are written
    /// again.
    pub(crate) fn share(&mut self, range: &Range<u64>) -> StorageResult<Parcel> {
        let mut parcel = Parcel::default();
        let shared = self
            .clip(range)
            .into_iter()
            .try_for_each(|piece| self.share_piece(&piece, &mut parcel));
        if shared.is_err() {
            self.core.reap(parcel.files());
        }
        shared.map(|()| parcel)
    }

    fn share_piece(&mut self, piece: &Piece, parcel: &mut Parcel) -> StorageResult<()> {
        let id = self.core.ids.next();
        match piece.stored {
            Stored::Packed(_) => parcel.add_row(
                id,
                packed_row(&self.read(piece, 0, piece.len, Wait::ForDevice)?),
            ),
            Stored::File(from) if self.core.files.link(from, id).is_ok() => {
                parcel.add_file(id, piece.start, piece.len)
            }
            Stored::File(_) => {
                // No second name, as where a file has as many as the file system allows: the bytes
                // are written again.
                let mut out =
                    ExtentWriter::new(self.core.with_a_file(|| self.core.files.create())?);
                let mut done = 0;
                while done < piece.len {
                    let bytes = self.read(piece, done, piece.len - done, Wait::ForDevice)?;
                    out.write(&bytes)?;
                    done += bytes.len() as u64;
                }
                out.keep(id)?;
                parcel.add_file(id, 0, piece.len);
            }
        }
        Ok(())
    }
}

impl PieceReader {
    fn next(&mut self, wait: Wait) -> StorageResult<Option<Bytes>> {
        let Some((piece, skip, most)) = self.standing() else {
            return Ok(None);
        };
        let chunk = self.read(&piece, skip, most, wait).inspect_err(|e| {
            if matches!(e, StorageError::Corrupt { .. }) {
                self.core
                    .counts
                    .corrupt_reads
                    .fetch_add(1, Ordering::Relaxed);
            }
        })?;
        self.passed(chunk.len() as u64);
        Ok(Some(chunk))
    }
}

impl ObjectReader for PieceReader {
    fn select(&mut self, range: Range<u64>) {
        let last = self
            .pieces
            .last()
            .map_or(0, |(start, piece)| start + piece.len);
        self.end = range.end.min(last);
        self.at = range.start.min(self.end);
    }

    fn next_chunk(&mut self) -> StorageResult<Option<Bytes>> {
        self.next(Wait::ForDevice)
    }

    fn next_cached(&mut self) -> StorageResult<Option<Bytes>> {
        match self.next(Wait::Never) {
            Err(error) if error.would_wait() => Ok(None),
            read => read,
        }
    }

    fn next_span(&mut self) -> Option<FileSpan> {
        let since = self.core.recent.since()?;
        let (piece, skip, most) = self.standing()?;
        let Stored::File(id) = piece.stored else {
            return None;
        };
        let span = self.opened(id)?.span(piece.start + skip, most, since)?;
        add(&self.core.counts.bytes_handed, span.len as u64);
        self.passed(span.len as u64);
        Some(span)
    }
}

impl Drop for PieceReader {
    fn drop(&mut self) {
        if !self.pinned.is_empty() {
            self.core.unpin(&self.pinned);
        }
    }
}

/// One version with a reader over its bytes.
pub(crate) struct Opened {
    pub(crate) record: ObjectRecord,
    /// Where it was assembled.
    pub(crate) layout: Option<Layout>,
    pub(crate) reader: PieceReader,
}

/// Opens one version or the latest. Errors: as for `ObjectStore::get`.
pub(crate) fn open(
    core: &Arc<Core>,
    bucket: &str,
    key: &str,
    version: Option<VersionId>,
) -> StorageResult<Opened> {
    let view = core.view();
    let id = versions::bucket(&*view, bucket)?.id;
    let record = versions::object(&*view, id, key, version)?;
    let packed = match &record.body {
        Body::Empty => Some(Vec::new()),
        Body::Whole(piece) if matches!(piece.stored, Stored::Packed(_)) => {
            Some(vec![piece.clone()])
        }
        Body::Whole(_) | Body::Assembled(_) => None,
    };
    if let Some(pieces) = packed {
        let mut reader = PieceReader::new(core, pieces);
        reader.load_packed(&*view)?;
        return Ok(Opened {
            record,
            layout: None,
            reader,
        });
    }
    drop(view);
    let look = |view: &dyn View| {
        let record = versions::object(view, id, key, version)?;
        let (pieces, layout) = match &record.body {
            Body::Empty => (Vec::new(), None),
            Body::Whole(piece) => (vec![piece.clone()], None),
            Body::Assembled(layout) => {
                let layout = versions::layout(view, *layout)?;
                (layout.pieces().cloned().collect(), Some(layout))
            }
        };
        Ok(((record, layout), pieces))
    };
    let ((record, layout), reader) = pinned(core, look)?;
    Ok(Opened {
        record,
        layout,
        reader,
    })
}

/// Opens a part of an upload under way; `None` where it has gone.
pub(crate) fn open_part(
    core: &Arc<Core>,
    upload: u64,
    number: u32,
) -> StorageResult<Option<PieceReader>> {
    let look = |view: &dyn View| {
        let part: Option<PartRecord> = uploads::part(view, upload, number)?;
        let pieces = part
            .as_ref()
            .map_or_else(Vec::new, |part| part.pieces.clone());
        Ok((part.is_some(), pieces))
    };
    let (found, reader) = pinned(core, look)?;
    Ok(found.then_some(reader))
}

/// Looks up pieces and pins their files, so that no commit in between can free them.
fn pinned<T>(
    core: &Arc<Core>,
    look: impl FnOnce(&dyn View) -> StorageResult<(T, Vec<Piece>)>,
) -> StorageResult<(T, PieceReader)> {
    let mut pinning = core.pins.lock();
    let view = core.view();
    let (found, pieces) = look(&*view)?;
    for piece in &pieces {
        match piece.stored {
            Stored::File(id) => pinning.pin(id),
            Stored::Packed(_) => {}
        }
    }
    drop(pinning);
    let mut reader = PieceReader::new(core, pieces);
    reader.load_packed(&*view)?;
    Ok((found, reader))
}
