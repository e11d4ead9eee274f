//! That the benchmarks run, on the smallest scale and an unoptimised build, and measure what has a target.

use tempfile::TempDir;

use super::figure::{Figure, Measured, Statistic};
use super::{
    BENCHMARKS, Folders, Programs, Targets, call, engine, files, memory_folder, port, run, script, window,
};

const TARGETS: &str = include_str!("../targets.toml");

fn folders(disk: &TempDir) -> Folders {
    Folders {
        memory: memory_folder().unwrap_or_else(|_| disk.path().to_owned()),
        disk: disk.path().to_owned(),
    }
}

/// Why the engines beside ours are in no test.
const NO_PEERS: &str = "it is not installed";

/// Each row is there, and was measured unless processes cannot be traced here, or it is of an engine beside ours.
fn check(benchmark: &str, figures: &[Figure]) {
    Targets::of(benchmark, TARGETS)
        .unwrap()
        .check_names(figures)
        .unwrap();
    for figure in figures {
        match &figure.measured {
            Measured::Samples(samples) => {
                assert!(samples.iter().all(|sample| sample.is_finite()), "{figure:?}")
            }
            Measured::One(value) => assert!(value.is_finite(), "{figure:?}"),
            Measured::Not(why) if why == files::MISSING => {
                assert!(std::env::var_os("CI").is_none(), "{figure:?}");
                eprintln!("SKIPPED: {} was not measured: {why}", figure.name);
            }
            Measured::Not(why) => assert!(why.contains("cannot be traced") || why == NO_PEERS, "{figure:?}"),
        }
    }
}

#[test]
fn call_runs() {
    let disk = TempDir::new().unwrap();
    let effort = call::Effort {
        turns: 1,
        calls: 3,
        starts: 1,
    };
    let figures = call::measure(rtc_tests::binary(), &folders(&disk), effort).unwrap();
    check("call", &figures);
    let samples = |name: &str| figures.iter().find(|figure| figure.name == name).unwrap().count();
    for name in ["read", "edit", "read_disk", "edit_disk"] {
        assert_eq!(samples(name), Some(3), "{name}");
    }
    // How often a device is made to keep something is no matter of time.
    let counted = |name: &str| match &figures
        .iter()
        .find(|figure| figure.name == name)
        .unwrap()
        .measured
    {
        Measured::One(value) => Some(*value),
        // As checked above, processes cannot be traced here.
        Measured::Not(_) => None,
        Measured::Samples(samples) => panic!("{name}: {samples:?}"),
    };
    for (name, flushes) in [
        ("read_flushes", 2.0),
        ("read_file_flushes", 0.0),
        ("edit_flushes", 3.0),
    ] {
        assert_eq!(counted(name).unwrap_or(flushes), flushes, "{name}");
    }
    // One for each request of the turns on disk: 3 reads and an answer; a read, 3 edits and an answer.
    assert_eq!(samples("append_disk"), Some(9));
}

#[test]
fn script_runs() {
    let disk = TempDir::new().unwrap();
    let effort = script::Effort { turns: 1, rounds: 2 };
    let figures = script::measure(rtc_tests::binary(), &folders(&disk), effort).unwrap();
    check("script", &figures);
    let samples = |name: &str| figures.iter().find(|figure| figure.name == name).unwrap().count();
    assert_eq!(
        (samples("cold"), samples("warm"), samples("deadline")),
        (Some(1), Some(2), Some(1))
    );
}

#[test]
fn port_runs() {
    let disk = TempDir::new().unwrap();
    let effort = port::Effort {
        rounds: 2,
        calls: 20,
        updates: 2500,
        recoveries: 2,
        listeners: 5,
        told: 3,
    };
    let figures = port::measure(rtc_tests::binary(), &folders(&disk), effort).unwrap();
    check("port", &figures);
    let samples = |name: &str| figures.iter().find(|figure| figure.name == name).unwrap().count();
    for name in ["call", "echo", "call_16", "echo_16"] {
        assert_eq!(samples(name), Some(40), "{name}");
    }
    assert_eq!(
        (samples("fan_out"), samples("broadcast"), samples("recovery")),
        (Some(3), Some(3), Some(2))
    );
}

