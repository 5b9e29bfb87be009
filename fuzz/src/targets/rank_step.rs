//! What the first rank says comes next: what is understood is said as what is understood as the same again.

pub fn run(bytes: &[u8]) {
    let Some((word, understood)) = fathom::fuzzing::step(bytes) else {
        return;
    };
    assert_eq!(fathom::fuzzing::step(&word), Some((word, understood)));
}
