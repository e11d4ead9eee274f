use super::*;

fn put(key: &str, value: &str, durability: Durability) -> Batch {
    let mut batch = Batch::new();
    batch.put(key, value).durability(durability);
    batch
}

async fn keys(store: &MemoryStore) -> Vec<String> {
    let rows = store.scan(&Key::default(), None, 100).await.unwrap();
    rows.iter()
        .map(|(key, entry)| format!("{key}={}", entry.value.escape_ascii()))
        .collect()
}

#[tokio::test]
async fn a_fault_before_applying_leaves_nothing() {
    let store = MemoryStore::new();
    store.fail_commit(2, Fault::BeforeApply);
    store.commit(put("a", "1", Durability::Flushed)).await.unwrap();
    let error = store
        .commit(put("b", "1", Durability::Flushed))
        .await
        .unwrap_err();
    assert!(matches!(error, Error::Io { .. }) && !error.nothing_applied());
    assert_eq!(keys(&store).await, ["a=1"]);
    store.commit(put("c", "1", Durability::Flushed)).await.unwrap();
    assert_eq!(keys(&store.crash(0)).await, ["a=1", "c=1"]);
    assert_eq!(store.commits(), 3);
}

#[tokio::test]
async fn a_fault_after_applying_leaves_the_batch_but_no_answer() {
    let store = MemoryStore::new();
    store.fail_commit(1, Fault::AfterApply);
    let mut batch = put("a", "1", Durability::Flushed);
    batch.append("s", "row");
    assert!(matches!(store.commit(batch).await, Err(Error::Io { .. })));
    let after = store.crash(0);
    assert_eq!(keys(&after).await, ["a=1"]);
    assert_eq!(after.position(&Key::from("s")).await.unwrap().offset, Offset(1));
}

#[tokio::test]
async fn a_crash_keeps_the_flushed_and_the_chosen_part_of_the_lazy() {
    let table: &[(usize, &[&str])] = &[
        (0, &["a=1", "b=1"]),
        (1, &["a=2", "b=1"]),
        (2, &["a=2"]),
        (3, &["a=3"]),
        (99, &["a=3"]),
    ];
    for (kept, expected) in table {
        let store = MemoryStore::new();
        store.commit(put("a", "0", Durability::Lazy)).await.unwrap();
        let mut flushed = put("a", "1", Durability::Flushed);
        flushed.put("b", "1");
        let before = store.commit(flushed).await.unwrap().revision;
        assert_eq!(store.unflushed(), 0);
        store.commit(put("a", "2", Durability::Lazy)).await.unwrap();
        let mut delete = Batch::new();
        delete.delete("b").durability(Durability::Lazy);
        store.commit(delete).await.unwrap();
        store.commit(put("a", "3", Durability::Lazy)).await.unwrap();
        assert_eq!(store.unflushed(), 3);

        let after = store.crash(*kept);
        assert_eq!(keys(&after).await, *expected, "kept {kept}");
        let next = after.commit(Batch::new()).await.unwrap().revision;
        assert_eq!(next.0, before.0 + 1 + (*kept).min(3) as u64);
    }
}

#[tokio::test]
async fn nobody_uses_a_store_after_its_crash() {
    let store = MemoryStore::new();
    store.crash(0);
    assert!(matches!(store.commit(Batch::new()).await, Err(Error::Closed)));
    assert!(matches!(store.get(&Key::from("a")).await, Err(Error::Closed)));
}

#[tokio::test]
async fn a_full_disk_refuses_and_recovers() {
    let store = MemoryStore::new();
    assert_eq!(store.room().await, Room::Ok);
    store.set_full(true);
    assert_eq!(store.room().await, Room::Low);
    let error = store
        .commit(put("a", "1", Durability::Flushed))
        .await
        .unwrap_err();
    assert!(matches!(error, Error::Full) && error.nothing_applied());
    store.set_full(false);
    store.commit(put("a", "2", Durability::Flushed)).await.unwrap();
    assert_eq!(keys(&store).await, ["a=2"]);
}

#[tokio::test]
async fn the_lazy_batches_that_wait_are_bounded() {
    let store = MemoryStore::new();
    for number in 0..UNFLUSHED_BATCHES + 3 {
        store
            .commit(put("a", &number.to_string(), Durability::Lazy))
            .await
            .unwrap();
    }
    assert_eq!(store.unflushed(), UNFLUSHED_BATCHES);
    assert_eq!(keys(&store.crash(0)).await, ["a=2"]);
}
