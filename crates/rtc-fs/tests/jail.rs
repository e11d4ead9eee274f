//! Whatever links there are and wherever they are put meanwhile, nothing outside of the folder is read, told or changed.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test fails by it")]
#![allow(
    clippy::disallowed_methods,
    reason = "what is around the folder is made and looked at here"
)]
#![allow(
    clippy::disallowed_macros,
    reason = "one process of the test tells the other that it is ready"
)]

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;
use rtc_fs::{FindQuery, GrepQuery, PreImage, Project, VPath, WriteMode, find, grep};
use tokio_util::sync::CancellationToken;

/// What is read of a file outside, and what one there is called.
const SECRET: &str = "SECRET";
const OUTSIDER: &str = "outsider";
/// Another one, which no path names: it can only be seen.
const UNNAMED: &str = "unnamed";
/// Stand in the target of a link for the two folders, as the machine names them.
const ROOT: &str = "<root>";
const OUTSIDE: &str = "<outside>";

/// Above both there is more than a path climbs.
const ABOVE: &str = "1/2/3/4/5/6";

/// What is put somewhere in the folder.
#[derive(Debug, Clone)]
enum Thing {
    File,
    Folder,
    Link(String),
}

type Put = (Vec<&'static str>, Thing);

fn names() -> impl Strategy<Value = Vec<&'static str>> {
    proptest::collection::vec(proptest::sample::select(vec!["a", "b", "c"]), 1..4)
}

/// A path within the folder or out of it, as a link or whoever asks would name it.
fn target() -> impl Strategy<Value = String> {
    let begin = vec!["", "..", "../..", "../outside", "../root", "/", ROOT, OUTSIDE];
    let step = vec!["a", "b", "c", "..", ".", "outside", "root", OUTSIDER];
    let steps = proptest::collection::vec(proptest::sample::select(step), 0..4);
    (proptest::sample::select(begin), steps).prop_map(|(begin, steps)| {
        let steps = steps.join("/");
        match begin {
            "" if steps.is_empty() => ".".to_owned(),
            "" | "/" => format!("{begin}{steps}"),
            _ => format!("{begin}/{steps}"),
        }
    })
}

/// Where a link leads: never to what is not of the test, so that a fault does no harm.
fn link() -> impl Strategy<Value = String> {
    target().prop_map(|target| match target.strip_prefix('/') {
        Some(target) => format!("{OUTSIDE}/{target}"),
        None => target,
    })
}

fn put() -> impl Strategy<Value = Put> {
    let thing = prop_oneof![
        1 => Just(Thing::File),
        2 => Just(Thing::Folder),
        4 => link().prop_map(Thing::Link),
    ];
    (names(), thing)
}

struct Place {
    folder: tempfile::TempDir,
    project: Project,
}

impl Place {
    fn new(things: &[Put]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let outside = folder.path().join(ABOVE).join("outside");
        for within in ["", "a", "b/c"] {
            fs::create_dir_all(outside.join(within)).unwrap();
            for name in [OUTSIDER, UNNAMED] {
                fs::write(outside.join(within).join(name), SECRET).unwrap();
            }
        }
        fs::write(outside.join("c"), SECRET).unwrap();
        let root = folder.path().join(ABOVE).join("root");
        fs::create_dir(&root).unwrap();
        let project = Project::open(&root).unwrap();
        let place = Self { folder, project };
        for thing in things {
            place.put(thing);
        }
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(ABOVE).join(name)
    }

    /// Puts it there if there is a place for it, whatever was there before. It goes through no link itself.
    fn put(&self, (names, thing): &Put) {
        let (name, folders) = names.split_last().unwrap();
        let mut folder = self.path("root");
        for name in folders {
            folder.push(name);
            match fs::symlink_metadata(&folder) {
                Ok(there) if there.is_dir() => {}
                Ok(_) => return,
                Err(_) => fs::create_dir(&folder).unwrap(),
            }
        }
        let place = folder.join(name);
        match fs::symlink_metadata(&place) {
            Ok(there) if there.is_dir() => fs::remove_dir_all(&place).unwrap(),
            Ok(_) => fs::remove_file(&place).unwrap(),
            Err(_) => {}
        }
        match thing {
            Thing::File => fs::write(place, "inside").unwrap(),
            Thing::Folder => fs::create_dir(place).unwrap(),
            Thing::Link(target) => symlink(self.spelled(target), place).unwrap(),
        }
    }

    fn spelled(&self, target: &str) -> String {
        let spell = |name: &str| self.path(name).display().to_string();
        target
            .replace(ROOT, &spell("root"))
            .replace(OUTSIDE, &spell("outside"))
    }

