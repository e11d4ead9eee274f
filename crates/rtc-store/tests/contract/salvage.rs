//! A store that cannot be read: what can be is in the one that takes its place, wherever the process ends in between.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rtc_store::{Batch, Error, Key, Offset, SetAside, SledOptions, SledStore, Store};
use tempfile::{TempDir, tempdir};

use crate::harness::{open, open_or_set_aside};

/// A parent folder with a store in it.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Place(tempdir().unwrap())
    }

    fn store(&self) -> PathBuf {
        self.0.path().join("store")
    }

    fn aside(&self) -> PathBuf {
        self.0.path().join("aside")
    }

    fn beside(&self) -> PathBuf {
        self.0.path().join("store.salvage")
    }

    /// With values of every size, and rows in a stream.
    async fn filled(count: u32) -> (Self, Vec<(Key, Vec<u8>)>) {
        let place = Place::new();
        let store = open(&place.store());
        let mut expected = Vec::new();
        for number in 0..count {
            let bytes = [10, 900, 9_000, 70_000][number as usize % 4];
            let key = Key::from(format!("{:05}", u64::from(number) * 7_919 % 100_000));
            let value = format!("{number:010}").repeat(bytes / 10).into_bytes();
            let mut batch = Batch::new();
            batch.put(key.clone(), value.clone()).append("stream", "a row");
            store.commit(batch).await.unwrap();
            expected.push((key, value));
        }
        (place, expected)
    }

    fn damage_header(&self) {
        fs::write(self.store().join("store.json"), "{").unwrap();
    }

    fn flip(&self, place: usize) {
        let path = self.store().join("db/db");
        let mut log = fs::read(&path).unwrap();
        log[place] ^= 0x10;
        fs::write(path, log).unwrap();
    }
}

/// How many of the values are there; none is another one.
async fn found(store: &SledStore, expected: &[(Key, Vec<u8>)]) -> usize {
    let mut found = 0;
    for (key, value) in expected {
        if let Some(entry) = store.get(key).await.unwrap()
            && !entry.value.is_empty()
        {
            assert!(entry.value == *value, "{key}");
            found += 1;
        }
    }
    found
}

#[tokio::test]
async fn what_can_be_read_is_in_the_new_store_and_streams_begin_anew() {
    let (place, expected) = Place::filled(40).await;
    let before = open(&place.store());
    let key = &expected[7].0;
    let revision = before.get(key).await.unwrap().unwrap().revision;
    let position = before.position(&Key::from("stream")).await.unwrap();
    drop(before);
    place.damage_header();
    let (store, set_aside) = open_or_set_aside(&place.store(), &place.aside()).unwrap();
    let taken = set_aside.unwrap().taken.unwrap();
    assert_eq!((taken.values, taken.emptied, taken.has_gaps), (40, 0, false));
    assert_eq!(found(&store, &expected).await, 40);
    assert_eq!(store.get(key).await.unwrap().unwrap().revision, revision);
    let anew = store.position(&Key::from("stream")).await.unwrap();
    assert_eq!(anew.offset, Offset(0));
    assert_ne!(anew.epoch, position.epoch);
    assert!(!place.beside().exists());

    // It is one like any other: no revision comes twice, and large values are its own.
    let mut batch = Batch::new();
    batch.put("new", "1").delete(expected[3].0.clone());
    let receipt = store.commit(batch).await.unwrap();
    assert!(receipt.revision.0 > 40, "{receipt:?}");
    drop(store);
    let store = open(&place.store());
    assert_eq!(found(&store, &expected).await, 39);
    assert_eq!(store.note(), Some("noted"));
    drop(store);
    assert!(place.aside().join("blobs").exists());
    fs::remove_dir_all(place.aside()).unwrap();
    assert_eq!(found(&open(&place.store()), &expected).await, 39);
}

#[tokio::test]
async fn a_place_that_cannot_be_read_costs_what_stands_there_and_nothing_else() {
    const COUNT: u32 = 300;
    let (place, expected) = Place::filled(COUNT).await;
    // Opened once more: where its pages are is known then, so that a flip costs one of them.
    drop(open(&place.store()));
    let length = fs::read(place.store().join("db/db")).unwrap().len();
    let (mut told, mut nearly_all, mut emptied, mut gaps) = (0, 0, 0, 0);
    for at in (length / 7..length).step_by(length / 41) {
        let other = Place::new();
        copy(&place.store(), &other.store());
        other.flip(at);
        let (store, set_aside) = open_or_set_aside(&other.store(), &other.aside()).unwrap();
        let found = found(&store, &expected).await;
        let Some(set_aside) = set_aside else {
            assert_eq!(found, COUNT as usize, "byte {at} of {length}");
            continue;
        };
        told += 1;
        if let Ok(taken) = set_aside.taken {
            assert_eq!(taken.values - taken.emptied, found as u64);
            emptied += u32::from(taken.emptied > 0);
            gaps += u32::from(taken.has_gaps);
        }
        // A page has at most some twenty rows. But there are places without which the database does not open.
        nearly_all += u32::from(found + 40 > COUNT as usize);
    }
    // How many those are depends on when the database wrote what.
    assert!(
        told > 0 && nearly_all > 0,
        "{told} told: {nearly_all} lost a page or less, {emptied} have emptied values, {gaps} have gaps"
    );
}

