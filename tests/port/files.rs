//! The files of a project over the port: what is read and written, who may, and every error.

use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use rtc_tests::Workplace;
use rtc_tests::serving::{Serving, token};
use serde_json::{Value, json};

use crate::client::{Client, Heard, call, code, result};

fn serve(place: &Workplace) -> (Serving, Client) {
    let serving = Serving::start(place, &[]);
    let client = Client::connected(serving.port(), serving.token());
    (serving, client)
}

fn names(page: &Value) -> Vec<&str> {
    let items = page["items"].as_array().expect("items");
    items.iter().filter_map(|item| item["name"].as_str()).collect()
}

#[test]
fn a_file_is_listed_read_written_and_found() {
    let place = Workplace::empty();
    let root = place.root();
    std::fs::create_dir(root.join("src")).expect("a folder");
    std::fs::write(root.join("src/main.rs"), "fn main() {}\n").expect("a file");
    std::fs::write(root.join("notes.txt"), "chalk\n").expect("a file");
    symlink("notes.txt", root.join("link")).expect("a link");
    let (_serving, mut client) = serve(&place);
    let page = result(&mut client, "v1.fs.list", json!({}));
    assert_eq!(names(&page), ["link", "notes.txt", "src"]);
    assert_eq!(page.get("next_cursor"), None);
    let [link, notes, src] = [0, 1, 2].map(|at| page["items"][at].clone());
    assert_eq!(
        (&link["kind"], &link["target"]),
        (&json!("link"), &json!("notes.txt"))
    );
    assert_eq!((&notes["kind"], &notes["size"]), (&json!("file"), &json!(6)));
    assert_eq!((&src["kind"], &src["size"]), (&json!("folder"), &Value::Null));
    assert!(notes["modified_at"].is_string());

    let read = result(&mut client, "v1.fs.read", json!({"path": "link"}));
    assert_eq!(
        (&read["path"], &read["content"]),
        (&json!("/notes.txt"), &json!("chalk\n"))
    );
    assert_eq!(
        (&read["format"], &read["encoding"]),
        (&json!("text"), &json!("UTF-8"))
    );
    let stat = result(&mut client, "v1.fs.stat", json!({"path": "/notes.txt"}));
    assert_eq!(stat["item"]["hash"], read["hash"]);
    let write = json!({"path": "/notes.txt", "content": "chalk\ncheese\n", "base_hash": read["hash"]});
    let written = result(&mut client, "v1.fs.write", write);
    assert_eq!(
        (&written["created"], &written["size"]),
        (&json!(false), &json!(13))
    );
    let stat = result(&mut client, "v1.fs.stat", json!({"path": "/notes.txt"}));
    assert_eq!(stat["item"]["hash"], written["hash"]);
    assert_eq!(
        std::fs::read_to_string(root.join("notes.txt")).expect("the file"),
        "chalk\ncheese\n"
    );
    let new = json!({"path": "/new/folder/f.bin", "content": BASE64.encode(b"\0\xff"), "format": "base64"});
    assert_eq!(result(&mut client, "v1.fs.write", new)["created"], true);
    assert_eq!(
        std::fs::read(root.join("new/folder/f.bin")).expect("the file"),
        b"\0\xff"
    );
    let read = result(&mut client, "v1.fs.read", json!({"path": "/new/folder/f.bin"}));
    assert_eq!(
        (&read["format"], &read["content"]),
        (&json!("base64"), &json!(BASE64.encode(b"\0\xff")))
    );

    for (pattern, found) in [
        ("MAIN", json!([])),
        ("main", json!(["/src/main.rs"])),
        ("src/ma", json!(["/src/main.rs"])),
        ("*.rs", json!(["/src/main.rs"])),
        ("new", json!(["/new/"])),
        (
            "**",
            json!([
                "/link",
                "/new/",
                "/new/folder/",
                "/new/folder/f.bin",
                "/notes.txt",
                "/src/",
                "/src/main.rs"
            ]),
        ),
    ] {
        let matches = result(&mut client, "v1.fs.find", json!({ "pattern": pattern }));
        assert_eq!(matches, json!({"items": found, "more": false}), "{pattern}");
    }
    let cut = result(&mut client, "v1.fs.find", json!({"pattern": "**", "limit": 2}));
    assert_eq!(cut, json!({"items": ["/link", "/new/"], "more": true}));
}

