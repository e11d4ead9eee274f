mod contents;
mod naive;

use std::fs;
use std::sync::Mutex;

use tempfile::TempDir;

use super::*;
use crate::walk::tests::{project, vpath, write};

const EVERYTHING: FilePermit<'static> = &|_| true;

fn search(project: &Project, query: &GrepQuery) -> GrepResult {
    grep(project, query, EVERYTHING, &CancellationToken::new()).unwrap()
}

fn text(project: &Project, query: &GrepQuery) -> String {
    search(project, query).render()
}

fn song() -> (TempDir, Project) {
    project(&[
        ("b.txt", "one\ntwo\nthree\nfour\nfive\nsix\ntwo two\n"),
        ("a/z.rs", "fn two() {}\n"),
        ("a.md", "none\n"),
        (".hidden", "two\n"),
        (".gitignore", "*.log\n"),
        ("x.log", "two\n"),
    ])
}

#[test]
fn text_of_content() {
    let (_folder, project) = song();
    let query = GrepQuery::new("two");
    insta::assert_snapshot!(text(&project, &query), @"
    /a/z.rs:1:fn two() {}
    /b.txt:2:two
    /b.txt:7:two two
    ");
    insta::assert_snapshot!(text(&project, &GrepQuery { before: 1, after: 1, ..query.clone() }), @"
    /a/z.rs:1:fn two() {}
    --
    /b.txt-1-one
    /b.txt:2:two
    /b.txt-3-three
    --
    /b.txt-6-six
    /b.txt:7:two two
    ");
    insta::assert_snapshot!(text(&project, &GrepQuery { after: 3, before: 1, ..query.clone() }), @"
    /a/z.rs:1:fn two() {}
    --
    /b.txt-1-one
    /b.txt:2:two
    /b.txt-3-three
    /b.txt-4-four
    /b.txt-5-five
    /b.txt-6-six
    /b.txt:7:two two
    ");
    insta::assert_snapshot!(text(&project, &GrepQuery::new("seven")), @"No matches found");
    insta::assert_snapshot!(text(&project, &GrepQuery { head_limit: 1, ..query.clone() }), @"
    /a/z.rs:1:fn two() {}
    [lines 1-1 of 3; go on with offset=1]
    ");
    insta::assert_snapshot!(text(&project, &GrepQuery { head_limit: 5, offset: 2, ..query.clone() }), @"
    /b.txt:7:two two
    [lines 3-3 of 3]
    ");
    insta::assert_snapshot!(text(&project, &GrepQuery { offset: 9, ..query.clone() }), @"
    No matches found
    [offset 9 is past the end: there are 3 lines]
    ");
    insta::assert_snapshot!(text(&project, &GrepQuery { pattern: "TWO".into(), case_sensitive: false, path: vpath("/a"), ..query }), @"/a/z.rs:1:fn two() {}");
}

#[test]
fn text_of_files_and_counts() {
    let (_folder, project) = song();
    let files = GrepQuery {
        output: GrepOutput::FilesWithMatches,
        ..GrepQuery::new("two")
    };
    insta::assert_snapshot!(text(&project, &files), @"
    Found 2 files
    /a/z.rs
    /b.txt
    ");
    insta::assert_snapshot!(text(&project, &GrepQuery { head_limit: 1, ..files.clone() }), @"
    Found 2 files
    /a/z.rs
    [files 1-1 of 2; go on with offset=1]
    ");
    insta::assert_snapshot!(text(&project, &GrepQuery { glob: Some("*.rs".into()), ..files.clone() }), @"
    Found 1 file
    /a/z.rs
    ");
    insta::assert_snapshot!(text(&project, &GrepQuery { pattern: "seven".into(), ..files }), @"No files found");
    let counts = GrepQuery {
        output: GrepOutput::Count,
        ..GrepQuery::new("two")
    };
    insta::assert_snapshot!(text(&project, &counts), @"
    /a/z.rs:1
    /b.txt:3

    Found 4 total occurrences across 2 files
    ");
    insta::assert_snapshot!(text(&project, &GrepQuery { head_limit: 1, offset: 1, ..counts.clone() }), @"
    /b.txt:3

    Found 4 total occurrences across 2 files
    [files 2-2 of 2]
    ");
    insta::assert_snapshot!(text(&project, &GrepQuery { pattern: "seven".into(), ..counts }), @"No matches found");
}

#[test]
fn which_files_are_searched() {
    for (what, change, want) in [
        ("all", GrepQuery::new("two"), "/a/z.rs /b.txt"),
        (
            "glob by name",
            GrepQuery {
                glob: Some("*.{rs,py}".into()),
                ..GrepQuery::new("two")
            },
            "/a/z.rs",
        ),
        (
            "glob by path",
            GrepQuery {
                glob: Some("a/*".into()),
                ..GrepQuery::new("two")
            },
            "/a/z.rs",
        ),
        (
            "excluding glob",
            GrepQuery {
                glob: Some("!*.rs".into()),
                ..GrepQuery::new("two")
            },
            "/b.txt",
        ),
        (
            "a glob lets nothing ignored in",
            GrepQuery {
                glob: Some("*.log".into()),
                ..GrepQuery::new("two")
            },
            "",
        ),
        (
            "type",
            GrepQuery {
                file_type: Some("rust".into()),
                ..GrepQuery::new("two")
            },
            "/a/z.rs",
        ),
        (
            "folder",
            GrepQuery {
                path: vpath("/a"),
                ..GrepQuery::new("two")
            },
            "/a/z.rs",
        ),
        (
            "file",
            GrepQuery {
                path: vpath("/b.txt"),
                ..GrepQuery::new("two")
            },
            "/b.txt",
        ),
        (
            "ignored file",
            GrepQuery {
                path: vpath("/x.log"),
                ..GrepQuery::new("two")
            },
            "/x.log",
        ),
        (
            "hidden file, whatever the type",
            GrepQuery {
                path: vpath("/.hidden"),
                file_type: Some("rust".into()),
                ..GrepQuery::new("two")
            },
            "/.hidden",
        ),
    ] {
        let (_folder, project) = song();
        let query = GrepQuery {
            output: GrepOutput::FilesWithMatches,
            ..change
        };
        let GrepHits::Files(files) = search(&project, &query).hits else {
            panic!("files were asked for")
        };
        let files: Vec<String> = files.iter().map(VPath::to_string).collect();
        assert_eq!(files.join(" "), want, "{what}");
    }
}

#[test]
fn what_matches() {
    for (pattern, content, multiline, want) in [
        ("^two$", "one\r\ntwo\r\n", false, "2:two"),
        (r"two\r$", "one\r\ntwo\r\ntwo\n", false, "2:two"),
        ("e$", "one\ntwo", false, "1:one"),
        ("wo$", "one\ntwo", false, "2:two"),
        ("(?s)one.two", "one\ntwo\n", false, ""),
        ("one.two", "x\none\ntwo\ny\n", true, "2:one 3:two"),
        (r"one\ntwo", "one\ntwo\n", true, "1:one 2:two"),
        ("(?-s)one.two", "one\ntwo\n", true, ""),
        ("", "a\n\nb\n", false, "1:a 2: 3:b"),
        ("é", "caf\u{e9}\n", false, "1:caf\u{e9}"),
        (r"^\w+$", "caf\u{e9}\n", false, "1:caf\u{e9}"),
        // A byte order mark is no part of the text.
        ("^a", "\u{feff}a\n", false, "1:a"),
    ] {
        let (_folder, project) = project(&[("f", content)]);
        let query = GrepQuery {
            multiline,
            ..GrepQuery::new(pattern)
        };
        let GrepHits::Content(lines) = search(&project, &query).hits else {
            panic!("content was asked for")
        };
        let lines: Vec<String> = lines
            .iter()
            .map(|line| format!("{}:{}", line.number, line.text))
            .collect();
        assert_eq!(lines.join(" "), want, "{pattern} in {content:?}");
    }
}

#[test]
fn occurrences() {
    for (pattern, content, multiline, want) in [
        ("a", "aa\nab\r\nb\n", false, 3),
        ("^", "a\nb\n", false, 2),
        ("$", "a\nb\n", true, 2),
        (r"a\n", "a\na\n", true, 2),
        ("a.b", "a\nb a\nb\n", true, 2),
    ] {
        let (_folder, project) = project(&[("f", content)]);
        let query = GrepQuery {
            multiline,
            output: GrepOutput::Count,
            ..GrepQuery::new(pattern)
        };
        assert_eq!(search(&project, &query).matches, want, "{pattern} in {content:?}");
    }
}

#[test]
fn kept_lines_are_bounded_by_the_page() {
    let many = "needle\n".repeat(5_000);
    let (_folder, project) = project(&[("a", &many), ("b", &many), ("c", &many)]);
    let result = search(
        &project,
        &GrepQuery {
            head_limit: 3,
            offset: 4_999,
            ..GrepQuery::new("needle")
        },
    );
    assert_eq!((result.total, result.files, result.exact), (15_000, 3, true));
    assert_eq!(result.next_offset(), Some(5_002));
    let GrepHits::Content(lines) = result.hits else {
        panic!("content was asked for")
    };
    let lines: Vec<String> = lines
        .iter()
        .map(|line| format!("{}:{}", line.path, line.number))
        .collect();
    assert_eq!(lines, ["/a:5000", "/b:1", "/b:2"]);
    // As many as can be had.
    let result = search(
        &project,
        &GrepQuery {
            head_limit: 0,
            offset: 10_000,
            ..GrepQuery::new("needle")
        },
    );
    assert_eq!(result.hits.len(), 5_000);
    let mut collector = Collector::new(GrepOutput::Content, 10);
    let hits = |lines: usize| FileHits {
        lines: (0..lines)
            .map(|_| GrepLine {
                path: vpath("/x"),
                number: 1,
                text: String::new(),
                is_match: true,
                clipped: None,
            })
            .collect(),
        line_count: lines as u64,
        match_count: lines as u64,
        binary: false,
    };
    assert_eq!(collector.keep_of(&vpath("/m")), 10);
    collector.add(&vpath("/m"), hits(10));
    assert_eq!(
        (collector.keep_of(&vpath("/z")), collector.keep_of(&vpath("/a"))),
        (0, 10)
    );
    collector.add(&vpath("/a"), hits(4));
    collector.add(&vpath("/b"), hits(9));
    // /a and /b fill the page, so /m was let go.
    assert_eq!(collector.keep_of(&vpath("/c")), 0);
}

#[test]
fn refused_files_are_counted_and_not_opened() {
    let (_folder, project) = song();
    let asked = Mutex::new(Vec::new());
    let permit = |path: &VPath| {
        asked.lock().unwrap().push(path.to_string());
        path.as_str() != "/b.txt"
    };
    let result = grep(
        &project,
        &GrepQuery::new("two"),
        &permit,
        &CancellationToken::new(),
    )
    .unwrap();
    insta::assert_snapshot!(result.render(), @"
    /a/z.rs:1:fn two() {}
    [1 file not searched: permission is needed]
    ");
    assert_eq!((result.skipped.refused, result.exact), (1, true));
    let mut asked = asked.into_inner().unwrap();
    asked.sort();
    assert_eq!(asked, ["/a.md", "/a/z.rs", "/b.txt"], "each file once, no folder");
}

#[cfg(unix)]
#[test]
fn links_are_not_read() {
    use std::os::unix::fs::symlink;

    let outside = TempDir::new().unwrap();
    write(outside.path(), "secret", "needle outside\n");
    let (folder, project) = project(&[("real/a", "needle inside\n"), ("d/b", "needle swapped\n")]);
    symlink(outside.path(), folder.path().join("out")).unwrap();
    symlink(outside.path().join("secret"), folder.path().join("file-out")).unwrap();
    symlink("real", folder.path().join("in")).unwrap();
    // Swapped between the walk and the opening.
    let permit = |path: &VPath| {
        if path.as_str() == "/d/b" {
            fs::rename(outside.path().join("secret"), outside.path().join("b")).unwrap();
            fs::remove_dir_all(folder.path().join("d")).unwrap();
            symlink(outside.path(), folder.path().join("d")).unwrap();
        }
        true
    };
    let result = grep(
        &project,
        &GrepQuery::new("needle"),
        &permit,
        &CancellationToken::new(),
    )
    .unwrap();
    insta::assert_snapshot!(result.render(), @"
    /real/a:1:needle inside
    [1 path could not be read: /d/b]
    ");
    for path in ["/out", "/out/secret", "/file-out"] {
        let query = GrepQuery {
            path: vpath(path),
            ..GrepQuery::new("needle")
        };
        let refused = grep(&project, &query, EVERYTHING, &CancellationToken::new());
        assert!(matches!(refused, Err(Error::Outside { .. })), "{path}");
    }
    let query = GrepQuery {
        path: vpath("/in"),
        ..GrepQuery::new("needle")
    };
    insta::assert_snapshot!(text(&project, &query), @"/real/a:1:needle inside");
}

/// A result has one path a line, whatever the names are made of.
#[cfg(unix)]
#[test]
fn control_characters_of_names_are_escaped() {
    let (_folder, project) = project(&[
        ("two\nlines/\u{1b}[2J.txt", "needle\n"),
        ("tab\t", "needle needle\n"),
    ]);
    let of = |output| {
        let query = GrepQuery {
            output,
            ..GrepQuery::new("needle")
        };
        text(&project, &query)
    };
    insta::assert_snapshot!(of(GrepOutput::Content), @r"
    /tab\u{9}:1:needle needle
    /two\u{a}lines/\u{1b}[2J.txt:1:needle
    ");
    insta::assert_snapshot!(of(GrepOutput::FilesWithMatches), @r"
    Found 2 files
    /tab\u{9}
    /two\u{a}lines/\u{1b}[2J.txt
    ");
    insta::assert_snapshot!(of(GrepOutput::Count), @r"
    /tab\u{9}:2
    /two\u{a}lines/\u{1b}[2J.txt:1

    Found 3 total occurrences across 2 files
    ");
    let found = crate::find(
        &project,
        &crate::FindQuery::new("*"),
        EVERYTHING,
        &CancellationToken::new(),
    );
    insta::assert_snapshot!(found.unwrap().render(), @r"
    /tab\u{9}
    /two\u{a}lines/
    /two\u{a}lines/\u{1b}[2J.txt
    ");
}

#[test]
fn refused_queries() {
    let (_folder, project) = song();
    let error = |query: GrepQuery| {
        grep(&project, &query, EVERYTHING, &CancellationToken::new())
            .unwrap_err()
            .to_string()
    };
    insta::assert_snapshot!(error(GrepQuery::new("a(")), @r"the pattern `a(` is not valid: at character 2 (`(`): unclosed group; a literal `(` is written `\(`");
    insta::assert_snapshot!(error(GrepQuery { glob: Some("{a".into()), ..GrepQuery::new("a") }), @"the pattern `{a` is not valid: unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)");
    insta::assert_snapshot!(error(GrepQuery { file_type: Some("rus".into()), ..GrepQuery::new("a") }), @"there is no file type `rus`; use a name such as `rust`, `py` or `ts`, or a glob such as `*.rus`");
    insta::assert_snapshot!(error(GrepQuery { offset: MAX_GREP_REACH, ..GrepQuery::new("a") }), @"offset 20000 is too far: pages begin before 20000; narrow the pattern or the path instead");
    insta::assert_snapshot!(error(GrepQuery { path: vpath("/nope/x"), ..GrepQuery::new("a") }), @"`/nope/x` does not exist; the nearest folder that does is `/`");
}

/// Gives text for ever, and cancels at the read with the number `at`; counts the reads.
struct Endless<'a> {
    text: &'a str,
    at: usize,
    reads: &'a mut usize,
    cancel: &'a CancellationToken,
}

impl std::io::Read for Endless<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        *self.reads += 1;
        assert!(*self.reads <= self.at, "it reads on");
        if *self.reads == self.at {
            self.cancel.cancel();
        }
        let mut written = 0;
        for (into, byte) in buffer.iter_mut().zip(self.text.bytes().cycle()) {
            *into = byte;
            written += 1;
        }
        Ok(written)
    }
}

/// Told by a count of reads: one that has begun is the last.
#[test]
fn a_file_is_not_read_on_after_a_cancellation() {
    for (text, multiline) in [
        ("needle\n", false),
        ("hay\n", false),
        ("hay", false),
        ("hay\n", true),
    ] {
        for at in [1, 2, 10] {
            let query = GrepQuery {
                multiline,
                ..GrepQuery::new("needle")
            };
            let search = Search::new(&query, &|_| {}).unwrap();
            let cancel = CancellationToken::new();
            let mut reads = 0;
            let endless = Endless {
                text,
                at,
                reads: &mut reads,
                cancel: &cancel,
            };
            let mut first = vec![0; FIRST_BYTES];
            let reading = Reading::new(endless, 0, &mut first, &cancel);
            search.search_in(reading, &mut search.searcher(), &vpath("/a"), 10, &cancel);
            assert!(reads <= at, "{text:?} {at}");
        }
    }
}

/// Told by a count of lines: after the first one, which cancels, none is looked at.
#[test]
fn what_is_found_is_told_at_once_and_nothing_after_a_cancellation() {
    let lines = "needle\n".repeat(100_000);
    let (_folder, project) = project(&[("a", &lines), ("b", &lines), ("c", &lines)]);
    let cancel = CancellationToken::new();
    let told = Mutex::new(Vec::new());
    let tell = |line: &dyn std::fmt::Display| {
        lock(&told).push(line.to_string());
        cancel.cancel();
    };
    let ended = grep_telling(&project, &GrepQuery::new("needle"), EVERYTHING, &tell, &cancel);
    assert!(matches!(ended, Err(Error::Cancelled)));
    let told = told.into_inner().unwrap();
    assert!(told.len() == 1 && told[0].ends_with(":1:needle"), "{told:?}");
}

#[test]
fn what_is_told_is_what_the_result_says() {
    let (_folder, project) = song();
    for output in [
        GrepOutput::Content,
        GrepOutput::FilesWithMatches,
        GrepOutput::Count,
    ] {
        let query = GrepQuery {
            output,
            after: 1,
            ..GrepQuery::new("[a-z]")
        };
        let told = Mutex::new(Vec::new());
        let tell = |line: &dyn std::fmt::Display| lock(&told).push(line.to_string());
        let result = grep_telling(&project, &query, EVERYTHING, &tell, &CancellationToken::new());
        let text = result.unwrap().render();
        let told = told.into_inner().unwrap();
        assert!(!told.is_empty());
        for line in told {
            assert!(text.lines().any(|said| said == line), "{line} is not in\n{text}");
        }
    }
}

#[test]
fn cancelled_before_the_first_file() {
    let (_folder, project) = song();
    let cancel = CancellationToken::new();
    let permit = |_: &VPath| {
        cancel.cancel();
        true
    };
    let ended = grep(&project, &GrepQuery::new("a"), &permit, &cancel);
    assert!(matches!(ended, Err(Error::Cancelled)));
}
