//! The text of a misbehaviour.

use crate::{Delay, Fault, FaultPlace, Misbehaviour, Models, Stall, Vocabulary, Which};
use units::{ByteRate, Bytes, Nanos, Percent, Rate, UnitError};

/// Which part of the text is wrong, and how.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MisbehaveError {
    #[error("`{part}` is not a model; write NAME=VALUE, such as latency=5ms")]
    NoValue { part: String },
    #[error("`{name}` in `{part}` is not a model of this target; there are {known}, seed")]
    UnknownModel {
        part: String,
        name: String,
        known: String,
    },
    #[error("`{operation}` in `{part}` is not an operation of this target; there are {known}")]
    UnknownOperation {
        part: String,
        operation: String,
        known: String,
    },
    #[error("`{part}` does nothing: {why}")]
    Idle { part: String, why: String },
    #[error("`{part}` says again what was said before it")]
    Twice { part: String },
    #[error("`{part}`: {why}")]
    Malformed { part: String, why: String },
}

type Parsed<T> = Result<T, MisbehaveError>;

struct Part<'a> {
    text: &'a str,
    vocabulary: &'a Vocabulary<'a>,
}

impl Part<'_> {
    fn wrong(&self, why: impl Into<String>) -> MisbehaveError {
        MisbehaveError::Malformed {
            part: self.text.to_owned(),
            why: why.into(),
        }
    }

    fn idle(&self, why: impl Into<String>) -> MisbehaveError {
        MisbehaveError::Idle {
            part: self.text.to_owned(),
            why: why.into(),
        }
    }

    fn unit<T>(&self, parsed: Result<T, UnitError>) -> Parsed<T> {
        parsed.map_err(|error| self.wrong(error.to_string()))
    }

    fn share(&self, text: &str) -> Parsed<f64> {
        let millionths = text.strip_suffix("ppm").map(|number| {
            number
                .trim()
                .parse::<f64>()
                .ok()
                .filter(|millionths| (0.0..=1e6).contains(millionths))
        });
        match millionths {
            Some(Some(millionths)) => Ok(millionths / 1e6),
            None if text.ends_with('%') => Ok(self.unit(Percent::parse(text))?.0 / 100.0),
            Some(None) | None => {
                Err(self.wrong(format!("`{text}` is not a share; write for example 1%")))
            }
        }
    }

    fn count(&self, text: &str) -> Parsed<u64> {
        let count = text.parse().ok().filter(|count| *count > 0);
        count.ok_or_else(|| self.wrong(format!("`{text}` is not a number of requests")))
    }

    /// A share of requests, or which they are by their number.
    fn which(&self, text: &str) -> Parsed<Which> {
        match text.split_once(':') {
            Some(("nth", count)) => Ok(Which::Nth(self.count(count)?)),
            Some(("once", number)) => Ok(Which::Once(self.count(number)?)),
            Some(_) => Err(self.wrong("write a share such as 1%, nth:1000 or once:17")),
            None => Ok(Which::Share(self.share(text)?)),
        }
    }

    fn latency(&self, value: &str) -> Parsed<Delay> {
        if let Some(name) = value.strip_prefix("empirical:") {
            let buckets = (self.vocabulary.histogram)(name).map_err(|why| self.wrong(why))?;
            return Delay::empirical(buckets)
                .ok_or_else(|| self.wrong(format!("nothing was counted in {name}")));
        }
        let fields: Vec<&str> = value.split(':').collect();
        match fields[..] {
            ["mix", ref parts @ ..] => self.mix(parts),
            ["normal", mean, deviation] => Ok(Delay::Normal {
                mean: self.unit(Nanos::parse(mean))?,
                deviation: self.unit(Nanos::parse(deviation))?,
            }),
            ["lognormal", median, sigma] => {
                let sigma = sigma
                    .parse::<f64>()
                    .ok()
                    .filter(|sigma| (0.0..=10.0).contains(sigma));
                let sigma = sigma.ok_or_else(|| {
                    self.wrong("the deviation of a lognormal is a number from 0 to 10")
                })?;
                Ok(Delay::LogNormal {
                    median: self.unit(Nanos::parse(median))?,
                    sigma,
                })
            }
            ["uniform", low, high] => {
                let (low, high) = (
                    self.unit(Nanos::parse(low))?,
                    self.unit(Nanos::parse(high))?,
                );
                if low.0 > high.0 {
                    return Err(self.wrong("the lower end of a uniform goes first"));
                }
                Ok(Delay::Uniform { low, high })
            }
            ["exponential", mean] => Ok(Delay::Exponential {
                mean: self.unit(Nanos::parse(mean))?,
            }),
            [span] => Ok(Delay::Constant(self.unit(Nanos::parse(span))?)),
            _ => Err(self.wrong(
                "a latency is 5ms, normal:MEAN:DEVIATION, lognormal:MEDIAN:SIGMA, uniform:LOW:HIGH, exponential:MEAN, mix:SHARE:TIME:SHARE:TIME or empirical:FILE#KIND",
            )),
        }
    }

    fn mix(&self, parts: &[&str]) -> Parsed<Delay> {
        let (pairs, rest) = parts.as_chunks::<2>();
        let mut mixed = Vec::new();
        for [share, span] in pairs {
            mixed.push((self.share(share)?, self.unit(Nanos::parse(span))?));
        }
        let all: f64 = mixed.iter().map(|(share, _)| share).sum();
        if mixed.len() < 2 || !rest.is_empty() || (all - 1.0).abs() > 1e-9 {
            return Err(self.wrong(
                "a mix is two or more shares with their times, and the shares add up to 100%",
            ));
        }
        mixed.sort_by_key(|(_, span)| *span);
        Ok(Delay::Mix(mixed))
    }

    fn rate(&self, value: &str) -> Parsed<Rate> {
        let rate = self.unit(Rate::parse(value))?;
        if rate.0 > 0.0 {
            Ok(rate)
        } else {
            Err(self.wrong("a rate is above 0"))
        }
    }

    fn bandwidth(&self, value: &str) -> Parsed<ByteRate> {
        let bandwidth = self.unit(ByteRate::parse(value))?;
        if bandwidth.0 > 0.0 {
            Ok(bandwidth)
        } else {
            Err(self.wrong("a bandwidth is above 0"))
        }
    }

    fn code(&self, text: &str) -> Parsed<u16> {
        self.vocabulary.code(text).map_err(|why| self.wrong(why))
    }

    fn errors(&self, value: &str) -> Parsed<Fault> {
        if let Some((code, place)) = value.split_once('@') {
            let (place, until_written) = match place.split_once(':') {
                Some((place, "until-written")) => (place, true),
                Some(_) => return Err(self.wrong("after a place there is only `:until-written`")),
                None => (place, false),
            };
            let (start, bytes) = place
                .split_once('+')
                .ok_or_else(|| self.wrong("a place is a start and a length, such as 1MiB+64KiB"))?;
            let place = FaultPlace {
                start: self.unit(Bytes::parse(start))?.0,
                bytes: self.unit(Bytes::parse(bytes))?.0,
                until_written,
            };
            if place.bytes == 0 {
                return Err(self.idle("the place has no bytes"));
            }
            return Ok(Fault {
                which: Which::At(place),
                code: self.code(code)?,
            });
        }
        let (which, code) = value
            .rsplit_once(':')
            .ok_or_else(|| self.wrong("write a share and an error, such as 1%:503"))?;
        Ok(Fault {
            which: self.which(which)?,
            code: self.code(code)?,
        })
    }

    fn stall(&self, value: &str) -> Parsed<Stall> {
        if let Some((lasts, bytes)) = value.split_once("/after:") {
            let (lasts, bytes) = (
                self.unit(Nanos::parse(lasts))?,
                self.unit(Bytes::parse(bytes))?,
            );
            if lasts.0 == 0 || bytes.0 == 0 {
                return Err(self.wrong("a stall lasts longer than nothing, after some bytes"));
            }
            return Ok(Stall::After { lasts, bytes });
        }
        let (lasts, every) = value
            .split_once("/every:")
            .ok_or_else(|| self.wrong("write how long and how often, such as 2s/every:30s"))?;
        let (lasts, every) = (
            self.unit(Nanos::parse(lasts))?,
            self.unit(Nanos::parse(every))?,
        );
        if lasts.0 == 0 || lasts.0 >= every.0 {
            return Err(
                self.wrong("a stall lasts longer than nothing and ends before the next begins")
            );
        }
        Ok(Stall::Every { lasts, every })
    }

    fn channels(&self, value: &str) -> Parsed<u32> {
        let channels = value.parse().ok();
        channels
            .filter(|channels| (1..=65_536).contains(channels))
            .ok_or_else(|| self.wrong("a number of channels is 1 to 65536"))
    }

    /// Keeps a value that was not given before.
    fn set<T>(&self, slot: &mut Option<T>, value: T) -> Parsed<()> {
        match slot.replace(value) {
            None => Ok(()),
            Some(_) => Err(MisbehaveError::Twice {
                part: self.text.to_owned(),
            }),
        }
    }

    fn apply(&self, models: &mut Models, name: &str, value: &str) -> Parsed<()> {
        let unknown = || MisbehaveError::UnknownModel {
            part: self.text.to_owned(),
            name: name.to_owned(),
            known: self.vocabulary.models.join(", "),
        };
        if !self.vocabulary.models.contains(&name) {
            return Err(unknown());
        }
        let which = || self.which(value);
        match name {
            "latency" => self.set(&mut models.latency, self.latency(value)?),
            "jitter" => self.set(&mut models.jitter, self.unit(Nanos::parse(value))?),
            "rate" => self.set(&mut models.rate, self.rate(value)?),
            "bandwidth" => self.set(&mut models.bandwidth, self.bandwidth(value)?),
            "channels" => self.set(&mut models.channels, self.channels(value)?),
            "errors" => self.set(&mut models.errors, self.errors(value)?),
            "stall" => self.set(&mut models.stall, self.stall(value)?),
            "truncate" => self.set(&mut models.truncate, which()?),
            "corrupt" => self.set(&mut models.corrupt, which()?),
            "stale" => self.set(&mut models.stale, which()?),
            "lost" => self.set(&mut models.lost, which()?),
            "torn" => self.set(&mut models.torn, which()?),
            "misdirected" => self.set(&mut models.misdirected, which()?),
            "hang" => self.set(&mut models.hang, which()?),
            _ => Err(unknown()),
        }
    }
}

