//! What a benchmark says: a table for people, JSON for later.

use serde::Serialize;
use serde_json::{Value, json};

use super::figure::{Figure, Measured, Statistic};
use super::machine::Machine;
use super::targets::{Targets, Verdict};

/// What was measured, of what, and where.
pub(crate) struct Report {
    pub(crate) benchmark: &'static str,
    /// When it began, RFC 3339.
    pub(crate) date: String,
    pub(crate) machine: Machine,
    pub(crate) build: Build,
    /// The kinds of file system of the two folders.
    pub(crate) memory_folder: Option<String>,
    pub(crate) disk_folder: Option<String>,
    /// What was done, in one line.
    pub(crate) inputs: String,
    pub(crate) figures: Vec<Figure>,
    pub(crate) targets: Targets,
}

/// What was built.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Build {
    pub(crate) commit: String,
    pub(crate) profile: String,
    pub(crate) rustc: String,
}

impl Report {
    /// Whether every target is met.
    pub(crate) fn is_met(&self) -> bool {
        let mut verdicts = self.figures.iter().map(|figure| self.targets.judge(figure));
        verdicts.all(|verdict| verdict != Verdict::Missed)
    }

    /// The table.
    pub(crate) fn table(&self) -> String {
        let unknown = |kind: &Option<String>| kind.clone().unwrap_or_else(|| "unknown".to_owned());
        let mut rows = vec![["", "median", "p95", "p99", "max", "n", "target", ""].map(str::to_owned)];
        rows.extend(self.figures.iter().map(|figure| self.row(figure)));
        let widths: Vec<usize> = (0..rows[0].len())
            .map(|column| rows.iter().map(|row| row[column].chars().count()).max())
            .map(Option::unwrap_or_default)
            .collect();
        let mut text = format!(
            "bench {}: {}\nbuild {} of {}, {}\nin memory: {}; on disk: {}\n{}\n\n",
            self.benchmark,
            self.machine.line(),
            self.build.profile,
            self.build.commit,
            self.build.rustc,
            unknown(&self.memory_folder),
            unknown(&self.disk_folder),
            self.inputs,
        );
        for row in rows {
            let [what, cells @ .., verdict] = &row;
            let mut line = format!("{what:width$}", width = widths[0]);
            for (cell, width) in cells.iter().zip(&widths[1..]) {
                line.push_str(&format!("  {cell:>width$}"));
            }
            line.push_str(&format!("  {verdict}"));
            text.push_str(line.trim_end());
            text.push('\n');
        }
        for figure in &self.figures {
            if let Measured::Not(why) = &figure.measured {
                text.push_str(&format!("\n{} was not measured: {why}\n", figure.name));
            }
        }
        text
    }

    fn row(&self, figure: &Figure) -> [String; 8] {
        let show = |value: Option<f64>| value.map(|value| figure.unit.show(value)).unwrap_or_default();
        let [mut median, p95, p99, max] = Statistic::OF_SAMPLES.map(|statistic| show(figure.get(statistic)));
        if median.is_empty() {
            median = show(figure.get(Statistic::Value));
        }
        let limits = self
            .targets
            .limits(figure)
            .map(|(statistic, limit)| match statistic {
                Statistic::Value | Statistic::Median => format!("≤ {}", figure.unit.show(limit)),
                other => format!("{} ≤ {}", other.name(), figure.unit.show(limit)),
            });
        let verdict = match self.targets.judge(figure) {
            Verdict::Free => "",
            Verdict::Met => "ok",
            Verdict::Missed => "MISSED",
        };
        let count = figure.count().map(|count| count.to_string()).unwrap_or_default();
        let limits = limits.collect::<Vec<_>>().join(", ");
        [
            figure.what.to_owned(),
            median,
            p95,
            p99,
            max,
            count,
            limits,
            verdict.to_owned(),
        ]
    }

