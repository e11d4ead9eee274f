//! Where a step works: everywhere, in a folder, in files that match a glob, in named files.

use std::sync::LazyLock;

use regex::Regex;

use super::quotes::Masked;

/// Where a step works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// The whole project.
    Everywhere,
    /// A folder, as a virtual path, and all below it.
    Folder(String),
    /// Files that match a glob, perhaps only below a folder.
    Glob {
        /// The glob.
        glob: String,
        /// The folder, as a virtual path.
        folder: Option<String>,
    },
    /// Files or folders that the user named; each may be a path or a mere name.
    Names(Vec<String>),
    /// The files of a place in which a text occurs.
    Matching(Needle, Box<Place>),
}

/// A text to look for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Needle {
    /// The text, or the regular expression.
    pub(super) text: String,
    /// Whether it is a regular expression.
    pub(super) regex: bool,
    /// Whether upper and lower case are the same.
    pub(super) ignore_case: bool,
}

impl Needle {
    /// A text that is looked for as it stands.
    pub(super) fn literal(text: String) -> Needle {
        Needle {
            text,
            regex: false,
            ignore_case: false,
        }
    }

    /// A regular expression.
    pub(super) fn regex(text: &str) -> Needle {
        Needle {
            regex: true,
            ..Needle::literal(text.to_owned())
        }
    }

    /// The regular expression that finds it.
    pub(super) fn pattern(&self) -> String {
        if self.regex {
            self.text.clone()
        } else {
            // A line end of the user is any line end of a file.
            let text = self.text.replace("\r\n", "\n");
            regex::escape(&text).replace('\n', r"\r?\n")
        }
    }
}

/// What words such as `it` and `them` mean at this point of a conversation.
#[derive(Debug, Clone, Default)]
pub(super) struct Context {
    /// Where the last step worked.
    pub(super) place: Option<Place>,
    /// Where the last step of the same message worked.
    pub(super) here: Option<Place>,
    /// What the last step looked for.
    pub(super) needle: Option<Needle>,
}

static EVERYWHERE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"everywhere|everything|all|all files everywhere|here|\.|/|(?:all|every|each|any)(?: of)?(?: the| my)?(?: project| text| source| single)? files?|(?:in )?(?:the |this |my )?(?:whole |entire |current |root |project )*(?:project|repo|repository|codebase|workspace|tree|root|folder|directory)|所有(?:的)?文件|全部(?:的)?文件|每个文件|所有地方|各处|到处|(?:整个|这个|当前|本)?(?:项目|工程|仓库|代码库|根目录|目录|文件夹)|文件",
    )
});
static FOUND: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"it|them|that|this|these|those|there|files|results|matches|(?:all|each|both) of (?:it|them|these|those)|(?:the|these|those|that|this|the same|the found|such)(?: matching)? (?:files?|ones?|results?|matches|places?)|它|它们|其|其中|这些|那些|这里|那里|(?:这些|那些|这个|那个|该|上述|找到的|同一个?)文件",
    )
});
static GLOB_IN_FOLDER: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?P<glob>.+?) (?:in|under|inside|within|below|of|from) (?P<folder>.+)"));
static FOLDER_OF_GLOB: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?P<folder>.+?)(?:(?:目录|文件夹)?(?:下面|里面|下|里|中|内)的?|(?:目录|文件夹)的)(?P<glob>.*文件|\*\S+|\S+\.\w+)",
    )
});
static FOLDER: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?:folder|directory|dir|sub-?folder) (?:named |called )?(?P<a>\S+)|(?P<b>\S+) (?:folder|directory|dir|sub-?folder)|(?P<c>\S+?)(?:这个)?(?:目录|文件夹)|(?:目录|文件夹)(?P<d>\S+)",
    )
});
static ENDING: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"files? (?:ending (?:in|with|on)|with (?:the )?(?:extension|ending|suffix)) (?P<a>\S+)|(?P<b>\.\w+)(?: files?)|(?P<c>\.\w+)文件|(?:后缀|扩展名)(?:为|是)(?P<d>\S+?)(?:的文件)?",
    )
});
static FILE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"files? (?:named |called )?(?P<a>.+)|(?P<b>.+?) files?|文件(?:名为)?(?P<c>.+)|(?P<d>.+?)(?:这个|这些)?文件",
    )
});
static SEPARATOR: LazyLock<Regex> =
    LazyLock::new(|| pattern_anywhere(r"\s*(?:, and |, |，|、| and | & |和|以及|与)\s*"));