#[test]
fn every_error_has_its_code() {
    let place = Workplace::empty();
    let root = place.root();
    std::fs::write(place.path().join("secret"), "secret").expect("a file");
    std::fs::write(root.join("f"), "text\n").expect("a file");
    std::fs::write(root.join("binary"), b"\0\x01\x02\xff").expect("a file");
    std::fs::write(root.join("latin"), b"caf\xe9 na\xefve\n").expect("a file");
    std::fs::create_dir(root.join("folder")).expect("a folder");
    mkfifo(&root.join("pipe"), Mode::S_IRWXU).expect("a pipe");
    for (name, target) in [
        ("out", "../secret"),
        ("absolute", "/etc/passwd"),
        ("up", ".."),
        ("dangling", "nowhere"),
        ("circle", "circle"),
    ] {
        symlink(target, root.join(name)).expect("a link");
    }
    let large = std::fs::File::create(root.join("large")).expect("a file");
    large.set_len(100 << 20).expect("it is as large");
    let huge = std::fs::File::create(root.join("huge")).expect("a file");
    huge.set_len((512 << 20) + 1).expect("it is as large");
    let (_serving, mut client) = serve(&place);
    let unknown = "0198c0de-0000-7000-8000-000000000001";
    let hash = "0".repeat(64);
    let table = [
        ("list", json!({"path": "/none"}), "file.not_found"),
        ("list", json!({"path": "/f"}), "file.wrong_kind"),
        ("list", json!({"path": "/up"}), "file.outside_project"),
        ("list", json!({"path": "/../x"}), "rpc.invalid_argument"),
        ("list", json!({"path": "/a\0b"}), "rpc.invalid_argument"),
        ("list", json!({"project_id": unknown}), "project.not_found"),
        ("read", json!({"path": "/none"}), "file.not_found"),
        ("read", json!({"path": "/dangling"}), "file.not_found"),
        ("read", json!({"path": "/circle"}), "file.not_found"),
        ("read", json!({"path": "/out"}), "file.outside_project"),
        ("read", json!({"path": "/absolute"}), "file.outside_project"),
        ("read", json!({"path": "/up/secret"}), "file.outside_project"),
        ("read", json!({"path": "/folder"}), "file.wrong_kind"),
        ("read", json!({"path": "/f/x"}), "file.wrong_kind"),
        ("read", json!({"path": "/pipe"}), "file.wrong_kind"),
        (
            "read",
            json!({"path": "/binary", "format": "text"}),
            "file.not_text",
        ),
        (
            "read",
            json!({"path": "/large", "format": "text"}),
            "file.too_large",
        ),
        ("read", json!({"path": "/huge"}), "file.too_large"),
        (
            "read",
            json!({"path": "/latin", "offset": 4}),
            "rpc.invalid_argument",
        ),
        (
            "read",
            json!({"project_id": unknown, "path": "/f"}),
            "project.not_found",
        ),
        ("stat", json!({"path": "/none"}), "file.not_found"),
        ("stat", json!({"path": "/out"}), "file.outside_project"),
        (
            "stat",
            json!({"project_id": unknown, "path": "/f"}),
            "project.not_found",
        ),
        ("find", json!({"pattern": "*", "path": "/none"}), "file.not_found"),
        ("find", json!({"pattern": "*", "path": "/f"}), "file.wrong_kind"),
        (
            "find",
            json!({"pattern": "*", "path": "/up"}),
            "file.outside_project",
        ),
        ("find", json!({"pattern": "["}), "rpc.invalid_argument"),
        (
            "find",
            json!({"project_id": unknown, "pattern": "*"}),
            "project.not_found",
        ),
        ("write", json!({"path": "/f", "content": "x"}), "file.conflict"),
        (
            "write",
            json!({"path": "/f", "content": "x", "base_hash": hash}),
            "file.conflict",
        ),
        (
            "write",
            json!({"path": "/none", "content": "x", "base_hash": hash}),
            "file.conflict",
        ),
        (
            "write",
            json!({"path": "/folder", "content": "x"}),
            "file.wrong_kind",
        ),
        (
            "write",
            json!({"path": "/pipe", "content": "x"}),
            "file.wrong_kind",
        ),
        (
            "write",
            json!({"path": "/out", "content": "x"}),
            "file.outside_project",
        ),
        (
            "write",
            json!({"path": "/up/new", "content": "x"}),
            "file.outside_project",
        ),
        (
            "write",
            json!({"path": "/dangling", "content": "x"}),
            "file.not_found",
        ),
        (
            "write",
            json!({"path": "/huge", "content": "x"}),
            "file.too_large",
        ),
        (
            "write",
            json!({"path": "/binary", "content": "x"}),
            "file.not_text",
        ),
        (
            "write",
            json!({"path": "/latin", "content": "中"}),
            "file.unencodable",
        ),
        (
            "write",
            json!({"path": "/new", "content": "%", "format": "base64"}),
            "rpc.invalid_argument",
        ),
        (
            "write",
            json!({"project_id": unknown, "path": "/f", "content": "x"}),
            "project.not_found",
        ),
    ];
    let count = || std::fs::read_dir(place.root()).expect("the folder").count();
    let before = count();
    for (method, ask, expected) in table {
        let method = format!("v1.fs.{method}");
        assert_eq!(
            code(&mut client, &method, ask.clone()),
            expected,
            "{method} {ask}"
        );
    }
    // Numbers that are none, or out of every bound.
    for number in [
        "-1",
        "1.5",
        "1e300",
        "\"1\"",
        "\"NaN\"",
        "18446744073709551616",
        "true",
        "[]",
    ] {
        let number: Value = serde_json::from_str(number).expect("JSON");
        for ask in [
            json!({"path": "/f", "offset": number}),
            json!({"path": "/f", "limit": number}),
        ] {
            assert_eq!(
                code(&mut client, "v1.fs.read", ask.clone()),
                "rpc.invalid_argument",
                "{ask}"
            );
        }
    }
    let far = result(
        &mut client,
        "v1.fs.read",
        json!({"path": "/f", "offset": u64::MAX, "limit": u64::MAX}),
    );
    assert_eq!((&far["content"], far.get("next_offset")), (&json!(""), None));
    assert_eq!(count(), before, "nothing was made");
    assert_eq!(
        std::fs::read(place.path().join("secret")).expect("the file"),
        b"secret"
    );

    // A pipe has a place and no content; a large file is read in parts and has no hash at once.
    let pipe = result(&mut client, "v1.fs.stat", json!({"path": "/pipe"}));
    assert_eq!(
        (&pipe["item"]["kind"], &pipe["item"]["hash"]),
        (&json!("other"), &Value::Null)
    );
    let large = result(&mut client, "v1.fs.stat", json!({"path": "/large"}));
    assert_eq!(
        (&large["item"]["size"], &large["item"]["hash"]),
        (&json!(100 << 20), &Value::Null)
    );
    let end = (100_u64 << 20) - 2;
    let read = result(
        &mut client,
        "v1.fs.read",
        json!({"path": "/large", "offset": end}),
    );
    assert_eq!(
        (&read["content"], read.get("next_offset")),
        (&json!(BASE64.encode(b"\0\0")), None)
    );
    let read = result(&mut client, "v1.fs.read", json!({"path": "/large", "limit": 3}));
    assert_eq!(
        (&read["content"], &read["next_offset"]),
        (&json!(BASE64.encode(b"\0\0\0")), &json!(3))
    );
}

