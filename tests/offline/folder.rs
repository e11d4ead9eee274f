//! A project folder on disk, made at random around some files whose text is known.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::random::{Random, Use, Words};

/// The most folders with unrelated files beside the known ones.
const MAX_OTHERS: usize = 5;

/// How a text stands in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Form {
    crlf: bool,
    mark: Mark,
}

/// What a file begins with, and its encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    None,
    Utf8,
    Utf16,
}

impl Form {
    /// How new files are written.
    pub(crate) const NEW: Form = Form {
        crlf: false,
        mark: Mark::None,
    };

    /// Most files are plain, some are not.
    pub(crate) fn random(random: &mut Random) -> Form {
        let mark = match random.below(8) {
            0 => Mark::Utf8,
            1 => Mark::Utf16,
            _ => Mark::None,
        };
        Form {
            crlf: random.once_in(3),
            mark,
        }
    }

    /// The bytes of a text.
    pub(crate) fn bytes(self, text: &str) -> Vec<u8> {
        let text = if self.crlf {
            text.replace('\n', "\r\n")
        } else {
            text.to_owned()
        };
        match self.mark {
            Mark::None => text.into_bytes(),
            Mark::Utf8 => [b"\xef\xbb\xbf", text.as_bytes()].concat(),
            Mark::Utf16 => [0xfeff]
                .into_iter()
                .chain(text.encode_utf16())
                .flat_map(u16::to_le_bytes)
                .collect(),
        }
    }
}

/// A project folder: what is in it before a request.
#[derive(Debug, Clone)]
pub(crate) struct Folder {
    /// The files whose text is known, by virtual path.
    pub(crate) texts: BTreeMap<String, String>,
    /// How each of them stands on disk.
    forms: BTreeMap<String, Form>,
    /// The paths that a walk sees: neither hidden nor ignored ones.
    visible: BTreeSet<String>,
    /// All other files, as bytes.
    others: BTreeMap<String, Vec<u8>>,
}

impl Folder {
    /// Puts files with these texts into a random folder: with others that have nothing to do with them, and with ignored
    /// and hidden files that have the same texts.
    pub(crate) fn around(texts: BTreeMap<String, String>, words: &mut Words, random: &mut Random) -> Folder {
        let form = |(path, text): (&String, &String)| {
            let form = Form::random(random);
            // A text without a line end does not show which one it would have.
            let crlf = form.crlf && text.contains('\n');
            (path.clone(), Form { crlf, ..form })
        };
        let forms = texts.iter().map(form).collect();
        let mut folder = Folder {
            forms,
            visible: texts.keys().cloned().collect(),
            texts,
            others: BTreeMap::new(),
        };
        for _ in 0..random.below(MAX_OTHERS + 1) {
            let deep: String = (0..random.below(4))
                .map(|_| format!("/{}", words.word(Use::Name)))
                .collect();
            let ending = random.pick(&["cfg", "csv", "yaml", "log", "svg"]);
            let lines: Vec<String> = (0..random.below(9)).map(|_| words.word(Use::Text)).collect();
            let bytes = Form::random(random).bytes(&lines.join("\n"));
            folder.add(format!("{deep}/{}.{ending}", words.word(Use::Name)), bytes);
        }
        let all = folder.texts.values().cloned().collect::<String>();
        let binary = [b"\x00\x01\xff", all.as_bytes()].concat();
        folder.add(format!("/{}.bin", words.word(Use::Name)), binary);
        folder.hide(words, random);
        folder
    }

    fn add(&mut self, path: String, bytes: Vec<u8>) {
        self.visible.insert(path.clone());
        self.others.insert(path, bytes);
    }

