//! On what a benchmark ran.

use std::path::Path;

use serde::Serialize;

/// Facts of the machine; `None` is what it does not tell.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Machine {
    pub(crate) cpu: Option<String>,
    pub(crate) cores: Option<usize>,
    pub(crate) memory_bytes: Option<u64>,
    pub(crate) kernel: Option<String>,
    /// How many wanted to run in the minute before, this benchmark not yet among them.
    pub(crate) load: Option<f64>,
}

impl Machine {
    /// This one, now.
    pub(crate) fn here() -> Self {
        let read = |path: &str| std::fs::read_to_string(path).ok();
        Self {
            cpu: read("/proc/cpuinfo").and_then(|text| field(&text, "model name").map(str::to_owned)),
            cores: std::thread::available_parallelism().ok().map(usize::from),
            memory_bytes: read("/proc/meminfo").and_then(|text| kilobytes(&text, "MemTotal")),
            kernel: read("/proc/sys/kernel/osrelease").map(|text| text.trim().to_owned()),
            load: read("/proc/loadavg").and_then(|text| text.split(' ').next()?.parse().ok()),
        }
    }

    /// In one line.
    pub(crate) fn line(&self) -> String {
        let unknown = || "unknown".to_owned();
        let memory = self
            .memory_bytes
            .map_or_else(unknown, |bytes| format!("{:.0} GB", bytes as f64 / 1e9));
        format!(
            "{}, {} cores, {memory}, Linux {}, load {} before",
            self.cpu.as_deref().unwrap_or("unknown processor"),
            self.cores.map_or_else(unknown, |cores| cores.to_string()),
            self.kernel.as_deref().unwrap_or("unknown"),
            self.load.map_or_else(unknown, |load| format!("{load:.1}")),
        )
    }
}

/// The kind of file system that a folder is on; `None` if the system does not tell.
pub(crate) fn file_system(folder: &Path) -> Option<String> {
    let folder = folder.canonicalize().ok()?;
    let mounts = std::fs::read_to_string("/proc/self/mounts").ok()?;
    file_system_in(&mounts, &folder)
}

/// The mount that reaches the furthest down to the folder; of several on one place the last.
fn file_system_in(mounts: &str, folder: &Path) -> Option<String> {
    let mount = |line: &str| {
        let mut words = line.split(' ').skip(1);
        let (place, kind) = (words.next()?.to_owned(), words.next()?.to_owned());
        folder.starts_with(&place).then_some((place.len(), kind))
    };
    let mounts = mounts.lines().filter_map(mount);
    mounts.max_by_key(|(depth, _)| *depth).map(|(_, kind)| kind)
}

/// `NAME : VALUE` in one of the system's tables.
fn field<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let mut lines = text.lines().filter_map(|line| line.split_once(':'));
    lines
        .find(|(key, _)| key.trim() == name)
        .map(|(_, value)| value.trim())
}

/// A field in kB, as bytes.
pub(crate) fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let value = field(text, name)?.strip_suffix(" kB")?;
    value.trim().parse::<u64>().ok().map(|value| value * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_of_the_system_are_read() {
        let memory = "MemTotal:       16384000 kB\nMemFree:  5 kB\nPss:   12 kB\nPss_Dirty: 3 kB\n";
        assert_eq!(kilobytes(memory, "MemTotal"), Some(16_777_216_000));
        assert_eq!(kilobytes(memory, "Pss"), Some(12 * 1024));
        assert_eq!(kilobytes(memory, "Rss"), None);
        assert_eq!(
            field("processor\t: 0\nmodel name\t: A B @ 3 GHz\n", "model name"),
            Some("A B @ 3 GHz")
        );
    }

    #[test]
    fn a_folder_is_on_the_deepest_mount_and_the_last_one_there() {
        let mounts = "/dev/a / ext4 rw 0 0\ntmpfs /dev/shm tmpfs rw 0 0\n/dev/b /data xfs rw 0 0\n/dev/c /data btrfs rw 0 0\n";
        for (folder, kind) in [
            ("/", "ext4"),
            ("/dev/shm/x", "tmpfs"),
            ("/dev/shmx", "ext4"),
            ("/data/y", "btrfs"),
        ] {
            assert_eq!(
                file_system_in(mounts, Path::new(folder)).as_deref(),
                Some(kind),
                "{folder}"
            );
        }
    }
}
