//! Stores of every schema there was, as programs of their time left them: `tests/stores`, a folder for each.
//!
//! That of schema 1 is from before there were a sum over the rows and a note of what was acknowledged. How they are made
//! is told in `tests/headless/past.rs`.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rtc_store::{Error, Key, Offset, SledOptions, SledStore, Store};
use tempfile::{TempDir, tempdir};

use crate::harness::{commit, open, open_or_set_aside};

/// What a log of sled is made of, in bytes: the zeros after the last row are not kept.
const SEGMENT: usize = 512 * 1024;

/// What is kept of a schema.
fn kept(schema: u64) -> PathBuf {
    let stores = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/stores");
    stores.join(schema.to_string())
}

/// All schemas up to the one that is written now.
fn schemas() -> std::ops::RangeInclusive<u64> {
    let folder = tempdir().unwrap();
    drop(open(folder.path()));
    let header = fs::read(folder.path().join("store.json")).unwrap();
    let header: serde_json::Value = serde_json::from_slice(&header).unwrap();
    1..=header["schema"].as_u64().unwrap()
}

/// A store of the past, in `store` of the folder.
fn copy(schema: u64) -> TempDir {
    let folder = tempdir().unwrap();
    let store = kept(schema).join("store");
    assert!(
        store.exists(),
        "there is no store of schema {schema}: make one before it is written by anybody"
    );
    copy_folder(&store, &folder.path().join("store"));
    let log = folder.path().join("store/db/db");
    let mut content = fs::read(&log).unwrap();
    content.resize(content.len().next_multiple_of(SEGMENT), 0);
    fs::write(log, content).unwrap();
    folder
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let copied = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy_folder(&path, &copied);
        } else {
            fs::copy(&path, copied).unwrap();
        }
    }
}

fn digest(bytes: &[u8]) -> String {
    let hash = blake3::hash(bytes).to_hex();
    format!("{} bytes {}", bytes.len(), &hash[..16])
}

/// Everything in a store, a line for each value and each row of these streams.
async fn told(store: &dyn Store, streams: &[Key]) -> String {
    let mut told = String::new();
    for (key, entry) in store.scan(&Key::default(), None, usize::MAX).await.unwrap() {
        told += &format!(
            "{} commit {} {}\n",
            hex(&key),
            entry.revision.0,
            digest(&entry.value)
        );
    }
    for stream in streams {
        let position = store.position(stream).await.unwrap();
        let (name, end) = (hex(stream), position.offset.0);
        told += &format!("stream {name} ends at {end} of {}\n", position.epoch);
        for (offset, row) in store.read_stream(stream, Offset(0), usize::MAX).await.unwrap() {
            told += &format!("row {} {}\n", offset.0, digest(&row));
        }
    }
    told
}

fn hex(key: &Key) -> String {
    let digits = key.as_bytes().iter().map(|byte| format!("{byte:02x}"));
    digits.collect()
}

fn key_of(hex: &str) -> Key {
    let digits = (0..hex.len()).step_by(2).map(|at| &hex[at..at + 2]);
    let bytes = digits.map(|byte| u8::from_str_radix(byte, 16).unwrap());
    Key::from(bytes.collect::<Vec<u8>>())
}

/// What was in a store of the past, and the names of its streams.
fn golden(schema: u64) -> (String, Vec<Key>) {
    let golden = fs::read_to_string(kept(schema).join("records.txt")).unwrap();
    let names = golden
        .lines()
        .filter_map(|line| line.strip_prefix("stream ")?.split(' ').next());
    let streams: Vec<Key> = names.map(key_of).collect();
    assert!(!streams.is_empty(), "it has a stream");
    (golden, streams)
}

/// The rows of a closed store, as they are on the device.
fn rows(store: &Path) -> sled::Db {
    let mut tries = 0;
    loop {
        match sled::open(store.join("db")) {
            // Its last thread is about to let go of it.
            Err(sled::Error::Io(_)) if tries < 100 => tries += 1,
            opened => return opened.unwrap(),
        }
    }
}

fn refused(store: &Path) -> String {
    match SledStore::open(store, &SledOptions::default()) {
        Err(error @ Error::Damaged { .. }) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_store_of_every_schema_is_read_whole_and_goes_on() {
    for schema in schemas() {
        let folder = copy(schema);
        let (golden, streams) = golden(schema);
        let (path, aside) = (folder.path().join("store"), folder.path().join("aside"));
        let (store, set_aside) = open_or_set_aside(&path, &aside).unwrap();
        assert!(set_aside.is_none() && !aside.exists(), "{set_aside:?}");
        assert_eq!(store.note(), None);
        assert_eq!(told(&store, &streams).await, golden, "schema {schema}");
        drop(store);

        // Streams go on where they ended, and so does the count of commits.
        let store: Arc<dyn Store> = Arc::new(open(&path));
        for stream in &streams {
            let before = store.position(stream).await.unwrap();
            let receipt = commit(&store, |batch| {
                batch.append(stream.clone(), "next");
            });
            assert_eq!(receipt.await.unwrap().offsets, [Offset(before.offset.0 + 1)]);
            assert_eq!(store.position(stream).await.unwrap().epoch, before.epoch);
        }
    }
}

#[tokio::test]
async fn an_older_store_is_guarded_from_its_first_commit_on() {
    for schema in schemas() {
        let folder = copy(schema);
        let path = folder.path().join("store");
        if schema == 1 {
            let has_sum = rows(&path).contains_key("m:sum").unwrap();
            assert!(
                !has_sum && !path.join("acknowledged").exists(),
                "it is no older one"
            );
        }
        let store: Arc<dyn Store> = Arc::new(open(&path));
        commit(&store, |batch| {
            batch.put("new", "value");
        })
        .await
        .unwrap();
        drop(store);
        let _ = open(&path);

        // The end is lost, also where the header does not say so.
        let lost = copy(schema);
        let lost = lost.path().join("store");
        fs::copy(path.join("acknowledged"), lost.join("acknowledged")).unwrap();
        assert!(refused(&lost).contains("it ends at commit"), "schema {schema}");

        // A row is left out.
        let database = rows(&path);
        let (key, _) = database.scan_prefix("k").next().unwrap().unwrap();
        database.remove(&key).unwrap();
        drop(database);
        assert!(
            refused(&path).contains("some of its rows are gone"),
            "schema {schema}"
        );
    }
}

/// Makes of the store that `the_past_is_made` left, of this program, one of an older program of schema 1.
#[tokio::test]
#[ignore = "makes the fixture anew"]
async fn the_past_is_aged() {
    let kept = kept(1);
    let store = kept.join("store");
    let folder = tempdir().unwrap();
    let (new, old) = (rows(&store), sled::open(folder.path().join("db")).unwrap());
    let mut streams = Vec::new();
    for row in new.iter() {
        let (key, value) = row.unwrap();
        if let Some(stream) = key.strip_prefix(b"o") {
            streams.push(Key::from(stream));
        }
        if &key[..] != b"m:sum" {
            old.insert(key, value).unwrap();
        }
    }
    old.flush().unwrap();
    drop((new, old));
    fs::remove_dir_all(store.join("db")).unwrap();
    copy_folder(&folder.path().join("db"), &store.join("db"));
    let log = store.join("db/db");
    let content = fs::read(&log).unwrap();
    let end = content.iter().rposition(|byte| *byte != 0).unwrap() + 1;
    fs::write(log, &content[..end]).unwrap();
    let copied = copy(1);
    let opened = open(&copied.path().join("store"));
    fs::write(kept.join("records.txt"), told(&opened, &streams).await).unwrap();
}