/// Refuses what an operation can be told and would never do.
fn refuse_idle(part: &Part<'_>, operation: &str, model: &str, models: &Models) -> Parsed<()> {
    let vocabulary = part.vocabulary;
    let mut only = vocabulary.only.iter();
    if let Some((_, operations)) = only.find(|(name, _)| *name == model)
        && !operations.contains(&operation)
    {
        let operations = operations.join(", ");
        return Err(part.idle(format!("{model} is of {operations}")));
    }
    if let ("stall", Some(Stall::After { .. })) = (model, models.stall)
        && !vocabulary.curing.is_empty()
        && operation != "write"
    {
        return Err(part.idle("only a write writes bytes, after which all may stand still"));
    }
    let place = models.errors.filter(|_| model == "errors");
    let place = place.and_then(|fault| match fault.which {
        Which::At(place) => Some(place),
        Which::Share(_) | Which::Nth(_) | Which::Once(_) => None,
    });
    match place {
        Some(_) if vocabulary.placeless.contains(&operation) => {
            Err(part.idle(format!("a {operation} has no place")))
        }
        Some(place) if place.until_written && vocabulary.curing.contains(&operation) => {
            Err(part.idle("writing cures the place, so that it never fails"))
        }
        Some(_) | None => Ok(()),
    }
}

