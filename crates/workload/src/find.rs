//! Which files a walk looks for.

use crate::SpecError;
use std::fmt;
use std::path::PathBuf;
use units::Bytes;

/// Criteria that a file must meet all of; none: every file does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Find {
    /// `*` is any characters, `?` any one, of the name without its directory.
    pub name: Option<String>,
    pub size: Option<Bytes>,
    /// Changed later than this file.
    pub newer: Option<PathBuf>,
}

impl Find {
    /// Reads `name=*01*,size=3901,newer=FILE`; of `newer` all that follows is the path.
    ///
    /// # Errors
    /// Another key, a key twice, or a value that it does not take.
    pub fn parse(key: &str, text: &str) -> Result<Self, SpecError> {
        let wrong = |reason: String| SpecError::Value {
            key: key.into(),
            reason,
        };
        let mut out = Self::default();
        let mut rest = text.trim();
        while !rest.is_empty() {
            let (word, value) = rest.split_once('=').ok_or_else(|| {
                wrong(format!(
                    "{rest:?} is not KEY=VALUE, such as name=*01*,size=3901,newer=FILE"
                ))
            })?;
            let ends = if word == "newer" {
                None
            } else {
                value.split_once(',')
            };
            let (value, next) = ends.unwrap_or((value, ""));
            let is_given = match word {
                "name" => out.name.replace(value.to_owned()).is_some(),
                "size" => {
                    let size = Bytes::parse(value).map_err(|error| wrong(error.to_string()))?;
                    out.size.replace(size).is_some()
                }
                "newer" => out.newer.replace(value.into()).is_some(),
                other => return Err(wrong(format!("{other:?} is not one of name, size, newer"))),
            };
            if is_given || value.is_empty() {
                return Err(wrong(format!("{word} is given once, with a value")));
            }
            rest = next;
        }
        if out == Self::default() {
            return Err(wrong(
                "names no criterion; leave it out to count every file".into(),
            ));
        }
        Ok(out)
    }
}

impl fmt::Display for Find {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let given = [
            self.name.as_ref().map(|name| format!("name={name}")),
            self.size.map(|size| format!("size={}", size.exact())),
            self.newer
                .as_ref()
                .map(|file| format!("newer={}", file.display())),
        ];
        let given: Vec<String> = given.into_iter().flatten().collect();
        f.write_str(&given.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn criteria_read_back_as_they_are_shown() {
        for text in [
            "name=*01*,size=3901,newer=/a,b=c",
            "size=4k",
            "name=?",
            "newer=mark",
        ] {
            assert_eq!(Find::parse("where", text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_is_no_criterion_is_refused_by_name() {
        for (text, part) in [
            ("", "no criterion"),
            ("name", "is not KEY=VALUE"),
            ("name=", "given once, with a value"),
            ("name=a,name=b", "given once, with a value"),
            ("size=big", "size"),
            ("owner=me", "\"owner\" is not one of name, size, newer"),
        ] {
            let said = Find::parse("where", text).unwrap_err().to_string();
            assert!(said.contains(part), "{text}: {said}");
        }
    }
}