#[test]
fn only_who_may_act_on_this_device_reaches_its_files() {
    let place = Workplace::empty();
    std::fs::write(place.root().join("f"), "text\n").expect("a file");
    let serving = Serving::start(&place, &[]);
    let asks = [
        ("v1.fs.list", json!({})),
        ("v1.fs.read", json!({"path": "/f"})),
        ("v1.fs.stat", json!({"path": "/f"})),
        ("v1.fs.find", json!({"pattern": "*"})),
        ("v1.fs.write", json!({"path": "/new", "content": ""})),
    ];
    for args in [
        &["--scope", "view,converse,approve"][..],
        &["--device", "0198c0de-0000-7000-8000-0000000000d9"],
    ] {
        let mut client = Client::connected(serving.port(), &token(&place, args));
        for (method, ask) in &asks {
            assert_eq!(
                code(&mut client, method, ask.clone()),
                "auth.permission_denied",
                "{method} {args:?}"
            );
        }
    }
    assert!(!place.root().join("new").exists());
    let mut client = Client::connected(serving.port(), &token(&place, &["--scope", "execute"]));
    for (method, ask) in asks {
        result(&mut client, method, ask);
    }
}

#[test]
fn the_programs_own_data_is_out_of_reach() {
    let place = Workplace::empty();
    let mut command = place.command(&["serve"]);
    command.arg("--root").arg(place.path());
    let serving = Serving::of(command);
    let mut client = Client::connected(serving.port(), serving.token());
    assert!(place.data().join("instance.json").exists());
    symlink("data", place.path().join("link")).expect("a link");
    for path in ["/data", "/data/instance.json", "/link/instance.json", "/data/new"] {
        for (method, ask) in [
            ("v1.fs.list", json!({ "path": path })),
            ("v1.fs.read", json!({ "path": path })),
            ("v1.fs.stat", json!({ "path": path })),
            ("v1.fs.find", json!({"path": path, "pattern": "*"})),
            ("v1.fs.write", json!({"path": path, "content": "x"})),
        ] {
            assert_eq!(
                code(&mut client, method, ask),
                "file.outside_project",
                "{method} {path}"
            );
        }
    }
}