pub(crate) fn parse(text: &str, vocabulary: &Vocabulary<'_>) -> Parsed<Misbehaviour> {
    let operations = vocabulary.operations;
    let mut out = Misbehaviour::default();
    let mut seed = None;
    for text in text.split(',').map(str::trim) {
        let part = Part { text, vocabulary };
        let (name, value) = text
            .split_once('=')
            .ok_or_else(|| MisbehaveError::NoValue {
                part: text.to_owned(),
            })?;
        let (name, value) = (name.trim(), value.trim());
        if name == "seed" {
            let number = value
                .parse::<u64>()
                .map_err(|error| part.wrong(format!("a seed is a whole number: {error}")))?;
            part.set(&mut seed, number)?;
            continue;
        }
        let Some((operation, model)) = name.split_once('.') else {
            part.apply(&mut out.all, name, value)?;
            continue;
        };
        if !operations.contains(&operation) {
            let (operation, known) = (operation.to_owned(), operations.join(", "));
            return Err(MisbehaveError::UnknownOperation {
                part: text.to_owned(),
                operation,
                known,
            });
        }
        let at = out
            .of
            .iter()
            .position(|(of, _)| of == operation)
            .unwrap_or_else(|| {
                out.of.push((operation.to_owned(), Models::default()));
                out.of.len() - 1
            });
        let of = &mut out.of[at].1;
        part.apply(of, model, value)?;
        refuse_idle(&part, operation, model, of)?;
    }
    if out.all == Models::default() && out.of.is_empty() {
        return Err(MisbehaveError::Idle {
            part: text.to_owned(),
            why: "a seed draws for models, and there is none".to_owned(),
        });
    }
    out.seed = seed.unwrap_or(0);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn wrong(text: &str) -> String {
        parse(text, &Vocabulary::http(&["get", "put"]))
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn every_model_is_read() {
        let text = "latency=lognormal:5ms:0.5, jitter=1ms,rate=1000/s,bandwidth=100MB/s,errors=1%:503,stall=2s/every:30s,truncate=0.1%,corrupt=0.01%,get.latency=5ms,seed=9";
        let read = parse(text, &Vocabulary::http(&["get"])).unwrap();
        assert_eq!(read.seed, 9);
        assert_eq!(
            read.all.latency,
            Some(Delay::LogNormal {
                median: Nanos(5_000_000),
                sigma: 0.5
            })
        );
        assert_eq!(
            read.all.errors,
            Some(Fault {
                which: Which::Share(0.01),
                code: 503
            })
        );
        assert_eq!(read.all.bandwidth, Some(ByteRate(1e8)));
        assert_eq!(
            read.all.stall,
            Some(Stall::Every {
                lasts: Nanos(2_000_000_000),
                every: Nanos(30_000_000_000)
            })
        );
        assert_eq!(
            read.of,
            [(
                "get".to_owned(),
                Models {
                    latency: Some(Delay::Constant(Nanos(5_000_000))),
                    ..Models::default()
                }
            )]
        );
    }

    #[test]
    fn errors_name_the_part_at_fault() {
        for (text, names) in [
            ("latency=5ms,nonsense", "`nonsense`"),
            ("latency=5ms,latencyy=1ms", "`latencyy`"),
            ("latency=5ms,errors=1%", "`errors=1%`"),
            ("errors=1%:200", "400 to 599"),
            ("errors=1:503", "not a share"),
            ("errors=101%:503", "`errors=101%:503`"),
            ("fetch.latency=1ms", "`fetch`"),
            ("latency=1ms,latency=2ms", "`latency=2ms`"),
            ("stall=30s/every:2s", "`stall=30s/every:2s`"),
            ("stall=0s/after:1GiB", "longer than nothing"),
            ("latency=mix:99%:1ms", "add up"),
            ("latency=mix:99%:1ms:2%:2ms", "add up"),
            ("latency=mix:50%:1ms:50%", "add up"),
            ("latency=empirical:nowhere", "cannot be read here"),
            ("errors=nth:0:503", "`0`"),
            ("errors=every:3:503", "nth:1000"),
            ("errors=503@1MiB", "a start and a length"),
            ("errors=503@1MiB+1KiB:forever", "until-written"),
            ("channels=0", "1 to 65536"),
            ("lost=1%", "not a model of this target"),
            ("corrupt=2000000ppm", "not a share"),
            ("rate=0", "above 0"),
            ("latency=uniform:3ms:1ms", "lower end"),
            ("latency=lognormal:3ms:-1", "0 to 10"),
            ("latency=5parsecs", "`latency=5parsecs`"),
            ("seed=-1", "`seed=-1`"),
            ("seed=1", "does nothing"),
            ("errors=503@1MiB+0", "no bytes"),
            ("", "``"),
        ] {
            assert!(wrong(text).contains(names), "{text}: {}", wrong(text));
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[a-z.=%:,/0-9 ]{0,60}|.{0,40}") {
            if let Ok(read) = parse(&text, &Vocabulary::http(&["get"])) {
                read.decide(&crate::Ask { operation: "get", number: 1, extent: None });
            }
        }
    }
}
