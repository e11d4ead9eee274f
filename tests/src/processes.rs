//! The processes that a run has started.

use std::path::Path;
use std::time::{Duration, Instant};

/// How long the end of a parent may take to end its children, which the system does by itself.
const BOUND: Duration = Duration::from_secs(20);

/// Waits until nothing runs that the process with this number has started.
///
/// # Panics
/// If something is still there after a generous time.
pub fn assert_none_left_by(parent: u32) {
    let start = Instant::now();
    loop {
        let left = left_by(parent);
        if left.is_empty() {
            return;
        }
        assert!(
            start.elapsed() < BOUND,
            "started by a process that is gone: {left:?}"
        );
        std::thread::yield_now();
    }
}

/// The numbers of the processes that name this one as their parent; what is dead and not yet buried has no name left.
fn left_by(parent: u32) -> Vec<String> {
    let expected = format!("RTC_PARENT_PROCESS={parent}");
    let names = |environment: Vec<u8>| {
        environment
            .split(|byte| *byte == 0)
            .any(|variable| variable == expected.as_bytes())
    };
    let processes = std::fs::read_dir("/proc").expect("the system lists its processes");
    processes
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
        // A process may end while it is looked at.
        .filter(|id| std::fs::read(Path::new("/proc").join(id).join("environ")).is_ok_and(names))
        .collect()
}

/// The processes that this one has started: number and command line.
pub fn workers_of(parent: u32) -> Vec<(i32, String)> {
    let found = left_by(parent).into_iter().filter_map(|id| {
        let line = std::fs::read(Path::new("/proc").join(&id).join("cmdline")).ok()?;
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        Some((id.parse().ok()?, line))
    });
    found.collect()
}
