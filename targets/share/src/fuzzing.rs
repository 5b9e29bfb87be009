//! Doors for the fuzz targets in `fuzz/`: readers that are private otherwise.

use crate::form::{FormPiece, FormReader, boundary_of};
use bytes::Bytes;

/// The names and bytes of the parts that a form gives which comes in pieces of this length, and
/// whether it is whole.
#[must_use]
pub fn form(bytes: &[u8], piece: usize) -> (Vec<(String, Vec<u8>)>, bool) {
    let mut reader = FormReader::new(b"b");
    let (mut parts, mut pieces) = (Vec::new(), Vec::new());
    for bytes in bytes.chunks(piece.max(1)) {
        let outcome = reader.push(Bytes::copy_from_slice(bytes), &mut pieces);
        for piece in pieces.drain(..) {
            match (piece, parts.last_mut()) {
                (FormPiece::Begins(head), _) => parts.push((head.name, Vec::new())),
                (FormPiece::Bytes(bytes), Some((_, part))) => part.extend_from_slice(&bytes),
                (FormPiece::Bytes(_) | FormPiece::Ends | FormPiece::Complete, _) => {}
            }
        }
        if outcome.is_err() {
            return (parts, false);
        }
    }
    (parts, reader.finish().is_ok())
}

/// Whether a text is the type of a form.
#[must_use]
pub fn is_form(content_type: &str) -> bool {
    boundary_of(content_type).is_ok()
}
