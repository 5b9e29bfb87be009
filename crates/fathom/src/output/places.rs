//! Where results go, in words.

use super::Output;

impl Output {
    /// Where results would go, a line each.
    pub(crate) fn places(&self) -> Vec<String> {
        let result = match &self.file {
            Some(path) => format!("the result goes to {}", path.display()),
            None => "the result goes to the standard output".to_owned(),
        };
        let beside = [&self.json, &self.csv, &self.histogram, &self.hdr_log];
        let beside = beside.into_iter().flatten().chain(&self.fio_log_names);
        let beside: Vec<String> = beside.map(|path| path.display().to_string()).collect();
        let also = (!beside.is_empty()).then(|| format!("also written: {}", beside.join(", ")));
        let records = match &self.records {
            Some(path) => format!("records are appended to {}", path.display()),
            None => "no record is kept; --records FILE.jsonl keeps them".to_owned(),
        };
        std::iter::once(result)
            .chain(also)
            .chain([records])
            .collect()
    }
}