static LEADING: LazyLock<Regex> =
    LazyLock::new(|| pattern_anywhere(r"^(?:(?:all|every|each|any|the|of|my|our|both) |所有的?|全部的?|在)"));
static TRAILING: LazyLock<Regex> = LazyLock::new(|| pattern_anywhere(r"(?:里面|下面|里|中|内|下|的|上)$"));

/// Kinds of files by the names that people give them.
const KINDS: [(&str, &str); 21] = [
    ("rust", "*.rs"),
    ("python", "*.py"),
    ("javascript", "*.{js,mjs,cjs,jsx}"),
    ("js", "*.js"),
    ("typescript", "*.{ts,tsx}"),
    ("markdown", "*.md"),
    ("md", "*.md"),
    ("text", "*.txt"),
    ("txt", "*.txt"),
    ("文本", "*.txt"),
    ("json", "*.json"),
    ("toml", "*.toml"),
    ("yaml", "*.{yml,yaml}"),
    ("html", "*.html"),
    ("css", "*.css"),
    ("go", "*.go"),
    ("java", "*.java"),
    ("shell", "*.sh"),
    ("svelte", "*.svelte"),
    ("sql", "*.sql"),
    ("xml", "*.xml"),
];

impl Place {
    /// Reads a place from words of a masked message; `None` if they do not tell one.
    pub(super) fn parse(words: &str, masked: &Masked, context: &Context) -> Option<Place> {
        let words = words.trim();
        if masked.is_quoted(words) {
            return Some(word_place(&masked.plain(words)));
        }
        if EVERYWHERE.is_match(words) {
            return Some(Place::Everywhere);
        }
        if FOUND.is_match(words) {
            return context.place.clone();
        }
        let stripped = strip(words);
        if stripped != words
            && let Some(place) = Place::parse(stripped, masked, context)
        {
            return Some(place);
        }
        let below = |both: &Regex| {
            let found = both.captures(words)?;
            below_folder(&found["folder"], &found["glob"], masked)
        };
        let glob = || {
            Some(Place::Glob {
                glob: glob_of(words, masked)?,
                folder: None,
            })
        };
        if let Some(place) = below(&FOLDER_OF_GLOB)
            .or_else(glob)
            .or_else(|| below(&GLOB_IN_FOLDER))
        {
            return Some(place);
        }
        if let Some(word) = group(&FOLDER, words) {
            return Some(Place::Folder(virtual_path(&masked.plain(word))));
        }
        if let Some(names) = group(&FILE, words) {
            return names_of(names, masked);
        }
        names_of(words, masked)
    }
}

/// Files below a folder: all, those that match a glob, or a named one.
fn below_folder(folder: &str, glob: &str, masked: &Masked) -> Option<Place> {
    let folder = folder_of(folder, masked)?;
    let files = strip(glob);
    if EVERYWHERE.is_match(glob) || matches!(files, "files" | "file" | "文件") {
        return Some(if folder == "/" {
            Place::Everywhere
        } else {
            Place::Folder(folder)
        });
    }
    if let Some(glob) = glob_of(files, masked) {
        return Some(Place::Glob {
            glob,
            folder: Some(folder).filter(|folder| folder != "/"),
        });
    }
    let named = single(files) && is_file_name(files);
    named.then(|| {
        Place::Names(vec![format!(
            "{}/{}",
            folder.trim_end_matches('/'),
            masked.plain(files)
        )])
    })
}

