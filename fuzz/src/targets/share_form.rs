//! Uploads of any bytes: where a form is cut makes no difference.

pub fn run(bytes: &[u8]) {
    let Some((piece, form)) = bytes.split_first() else {
        return;
    };
    let pieces = share::fuzzing::form(form, usize::from(*piece));
    let at_once = share::fuzzing::form(form, form.len());
    assert_eq!(pieces.1, at_once.1);
    if at_once.1 {
        assert_eq!(pieces.0, at_once.0);
    }
    if let Ok(text) = std::str::from_utf8(form) {
        let _any = share::fuzzing::is_form(text);
    }
}
