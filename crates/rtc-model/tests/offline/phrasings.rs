//! The requests that the offline model must understand, as data: another test may include this file and run the same
//! table against other tools.
//!
//! Every text here is a template (see `template.rs`): `<colour>` is a word that stands for any word, `<3>` a number that
//! depends on how many files and folders there are besides [`FILES`].

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
pub(crate) const ENGLISH: &[Phrasing] = &[
    // list
    looks(
        "list the files",
        &["ls /"],
        &["<3> folders", "<2> files", "<README>.md"],
    ),
    looks("ls", &["ls /"], &["<src>/"]),
    looks(
        "Please list all files in <src>.",
        &["ls /<src>"],
        &["<app>.py", "3 files"],
    ),
    looks("What files are there?", &["ls /"], &["<todo>.txt"]),
    looks(
        "Could you show me what's in the <docs> folder?",
        &["ls /<docs>"],
        &["<guide>.md"],
    ),
    looks("what is in <src>", &["find <src>*", "ls /<src>"], &["<main>.rs"]),
    looks(
        "show the contents of the folder <settings>",
        &["ls /<settings>"],
        &["<config>.json"],
    ),
    // read
    looks(
        "read <README>.md",
        &["read /<README>.md"],
        &["/<README>.md", "3 lines", "Every <colour> has a name."],
    ),
    looks(
        "Show me the file \"<my notes>.txt\"",
        &[
            "read /<my notes>.txt",
            "find <my notes>.txt",
            "read /<docs>/<my notes>.txt",
        ],
        &["<beta>"],
    ),
    looks(
        "open the <readme>",
        &["find <readme>*", "find <~readme>*", "read /<README>.md"],
        &["# <Paint>s"],
    ),
    looks("cat <src>/<main>.rs", &["read /<src>/<main>.rs"], &["fn main()"]),
    looks("what does <todo>.txt say?", &["read /<todo>.txt"], &["<second>"]),
    looks(
        "read <README>.md and <todo>.txt",
        &["read /<README>.md", "read /<todo>.txt"],
        &["# <Paint>s", "<second>"],
    ),
    looks(
        "show the first 2 lines of <src>/<app>.py",
        &["read /<src>/<app>.py"],
        &["import os", "<debug> one"],
    ),
    looks(
        "print the last line of <todo>.txt",
        &["read /<todo>.txt"],
        &["1 line", "<second>"],
    ),
    looks(
        "show lines 3-4 of <src>/<app>.py",
        &["read /<src>/<app>.py"],
        &["<keep>", "<debug> two"],
    ),
    looks(
        "read all *.rs files",
        &["find *.rs", "read /<src>/<lib>.rs", "read /<src>/<main>.rs"],
        &["pub fn <old>_<name>", "fn main"],
    ),
    // find
    looks(
        "find all *.md files",
        &["find *.md"],
        &["2 files named *.md", "/<README>.md", "/<docs>/<guide>.md"],
    ),
    looks(
        "find files named <config>",
        &["find <config>*"],
        &["/<settings>/<config>.json", "/<settings>/<config>.toml"],
    ),
    looks(
        "where is <guide>.md?",
        &["find <guide>.md"],
        &["/<docs>/<guide>.md"],
    ),
    looks("list all rust files", &["find *.rs"], &["/<src>/<lib>.rs"]),
    looks("find python files in <src>", &["find *.py"], &["/<src>/<app>.py"]),
    looks(
        "find the file <main>.rs",
        &["find <main>.rs"],
        &["/<src>/<main>.rs"],
    ),
    looks(
        "show me all files ending in .toml",
        &["find *.toml"],
        &["<config>.toml"],
    ),
    looks("how many .md files are there?", &["find *.md"], &["2 files"]),
    looks("count the rust files", &["find *.rs"], &["2 files"]),
    // search
    looks(
        "search for <TODO>",
        &["grep <TODO>"],
        &["/<src>/<main>.rs:2", "1 line of 1 file"],
    ),
    looks(
        "search for '<a>.<b>*<c>' in *.rs",
        &["grep <a>\\.<b>\\*<c>"],
        &["/<src>/<main>.rs:2"],
    ),
    looks(
        "find \"<debug>\" in <src>/<app>.py",
        &["grep <debug>"],
        &["2 lines of 1 file"],
    ),
    looks(
        "grep <colour> in <docs>/",
        &["grep <colour>"],
        &["/<docs>/<guide>.md:1", "/<docs>/<guide>.md:2"],
    ),
    looks(
        "search the project for <old>_<name>",
        &["grep <old>_<name>"],
        &["2 files"],
    ),
    looks(
        "which files contain <colour>?",
        &["grep <colour>"],
        &["/<README>.md", "/<docs>/<guide>.md"],
    ),
    looks(
        "where is <old>_<name> used?",
        &["grep <old>_<name>"],
        &["/<src>/<lib>.rs:1"],
    ),
    looks(
        "show all lines containing \"<debug>\" in <app>.py",
        &["find <app>.py", "grep <debug>"],
        &["<debug> two"],
    ),
    looks(
        "search for <COLOUR> ignoring case",
        &["grep <COLOUR>"],
        &["3 lines of 2 files"],
    ),
    looks(
        "search for the regex `<colou?r> (<red>|<blue>)`",
        &["grep <colou?r> (<red>|<blue>)"],
        &["2 lines of 1 file"],
    ),
    looks(
        "find <paint>",
        &["find *<paint>*", "grep <paint>"],
        &["There is no file named *<paint>*", "does not occur"],
    ),
    // count
    looks(
        "count <colour> in *.md",
        &["grep <colour>"],
        &["3 times in 2 files"],
    ),
    looks(
        "how often does '<colour>' occur?",
        &["grep <colour>"],
        &["3 times in 2 files"],
    ),
    looks(
        "how many times does <debug> appear in <src>/<app>.py?",
        &["grep <debug>"],
        &["2 times in 1 file"],
    ),
    looks(
        "count the occurrences of \"<old>\" in <settings>/",
        &["grep <old>"],
        &["2 times in 2 files"],
    ),
    // replace
    changes(
        "replace <colour> by <color> everywhere",
        REPLACE_COLOUR,
        &[COLOR_README, COLOR_GUIDE],
        &["3 times in 2 files", "/<docs>/<guide>.md: 2"],
    ),
    changes(
        "Replace all occurrences of \"<colour>\" with \"<color>\" in <docs>/<guide>.md",
        &[
            "grep <colour>",
            "read /<docs>/<guide>.md",
            "edit /<docs>/<guide>.md",
        ],
        &[COLOR_GUIDE],
        &["2 times in 1 file"],
    ),
    changes(
        "change '<old>_<name>' to '<new>_<name>' in *.rs",
        RENAME,
        &[NEW_LIB, NEW_MAIN],
        &["2 times in 2 files"],
    ),
    changes(
        "in the <src> folder replace <old>_<name> with <new>_<name>",
        RENAME,
        &[NEW_LIB, NEW_MAIN],
        &["2 times in 2 files"],
    ),
    changes(
        "rename <old>_<name> to <new>_<name> in all rust files",
        RENAME,
        &[NEW_LIB, NEW_MAIN],
        &["“<old>_<name>” by “<new>_<name>”"],
    ),
    changes(
        "use <new>_<name> instead of <old>_<name> in <src>/",
        RENAME,
        &[NEW_LIB, NEW_MAIN],
        &["2 files"],
    ),
    changes(
        "substitute \"<a>.<b>*<c>\" by \"done\" in <main>.rs",
        &[
            "find <main>.rs",
            "grep <a>\\.<b>\\*<c>",
            "read /<src>/<main>.rs",
            "edit /<src>/<main>.rs",
        ],
        &[(
            "/<src>/<main>.rs",
            "fn main() {\n    <old>_<name>(); // <TODO>: done\n}\n",
        )],
        &["1 time in 1 file"],
    ),
    Phrasing {
        request: "replace <old> by <new> in <config>",
        answers: &["/<settings>/<config>.toml"],
        calls: &[
            "find <config>*",
            "askUser",
            "grep <old>",
            "read /<settings>/<config>.toml",
            "edit /<settings>/<config>.toml",
        ],
        changes: &[NEW_TOML],
        says: &["1 time in 1 file"],
    },
    Phrasing {
        request: "change \"<old>\" to \"<new>\" in the <config> file",
        answers: &["All 2 of them"],
        calls: &[
            "find <config>*",
            "askUser",
            "grep <old>",
            "grep <old>",
            "read /<settings>/<config>.json",
            "read /<settings>/<config>.toml",
            "edit /<settings>/<config>.json",
            "edit /<settings>/<config>.toml",
        ],
        changes: &[NEW_JSON, NEW_TOML],
        says: &["2 times in 2 files"],
    },
    looks(
        "replace <missing> by <found> everywhere",
        &["grep <missing>"],
        &["“<missing>” does not occur", "changed nothing"],
    ),
    looks(
        "replace <colour> by <color> everywhere except in <docs>",
        &[],
        &["I did not understand"],
    ),
    // create and write
    changes(
        "create <hello>.txt with \"<hello> <world>\"",
        &["ls /", "write /<hello>.txt"],
        &[HELLO],
        &["created /<hello>.txt", "<11> characters"],
    ),
    changes(
        "create a new file named <hello>.txt containing '<hello> <world>'",
        &["ls /", "write /<hello>.txt"],
        &[HELLO],
        &["created /<hello>.txt"],
    ),
    changes(
        "write `<hello> <world>` to <hello>.txt",
        &["ls /", "write /<hello>.txt"],
        &[HELLO],
        &["created /<hello>.txt"],
    ),
    changes(
        "Create a file <docs>/<new>/<a>.md with the content: one, two; and then three",
        &["ls /<docs>/<new>", "write /<docs>/<new>/<a>.md"],
        &[("/<docs>/<new>/<a>.md", "one, two; and then three")],
        &["created"],
    ),
    changes(
        "make an empty file <docs>/.<keep>.txt",
        &["ls /<docs>", "write /<docs>/.<keep>.txt"],
        &[("/<docs>/.<keep>.txt", "")],
        &["created /<docs>/.<keep>.txt"],
    ),
    changes(
        "overwrite <todo>.txt with \"<nothing> <left>\"",
        &["ls /", "read /<todo>.txt", "write /<todo>.txt"],
        &[("/<todo>.txt", "<nothing> <left>")],
        &["overwrote /<todo>.txt"],
    ),
    looks(
        "create <todo>.txt with \"x\"",
        &["ls /"],
        &["is there already", "changed nothing"],
    ),
    // append
    changes(
        "append \"<third>\" to <todo>.txt",
        EDIT_TODO,
        &[TODO_THIRD],
        &["at the end of /<todo>.txt"],
    ),
    changes(
        "add the line '<third>' at the end of <todo>.txt",
        EDIT_TODO,
        &[TODO_THIRD],
        &["/<todo>.txt"],
    ),
    changes(
        "append <third> to my \u{20}<todo>.txt",
        &[],
        &[],
        &["I did not understand"],
    ),
    changes(
        "add \"<delta>\" to \"<docs>/<my notes>.txt\"",
        &["read /<docs>/<my notes>.txt", "edit /<docs>/<my notes>.txt"],
        &[("/<docs>/<my notes>.txt", "<alpha>\n<beta>\n<gamma>\n<delta>")],
        &["at the end"],
    ),
    changes(
        "append \"<new>\" to <log>.txt",
        &[
            "read /<log>.txt",
            "find <log>.txt",
            "find <~log>.<~txt>",
            "write /<log>.txt",
        ],
        &[("/<log>.txt", "<new>\n")],
        &["created /<log>.txt"],
    ),
    // delete
    changes(
        "delete \"<old>_\" from <src>/<lib>.rs",
        &["grep <old>_", "read /<src>/<lib>.rs", "edit /<src>/<lib>.rs"],
        &[("/<src>/<lib>.rs", "pub fn <name>() {}\n")],
        &["deleted “<old>_” 1 time"],
    ),
    changes(
        "delete the lines containing \"<debug>\" from <src>/<app>.py",
        &[
            "grep <debug>",
            "read /<src>/<app>.py",
            "edit /<src>/<app>.py",
            "edit /<src>/<app>.py",
        ],
        &[KEEP_ONLY],
        &["deleted 2 lines in 1 file"],
    ),
    changes(
        "remove line 1 from <todo>.txt",
        &["find <todo>.txt", "read /<todo>.txt", "edit /<todo>.txt"],
        &[TODO_SECOND],
        &["deleted 1 line"],
    ),
    changes(
        "delete the line \"<first>\" from <todo>.txt",
        &[
            "find <todo>.txt",
            "grep <first>",
            "read /<todo>.txt",
            "edit /<todo>.txt",
        ],
        &[TODO_SECOND],
        &["deleted 1 line"],
    ),
    looks(
        "delete line 9 of <todo>.txt",
        &["find <todo>.txt", "read /<todo>.txt"],
        &["only 2 lines", "changed nothing"],
    ),
    looks("delete the file <todo>.txt", &[], &["no tool to delete"]),
    // other ways to say it
    looks("List all files recursively", &["find *"], &["<12> entries"]),
    looks(
        "read the <guide>",
        &["find <guide>*", "read /<docs>/<guide>.md"],
        &["The <colour> <red>."],
    ),
    looks(
        "read the first line of <README>.md",
        &["read /<README>.md"],
        &["1 line", "# <Paint>s"],
    ),
    looks(
        "tail -n 2 <src>/<app>.py",
        &["read /<src>/<app>.py"],
        &["<debug> two"],
    ),
    looks(
        "grep -r <TODO> <src>",
        &["find <src>*", "grep <TODO>"],
        &["1 line of 1 file"],
    ),
    looks(
        "find all <TODO> comments",
        &["grep <TODO>"],
        &["/<src>/<main>.rs:2"],
    ),
    looks(
        "how many lines contain <debug> in <src>/<app>.py?",
        &["grep <debug>"],
        &["2 lines of 1 file"],
    ),
    looks(
        "how many lines are in <README>.md?",
        &["read /<README>.md"],
        &["3 lines"],
    ),
    looks(
        "how many files are in <src>?",
        &["find *"],
        &["3 files below /<src>"],
    ),
    changes(
        "In <README>.md, replace \"<colour>\" with \"<color>\".",
        &[
            "find <README>.md",
            "grep <colour>",
            "read /<README>.md",
            "edit /<README>.md",
        ],
        &[COLOR_README],
        &["1 time in 1 file"],
    ),
    changes(
        "s/<colour>/<color>/ in <docs>/<guide>.md",
        &[
            "grep <colour>",
            "read /<docs>/<guide>.md",
            "edit /<docs>/<guide>.md",
        ],
        &[COLOR_GUIDE],
        &["2 times in 1 file"],
    ),
    changes(
        "insert \"<third>\" at the end of <todo>.txt",
        EDIT_TODO,
        &[TODO_THIRD],
        &["at the end of /<todo>.txt"],
    ),
    changes(
        "delete the first line of <todo>.txt",
        &["find <todo>.txt", "read /<todo>.txt", "edit /<todo>.txt"],
        &[TODO_SECOND],
        &["deleted 1 line"],
    ),
    changes(
        "delete the last two lines of <src>/<app>.py",
        &["read /<src>/<app>.py", "edit /<src>/<app>.py"],
        &[("/<src>/<app>.py", "import os\nprint('<debug> one')\n")],
        &["deleted 2 lines"],
    ),
    looks("are you a language model?", &[], &["no language model"]),
    // several steps
    changes(
        "find <colour> in *.md and replace it by <color>",
        &[
            "grep <colour>",
            "grep <colour>",
            "read /<README>.md",
            "read /<docs>/<guide>.md",
            "edit /<README>.md",
            "edit /<docs>/<guide>.md",
        ],
        &[COLOR_README, COLOR_GUIDE],
        &["1. ", "2. I replaced"],
    ),
    changes(
        "List the files, then read <todo>.txt, then append \"<third>\" to it",
        &["ls /", "read /<todo>.txt", "read /<todo>.txt", "edit /<todo>.txt"],
        &[TODO_THIRD],
        &["1. / has", "2. I read /<todo>.txt", "3. I added"],
    ),
    changes(
        "1. create <hello>.txt with \"<hello>\"\n2. append \"again\" to <hello>.txt\n3. read <hello>.txt",
        &[
            "ls /",
            "write /<hello>.txt",
            "read /<hello>.txt",
            "edit /<hello>.txt",
            "read /<hello>.txt",
        ],
        &[("/<hello>.txt", "<hello>\nagain")],
        &["3. I read /<hello>.txt, 2 lines"],
    ),
    looks(
        "search for <debug>, then read the files",
        &["grep <debug>", "grep <debug>", "read /<src>/<app>.py"],
        &["import os"],
    ),
    looks(
        "find *.md and list <src>/",
        &["find *.md", "ls /<src>"],
        &["1. I found", "2. /<src> has"],
    ),
];

