//! The contract: reading.

use rtc_store::{INLINE_BYTES, Key, Revision, Room};

use crate::harness::{Harness, batch, commit};

/// A prefix, a bound, and how many keys are to be found.
type Asked<'a> = (&'a [u8], Option<&'a [u8]>, usize);

pub(crate) async fn scans_page_through_every_key_once(harness: Harness) {
    let store = harness.store();
    let keys: Vec<Key> = (0..57u8)
        .map(|number| Key::from(vec![b'p', number / 7, number]))
        .collect();
    commit(&store, |batch| {
        for key in &keys {
            batch.put(key.clone(), key.as_bytes());
        }
        batch.put("o", "outside").put("q", "outside");
    })
    .await
    .unwrap();
    let prefix = Key::from("p");
    for limit in [1, 2, 7, 56, 57, 58] {
        let (mut forwards, mut backwards) = (Vec::new(), Vec::new());
        loop {
            let page = store.scan(&prefix, forwards.last(), limit).await.unwrap();
            assert!(page.len() <= limit);
            assert!(page.iter().all(|(key, entry)| key.as_bytes() == entry.value));
            if page.is_empty() {
                break;
            }
            forwards.extend(page.into_iter().map(|(key, _)| key));
        }
        loop {
            let page = store.scan_back(&prefix, backwards.last(), limit).await.unwrap();
            assert!(page.len() <= limit);
            if page.is_empty() {
                break;
            }
            backwards.extend(page.into_iter().map(|(key, _)| key));
        }
        assert_eq!(forwards, keys, "limit {limit}");
        backwards.reverse();
        assert_eq!(backwards, keys, "limit {limit}");
    }
}

pub(crate) async fn the_bounds_of_a_scan_are_exclusive(harness: Harness) {
    let store = harness.store();
    commit(&store, |batch| {
        for key in ["a", "a\0", "ab", "b"] {
            batch.put(key, "");
        }
        batch.put(vec![255], "").put(vec![255, 255], "");
    })
    .await
    .unwrap();
    let forwards: &[Asked<'_>] = &[
        (b"", None, 6),
        (b"a", None, 3),
        (b"a", Some(b"a"), 2),
        (b"a", Some(b"a\0"), 1),
        (b"a", Some(b"0"), 3),
        (b"a", Some(b"b"), 0),
        (b"", Some(b"b"), 2),
        (&[255], None, 2),
        (&[255], Some(&[255]), 1),
        (b"c", None, 0),
    ];
    for (prefix, after, count) in forwards {
        let after = after.map(Key::from);
        let found = store
            .scan(&Key::from(*prefix), after.as_ref(), 100)
            .await
            .unwrap();
        assert_eq!(found.len(), *count, "{prefix:?} after {after:?}");
    }
    let backwards: &[Asked<'_>] = &[
        (b"", None, 6),
        (b"a", Some(b"ab"), 2),
        (b"a", Some(b"a"), 0),
        (b"a", Some(b"z"), 3),
        (b"", Some(b"b"), 3),
        (&[255], Some(&[255, 255]), 1),
    ];
    for (prefix, before, count) in backwards {
        let before = before.map(Key::from);
        let found = store
            .scan_back(&Key::from(*prefix), before.as_ref(), 100)
            .await
            .unwrap();
        assert_eq!(found.len(), *count, "{prefix:?} before {before:?}");
        assert!(found.is_sorted_by(|(left, _), (right, _)| left > right));
    }
    assert!(store.scan(&Key::default(), None, 0).await.unwrap().is_empty());
}

pub(crate) async fn values_of_every_size_come_back(mut harness: Harness) {
    let sizes = [
        0,
        1,
        4095,
        4096,
        4097,
        8192,
        40_000,
        INLINE_BYTES,
        INLINE_BYTES + 1,
        300_000,
        5_000_000,
        10,
        9000,
        0,
    ];
    // One key takes each size after the other, and each size has a key of its own.
    for (number, size) in sizes.into_iter().enumerate() {
        let store = harness.store();
        let value: Vec<u8> = (0..size).map(|place| (place * 31 + number) as u8).collect();
        let receipt = commit(&store, |batch| {
            batch
                .put("all", value.clone())
                .put(format!("own/{number:02}"), value.clone());
        })
        .await
        .unwrap();
        let entry = store.get(&Key::from("all")).await.unwrap().unwrap();
        assert!(
            entry.value == value && entry.revision == receipt.revision,
            "size {size}"
        );
    }
    harness.reopen();
    let store = harness.store();
    let found = store.scan(&Key::from("own/"), None, 100).await.unwrap();
    let found: Vec<usize> = found.iter().map(|(_, entry)| entry.value.len()).collect();
    assert_eq!(found, sizes);
    for (number, size) in sizes.into_iter().enumerate() {
        let entry = store
            .get(&Key::from(format!("own/{number:02}")))
            .await
            .unwrap()
            .unwrap();
        assert!(
            entry
                .value
                .iter()
                .enumerate()
                .all(|(place, byte)| *byte == (place * 31 + number) as u8)
        );
        assert_eq!(entry.value.len(), size);
    }
}

pub(crate) async fn a_reader_never_sees_a_part_of_a_batch(harness: Harness) {
    let store = harness.store();
    let write = |number: u32| {
        let value = vec![number as u8; 200 + 1000 * (number as usize % 60)];
        batch(|batch| {
            for key in ["a", "b", "c"] {
                batch.put(key, value.clone());
            }
        })
    };
    store.commit(write(0)).await.unwrap();
    let writer = store.clone();
    let writing = tokio::spawn(async move {
        for number in 1..120 {
            writer.commit(write(number)).await.unwrap();
        }
    });
    let mut last = Revision(0);
    while !writing.is_finished() {
        let rows = store.scan(&Key::default(), None, 9).await.unwrap();
        assert_eq!(rows.len(), 3);
        assert!(rows.iter().all(|(_, entry)| *entry == rows[0].1));
        assert!(rows[0].1.revision >= last);
        last = rows[0].1.revision;
    }
    writing.await.unwrap();
}

pub(crate) async fn there_is_room(harness: Harness) {
    assert_eq!(harness.store().room().await, Room::Ok);
}
