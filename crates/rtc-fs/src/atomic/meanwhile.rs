//! Other programs that save, and processes that end, at every step of a change.

use std::cell::{Cell, RefCell};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::tests::Folder;
use super::*;

/// How another program saves a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Save {
    /// It writes another file and renames it.
    Renames,
    /// It empties the file and writes it.
    Writes,
    /// It writes into the file, which keeps its size and its times.
    WritesUnseen,
    /// It removes the file and makes a new one.
    Removes,
}

const SAVES: [Save; 4] = [Save::Renames, Save::Writes, Save::WritesUnseen, Save::Removes];

impl Save {
    fn run(self, path: &Path, content: &str) {
        match self {
            Self::Renames => {
                let other = path.with_extension("other");
                fs::write(&other, content).unwrap();
                fs::rename(&other, path).unwrap();
            }
            Self::Writes => fs::write(path, content).unwrap(),
            Self::WritesUnseen => {
                let mut file = fs::File::options().write(true).open(path).unwrap();
                let before = file.metadata().unwrap();
                file.write_all(content.as_bytes()).unwrap();
                file.set_len(content.len() as u64).unwrap();
                file.set_modified(before.modified().unwrap()).unwrap();
            }
            Self::Removes => {
                fs::remove_file(path).unwrap();
                fs::write(path, content).unwrap();
            }
        }
    }
}

/// What happens at steps of a change, by their number from 0.
#[derive(Debug, Clone, Default)]
struct Meanwhile {
    saves: Vec<(usize, Save)>,
    /// The process ends.
    end: Option<usize>,
}

/// All contents have one length.
fn content_of(save: usize) -> String {
    format!("save {save}")
}

const OLD: &str = "before";
const NEW: &str = "after.";

/// How a change has ended.
#[derive(Debug)]
struct Ended {
    steps: Vec<&'static str>,
    /// `None` if the process ended.
    result: Option<Result<Applied, Error>>,
    /// Saves that were made.
    saves: usize,
}

fn change(folder: &Folder, meanwhile: &Meanwhile) -> (Ended, Mark) {
    let planned = folder.edit("/a.txt", OLD, NEW);
    let mark = planned.mark().clone();
    let steps = Rc::new(RefCell::new(Vec::new()));
    let saves = Rc::new(Cell::new(0));
    let path: PathBuf = folder.path("a.txt");
    let on_each = {
        let (steps, saves, meanwhile) = (Rc::clone(&steps), Rc::clone(&saves), meanwhile.clone());
        move |step| {
            let now = steps.borrow().len();
            steps.borrow_mut().push(step);
            for (_, save) in meanwhile.saves.iter().filter(|(at, _)| *at == now) {
                save.run(&path, &content_of(saves.get()));
                saves.set(saves.get() + 1);
            }
            assert!(meanwhile.end != Some(now), "the process ends");
        }
    };
    let result = catch_unwind(AssertUnwindSafe(|| {
        step::on_each(on_each, || folder.apply(planned))
    }))
    .ok();
    let ended = Ended {
        steps: steps.take(),
        result,
        saves: saves.get(),
    };
    (ended, mark)
}

/// Whatever happens, the last that was saved is there, whole, and nothing is left over.
fn check(links: bool, meanwhile: &Meanwhile) -> Ended {
    let folder = Folder::with(OLD);
    if links {
        fs::hard_link(folder.path("a.txt"), folder.path("b.txt")).unwrap();
    }
    let (ended, mark) = change(&folder, meanwhile);
    let recovery = ended.result.is_none().then(|| folder.recover(&mark));
    let found = folder.content("a.txt");
    let told = format!("{meanwhile:?}: {ended:?}, {recovery:?}");
    if let Some(last) = ended.saves.checked_sub(1) {
        // A process that ends when it has just exchanged two saves leaves no trace of which was the later one.
        let is_unsure = ended.result.is_none() && ended.steps.contains(&"put back, to be looked at");
        let is_one_before = is_unsure && last > 0 && found == content_of(last - 1);
        assert!(found == content_of(last) || is_one_before, "{found}: {told}");
        let known = matches!(
            &ended.result,
            None | Some(Ok(_) | Err(Error::ChangedSince { .. }))
        );
        assert!(known, "{told}");
    } else {
        match (&ended.result, recovery) {
            (Some(Ok(_)), None) | (None, Some(Recovery::Applied)) => assert_eq!(found, NEW, "{told}"),
            (None, Some(Recovery::NotApplied)) => assert_eq!(found, OLD, "{told}"),
            _ => panic!("{told}"),
        }
    }
    assert_eq!(
        folder.names(),
        if links { "a.txt b.txt" } else { "a.txt" },
        "{told}"
    );
    if links && ended.saves == 0 {
        assert_eq!(folder.content("b.txt"), found, "{told}");
    }
    ended
}

/// Checks what happens when `meanwhile` does and whatever else may happen at a step from `from` on: the end of the process,
/// or one of `saves` more saves.
fn explore(
    links: bool,
    may_save: &dyn Fn(&str, Save) -> bool,
    meanwhile: &Meanwhile,
    from: usize,
    saves: usize,
) -> usize {
    let steps = check(links, meanwhile).steps;
    let mut runs = 1;
    for (at, step) in steps.iter().enumerate().skip(from) {
        let mut ends = meanwhile.clone();
        ends.end = Some(at);
        check(links, &ends);
        runs += 1;
        if saves == 0 {
            continue;
        }
        for save in SAVES.into_iter().filter(|save| may_save(step, *save)) {
            let mut more = meanwhile.clone();
            more.saves.push((at, save));
            runs += explore(links, may_save, &more, at, saves - 1);
        }
    }
    runs
}

#[test]
fn whenever_others_save_and_processes_end_the_last_save_is_there() {
    let runs = explore(false, &|_, _| true, &Meanwhile::default(), 0, 2);
    assert!(runs > 800, "{runs}");
}

#[test]
fn a_file_that_is_written_in_place_is_whole_wherever_the_process_ends() {
    let writes = |step: &str, save| match save {
        Save::Renames | Save::Removes => true,
        // Once it is written, who saves into the same file is not seen.
        Save::Writes | Save::WritesUnseen => matches!(step, "begin" | "verified" | "filled" | "journal"),
    };
    let runs = explore(true, &writes, &Meanwhile::default(), 0, 1);
    assert!(runs > 60, "{runs}");
}

#[test]
fn what_is_written_through_a_handle_that_was_open_before_gets_the_name_back() {
    for writes_at in ["verified", "filled", "exchanged", "synced"] {
        let folder = Folder::with(OLD);
        let mut handle = fs::File::options()
            .write(true)
            .open(folder.path("a.txt"))
            .unwrap();
        let written = Rc::new(Cell::new(false));
        let on_each = {
            let written = Rc::clone(&written);
            move |step| {
                if step == writes_at && !written.replace(true) {
                    handle.write_all(b"theirs").unwrap();
                }
            }
        };
        let planned = folder.edit("/a.txt", OLD, NEW);
        let result = step::on_each(on_each, || folder.apply(planned));
        assert!(written.get(), "{writes_at}");
        assert!(
            matches!(result, Err(Error::ChangedSince { .. })),
            "{writes_at}: {result:?}"
        );
        assert_eq!(folder.content("a.txt"), "theirs", "{writes_at}");
        assert_eq!(folder.names(), "a.txt", "{writes_at}");
    }
}