#[test]
fn engine_runs() {
    let disk = TempDir::new().unwrap();
    let effort = engine::Effort {
        turns: 1,
        calls: 2,
        messages: [2, 10, 110],
        sessions: [1, 3],
        starts: 1,
        large: 2,
        damaged: 2,
        rounds: 1,
        time: std::time::Duration::from_millis(20),
        workflows: 2,
        steps: 5,
        stored: 50,
    };
    let peers = Err(NO_PEERS.to_owned());
    let figures = engine::measure(rtc_tests::binary(), &folders(&disk), &peers, effort)
        .unwrap_or_else(|error| panic!("{error:#}"));
    check("engine", &figures);
    let figure = |name: &str| figures.iter().find(|figure| figure.name == name).unwrap();
    for name in ["read_empty", "read_5000_messages", "read_1000_sessions"] {
        assert_eq!(figure(name).count(), Some(2), "{name}");
    }
    assert_eq!(figure("step").count(), Some(2));
    let one = |name: &str| figure(name).get(Statistic::Value).unwrap();
    // The history is in the request: 54 results of 2 kB.
    assert!(one("request_5000_messages") > 54.0 * 2_000.0);
    // Two sessions with a hundred results, each stored twice.
    assert!(one("large") > 2.0 * 100.0 * 2.0 * 16.0 * 1024.0 / 1e6);
    assert!(one("space") > one("space_live"), "the reserve alone is more");
}

#[test]
fn files_runs() {
    let disk = TempDir::new().unwrap();
    let effort = files::Effort {
        pairs: 1,
        files: [300, 400, 500],
        entries: 50,
        large: (2, 12_000_000),
        edited: [20_000, 50_000],
    };
    let figures = files::measure(disk.path(), effort).unwrap_or_else(|error| panic!("{error:#}"));
    check("files", &figures);
    let figure = |name: &str| figures.iter().find(|figure| figure.name == name).unwrap();
    assert_eq!(
        (figure("grep_small").count(), figure("read_anywhere").count()),
        (Some(1), Some(6))
    );
    // What was made is there for the next run.
    let again = files::measure(disk.path(), effort).unwrap();
    assert_eq!(again.len(), figures.len());
}

#[test]
fn window_runs() {
    let disk = TempDir::new().unwrap();
    let programs = Programs {
        headless: rtc_tests::binary().to_owned(),
        window: Some(rtc_tests::window().to_owned()),
        bare: Some(rtc_tests::bare_window().to_owned()),
        peers: Err(NO_PEERS.to_owned()),
    };
    let effort = window::Effort {
        pairs: 1,
        turns: 1,
        calls: 3,
    };
    let figures =
        window::measure(&programs, &folders(&disk), effort).unwrap_or_else(|error| panic!("{error:#}"));
    check("window", &figures);
    let samples = |name: &str| figures.iter().find(|figure| figure.name == name).unwrap().count();
    assert_eq!(
        (samples("paint"), samples("memory"), samples("look")),
        (Some(1), Some(1), Some(2))
    );
    assert_eq!((samples("call"), samples("headless_call")), (Some(3), Some(3)));
}

#[test]
fn each_benchmark_has_targets_and_wrong_arguments_run_nothing() {
    for benchmark in BENCHMARKS {
        assert_ne!(Targets::of(benchmark.name, TARGETS).unwrap(), Targets::default());
    }
    for (arguments, told) in [
        ("", "which benchmark?"),
        ("calls", "there is no benchmark `calls`"),
        ("call --targets", "--targets needs a value"),
        ("call", "--targets is missing: run this as `cargo xtask bench`"),
    ] {
        let error = run(arguments.split_whitespace().map(str::to_owned)).unwrap_err();
        assert_eq!(error.to_string(), told);
    }
}
