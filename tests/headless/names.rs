//! Names with control characters, links that lead nowhere, and files that cannot be read: the answer says what is.

use std::os::unix::fs::symlink;

use rtc_tests::assert_whole;

use crate::place::{alone, last_id, names, project, shown};

#[test]
fn a_file_with_a_line_end_in_its_name_is_one_file() {
    let place = project(&[("two\nlines.txt", "old\n"), ("plain.txt", "old\n")]);
    let ended = alone(&place, "list the files", &[]);
    insta::assert_snapshot!(ended.stdout, @r"
    I will list the files.

    / has 0 folders and 2 files:
    - plain.txt
    - two\u{a}lines.txt
    ");
    let ended = alone(&place, "replace old by new everywhere", &[]);
    insta::assert_snapshot!(ended.stdout, @r"
    I will replace “old” by “new” in the whole project.

    I replaced “old” by “new” 2 times in 2 files:
    - /plain.txt: 1
    - /two\u{a}lines.txt: 1
    ");
    for name in ["two\nlines.txt", "plain.txt"] {
        assert_eq!(crate::place::content(&place, name), "new\n", "{name:?}");
    }
    assert_eq!(names(&place.root()), ["plain.txt", "two\nlines.txt"]);
    assert_whole(&shown(&place, &last_id(&place)));
}

#[test]
fn what_cannot_be_opened_is_told_in_the_words_of_the_tool() {
    let place = project(&[("a.txt", "one\n")]);
    std::fs::write(place.path().join("secret"), "secret").expect("a file is written");
    symlink("../secret", place.root().join("out")).expect("a link is made");
    symlink("nowhere", place.root().join("dangling")).expect("a link is made");
    let told =
        ["read out", "read dangling", "read nothing"].map(|request| alone(&place, request, &[]).stdout);
    insta::assert_snapshot!(told.join("\n"), @"
    I will read out.

    I could not read out: it was not allowed (`/out` leaves the project folder through the link `/out`; only what is inside the project can be used)

    I will read dangling.

    I could not read dangling: `/dangling` goes through the link `/dangling`, whose target `nowhere` does not exist

    I will read nothing.

    I found no file or folder named “nothing”.
    ");
}

/// A file of rules that is too large is read for nobody, so this needs no missing right.
#[test]
fn what_could_not_be_read_stands_in_the_answer() {
    let place = project(&[("a.txt", "one\n")]);
    let rules = "rule\n".repeat(300_000);
    std::fs::write(place.root().join(".gitignore"), rules).expect("a file is written");
    let requests = [
        "search for colour",
        "count colour",
        "replace colour by color everywhere",
        "which files contain colour",
        "搜索 colour",
    ];
    let told = requests.map(|request| {
        alone(&place, request, &[])
            .stdout
            .split_once("\n\n")
            .expect("an answer")
            .1
            .to_owned()
    });
    insta::assert_snapshot!(told.join(""), @"
    “colour” does not occur in the whole project, as far as I could see.
    [1 path could not be read: /.gitignore]
    “colour” does not occur in the whole project, as far as I could see.
    [1 path could not be read: /.gitignore]
    “colour” does not occur in the whole project, as far as I could see, so I changed nothing.
    [1 path could not be read: /.gitignore]
    No file in the whole project contains “colour”, as far as I could see.
    [1 path could not be read: /.gitignore]
    整个项目中没有找到“colour”。
    [1 path could not be read: /.gitignore]
    ");
}
