//! Requests in English: other ways to say it, several steps, and what newcomers say.

use super::*;

/// Requests in English: other ways to say it, several steps, and what newcomers say.
pub(crate) const MIXED: &[Phrasing] = &[
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
    // as a newcomer says it
    looks("what files do you have here?", &["ls /"], &["<todo>.txt"]),
    looks("how many rust files are in <src>?", &["find *.rs"], &["2 files"]),
    looks(
        "how many python files are in this project?",
        &["find *.py"],
        &["1 file"],
    ),
    looks(
        "which file mentions <old>_<name>?",
        &["grep <old>_<name>"],
        &["/<src>/<lib>.rs"],
    ),
    looks(
        "search for \"<debug>\", but only in <src>/",
        &["grep <debug>"],
        &["2 lines of 1 file in /<src>"],
    ),
    changes(
        "Can you find all the places where we use '<colour>' in <docs>/ and change them to '<color>'?",
        &[
            "grep <colour>",
            "grep <colour>",
            "read /<docs>/<guide>.md",
            "edit /<docs>/<guide>.md",
        ],
        &[COLOR_GUIDE],
        &["2 times in 1 file"],
    ),
    changes(
        "please fix the typo \"<colour>\" -> \"<color>\" in <docs>/<guide>.md",
        &[
            "grep <colour>",
            "read /<docs>/<guide>.md",
            "edit /<docs>/<guide>.md",
        ],
        &[COLOR_GUIDE],
        &["2 times in 1 file"],
    ),
    // Where the step before worked, not everywhere: a change goes no further than the user can have meant.
    changes(
        "open <docs>/<guide>.md and change <colour> to <color>",
        &[
            "read /<docs>/<guide>.md",
            "grep <colour>",
            "edit /<docs>/<guide>.md",
        ],
        &[COLOR_GUIDE],
        &["2 times in 1 file"],
    ),
    changes(
        "find *.rs, then replace <old> by <new>",
        &[
            "find *.rs",
            "grep <old>",
            "read /<src>/<lib>.rs",
            "read /<src>/<main>.rs",
            "edit /<src>/<lib>.rs",
            "edit /<src>/<main>.rs",
        ],
        &[NEW_LIB, NEW_MAIN],
        &["2 times in 2 files"],
    ),
    looks(
        "find *.rs in <src>",
        &["find *.rs"],
        &["2 files named *.rs below /<src>"],
    ),
    looks(
        "find <guide>.md in <docs>",
        &["find <guide>.md"],
        &["/<docs>/<guide>.md"],
    ),
    looks(
        "find the function <old>_<name> in <src>/",
        &["grep <old>_<name>"],
        &["/<src>/<lib>.rs:1"],
    ),
    looks(
        "is there a file called <guide>.md?",
        &["find <guide>.md"],
        &["/<docs>/<guide>.md"],
    ),
    looks(
        "where do we use <old>_<name>?",
        &["grep <old>_<name>"],
        &["/<src>/<lib>.rs:1"],
    ),
    looks(
        "do any files mention <colour>?",
        &["grep <colour>"],
        &["/<README>.md", "/<docs>/<guide>.md"],
    ),
    looks(
        "show me the first few lines of <src>/<app>.py",
        &["read /<src>/<app>.py"],
        &["4 lines"],
    ),
    looks(
        "Hey, could you list what's inside the <docs> folder please?",
        &["ls /<docs>"],
        &["<guide>.md"],
    ),
    looks(
        "find all files that contain the word <colour> and read them",
        &[
            "grep <colour>",
            "grep <colour>",
            "read /<README>.md",
            "read /<docs>/<guide>.md",
        ],
        &["# <Paint>s", "The <colour> <red>."],
    ),
    looks(
        "give me an overview of the project structure",
        &["find *"],
        &["/<src>/<main>.rs"],
    ),
    looks("delete everything in <todo>.txt", &[], &["I did not understand"]),
    changes(
        "replace all \"<colour>\" with \"<color>\" in the <docs> folder only",
        &[
            "grep <colour>",
            "read /<docs>/<guide>.md",
            "edit /<docs>/<guide>.md",
        ],
        &[COLOR_GUIDE],
        &["2 times in 1 file"],
    ),
    // A setting, not a text: the planner cannot know what it is now.
    looks(
        "change the <colour> to <color> in <README>.md",
        &[],
        &["I did not understand"],
    ),
    changes(
        "in <todo>.txt add a new line at the end: \"<third>\"",
        EDIT_TODO,
        &[TODO_THIRD],
        &["at the end of /<todo>.txt"],
    ),
    changes(
        "add a line to <todo>.txt: <third>",
        EDIT_TODO,
        &[TODO_THIRD],
        &["at the end of /<todo>.txt"],
    ),
    changes(
        "append this line to <todo>.txt: one, two and three",
        EDIT_TODO,
        &[("/<todo>.txt", "<first>\n<second>\none, two and three\n")],
        &["at the end of /<todo>.txt"],
    ),
    looks(
        "append this line to <todo>.txt: one two, then list the files",
        &["ls /"],
        &["I did not understand “append this line"],
    ),
    changes(
        "create <hello>.txt with \"<hello>\", then add \"<world>\" at the end",
        &[
            "ls /",
            "write /<hello>.txt",
            "read /<hello>.txt",
            "edit /<hello>.txt",
        ],
        &[("/<hello>.txt", "<hello>\n<world>")],
        &["2. I added a line at the end of /<hello>.txt"],
    ),
    changes(
        "create a file <hello>.txt in <docs> with \"<hello> <world>\"",
        &["ls /<docs>", "write /<docs>/<hello>.txt"],
        &[("/<docs>/<hello>.txt", "<hello> <world>")],
        &["created /<docs>/<hello>.txt"],
    ),
    changes(
        "remove all empty lines from <README>.md",
        &[
            "find <README>.md",
            "grep ^[ \\t\\r]*$",
            "read /<README>.md",
            "edit /<README>.md",
        ],
        &[("/<README>.md", "# <Paint>s\nEvery <colour> has a name.\n")],
        &["deleted 1 line"],
    ),
    looks(
        "delete the blank lines in <todo>.txt",
        &["find <todo>.txt", "grep ^[ \\t\\r]*$"],
        &["no empty line", "changed nothing"],
    ),
];