    /// All that is outside: by path, a file's content.
    fn outside(&self) -> BTreeMap<PathBuf, Option<String>> {
        let mut all = BTreeMap::new();
        let mut folders = vec![self.folder.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let entry = entry.unwrap();
                let path = entry.path();
                if path == self.path("root") {
                    continue;
                }
                let is_folder = entry.file_type().unwrap().is_dir();
                let content = (!is_folder).then(|| fs::read_to_string(&path).unwrap());
                if is_folder {
                    folders.push(path.clone());
                }
                all.insert(path, content);
            }
        }
        all
    }

    /// Everything that looks is asked about this path. What it tells is of the folder, or it is an error.
    fn see(&self, asked: &str) -> Result<(), TestCaseError> {
        let cancel = CancellationToken::new();
        let Ok(path) = VPath::parse(&self.spelled(asked)) else {
            return Ok(());
        };
        let mut told = Vec::new();
        if let Ok(read) = self.project.read_bytes(&path, 1_000, &cancel) {
            told.push(String::from_utf8_lossy(&read.bytes).into_owned());
        }
        if let Ok(read) = self.project.read_window(&path, 1, 10, &cancel) {
            told.push(format!("{read:?}"));
        }
        // The names of things, not what a link that may lead anywhere contains.
        if let Ok(listing) = self.project.list(&path, 100, &CancellationToken::new()) {
            told.extend(listing.entries.into_iter().map(|entry| entry.name));
        }
        if let Ok(children) = self.project.children(&path, None, 100, &cancel) {
            told.extend(children.items.into_iter().map(|child| child.name));
        }
        let query = FindQuery {
            path: path.clone(),
            ..FindQuery::new("*")
        };
        if let Ok(result) = find(&self.project, &query, &|_: &VPath| true, &cancel) {
            told.extend(result.found.iter().map(|found| found.path.to_string()));
        }
        let query = GrepQuery {
            path: path.clone(),
            ..GrepQuery::new(".")
        };
        if let Ok(result) = grep(&self.project, &query, &|_: &VPath| true, &cancel) {
            told.push(format!("{:?}", result.hits));
        }
        for told in told {
            prop_assert!(!told.contains(SECRET), "{asked}: {told}");
            prop_assert!(!told.contains(UNNAMED), "{asked}: {told}");
        }
        Ok(())
    }

    /// The same, and where things are said to be is where they are.
    fn look(&self, asked: &str) -> Result<(), TestCaseError> {
        self.see(asked)?;
        let Ok(path) = VPath::parse(&self.spelled(asked)) else {
            return Ok(());
        };
        for resolved in [self.project.resolve(&path), self.project.resolve_new(&path)] {
            let Ok(resolved) = resolved else { continue };
            // Where it says that something is, there it is, beneath the folder.
            let real = fs::canonicalize(self.path("root"))
                .unwrap()
                .join(resolved.path.relative());
            if resolved.kind.is_some() {
                prop_assert_eq!(fs::canonicalize(&real).ok(), Some(real), "{}", asked);
            }
        }
        Ok(())
    }
}

/// Names the place to a process that swaps.
const PLACE: &str = "RTC_FS_SWAPPED_PLACE";

/// Another process, by whose hand a folder and a file are themselves and links out of the folder by turns.
struct Swapper(Child);

impl Swapper {
    fn start(place: &Place) -> Self {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "--ignored", "--nocapture", "a_process_that_swaps"])
            .env(PLACE, place.path(""))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut swapper = Self(child);
        // What the test harness prints comes before.
        let told = BufReader::new(swapper.0.stdout.take().unwrap()).lines();
        assert!(told.map(Result::unwrap).any(|line| line == "swapping"));
        swapper
    }
}

impl Drop for Swapper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
#[ignore = "the other process of the test below"]
fn a_process_that_swaps() {
    let Some(place) = std::env::var_os(PLACE).map(PathBuf::from) else {
        return;
    };
    let is_over = AtomicBool::new(false);
    let (root, outside) = (place.join("root"), place.join("outside"));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // Until whoever started it is gone.
            let _ = std::io::stdin().read_to_end(&mut Vec::new());
            is_over.store(true, Ordering::Relaxed);
        });
        // On a line of its own: the harness has begun one.
        println!("\nswapping");
        while !is_over.load(Ordering::Relaxed) {
            for (name, target) in [("a", outside.clone()), ("file", outside.join(OUTSIDER))] {
                let (name, kept) = (root.join(name), root.join(format!("{name}.kept")));
                // Whatever is in the way of one step is so of the next; what counts is that it is tried.
                let _ = fs::rename(&name, &kept);
                let _ = symlink(&target, &name);
                std::thread::yield_now();
                let _ = fs::remove_file(&name);
                let _ = fs::rename(&kept, &name);
            }
        }
    });
}

