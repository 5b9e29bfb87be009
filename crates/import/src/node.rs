//! A value of a JSON document that knows its path, so that an error can name it.

use crate::error::{Fault, Location};
use serde_json::{Map, Value};

/// The longest text of the input that an error quotes, in characters.
const QUOTED: usize = 40;
/// No result holds a larger number, and products of two such are still finite.
const LARGEST: f64 = 1e30;

#[derive(Clone, Debug)]
pub(crate) struct Node<'a> {
    value: &'a Value,
    path: String,
}

impl<'a> Node<'a> {
    /// The whole document, called `path`.
    pub(crate) fn root(value: &'a Value, path: &str) -> Self {
        Self {
            value,
            path: path.to_owned(),
        }
    }

    pub(crate) fn fault(&self, reason: impl Into<String>) -> Fault {
        let place = if self.path.is_empty() {
            Location::Whole
        } else {
            Location::Value(self.path.clone())
        };
        Fault::new(place, reason)
    }

    fn expected(&self, what: &str) -> Fault {
        let found: String = self.value.to_string().chars().take(QUOTED + 1).collect();
        let found = match found.char_indices().nth(QUOTED) {
            Some((at, _)) => format!("{}…", &found[..at]),
            None => found,
        };
        self.fault(format!("expected {what}, found {found}"))
    }

    /// A member; `None` where it is missing or null, and where this is no object.
    pub(crate) fn get(&self, key: &str) -> Option<Node<'a>> {
        let value = self.value.get(key).filter(|value| !value.is_null())?;
        let path = if self.path.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.path)
        };
        Some(Node { value, path })
    }

    pub(crate) fn need(&self, key: &str) -> Result<Node<'a>, Fault> {
        self.object()?;
        self.get(key)
            .ok_or_else(|| self.fault(format!("{key:?} is missing")))
    }

    fn object(&self) -> Result<&'a Map<String, Value>, Fault> {
        self.value
            .as_object()
            .ok_or_else(|| self.expected("an object"))
    }

    /// The members that are not null.
    pub(crate) fn members(&self) -> Result<impl Iterator<Item = (&'a str, Node<'a>)> + '_, Fault> {
        let members = self.object()?.iter().filter(|(_, value)| !value.is_null());
        Ok(members.map(|(key, value)| {
            (
                key.as_str(),
                Node {
                    value,
                    path: format!("{}.{key}", self.path),
                },
            )
        }))
    }

    pub(crate) fn items(&self) -> Result<impl Iterator<Item = Node<'a>> + '_, Fault> {
        let items = self
            .value
            .as_array()
            .ok_or_else(|| self.expected("an array"))?;
        Ok(items.iter().enumerate().map(|(index, value)| Node {
            value,
            path: format!("{}[{index}]", self.path),
        }))
    }

    pub(crate) fn text(&self) -> Result<&'a str, Fault> {
        self.value.as_str().ok_or_else(|| self.expected("a text"))
    }

    pub(crate) fn number(&self) -> Result<f64, Fault> {
        self.value
            .as_f64()
            .filter(sound)
            .ok_or_else(|| self.expected("a number"))
    }

    pub(crate) fn is_null(&self) -> bool {
        self.value.is_null()
    }

    pub(crate) fn is_object(&self) -> bool {
        self.value.is_object()
    }

    pub(crate) fn as_bool(&self) -> Option<bool> {
        self.value.as_bool()
    }

    /// A whole number of 0 or more, also where it is written with a fraction of zero.
    pub(crate) fn count(&self) -> Result<u64, Fault> {
        let whole = self
            .value
            .as_f64()
            .filter(|x| x.fract() == 0.0 && (0.0..9_007_199_254_740_992.0).contains(x));
        let count = self
            .value
            .as_u64()
            .or_else(|| whole.map(units::lossless::f64_to_u64_saturating));
        count.ok_or_else(|| self.expected("a whole number of 0 or more"))
    }

    /// A number that some tools write as a text.
    pub(crate) fn number_or_text(&self) -> Result<f64, Fault> {
        match self.value.as_str() {
            Some(text) => text
                .trim()
                .parse()
                .ok()
                .filter(sound)
                .ok_or_else(|| self.expected("a number")),
            None => self.number(),
        }
    }

    /// A whole number that some tools write as a text.
    pub(crate) fn count_or_text(&self) -> Result<u64, Fault> {
        match self.value.as_str() {
            Some(text) => text
                .trim()
                .parse()
                .ok()
                .ok_or_else(|| self.expected("a whole number of 0 or more")),
            None => self.count(),
        }
    }

    pub(crate) fn opt_text(&self, key: &str) -> Result<Option<&'a str>, Fault> {
        self.get(key).map(|node| node.text()).transpose()
    }

    pub(crate) fn opt_number(&self, key: &str) -> Result<Option<f64>, Fault> {
        self.get(key).map(|node| node.number()).transpose()
    }

    pub(crate) fn opt_count(&self, key: &str) -> Result<Option<u64>, Fault> {
        self.get(key).map(|node| node.count()).transpose()
    }

    pub(crate) fn opt_number_or_text(&self, key: &str) -> Result<Option<f64>, Fault> {
        self.get(key).map(|node| node.number_or_text()).transpose()
    }

    pub(crate) fn opt_count_or_text(&self, key: &str) -> Result<Option<u64>, Fault> {
        self.get(key).map(|node| node.count_or_text()).transpose()
    }
}

/// Whether a number can be one of a result.
pub(crate) fn sound(x: &f64) -> bool {
    x.abs() <= LARGEST
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_error_names_the_path_and_quotes_the_value() {
        let value = json!({"jobs": [{"read": {"iops": "many"}}]});
        let job = Node::root(&value, "")
            .need("jobs")
            .unwrap()
            .items()
            .unwrap()
            .next()
            .unwrap();
        let fault = job.need("read").unwrap().opt_number("iops").unwrap_err();
        assert_eq!(fault.place, Location::Value("jobs[0].read.iops".into()));
        assert_eq!(fault.reason, "expected a number, found \"many\"");
        assert_eq!(
            job.need("write").unwrap_err().reason,
            "\"write\" is missing"
        );
    }

    #[test]
    fn a_long_value_is_not_quoted_whole() {
        let value = json!("ä".repeat(1000));
        assert!(
            Node::root(&value, "x")
                .number()
                .unwrap_err()
                .reason
                .chars()
                .count()
                < 80
        );
    }

    #[test]
    fn a_count_is_whole_and_not_negative() {
        for (value, count) in [
            (json!(7), Some(7)),
            (json!(7.0), Some(7)),
            (json!(-1), None),
            (json!(1.5), None),
            (json!(1e300), None),
        ] {
            assert_eq!(Node::root(&value, "x").count().ok(), count, "{value}");
        }
        assert_eq!(Node::root(&json!(u64::MAX), "x").count().unwrap(), u64::MAX);
    }
}
