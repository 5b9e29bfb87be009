//! `fathom check` as a reader of a page runs it.
#![allow(
    clippy::unwrap_used,
    reason = "a test ends at the first thing that does not work"
)]

mod support;

use std::fs;
use support::Place;

/// A page of two runs of no device.
fn place() -> Place {
    let place = Place::new();
    for name in ["a", "b"] {
        let run = place.fathom(&format!(
            "run --engine null --duration 50ms --no-live --records {name}.jsonl"
        ));
        assert_eq!(run.code, Some(0), "{}", run.complained);
    }
    let report = place.fathom("report a.jsonl b.jsonl -o page.html");
    assert_eq!(report.code, Some(0), "{}", report.complained);
    place
}

#[test]
fn a_page_gives_its_records_back_which_make_the_same_page() {
    let place = place();
    let checked = place.fathom("check page.html --records out.jsonl");
    assert_eq!(checked.code, Some(0), "{}", checked.said);
    assert!(
        checked
            .said
            .starts_with("page.html: every byte follows from its 2 records"),
        "{}",
        checked.said
    );
    let of = |file: &str| {
        let read = record::read_records(&place.path(file)).unwrap();
        assert!(read.damaged.is_empty());
        read.records
    };
    assert_eq!(of("out.jsonl"), [of("a.jsonl"), of("b.jsonl")].concat());
}

#[test]
fn a_page_whose_figure_was_changed_is_found_and_no_output_takes_its_place() {
    let place = place();
    let page = fs::read_to_string(place.path("page.html")).unwrap();
    let at = page
        .find("IOPS")
        .and_then(|at| Some(at + page[at..].find(|c: char| c.is_ascii_digit())?));
    let mut changed = page.into_bytes();
    let at = at.unwrap();
    changed[at] = if changed[at] == b'9' { b'8' } else { b'9' };
    place.write("changed.html", &changed);
    let checked = place.fathom("check changed.html");
    assert_eq!(checked.code, Some(3), "{}", checked.said);
    assert!(checked.said.contains("the page says"), "{}", checked.said);
    let page = fs::read(place.path("page.html")).unwrap();
    place.write("marked.html", &[&b"\xef\xbb\xbf"[..], &page].concat());
    let marked = place.fathom("check marked.html");
    assert_eq!(marked.code, Some(3), "{}", marked.said);
    let refused = place.fathom("check page.html --records page.html --force");
    assert_eq!(refused.code, Some(2), "{}", refused.complained);
    place.write("other.html", b"<html></html>");
    let bare = place.fathom("check other.html");
    assert_eq!(bare.code, Some(3), "{}", bare.said);
    assert!(bare.said.contains("it holds no records"), "{}", bare.said);
}

#[test]
fn what_cannot_be_read_or_is_no_page_is_refused_and_what_a_page_is_is_said() {
    let place = Place::new();
    place.write("binary.html", &[0xff; 100]);
    for file in ["none.html", ".", "binary.html"] {
        let checked = place.fathom(&format!("check {file}"));
        assert_eq!(checked.code, Some(2), "{file}: {}", checked.complained);
        assert!(
            checked.complained.contains("cannot read"),
            "{}",
            checked.complained
        );
    }
    for text in ["", "a,b\n1,2\n", "{\"schema\":2}\n"] {
        place.write("other", text.as_bytes());
        let checked = place.fathom("check other");
        assert_eq!(checked.code, Some(2), "{text:?}: {}", checked.complained);
        let said = "other is no page; a page is what `fathom report RECORDS -o PAGE.html` writes";
        assert!(checked.complained.contains(said), "{}", checked.complained);
    }
}

#[test]
fn a_page_of_two_files_that_share_a_record_holds_both_and_is_whole() {
    let place = place();
    fs::copy(place.path("a.jsonl"), place.path("again.jsonl")).unwrap();
    let report = place.fathom("report a.jsonl again.jsonl b.jsonl -o twice.html");
    assert_eq!(report.code, Some(0), "{}", report.complained);
    let checked = place.fathom("check twice.html");
    assert_eq!(checked.code, Some(0), "{}", checked.said);
    assert!(checked.said.contains("its 3 records"), "{}", checked.said);
}

#[test]
fn a_page_with_another_part_is_compared_up_to_it_and_that_is_said() {
    let place = place();
    let page = fs::read_to_string(place.path("page.html")).unwrap();
    let added = page.replacen("<h2", "<p>added</p><h2", 1);
    place.write("added.html", added.as_bytes());
    let checked = place.fathom("check added.html");
    assert_eq!(checked.code, Some(3), "{}", checked.said);
    let said = checked.said.replace('\n', " ");
    assert!(
        said.contains("1 place differs, behind which"),
        "{}",
        checked.said
    );
}
