//! A picture of the answer to post somewhere: 1200 × 630, as SVG and as PNG.
//!
//! Text is drawn as paths of a font that the binary carries, so that a picture looks the same
//! wherever it is made and shown; what it says in words stands in its title for those who cannot
//! see it. Both forms are written from the same list of shapes.

mod canvas;
mod font;
mod inlay;
mod layout;
mod sentences;

use analyze::Study;

/// The answer of a study as SVG.
#[must_use]
pub fn card_svg(study: &Study) -> String {
    layout::layout(study).svg()
}

/// The answer of a study as PNG.
#[must_use]
pub fn card_png(study: &Study) -> Vec<u8> {
    layout::layout(study).png()
}

/// Whether a file that begins with these bytes is such a picture.
#[must_use]
pub fn is_card(head: &[u8]) -> bool {
    canvas::is_own(head)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::example::{load, profile, step};
    use analyze::{StudyOptions, study};

    fn of_a_profile() -> Study {
        let rows = ["SEQ1M Q8T1", "SEQ1M Q1T1", "RND4K Q32T1", "RND4K Q1T1"];
        let rows: Vec<(&str, &str, bool)> = rows
            .iter()
            .flat_map(|row| [(*row, "read", true), (*row, "write", true)])
            .collect();
        study(&profile(&rows), &StudyOptions::default())
    }

    #[test]
    fn the_picture_has_its_size_and_says_in_words_what_it_shows() {
        let svg = card_svg(&of_a_profile());
        assert!(
            svg.starts_with(r#"<svg xmlns="http://www.w3.org/2000/svg" width="1200" height="630""#)
        );
        let title = svg
            .split("<title>")
            .nth(1)
            .unwrap()
            .split("</title>")
            .next()
            .unwrap();
        assert!(
            title.contains("SEQ1M Q8T1") && title.contains("IOPS"),
            "{title}"
        );
        assert!(!svg.contains("<text"), "no font of the reader's machine");
        assert!(svg.len() < 200_000, "{}", svg.len());
        let png = card_png(&of_a_profile());
        assert_eq!(&png[..8], b"\x89PNG\r\n\x1a\n");
        let size = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
        assert_eq!((size(16), size(20)), (1200, 630));
        assert!(is_card(&png) && is_card(svg.as_bytes()) && !is_card(b"\x89PNG\r\n\x1a\n"));
    }

    /// The outlines in the ink of the first arm, and what the picture says in words.
    fn drawn(records: &[record::Record]) -> (usize, String) {
        let svg = card_svg(&study(records, &StudyOptions::default()));
        let (words, shapes) = svg.split_once("</title>").unwrap();
        let words = words.split_once("<title>").unwrap().1.to_owned();
        (shapes.matches("#0072b2").count(), words)
    }

    #[test]
    fn a_load_shows_where_the_time_of_its_requests_goes() {
        let (drawn, words) = drawn(&[load("get", 400, 80_000_000, 0)]);
        // Of both kinds three parts: a whisker, and a point with its edge.
        assert_eq!(drawn, 6 * 3);
        assert!(
            words.contains("Where the time of a request goes"),
            "{words}"
        );
    }

    #[test]
    fn a_search_shows_latency_by_rate_and_the_knee() {
        let steps = [(100.0, true), (150.0, true), (200.0, false)];
        let steps = steps.map(|(rate, holds)| step(rate, 9_000_000, holds));
        let (drawn, words) = drawn(&steps);
        // A line with three points, of which one is hollow, the knee and its name.
        assert!(drawn >= 1 + 3 + 2 + 2, "{drawn}");
        assert!(words.contains("get: p50"), "{words}");
    }

    #[test]
    fn rows_without_a_card_show_their_latencies_with_a_key() {
        let rows = [
            ("ior-easy-write", "write", true),
            ("ior-hard-write", "write", true),
        ];
        let (drawn, words) = drawn(&profile(&rows));
        assert!(drawn >= 6, "{drawn}");
        assert!(
            words.contains("Latency by percentile: write; ior-easy-write"),
            "{words}"
        );
    }

    #[test]
    fn a_load_of_too_few_requests_says_why_nothing_is_drawn() {
        let (drawn, words) = drawn(&[load("get", 12, 80_000_000, 0)]);
        assert_eq!(drawn, 0);
        assert!(
            words.contains("No picture: of too few operations"),
            "{words}"
        );
    }

    #[test]
    fn a_sentence_that_is_longer_than_a_line_goes_on_in_the_next() {
        let drawn = |said: &str| {
            let steps = [(100.0, true), (150.0, true), (200.0, false)]
                .map(|(rate, holds)| step(rate, 9_000_000, holds));
            let mut study = study(&steps, &StudyOptions::default());
            for point in &mut study.arrivals[0].points {
                point.said = format!("p99<50ms: 12 ms, far below what was asked of it, {said}");
            }
            let svg = card_svg(&study);
            svg[svg.find("</title>").unwrap()..].to_owned()
        };
        assert_ne!(
            drawn("1"),
            drawn("2"),
            "the end of the sentence is not shown"
        );
        // One without an end stays above what is said of belief.
        assert_eq!(
            drawn(&"and more ".repeat(200)),
            drawn(&"and more ".repeat(201))
        );
    }

    #[test]
    fn the_same_study_gives_the_same_bytes_and_nothing_gives_a_picture() {
        assert_eq!(card_png(&of_a_profile()), card_png(&of_a_profile()));
        let nothing = study(&[], &StudyOptions::default());
        assert!(card_svg(&nothing).contains("No record counts."));
    }

    #[test]
    fn a_comparison_says_of_what_and_against_what() {
        let files = ["the old one", "the new one"].map(str::to_owned);
        let options = StudyOptions {
            labels: files.iter().cycle().take(12).cloned().collect(),
            ..StudyOptions::default()
        };
        let loads: Vec<_> = (0..12)
            .map(|at| load("mixed", 2000, 20_000_000 + at, 0))
            .collect();
        let mut study = study(&loads, &options);
        study.baseline = Some(0);
        let words = |study: &Study| {
            let svg = card_svg(study);
            svg[svg.find("<title>").unwrap()..svg.find("</title>").unwrap()].to_owned()
        };
        let against = words(&study);
        assert!(
            against.contains("Change of operations a second; Against the old one. "),
            "{against}"
        );
        study.question = "Is the new one faster?".into();
        let asked = words(&study);
        assert!(
            asked.contains(
                "Is the new one faster?; Change of operations a second against the old one. "
            ),
            "{asked}"
        );
    }

    #[test]
    fn a_name_from_a_record_cannot_leave_its_place() {
        let mut study = of_a_profile();
        study.arms[0].name = "</title><script>x</script>\u{202e}".repeat(20);
        let svg = card_svg(&study);
        assert!(!svg.contains("<script") && !svg.contains('\u{202e}'));
    }
}
