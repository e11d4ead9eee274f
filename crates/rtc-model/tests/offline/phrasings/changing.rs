//! Requests in English that change files.

use super::*;

/// Requests in English that change files.
pub(crate) const CHANGING: &[Phrasing] = &[
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
];
