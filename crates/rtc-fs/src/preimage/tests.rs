use std::fs;

use rtc_types::{RtcId, SessionId};

use super::*;

pub(crate) fn id(number: u128) -> RtcId {
    RtcId::new(uuid::Uuid::from_u128(number))
}

/// Of a write.
pub(crate) fn image(before: Option<&[u8]>, after: &[u8]) -> PreImage {
    PreImage {
        path: VPath::parse("/a").unwrap(),
        before: before.map_or(There::Nothing, |before| There::File(Hash::of(before))),
        after: There::File(Hash::of(after)),
        kept: before.map_or(Kept::Absent, |before| Kept::Whole(before.to_vec())),
        left: Left::between(before.unwrap_or_default(), after),
        made_folders: 0,
        mode: None,
    }
}

fn span(start: u64, length: u64, bytes: &[u8]) -> KeptSpan {
    KeptSpan {
        start,
        length,
        bytes: bytes.to_vec(),
    }
}

fn all_kinds() -> Vec<PreImage> {
    let whole = image(Some(b"old\0"), b"new");
    vec![
        PreImage {
            made_folders: 2,
            ..image(None, b"new\n")
        },
        whole.clone(),
        PreImage {
            left: None,
            kept: Kept::Spans(vec![span(0, 1, b""), span(3, 0, b"bb"), span(5, 2, b"")]),
            ..image(Some(b"a-bb-c"), b"xa--cyy")
        },
        PreImage {
            after: There::Nothing,
            left: None,
            mode: Some(0o755),
            ..whole.clone()
        },
        PreImage {
            before: There::Nothing,
            after: There::Folder,
            kept: Kept::Absent,
            left: None,
            ..whole.clone()
        },
        PreImage {
            before: There::Folder,
            after: There::Nothing,
            kept: Kept::Absent,
            left: None,
            ..whole
        },
    ]
}

#[test]
fn keeps_lists_and_loads() {
    let data = tempfile::tempdir().unwrap();
    let folder = PreImageFolder::open(&data.path().join("undo")).unwrap();
    assert_eq!(folder.list(id(1)).unwrap(), Vec::<u32>::new());
    let images = all_kinds();
    for (at, image) in images.iter().enumerate() {
        assert_eq!(folder.keep(id(1), 1, image).unwrap(), at as u32 + 1);
    }
    assert_eq!(
        folder.keep(id(1), 1, &images[5]).unwrap(),
        6,
        "a change that is made again"
    );
    assert_eq!(folder.keep(id(2), 1, &images[0]).unwrap(), 1);
    let folder = PreImageFolder::open(&data.path().join("undo")).unwrap();
    assert_eq!(folder.list(id(1)).unwrap(), [1, 2, 3, 4, 5, 6]);
    for (at, image) in images.iter().enumerate() {
        assert_eq!(&folder.load(id(1), at as u32 + 1).unwrap(), image);
    }
    assert_eq!(images[0].before(b"new\n").unwrap(), None);
    assert_eq!(images[1].before(b"new").unwrap(), Some(b"old\0".to_vec()));
    assert_eq!(images[2].before(b"xa--cyy").unwrap(), Some(b"a-bb-c".to_vec()));
    assert_eq!(images[3].before(b"").unwrap(), Some(b"old\0".to_vec()));
    for image in [&images[2], &images[3], &images[4]] {
        assert!(matches!(image.before(b"else"), Err(Error::ChangedSince { .. })));
    }
}

#[test]
fn both_sides_of_a_change_are_known_from_what_is_kept() {
    let file = |bytes: &[u8]| Some(Content::File(bytes.to_vec()));
    for (before, after) in [
        (&b""[..], &b"x"[..]),
        (b"x", b""),
        (b"aaa", b"aa"),
        (b"a-b", b"a+b"),
        (b"\xff\0", b"\xff\0\n"),
    ] {
        let image = image(Some(before), after);
        assert_eq!(
            (image.content_before(), image.content_after()),
            (file(before), file(after))
        );
    }
    let image = image(None, b"x");
    assert_eq!(
        (image.content_before(), image.content_after()),
        (Some(Content::Nothing), file(b"x"))
    );
    let kinds: Vec<_> = all_kinds()
        .iter()
        .map(|image| (image.content_before().is_some(), image.content_after().is_some()))
        .collect();
    let both = (true, true);
    assert_eq!(kinds, [both, both, (false, false), both, both, both]);
}

