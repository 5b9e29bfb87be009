//! Bytes as text that stands in a script element as it is: five characters for four bytes, where
//! base64 takes five and a third.

/// None of them begins markup or a reference to a character.
const DIGITS: &[u8; 85] =
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%()*+,-./:;=?@[]^_{|";
const BASE: u32 = 85;
/// The digit of a character.
const DIGIT_OF: [Option<u8>; 128] = {
    let mut of = [None; 128];
    let mut digit = 0_u8;
    while (digit as usize) < DIGITS.len() {
        of[DIGITS[digit as usize] as usize] = Some(digit);
        digit += 1;
    }
    of
};

/// The bytes as text: the last one to three as one character more than they are.
pub(super) fn encoded(bytes: &[u8]) -> String {
    let mut text = String::new();
    for part in bytes.chunks(4) {
        let mut four = [0; 4];
        four[..part.len()].copy_from_slice(part);
        let number = u32::from_be_bytes(four);
        let digit = |place: u32| char::from(DIGITS[(number / BASE.pow(place) % BASE) as usize]);
        text.extend((0..5).rev().map(digit).take(part.len() + 1));
    }
    text
}

/// The bytes of a text that [`encoded`] gave; `None` where it gave none such.
pub(super) fn decoded(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    for part in text.as_bytes().chunks(5) {
        let length = part.len().checked_sub(1).filter(|length| *length > 0)?;
        let mut number = 0_u64;
        for place in 0..5 {
            // A short part is rounded up, so that its bytes are those that were cut off.
            let digit = match part.get(place) {
                Some(character) => (*DIGIT_OF.get(usize::from(*character))?)?,
                None => 84,
            };
            number = number * u64::from(BASE) + u64::from(digit);
        }
        let four = u32::try_from(number).ok()?.to_be_bytes();
        bytes.extend_from_slice(&four[..length]);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn four_bytes_are_five_characters() {
        assert_eq!(encoded(b""), "");
        assert_eq!(encoded(&[0, 0, 0, 0, 0]), "0000000");
        assert_eq!(encoded(&[255; 4]).len(), 5);
        assert_eq!(decoded("||||||"), None, "more than four bytes hold");
        for text in ["0", "000000", "0<000", "000é", "00\u{0}00"] {
            assert_eq!(decoded(text), None, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn bytes_come_back_as_they_were(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let text = encoded(&bytes);
            prop_assert!(!text.contains(['<', '>', '&', '"', '\'', '\\']));
            prop_assert_eq!(decoded(&text), Some(bytes));
        }
    }
}
