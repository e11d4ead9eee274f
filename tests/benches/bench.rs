//! Measures, judges, tells and keeps.

mod call;
mod desk;
mod engine;
mod figure;
mod files;
mod machine;
mod port;
mod report;
mod script;
mod targets;
#[cfg(test)]
mod tests;
mod window;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};

use self::figure::Figure;
use self::machine::Machine;
use self::report::{Build, Report};
use self::targets::Targets;

/// The code of a run whose figures are beyond their targets, if it was asked to check them; errors have 1 as well.
const MISSED: u8 = 1;

/// Where measured processes have their project and their data.
pub(crate) struct Folders {
    /// In memory: what is left there is our own time.
    pub(crate) memory: PathBuf,
    /// On a disk.
    pub(crate) disk: PathBuf,
}

/// What is measured.
pub(crate) struct Programs {
    pub(crate) headless: PathBuf,
    /// The window, and the bare one beside it: only where they are measured.
    pub(crate) window: Option<PathBuf>,
    pub(crate) bare: Option<PathBuf>,
    /// The engines beside ours.
    pub(crate) peers: engine::Peers,
}

/// A benchmark: its name, what it does in a line, and its rows.
struct Benchmark {
    name: &'static str,
    inputs: fn() -> String,
    measure: fn(&Programs, &Folders) -> Result<Vec<Figure>>,
}

const BENCHMARKS: &[Benchmark] = &[
    Benchmark {
        name: "call",
        inputs: || call::inputs(call::Effort::WHOLE),
        measure: |programs, folders| call::measure(&programs.headless, folders, call::Effort::WHOLE),
    },
    Benchmark {
        name: "script",
        inputs: || script::inputs(script::Effort::WHOLE),
        measure: |programs, folders| script::measure(&programs.headless, folders, script::Effort::WHOLE),
    },
    Benchmark {
        name: "port",
        inputs: || port::inputs(port::Effort::WHOLE),
        measure: |programs, folders| port::measure(&programs.headless, folders, port::Effort::WHOLE),
    },
    Benchmark {
        name: "engine",
        inputs: || engine::inputs(engine::Effort::WHOLE),
        measure: |programs, folders| {
            engine::measure(
                &programs.headless,
                folders,
                &programs.peers,
                engine::Effort::WHOLE,
            )
        },
    },
    Benchmark {
        name: "files",
        inputs: || files::inputs(files::Effort::WHOLE),
        measure: |_, folders| files::measure(&folders.disk, files::Effort::WHOLE),
    },
    Benchmark {
        name: "window",
        inputs: || window::inputs(window::Effort::WHOLE),
        measure: |programs, folders| window::measure(programs, folders, window::Effort::WHOLE),
    },
];

pub(crate) fn main() -> ExitCode {
    match run(std::env::args().skip(1)) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// `NAME --binary PATH [--window PATH --bare PATH] [--peers FOLDER] --results FOLDER --targets FILE --commit TEXT --profile TEXT --rustc TEXT [--check]`, as
/// `cargo xtask bench` calls it.
fn run(arguments: impl Iterator<Item = String>) -> Result<ExitCode> {
    let mut options = BTreeMap::new();
    let (mut name, mut check) = (None, false);
    let mut arguments = arguments;
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--check" => check = true,
            option if option.starts_with("--") => {
                let value = arguments
                    .next()
                    .with_context(|| format!("{option} needs a value"))?;
                options.insert(argument, value);
            }
            _ => name = Some(argument),
        }
    }
    let mut option = |name: &str| {
        let value = options.remove(name);
        value.with_context(|| format!("{name} is missing: run this as `cargo xtask bench`"))
    };
    let name = name.context("which benchmark?")?;
    let benchmark = BENCHMARKS.iter().find(|benchmark| benchmark.name == name);
    let benchmark = benchmark.with_context(|| format!("there is no benchmark `{name}`"))?;
    let targets = std::fs::read_to_string(option("--targets")?).context("the targets cannot be read")?;
    let targets = Targets::of(benchmark.name, &targets)?;
    let (headless, results) = (PathBuf::from(option("--binary")?), option("--results")?);
    let build = Build {
        commit: option("--commit")?,
        profile: option("--profile")?,
        rustc: option("--rustc")?,
    };
    let programs = Programs {
        headless,
        window: options.remove("--window").map(PathBuf::from),
        bare: options.remove("--bare").map(PathBuf::from),
        peers: match options.remove("--peers") {
            Some(folder) => Ok(PathBuf::from(folder)),
            None => Err("it is not installed".to_owned()),
        },
    };
    if let Some(unknown) = options.keys().next() {
        bail!("there is no option {unknown}");
    }
    std::fs::create_dir_all(&results)?;
    let folders = Folders {
        memory: memory_folder()?,
        disk: results.clone().into(),
    };
    let now = jiff::Timestamp::now();
    let mut report = Report {
        benchmark: benchmark.name,
        date: now.strftime("%FT%TZ").to_string(),
        machine: Machine::here(),
        build,
        memory_folder: machine::file_system(&folders.memory),
        disk_folder: machine::file_system(&folders.disk),
        inputs: (benchmark.inputs)(),
        figures: Vec::new(),
        targets,
    };
    report.figures = (benchmark.measure)(&programs, &folders)?;
    report.targets.check_names(&report.figures)?;
    println!("{}", report.table());
    let file = format!("{}-{}.json", benchmark.name, now.strftime("%Y%m%dT%H%M%SZ"));
    let file = Path::new(&results).join(file);
    std::fs::write(&file, format!("{:#}\n", report.to_json())).context("the results cannot be kept")?;
    println!("kept in {}", file.display());
    Ok(match check && !report.is_met() {
        true => ExitCode::from(MISSED),
        false => ExitCode::SUCCESS,
    })
}

/// A folder whose files are in memory only.
fn memory_folder() -> Result<PathBuf> {
    let folders = [PathBuf::from("/dev/shm"), std::env::temp_dir()];
    let is_memory = |folder: &PathBuf| machine::file_system(folder).as_deref() == Some("tmpfs");
    let found = folders.into_iter().find(is_memory);
    found.context("neither /dev/shm nor the temporary folder is in memory (tmpfs)")
}
