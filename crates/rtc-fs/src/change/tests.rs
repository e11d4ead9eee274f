use std::fs;

use proptest::prelude::*;

use super::*;

mod encodings;

struct Folder {
    directory: tempfile::TempDir,
    project: Project,
    cancel: CancellationToken,
}

impl Folder {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let project = Project::open(directory.path()).unwrap();
        Self {
            directory,
            project,
            cancel: CancellationToken::new(),
        }
    }

    fn with(name: &str, content: &[u8]) -> Self {
        let folder = Self::new();
        fs::write(folder.directory.path().join(name), content).unwrap();
        folder
    }

    fn content(&self, name: &str) -> Vec<u8> {
        fs::read(self.directory.path().join(name)).unwrap()
    }

    fn edit(&self, name: &str, old: &str, new: &str, all: bool) -> Result<Applied, Error> {
        let planned = self
            .project
            .plan_edit(&VPath::parse(name)?, old, new, all, "call", &self.cancel)?;
        self.project
            .apply(planned, &mut |_: PreImage| Ok(()), &self.cancel)
    }

    fn write(&self, name: &str, content: &str, mode: WriteMode) -> Result<Applied, Error> {
        let planned = self
            .project
            .plan_write(&VPath::parse(name)?, content, mode, "call", &self.cancel)?;
        self.project
            .apply(planned, &mut |_: PreImage| Ok(()), &self.cancel)
    }
}

/// Edits a file with this content and gives the bytes afterwards.
fn edited(content: &[u8], old: &str, new: &str, all: bool) -> Result<Vec<u8>, Error> {
    let folder = Folder::with("a.txt", content);
    let result = folder.edit("/a.txt", old, new, all);
    if result.is_err() {
        assert_eq!(
            folder.content("a.txt"),
            content,
            "after an error the file is as it was"
        );
    }
    result.map(|applied| {
        let bytes = folder.content("a.txt");
        assert_eq!(
            (applied.hash, applied.bytes),
            (Hash::of(&bytes), bytes.len() as u64)
        );
        assert_eq!(
            fs::read_dir(folder.directory.path()).unwrap().count(),
            1,
            "nothing is left behind"
        );
        bytes
    })
}

/// Writes over a file with this content and gives the bytes afterwards.
fn written(before: Option<&[u8]>, content: &str, mode: WriteMode) -> Result<Vec<u8>, Error> {
    let folder = before.map_or_else(Folder::new, |before| Folder::with("a.txt", before));
    folder.write("/a.txt", content, mode).map(|applied| {
        assert_eq!(applied.created, before.is_none());
        folder.content("a.txt")
    })
}

#[test]
fn line_ends_of_a_crlf_file_stay() {
    let text = b"one\r\ntwo\r\nthree\r\none\r\ntwo\r\n";
    assert_eq!(
        edited(text, "two\nthree", "2\n3", false).unwrap(),
        b"one\r\n2\r\n3\r\none\r\ntwo\r\n"
    );
    assert_eq!(
        edited(text, "one\ntwo", "1\n2", true).unwrap(),
        b"1\r\n2\r\nthree\r\n1\r\n2\r\n"
    );
}

#[test]
fn other_lines_of_a_mixed_file_stay() {
    let text = b"a\r\nb\nc\r\r\nd\n\ne\r\n";
    assert_eq!(
        edited(text, "d", "D", false).unwrap(),
        b"a\r\nb\nc\r\r\nD\n\ne\r\n"
    );
}

