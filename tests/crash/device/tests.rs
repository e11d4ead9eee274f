use super::*;

/// A device with a folder `root` that has a file `old`, of three sectors of `o`.
fn device(forgets: fn(&SystemCall) -> bool) -> Device {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("old"), "o".repeat(3 * SECTOR)).expect("a file is written");
    let mut device = Device::new(folder.path(), forgets);
    device.root = PathBuf::from("/disk");
    device
}

fn call(path: &str, change: Change, content: &str) -> SystemCall {
    SystemCall {
        name: "",
        path: Path::new("/disk").join(path),
        content: content.as_bytes().to_vec(),
        change,
        moment: Moment::Before,
        result: 0,
        thread: 1,
    }
}

fn take(device: &mut Device, mut call: SystemCall) {
    device.take(&call);
    call.moment = Moment::After;
    call.result = i64::try_from(call.content.len()).expect("a length");
    device.take(&call);
}

/// What is left, in short: of each file the name, and the first byte of each sector.
fn left(device: &Device, reached: Reached, seed: u64) -> String {
    let image = device.image(reached, &mut Choice::new("", seed, 0));
    let files = image.0.iter().filter_map(|(path, bytes)| {
        let sectors = bytes.as_ref()?.written.chunks(SECTOR);
        let firsts: String = sectors.map(|sector| char::from(sector[0])).collect();
        Some(format!("{}={firsts}", path.display()))
    });
    files.collect::<Vec<_>>().join(" ")
}

fn from(name: &str, exchanges: bool) -> Change {
    let from = Path::new("/disk").join(name);
    Change::Rename { from, exchanges }
}

const MADE: Change = Change::File { empties: false };

#[test]
fn content_is_there_when_the_file_was_flushed_and_a_name_when_its_folder_was() {
    let mut device = device(|_| false);
    // What is done, and then what is left of nothing and of all that was not flushed.
    let mut table = String::new();
    for (path, change, content) in [
        ("new", MADE, ""),
        ("new", Change::Write(Some(0)), "new"),
        ("", Change::Sync, ""),
        ("new", Change::Sync, ""),
        ("new", Change::Write(None), "more"),
        ("old", from("new", true), ""),
        ("new", Change::Remove, ""),
        ("", Change::Sync, ""),
        ("sub", Change::Folder, ""),
        ("sub/it", from("old", false), ""),
        ("", Change::Sync, ""),
        ("sub", Change::Sync, ""),
        (
            "twice",
            Change::Link {
                from: "/disk/sub/it".into(),
            },
            "",
        ),
        ("sub/it", Change::File { empties: true }, ""),
        ("", Change::Sync, ""),
        ("twice", Change::Sync, ""),
    ] {
        let told = format!("{path:6} {change:?}");
        take(&mut device, call(path, change, content));
        let [nothing, all] = [Reached::Nothing, Reached::AllOf("")].map(|reached| left(&device, reached, 0));
        table.push_str(&format!("{nothing:22} | {all:22} | {told}\n"));
    }
    insta::assert_snapshot!(table, @r#"
    old=ooo                | new= old=ooo           | new    File { empties: false }
    old=ooo                | new=n old=ooo          | new    Write(Some(0))
    new= old=ooo           | new=n old=ooo          |        Sync
    new=n old=ooo          | new=n old=ooo          | new    Sync
    new=n old=ooo          | new=n old=ooo          | new    Write(None)
    new=n old=ooo          | new=ooo old=n          | old    Rename { from: "/disk/new", exchanges: true }
    new=n old=ooo          | old=n                  | new    Remove
    old=n                  | old=n                  |        Sync
    old=n                  | old=n                  | sub    Folder
    old=n                  | sub/it=n               | sub/it Rename { from: "/disk/old", exchanges: false }
                           | sub/it=n               |        Sync
    sub/it=n               | sub/it=n               | sub    Sync
    sub/it=n               | sub/it=n twice=n       | twice  Link { from: "/disk/sub/it" }
    sub/it=n               | sub/it= twice=         | sub/it File { empties: true }
    sub/it=n twice=n       | sub/it= twice=         |        Sync
    sub/it= twice=         | sub/it= twice=         | twice  Sync
    "#);
}

#[test]
fn a_flush_is_of_what_was_written_before_it_began() {
    let mut device = device(|_| false);
    let flush = call("old", Change::Sync, "");
    device.take(&flush);
    take(
        &mut device,
        SystemCall {
            thread: 2,
            ..call("old", Change::Write(Some(0)), "late")
        },
    );
    device.take(&SystemCall {
        moment: Moment::After,
        ..flush
    });
    assert_eq!(left(&device, Reached::Nothing, 0), "old=ooo");
    take(&mut device, call("old", Change::Sync, ""));
    assert_eq!(left(&device, Reached::Nothing, 0), "old=loo");
}

#[test]
fn a_flush_that_is_forgotten_and_one_that_only_begins_early_do_nothing() {
    let mut device = device(|call| call.path.ends_with("old"));
    take(&mut device, call("old", Change::Write(Some(0)), "new"));
    take(&mut device, call("old", Change::Nothing, ""));
    take(&mut device, call("old", Change::Sync, ""));
    assert_eq!(left(&device, Reached::Nothing, 0), "old=ooo");
}

#[test]
fn a_torn_write_has_some_sectors_and_the_ones_before_are_whole() {
    let mut device = device(|_| false);
    take(
        &mut device,
        call("old", Change::Write(Some(0)), &"1".repeat(2 * SECTOR)),
    );
    take(
        &mut device,
        call("old", Change::Write(Some(0)), &"2".repeat(3 * SECTOR)),
    );
    let all = |reached| {
        let all: std::collections::BTreeSet<String> =
            (0..200).map(|seed| left(&device, reached, seed)).collect();
        all.into_iter().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        all(Reached::Torn),
        "old=112 old=11o old=122 old=12o old=212 old=21o old=222 old=22o"
    );
    let some = all(Reached::Some);
    for left in [
        "old=ooo", "old=oo2", "old=1oo", "old=11o", "old=o1o", "old=222", "old=2oo",
    ] {
        assert!(some.contains(left), "{left} of {some}");
    }
}