/// Several words, or one, each a file, a folder or a glob.
fn names_of(words: &str, masked: &Masked) -> Option<Place> {
    let parts: Vec<&str> = SEPARATOR
        .split(words)
        .map(strip)
        .filter(|part| !part.is_empty())
        .collect();
    if parts.is_empty() || !parts.iter().all(|part| single(part)) {
        return None;
    }
    let globs: Option<Vec<String>> = parts.iter().map(|part| glob_of(part, masked)).collect();
    match globs {
        Some(globs) if globs.len() > 1 => {
            return Some(Place::Glob {
                glob: format!("{{{}}}", globs.join(",")),
                folder: None,
            });
        }
        _ => {}
    }
    match parts.as_slice() {
        [word] => Some(word_place(&masked.plain(word))),
        parts => Some(Place::Names(
            parts.iter().map(|part| masked.plain(part)).collect(),
        )),
    }
}

fn word_place(word: &str) -> Place {
    if is_glob(word) {
        Place::Glob {
            glob: word.trim_start_matches("./").trim_start_matches('/').to_owned(),
            folder: None,
        }
    } else if word.ends_with('/') {
        Place::Folder(virtual_path(word))
    } else {
        Place::Names(vec![word.to_owned()])
    }
}

fn folder_of(words: &str, masked: &Masked) -> Option<String> {
    let words = strip(words.trim());
    if EVERYWHERE.is_match(words) {
        return Some("/".to_owned());
    }
    let word = group(&FOLDER, words).unwrap_or(words);
    single(word).then(|| virtual_path(&masked.plain(word)))
}

fn glob_of(words: &str, masked: &Masked) -> Option<String> {
    if let Some(ending) = group(&ENDING, words) {
        return Some(format!(
            "*.{}",
            masked.plain(ending).trim_start_matches(['*', '.'])
        ));
    }
    let word = words
        .strip_suffix(" files")
        .or_else(|| words.strip_suffix(" file"));
    let word = word.or_else(|| {
        words
            .strip_suffix("源文件")
            .or_else(|| words.strip_suffix("文件"))
    });
    let word = word.or_else(|| words.strip_suffix(" code").or_else(|| words.strip_suffix("代码")));
    if let Some(word) = word {
        let word = word.trim().trim_end_matches(" source").to_lowercase();
        if let Some((_, glob)) = KINDS.iter().find(|(kind, _)| *kind == word) {
            return Some((*glob).to_owned());
        }
    }
    let word = word.unwrap_or(words).trim();
    let text = masked.plain(word);
    (single(word) && is_glob(&text)).then(|| text.trim_start_matches("./").trim_start_matches('/').to_owned())
}

/// Whether a word is a glob rather than a name.
pub(super) fn is_glob(word: &str) -> bool {
    word.contains(['*', '?']) || (word.contains('{') && word.contains(',') && word.contains('}'))
}

