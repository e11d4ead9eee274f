//! The contract: streams.

use std::collections::BTreeSet;

use futures::future::join_all;
use rtc_store::{Error, INLINE_BYTES, Key, Offset};

use crate::harness::{Harness, commit, shown};

pub(crate) async fn offsets_begin_at_one_and_go_on_after_reopening(mut harness: Harness) {
    let mut expected = Vec::new();
    for life in 0..3u64 {
        let store = harness.store();
        for step in 0..3u64 {
            let receipt = commit(&store, |batch| {
                batch
                    .append("s", format!("{life}.{step}.0"))
                    .append("s", format!("{life}.{step}.1"));
            })
            .await
            .unwrap();
            let first = (life * 3 + step) * 2 + 1;
            assert_eq!(receipt.offsets, [Offset(first), Offset(first + 1)]);
            expected.push((Offset(first), format!("{life}.{step}.0").into_bytes()));
            expected.push((Offset(first + 1), format!("{life}.{step}.1").into_bytes()));
        }
        drop(store);
        harness.reopen();
    }
    let store = harness.store();
    let stream = Key::from("s");
    assert_eq!(
        store.read_stream(&stream, Offset(0), 100).await.unwrap(),
        expected
    );
    assert_eq!(
        store.read_stream(&stream, Offset(4), 3).await.unwrap(),
        expected[4..7]
    );
    assert_eq!(store.read_stream(&stream, Offset(18), 3).await.unwrap(), []);
    assert_eq!(store.read_stream(&stream, Offset(u64::MAX), 3).await.unwrap(), []);
    assert_eq!(store.read_stream(&stream, Offset(0), 0).await.unwrap(), []);
}

pub(crate) async fn streams_are_apart(harness: Harness) {
    let store = harness.store();
    // Names that begin alike, and a key with the name of a stream.
    let receipt = commit(&store, |batch| {
        batch
            .append("a", "1")
            .append("ab", "2")
            .append("", "3")
            .append("a", "4")
            .put("a", "value");
    })
    .await
    .unwrap();
    assert_eq!(receipt.offsets, [Offset(1), Offset(1), Offset(1), Offset(2)]);
    for (stream, rows) in [("a", &["1", "4"][..]), ("ab", &["2"]), ("", &["3"]), ("b", &[])] {
        let found = store.read_stream(&Key::from(stream), Offset(0), 9).await.unwrap();
        let found: Vec<String> = found
            .into_iter()
            .map(|(_, row)| String::from_utf8(row).unwrap())
            .collect();
        assert_eq!(found, rows, "{stream}");
        assert_eq!(
            store.position(&Key::from(stream)).await.unwrap().offset.0,
            rows.len() as u64
        );
    }
    assert_eq!(shown(&store).await, "a=value");
}

pub(crate) async fn the_epoch_stays(mut harness: Harness) {
    let before = harness.store().position(&Key::from("s")).await.unwrap();
    assert_eq!(before.offset, Offset(0));
    commit(&harness.store(), |batch| {
        batch.append("s", "row");
    })
    .await
    .unwrap();
    harness.reopen();
    let after = harness.store().position(&Key::from("s")).await.unwrap();
    assert_eq!((after.epoch, after.offset), (before.epoch, Offset(1)));
}

pub(crate) async fn a_stream_takes_rows_up_to_the_limit(mut harness: Harness) {
    let store = harness.store();
    let sizes = [0, 1, 4096, 4097, INLINE_BYTES];
    commit(&store, |batch| {
        for size in sizes {
            batch.append("s", vec![size as u8; size]);
        }
    })
    .await
    .unwrap();
    let refused = commit(&store, |batch| {
        batch.append("s", vec![0; INLINE_BYTES + 1]);
    })
    .await;
    assert!(matches!(
        refused,
        Err(Error::TooLarge {
            limit: INLINE_BYTES,
            ..
        })
    ));
    drop(store);
    harness.reopen();
    let rows = harness
        .store()
        .read_stream(&Key::from("s"), Offset(0), 9)
        .await
        .unwrap();
    for ((offset, row), (number, size)) in rows.iter().zip((1..).zip(sizes)) {
        assert_eq!(*offset, Offset(number));
        assert!(*row == vec![size as u8; size], "size {size}");
    }
    assert_eq!(rows.len(), sizes.len());
}

pub(crate) async fn sixteen_writers_lose_and_double_nothing(mut harness: Harness) {
    const WRITERS: u64 = 16;
    const STEPS: u64 = 25;
    let store = harness.store();
    let writers = (0..WRITERS).map(|writer| {
        let store = store.clone();
        tokio::spawn(async move {
            let mut offsets = Vec::new();
            for step in 0..STEPS {
                let text = format!("{writer}/{step}");
                let receipt = commit(&store, |batch| {
                    batch
                        .append("shared", text.clone())
                        .append(format!("own/{writer}"), text.clone());
                    batch.put(text.clone(), text.clone());
                })
                .await
                .unwrap();
                assert_eq!(receipt.offsets[1], Offset(step + 1));
                offsets.push((receipt.offsets[0], text));
            }
            assert!(offsets.is_sorted());
            offsets
        })
    });
    let written: Vec<_> = join_all(writers)
        .await
        .into_iter()
        .flat_map(Result::unwrap)
        .collect();
    drop(store);
    harness.reopen();
    let store = harness.store();
    let read = store
        .read_stream(&Key::from("shared"), Offset(0), usize::MAX)
        .await
        .unwrap();
    let read: BTreeSet<_> = read
        .into_iter()
        .map(|(offset, row)| (offset, String::from_utf8(row).unwrap()))
        .collect();
    assert_eq!(read, BTreeSet::from_iter(written));
    assert_eq!(read.len() as u64, WRITERS * STEPS);
    assert_eq!(read.last().unwrap().0, Offset(WRITERS * STEPS));
    assert_eq!(
        store.scan(&Key::default(), None, usize::MAX).await.unwrap().len() as u64,
        WRITERS * STEPS
    );
}