#[test]
fn what_is_saved_keeps_its_encoding_and_its_line_ends() {
    let place = Workplace::empty();
    let table: &[(&[u8], &str, &str, &[u8])] = &[
        (
            b"caf\xe9 na\xefve\r\nend\n",
            "end",
            "END",
            b"caf\xe9 na\xefve\r\nEND\n",
        ),
        (b"\xef\xbb\xbfa\r\nb\r\n", "b", "c", b"\xef\xbb\xbfa\r\nc\r\n"),
        (b"\xff\xfea\0\r\0\n\0b\0", "b", "c", b"\xff\xfea\0\r\0\n\0c\0"),
        (b"no end", "no", "an", b"an end"),
    ];
    let (_serving, mut client) = serve(&place);
    for (number, (before, from, to, after)) in table.iter().enumerate() {
        let file = place.root().join(format!("f{number}"));
        std::fs::write(&file, before).expect("a file");
        let path = format!("/f{number}");
        let read = result(&mut client, "v1.fs.read", json!({ "path": path }));
        let text = read["content"].as_str().expect("a text");
        assert!(!text.starts_with('\u{feff}'));
        // As it is, and as an editor that knows one line end only gives it back.
        for saved in [text.to_owned(), text.replace("\r\n", "\n")] {
            let write = json!({"path": path, "content": saved, "base_hash": read["hash"]});
            assert_eq!(result(&mut client, "v1.fs.write", write)["hash"], read["hash"]);
            assert_eq!(std::fs::read(&file).expect("the file"), *before, "{number}");
        }
        let changed = text.replace("\r\n", "\n").replace(from, to);
        let write = json!({"path": path, "content": changed, "base_hash": read["hash"]});
        result(&mut client, "v1.fs.write", write);
        assert_eq!(std::fs::read(&file).expect("the file"), *after, "{number}");
    }
    assert!(
        std::fs::read_dir(place.data().join("pre-images"))
            .expect("the folder")
            .count()
            >= table.len()
    );
}

