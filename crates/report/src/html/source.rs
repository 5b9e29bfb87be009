//! What a page was made from, inside of the page, so that anybody can make it again and see whether
//! it was changed.
//!
//! The page is a function of the records, of what was asked of them, and of the version. It is made
//! from what is read back of the packed records, so that there is nothing in it that they lack. That
//! shows every change of the page or of the records alone; whoever writes other records and makes a
//! page of them has a page that is whole.

use super::html;
use super::packed::{DAMAGED, TOO_MUCH, packed, unpacked};
use analyze::{StudyOptions, study};
use record::{PlanLine, Preference, Quantity, Record, parse_lines};
use serde_json::{Value, json};
use std::sync::Arc;

const BEFORE: &str = "<script type=\"application/vnd.fathom.source\" id=\"source\">";
const AFTER: &str = "</script>";
/// Of the differences so many are told.
const MOST_TOLD: usize = 5;
/// Characters of a text that is told, of which so many lie before the first that differs.
const MOST_SHOWN: usize = 80;
const SHOWN_BEFORE: usize = 20;
/// No page is of more; each of them takes far more memory than its shortest line.
const MOST_LINES: usize = 100_000;

/// What a page holds besides what people read.
#[derive(Clone, Debug)]
pub struct PageSource {
    /// Of what wrote the page, as it says itself.
    pub version: String,
    pub records: Vec<Record>,
    pub plans: Vec<Arc<PlanLine>>,
    options: StudyOptions,
}

/// A page as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenPage {
    pub html: String,
    /// Why it lacks the records that it was made of, so that nobody can check it.
    pub lacks_records: Option<&'static str>,
}

/// What the check of a page found.
#[derive(Clone, Debug)]
pub enum PageCheck {
    /// Every byte follows from its records.
    Whole(PageSource),
    /// Another version made it, as it says: whether the page follows from its records is not known
    /// here.
    OtherVersion(PageSource, Packing),
    /// Another version made it, as it says, and its records cannot be read here.
    OtherVersionUnread(String, &'static str),
    Differs(PageSource, PageDifferences),
    /// It holds no records, or what was made of them cannot be read.
    Unreadable(&'static str),
}

/// To what the records of another version's page pack here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// To the text that stands in the page: so these are all the records in it.
    Same,
    /// To another: the versions read or pack records differently, or somebody changed them.
    Other,
}

/// Where a page does not follow from its records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageDifferences {
    pub count: usize,
    /// Behind the last of them the page is not compared, because its parts are others.
    pub ends_there: bool,
    /// The first of them.
    pub told: Vec<PageDifference>,
}

/// One place where a page does not follow from its records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageDifference {
    /// The heading that it stands under.
    pub section: String,
    pub page: String,
    pub records: String,
}

/// The page of records, with them in it; `version` is what makes it.
///
/// # Errors
/// A record has a value that JSON lacks.
pub fn page(
    records: &[Record],
    options: &StudyOptions,
    version: &str,
) -> Result<WrittenPage, serde_json::Error> {
    let text = packed(&source_value(records, options, version)?);
    Ok(match source_of(&text) {
        Ok(source) => WrittenPage {
            html: made(&source, &text),
            lacks_records: None,
        },
        Err(NoSource { why, .. }) => WrittenPage {
            html: html(&study(records, options)),
            lacks_records: Some(why),
        },
    })
}

/// Compares a page with the one that its records give; `version` is what does it.
#[must_use]
pub fn check_page(page: &str, version: &str) -> PageCheck {
    let Some((_, text)) = page.rsplit_once(BEFORE) else {
        return PageCheck::Unreadable("it holds no records");
    };
    let text = text.split_once(AFTER).map_or(text, |(text, _)| text);
    let source = match source_of(text) {
        Ok(source) => source,
        Err(NoSource { made_by, why }) => {
            return match made_by.filter(|made_by| made_by != version) {
                Some(other) => PageCheck::OtherVersionUnread(other, why),
                None => PageCheck::Unreadable(why),
            };
        }
    };
    // What packs to another text was not packed by us.
    let again =
        source_value(&source.records, &source.options, &source.version).map(|value| packed(&value));
    let packing = match again.ok().as_deref() == Some(text) {
        true => Packing::Same,
        false => Packing::Other,
    };
    if source.version != version {
        return PageCheck::OtherVersion(source, packing);
    }
    if packing == Packing::Other {
        return PageCheck::Unreadable("the records in it were changed");
    }
    let made = made(&source, text);
    match made == page {
        true => PageCheck::Whole(source),
        false => PageCheck::Differs(source, differences(page, &made)),
    }
}

