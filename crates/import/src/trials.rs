//! A table of arms, rows, blocks and values that another harness wrote: each line a record with its
//! place in an experiment, so that it is judged like our own.

mod cells;
mod places;

pub(crate) use cells::lines;
use places::{PlaceTexts, TrialPlace, places};
use record::{
    Outcome, PlannedQuestion, Preference, Record, Role, SCHEMA, Source, Status, Summary, Trial,
};
use std::collections::{BTreeMap, BTreeSet};

/// Which columns say what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrialColumns {
    arm: String,
    /// Together they are the row.
    row: Vec<String>,
    block: Option<String>,
    order: Option<String>,
    value: String,
    start: Option<String>,
    /// The column and the text that says that a slot ended well.
    ok: Option<(String, String)>,
}

/// What the columns do not say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrialRoles {
    pub unit: Option<String>,
    /// Which values are better; [`Preference::Unsaid`] if nobody says it.
    pub better: Preference,
    pub baseline: String,
    pub control: Option<String>,
}

/// Differences below this ratio do not matter, unless who judges says otherwise.
const MARGIN: f64 = 0.05;

impl TrialColumns {
    /// Reads `arm=A,row=B+C,block=D,order=E,value=F,start=G,ok=H:200`.
    ///
    /// # Errors
    /// What is missing or unknown, in words.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut given: BTreeMap<&str, &str> = BTreeMap::new();
        for pair in text.split(',') {
            let Some((what, column)) = pair.split_once('=') else {
                return Err(format!("{pair:?} is not WHAT=COLUMN"));
            };
            let known = ["arm", "row", "block", "order", "value", "start", "ok"];
            if !known.contains(&what) {
                return Err(format!("{what:?} is none of {}", known.join(", ")));
            }
            if given.insert(what, column).is_some() {
                return Err(format!("{what} is given twice"));
            }
        }
        let own = |what: &str| given.get(what).map(|column| (*column).to_owned());
        let needed = |what: &str| own(what).ok_or_else(|| format!("{what}=COLUMN is needed"));
        let ok = match own("ok") {
            None => None,
            Some(text) => Some(
                text.split_once(':')
                    .map(|(column, good)| (column.to_owned(), good.to_owned()))
                    .ok_or("ok=COLUMN:TEXT says which text means that a slot ended well")?,
            ),
        };
        Ok(Self {
            arm: needed("arm")?,
            row: own("row")
                .map(|row| row.split('+').map(str::to_owned).collect())
                .unwrap_or_default(),
            block: own("block"),
            order: own("order"),
            value: needed("value")?,
            start: own("start"),
            ok,
        })
    }
}

/// Reads a table with a line of headings.
///
/// # Errors
/// A column or an arm that is not there, or a line that is not of the table, in words.
pub fn trials(
    text: &str,
    name: &str,
    columns: &TrialColumns,
    roles: &TrialRoles,
) -> Result<Vec<Record>, String> {
    let lines = lines(text)?;
    let Some((headings, body)) = lines.split_first() else {
        return Err("holds no line of headings".to_owned());
    };
    let at = |column: &str| place_of(column, &headings.1);
    let table = TrialTable {
        name,
        columns,
        roles,
        arm: at(&columns.arm)?,
        row: columns
            .row
            .iter()
            .map(|column| at(column))
            .collect::<Result<_, _>>()?,
        block: columns.block.as_deref().map(at).transpose()?,
        order: columns.order.as_deref().map(at).transpose()?,
        value: at(&columns.value)?,
        start: columns.start.as_deref().map(at).transpose()?,
        ok: columns
            .ok
            .as_ref()
            .map(|(column, _)| at(column))
            .transpose()?,
    };
    let arms: BTreeSet<&str> = body
        .iter()
        .filter_map(|(_, cells)| cells.get(table.arm).map(String::as_str))
        .collect();
    check_roles(roles, &arms)?;
    let ragged = body
        .iter()
        .find(|(_, cells)| cells.len() != headings.1.len());
    if let Some((line, cells)) = ragged {
        return Err(format!(
            "line {line} has {} columns, and the first {}",
            cells.len(),
            headings.1.len()
        ));
    }
    let texts: Vec<PlaceTexts<'_>> = body
        .iter()
        .map(|(line, cells)| table.texts(*line, cells))
        .collect();
    let mut seen = Seen::default();
    body.iter()
        .zip(places(&texts)?)
        .map(|((line, cells), place)| table.record(cells, *line, place, &mut seen))
        .collect()
}

fn place_of(column: &str, headings: &[String]) -> Result<usize, String> {
    let headed = headings.iter().enumerate();
    let mut places = headed.filter_map(|(place, heading)| (heading == column).then_some(place));
    match (places.next(), places.next()) {
        (Some(place), None) => Ok(place),
        (Some(_), Some(_)) => Err(format!("has more than one column {column:?}")),
        (None, _) => Err(format!(
            "has no column {column:?}; there are {}",
            headings.join(", ")
        )),
    }
}

