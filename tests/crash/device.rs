//! A disk that is as mean as POSIX allows: what nobody has waited for may be lost, whole or in part, in any order.
//!
//! It takes the calls of a process as they happen, and can be asked at any of them what a power cut in that moment may
//! leave. The content of a file is on it when a flush of the file has ended, a name when one of its folder has; the
//! beginnings of writes that are handed over early (`sync_file_range`) are no flush.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use rtc_tests::{Change, Moment, SystemCall};

use crate::named::Choice;

/// What a device writes whole or not at all, in bytes.
const SECTOR: usize = 512;

/// What the system puts behind the name of an open file that has none any more.
const NAMELESS: &str = " (deleted)";

/// Which of the changes that nobody has waited for have reached the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reached {
    /// None.
    Nothing,
    /// All but some sectors of the last write to each file.
    Torn,
    /// Some, whatever their order; of some writes a part.
    Some,
    /// All of the folder with this name and what is below, none of the others.
    AllOf(&'static str),
}

/// A folder with all that is below, from its calls.
#[derive(Clone)]
pub(crate) struct Device {
    root: PathBuf,
    /// The first one is the folder itself.
    nodes: Vec<Node>,
    /// By thread: what its call is about, and how many changes of that there had been when it began.
    begun: HashMap<i32, (usize, usize)>,
    /// A flush that the device forgets.
    forgets: fn(&SystemCall) -> bool,
}

/// A file or a folder.
#[derive(Clone)]
struct Node {
    /// As the process finds it.
    now: Content,
    /// As it is on the device at least.
    synced: Content,
    /// The changes in between, in order.
    pending: Vec<Step>,
    /// How many changes there were before those.
    before: usize,
}

#[derive(Clone)]
enum Content {
    File(Bytes),
    Folder(Names),
}

/// What is behind the last written byte is zero.
#[derive(Clone, Default)]
struct Bytes {
    written: Vec<u8>,
    length: u64,
}

/// By name, which node it is.
type Names = BTreeMap<OsString, usize>;

/// A change of a file or a folder that happens as a whole, or for a write by sectors.
#[derive(Clone)]
enum Step {
    Write(u64, Vec<u8>),
    Length(u64),
    AtLeast(u64),
    /// What names mean from now on.
    Names(Vec<(OsString, Option<usize>)>),
}

/// What a power cut leaves of a folder.
pub(crate) struct Image(BTreeMap<PathBuf, Option<Bytes>>);

impl Device {
    /// The folder as it is, of which nothing but files and folders is known; all of it is on the device. Flushes for
    /// which `forgets` holds are not done, whatever the process is told.
    pub(crate) fn new(root: &Path, forgets: fn(&SystemCall) -> bool) -> Self {
        let mut device = Self {
            root: root.to_owned(),
            nodes: Vec::new(),
            begun: HashMap::new(),
            forgets,
        };
        device.find_all(root);
        device
    }

    fn find_all(&mut self, path: &Path) -> usize {
        let kind = fs::symlink_metadata(path)
            .expect("it can be looked at")
            .file_type();
        if kind.is_file() {
            let written = fs::read(path).expect("a file can be read");
            let length = written.len() as u64;
            return self.add(Content::File(Bytes { written, length }));
        }
        assert!(kind.is_dir(), "{}: neither a file nor a folder", path.display());
        let node = self.add(Content::Folder(Names::new()));
        let mut names = Names::new();
        for entry in fs::read_dir(path).expect("a folder can be read") {
            let entry = entry.expect("a folder can be read");
            names.insert(entry.file_name(), self.find_all(&entry.path()));
        }
        self.nodes[node].now = Content::Folder(names.clone());
        self.nodes[node].synced = Content::Folder(names);
        node
    }

    fn add(&mut self, content: Content) -> usize {
        self.nodes.push(Node {
            now: content.clone(),
            synced: content,
            pending: Vec::new(),
            before: 0,
        });
        self.nodes.len() - 1
    }

    /// Takes the next call of the process.
    pub(crate) fn take(&mut self, call: &SystemCall) {
        let is_below = |path: &Path| path.starts_with(&self.root);
        let is_from_below = match &call.change {
            Change::Rename { from, .. } | Change::Link { from } => is_below(from),
            _ => false,
        };
        if !is_below(&call.path) && !is_from_below {
            return;
        }
        match call.moment {
            Moment::Before => self.begin(call),
            Moment::After if call.result < 0 => {
                assert_ne!(
                    call.change,
                    Change::Sync,
                    "a flush that failed: {}",
                    call.path.display()
                );
                self.begun.remove(&call.thread);
            }
            Moment::After => self.finish(call),
        }
    }

    /// The process has been killed, and another one will go on: what the last calls have done of which nobody has seen
    /// the end is looked up. Gives whether that is only known of the database, which is all that is changed beside the
    /// call at which it was killed.
    pub(crate) fn goes_on(&mut self) -> bool {
        self.begun.clear();
        let root = self.root.clone();
        self.compare(0, &root)
    }

