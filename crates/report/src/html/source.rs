//! What a page was made from, inside of the page, so that anybody can make it again and see whether
//! it was changed.
//!
//! The page is a function of the records, of what was asked of them, and of the version. It is made
//! from what is read back of the packed records, so that there is nothing in it that they lack. That
//! shows every change of the page or of the records alone; whoever writes other records and makes a
//! page of them has a page that is whole.

use super::html;
use super::packed::{packed, unpacked};
use analyze::{StudyOptions, study};
use record::{PlanLine, Preference, Quantity, Record, parse_records};
use serde_json::{Value, json};
use std::sync::Arc;

const BEFORE: &str = "<script type=\"application/vnd.fathom.source\" id=\"source\">";
const AFTER: &str = "</script>";
/// Of the differences so many are told.
const MOST_TOLD: usize = 5;
/// Characters of a text that is told.
const MOST_SHOWN: usize = 80;

/// What a page holds besides what people read.
#[derive(Clone, Debug)]
pub struct PageSource {
    /// Of what wrote the page, as it says itself.
    pub version: String,
    pub records: Vec<Record>,
    pub plans: Vec<Arc<PlanLine>>,
    options: StudyOptions,
}

/// What the check of a page found.
#[derive(Clone, Debug)]
pub enum PageCheck {
    /// Every byte follows from its records.
    Whole(PageSource),
    /// Another version made it, as it says; its records alone are whole.
    OtherVersion(PageSource),
    Differs(PageSource, PageDifferences),
    /// It holds no records, or what was made of them cannot be read.
    Unreadable(&'static str),
}

/// Where a page does not follow from its records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageDifferences {
    pub count: usize,
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
) -> Result<String, serde_json::Error> {
    let text = packed(&source_value(records, options, version)?);
    Ok(match source_of(&text) {
        Some(source) => made(&source, &text),
        None => html(&study(records, options)),
    })
}

/// Compares a page with the one that its records give; `version` is what does it.
#[must_use]
pub fn check_page(page: &str, version: &str) -> PageCheck {
    let Some((_, text)) = page.rsplit_once(BEFORE) else {
        return PageCheck::Unreadable("it holds no records");
    };
    let text = text.split_once(AFTER).map_or(text, |(text, _)| text);
    let Some(source) = source_of(text) else {
        return PageCheck::Unreadable("the records in it are damaged");
    };
    // What packs to another text was not packed by us.
    let again =
        source_value(&source.records, &source.options, &source.version).map(|value| packed(&value));
    if again.ok().as_deref() != Some(text) {
        return match source.version == version {
            true => PageCheck::Unreadable("the records in it were changed"),
            false => PageCheck::OtherVersion(source),
        };
    }
    if source.version != version {
        return PageCheck::OtherVersion(source);
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

fn source_of(text: &str) -> Option<PageSource> {
    let value = unpacked(text)?;
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
    let lines: Vec<String> = value
        .get("lines")?
        .as_array()?
        .iter()
        .map(Value::to_string)
        .collect();
    let read = parse_records(lines.join("\n").as_bytes());
    let is_whole = read.damaged.is_empty() && read.records.len() + read.plans.len() == lines.len();
    is_whole.then_some(PageSource {
        version: word("fathom")?,
        options: StudyOptions {
            labels: words("labels")?,
            baseline: word("baseline"),
            metric,
            margin: value.get("margin")?.as_f64()?,
            question: word("question")?,
            factors: words("factors")?.into_iter().collect(),
        },
        records: read.records,
        plans: read.plans,
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
            let is_of_tag = text_of(seen) == text_of(due);
            let of = |piece| if is_of_tag { piece } else { text_of(piece) };
            let (page, records) = (of(seen), of(due));
            let same = page.chars().zip(records.chars());
            let same = same.take_while(|(a, b)| a == b).count();
            out.told.push(PageDifference {
                section: shown(&section, 0),
                page: shown(page, same),
                records: shown(records, same),
            });
        }
        if of_page.len() != of_made.len() {
            break;
        }
    }
    out
}

/// What is read of a piece, behind its tag.
fn text_of(piece: &str) -> &str {
    piece.split_once('>').map_or(piece, |(_, text)| text)
}

/// As much of a text as is told, with its character at `place`.
fn shown(text: &str, place: usize) -> String {
    let cut = place.saturating_sub(MOST_SHOWN / 2);
    let line = units::on_one_line(text.trim());
    let lead = text.chars().take_while(|c| c.is_whitespace()).count();
    let cut = if cut < MOST_SHOWN / 2 {
        0
    } else {
        cut - lead.min(cut)
    };
    let mut rest = line.chars().skip(cut);
    let mut out: String = (cut > 0).then_some('…').into_iter().collect();
    out.extend(rest.by_ref().take(MOST_SHOWN));
    out.extend(rest.next().map(|_| '…'));
    out
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
        page(&records(), &options(), "1").unwrap()
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
        let told = shown(&text, 500);
        assert!(told.starts_with('…') && told.ends_with('…') && told.contains("é7 bytes"));
        assert_eq!(told.chars().count(), MOST_SHOWN + 2);
        assert_eq!(shown(" a\nb ", 3), "a b");
    }

    #[test]
    fn a_page_of_another_version_and_one_without_records_are_told_as_such() {
        assert!(matches!(
            check_page(&whole(), "2"),
            PageCheck::OtherVersion(_)
        ));
        let bare = html(&study(&records(), &options()));
        assert!(matches!(check_page(&bare, "1"), PageCheck::Unreadable(_)));
        let cut = whole().replacen(BEFORE, &format!("{BEFORE}AAAA"), 1);
        assert!(matches!(check_page(&cut, "1"), PageCheck::Unreadable(_)));
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