#[test]
fn bytes_of_other_encodings_stay() {
    let latin = b"caf\xE9 au lait, d\xE9j\xE0 vu\nsecond\n";
    assert_eq!(
        edited(latin, "second", "2nd caf\u{e9}", false).unwrap(),
        b"caf\xE9 au lait, d\xE9j\xE0 vu\n2nd caf\xE9\n"
    );
    let marked = b"\xEF\xBB\xBFcaf\xC3\xA9\nsecond\n";
    assert_eq!(
        edited(marked, "second", "2nd", false).unwrap(),
        b"\xEF\xBB\xBFcaf\xC3\xA9\n2nd\n"
    );
    let wide = b"\xFF\xFEa\0\r\0\n\0b\0\r\0\n\0";
    assert_eq!(
        edited(wide, "b\n", "\u{1f600}\nc\n", false).unwrap(),
        b"\xFF\xFEa\0\r\0\n\0\x3D\xD8\0\xDE\r\0\n\0c\0\r\0\n\0"
    );
    insta::assert_snapshot!(edited(latin, "second", "\u{2713}", false).unwrap_err(), @"`/a.txt` is encoded as windows-1252, which has no `✓` (U+2713); use characters of that encoding");
}

#[test]
fn bytes_that_damage_utf8_stay_and_are_not_written() {
    let text = b"caf\xC3\xA9 \xE2\x80\x94 na\xC3\xAFve\xFF end\r\nsecond\xE9 line\n";
    let edit = |old: &str, new: &str, all| edited(text, old, new, all);
    assert_eq!(
        edit("second", "2nd \u{e9}", false).unwrap(),
        b"caf\xC3\xA9 \xE2\x80\x94 na\xC3\xAFve\xFF end\r\n2nd \xC3\xA9\xE9 line\n"
    );
    // What is only quoted around the change is not changed.
    assert_eq!(
        edit(
            "na\u{ef}ve\u{FFFD} end\nsecond\u{FFFD} line",
            "na\u{ef}ve\u{FFFD} END\nsecond\u{FFFD} line",
            false
        )
        .unwrap(),
        b"caf\xC3\xA9 \xE2\x80\x94 na\xC3\xAFve\xFF END\r\nsecond\xE9 line\n"
    );
    assert_eq!(
        edit("e", "E", true).unwrap(),
        b"caf\xC3\xA9 \xE2\x80\x94 na\xC3\xAFvE\xFF End\r\nsEcond\xE9 linE\n"
    );
    for (old, new) in [
        ("\u{FFFD} end", " end"),
        ("second", "\u{FFFD}"),
        ("second\u{FFFD} line\n", ""),
    ] {
        assert!(
            matches!(edit(old, new, false), Err(Error::DamagedText { .. })),
            "{old:?}"
        );
    }
    insta::assert_snapshot!(edit("\u{FFFD} end", "", false).unwrap_err(), @"`/a.txt` is UTF-8 but for some bytes, each shown as U+FFFD; they can neither be written nor be part of what an edit replaces: edit around them, or write the whole file without U+FFFD");
    use WriteMode::{Append, Overwrite};
    let appended = written(Some(text), "\u{2713}\n", Append).unwrap();
    assert_eq!(appended, [&text[..], "\u{2713}\n".as_bytes()].concat());
    assert_eq!(
        written(Some(text), "caf\u{e9}", Overwrite).unwrap(),
        b"caf\xC3\xA9"
    );
    for mode in [Append, Overwrite] {
        assert!(matches!(
            written(Some(text), "\u{FFFD}", mode),
            Err(Error::DamagedText { .. })
        ));
    }
    // A character that the file really has is one like any other.
    assert_eq!(
        edited(b"\xEF\xBF\xBDa", "\u{FFFD}a", "b\u{FFFD}", false).unwrap(),
        b"b\xEF\xBF\xBD"
    );
    let marked = b"\xEF\xBB\xBFcaf\xC3\xA9\xFF\nsecond\n";
    assert_eq!(
        edited(marked, "second", "2nd", false).unwrap(),
        b"\xEF\xBB\xBFcaf\xC3\xA9\xFF\n2nd\n"
    );
    assert_eq!(written(Some(marked), "x", Overwrite).unwrap(), b"\xEF\xBB\xBFx");
}