    fn compare(&mut self, node: usize, path: &Path) -> bool {
        match self.nodes[node].now.clone() {
            Content::File(known) => {
                let length = fs::metadata(path).map_or(0, |found| found.len());
                let mut written = vec![0; known.written.len()];
                let file = fs::File::open(path).expect("a file can be read");
                let is_read = file.read_exact_at(&mut written, 0).is_ok();
                if is_read && written == known.written && length == known.length {
                    return true;
                }
                let found = fs::read(path).expect("a file can be read");
                self.change(node, Step::Length(found.len() as u64));
                self.change(node, Step::Write(0, found));
                path.ends_with("store/db/db")
            }
            Content::Folder(names) => {
                let entries = fs::read_dir(path).expect("a folder can be read");
                let found = entries.map(|entry| entry.expect("a folder can be read").file_name());
                let found: Vec<OsString> = found.collect();
                found.len() == names.len()
                    && found.iter().all(|name| {
                        let node = names.get(name);
                        node.is_some_and(|node| self.compare(*node, &path.join(name)))
                    })
            }
        }
    }

    fn change(&mut self, node: usize, step: Step) {
        let node = &mut self.nodes[node];
        node.now.take(&step, &mut |_| true);
        node.pending.push(step);
    }

    /// What is open is found by its name before the call: during it, somebody may rename it.
    fn begin(&mut self, call: &SystemCall) {
        let is_of_open = matches!(
            call.change,
            Change::Write(_) | Change::Length(_) | Change::AtLeast(_) | Change::Sync
        );
        let is_nameless = call.path.to_string_lossy().ends_with(NAMELESS);
        if is_of_open && !is_nameless {
            let node = self.node(&call.path);
            let node = node.unwrap_or_else(|| panic!("nobody has made {}", call.path.display()));
            let changes = self.nodes[node].before + self.nodes[node].pending.len();
            self.begun.insert(call.thread, (node, changes));
        }
    }

    fn finish(&mut self, call: &SystemCall) {
        let begun = self.begun.remove(&call.thread);
        let of_open = |step| begun.map(|(node, _)| (node, step)).into_iter().collect();
        let steps: Vec<(usize, Step)> = match &call.change {
            Change::Nothing => Vec::new(),
            Change::Unknown => panic!("{} of {} is not followed", call.name, call.path.display()),
            Change::Sync => {
                if let Some((node, changes)) = begun
                    && !(self.forgets)(call)
                {
                    self.nodes[node].sync(changes);
                }
                Vec::new()
            }
            Change::Write(place) => {
                let end = begun.map_or(0, |(node, _)| self.nodes[node].length());
                let length = usize::try_from(call.result).expect("a length");
                of_open(Step::Write(place.unwrap_or(end), call.content[..length].to_vec()))
            }
            Change::Length(length) => of_open(Step::Length(*length)),
            Change::AtLeast(length) => of_open(Step::AtLeast(*length)),
            Change::File { empties } => match self.node(&call.path) {
                Some(node) if *empties => vec![(node, Step::Length(0))],
                Some(_) => Vec::new(),
                None => {
                    let node = self.add(Content::File(Bytes::default()));
                    vec![self.naming(&call.path, Some(node))]
                }
            },
            Change::Folder => {
                let node = self.add(Content::Folder(Names::new()));
                vec![self.naming(&call.path, Some(node))]
            }
            Change::Remove => vec![self.naming(&call.path, None)],
            Change::Link { from } => vec![self.naming(&call.path, self.node(from))],
            Change::Rename { from, exchanges } => {
                let moved = self.node(from);
                assert!(moved.is_some(), "nobody has made {}", from.display());
                let other = if *exchanges { self.node(&call.path) } else { None };
                let (old_folder, old) = self.naming(from, other);
                let (new_folder, new) = self.naming(&call.path, moved);
                match (old, new) {
                    // In one folder it happens at once.
                    (Step::Names(mut old), Step::Names(new)) if old_folder == new_folder => {
                        old.extend(new);
                        vec![(old_folder, Step::Names(old))]
                    }
                    (old, new) => vec![(old_folder, old), (new_folder, new)],
                }
            }
        };
        for (node, step) in steps {
            self.change(node, step);
        }
    }

    /// The step by which a path means something else: its folder, and what changes there.
    fn naming(&self, path: &Path, node: Option<usize>) -> (usize, Step) {
        let folder = path.parent().and_then(|folder| self.node(folder));
        let folder = folder.unwrap_or_else(|| panic!("nobody has made the folder of {}", path.display()));
        let name = path.file_name().expect("it has a name").to_owned();
        (folder, Step::Names(vec![(name, node)]))
    }

    /// What a path means to the process.
    fn node(&self, path: &Path) -> Option<usize> {
        let mut node = 0;
        for name in path.strip_prefix(&self.root).ok()? {
            let Content::Folder(names) = &self.nodes[node].now else {
                return None;
            };
            node = *names.get(name)?;
        }
        Some(node)
    }