/// These files were written by the first version. One that was removed was kept as one that became empty.
#[test]
fn what_the_first_version_kept_is_read() {
    let data = tempfile::tempdir().unwrap();
    let folder = PreImageFolder::open(data.path()).unwrap();
    let call = data.path().join(id(1).to_string());
    fs::create_dir(&call).unwrap();
    let hash = |content: &[u8]| Hash::of(content).to_string();
    let write = |number: u32, before: &str, after: &[u8], bytes: &[u8], kept: &str| {
        let (after, of_bytes) = (hash(after), hash(bytes));
        let json = format!(
            r#"{{"version":1,"attempt":1,"path":"/a","before":{before},"after":"{after}","bytes":"{of_bytes}","kept":{kept}}}"#
        );
        fs::write(call.join(format!("{number}.json")), json).unwrap();
        fs::write(call.join(format!("{number}.bytes")), bytes).unwrap();
    };
    let quoted = |content: &[u8]| format!("\"{}\"", hash(content));
    write(1, "null", b"one", b"", r#""absent""#);
    write(2, &quoted(b"one"), b"two", b"one", r#""whole""#);
    write(
        3,
        &quoted(b"two"),
        b"too",
        b"w",
        r#"{"spans":[{"start":1,"length":1,"kept":1}]}"#,
    );
    write(4, &quoted(b"too"), b"", b"too", r#""whole""#);
    // One whose bytes a power cut lost was never kept to the end.
    write(5, "null", b"x", b"", r#""absent""#);
    fs::remove_file(call.join("5.bytes")).unwrap();
    assert_eq!(folder.list(id(1)).unwrap(), [1, 2, 3, 4]);
    assert_eq!(folder.list_of(id(1), 1).unwrap(), [1, 2, 3, 4]);
    let before = |number, after: &[u8]| folder.load(id(1), number).unwrap().before(after).unwrap();
    assert_eq!(before(1, b"one"), None);
    assert_eq!(before(2, b"two").unwrap(), b"one");
    assert_eq!(before(3, b"too").unwrap(), b"two");
    assert_eq!(before(4, b"").unwrap(), b"too");
    let removed = folder.load(id(1), 4).unwrap().after;
    assert!(removed.is(There::Nothing) && removed.is(There::File(Hash::of(b""))));
    // What is kept from now on follows them.
    let image = image(None, b"new");
    assert_eq!(folder.keep(id(1), 2, &image).unwrap(), 5);
    assert_eq!(folder.load(id(1), 5).unwrap(), image);
    folder.forget(id(1), 5).unwrap();
    folder.forget(id(1), 4).unwrap();
    assert_eq!(folder.list(id(1)).unwrap(), [1, 2, 3]);
    fs::write(call.join("2.bytes"), b"odd").unwrap();
    let damaged = folder.load(id(1), 2);
    assert!(matches!(damaged, Err(Error::DamagedPreImage { .. })));
}

#[test]
fn a_pre_image_belongs_to_the_start_that_kept_it_last() {
    let data = tempfile::tempdir().unwrap();
    let folder = PreImageFolder::open(data.path()).unwrap();
    let image = |after: &[u8]| image(Some(b"old"), after);
    assert_eq!(folder.keep(id(1), 1, &image(b"1")).unwrap(), 1);
    assert_eq!(folder.keep(id(1), 1, &image(b"2")).unwrap(), 2);
    assert_eq!(folder.list_of(id(1), 2).unwrap(), [0; 0]);
    // The same change once more: the last start did not come to it.
    assert_eq!(folder.keep(id(1), 2, &image(b"2")).unwrap(), 2);
    assert_eq!(folder.keep(id(1), 2, &image(b"3")).unwrap(), 3);
    assert_eq!(folder.list_of(id(1), 1).unwrap(), [1]);
    assert_eq!(folder.list_of(id(1), 2).unwrap(), [2, 3]);
    assert_eq!(folder.load(id(1), 2).unwrap(), image(b"2"));
    folder.forget(id(1), 3).unwrap();
    assert_eq!(folder.list(id(1)).unwrap(), [1, 2]);
    assert_eq!(folder.keep(id(1), 2, &image(b"4")).unwrap(), 3);
}

/// The start that is made again finds the folders that the first one has made; an undo is to remove them.
#[test]
fn a_change_that_is_made_again_keeps_that_it_made_its_folders() {
    let data = tempfile::tempdir().unwrap();
    let folder = PreImageFolder::open(data.path()).unwrap();
    let image = |made_folders| PreImage {
        made_folders,
        ..image(None, b"new")
    };
    assert_eq!(folder.keep(id(1), 1, &image(2)).unwrap(), 1);
    assert_eq!(folder.keep(id(1), 2, &image(0)).unwrap(), 1);
    assert_eq!(folder.load(id(1), 1).unwrap(), image(2));
    assert_eq!(folder.list_of(id(1), 2).unwrap(), [1]);
}

#[test]
fn what_has_not_its_name_yet_was_never_kept() {
    let data = tempfile::tempdir().unwrap();
    let folder = PreImageFolder::open(data.path()).unwrap();
    folder.keep(id(1), 1, &image(None, b"one")).unwrap();
    folder.keep(id(1), 1, &image(None, b"two")).unwrap();
    // As after a kill in the middle of the second one.
    let call = folder.call_folder(id(1));
    fs::rename(call.join("2.image"), call.join("2.image.new")).unwrap();
    assert_eq!(folder.list(id(1)).unwrap(), [1]);
    assert_eq!(folder.keep(id(1), 2, &image(None, b"three")).unwrap(), 2);
    assert_eq!(folder.load(id(1), 2).unwrap(), image(None, b"three"));
    let names = fs::read_dir(call).unwrap().count();
    assert_eq!(names, 2, "nothing is left over");
}

#[test]
fn damage_is_told() {
    let data = tempfile::tempdir().unwrap();
    let folder = PreImageFolder::open(data.path()).unwrap();
    folder.keep(id(1), 1, &image(Some(b"old"), b"new")).unwrap();
    let path = data.path().join(id(1).to_string()).join("1.image");
    let whole = fs::read(&path).unwrap();
    for damaged in [
        &whole[..whole.len() - 1],
        b"",
        b"{}\n",
        &[&whole[..], b"x"].concat(),
        String::from_utf8(whole.clone())
            .unwrap()
            .replacen("2", "3", 1)
            .as_bytes(),
    ] {
        fs::write(&path, damaged).unwrap();
        let loaded = folder.load(id(1), 1);
        assert!(matches!(loaded, Err(Error::DamagedPreImage { .. })), "{loaded:?}");
    }
    // The next one has another number: what is damaged stays for whoever can read it.
    assert_eq!(folder.keep(id(1), 1, &image(None, b"x")).unwrap(), 2);
}

#[test]
fn what_was_printed_is_kept_until_the_next_call_of_the_session_begins() {
    let data = tempfile::tempdir().unwrap();
    let kept = PreImageFolder::open(data.path()).unwrap();
    let [session, other] = [7, 8].map(|number| SessionId::new(uuid::Uuid::from_u128(number)));
    let printed = |rtc, most| kept.printed(session, id(rtc), 1, most).unwrap();
    assert_eq!(printed(1, 100), None);
    kept.begin_printing(session, id(1), 1).unwrap();
    assert_eq!(printed(1, 100).unwrap(), "");
    kept.print(session, "eins\n").unwrap();
    kept.print(session, "zwölf\n").unwrap();
    assert_eq!(printed(1, 100).unwrap(), "eins\nzwölf\n");
    // The first byte of these is the second one of a character.
    assert_eq!(printed(1, 4).unwrap(), "lf\n");
    assert_eq!(printed(2, 100), None);
    assert_eq!(kept.printed(session, id(1), 2, 100).unwrap(), None);
    assert_eq!(kept.printed(other, id(1), 1, 100).unwrap(), None);
    assert_eq!(kept.list(id(1)).unwrap(), [0_u32; 0]);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let file = fs::metadata(data.path().join(format!("{session}.printed"))).unwrap();
        assert_eq!(file.permissions().mode() & 0o777, 0o600);
    }
    kept.begin_printing(session, id(2), 1).unwrap();
    assert_eq!((printed(1, 100), printed(2, 100).unwrap()), (None, String::new()));
}