#[test]
fn of_two_writers_one_wins() {
    let place = Workplace::empty();
    let (serving, mut one) = serve(&place);
    let mut two = Client::connected(serving.port(), serving.token());
    let mut base = Value::Null;
    for round in 0..10 {
        let write = |who: &str| json!({"path": "/f", "content": format!("{who} {round}"), "base_hash": base});
        for (client, who) in [(&mut one, "one"), (&mut two, "two")] {
            let frame = json!({"id": 8, "rpc": {"method": "v1.fs.write", "data": write(who)}});
            client.send(&frame.to_string());
        }
        let heard = [&mut one, &mut two].map(|client| match client.hear() {
            Heard::Text(text) => serde_json::from_str::<Value>(&text).expect("JSON"),
            end => panic!("{end:?}"),
        });
        let won: Vec<usize> = (0..2).filter(|at| heard[*at].get("rpc").is_some()).collect();
        assert_eq!(won.len(), 1, "{heard:?}");
        let told = heard[1 - won[0]]["error"]["message"].as_str().expect("a refusal");
        let (message, details) = told.split_once('\n').expect("details");
        assert!(message.starts_with("file.conflict"), "{told}");
        let details: Value = serde_json::from_str(details).expect("JSON");
        let hash = heard[won[0]]["rpc"]["data"]["result"]["hash"].clone();
        assert_eq!((&details["hash"], &details["path"]), (&hash, &json!("/f")));
        let who = ["one", "two"][won[0]];
        assert_eq!(
            std::fs::read_to_string(place.root().join("f")).expect("the file"),
            format!("{who} {round}")
        );
        base = hash;
    }
    let gone = call(
        &mut one,
        "v1.fs.write",
        json!({"path": "/gone", "content": "", "base_hash": base}),
    );
    assert_eq!(gone.expect_err("a conflict").1["hash"], Value::Null);
}

#[test]
fn a_large_text_comes_in_parts_that_end_at_characters() {
    let place = Workplace::empty();
    let text = "é\n\u{1}\"".repeat(400_000);
    std::fs::write(place.root().join("f"), &text).expect("a file");
    let (_serving, mut client) = serve(&place);
    for limit in [1_000_001_u64, u64::MAX] {
        let (mut all, mut offset) = (String::new(), json!(0));
        while !offset.is_null() {
            let ask = json!({"path": "/f", "offset": offset, "limit": limit});
            let mut read = result(&mut client, "v1.fs.read", ask);
            let part = read["content"].as_str().expect("a text");
            assert!(!part.is_empty() && part.len() as u64 <= limit);
            all.push_str(part);
            offset = read["next_offset"].take();
        }
        assert!(all == text, "{limit}");
    }
    let one = result(&mut client, "v1.fs.read", json!({"path": "/f", "limit": 1}));
    assert_eq!(
        (&one["content"], &one["next_offset"]),
        (&json!("é"), &json!(2)),
        "never less than a character"
    );
}

#[test]
fn a_folder_of_a_hundred_thousand_entries_comes_in_pages() {
    let place = Workplace::empty();
    const COUNT: usize = 100_000;
    for number in 0..COUNT {
        std::fs::File::create(place.root().join(format!("{number:06}"))).expect("a file");
    }
    let (_serving, mut client) = serve(&place);
    let mut cursor = Value::Null;
    for (at, limit) in [(0, 10), (10, 5_000), (1_010, 1)] {
        let page = result(
            &mut client,
            "v1.fs.list",
            json!({"cursor": cursor, "limit": limit}),
        );
        let count = limit.min(1_000);
        let expected: Vec<String> = (at..at + count).map(|number| format!("{number:06}")).collect();
        assert_eq!(names(&page), expected);
        assert_eq!(page["next_cursor"], json!(expected.last()));
        cursor = page["next_cursor"].clone();
    }
    let last = result(
        &mut client,
        "v1.fs.list",
        json!({"cursor": format!("{:06}", COUNT - 3)}),
    );
    assert_eq!((names(&last).len(), last.get("next_cursor")), (2, None));
}

