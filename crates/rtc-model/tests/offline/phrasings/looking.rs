//! Requests in English that only look.

use super::*;

/// Requests in English that only look.
pub(crate) const LOOKING: &[Phrasing] = &[
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
];
