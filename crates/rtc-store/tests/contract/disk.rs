//! What the disk store promises besides the contract: about its folder, its lock, its format and its blobs.

use std::fs;
use std::path::{Path, PathBuf};

use rtc_store::{Batch, Error, INLINE_BYTES, Key, Offset, SledOptions, SledStore, Store};
use tempfile::tempdir;

use crate::harness::{open, open_or_set_aside};

fn refused(folder: &Path) -> Error {
    SledStore::open(folder, &SledOptions::default()).unwrap_err()
}

async fn put(store: &SledStore, key: &str, value: impl Into<Vec<u8>>) {
    let mut batch = Batch::new();
    batch.put(key, value);
    store.commit(batch).await.unwrap();
}

/// The files below a folder with what they contain, without the lock and the reserve.
fn content(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if !path.ends_with("lock")
                && !path.ends_with("reserve")
                && !path.ends_with("reserve-opening")
            {
                found.push((path.clone(), fs::read(&path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

/// How many files there are once the committer has tidied up after what was committed last.
async fn blobs_of(store: &SledStore) -> usize {
    store.commit(Batch::new()).await.unwrap();
    blobs(store.folder())
}

fn blobs(folder: &Path) -> usize {
    content(&folder.join("blobs")).len()
}

#[tokio::test]
async fn a_second_opening_is_refused_until_the_first_is_closed() {
    let folder = tempdir().unwrap();
    let store = open(folder.path());
    let error = refused(folder.path());
    assert!(
        matches!(&error, Error::Busy { folder: busy } if busy == folder.path()),
        "{error}"
    );
    put(&store, "a", "still works").await;
    drop(store);
    assert!(open(folder.path()).get(&Key::from("a")).await.unwrap().is_some());
}

#[cfg(unix)]
#[tokio::test]
async fn nobody_else_may_look_into_the_folder() {
    use std::os::unix::fs::PermissionsExt;
    let parent = tempdir().unwrap();
    let folder = parent.path().join("data").join("store");
    let store = open(&folder);
    put(&store, "large", vec![1; 100_000]).await;
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for path in [
        &folder,
        &folder.join("db"),
        &folder.join("blobs"),
        &folder.join("db/blobs"),
    ] {
        assert_eq!(mode(path), 0o700, "{}", path.display());
    }
    for name in ["lock", "store.json", "reserve", "db/db", "db/conf"] {
        assert_eq!(mode(&folder.join(name)), 0o600, "{name}");
    }
    for (path, _) in content(&folder.join("blobs")) {
        assert_eq!(mode(&path), 0o600);
    }
    assert_eq!(
        fs::read_to_string(folder.join("lock")).unwrap().trim(),
        std::process::id().to_string()
    );
}

#[tokio::test]
async fn a_relative_folder_works() {
    let parent = tempfile::Builder::new()
        .prefix("store-test")
        .tempdir_in(".")
        .unwrap();
    let relative = Path::new(parent.path().file_name().unwrap());
    put(&open(relative), "a", "1").await;
    assert!(open(relative).get(&Key::from("a")).await.unwrap().is_some());
}

#[tokio::test]
async fn a_newer_store_is_refused_and_stays_as_it_was() {
    let folder = tempdir().unwrap();
    put(&open(folder.path()), "a", "1").await;
    let path = folder.path().join("store.json");
    let header = fs::read_to_string(&path).unwrap();
    // What is newer may have fields that are unknown here.
    let newer = header.replace("\"oldest_reader\":1", "\"oldest_reader\":7,\"more\":[1]");
    assert_ne!(newer, header);
    fs::write(&path, newer).unwrap();

    let before = content(folder.path());
    assert!(matches!(
        refused(folder.path()),
        Error::NewerSchema {
            found: 7,
            supported: 1
        }
    ));
    assert!(content(folder.path()) == before);

    // Or miss some; it is not taken for a damaged one, which is moved.
    let mut fields: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&header).unwrap();
    fields.insert("oldest_reader".into(), 7.into());
    fields.remove("revision");
    fs::write(&path, serde_json::to_string(&fields).unwrap()).unwrap();
    let before = content(folder.path());
    let aside = folder.path().with_extension("aside");
    let opened = open_or_set_aside(folder.path(), &aside);
    assert!(matches!(opened, Err(Error::NewerSchema { found: 7, .. })));
    assert!(content(folder.path()) == before && !aside.exists());

    fs::write(&path, header.replace("\"schema\":1", "\"schema\":2")).unwrap();
    assert!(
        open(folder.path()).get(&Key::from("a")).await.unwrap().is_some(),
        "an older reader is allowed"
    );
}

#[tokio::test]
async fn a_newer_database_is_refused_also_without_its_header() {
    let folder = tempdir().unwrap();
    drop(open(folder.path()));
    fs::remove_file(folder.path().join("store.json")).unwrap();
    let change = |from: &str, to: &str| {
        let database = sled::Config::new().path(folder.path().join("db")).open().unwrap();
        let row = database.get("m:schema").unwrap().unwrap();
        let row = String::from_utf8(row.to_vec()).unwrap().replace(from, to);
        database.insert("m:schema", row.as_bytes()).unwrap();
        database.flush().unwrap();
    };
    change("\"oldest_reader\":1", "\"oldest_reader\":9");
    assert!(matches!(
        refused(folder.path()),
        Error::NewerSchema {
            found: 9,
            supported: 1
        }
    ));
    change("\"oldest_reader\":9", "\"oldest_reader\":1");
    drop(open(folder.path()));
    assert!(folder.path().join("store.json").exists());
}

#[tokio::test]
async fn a_damaged_store_is_refused_and_kept() {
    type Damage = fn(&Path);
    let damages: &[(&str, bool, Damage)] = &[
        ("garbage in the database", false, |folder| {
            let path = folder.join("db/db");
            let length = fs::metadata(&path).unwrap().len() as usize;
            fs::write(&path, vec![0xa5; length]).unwrap();
        }),
        ("an empty database", false, |folder| {
            fs::write(folder.join("db/db"), "").unwrap()
        }),
        ("no database", false, |folder| {
            fs::remove_dir_all(folder.join("db")).unwrap()
        }),
        ("garbage in its configuration", true, |folder| {
            fs::write(folder.join("db/conf"), [0xff; 64]).unwrap()
        }),
        ("garbage in the header", true, |folder| {
            fs::write(folder.join("store.json"), "{").unwrap()
        }),
        ("an older database", true, |folder| {
            let path = folder.join("store.json");
            let header = fs::read_to_string(&path).unwrap();
            fs::write(path, header.replace("\"revision\":30", "\"revision\":31")).unwrap();
        }),
    ];
    for (name, can_be_saved, damage) in damages {
        let folder = tempdir().unwrap();
        let store = open(folder.path());
        for number in 0..30 {
            put(&store, &format!("{number}"), vec![number; 3000]).await;
        }
        drop(store);
        damage(folder.path());
        let before = content(folder.path());
        let error = refused(folder.path());
        assert!(matches!(error, Error::Damaged { .. }), "{name}: {error}");
        assert!(content(folder.path()) == before, "{name}: it is as it was found");
        assert!(
            matches!(refused(folder.path()), Error::Damaged { .. }),
            "{name}, the second time"
        );

        // Set aside it is as it was found, too, and another one takes its place.
        let aside = folder.path().with_extension("aside");
        let (store, found) = open_or_set_aside(folder.path(), &aside).unwrap();
        let found = found.unwrap();
        assert!(matches!(found.found, Error::Damaged { .. }), "{name}: {found:?}");
        assert_eq!(store.note(), Some("noted"));
        let moved = |(path, bytes): (PathBuf, Vec<u8>)| {
            (aside.join(path.strip_prefix(folder.path()).unwrap()), bytes)
        };
        let before: Vec<_> = before.into_iter().map(moved).collect();
        assert!(content(&aside) == before, "{name}: it is kept as it was found");
        let is_saved = store.get(&Key::from("1")).await.unwrap().is_some();
        assert_eq!(is_saved, *can_be_saved, "{name}");
        assert_eq!(found.taken.is_ok(), is_saved, "{name}: {found:?}");
        put(&store, "1", "anew").await;
        drop(store);
        let another = folder.path().with_extension("another");
        let (store, found) = open_or_set_aside(folder.path(), &another).unwrap();
        assert!(
            found.is_none() && !another.exists(),
            "{name}: what is whole stays"
        );
        assert!(store.get(&Key::from("1")).await.unwrap().is_some());
        fs::remove_dir_all(aside).unwrap();
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_damaged_store_that_cannot_be_set_aside_is_refused() {
    let folder = tempdir().unwrap();
    drop(open(folder.path()));
    fs::write(folder.path().join("store.json"), "{").unwrap();
    let before = content(folder.path());
    let aside = folder.path().join("no/such/folder");
    let error = open_or_set_aside(folder.path(), &aside).unwrap_err();
    assert!(
        matches!(&error, Error::Damaged { .. }) && error.to_string().contains("No such file"),
        "{error}"
    );
    assert!(content(folder.path()) == before);
}

#[tokio::test]
async fn an_opening_that_was_cut_short_harms_nothing() {
    let folder = tempdir().unwrap();
    put(&open(folder.path()), "a", "1").await;
    drop(open(folder.path()));
    // sled writes a snapshot under such a name when it opens; a crash or a full disk leaves a part of it.
    let half = folder.path().join("db/snap.00000000000FFFFF.generating");
    fs::write(&half, "half").unwrap();
    let store = open(folder.path());
    assert!(store.get(&Key::from("a")).await.unwrap().is_some());
    assert!(!half.exists());
}

#[tokio::test]
async fn a_creation_that_was_cut_short_is_begun_again() {
    let whole = tempdir().unwrap();
    drop(open(whole.path()));
    let settings = fs::read(whole.path().join("db/conf")).unwrap();
    // sled writes its settings before it makes the file of the database.
    for length in [0, 1, 9, settings.len() - 4, settings.len()] {
        let folder = tempdir().unwrap();
        fs::create_dir_all(folder.path().join("db/blobs")).unwrap();
        fs::write(folder.path().join("db/conf"), &settings[..length]).unwrap();
        let store = open(folder.path());
        put(&store, "a", "1").await;
        assert!(store.get(&Key::from("a")).await.unwrap().is_some(), "{length}");
    }
}

/// A process that was killed while it started another one leaves its lock with that for a moment.
#[cfg(target_os = "linux")]
#[test]
fn the_lock_of_a_process_that_is_gone_is_waited_for() {
    let folder = tempdir().unwrap();
    drop(open(folder.path()));
    let mut gone = std::process::Command::new("true").spawn().unwrap();
    gone.wait().unwrap();
    let path = folder.path().join("lock");
    fs::write(&path, gone.id().to_string()).unwrap();
    let lock = fs::File::open(&path).unwrap();
    lock.try_lock().unwrap();
    let handles = || {
        let of_this = fs::read_dir("/proc/self/fd").unwrap();
        of_this
            .filter(|entry| fs::read_link(entry.as_ref().unwrap().path()).is_ok_and(|open| open == path))
            .count()
    };
    std::thread::scope(|scope| {
        let opening = scope.spawn(|| SledStore::open(folder.path(), &SledOptions::default()));
        while handles() < 2 && !opening.is_finished() {
            std::thread::yield_now();
        }
        drop(lock);
        opening.join().unwrap().unwrap();
    });
}

#[test]
fn errors_tell_what_to_do() {
    let busy = Error::Busy {
        folder: PathBuf::from("data"),
    };
    insta::assert_snapshot!(
        busy,
        @"another process is using the data folder data; close it first, or choose another folder"
    );
    let damaged = Error::Damaged {
        path: PathBuf::from("data/db"),
        detail: "its content is gone".to_owned(),
    };
    insta::assert_snapshot!(
        damaged,
        @"the stored data at data/db cannot be read (its content is gone); nothing was deleted: move the folder aside to start afresh, and keep it to salvage what can be read"
    );
    insta::assert_snapshot!(
        Error::NewerSchema { found: 3, supported: 1 },
        @"the data was written by a newer version (its format needs a reader of at least 3, this is 1); update the program; nothing was changed"
    );
    insta::assert_snapshot!(
        Error::Full,
        @"the disk is full: nothing was stored; free some space and try again"
    );
}

#[tokio::test]
async fn a_large_value_is_a_file_while_something_names_it() {
    let folder = tempdir().unwrap();
    let store = open(folder.path());
    let large = vec![9; INLINE_BYTES + 1];
    put(&store, "small", vec![9; INLINE_BYTES]).await;
    assert_eq!(blobs_of(&store).await, 0);
    put(&store, "one", large.clone()).await;
    put(&store, "two", large.clone()).await;
    put(&store, "two", large.clone()).await;
    assert_eq!(blobs_of(&store).await, 1);
    put(&store, "one", "small").await;
    assert_eq!(blobs_of(&store).await, 1);
    assert_eq!(store.get(&Key::from("two")).await.unwrap().unwrap().value, large);
    let mut batch = Batch::new();
    batch.delete("two");
    store.commit(batch).await.unwrap();
    assert_eq!(blobs_of(&store).await, 0);

    // A refused batch leaves nothing either.
    let mut batch = Batch::new();
    batch
        .put("three", large.clone())
        .require("one", rtc_store::Expect::Absent);
    store.commit(batch).await.unwrap_err();
    assert_eq!(blobs_of(&store).await, 0);
}

#[tokio::test]
async fn blobs_that_nothing_names_are_swept_when_opening() {
    let folder = tempdir().unwrap();
    let store = open(folder.path());
    put(&store, "kept", vec![1; 100_000]).await;
    put(&store, "kept/longer", vec![2; 100_000]).await;
    drop(store);
    // A crash between writing a blob and its batch leaves these.
    let lone = blake3::hash(b"lone").to_hex();
    let shard = folder.path().join("blobs").join(&lone[..2]);
    fs::create_dir_all(&shard).unwrap();
    fs::write(shard.join(&lone[2..]), "lone").unwrap();
    fs::write(folder.path().join("blobs/staging/17"), "half").unwrap();
    // This is not ours.
    fs::write(shard.join("note.txt"), "a person's").unwrap();
    assert_eq!(blobs(folder.path()), 5);

    let store = open(folder.path());
    assert_eq!(blobs(folder.path()), 3);
    assert!(shard.join("note.txt").exists());
    assert_eq!(
        store.get(&Key::from("kept")).await.unwrap().unwrap().value,
        vec![1; 100_000]
    );
    assert_eq!(
        store.get(&Key::from("kept/longer")).await.unwrap().unwrap().value,
        vec![2; 100_000]
    );
}

#[tokio::test]
async fn a_damaged_blob_is_told_and_the_rest_is_read() {
    let folder = tempdir().unwrap();
    let store = open(folder.path());
    put(&store, "large", vec![1; 100_000]).await;
    put(&store, "other", "fine").await;
    let (path, mut bytes) = content(&folder.path().join("blobs")).pop().unwrap();
    bytes[5000] ^= 1;
    fs::write(&path, bytes).unwrap();
    let told = |error: Error| matches!(error, Error::Damaged { path: told, .. } if told == path);
    assert!(told(store.get(&Key::from("large")).await.unwrap_err()));
    fs::remove_file(&path).unwrap();
    assert!(told(store.get(&Key::from("large")).await.unwrap_err()));
    assert_eq!(
        store.get(&Key::from("other")).await.unwrap().unwrap().value,
        b"fine"
    );
    let rows = store.scan(&Key::default(), None, 9).await.unwrap();
    let rows: Vec<_> = rows
        .iter()
        .map(|(key, entry)| (key.as_bytes(), &entry.value[..]))
        .collect();
    assert_eq!(rows, [(&b"large"[..], &b""[..]), (b"other", b"fine")]);
    // Putting it again mends it.
    put(&store, "large", vec![1; 100_000]).await;
    assert_eq!(
        store.get(&Key::from("large")).await.unwrap().unwrap().value,
        vec![1; 100_000]
    );
}

#[tokio::test]
async fn nothing_is_left_to_files_that_sled_never_syncs() {
    let folder = tempdir().unwrap();
    let store = open(folder.path());
    // Rows as large as they can be, put in, changed and taken out, so that pages fill, split and merge; under
    // the longest keys, so that index pages are as large as they can be.
    let key = |number: usize| format!("{number:0>width$}", width = rtc_store::KEY_BYTES);
    for round in 0..3u8 {
        for group in 0..12 {
            let mut batch = Batch::new();
            for number in 0..24 {
                let number = number * 12 + group;
                match (round, number % 3) {
                    (1, 0) => _ = batch.delete(key(number)),
                    _ => _ = batch.put(key(number), vec![round; 4000 * (1 + number % 16)]),
                }
            }
            batch.append("s", vec![round; INLINE_BYTES]);
            store.commit(batch).await.unwrap();
            assert_eq!(
                content(&folder.path().join("db/blobs")).len(),
                0,
                "round {round}, group {group}"
            );
        }
    }
    drop(store);
    assert_eq!(content(&folder.path().join("db/blobs")).len(), 0);
    let store = open(folder.path());
    assert_eq!(
        store.scan(&Key::default(), None, usize::MAX).await.unwrap().len(),
        24 * 12
    );
    assert_eq!(
        store
            .read_stream(&Key::from("s"), Offset(0), 100)
            .await
            .unwrap()
            .len(),
        36
    );
}

#[tokio::test]
async fn a_commit_that_nobody_waits_for_is_still_made() {
    let folder = tempdir().unwrap();
    let store = open(folder.path());
    let mut batch = Batch::new();
    batch.put("a", "1");
    let mut commit = Box::pin(store.commit(batch));
    // Polled once, it is handed to the committer.
    assert!(futures::poll!(&mut commit).is_pending());
    drop(commit);
    drop(store);
    assert!(open(folder.path()).get(&Key::from("a")).await.unwrap().is_some());
}