    /// What a power cut leaves now.
    pub(crate) fn image(&self, reached: Reached, choice: &mut Choice) -> Image {
        let mut image = Image(BTreeMap::new());
        let mut contents = vec![None; self.nodes.len()];
        self.copy(0, Path::new(""), reached, choice, &mut contents, &mut image);
        image
    }

    fn copy(
        &self,
        node: usize,
        path: &Path,
        reached: Reached,
        choice: &mut Choice,
        contents: &mut [Option<Content>],
        image: &mut Image,
    ) {
        // A file with two names has one content.
        let content = contents[node].get_or_insert_with(|| self.nodes[node].content(path, reached, choice));
        match content.clone() {
            Content::File(bytes) => {
                image.0.insert(path.to_owned(), Some(bytes));
            }
            Content::Folder(names) => {
                image.0.insert(path.to_owned(), None);
                for (name, node) in names {
                    self.copy(node, &path.join(name), reached, choice, contents, image);
                }
            }
        }
    }
}

impl Node {
    fn length(&self) -> u64 {
        match &self.now {
            Content::File(bytes) => bytes.length,
            Content::Folder(_) => 0,
        }
    }

    /// The first `changes` of all changes are on the device.
    fn sync(&mut self, changes: usize) {
        let steps = changes.saturating_sub(self.before);
        for step in self.pending.drain(..steps) {
            self.synced.take(&step, &mut |_| true);
        }
        self.before += steps;
    }

    /// As it is found at `path` after a power cut.
    fn content(&self, path: &Path, reached: Reached, choice: &mut Choice) -> Content {
        let mut content = self.synced.clone();
        let writes = |step: &Step| matches!(step, Step::Write(..));
        let last = self.pending.iter().rposition(writes);
        for (index, step) in self.pending.iter().enumerate() {
            let is_whole = match reached {
                Reached::Nothing => false,
                Reached::Torn => Some(index) != last,
                Reached::Some => choice.below(3) == 0,
                Reached::AllOf(folder) => path.starts_with(folder),
            };
            let is_torn = match reached {
                Reached::Torn => !is_whole,
                Reached::Some => !is_whole && writes(step) && choice.below(2) == 0,
                Reached::Nothing | Reached::AllOf(_) => false,
            };
            if is_whole {
                content.take(step, &mut |_| true);
            } else if is_torn {
                content.take(step, &mut |_| choice.below(2) == 0);
            }
        }
        content
    }
}

impl Content {
    /// Makes a change; of a write those sectors, counted from its first one, for which `reaches` holds.
    fn take(&mut self, step: &Step, reaches: &mut dyn FnMut(usize) -> bool) {
        match (self, step) {
            (Self::File(file), Step::Write(place, bytes)) => file.write(*place, bytes, reaches),
            (Self::File(file), Step::Length(length)) => {
                file.length = *length;
                file.written.truncate(usize::try_from(*length).expect("a length"));
            }
            (Self::File(file), Step::AtLeast(length)) => file.length = file.length.max(*length),
            (Self::Folder(names), Step::Names(changed)) => {
                for (name, node) in changed {
                    match node {
                        Some(node) => names.insert(name.clone(), *node),
                        None => names.remove(name),
                    };
                }
            }
            (Self::File(_), Step::Names(_)) | (Self::Folder(_), _) => {
                panic!("a change of a folder is none of a file")
            }
        }
    }
}

impl Bytes {
    fn write(&mut self, place: u64, bytes: &[u8], reaches: &mut dyn FnMut(usize) -> bool) {
        let place = usize::try_from(place).expect("a place");
        let mut from = 0;
        let mut sector = 0;
        while from < bytes.len() {
            let to = bytes.len().min(from + SECTOR - (place + from) % SECTOR);
            if reaches(sector) {
                let end = place + to;
                if self.written.len() < end {
                    self.written.resize(end, 0);
                }
                self.written[place + from..end].copy_from_slice(&bytes[from..to]);
                self.length = self.length.max(end as u64);
            }
            (from, sector) = (to, sector + 1);
        }
    }
}

impl Image {
    /// Makes the folder what the power cut has left of it.
    pub(crate) fn put(&self, root: &Path) {
        for entry in fs::read_dir(root).expect("the folder can be read") {
            let path = entry.expect("the folder can be read").path();
            match path.is_dir() {
                true => fs::remove_dir_all(path).expect("a folder is removed"),
                false => fs::remove_file(path).expect("a file is removed"),
            }
        }
        for (path, content) in &self.0 {
            let path = root.join(path);
            match content {
                None => fs::create_dir_all(path).expect("a folder is made"),
                Some(bytes) => {
                    let file = fs::File::create_new(path).expect("a file is made");
                    file.write_all_at(&bytes.written, 0).expect("a file is written");
                    file.set_len(bytes.length).expect("a file gets its length");
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