fn check_roles(roles: &TrialRoles, arms: &BTreeSet<&str>) -> Result<(), String> {
    if arms.is_empty() {
        return Err("holds headings and no trial".to_owned());
    }
    if roles.control.as_ref() == Some(&roles.baseline) {
        return Err(format!(
            "{:?} cannot be the baseline and its control: the control is the baseline a second time, under another name",
            roles.baseline
        ));
    }
    let mut named = std::iter::once(&roles.baseline).chain(&roles.control);
    match named.find(|arm| !arms.contains(arm.as_str())) {
        None => Ok(()),
        Some(arm) => {
            let arms: Vec<&str> = arms.iter().copied().collect();
            Err(format!("has no arm {arm:?}; there are {}", arms.join(", ")))
        }
    }
}

/// What all lines of a table share, and the positions of its columns.
struct TrialTable<'a> {
    name: &'a str,
    columns: &'a TrialColumns,
    roles: &'a TrialRoles,
    arm: usize,
    row: Vec<usize>,
    block: Option<usize>,
    order: Option<usize>,
    value: usize,
    start: Option<usize>,
    ok: Option<usize>,
}

#[derive(Default)]
struct Seen {
    arms: Vec<String>,
    rows: Vec<String>,
}

fn number(list: &mut Vec<String>, name: &str) -> u32 {
    let at = list
        .iter()
        .position(|known| known == name)
        .unwrap_or_else(|| {
            list.push(name.to_owned());
            list.len() - 1
        });
    u32::try_from(at).unwrap_or(u32::MAX)
}