fn write(place: &Place, asked: &str, mode: WriteMode, meanwhile: &[Put]) {
    let cancel = CancellationToken::new();
    let Ok(path) = VPath::parse(&place.spelled(asked)) else {
        return;
    };
    let planned = place.project.plan_write(&path, "written", mode, "call", &cancel);
    for thing in meanwhile {
        place.put(thing);
    }
    if let Ok(planned) = planned {
        let mark = planned.mark().clone();
        let _ = place.project.apply(planned, &mut |_: PreImage| Ok(()), &cancel);
        let _ = place.project.recover(&mark, &cancel);
    }
}

/// Without a file of earlier failures, which is looked for beside a library.
fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(cases)
    }
}

proptest! {
    #![proptest_config(config(150))]

    #[test]
    fn no_link_leads_out_of_the_folder_also_if_it_is_swapped_meanwhile(
        things in proptest::collection::vec(put(), 0..8),
        asked in proptest::collection::vec(target(), 1..6),
        meanwhile in proptest::collection::vec(put(), 0..4),
        mode in proptest::sample::select(vec![WriteMode::Overwrite, WriteMode::Append, WriteMode::CreateNew]),
    ) {
        let place = Place::new(&things);
        let before = place.outside();
        for asked in &asked {
            place.look(asked)?;
        }
        // What is planned is made where it was planned, or not at all.
        for asked in &asked {
            write(&place, asked, mode, &meanwhile);
            prop_assert_eq!(&place.outside(), &before, "{} is written", asked);
        }
        for asked in &asked {
            place.look(asked)?;
        }
    }
}

/// What is done below a folder that is swapped.
#[derive(Debug, Clone, Copy)]
enum Work {
    Look,
    Write,
    Edit,
    MakeFolder,
    Move,
    Remove,
}

impl Work {
    fn run(self, place: &Place, asked: &str) -> Result<(), TestCaseError> {
        let cancel = CancellationToken::new();
        let Ok(path) = VPath::parse(asked) else {
            return Ok(());
        };
        let project = &place.project;
        let keep = &mut |_: PreImage| Ok(());
        match self {
            Self::Look => place.see(asked)?,
            Self::Write => write(place, asked, WriteMode::Overwrite, &[]),
            Self::Edit => {
                for found in ["inside", SECRET, "written"] {
                    if let Ok(planned) = project.plan_edit(&path, found, "edited", false, "call", &cancel) {
                        prop_assert!(found != SECRET, "{asked}");
                        let _ = project.apply(planned, keep, &cancel);
                    }
                }
            }
            Self::MakeFolder => {
                let _ = project.make_folder(&path, keep);
            }
            Self::Move | Self::Remove => {
                let Ok(gathered) = project.gather(&path, &cancel) else {
                    return Ok(());
                };
                let paths: Vec<_> = gathered.paths().map(ToString::to_string).collect();
                prop_assert!(paths.iter().all(|path| !path.contains(UNNAMED)), "{paths:?}");
                let _ = match self {
                    Self::Move => {
                        let to = VPath::parse("/b/moved").unwrap();
                        project.rename(&gathered, &to, keep, &cancel).map(|_| ())
                    }
                    _ => project.remove(&gathered, "call", keep, &cancel),
                };
            }
        }
        Ok(())
    }
}

fn work() -> impl Strategy<Value = (Work, String)> {
    use Work::{Edit, Look, MakeFolder, Move, Remove, Write};
    let work = proptest::sample::select(vec![Look, Look, Write, Edit, MakeFolder, Move, Remove]);
    let asked = prop_oneof![
        1 => Just("file".to_owned()),
        1 => Just("a".to_owned()),
        4 => proptest::sample::select(vec!["c", "c/d", OUTSIDER, "a", "b/c", "b", "new/deep"])
            .prop_map(|below| format!("a/{below}")),
    ];
    (work, asked)
}

proptest! {
    #![proptest_config(config(30))]

    #[test]
    fn nothing_leads_out_of_the_folder_while_another_process_swaps_links_in(
        things in proptest::collection::vec(put(), 0..4),
        works in proptest::collection::vec(work(), 1..12),
    ) {
        let mut things = things;
        things.retain(|(names, _)| names[0] != "a");
        things.push((vec!["a"], Thing::Folder));
        things.push((vec!["a", "c"], Thing::File));
        things.push((vec!["a", "b"], Thing::Folder));
        things.push((vec!["file"], Thing::File));
        let place = Place::new(&things);
        let before = place.outside();
        let swapper = Swapper::start(&place);
        for _ in 0..5 {
            for (work, asked) in &works {
                work.run(&place, asked)?;
                // What another one has taken away is needed again; the other process may be in the way.
                let _ = fs::create_dir(place.path("root/a"));
                let _ = fs::write(place.path("root/a.kept/c"), "inside");
            }
        }
        drop(swapper);
        prop_assert_eq!(&place.outside(), &before);
    }
}
