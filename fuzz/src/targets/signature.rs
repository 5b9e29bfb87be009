//! Recognising content from the ends of a device. The input pokes bytes into zeros: four bytes of place, one of length, and what stands there.
//! Where the top bit of the place is set, the rest of it is the number of bytes between what stands there and the end of the device.

use run::safety::{HEAD_BYTES, Place, TAIL_BYTES, signature};

fn poke(mut input: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let (mut head, mut tail) = (Vec::new(), Vec::new());
    while let [a, b, c, d, len, rest @ ..] = input {
        let place = u32::from_le_bytes([*a, *b, *c, *d]);
        let (bytes, after) = rest.split_at(rest.len().min(usize::from(*len)));
        let is_tail = place >> 31 == 1;
        let (end, most) = if is_tail {
            (&mut tail, TAIL_BYTES)
        } else {
            (&mut head, HEAD_BYTES)
        };
        let most = usize::try_from(most).expect("a few megabytes");
        let start = (place & !(1 << 31)) as usize % (most - bytes.len());
        let reach = (start + bytes.len())
            .next_multiple_of(512)
            .min(most)
            .max(end.len());
        end.resize(reach, 0);
        end[start..start + bytes.len()].copy_from_slice(bytes);
        if is_tail {
            end[start..start + bytes.len()].reverse();
        }
        input = after;
    }
    // The tail was filled from its end.
    tail.reverse();
    (head, tail)
}

pub fn run(bytes: &[u8]) {
    let (head, tail) = poke(bytes);
    let found = signature(&head, &tail);
    let blank = head.iter().chain(&tail).all(|byte| *byte == 0);
    assert_eq!(found.is_none(), blank);
    if let Some(found) = found {
        let inside = match found.place {
            Place::FromStart(offset) => offset < head.len() as u64,
            Place::BeforeEnd(distance) => (1..=tail.len() as u64).contains(&distance),
        };
        assert!(inside && !found.to_string().is_empty(), "{found:?}");
    }
}
