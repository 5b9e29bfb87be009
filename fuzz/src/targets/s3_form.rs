//! Forms of any bytes: where they are cut makes no difference, and none holds more than it may.

pub fn run(bytes: &[u8]) {
    let Some((piece, form)) = bytes.split_first() else {
        return;
    };
    let (fields, size, whole) = s3::fuzzing::form("b", form, usize::from(*piece));
    let (at_once, size_at_once, whole_at_once) = s3::fuzzing::form("b", form, form.len());
    // What is too long is refused where it is noticed, which is sooner where it comes in pieces.
    if whole || whole_at_once && form.len() < 16 << 10 {
        assert_eq!(
            (&fields, size, whole),
            (&at_once, size_at_once, whole_at_once)
        );
    }
    assert!(
        fields
            .iter()
            .map(|(name, value)| name.len() + value.len())
            .sum::<usize>()
            <= 21 << 10
    );
}