/// Requests in Chinese.
pub(crate) const CHINESE: &[Phrasing] = &[
    looks("列出文件", &["ls /"], &["<3> 个目录和 <2> 个文件"]),
    looks("请列出 <src> 目录下的文件", &["ls /<src>"], &["<app>.py"]),
    looks("有哪些文件？", &["ls /"], &["<todo>.txt"]),
    looks("列出所有文件", &["ls /"], &["<src>/"]),
    looks(
        "读取 <README>.md",
        &["read /<README>.md"],
        &["共 3 行", "Every <colour>"],
    ),
    looks(
        "帮我看一下 <src>/<main>.rs 的内容",
        &["read /<src>/<main>.rs"],
        &["fn main"],
    ),
    looks(
        "查看 <src>/<app>.py 的前 2 行",
        &["read /<src>/<app>.py"],
        &["<debug> one"],
    ),
    looks(
        "读取 <README>.md 和 <todo>.txt",
        &["read /<README>.md", "read /<todo>.txt"],
        &["<second>"],
    ),
    looks(
        "查找所有 *.md 文件",
        &["find *.md"],
        &["找到 2 个", "/<docs>/<guide>.md"],
    ),
    looks(
        "查找名为 <config> 的文件",
        &["find <config>*"],
        &["/<settings>/<config>.json"],
    ),
    looks(
        "<guide>.md 在哪里？",
        &["find <guide>.md"],
        &["/<docs>/<guide>.md"],
    ),
    looks("有多少个 rust 文件？", &["find *.rs"], &["共有 2 个"]),
    looks("搜索“<TODO>”", &["grep <TODO>"], &["/<src>/<main>.rs:2"]),
    looks(
        "在 *.rs 中搜索 <old>_<name>",
        &["grep <old>_<name>"],
        &["2 个文件"],
    ),
    looks(
        "在 <docs> 目录里查找「<colour>」",
        &["grep <colour>"],
        &["/<docs>/<guide>.md:1"],
    ),
    looks("哪些文件包含 <colour>？", &["grep <colour>"], &["/<README>.md"]),
    looks(
        "统计 <colour> 在 *.md 中出现的次数",
        &["grep <colour>"],
        &["出现 3 次"],
    ),
    looks(
        "“<colour>”一共出现了多少次？",
        &["grep <colour>"],
        &["共出现 3 次"],
    ),
    changes(
        "把所有的 <colour> 替换成 <color>",
        REPLACE_COLOUR,
        &[COLOR_README, COLOR_GUIDE],
        &["共 3 处"],
    ),
    changes(
        "把 <docs>/<guide>.md 中的“<colour>”改成“<color>”",
        &[
            "grep <colour>",
            "read /<docs>/<guide>.md",
            "edit /<docs>/<guide>.md",
        ],
        &[COLOR_GUIDE],
        &["1 个文件", "共 2 处"],
    ),
    changes(
        "在 *.rs 中把 <old>_<name> 替换为 <new>_<name>",
        RENAME,
        &[NEW_LIB, NEW_MAIN],
        &["2 个文件"],
    ),
    changes(
        "将 <src> 目录下的 <old>_<name> 都改为 <new>_<name>",
        RENAME,
        &[NEW_LIB, NEW_MAIN],
        &["2 个文件"],
    ),
    changes(
        "用 <new>_<name> 替换所有文件中的 <old>_<name>",
        RENAME,
        &[NEW_LIB, NEW_MAIN],
        &["2 个文件"],
    ),
    Phrasing {
        request: "把 <config> 里的 <old> 换成 <new>",
        answers: &["/<settings>/<config>.toml"],
        calls: &[
            "find <config>*",
            "askUser",
            "grep <old>",
            "read /<settings>/<config>.toml",
            "edit /<settings>/<config>.toml",
        ],
        changes: &[NEW_TOML],
        says: &["1 个文件"],
    },
    changes(
        "创建 <hello>.txt，内容为“<hello> <world>”",
        &["ls /", "write /<hello>.txt"],
        &[HELLO],
        &["已创建 /<hello>.txt"],
    ),
    changes(
        "新建一个文件 <hello>.txt，写入“<hello> <world>”",
        &["ls /", "write /<hello>.txt"],
        &[HELLO],
        &["已创建 /<hello>.txt"],
    ),
    changes(
        "把“<hello> <world>”写入 <hello>.txt",
        &["ls /", "write /<hello>.txt"],
        &[HELLO],
        &["已创建 /<hello>.txt"],
    ),
    changes(
        "用“<nothing> <left>”覆盖 <todo>.txt",
        &["ls /", "read /<todo>.txt", "write /<todo>.txt"],
        &[("/<todo>.txt", "<nothing> <left>")],
        &["已覆盖"],
    ),
    changes(
        "在 <todo>.txt 末尾追加一行“<third>”",
        EDIT_TODO,
        &[TODO_THIRD],
        &["末尾追加一行"],
    ),
    changes(
        "给 <todo>.txt 添加 <third>",
        EDIT_TODO,
        &[TODO_THIRD],
        &["/<todo>.txt"],
    ),
    changes(
        "从 <src>/<lib>.rs 中删除“<old>_”",
        &["grep <old>_", "read /<src>/<lib>.rs", "edit /<src>/<lib>.rs"],
        &[("/<src>/<lib>.rs", "pub fn <name>() {}\n")],
        &["删除“<old>_”"],
    ),
    changes(
        "删除 <src>/<app>.py 中包含“<debug>”的行",
        &[
            "grep <debug>",
            "read /<src>/<app>.py",
            "edit /<src>/<app>.py",
            "edit /<src>/<app>.py",
        ],
        &[KEEP_ONLY],
        &["删除 2 行"],
    ),
    changes(
        "删除 <todo>.txt 的第 1 行",
        &["find <todo>.txt", "read /<todo>.txt", "edit /<todo>.txt"],
        &[TODO_SECOND],
        &["删除 1 行"],
    ),
    looks("删除文件 <todo>.txt", &[], &["没有删除"]),
    changes(
        "列出文件，然后读取 <todo>.txt，最后在 <todo>.txt 末尾追加“<third>”",
        &["ls /", "read /<todo>.txt", "read /<todo>.txt", "edit /<todo>.txt"],
        &[TODO_THIRD],
        &["1. ", "3. 已在 /<todo>.txt"],
    ),
    changes(
        "在 *.md 中查找 <colour> 并替换为 <color>",
        &[
            "grep <colour>",
            "grep <colour>",
            "read /<README>.md",
            "read /<docs>/<guide>.md",
            "edit /<README>.md",
            "edit /<docs>/<guide>.md",
        ],
        &[COLOR_README, COLOR_GUIDE],
        &["2. 已在 2 个文件"],
    ),
    looks(
        "看看 <docs> 里有什么",
        &["find <docs>*", "ls /<docs>"],
        &["<guide>.md"],
    ),
    looks("显示 <docs> 目录的内容", &["ls /<docs>"], &["<guide>.md"]),
    looks("递归列出所有文件", &["find *"], &["/<src>/<main>.rs"]),
    looks(
        "找一下 <config> 文件",
        &["find <config>*"],
        &["/<settings>/<config>.json"],
    ),
    looks("项目里有多少个文件？", &["find *"], &["共有 <9> 个"]),
    looks(
        "<README>.md 里 <colour> 出现了几次？",
        &["find <README>.md", "grep <colour>"],
        &["共出现 1 次"],
    ),
    looks(
        "列出文件，读取 <todo>.txt，并搜索 <colour>",
        &["ls /", "read /<todo>.txt", "grep <colour>"],
        &["3. "],
    ),
    changes(
        "在所有 md 文件里，把 <colour> 换成 <color>",
        REPLACE_COLOUR,
        &[COLOR_README, COLOR_GUIDE],
        &["共 3 处"],
    ),
    changes(
        "新建 <hello>.txt 并写入“<hello> <world>”",
        &["ls /", "write /<hello>.txt"],
        &[HELLO],
        &["已创建 /<hello>.txt"],
    ),
    changes(
        "把 <todo>.txt 里的“<first>\n”删掉",
        &[
            "find <todo>.txt",
            "grep <first>\n",
            "read /<todo>.txt",
            "edit /<todo>.txt",
        ],
        &[TODO_SECOND],
        &["共 1 处"],
    ),
    changes(
        "在 <src> 中搜索 <old>_<name>，然后把它替换成 <new>_<name>",
        &[
            "find <src>*",
            "grep <old>_<name>",
            "grep <old>_<name>",
            "read /<src>/<lib>.rs",
            "read /<src>/<main>.rs",
            "edit /<src>/<lib>.rs",
            "edit /<src>/<main>.rs",
        ],
        &[NEW_LIB, NEW_MAIN],
        &["2. 已在 2 个文件"],
    ),
];