impl TrialTable<'_> {
    /// What a line says of its place.
    fn texts<'a>(&self, line: usize, cells: &'a [String]) -> PlaceTexts<'a> {
        let cell = |at: Option<usize>| at.map(|at| cells[at].trim());
        PlaceTexts {
            line,
            arm: &cells[self.arm],
            row: self.row_of(cells),
            has_failed: self.failure(cells).is_some(),
            block: cell(self.block),
            order: cell(self.order),
            start: cell(self.start),
        }
    }

    fn row_of(&self, cells: &[String]) -> String {
        let values = self.row.iter().zip(&self.columns.row);
        let values: Vec<String> = values
            .map(|(at, column)| format!("{column}={}", cells[*at]))
            .collect();
        if values.is_empty() {
            return "run".to_owned();
        }
        values.join(" ")
    }

    fn failure(&self, cells: &[String]) -> Option<String> {
        let (at, (column, good)) = self.ok.zip(self.columns.ok.as_ref())?;
        (cells[at].trim() != good).then(|| format!("{column} is {}", cells[at]))
    }

    fn record(
        &self,
        cells: &[String],
        line: usize,
        place: TrialPlace,
        seen: &mut Seen,
    ) -> Result<Record, String> {
        let started_at = place.started_at.clone();
        let trial = self.trial(cells, place, seen);
        let failure = self.failure(cells);
        let text = cells[self.value].trim();
        let value: Option<f64> = text.parse().ok().filter(|value: &f64| value.is_finite());
        if value.is_none() && failure.is_none() {
            let is_large = text.parse().is_ok_and(f64::is_infinite);
            let why = if is_large && text.contains(|letter: char| letter.is_ascii_digit()) {
                "is more than a number can be here"
            } else {
                "is no number"
            };
            return Err(format!("line {line}: {text:?} {why}"));
        }
        let unit = self.roles.unit.clone();
        let summary = Summary {
            figures: value
                .map(|value| (self.columns.value.clone(), value))
                .into_iter()
                .collect(),
            as_written: unit
                .map(|unit| (self.columns.value.clone(), unit))
                .into_iter()
                .collect(),
            ..Summary::default()
        };
        Ok(Record {
            schema: SCHEMA,
            id: format!("{}:{line}", self.name),
            kind: "run".into(),
            name: trial.row.clone(),
            started_at,
            summaries: [("run".to_owned(), summary)].into(),
            outcome: Outcome {
                status: if failure.is_some() {
                    Status::Failed
                } else {
                    Status::Ok
                },
                exit_code: i32::from(failure.is_some()),
                message: failure,
            },
            source: Some(Source {
                tool: "trials".into(),
                file: Some(self.name.to_owned()),
                format: "trials".into(),
                ..Source::default()
            }),
            trial: Some(trial),
            ..Record::default()
        })
    }

    /// The place of a line in the experiment.
    fn trial(&self, cells: &[String], place: TrialPlace, seen: &mut Seen) -> Trial {
        let (arm, row) = (cells[self.arm].clone(), self.row_of(cells));
        let role = if arm == self.roles.baseline {
            Role::Baseline
        } else if self.roles.control.as_ref() == Some(&arm) {
            Role::Control
        } else {
            Role::Candidate
        };
        Trial {
            plan: format!("trials of {}", self.name),
            block: place.block,
            slot: place.slot,
            unsaid: place.unsaid,
            question: Some(self.question()),
            role,
            arm_number: number(&mut seen.arms, &arm),
            row_number: number(&mut seen.rows, &row),
            arm,
            row,
            ..Trial::default()
        }
    }

    /// What such a table is asked: its values.
    fn question(&self) -> PlannedQuestion {
        PlannedQuestion {
            metric: format!("value:{}", self.columns.value),
            margin: MARGIN,
            better: match self.roles.better {
                Preference::Higher => Some("higher".into()),
                Preference::Lower => Some("lower".into()),
                Preference::Unsaid => None,
            },
            ..PlannedQuestion::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::UnsaidPlace;

    const TABLE: &str = "branch,size,n,speed,status\nmain,1M,0,10.5,200\n\"new, faster\",1M,0,12,200\nmain,1M,1,x,500\n";

    fn read(columns: &str, baseline: &str) -> Result<Vec<Record>, String> {
        let roles = TrialRoles {
            unit: Some("MB/s".into()),
            baseline: baseline.into(),
            ..TrialRoles::default()
        };
        trials(TABLE, "t.csv", &TrialColumns::parse(columns)?, &roles)
    }

    #[test]
    fn each_line_is_a_record_in_its_place() {
        let records = read(
            "arm=branch,row=size,block=n,value=speed,ok=status:200",
            "main",
        )
        .unwrap();
        let trial = |index: usize| records[index].trial.clone().unwrap();
        assert_eq!(
            (trial(0).role, trial(1).role),
            (Role::Baseline, Role::Candidate)
        );
        assert_eq!(
            (trial(1).arm.as_str(), trial(1).row.as_str(), trial(1).block),
            ("new, faster", "size=1M", 0)
        );
        assert_eq!((trial(2).block, trial(2).slot), (1, 2));
        assert_eq!(trial(2).unsaid, [UnsaidPlace::Order]);
        assert_eq!(trial(0).question.unwrap().metric, "value:speed");
        assert_eq!(records[1].summaries["run"].figures["speed"], 12.0);
        let failed = &records[2].outcome;
        assert_eq!(
            (failed.status, failed.message.as_deref()),
            (Status::Failed, Some("status is 500"))
        );
    }

    #[test]
    fn what_could_be_meant_in_two_ways_or_has_nothing_in_it_is_refused() {
        let columns = TrialColumns::parse("arm=branch,value=speed").expect("it is one");
        let roles = |control: &str| TrialRoles {
            baseline: "main".into(),
            control: Some(control.to_owned()).filter(|control| !control.is_empty()),
            ..TrialRoles::default()
        };
        for (table, control, expected) in [
            (
                "branch,speed,speed\nmain,1,2\nnew,1,2\n",
                "",
                "has more than one column \"speed\"",
            ),
            ("branch,speed\n", "", "holds headings and no trial"),
            (
                "branch,speed\nmain,1\nnew,2\n",
                "main",
                "cannot be the baseline and its control",
            ),
        ] {
            let refused = trials(table, "t.csv", &columns, &roles(control)).unwrap_err();
            assert!(refused.contains(expected), "{refused}");
        }
    }

    #[test]
    fn what_is_not_there_is_named_with_what_is() {
        for (columns, baseline, expected) in [
            (
                "arm=branch,value=rate",
                "main",
                "no column \"rate\"; there are branch, size, n, speed, status",
            ),
            (
                "arm=branch,value=speed",
                "trunk",
                "no arm \"trunk\"; there are main, new, faster",
            ),
            (
                "arm=branch,value=speed",
                "main",
                "line 4: \"x\" is no number",
            ),
            ("arm=branch", "main", "value=COLUMN is needed"),
            (
                "arm=branch,value=speed,colour=n",
                "main",
                "\"colour\" is none of arm, row",
            ),
            ("arm=branch,value=speed,ok=status", "main", "ok=COLUMN:TEXT"),
        ] {
            let refused = read(columns, baseline).unwrap_err();
            assert!(refused.contains(expected), "{expected}: {refused}");
        }
    }

    #[test]
    fn a_number_that_is_more_than_can_be_held_is_named_with_its_line() {
        let columns = TrialColumns::parse("arm=arm,value=speed").unwrap();
        let roles = TrialRoles {
            baseline: "a".into(),
            ..TrialRoles::default()
        };
        for (value, expected) in [
            (
                "1e400",
                "line 3: \"1e400\" is more than a number can be here",
            ),
            ("inf", "line 3: \"inf\" is no number"),
        ] {
            let table = format!("arm,speed\na,1\nb,{value}\n");
            let refused = trials(&table, "t", &columns, &roles).unwrap_err();
            assert_eq!(refused, expected);
        }
    }
}