#[tokio::test]
async fn a_large_value_that_is_gone_is_seen_to_be_lost() {
    let (place, expected) = Place::filled(8).await;
    let (key, _) = &expected[3];
    for shard in fs::read_dir(place.store().join("blobs")).unwrap() {
        let shard = shard.unwrap().path();
        if !shard.ends_with("staging") {
            fs::remove_dir_all(shard).unwrap();
        }
    }
    place.damage_header();
    let (store, set_aside) = open_or_set_aside(&place.store(), &place.aside()).unwrap();
    assert_eq!(set_aside.unwrap().taken.unwrap().emptied, 2);
    assert!(matches!(store.get(key).await, Err(Error::Damaged { .. })));
}

#[tokio::test]
async fn a_store_that_cannot_be_mended_is_an_empty_one_or_none() {
    let (place, expected) = Place::filled(8).await;
    place.damage_header();
    let open_with = |mend: &dyn Fn(&SetAside) -> Result<String, &'static str>| {
        let mend = |_: Arc<dyn Store>, set_aside: &SetAside| Ok(mend(set_aside)?);
        SledStore::open_or_set_aside(&place.store(), &place.aside(), &SledOptions::default(), &mend)
    };
    let error = open_with(&|_| Err("no")).unwrap_err();
    assert!(matches!(&error, Error::Damaged { .. }), "{error}");
    assert!(place.store().join("db/db").exists() && !place.beside().exists() && !place.aside().exists());

    let once = |set_aside: &SetAside| match &set_aside.taken {
        Ok(_) => Err("what was taken over is of no use"),
        Err(error) => Ok(error.to_string()),
    };
    let (store, _) = open_with(&once).unwrap();
    assert!(store.note().unwrap().contains("of no use"), "{:?}", store.note());
    assert_eq!(found(&store, &expected).await, 0);
}

/// What the system refuses now it may give at the next start: until then nothing is given up.
#[tokio::test]
async fn a_system_that_fails_meanwhile_costs_nothing() {
    let (place, expected) = Place::filled(8).await;
    place.damage_header();
    let failing = Error::Io {
        action: "read the file",
        path: place.store(),
        source: Arc::new(std::io::Error::from_raw_os_error(5)),
    };
    for failure in [Error::Full, failing] {
        let mend = |_: Arc<dyn Store>, _: &SetAside| Err(failure.clone().into());
        let options = SledOptions::default();
        let error =
            SledStore::open_or_set_aside(&place.store(), &place.aside(), &options, &mend).unwrap_err();
        assert!(error.to_string().contains(&failure.to_string()), "{error}");
        assert!(place.store().join("db/db").exists() && !place.beside().exists() && !place.aside().exists());
    }
    let (store, _) = open_or_set_aside(&place.store(), &place.aside()).unwrap();
    assert_eq!(found(&store, &expected).await, 8);
}

/// Of a store whose making was cut short nobody was told anything: it is kept, and no word is lost about it.
#[tokio::test]
async fn a_store_that_was_never_made_is_begun_anew() {
    for (header, is_told) in [(false, false), (true, true)] {
        let place = Place::new();
        drop(open(&place.store()));
        if !header {
            fs::remove_file(place.store().join("store.json")).unwrap();
        }
        fs::write(place.store().join("db/conf"), [0; 40]).unwrap();
        let mended = std::cell::Cell::new(false);
        let mend = |_: Arc<dyn Store>, _: &SetAside| {
            mended.set(true);
            Ok("noted".to_owned())
        };
        let options = SledOptions::default();
        let (store, set_aside) =
            SledStore::open_or_set_aside(&place.store(), &place.aside(), &options, &mend).unwrap();
        assert_eq!((set_aside.is_some(), mended.get()), (is_told, is_told));
        assert_eq!(store.note(), is_told.then_some("noted"));
        assert!(place.aside().join("db/db").exists());
        drop(store);
        assert_eq!(open(&place.store()).note(), is_told.then_some("noted"));
    }
}