#[test]
fn refused_edits_say_what_would_be_right() {
    let error =
        |content: &[u8], old: &str, new: &str, all| edited(content, old, new, all).unwrap_err().to_string();
    insta::assert_snapshot!(error(b"a\nb\na\n", "a", "x", false), @"`old_string` occurs 2 times in `/a.txt` (lines 1, 3); add lines around it until it is unique, or set `replace_all`");
    insta::assert_snapshot!(error(b"abc", "", "x", true), @"`old_string` is empty, but `/a.txt` is not; name the text to replace, or use write");
    insta::assert_snapshot!(error(b"abc", "b", "b", false), @"`old_string` and `new_string` are the same; nothing would change in `/a.txt`");
    insta::assert_snapshot!(error(b"abc", "q", "b", false), @"`old_string` does not occur in `/a.txt`; read the file again and copy the text exactly");
    insta::assert_snapshot!(error("say \u{201C}hello\u{201D} twice\n".as_bytes(), "say \"hello\" twice", "x", false), @r#"`old_string` does not occur in `/a.txt`; the nearest text is on line 1: `say “hello” twice` (at column 5 the file has a left double quotation mark (U+201C), `old_string` has `"` (U+0022))"#);
    insta::assert_snapshot!(error("x\n".repeat(30).as_bytes(), "x", "y", false), @"`old_string` occurs 30 times in `/a.txt` (lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20 and 10 more); add lines around it until it is unique, or set `replace_all`");
    insta::assert_snapshot!(error(b"\x7FELF\0\0", "a", "b", false), @"`/a.txt` is not text (program (ELF), 6 bytes)");
    insta::assert_snapshot!(Folder::new().edit("/none.txt", "a", "b", false).unwrap_err(), @"`/none.txt` does not exist; the nearest folder that does is `/`");
    assert_eq!(edited(b"", "", "x", false).unwrap(), b"x");
}

#[test]
fn writing_keeps_what_the_file_is() {
    use WriteMode::{Append, CreateNew, Overwrite};
    assert_eq!(written(None, "a\nb", Overwrite).unwrap(), b"a\nb");
    assert_eq!(written(None, "a\nb", Append).unwrap(), b"a\nb");
    assert_eq!(written(None, "a\r\nb", CreateNew).unwrap(), b"a\r\nb");
    assert_eq!(
        written(Some(b"x\r\ny\r\n"), "a\nb\r\n", Overwrite).unwrap(),
        b"a\r\nb\r\n"
    );
    assert_eq!(written(Some(b"x\ny\n"), "a\n", Overwrite).unwrap(), b"a\n");
    assert_eq!(written(Some(b"x\r\n"), "a\n", Append).unwrap(), b"x\r\na\r\n");
    assert_eq!(written(Some(b"x"), "", Overwrite).unwrap(), b"");
    assert_eq!(
        written(Some(b"\xEF\xBB\xBFx"), "\u{e9}", Overwrite).unwrap(),
        b"\xEF\xBB\xBF\xC3\xA9"
    );
    assert_eq!(
        written(Some(b"\xEF\xBB\xBFx"), "\u{feff}y", Overwrite).unwrap(),
        b"\xEF\xBB\xBFy"
    );
    assert_eq!(
        written(Some(b"\xFE\xFF\0x"), "y", Append).unwrap(),
        b"\xFE\xFF\0x\0y"
    );
    insta::assert_snapshot!(written(Some(b"x"), "y", CreateNew).unwrap_err(), @"`/a.txt` already exists; use mode `overwrite`, or another path");
    insta::assert_snapshot!(written(Some(b"a\0b"), "y", Overwrite).unwrap_err(), @"`/a.txt` is not text (binary data, 3 bytes)");
}

#[test]
fn writing_makes_parents() {
    let folder = Folder::new();
    let applied = folder.write("/a/b/c.txt", "x", WriteMode::Overwrite).unwrap();
    assert_eq!(
        (applied.path.as_str(), applied.created, applied.encoding.name()),
        ("/a/b/c.txt", true, "UTF-8")
    );
    assert_eq!(folder.content("a/b/c.txt"), b"x");
    assert!(matches!(
        folder.write("/a/b", "x", WriteMode::Overwrite),
        Err(Error::IsFolder { .. })
    ));
    assert!(matches!(
        folder.write("/", "x", WriteMode::Overwrite),
        Err(Error::IsFolder { .. })
    ));
    assert!(matches!(
        folder.write("/a/b/c.txt/d", "x", WriteMode::Overwrite),
        Err(Error::NotFolder { .. })
    ));
}

#[test]
fn a_plan_shows_and_touches_nothing() {
    let folder = Folder::with("a.txt", b"one\ntwo\n");
    let path = VPath::parse("/a.txt").unwrap();
    let planned = folder
        .project
        .plan_edit(&path, "two", "2\n3", false, "call", &folder.cancel)
        .unwrap();
    insta::assert_snapshot!(planned.diff(), @"
    --- /a.txt
    +++ /a.txt
    @@ -1,2 +1,3 @@
     one
    -two
    +2
    +3
    ");
    assert_eq!(
        (planned.bytes(), planned.replaced(), planned.creates()),
        (8, 1, false)
    );
    assert_eq!(planned.mark().intended, Hash::of(b"one\n2\n3\n"));
    let Before::Present { hash, .. } = planned.mark().before else {
        panic!()
    };
    assert_eq!(hash, Hash::of(b"one\ntwo\n"));
    assert_eq!(folder.content("a.txt"), b"one\ntwo\n");
    assert_eq!(fs::read_dir(folder.directory.path()).unwrap().count(), 1);

    let text = serde_json::to_string(planned.mark()).unwrap();
    assert_eq!(&serde_json::from_str::<Mark>(&text).unwrap(), planned.mark());
    let again = folder
        .project
        .plan_edit(&path, "two", "2\n3", false, "call", &folder.cancel)
        .unwrap();
    let other = folder
        .project
        .plan_edit(&path, "two", "2\n3", false, "other", &folder.cancel)
        .unwrap();
    assert_eq!(again.mark().temporary, planned.mark().temporary);
    assert_ne!(other.mark().temporary, planned.mark().temporary);

    let created = folder
        .project
        .plan_write(
            &VPath::parse("/n/b").unwrap(),
            "x",
            WriteMode::Overwrite,
            "t",
            &folder.cancel,
        )
        .unwrap();
    assert_eq!(created.mark().before, Before::Absent);
    assert!(!folder.directory.path().join("n").exists());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn an_edit_changes_its_place_only_and_can_be_undone(
        before in prop::collection::vec(prop::sample::select(vec!["a", "b", "\u{e9}", "\n", "\r\n", "\r", "\t"]), 0..30),
        after in prop::collection::vec(prop::sample::select(vec!["a", "b", "\u{e9}", "\n", "\r\n", "\r"]), 0..30),
        new in "[abQ\n]{0,5}",
        mark in any::<bool>(),
    ) {
        prop_assume!(new != "Q\nZ");
        let (before, after) = (before.concat(), after.concat());
        let mut content = if mark { crate::codec::UTF8_BOM.to_vec() } else { Vec::new() };
        content.extend(format!("{before}Q\r\nZ{after}").bytes());
        let folder = Folder::with("a.txt", &content);
        let path = VPath::parse("/a.txt").unwrap();
        let planned = folder.project.plan_edit(&path, "Q\nZ", &new, false, "call", &folder.cancel).unwrap();
        let mut image = None;
        folder.project.apply(planned, &mut |kept: PreImage| { image = Some(kept); Ok(()) }, &folder.cancel).unwrap();
        let result = folder.content("a.txt");
        let start = content.len() - after.len() - "Q\r\nZ".len();
        prop_assert_eq!(&result[..start], &content[..start]);
        prop_assert!(result.ends_with(after.as_bytes()));
        prop_assert_eq!(image.unwrap().before(&result).unwrap().unwrap(), content);
    }
}