/// The page of a source, which is this text.
fn made(source: &PageSource, text: &str) -> String {
    let page = html(&study(&source.records, &source.options));
    let end = page.rfind("</body>").unwrap_or(page.len());
    let (before, after) = page.split_at(end);
    format!("{before}{BEFORE}{text}{AFTER}{after}")
}

fn source_value(
    records: &[Record],
    options: &StudyOptions,
    version: &str,
) -> Result<Value, serde_json::Error> {
    let mut plans: Vec<&Arc<PlanLine>> = Vec::new();
    let trials = records.iter().filter_map(|record| record.trial.as_ref());
    for plan in trials.filter_map(|trial| trial.written_plan.as_ref()) {
        if !plans.iter().rev().any(|known| known.hash == plan.hash) {
            plans.push(plan);
        }
    }
    let mut lines: Vec<Value> = Vec::new();
    for plan in plans {
        lines.push(serde_json::to_value(plan.as_ref())?);
    }
    for record in records {
        lines.push(serde_json::to_value(record)?);
    }
    let better = match options.metric.better() {
        Preference::Higher => "higher",
        Preference::Lower => "lower",
        Preference::Unsaid => "unsaid",
    };
    Ok(json!({
        "fathom": version,
        "labels": options.labels,
        "baseline": options.baseline,
        "metric": options.metric.key(),
        "better": better,
        "margin": options.margin,
        "question": options.question,
        "factors": options.factors,
        "lines": lines,
    }))
}

/// A text that gives no source.
struct NoSource {
    /// What wrote it, if that can be read.
    made_by: Option<String>,
    why: &'static str,
}

fn source_of(text: &str) -> Result<PageSource, NoSource> {
    let value = unpacked(text).map_err(|why| NoSource { made_by: None, why })?;
    let made_by = value["fathom"].as_str().map(str::to_owned);
    read(value).map_err(|why| NoSource { made_by, why })
}

fn read(mut value: Value) -> Result<PageSource, &'static str> {
    let Some(Value::Array(lines)) = value.get_mut("lines").map(Value::take) else {
        return Err(DAMAGED);
    };
    if lines.len() > MOST_LINES {
        return Err(TOO_MUCH);
    }
    let options = options(&value).ok_or(DAMAGED)?;
    let count = lines.len();
    // Each of them counts: that several files have a record of one id is what the page is about.
    let read = parse_lines(lines.into_iter().map(|line| line.to_string()));
    if !read.damaged.is_empty() || read.records.len() + read.plans.len() != count {
        return Err(DAMAGED);
    }
    Ok(PageSource {
        version: value["fathom"].as_str().ok_or(DAMAGED)?.to_owned(),
        options,
        records: read.records,
        plans: read.plans,
    })
}

/// What was asked of the records.
fn options(value: &Value) -> Option<StudyOptions> {
    let word = |key: &str| value.get(key)?.as_str().map(str::to_owned);
    let words = |key: &str| -> Option<Vec<String>> {
        let all = value.get(key)?.as_array()?.iter();
        all.map(|of| of.as_str().map(str::to_owned)).collect()
    };
    let metric = Quantity::parse(&word("metric")?).ok()?;
    let metric = match word("better")?.as_str() {
        "higher" => metric.preferring(Preference::Higher),
        "lower" => metric.preferring(Preference::Lower),
        _ => metric,
    };
    Some(StudyOptions {
        labels: words("labels")?,
        baseline: word("baseline"),
        metric,
        margin: value.get("margin")?.as_f64()?,
        question: word("question")?,
        factors: words("factors")?.into_iter().collect(),
    })
}

/// Piece by piece, where both have as many; else the first.
fn differences(page: &str, made: &str) -> PageDifferences {
    let [of_page, of_made] = [page, made].map(|text| text.split('<').collect::<Vec<_>>());
    let mut section = String::new();
    let mut out = PageDifferences::default();
    let (mut is_heading, most) = (false, of_page.len().max(of_made.len()));
    for at in 0..most {
        let [seen, due] = [&of_page, &of_made].map(|of| of.get(at).copied().unwrap_or_default());
        if due.starts_with("h2") || due.starts_with("h3") {
            section.clear();
            is_heading = true;
        }
        if is_heading {
            section.push_str(text_of(due));
        }
        is_heading = is_heading && !(due.starts_with("/h2") || due.starts_with("/h3"));
        if seen == due {
            continue;
        }
        out.count += 1;
        if out.told.len() < MOST_TOLD {
            let texts = [text_of(seen), text_of(due)];
            let differ = texts[0] != texts[1];
            let [page, records] = shown_apart(if differ { texts } else { [seen, due] });
            out.told.push(PageDifference {
                section: from_there(&units::on_one_line(section.trim()), 0),
                page,
                records,
            });
        }
        if of_page.len() != of_made.len() {
            out.ends_there = true;
            break;
        }
    }
    out
}

