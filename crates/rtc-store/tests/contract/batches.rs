//! The contract: batches.

use futures::future::join_all;
use rtc_store::{
    BATCH_BYTES, Batch, Durability, Error, Expect, INLINE_BYTES, KEY_BYTES, Key, Offset, Revision,
    VALUE_BYTES,
};

use crate::harness::{Harness, batch, commit, shown};

pub(crate) async fn a_batch_is_applied_wholly_or_not_at_all(mut harness: Harness) {
    let store = harness.store();
    commit(&store, |batch| {
        batch.put("a", "1").put("b", "1").append("s", "first");
    })
    .await
    .unwrap();
    let refused = commit(&store, |batch| {
        batch.put("a", "2").delete("b").put("c", "2").append("s", "never");
        batch
            .require("a", Expect::Revision(Revision(1)))
            .require("b", Expect::Absent);
    })
    .await;
    assert!(matches!(refused, Err(Error::PreconditionFailed { ref key }) if *key == Key::from("b")));
    assert!(refused.unwrap_err().nothing_applied());
    drop(store);
    for _ in 0..2 {
        let store = harness.store();
        assert_eq!(shown(&store).await, "a=1 b=1");
        assert_eq!(
            store
                .read_stream(&Key::from("s"), Offset(0), 9)
                .await
                .unwrap()
                .len(),
            1
        );
        drop(store);
        harness.reopen();
    }
}

pub(crate) async fn a_precondition_looks_at_the_state_before_the_batch(harness: Harness) {
    let store = harness.store();
    let first = commit(&store, |batch| {
        batch.put("a", "1").require("a", Expect::Absent);
    })
    .await
    .unwrap();
    let table = [
        ("a", Expect::Absent, false),
        ("a", Expect::Revision(first.revision), true),
        ("a", Expect::Revision(Revision(first.revision.0 + 1)), false),
        ("b", Expect::Absent, true),
        ("b", Expect::Revision(first.revision), false),
    ];
    for (key, expect, holds) in table {
        let result = commit(&store, |batch| {
            batch.require(key, expect);
        })
        .await;
        assert_eq!(result.is_ok(), holds, "{key} {expect:?}");
    }
    commit(&store, |batch| {
        batch.delete("a");
    })
    .await
    .unwrap();
    commit(&store, |batch| {
        batch.require("a", Expect::Absent);
    })
    .await
    .unwrap();
}

pub(crate) async fn one_of_many_with_the_same_precondition_wins(harness: Harness) {
    let store = harness.store();
    // Started together, most of them share a commit group.
    let attempts = (0..32).map(|number| {
        let store = store.clone();
        tokio::spawn(async move {
            let wanted = commit(&store, |batch| {
                batch
                    .require("prize", Expect::Absent)
                    .put("prize", number.to_string());
                batch.append("winners", number.to_string());
            });
            let other = commit(&store, |batch| {
                batch.put(format!("other/{number:02}"), "done");
            });
            let (wanted, other) = tokio::join!(wanted, other);
            other.unwrap();
            wanted.map(|_| number)
        })
    });
    let results: Vec<_> = join_all(attempts).await.into_iter().map(Result::unwrap).collect();
    let won: Vec<i32> = results
        .iter()
        .filter_map(|result| result.as_ref().ok())
        .copied()
        .collect();
    assert_eq!(won.len(), 1, "{results:?}");
    assert!(
        results
            .iter()
            .flat_map(|result| result.as_ref().err())
            .all(Error::nothing_applied)
    );
    let prize = store.get(&Key::from("prize")).await.unwrap().unwrap();
    assert_eq!(prize.value, won[0].to_string().as_bytes());
    assert_eq!(
        store.position(&Key::from("winners")).await.unwrap().offset,
        Offset(1)
    );
    assert_eq!(
        store.scan(&Key::from("other/"), None, 100).await.unwrap().len(),
        32
    );
}

pub(crate) async fn a_revision_names_the_commit_that_wrote_the_value(mut harness: Harness) {
    let store = harness.store();
    let mut last = Revision(0);
    for round in 0..4 {
        let receipt = commit(&store, |batch| {
            batch.put("a", "same").put("b", "same");
        })
        .await
        .unwrap();
        assert!(receipt.revision > last, "round {round}");
        last = receipt.revision;
        for key in ["a", "b"] {
            assert_eq!(store.get(&Key::from(key)).await.unwrap().unwrap().revision, last);
        }
    }
    drop(store);
    harness.reopen();
    let store = harness.store();
    assert_eq!(store.get(&Key::from("a")).await.unwrap().unwrap().revision, last);
    let receipt = commit(&store, |batch| {
        batch.put("b", "new");
    })
    .await
    .unwrap();
    assert!(receipt.revision > last);
    assert_eq!(store.get(&Key::from("a")).await.unwrap().unwrap().revision, last);
}