/// Whether a word looks like the name of a file: it has an extension.
pub(super) fn is_file_name(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    name.rsplit_once('.').is_some_and(|(_, extension)| {
        (1..=12).contains(&extension.len())
            && extension.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

/// Whether a word is the name of a file of one of the [`KINDS`].
pub(super) fn is_of_a_kind(word: &str) -> bool {
    let ending = word.rsplit_once('.').map_or("", |(_, ending)| ending);
    let has_it = |glob: &str| {
        glob[2..]
            .trim_matches(['{', '}'])
            .split(',')
            .any(|one| one == ending)
    };
    KINDS.iter().any(|(_, glob)| has_it(glob))
}

/// The virtual path of a file or folder that the user named.
pub(super) fn virtual_path(name: &str) -> String {
    let name = name.trim().trim_start_matches("./").trim_matches('/');
    format!("/{name}")
}

fn single(word: &str) -> bool {
    !word.is_empty() && !word.contains(|c: char| c.is_whitespace() || ",，。;；、:：".contains(c))
}

fn strip(words: &str) -> &str {
    let mut words = words.trim();
    loop {
        let before = words;
        if let Some(found) = LEADING.find(words) {
            words = words[found.end()..].trim();
        }
        if let Some(found) = TRAILING.find(words).filter(|found| found.start() > 0) {
            words = words[..found.start()].trim();
        }
        if words == before {
            return words;
        }
    }
}

fn group<'w>(regex: &Regex, words: &'w str) -> Option<&'w str> {
    let found = regex.captures(words)?;
    ["a", "b", "c", "d"]
        .into_iter()
        .find_map(|name| found.name(name))
        .map(|found| found.as_str())
}

/// A pattern of ours that must match the whole text, upper and lower case alike.
pub(super) fn pattern(text: &str) -> Regex {
    pattern_anywhere(&format!("^(?:{text})$"))
}

/// A pattern of ours, upper and lower case alike.
pub(super) fn pattern_anywhere(text: &str) -> Regex {
    Regex::new(&format!("(?is){text}")).expect("a pattern of the offline model is a regular expression")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &str) -> Option<Place> {
        let context = Context {
            place: Some(Place::Folder("/before".to_owned())),
            here: None,
            needle: None,
        };
        let masked = Masked::new(words);
        Place::parse(&masked.text, &masked, &context)
    }

    fn glob(glob: &str, folder: Option<&str>) -> Option<Place> {
        Some(Place::Glob {
            glob: glob.to_owned(),
            folder: folder.map(str::to_owned),
        })
    }

    fn names(names: &[&str]) -> Option<Place> {
        Some(Place::Names(
            names.iter().map(|name| (*name).to_owned()).collect(),
        ))
    }

    fn folder(path: &str) -> Option<Place> {
        Some(Place::Folder(path.to_owned()))
    }

    #[test]
    fn places_are_read_from_words() {
        let table = [
            ("everywhere", Some(Place::Everywhere)),
            ("all files", Some(Place::Everywhere)),
            ("the whole project", Some(Place::Everywhere)),
            ("整个项目", Some(Place::Everywhere)),
            ("所有文件", Some(Place::Everywhere)),
            ("them", folder("/before")),
            ("these files", folder("/before")),
            ("这些文件", folder("/before")),
            ("*.rs", glob("*.rs", None)),
            ("all *.rs files", glob("*.rs", None)),
            ("all rust files", glob("*.rs", None)),
            (".md files", glob("*.md", None)),
            ("files ending in .md", glob("*.md", None)),
            ("python文件", glob("*.py", None)),
            ("所有.md文件", glob("*.md", None)),
            ("*.md and *.txt", glob("{*.md,*.txt}", None)),
            ("src/**/*.py", glob("src/**/*.py", None)),
            ("*.py in lib", glob("*.py", Some("/lib"))),
            (
                "all python files under the folder src/app",
                glob("*.py", Some("/src/app")),
            ),
            ("src目录下的python文件", glob("*.py", Some("/src"))),
            ("src目录下的所有python文件", glob("*.py", Some("/src"))),
            ("docs里的*.md", glob("*.md", Some("/docs"))),
            ("docs/", folder("/docs")),
            ("the docs folder", folder("/docs")),
            ("folder docs/api", folder("/docs/api")),
            ("docs目录", folder("/docs")),
            ("docs文件夹里", folder("/docs")),
            ("all files in docs", folder("/docs")),
            ("all files under docs/api", folder("/docs/api")),
            ("src目录下的文件", folder("/src")),
            ("guide.md in docs", names(&["/docs/guide.md"])),
            ("docs里的guide.md", names(&["/docs/guide.md"])),
            ("README.md", names(&["README.md"])),
            ("the file README.md", names(&["README.md"])),
            ("the config file", names(&["config"])),
            ("\"my notes.txt\"", names(&["my notes.txt"])),
            ("a.md, b.md and c.md", names(&["a.md", "b.md", "c.md"])),
            ("a.md、b.md和c.md", names(&["a.md", "b.md", "c.md"])),
            ("src里", names(&["src"])),
            ("config", names(&["config"])),
            ("everywhere except tests", None),
            ("src, but not in tests", None),
        ];
        for (words, expected) in table {
            assert_eq!(parse(words), expected, "{words}");
        }
    }

    #[test]
    fn kinds_of_files_are_known_by_their_endings() {
        for (word, expected) in [
            ("a.ts", true),
            ("b.c.yml", true),
            ("os.path", false),
            ("md", false),
            ("a.", false),
        ] {
            assert_eq!(is_of_a_kind(word), expected, "{word}");
        }
    }

    #[test]
    fn file_names_have_an_extension() {
        for (word, expected) in [
            ("a.md", true),
            ("b/c.tar.gz", true),
            (".env", true),
            ("config", false),
            ("a.", false),
        ] {
            assert_eq!(is_file_name(word), expected, "{word}");
        }
    }
}