    /// Adds files with the known texts that no walk sees: by a rule for a folder, by a rule for an ending, in a hidden
    /// folder beside the known ones, and sometimes in `.git`.
    fn hide(&mut self, words: &mut Words, random: &mut Random) {
        let [ignored, hidden, mixed] = [0; 3].map(|_| words.word(Use::Name));
        let ending = words.word(Use::PlainName);
        let rules = Form {
            crlf: random.once_in(3),
            mark: Mark::None,
        };
        let rules = rules.bytes(&format!("/{ignored}/\n*.{ending}\n"));
        self.others.insert("/.gitignore".to_owned(), rules);
        self.add(format!("/{mixed}/{}.csv", words.word(Use::Name)), Vec::new());
        for (path, text) in &self.texts {
            let (folder, name) = path.rsplit_once('/').expect("a path is absolute");
            let bytes = self.forms[path].bytes(text);
            for hidden in [
                format!("/{ignored}{path}"),
                format!("/{mixed}/{name}.{ending}"),
                format!("{folder}/.{hidden}/{name}"),
            ] {
                self.others.insert(hidden, bytes.clone());
            }
        }
        if random.once_in(2) {
            let texts: String = self.texts.values().cloned().collect();
            self.others
                .insert("/.git/description".to_owned(), texts.into_bytes());
        }
    }

    /// The bytes of every file, with these texts in place of the known ones.
    pub(crate) fn bytes(&self, texts: &BTreeMap<String, String>) -> BTreeMap<String, Vec<u8>> {
        let form = |path: &String| self.forms.get(path).copied().unwrap_or(Form::NEW);
        let known = texts
            .iter()
            .map(|(path, text)| (path.clone(), form(path).bytes(text)));
        known.chain(self.others.clone()).collect()
    }

    /// Writes the folder to disk.
    pub(crate) fn write(&self, root: &Path) {
        for (path, bytes) in self.bytes(&self.texts) {
            let file = root.join(path.trim_start_matches('/'));
            std::fs::create_dir_all(file.parent().expect("beneath the root")).expect("a folder is made");
            std::fs::write(file, bytes).expect("a file is written");
        }
    }

    /// How many folders and files are at the top, hidden and ignored ones too.
    pub(crate) fn top(&self) -> (usize, usize) {
        let all: Vec<&str> = self
            .texts
            .keys()
            .chain(self.others.keys())
            .map(|path| &path[1..])
            .collect();
        let folders: BTreeSet<_> = all
            .iter()
            .filter_map(|path| path.split_once('/'))
            .map(|(folder, _)| folder)
            .collect();
        (
            folders.len(),
            all.iter().filter(|path| !path.contains('/')).count(),
        )
    }

    /// How many folders and files a walk sees.
    pub(crate) fn seen(&self) -> (usize, usize) {
        let mut folders = BTreeSet::new();
        for path in &self.visible {
            folders.extend(path.match_indices('/').skip(1).map(|(at, _)| &path[..at]));
        }
        (folders.len(), self.visible.len())
    }
}

/// The bytes of every file below a folder, by virtual path.
pub(crate) fn read(root: &Path) -> BTreeMap<String, Vec<u8>> {
    fn collect(root: &Path, folder: &Path, files: &mut BTreeMap<String, Vec<u8>>) {
        for entry in std::fs::read_dir(folder).expect("a folder can be read") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                collect(root, &path, files);
                continue;
            }
            let name = path.strip_prefix(root).expect("beneath the root");
            let name = format!("/{}", name.to_str().expect("a name in Unicode"));
            files.insert(name, std::fs::read(&path).expect("a file can be read"));
        }
    }
    let mut files = BTreeMap::new();
    collect(root, root, &mut files);
    files
}

/// How two folders differ, in words.
pub(crate) fn difference(expected: &BTreeMap<String, Vec<u8>>, found: &BTreeMap<String, Vec<u8>>) -> String {
    let text = |bytes: Option<&Vec<u8>>| bytes.map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    let paths: BTreeSet<_> = expected.keys().chain(found.keys()).collect();
    let lines = paths
        .into_iter()
        .filter(|path| expected.get(*path) != found.get(*path))
        .map(|path| {
            format!(
                "{path}: expected {:?}\n    found {:?}",
                text(expected.get(path)),
                text(found.get(path))
            )
        });
    lines.collect::<Vec<_>>().join("\n")
}