#[test]
fn a_name_that_is_no_unicode_is_listed_and_reached() {
    let place = Workplace::empty();
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9\n.txt");
    std::fs::write(place.root().join(name), "coffee").expect("a file");
    let (_serving, mut client) = serve(&place);
    let page = result(&mut client, "v1.fs.list", json!({}));
    assert_eq!(names(&page), [r"caf\x{e9}\u{a}.txt"]);
    let path = format!("/{}", names(&page)[0]);
    let read = result(&mut client, "v1.fs.read", json!({ "path": path }));
    assert_eq!(read["content"], "coffee");
    let write = json!({"path": path, "content": "tea", "base_hash": read["hash"]});
    result(&mut client, "v1.fs.write", write);
    assert_eq!(
        std::fs::read_to_string(place.root().join(name)).expect("the file"),
        "tea"
    );
}

#[test]
fn what_the_user_forbade_stays_forbidden() {
    let place = Workplace::empty();
    std::fs::write(place.root().join(".env"), "KEY=1\n").expect("a file");
    let (serving, mut client) = serve(&place);
    // The user's own hand is asked nothing.
    result(&mut client, "v1.fs.read", json!({"path": "/.env"}));
    let mut asker = Client::open(serving.port());
    asker.ask(json!({"id": 1, "connect": {"token": serving.token(), "data": {"approvals": true}}}));
    let message = json!({
        "client_session_id": "s", "client_id": "m", "content_data": {"type": "text", "data": "read .env"},
    });
    let sent = result(&mut asker, "v1.message.send", message);
    let rtc = loop {
        let listed = result(
            &mut asker,
            "v1.rtc.list",
            json!({"session_id": sent["session_id"]}),
        );
        if listed["items"][0]["approval"]["state"] == "open" {
            break listed["items"][0]["id"].clone();
        }
    };
    result(
        &mut asker,
        "v1.rtc.approve",
        json!({"rtc_id": rtc, "decision": "never"}),
    );
    for method in ["v1.fs.read", "v1.fs.stat"] {
        assert_eq!(
            code(&mut client, method, json!({"path": "/.env"})),
            "file.denied",
            "{method}"
        );
    }
    assert_eq!(
        names(&result(&mut client, "v1.fs.list", json!({}))),
        [".env"],
        "that it is there is no secret"
    );
}

#[test]
fn what_changes_where_a_client_looks_is_told() {
    let place = Workplace::empty();
    std::fs::create_dir(place.root().join("seen")).expect("a folder");
    std::fs::create_dir(place.root().join("unseen")).expect("a folder");
    std::fs::write(place.root().join("seen/notes.txt"), "one\n").expect("a file");
    let serving = Serving::start(&place, &[]);
    let mut client = Client::open(serving.port());
    let ours = json!({"token": serving.token(), "data": {"protocol": 1}});
    client.ask(json!({"id": 1, "connect": ours}));
    let live = format!("live:u={}", serving.user());
    client.ask(json!({"id": 2, "subscribe": {"channel": live}}));
    result(&mut client, "v1.fs.read", json!({"path": "/seen/notes.txt"}));
    std::fs::write(place.root().join("unseen/other.txt"), "").expect("a file");
    std::fs::write(place.root().join("seen/notes.txt"), "two\n").expect("a file");
    let told = loop {
        let Heard::Text(text) = client.hear() else {
            panic!("the connection ended")
        };
        let frames = text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).expect("a frame is JSON"));
        let mut told = frames.map(|mut frame| frame["push"]["pub"]["data"].take());
        if let Some(told) = told.find(|told| told["type"] == "file") {
            break told;
        }
    };
    assert_eq!(
        (&told["data"]["path"], &told["data"]["change"]),
        (&json!("/seen/notes.txt"), &json!("changed"))
    );
}