pub(crate) async fn the_last_write_of_a_key_in_a_batch_counts(harness: Harness) {
    let store = harness.store();
    commit(&store, |batch| {
        batch.put("a", "1").put("a", vec![b'x'; 100_000]).put("a", "2");
        batch
            .put("b", "1")
            .delete("b")
            .put("c", vec![b'x'; 20_000])
            .delete("c")
            .delete("never");
    })
    .await
    .unwrap();
    assert_eq!(shown(&store).await, "a=2");
}

pub(crate) async fn a_lazy_batch_is_seen_and_survives_closing(mut harness: Harness) {
    let store = harness.store();
    let receipt = commit(&store, |batch| {
        batch
            .put("a", "lazy")
            .put("large", vec![7; 100_000])
            .durability(Durability::Lazy);
    })
    .await
    .unwrap();
    assert_eq!(
        store.get(&Key::from("a")).await.unwrap().unwrap().revision,
        receipt.revision
    );
    commit(&store, |batch| {
        batch
            .require("a", Expect::Revision(receipt.revision))
            .put("b", "flushed");
    })
    .await
    .unwrap();
    commit(&store, |batch| {
        batch
            .delete("large")
            .put("a", "again")
            .durability(Durability::Lazy);
    })
    .await
    .unwrap();
    drop(store);
    harness.reopen();
    assert_eq!(shown(&harness.store()).await, "a=again b=flushed");
}

pub(crate) async fn a_lazy_batch_may_not_append(harness: Harness) {
    let store = harness.store();
    let refused = commit(&store, |batch| {
        batch
            .put("a", "1")
            .append("s", "row")
            .durability(Durability::Lazy);
    })
    .await;
    assert!(matches!(refused, Err(Error::LazyAppend)));
    assert_eq!(shown(&store).await, "");
}

pub(crate) async fn limits_are_refused_and_change_nothing(harness: Harness) {
    let store = harness.store();
    commit(&store, |batch| {
        batch
            .put(vec![b'k'; KEY_BYTES], "the longest key")
            .append(vec![b's'; KEY_BYTES], "row");
    })
    .await
    .unwrap();
    let longer = KEY_BYTES + 1;
    let refused: [Batch; 6] = [
        batch(|batch| _ = batch.put("a", "1").put(vec![b'k'; longer], "")),
        batch(|batch| _ = batch.put("a", "1").delete(vec![b'k'; longer])),
        batch(|batch| _ = batch.put("a", "1").require(vec![b'k'; longer], Expect::Absent)),
        batch(|batch| _ = batch.put("a", "1").append(vec![b'k'; longer], "")),
        batch(|batch| _ = batch.put("a", "1").put("large", vec![0; VALUE_BYTES + 1])),
        batch(|batch| {
            batch.put("a", "1");
            (0..=BATCH_BYTES / INLINE_BYTES)
                .for_each(|number| _ = batch.put(format!("{number}"), vec![0; INLINE_BYTES]));
        }),
    ];
    for (number, batch) in refused.into_iter().enumerate() {
        let error = store.commit(batch).await.unwrap_err();
        assert!(
            matches!(error, Error::TooLarge { .. }) && error.nothing_applied(),
            "{number}: {error}"
        );
    }
    assert!(store.get(&Key::from("a")).await.unwrap().is_none());
    assert_eq!(store.scan(&Key::default(), None, 9).await.unwrap().len(), 1);
    assert!(store.get(&Key::from(vec![b'k'; longer])).await.unwrap().is_none());
}

pub(crate) async fn a_large_batch_is_taken(mut harness: Harness) {
    let store = harness.store();
    let values = BATCH_BYTES / INLINE_BYTES - 1;
    commit(&store, |batch| {
        for number in 0..values {
            batch.put(format!("{number:03}"), vec![number as u8; INLINE_BYTES]);
        }
    })
    .await
    .unwrap();
    drop(store);
    harness.reopen();
    let found = harness
        .store()
        .scan(&Key::default(), None, usize::MAX)
        .await
        .unwrap();
    assert_eq!(found.len(), values);
    for (number, (_, entry)) in found.iter().enumerate() {
        assert!(entry.value == vec![number as u8; INLINE_BYTES], "{number}");
    }
}
