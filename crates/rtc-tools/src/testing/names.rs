//! Names with anything in them: each tool shows the same spelling, and reaches by it what it is the spelling of.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use rtc_tool::handle;
use serde_json::{Value, json};

use super::*;
use crate::{Edit, FileCalls, Find, Grep, Lines, Ls, Read, Write};

/// Names and how they are shown, and whether that is also a glob that finds them.
fn names() -> Vec<(Vec<u8>, String, bool)> {
    let mut names: Vec<(Vec<u8>, String, bool)> = [
        (&b"plain.txt"[..], "plain.txt", true),
        (b"two\nlines", r"two\u{a}lines", true),
        (b"return\r", r"return\u{d}", true),
        (b"\x1B[31mred", r"\u{1b}[31mred", false),
        (br#"it's "so" `$(x)`"#, r#"it's "so" `$(x)`"#, true),
        (br"back\slash", r"back\slash", false),
        (b" blank ", " blank ", true),
        (b"caf\xE9.txt", r"caf\x{e9}.txt", true),
        (b"\xFF\xFE\n", r"\x{ff}\x{fe}\u{a}", true),
        ("caf\u{e9}.txt".as_bytes(), "caf\u{e9}.txt", true),
        // They only look like the spelling of another one.
        (br"two\u{a}lines", r"two\u{5c}u{a}lines", true),
        // What is left of braces is an alternation of the glob.
        (br"two\u{5c}u{a}lines", r"two\u{5c}u{5c}u{a}lines", false),
        (br"caf\x{e9}.txt", r"caf\u{5c}x{e9}.txt", true),
        // Joiners stay: names are written with them.
        (
            "\u{645}\u{200c}\u{62e}".as_bytes(),
            "\u{645}\u{200c}\u{62e}",
            true,
        ),
    ]
    .into_iter()
    .map(|(name, shown, is_glob)| (name.to_vec(), shown.to_owned(), is_glob))
    .collect();
    // What turns the direction of text, and what has no width.
    for hidden in "\u{61c}\u{200e}\u{200f}\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2066}\u{2067}\u{2068}\u{2069}\u{200b}\u{2060}\u{feff}".chars() {
        let shown = format!(r"a\u{{{:x}}}txt.exe", u32::from(hidden));
        names.push((format!("a{hidden}txt.exe").into_bytes(), shown, true));
    }
    names.push((vec![b'n'; 255], "n".repeat(255), true));
    names.push((vec![1; 255], r"\u{1}".repeat(255), false));
    names
}

struct Odd {
    here: Workplace,
    names: Vec<(Vec<u8>, String, bool)>,
}

/// A folder whose name is odd as well, with a file of each name.
fn odd() -> Odd {
    let here = workplace(&[]);
    let names = names();
    let folder = here.folder.path().join("d\u{202e}\n");
    std::fs::create_dir(&folder).unwrap();
    let odd = Odd { here, names };
    for (number, (name, ..)) in odd.names.iter().enumerate() {
        odd.put(name, &format!("needle {number} of many\n"));
    }
    odd
}

/// How the folder is shown.
const FOLDER: &str = r"/d\u{202e}\u{a}";

impl Odd {
    fn on_disk(&self, name: &[u8]) -> PathBuf {
        self.here
            .folder
            .path()
            .join("d\u{202e}\n")
            .join(OsStr::from_bytes(name))
    }

    #[expect(clippy::disallowed_methods, reason = "tests lay out their own folders")]
    fn put(&self, name: &[u8], text: &str) {
        std::fs::write(self.on_disk(name), text).unwrap();
    }

    #[expect(clippy::disallowed_methods, reason = "tests look at their own folders")]
    fn text(&self, name: &[u8]) -> String {
        std::fs::read_to_string(self.on_disk(name)).unwrap()
    }

    fn paths(&self) -> BTreeSet<String> {
        self.names
            .iter()
            .map(|(_, shown, _)| format!("{FOLDER}/{shown}"))
            .collect()
    }
}

#[tokio::test]
async fn each_tool_shows_a_name_in_one_way_and_reaches_it_so() {
    let odd = odd();
    let here = &odd.here;
    assert_eq!(here.text(&handle(Ls), json!({})).await, r"d\u{202e}\u{a}/");
    let listed = here.text(&handle(Ls), json!({"path": FOLDER})).await;
    let listed: BTreeSet<&str> = listed.split('\n').collect();
    let shown: BTreeSet<&str> = odd.names.iter().map(|(_, shown, _)| shown.as_str()).collect();
    assert_eq!(listed, shown);

    let found = here
        .text(&handle(Find), json!({"path": FOLDER, "pattern": "*"}))
        .await;
    assert_eq!(
        found.split('\n').map(str::to_owned).collect::<BTreeSet<_>>(),
        odd.paths()
    );
    let files = json!({"path": FOLDER, "pattern": "needle", "output_mode": "files_with_matches"});
    let files = here.text(&handle(Grep), files).await;
    assert_eq!(
        files
            .split('\n')
            .skip(1)
            .map(str::to_owned)
            .collect::<BTreeSet<_>>(),
        odd.paths()
    );

    for (number, (name, shown, is_glob)) in odd.names.iter().enumerate() {
        let path = format!("{FOLDER}/{shown}");
        let needle = format!("needle {number} of many");
        let read = here.text(&handle(Read), json!({"path": path})).await;
        assert_eq!(read, format!("     1\t{needle}"));
        let grep = here
            .text(&handle(Grep), json!({"path": path, "pattern": "needle"}))
            .await;
        assert_eq!(grep, format!("{path}:1:{needle}"));
        if *is_glob {
            let found = here.text(&handle(Find), json!({"pattern": shown})).await;
            assert!(found.split('\n').any(|found| found == path), "{shown}: {found}");
            let grep = json!({"pattern": "needle", "glob": shown});
            let grep = here.text(&handle(Grep), grep).await;
            assert!(grep.contains(&format!("{path}:1:{needle}")), "{shown}: {grep}");
        }
        let edit = json!({"path": path, "old_string": "needle", "new_string": "pin"});
        let edited = here.text(&handle(Edit), edit).await;
        assert!(
            edited.starts_with(&format!("path: {path}\n")) && edited.contains(&format!("--- {path}\n")),
            "{edited}"
        );
        assert_eq!(odd.text(name), format!("pin {number} of many\n"));
        let written = here
            .text(&handle(Write), json!({"path": path, "content": "new\n"}))
            .await;
        assert!(written.starts_with(&format!("path: {path}\n")), "{written}");
        assert_eq!(odd.text(name), "new\n");
        odd.put(name, "theirs\n");
        let stale = here
            .text(&handle(Write), json!({"path": path, "content": "newer\n"}))
            .await;
        assert!(
            stale.starts_with(&format!("Stale: `{path}` has changed")),
            "{stale}"
        );
    }
    let missing = here
        .text(
            &handle(Read),
            json!({"path": format!(r"{FOLDER}/no\u{{202e}}ne/x")}),
        )
        .await;
    assert_eq!(
        missing,
        format!(
            r"NotFound: `{FOLDER}/no\u{{202e}}ne/x` does not exist; the nearest folder that does is `{FOLDER}`"
        )
    );
}

#[tokio::test]
async fn a_program_is_given_names_by_which_it_reaches_them() {
    let odd = odd();
    let calls = FileCalls::new(odd.here.context.clone());
    let strings = |list: &Value| -> BTreeSet<String> {
        let items = list.as_array().unwrap().iter();
        items.map(|item| item.as_str().unwrap().to_owned()).collect()
    };
    let listed = strings(&calls.list(FOLDER).await.unwrap());
    assert_eq!(
        listed,
        odd.names.iter().map(|(_, shown, _)| shown.clone()).collect()
    );
    let args = |args: Value| serde_json::from_value(args).unwrap();
    let found = calls
        .find(args(json!({"path": FOLDER, "pattern": "*"})))
        .await
        .unwrap();
    assert_eq!(strings(&found["items"]), odd.paths());
    for (number, (name, shown, _)) in odd.names.iter().enumerate() {
        let path = format!("{FOLDER}/{shown}");
        assert_eq!(calls.stat(&path).await.unwrap()["path"], json!(path));
        let text = calls.read(&path, Lines::default()).await.unwrap();
        assert_eq!(text, json!(format!("needle {number} of many\n")));
        let grep = json!({"path": path, "pattern": "needle"});
        let hits = calls.grep(serde_json::from_value(grep).unwrap()).await.unwrap();
        assert_eq!(hits["items"][0]["path"], json!(path));
        let edit = json!({"path": path, "old_string": "needle", "new_string": "pin"});
        calls.edit(serde_json::from_value(edit).unwrap()).await.unwrap();
        assert_eq!(odd.text(name), format!("pin {number} of many\n"));
        let moved = format!("/moved/{shown}");
        assert_eq!(
            calls.rename(&path, &moved).await.unwrap(),
            json!({"from": path, "to": moved})
        );
        assert!(!odd.on_disk(name).exists());
        let there = odd.here.folder.path().join("moved").join(OsStr::from_bytes(name));
        assert!(there.exists(), "{shown}");
        assert_eq!(calls.remove(&moved, false).await.unwrap()["path"], json!(moved));
        assert!(!there.exists(), "{shown}");
    }
    assert!(calls.changed().contains(&format!(r"{FOLDER}/two\u{{a}}lines")));
}
