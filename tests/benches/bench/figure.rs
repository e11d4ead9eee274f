//! What was measured: samples and single values, and what they come to.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// What a number counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) enum Unit {
    #[serde(rename = "ms")]
    Milliseconds,
    #[serde(rename = "us")]
    Microseconds,
    #[serde(rename = "MB")]
    Megabytes,
    #[serde(rename = "bytes")]
    Bytes,
    #[serde(rename = "/s")]
    PerSecond,
    #[serde(rename = "count")]
    Count,
}

impl Unit {
    /// A number with its unit, for people.
    pub(crate) fn show(self, value: f64) -> String {
        match self {
            Self::Milliseconds if value < 10.0 => format!("{value:.2} ms"),
            Self::Milliseconds => format!("{value:.1} ms"),
            Self::Microseconds => format!("{value:.0} µs"),
            Self::Megabytes => format!("{value:.1} MB"),
            Self::Bytes => format!("{value:.0} B"),
            Self::PerSecond => format!("{value:.0}/s"),
            // Parts show only where there are some, which is where something is wrong.
            Self::Count if value.fract() == 0.0 => format!("{value:.0}"),
            Self::Count => format!("{value:.2}"),
        }
    }
}

/// What is said of a figure, and held against its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Statistic {
    /// Of a figure that is one number.
    Value,
    Median,
    P95,
    P99,
    Max,
}

impl Statistic {
    /// Those of samples, in the order of a table.
    pub(crate) const OF_SAMPLES: [Self; 4] = [Self::Median, Self::P95, Self::P99, Self::Max];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Value => "value",
            Self::Median => "median",
            Self::P95 => "p95",
            Self::P99 => "p99",
            Self::Max => "max",
        }
    }
}

/// One row of a benchmark.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Figure {
    /// Its name in the results and among the targets.
    pub(crate) name: &'static str,
    /// What was measured, for people.
    pub(crate) what: &'static str,
    pub(crate) unit: Unit,
    pub(crate) measured: Measured,
}

/// What came out.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Measured {
    /// In any order; at least one.
    Samples(Vec<f64>),
    One(f64),
    /// It could not be measured here, and why.
    Not(String),
}

impl Figure {
    /// Samples; none at all are told as such.
    pub(crate) fn samples(name: &'static str, what: &'static str, unit: Unit, samples: Vec<f64>) -> Self {
        let measured = match samples.is_empty() {
            true => Measured::Not("there were no samples".to_owned()),
            false => Measured::Samples(samples),
        };
        Self {
            name,
            what,
            unit,
            measured,
        }
    }

    pub(crate) fn one(name: &'static str, what: &'static str, unit: Unit, value: f64) -> Self {
        Self {
            name,
            what,
            unit,
            measured: Measured::One(value),
        }
    }

    /// A statistic, if the figure has it.
    pub(crate) fn get(&self, statistic: Statistic) -> Option<f64> {
        match (&self.measured, statistic) {
            (Measured::One(value), Statistic::Value) => Some(*value),
            (Measured::Samples(samples), Statistic::Median) => percentile(samples, 50),
            (Measured::Samples(samples), Statistic::P95) => percentile(samples, 95),
            (Measured::Samples(samples), Statistic::P99) => percentile(samples, 99),
            (Measured::Samples(samples), Statistic::Max) => percentile(samples, 100),
            _ => None,
        }
    }

    /// How many samples there are.
    pub(crate) fn count(&self) -> Option<usize> {
        match &self.measured {
            Measured::Samples(samples) => Some(samples.len()),
            Measured::One(_) | Measured::Not(_) => None,
        }
    }

    /// What is kept of it, with every sample.
    pub(crate) fn to_json(&self) -> Map<String, Value> {
        let mut object = Map::new();
        object.insert("name".into(), self.name.into());
        object.insert("what".into(), self.what.into());
        object.insert("unit".into(), json!(self.unit));
        match &self.measured {
            Measured::Samples(samples) => {
                for statistic in Statistic::OF_SAMPLES {
                    object.insert(statistic.name().into(), json!(self.get(statistic)));
                }
                object.insert("samples".into(), json!(samples));
            }
            Measured::One(value) => {
                object.insert(Statistic::Value.name().into(), json!(value));
            }
            Measured::Not(why) => {
                object.insert("not_measured".into(), why.as_str().into());
            }
        }
        object
    }
}

/// The smallest sample that at least so many of a hundred do not exceed (nearest rank); `None` without samples.
pub(crate) fn percentile(samples: &[f64], of_hundred: usize) -> Option<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (sorted.len() * of_hundred).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_by_nearest_rank() {
        let hundred: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        let table: &[(&[f64], [f64; 4])] = &[
            (&[7.0], [7.0, 7.0, 7.0, 7.0]),
            (&[2.0, 1.0], [1.0, 2.0, 2.0, 2.0]),
            (&[3.0, 1.0, 2.0], [2.0, 3.0, 3.0, 3.0]),
            (&hundred, [50.0, 95.0, 99.0, 100.0]),
        ];
        for (samples, expected) in table {
            let got = [50, 95, 99, 100].map(|of_hundred| percentile(samples, of_hundred));
            assert_eq!(got, expected.map(Some), "{samples:?}");
        }
        assert_eq!(percentile(&[], 50), None);
    }

    #[test]
    fn numbers_are_shown_as_exactly_as_they_are_known() {
        let table = [
            (Unit::Milliseconds, 0.9512, "0.95 ms"),
            (Unit::Milliseconds, 61.26, "61.3 ms"),
            (Unit::Microseconds, 48.6, "49 µs"),
            (Unit::Megabytes, 24.05, "24.1 MB"),
            (Unit::Bytes, 812.4, "812 B"),
            (Unit::PerSecond, 15_000.4, "15000/s"),
            (Unit::Count, 2.0, "2"),
            (Unit::Count, 2.1, "2.10"),
        ];
        for (unit, value, shown) in table {
            assert_eq!(unit.show(value), shown);
        }
    }

    #[test]
    fn a_figure_without_samples_says_so() {
        let figure = Figure::samples("read", "a read", Unit::Milliseconds, Vec::new());
        assert_eq!(figure.measured, Measured::Not("there were no samples".into()));
    }
}
