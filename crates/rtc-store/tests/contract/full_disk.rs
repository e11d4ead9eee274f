//! A disk that fills: on a file system of its own, where that may be mounted.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rtc_store::{Batch, Error, Key, Offset, Room, Store};
use tempfile::TempDir;

use crate::harness::open;

/// A small file system; unmounted when dropped.
struct SmallDisk(TempDir);

impl SmallDisk {
    /// `None` where nothing may be mounted.
    fn mount(megabytes: u32) -> Option<SmallDisk> {
        let folder = tempfile::tempdir().unwrap();
        let size = format!("size={megabytes}m");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &size, "tmpfs"])
            .arg(folder.path())
            .output();
        mounted
            .is_ok_and(|output| output.status.success())
            .then_some(SmallDisk(folder))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// Fills the disk but for some bytes, with files that do not belong to the store.
    fn fill(&self, number: u32, but: u64) -> PathBuf {
        let path = self.path().join(format!("filler-{number}"));
        let free = self.free();
        fs::write(&path, vec![1; usize::try_from(free.saturating_sub(but)).unwrap()]).unwrap();
        path
    }

    fn free(&self) -> u64 {
        let found = rustix::fs::statvfs(self.path()).unwrap();
        found.f_bavail * found.f_frsize
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: whatever failed may still hold files.
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).output();
    }
}

/// Commits until the disk is full; gives the last number that was taken.
async fn commit_until_full(store: &impl Store, mut number: u64) -> u64 {
    loop {
        let mut batch = Batch::new();
        batch
            .put(format!("{number:06}"), vec![number as u8; 30_000])
            .append("s", number.to_string());
        match store.commit(batch).await {
            Ok(receipt) => assert_eq!(receipt.offsets, [Offset(number)]),
            Err(error) => {
                assert!(matches!(error, Error::Full), "at {number}: {error}");
                return number - 1;
            }
        }
        number += 1;
        assert!(number < 5000, "the disk never fills");
    }
}

async fn check(store: &impl Store, last: u64) {
    assert_eq!(
        store.position(&Key::from("s")).await.unwrap().offset,
        Offset(last)
    );
    let rows = store
        .read_stream(&Key::from("s"), Offset(0), usize::MAX)
        .await
        .unwrap();
    assert_eq!(rows.len() as u64, last);
    let values = store.scan(&Key::default(), None, usize::MAX).await.unwrap();
    assert_eq!(values.len() as u64, last);
    for (number, (key, entry)) in (1..).zip(values) {
        assert_eq!(key, Key::from(format!("{number:06}")));
        assert!(entry.value == vec![number as u8; 30_000]);
    }
}

#[tokio::test]
async fn a_full_disk_refuses_keeps_everything_and_goes_on() {
    let Some(disk) = SmallDisk::mount(96) else {
        #[allow(clippy::disallowed_macros)] // A skipped test says so.
        {
            eprintln!("skipped: no file system may be mounted here");
        }
        return;
    };
    let folder = disk.path().join("store");
    let store = open(&folder);
    assert_eq!(store.room().await, Room::Ok);
    let reserve = folder.join("reserve");
    assert_eq!(fs::metadata(&reserve).unwrap().len(), 16 << 20);
    let mut batch = Batch::new();
    batch.put("000001", vec![1; 30_000]).append("s", "1");
    store.commit(batch).await.unwrap();

    // Others fill the disk: the reserve is given up, and what was begun can be finished.
    let filler = disk.fill(1, 3 << 20);
    assert_eq!(store.room().await, Room::Low);
    assert!(!reserve.exists());
    let last = commit_until_full(&store, 2).await;
    assert!(last > 50, "the reserve was of no use: {last}");
    assert!(disk.free() > 0, "the database met a full disk");
    check(&store, last).await;
    let mut batch = Batch::new();
    batch.put("large", vec![0; 4 << 20]);
    assert!(matches!(store.commit(batch).await, Err(Error::Full)));

    // Full to the last byte.
    let rest = disk.fill(2, 0);
    assert!(matches!(store.commit(Batch::new()).await, Err(Error::Full)));
    check(&store, last).await;
    drop(store);
    // What is kept for opening makes it possible, once.
    let store = open(&folder);
    assert_eq!(store.room().await, Room::Low);
    check(&store, last).await;
    let last = commit_until_full(&store, last + 1).await;
    drop(store);
    let another = disk.fill(3, 0);
    let refused = rtc_store::SledStore::open(&folder, &rtc_store::SledOptions::default());
    assert!(matches!(refused, Err(Error::Full)), "{refused:?}");

    // Room again.
    fs::remove_file(filler).unwrap();
    fs::remove_file(rest).unwrap();
    fs::remove_file(another).unwrap();
    let store = open(&folder);
    check(&store, last).await;
    assert_eq!(store.room().await, Room::Ok);
    assert!(reserve.exists());
    let mut batch = Batch::new();
    batch
        .put(format!("{:06}", last + 1), vec![(last + 1) as u8; 30_000])
        .append("s", "more");
    store.commit(batch).await.unwrap();
    drop(store);
    check(&open(&folder), last + 1).await;
}

#[tokio::test]
async fn a_store_that_fills_its_disk_itself_keeps_everything() {
    let Some(disk) = SmallDisk::mount(64) else { return };
    let folder = disk.path().join("store");
    let store = open(&folder);
    let last = commit_until_full(&store, 1).await;
    assert_eq!(store.room().await, Room::Low);
    check(&store, last).await;
    drop(store);
    check(&open(&folder), last).await;
}

#[tokio::test]
async fn no_store_is_begun_on_a_full_disk() {
    let Some(disk) = SmallDisk::mount(4) else { return };
    let filler = disk.fill(1, 64 << 10);
    let folder = disk.path().join("store");
    let refused = rtc_store::SledStore::open(&folder, &rtc_store::SledOptions::default());
    assert!(matches!(refused, Err(Error::Full)));
    fs::remove_file(filler).unwrap();
    assert_eq!(open(&folder).room().await, Room::Low);
}
