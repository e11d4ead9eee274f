//! The demo's arguments, its sample project and what it shows of a change.

use std::fs;

use super::*;
use crate::scratch::copy_tree;

fn words(line: &[&str]) -> Vec<String> {
    line.iter().map(|word| word.to_string()).collect()
}

#[test]
fn arguments_choose_sample_or_folder() {
    let sample = |request: Option<&str>, keep| Demo::Sample {
        request: request.map(str::to_owned),
        keep,
    };
    let folder = |root: &str, request: &str| Demo::Folder {
        root: root.into(),
        request: request.to_owned(),
    };
    let table: &[(&[&str], Demo)] = &[
        (&[], sample(None, false)),
        (&["--keep"], sample(None, true)),
        (&["list the files"], sample(Some("list the files"), false)),
        (&["list", "--keep"], sample(Some("list"), true)),
        (&["--root", "dir", "list"], folder("dir", "list")),
        (&["list", "--root=dir"], folder("dir", "list")),
        (&["--", "--keep"], sample(Some("--keep"), false)),
        (&["--root", "dir", "-"], folder("dir", "-")),
        (&["--root", "dir", "-h"], Demo::Help),
    ];
    for (line, expected) in table {
        assert_eq!(&parse(&words(line)).unwrap(), expected, "{line:?}");
    }
}

#[test]
fn wrong_arguments_are_explained() {
    let table: &[(&[&str], &str)] = &[
        (&["--root"], "--root needs a folder"),
        (&["--root", "dir"], "--root needs a request as well"),
        (
            &["--root", "dir", "--keep", "list"],
            "--keep is for the sample; your folder stays anyway",
        ),
        (&["--fast"], "there is no option `--fast`"),
        (
            &["list", "the", "files"],
            "more than one request: put it in quotes",
        ),
        (&[""], "the request is empty"),
    ];
    for (line, expected) in table {
        let message = parse(&words(line)).unwrap_err().to_string();
        assert_eq!(message, format!("{expected}\n{USAGE}"), "{line:?}");
    }
}

/// The bytes of the sample are its point: a checkout that converts them makes every demo and test lie.
#[test]
fn the_sample_has_its_exact_bytes_and_a_copy_keeps_them() {
    let sample = shell::repository_root().unwrap().join("tests/sample");
    let scratch = Scratch::create().unwrap();
    let copy = scratch.path().join("copy");
    copy_tree(&sample, &copy).unwrap();

    for folder in [&sample, &copy] {
        let bytes = |path: &str| fs::read(folder.join(path)).unwrap();
        let count = |path: &str, part: &[u8]| bytes(path).windows(part.len()).filter(|w| w == &part).count();
        assert!(bytes("README.md").starts_with(b"\xef\xbb\xbf#"));
        assert!(bytes("docs/suppliers.txt").starts_with(b"\xff\xfeS\0"));
        assert_eq!(count("docs/visit.txt", b"Caf\xe9 "), 1);
        assert_eq!(count("web/app.js", b"\n"), count("web/app.js", b"\r\n"));
        assert_eq!(
            (
                count("docs/changes.txt", b"\n"),
                count("docs/changes.txt", b"\r\n")
            ),
            (5, 3)
        );
        assert_eq!(count("shop/palette.py", b"\r"), 0);
        for path in [
            "README.md",
            "config.json",
            "docs/changes.txt",
            "docs/guide.md",
            "docs/visit.txt",
            "logs/shop.log",
            "mixer/src/recipe.rs",
            "shop/orders.py",
            "web/app.js",
        ] {
            assert!(count(path, b"colour") > 0, "{path}");
        }
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(
                fs::read_link(folder.join("docs/latest.md")).unwrap(),
                Path::new("guide.md")
            );
            let mode = fs::metadata(folder.join("scripts/run.sh"))
                .unwrap()
                .permissions()
                .mode();
            assert_eq!(mode & 0o111, 0o111);
        }
    }
    assert_eq!(
        difference(scratch.path(), &sample.to_string_lossy(), "copy", false).unwrap(),
        None
    );
}

#[test]
fn a_scratch_folder_goes_unless_kept() {
    let scratch = Scratch::create().unwrap();
    let mut kept = Scratch::create().unwrap();
    kept.keep();
    let (gone, stays) = (scratch.path().to_owned(), kept.path().to_owned());
    assert_ne!(gone, stays);
    drop((scratch, kept));
    assert!(!gone.exists() && stays.exists());
    fs::remove_dir(stays).unwrap();
}

#[test]
fn a_difference_is_text_in_every_encoding() {
    let scratch = Scratch::create().unwrap();
    for (folder, word) in [("before", "colour"), ("after", "color")] {
        let folder = scratch.path().join(folder);
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("crlf.js"), format!("one {word}\r\ntwo\r\n")).unwrap();
        fs::write(
            folder.join("latin.txt"),
            [b"Caf\xe9 ", word.as_bytes(), b"\n"].concat(),
        )
        .unwrap();
        fs::write(folder.join("same.txt"), "same\n").unwrap();
    }
    let text = difference(scratch.path(), "before", "after", false)
        .unwrap()
        .unwrap();
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with("index ")).collect();
    insta::assert_snapshot!(lines.join("\n"), @r"
    diff --git before/crlf.js after/crlf.js
    --- before/crlf.js
    +++ after/crlf.js
    @@ -1,2 +1,2 @@
    -one colour
    +one color
     two
    diff --git before/latin.txt after/latin.txt
    --- before/latin.txt
    +++ after/latin.txt
    @@ -1 +1 @@
    -Café colour
    +Café color
    ");
}

/// What the demo asks for is the offline model's own example: the two must not drift apart.
#[test]
fn the_request_is_the_one_that_the_offline_model_shows() {
    let source = shell::repository_root()
        .unwrap()
        .join("crates/rtc-model/src/offline.rs");
    let source = fs::read_to_string(source).unwrap();
    let words = |text: &str| {
        text.replace('\\', "")
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert!(words(&source).contains(&words(DEMO_REQUEST)));
}
