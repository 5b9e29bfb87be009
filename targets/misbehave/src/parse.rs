//! The text of a misbehaviour.

use crate::{Delay, Fault, Misbehaviour, Models, Stall};
use units::{ByteRate, Nanos, Percent, Rate, UnitError};

const KNOWN: &str = "latency, jitter, rate, bandwidth, errors, stall, truncate, corrupt, seed";

/// Which part of the text is wrong, and how.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MisbehaveError {
    #[error("`{part}` is not a model; write NAME=VALUE, such as latency=5ms")]
    NoValue { part: String },
    #[error("`{name}` in `{part}` is not a model; there are {KNOWN}")]
    UnknownModel { part: String, name: String },
    #[error("`{operation}` in `{part}` is not an operation of this target; there are {known}")]
    UnknownOperation {
        part: String,
        operation: String,
        known: String,
    },
    #[error("`{part}` says again what was said before it")]
    Twice { part: String },
    #[error("`{part}`: {why}")]
    Malformed { part: String, why: String },
}

type Parsed<T> = Result<T, MisbehaveError>;

struct Part<'a> {
    text: &'a str,
}

impl Part<'_> {
    fn wrong(&self, why: impl Into<String>) -> MisbehaveError {
        MisbehaveError::Malformed {
            part: self.text.to_owned(),
            why: why.into(),
        }
    }

    fn unit<T>(&self, parsed: Result<T, UnitError>) -> Parsed<T> {
        parsed.map_err(|error| self.wrong(error.to_string()))
    }

    fn share(&self, text: &str) -> Parsed<f64> {
        if !text.ends_with('%') {
            return Err(self.wrong(format!("`{text}` is not a share; write for example 1%")));
        }
        Ok(self.unit(Percent::parse(text))?.0 / 100.0)
    }

    fn latency(&self, value: &str) -> Parsed<Delay> {
        let fields: Vec<&str> = value.split(':').collect();
        match fields[..] {
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
                "a latency is 5ms, lognormal:MEDIAN:SIGMA, uniform:LOW:HIGH or exponential:MEAN",
            )),
        }
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

    fn errors(&self, value: &str) -> Parsed<Fault> {
        let (share, status) = value
            .split_once(':')
            .ok_or_else(|| self.wrong("write a share and a status, such as 1%:503"))?;
        let status = status
            .parse::<u16>()
            .ok()
            .filter(|status| (400..=599).contains(status));
        let status = status
            .ok_or_else(|| self.wrong("the status of an error is a number from 400 to 599"))?;
        Ok(Fault {
            share: self.share(share)?,
            status,
        })
    }

    fn stall(&self, value: &str) -> Parsed<Stall> {
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
        Ok(Stall { lasts, every })
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
        match name {
            "latency" => self.set(&mut models.latency, self.latency(value)?),
            "jitter" => self.set(&mut models.jitter, self.unit(Nanos::parse(value))?),
            "rate" => self.set(&mut models.rate, self.rate(value)?),
            "bandwidth" => self.set(&mut models.bandwidth, self.bandwidth(value)?),
            "errors" => self.set(&mut models.errors, self.errors(value)?),
            "stall" => self.set(&mut models.stall, self.stall(value)?),
            "truncate" => self.set(&mut models.truncate, self.share(value)?),
            "corrupt" => self.set(&mut models.corrupt, self.share(value)?),
            _ => Err(MisbehaveError::UnknownModel {
                part: self.text.to_owned(),
                name: name.to_owned(),
            }),
        }
    }
}

pub(crate) fn parse(text: &str, operations: &[&str]) -> Parsed<Misbehaviour> {
    let mut out = Misbehaviour::default();
    let mut seed = None;
    for text in text.split(',').map(str::trim) {
        let part = Part { text };
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
        part.apply(&mut out.of[at].1, model, value)?;
    }
    out.seed = seed.unwrap_or(0);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn wrong(text: &str) -> String {
        parse(text, &["get", "put"]).unwrap_err().to_string()
    }

    #[test]
    fn every_model_is_read() {
        let text = "latency=lognormal:5ms:0.5, jitter=1ms,rate=1000/s,bandwidth=100MB/s,errors=1%:503,stall=2s/every:30s,truncate=0.1%,corrupt=0.01%,get.latency=5ms,seed=9";
        let read = parse(text, &["get"]).unwrap();
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
                share: 0.01,
                status: 503
            })
        );
        assert_eq!(read.all.bandwidth, Some(ByteRate(1e8)));
        assert_eq!(
            read.all.stall,
            Some(Stall {
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
            ("rate=0", "above 0"),
            ("latency=uniform:3ms:1ms", "lower end"),
            ("latency=lognormal:3ms:-1", "0 to 10"),
            ("latency=5parsecs", "`latency=5parsecs`"),
            ("seed=-1", "`seed=-1`"),
            ("", "``"),
        ] {
            assert!(wrong(text).contains(names), "{text}: {}", wrong(text));
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[a-z.=%:,/0-9 ]{0,60}|.{0,40}") {
            if let Ok(read) = parse(&text, &["get"]) {
                read.decide("get", 1);
            }
        }
    }
}