    /// What is kept.
    pub(crate) fn to_json(&self) -> Value {
        let figure = |figure: &Figure| {
            let mut object = figure.to_json();
            let limits = self.targets.limits(figure);
            let limits = limits.map(|(statistic, limit)| (statistic.name().to_owned(), json!(limit)));
            object.insert("target".into(), Value::Object(limits.collect()));
            let met = match self.targets.judge(figure) {
                Verdict::Free => Value::Null,
                verdict => json!(verdict == Verdict::Met),
            };
            object.insert("met".into(), met);
            Value::Object(object)
        };
        json!({
            "benchmark": self.benchmark,
            "date": self.date,
            "machine": self.machine,
            "file_systems": {"memory": self.memory_folder, "disk": self.disk_folder},
            "build": self.build,
            "inputs": self.inputs,
            "met": self.is_met(),
            "figures": self.figures.iter().map(figure).collect::<Vec<_>>(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::figure::Unit;

    fn report() -> Report {
        Report {
            benchmark: "call",
            date: "2026-01-02T03:04:05Z".into(),
            machine: Machine {
                cpu: Some("A processor".into()),
                cores: Some(2),
                memory_bytes: Some(8_000_000_000),
                kernel: Some("6.1".into()),
                load: None,
            },
            build: Build {
                commit: "0123abc".into(),
                profile: "release".into(),
                rustc: "rustc 1.95.0".into(),
            },
            memory_folder: Some("tmpfs".into()),
            disk_folder: None,
            inputs: "3 turns of 1 read".into(),
            figures: vec![
                Figure::samples("read", "a read", Unit::Milliseconds, vec![1.0, 12.0, 0.5]),
                Figure::one("flushes", "flushes of a read", Unit::Count, 2.5),
                Figure {
                    name: "memory",
                    what: "memory",
                    unit: Unit::Megabytes,
                    measured: Measured::Not("no process".into()),
                },
            ],
            targets: Targets::of(
                "call",
                "[call]\nread = { median = 2, max = 20 }\nflushes = { value = 2 }",
            )
            .unwrap(),
        }
    }

    #[test]
    fn the_table_has_target_and_verdict_beside_each_number() {
        insta::assert_snapshot!(report().table(), @"
        bench call: A processor, 2 cores, 8 GB, Linux 6.1, load unknown before
        build release of 0123abc, rustc 1.95.0
        in memory: tmpfs; on disk: unknown
        3 turns of 1 read

                            median      p95      p99      max  n                    target
        a read             1.00 ms  12.0 ms  12.0 ms  12.0 ms  3  ≤ 2.00 ms, max ≤ 20.0 ms  ok
        flushes of a read     2.50                                                     ≤ 2  MISSED
        memory

        memory was not measured: no process
        ");
    }

    #[test]
    fn the_json_has_every_sample_and_the_facts() {
        insta::assert_snapshot!(report().to_json(), @r#"{"benchmark":"call","date":"2026-01-02T03:04:05Z","machine":{"cpu":"A processor","cores":2,"memory_bytes":8000000000,"kernel":"6.1","load":null},"file_systems":{"memory":"tmpfs","disk":null},"build":{"commit":"0123abc","profile":"release","rustc":"rustc 1.95.0"},"inputs":"3 turns of 1 read","met":false,"figures":[{"name":"read","what":"a read","unit":"ms","median":1.0,"p95":12.0,"p99":12.0,"max":12.0,"samples":[1.0,12.0,0.5],"target":{"median":2.0,"max":20.0},"met":true},{"name":"flushes","what":"flushes of a read","unit":"count","value":2.5,"target":{"value":2.0},"met":false},{"name":"memory","what":"memory","unit":"MB","not_measured":"no process","target":{},"met":null}]}"#);
        let mut report = report();
        assert!(!report.is_met());
        report.figures[1].measured = Measured::One(2.0);
        assert!(report.is_met());
    }
}
