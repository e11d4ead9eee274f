//! The requests that the offline model must understand, as data: another test may include this file and run the same
//! table against other tools.
//!
//! Every text here is a template (see `template.rs`): `<colour>` is a word that stands for any word, `<3>` a number that
//! depends on how many files and folders there are besides [`FILES`].

#[path = "phrasings/changing.rs"]
mod changing;
#[path = "phrasings/chinese.rs"]
mod chinese;
#[path = "phrasings/looking.rs"]
mod looking;
#[path = "phrasings/mixed.rs"]
mod mixed;

/// One request and what must come of it in [`FILES`].
pub(crate) struct Phrasing {
    /// What the user says.
    pub(crate) request: &'static str,
    /// What the user answers when asked.
    pub(crate) answers: &'static [&'static str],
    /// The calls in their order, each as the tool's name and its pattern or else its path.
    pub(crate) calls: &'static [&'static str],
    /// The files that change, with their new text. All others stay as they are.
    pub(crate) changes: &'static [(&'static str, &'static str)],
    /// Words that the final answer contains.
    pub(crate) says: &'static [&'static str],
}

/// The folder that every phrasing begins with: `<3>` folders and `<2>` files at its top, `<9>` files and `<12>` entries
/// in all.
pub(crate) const FILES: &[(&str, &str)] = &[
    ("/<README>.md", "# <Paint>s\n\nEvery <colour> has a name.\n"),
    (
        "/<docs>/<guide>.md",
        "The <colour> <red>.\nThe <colour> <blue>.\n",
    ),
    ("/<docs>/<my notes>.txt", "<alpha>\n<beta>\n<gamma>"),
    ("/<settings>/<config>.json", "{ \"mode\": \"<old>\" }\n"),
    ("/<settings>/<config>.toml", "mode = \"<old>\"\n"),
    (
        "/<src>/<app>.py",
        "import os\nprint('<debug> one')\nprint('<keep>')\nprint('<debug> two')\n",
    ),
    ("/<src>/<lib>.rs", "pub fn <old>_<name>() {}\n"),
    (
        "/<src>/<main>.rs",
        "fn main() {\n    <old>_<name>(); // <TODO>: <a>.<b>*<c>\n}\n",
    ),
    ("/<todo>.txt", "<first>\n<second>\n"),
];

const fn looks(
    request: &'static str,
    calls: &'static [&'static str],
    says: &'static [&'static str],
) -> Phrasing {
    Phrasing {
        request,
        answers: &[],
        calls,
        changes: &[],
        says,
    }
}

const fn changes(
    request: &'static str,
    calls: &'static [&'static str],
    changes: &'static [(&'static str, &'static str)],
    says: &'static [&'static str],
) -> Phrasing {
    Phrasing {
        request,
        answers: &[],
        calls,
        changes,
        says,
    }
}

const COLOR_README: (&str, &str) = ("/<README>.md", "# <Paint>s\n\nEvery <color> has a name.\n");
const COLOR_GUIDE: (&str, &str) = ("/<docs>/<guide>.md", "The <color> <red>.\nThe <color> <blue>.\n");
const NEW_LIB: (&str, &str) = ("/<src>/<lib>.rs", "pub fn <new>_<name>() {}\n");
const NEW_MAIN: (&str, &str) = (
    "/<src>/<main>.rs",
    "fn main() {\n    <new>_<name>(); // <TODO>: <a>.<b>*<c>\n}\n",
);
const TODO_THIRD: (&str, &str) = ("/<todo>.txt", "<first>\n<second>\n<third>\n");
const TODO_SECOND: (&str, &str) = ("/<todo>.txt", "<second>\n");
const KEEP_ONLY: (&str, &str) = ("/<src>/<app>.py", "import os\nprint('<keep>')\n");
const HELLO: (&str, &str) = ("/<hello>.txt", "<hello> <world>");
const NEW_TOML: (&str, &str) = ("/<settings>/<config>.toml", "mode = \"<new>\"\n");
const NEW_JSON: (&str, &str) = ("/<settings>/<config>.json", "{ \"mode\": \"<new>\" }\n");

const REPLACE_COLOUR: &[&str] = &[
    "grep <colour>",
    "read /<README>.md",
    "read /<docs>/<guide>.md",
    "edit /<README>.md",
    "edit /<docs>/<guide>.md",
];
const RENAME: &[&str] = &[
    "grep <old>_<name>",
    "read /<src>/<lib>.rs",
    "read /<src>/<main>.rs",
    "edit /<src>/<lib>.rs",
    "edit /<src>/<main>.rs",
];
const EDIT_TODO: &[&str] = &["read /<todo>.txt", "edit /<todo>.txt"];

/// Requests in English.
pub(crate) fn english() -> impl Iterator<Item = &'static Phrasing> {
    looking::LOOKING
        .iter()
        .chain(changing::CHANGING)
        .chain(mixed::MIXED)
}

/// Requests in Chinese.
pub(crate) fn chinese() -> impl Iterator<Item = &'static Phrasing> {
    chinese::CHINESE.iter()
}