/// What is read of a piece, behind its tag.
fn text_of(piece: &str) -> &str {
    piece.split_once('>').map_or(piece, |(_, text)| text)
}

/// Two texts from a little before they begin to differ, where either is too long to be told.
fn shown_apart(texts: [&str; 2]) -> [String; 2] {
    let lines = texts.map(|text| units::on_one_line(text.trim()));
    let [one, other] = &lines;
    let both = one.chars().zip(other.chars());
    let same = both.take_while(|(one, other)| one == other).count();
    let is_long = lines.iter().any(|line| line.chars().count() > MOST_SHOWN);
    let from = if is_long {
        same.saturating_sub(SHOWN_BEFORE)
    } else {
        0
    };
    lines.map(|line| from_there(&line, from))
}

/// A text from a character on, with a sign where it is cut.
fn from_there(line: &str, from: usize) -> String {
    let cut = |is_cut: bool| if is_cut { "…" } else { "" };
    let mut rest = line.chars().skip(from);
    let shown: String = rest.by_ref().take(MOST_SHOWN).collect();
    format!("{}{shown}{}", cut(from > 0), cut(rest.next().is_some()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;
    use proptest::prelude::*;
    use record::Outcome;

    fn records() -> Vec<Record> {
        let mut one = example::oltp();
        one.outcome = Outcome::default();
        let mut other = one.clone();
        (other.id, other.name) = ("other".into(), "<b>&\u{1b}[2J\"'".into());
        vec![one, other]
    }

    fn options() -> StudyOptions {
        StudyOptions {
            labels: vec!["a".into(), "b".into()],
            question: "is a page whole?".into(),
            ..StudyOptions::default()
        }
    }

    fn whole() -> String {
        page(&records(), &options(), "1").unwrap().html
    }

    fn is_whole(page: &str) -> bool {
        matches!(check_page(page, "1"), PageCheck::Whole(_))
    }

    #[test]
    fn a_page_follows_from_the_records_in_it_and_gives_them_back() {
        let page = whole();
        let PageCheck::Whole(source) = check_page(&page, "1") else {
            panic!("{:?}", check_page(&page, "1"));
        };
        assert_eq!(source.records, records());
        assert!(
            page.starts_with(
                html(&study(&records(), &options()))
                    .split("</body>")
                    .next()
                    .unwrap()
            )
        );
    }

    #[test]
    fn a_changed_figure_is_told_with_its_section_and_what_the_records_give() {
        let page = whole();
        let changed = page.replacen("7.04K", "9.04K", 1);
        assert_ne!(page, changed);
        let PageCheck::Differs(_, found) = check_page(&changed, "1") else {
            panic!("the page was changed");
        };
        let told = &found.told[0];
        assert!(told.page.contains("9.04K"), "{told:?}");
        assert!(told.records.contains("7.04K"), "{told:?}");
        assert!(!told.section.is_empty(), "{told:?}");
    }

    #[test]
    fn a_change_far_behind_the_start_of_a_long_text_is_shown() {
        let text = format!("{}7 bytes{}", "é".repeat(500), ".".repeat(200));
        let [told, _] = shown_apart([&text, &text.replace("7 bytes", "9 bytes")]);
        assert!(told.starts_with('…') && told.ends_with('…') && told.contains("é7 bytes"));
        assert_eq!(told.chars().count(), MOST_SHOWN + 2);
        assert_eq!(shown_apart([" a\nb ", "c"])[0], "a b");
    }

    #[test]
    fn a_page_of_another_version_and_one_without_records_are_told_as_such() {
        assert!(matches!(
            check_page(&whole(), "2"),
            PageCheck::OtherVersion(_, Packing::Same)
        ));
        let bare = html(&study(&records(), &options()));
        assert!(matches!(check_page(&bare, "1"), PageCheck::Unreadable(_)));
        let cut = whole().replacen(BEFORE, &format!("{BEFORE}AAAA"), 1);
        assert!(matches!(check_page(&cut, "1"), PageCheck::Unreadable(_)));
    }

    /// The page with other things packed in it, by whoever can pack.
    fn repacked(change: impl Fn(&mut Value)) -> String {
        let page = whole();
        let (before, text) = page.rsplit_once(BEFORE).unwrap();
        let (text, after) = text.split_once(AFTER).unwrap();
        let mut value = unpacked(text).unwrap();
        change(&mut value);
        format!("{before}{BEFORE}{}{AFTER}{after}", packed(&value))
    }

    #[test]
    fn records_that_pack_to_another_text_are_not_called_whole_in_any_version() {
        let added = repacked(|value| value["lines"][0]["unheard-of"] = json!(1));
        assert!(matches!(
            check_page(&added, "1"),
            PageCheck::Unreadable("the records in it were changed")
        ));
        assert!(matches!(
            check_page(&added, "2"),
            PageCheck::OtherVersion(_, Packing::Other)
        ));
        let newer = repacked(|value| value["lines"][0]["schema"] = json!(99));
        assert!(matches!(check_page(&newer, "1"), PageCheck::Unreadable(_)));
        assert!(matches!(
            check_page(&newer, "2"),
            PageCheck::OtherVersionUnread(version, _) if version == "1"
        ));
    }

    #[test]
    fn a_page_of_two_files_with_one_record_holds_both() {
        let both = [&records()[0], &records()[0]].map(Record::clone);
        let written = page(&both, &options(), "1").unwrap();
        assert_eq!(written.lacks_records, None);
        let PageCheck::Whole(source) = check_page(&written.html, "1") else {
            panic!("{:?}", check_page(&written.html, "1"));
        };
        assert_eq!(source.records, both);
    }

    #[test]
    fn a_page_that_cannot_hold_its_records_says_why() {
        let mut long = records();
        let key = "x".repeat(1 << 16);
        long[0].effective.insert(key, "y".into());
        let written = page(&long, &options(), "1").unwrap();
        assert!(written.lacks_records.unwrap().contains("longer names"));
        assert!(matches!(
            check_page(&written.html, "1"),
            PageCheck::Unreadable("it holds no records")
        ));
    }

    #[test]
    fn what_is_told_of_long_texts_begins_shortly_before_they_differ_and_shows_where_it_is_cut() {
        let long = "word ".repeat(40);
        let [page, records] = shown_apart([&format!("{long}9 end"), &format!("{long}7 end")]);
        assert_eq!(page, "…word word word word 9 end");
        assert_eq!(records, "…word word word word 7 end");
        let [page, _] = shown_apart([&long, "x"]);
        assert_eq!(page.chars().count(), MOST_SHOWN + 1);
        assert!(page.ends_with('…'), "{page}");
        assert_eq!(shown_apart(["a", "b"]), ["a", "b"]);
    }

    #[test]
    fn a_page_with_other_parts_is_compared_up_to_the_first_of_them() {
        let more = whole().replacen("<h2", "<p>added</p><h2", 1);
        let PageCheck::Differs(_, found) = check_page(&more, "1") else {
            panic!("the page was changed");
        };
        assert_eq!((found.count, found.ends_there), (1, true));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_digit_that_is_changed_is_found(at in any::<prop::sample::Index>(), by in 1_u8..10) {
            let page = whole();
            let digits: Vec<usize> = page.bytes().enumerate()
                .filter(|(_, byte)| byte.is_ascii_digit())
                .map(|(at, _)| at)
                .collect();
            let at = digits[at.index(digits.len())];
            let mut bytes = page.into_bytes();
            bytes[at] = b'0' + (bytes[at] - b'0' + by) % 10;
            prop_assert!(!is_whole(&String::from_utf8(bytes).unwrap()), "byte {at}");
        }

        #[test]
        fn any_byte_that_is_changed_or_left_out_is_found(at in any::<prop::sample::Index>(), by in 1_u8..26) {
            let page = whole();
            let letters: Vec<usize> = page.bytes().enumerate()
                .filter(|(_, byte)| byte.is_ascii_lowercase())
                .map(|(at, _)| at)
                .collect();
            let at = letters[at.index(letters.len())];
            let mut bytes = page.into_bytes();
            bytes[at] = b'a' + (bytes[at] - b'a' + by) % 26;
            prop_assert!(!is_whole(&String::from_utf8(bytes.clone()).unwrap()), "byte {at}");
            bytes.remove(at);
            prop_assert!(!is_whole(&String::from_utf8(bytes).unwrap()), "byte {at} left out");
        }
    }
}
