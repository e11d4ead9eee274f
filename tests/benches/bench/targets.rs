//! The targets that figures are held against.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;

use super::figure::{Figure, Statistic};

/// The most that each statistic of a figure may be, by the figure's name, of one benchmark.
#[derive(Debug, Default, Clone, PartialEq, Deserialize)]
#[serde(transparent)]
pub(crate) struct Targets(BTreeMap<String, BTreeMap<Statistic, f64>>);

/// Whether a figure is what it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It has no target.
    Free,
    Met,
    /// It is beyond, or could not be measured.
    Missed,
}

impl Targets {
    /// Those of a benchmark, from the text of the targets' file.
    pub(crate) fn of(benchmark: &str, text: &str) -> Result<Self> {
        let mut all: BTreeMap<String, Self> = toml::from_str(text).context("the targets cannot be read")?;
        all.remove(benchmark)
            .with_context(|| format!("there are no targets of the benchmark `{benchmark}`"))
    }

    /// Fails if a target is of nothing that is measured: it would be met for ever.
    pub(crate) fn check_names(&self, figures: &[Figure]) -> Result<()> {
        for name in self.0.keys() {
            if !figures.iter().any(|figure| figure.name == name) {
                bail!("there is a target of `{name}`, which is not measured");
            }
        }
        Ok(())
    }

    /// The limits of a figure.
    pub(crate) fn limits(&self, figure: &Figure) -> impl Iterator<Item = (Statistic, f64)> {
        let limits = self.0.get(figure.name).into_iter().flatten();
        limits.map(|(statistic, limit)| (*statistic, *limit))
    }

    /// Judges a figure by all its limits.
    pub(crate) fn judge(&self, figure: &Figure) -> Verdict {
        let within = |(statistic, limit)| figure.get(statistic).is_some_and(|value| value <= limit);
        match self.limits(figure).next() {
            None => Verdict::Free,
            Some(_) if self.limits(figure).all(within) => Verdict::Met,
            Some(_) => Verdict::Missed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::figure::{Measured, Unit};

    const TEXT: &str = "[call]\nread = { median = 2.0, max = 9 }\nflushes = { value = 2 }\n[script]\n";

    fn figure(name: &'static str, measured: Measured) -> Figure {
        Figure {
            name,
            what: "",
            unit: Unit::Count,
            measured,
        }
    }

    #[test]
    fn a_figure_is_judged_by_each_of_its_limits() {
        let targets = Targets::of("call", TEXT).unwrap();
        let samples = |samples: &[f64]| Measured::Samples(samples.to_vec());
        let table = [
            ("read", samples(&[1.0, 2.0, 9.0]), Verdict::Met),
            ("read", samples(&[1.0, 2.1, 9.0]), Verdict::Missed),
            ("read", samples(&[1.0, 2.0, 9.1]), Verdict::Missed),
            ("read", Measured::Not("no tracing".into()), Verdict::Missed),
            // Its target is of something else.
            ("read", Measured::One(1.0), Verdict::Missed),
            ("flushes", Measured::One(2.0), Verdict::Met),
            ("flushes", Measured::One(2.1), Verdict::Missed),
            ("flushes", Measured::One(f64::NAN), Verdict::Missed),
            ("other", Measured::One(1e9), Verdict::Free),
        ];
        for (name, measured, verdict) in table {
            let figure = figure(name, measured);
            assert_eq!(targets.judge(&figure), verdict, "{figure:?}");
        }
    }

    #[test]
    fn what_is_written_wrongly_is_no_target() {
        assert_eq!(Targets::of("script", TEXT).unwrap(), Targets::default());
        for text in [
            "[calls]\n",
            "[call]\nread = { mean = 1 }",
            "[call]\nread = 1",
            "[call",
        ] {
            assert!(Targets::of("call", text).is_err(), "{text}");
        }
        let targets = Targets::of("call", TEXT).unwrap();
        let error = targets
            .check_names(&[figure("read", Measured::One(1.0))])
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "there is a target of `flushes`, which is not measured"
        );
    }
}
