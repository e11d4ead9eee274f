use std::fs;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::*;
use crate::WriteMode;
use crate::walk::tests::{project, vpath};

/// How long something may take to be told.
const PATIENCE: Duration = Duration::from_secs(20);

struct Bench {
    folder: tempfile::TempDir,
    project: Project,
    watch: Watch,
    told: Receiver<()>,
}

impl Bench {
    fn new(files: &[(&str, &str)]) -> Self {
        let (folder, project) = project(files);
        let (tell, told) = channel();
        let watch = Watch::new(move || {
            let _ = tell.send(());
        });
        Self {
            folder,
            project,
            watch,
            told,
        }
    }

    fn look(&self, path: &str) -> bool {
        self.watch.look(id(), &self.project, &vpath(path)).unwrap()
    }

    /// Everything that is told until `last` is.
    fn until(&self, last: &str) -> String {
        let mut all = Vec::new();
        loop {
            for changed in self.watch.take() {
                let shown = format!("{:?} {}", changed.happened, changed.path);
                if all.last() != Some(&shown) {
                    all.push(shown);
                }
            }
            if all.iter().any(|shown| shown.ends_with(last)) {
                return all.join(", ");
            }
            self.told.recv_timeout(PATIENCE).expect("it is told");
        }
    }
}

fn id() -> ProjectId {
    ProjectId::new(Uuid::nil())
}

#[test]
fn what_happens_in_a_folder_that_was_looked_at_is_told() {
    let bench = Bench::new(&[("a", "one"), ("d/b", "two"), ("d/e/c", "three")]);
    assert!(bench.look("/d"));
    let path = |name: &str| bench.folder.path().join(name);
    fs::write(path("d/new"), "").unwrap();
    assert_eq!(bench.until("/d/new"), "Created /d/new");
    fs::write(path("d/b"), "2").unwrap();
    assert_eq!(bench.until("/d/b"), "Changed /d/b");
    // What is beside it and below it was not looked at.
    fs::write(path("a"), "1").unwrap();
    fs::write(path("d/e/c"), "3").unwrap();
    fs::remove_file(path("d/new")).unwrap();
    assert_eq!(bench.until("/d/new"), "Removed /d/new");
    fs::rename(path("d/b"), path("d/c")).unwrap();
    assert_eq!(bench.until("/d/c"), "Removed /d/b, Created /d/c");
}

#[test]
fn a_change_of_our_own_is_told_as_one_of_its_file() {
    let bench = Bench::new(&[("a", "one"), ("z", "")]);
    assert!(bench.look("/"));
    let cancel = CancellationToken::new();
    let planned = bench
        .project
        .plan_write(&vpath("/a"), "two", WriteMode::Overwrite, "call", &cancel)
        .unwrap();
    bench.project.apply(planned, &mut |_| Ok(()), &cancel).unwrap();
    fs::write(bench.folder.path().join("z"), "last").unwrap();
    let told = bench.until("/z");
    assert!(
        told.contains("Created /a") || told.contains("Changed /a"),
        "{told}"
    );
    assert!(!told.contains(".rtc-") && !told.contains("Removed"), "{told}");
}

#[test]
fn a_link_leads_no_watch_out_of_the_project() {
    let outside = tempfile::tempdir().unwrap();
    let bench = Bench::new(&[("d/b", "two")]);
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(outside.path(), bench.folder.path().join("link")).unwrap();
        let looked = bench.watch.look(id(), &bench.project, &vpath("/link"));
        assert!(matches!(looked, Err(Error::Outside { .. })), "{looked:?}");
    }
    assert!(matches!(
        bench.watch.look(id(), &bench.project, &vpath("/d/b")),
        Err(Error::NotFolder { .. })
    ));
}

/// The watches that this process has.
#[cfg(target_os = "linux")]
fn watches() -> usize {
    let mut count = 0;
    for entry in fs::read_dir("/proc/self/fdinfo").unwrap().flatten() {
        let info = fs::read_to_string(entry.path()).unwrap_or_default();
        count += info.lines().filter(|line| line.starts_with("inotify ")).count();
    }
    count
}

#[test]
fn of_many_folders_the_last_ones_are_watched() {
    let bench = Bench::new(&[]);
    let many = MAX_WATCHED_FOLDERS * 3;
    for number in 0..many {
        fs::create_dir(bench.folder.path().join(format!("{number}"))).unwrap();
        assert!(bench.look(&format!("/{number}")));
        // Who looks again and again is not the one to make room.
        assert!(bench.look("/0"));
    }
    #[cfg(target_os = "linux")]
    assert!(
        watches() <= 2 * MAX_WATCHED_FOLDERS,
        "of other tests as well: {}",
        watches()
    );
    for number in [1, 0, many - 1] {
        fs::write(bench.folder.path().join(format!("{number}/new")), "").unwrap();
    }
    let told = bench.until(&format!("/{}/new", many - 1));
    assert!(told.contains("Created /0/new"), "{told}");
    assert!(!told.contains("/1/new"), "{told}");
}

#[test]
fn of_more_changes_than_can_wait_the_folder_is_told() {
    let mut state = State::default();
    let bench = Bench::new(&[]);
    bench.look("/");
    let watched = lock(&bench.watch.state).watched.pop_front().unwrap();
    let key = watched.key.clone();
    state.watched.push_back(watched);
    for number in 0..=MAX_PENDING_CHANGES {
        state.happened(&key.join(number.to_string()), Happened::Changed);
    }
    assert_eq!((state.pending.len(), state.unclear.len()), (0, 1));
    state.happened(&key.join("one more"), Happened::Changed);
    assert_eq!(state.pending.len(), 0);
    *lock(&bench.watch.state) = state;
    let told = bench.watch.take();
    assert_eq!(told.len(), 1);
    assert_eq!(
        (told[0].path.as_str(), told[0].happened),
        ("/", Happened::Changed)
    );
    assert_eq!(bench.watch.take(), []);
}