#[tokio::test]
async fn a_database_that_was_being_put_back_is_there_at_the_next_start() {
    type State = fn(&Path, &Path, &Path) -> std::io::Result<()>;
    let between: State = |database, _, opened| fs::rename(database, opened);
    let before_the_end: State = |database, copy, opened| {
        fs::rename(database, opened)?;
        fs::rename(copy, database)
    };
    let without_a_copy: State = |database, copy, opened| {
        fs::rename(database, opened)?;
        fs::remove_dir_all(copy)
    };
    for state in [between, before_the_end, without_a_copy] {
        let (place, expected) = Place::filled(8).await;
        let [database, original, opened] =
            ["db", "db.original", "db.opened"].map(|name| place.store().join(name));
        copy(&database, &original);
        state(&database, &original, &opened).unwrap();
        let (store, set_aside) = open_or_set_aside(&place.store(), &place.aside()).unwrap();
        assert!(set_aside.is_none(), "{set_aside:?}");
        assert_eq!(found(&store, &expected).await, 8);
        drop(store);
        assert!(!original.exists() && !opened.exists());
    }
}

/// Another program has made a store where, between two renames, there was none.
#[tokio::test]
async fn what_was_saved_is_kept_beside_a_store_that_somebody_else_made() {
    let (place, expected) = Place::filled(8).await;
    place.damage_header();
    drop(open_or_set_aside(&place.store(), &place.aside()).unwrap());
    fs::rename(place.store(), place.beside()).unwrap();
    let another = place.0.path().join("another");
    drop(open(&another));
    fs::rename(another, place.store()).unwrap();
    let kept = place.0.path().join("kept");
    let (store, set_aside) = open_or_set_aside(&place.store(), &kept).unwrap();
    assert!(set_aside.is_none());
    assert_eq!(found(&store, &expected).await, 0);
    drop(store);
    assert!(!place.beside().exists());
    let (store, _) = open_or_set_aside(&kept, &place.aside()).unwrap();
    assert_eq!(found(&store, &expected).await, 8);
}

/// Copies a folder.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let to = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &to);
        } else {
            fs::copy(path, to).unwrap();
        }
    }
}

#[tokio::test]
async fn wherever_the_process_ends_the_store_is_there_once_and_whole() {
    let (place, expected) = Place::filled(12).await;
    place.damage_header();
    // What a process leaves that ends while it makes the new store: at the latest, all of it but the note.
    let cut_short = Place::new();
    copy(&place.store(), &cut_short.store());
    let (store, _) = open_or_set_aside(&place.store(), &place.aside()).unwrap();
    let mut batch = Batch::new();
    batch.put("since", "1");
    store.commit(batch).await.unwrap();
    drop(store);
    copy(&place.store(), &cut_short.beside());
    fs::remove_file(cut_short.beside().join("set-aside")).unwrap();
    let (store, set_aside) = open_or_set_aside(&cut_short.store(), &cut_short.aside()).unwrap();
    assert!(set_aside.is_some());
    assert_eq!(found(&store, &expected).await, 12);
    assert!(
        store.get(&Key::from("since")).await.unwrap().is_none(),
        "made anew"
    );
    assert!(!cut_short.beside().exists());

    // One that ends between the two renames: the other is done.
    fs::rename(place.store(), place.beside()).unwrap();
    let (store, set_aside) = open_or_set_aside(&place.store(), &place.0.path().join("another")).unwrap();
    assert!(set_aside.is_none(), "nothing is saved twice");
    assert_eq!(found(&store, &expected).await, 12);
    assert!(store.get(&Key::from("since")).await.unwrap().is_some());
    assert!(!place.beside().exists());
    drop(store);

    // A store whose folder was removed by somebody is a new one; half of another is not taken for it.
    fs::rename(place.store(), place.beside()).unwrap();
    fs::remove_file(place.beside().join("set-aside")).unwrap();
    let (store, _) = open_or_set_aside(&place.store(), &place.aside()).unwrap();
    assert_eq!(found(&store, &expected).await, 0);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn whoever_waits_for_the_lock_of_a_folder_that_is_set_aside_gets_that_of_the_new_one() {
    let (whole, expected) = Place::filled(8).await;
    let place = Place::new();
    drop(open(&place.store()));
    let lock = fs::File::options()
        .write(true)
        .open(place.store().join("lock"))
        .unwrap();
    lock.lock().unwrap();
    // As of a process that is gone: it is waited for.
    fs::write(place.store().join("lock"), "").unwrap();
    let folder = place.store();
    let waiting = std::thread::spawn(move || open_or_set_aside(&folder, &folder.with_extension("never")));
    // Whether it waits already or comes later, it is given the lock only after the folder is another one. At once, because
    // who opens a store may make the folder wherever there is none.
    let flags = rustix::fs::RenameFlags::EXCHANGE;
    rustix::fs::renameat_with(
        rustix::fs::CWD,
        place.store(),
        rustix::fs::CWD,
        whole.store(),
        flags,
    )
    .unwrap();
    drop(lock);
    let (store, set_aside) = waiting.join().unwrap().unwrap();
    assert!(set_aside.is_none());
    assert_eq!(found(&store, &expected).await, 8);
    let again = SledStore::open(&place.store(), &SledOptions::default());
    assert!(
        matches!(again, Err(Error::Busy { .. })),
        "it has the lock that is there"
    );
}
