//! Random batches: sled, memory and a plain map have to agree, over reopening too.

use std::collections::BTreeMap;

use proptest::prelude::*;
use rtc_store::{Batch, Durability, Error, Expect, Key, Offset, Revision, Store};

use crate::harness::Harness;

/// Keys that begin alike, so that prefixes and bounds matter.
const KEYS: [&str; 6] = ["a", "a\0", "ab", "abc", "b", "ÿ"];
const STREAMS: [&str; 3] = ["s", "s\0", "st"];
const SIZES: [usize; 6] = [0, 3, 4096, 9000, 65_536, 70_000];

#[derive(Debug, Clone)]
enum Step {
    Commit(Vec<Part>, bool),
    Reopen,
}

#[derive(Debug, Clone)]
enum Part {
    Put(usize, usize, u8),
    Delete(usize),
    Append(usize, u8),
    RequireAbsent(usize),
    /// Of the present revision, or of one before it.
    RequireRevision(usize, bool),
}

fn part() -> impl Strategy<Value = Part> {
    prop_oneof![
        6 => (0..KEYS.len(), 0..SIZES.len(), any::<u8>())
            .prop_map(|(key, size, fill)| Part::Put(key, size, fill)),
        2 => (0..KEYS.len()).prop_map(Part::Delete),
        3 => (0..STREAMS.len(), any::<u8>()).prop_map(|(stream, fill)| Part::Append(stream, fill)),
        1 => (0..KEYS.len()).prop_map(Part::RequireAbsent),
        2 => (0..KEYS.len(), any::<bool>()).prop_map(|(key, right)| Part::RequireRevision(key, right)),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => (proptest::collection::vec(part(), 0..6), proptest::bool::weighted(0.3))
            .prop_map(|(parts, lazy)| Step::Commit(parts, lazy)),
        1 => Just(Step::Reopen),
    ]
}

#[derive(Default)]
struct Model {
    values: BTreeMap<Vec<u8>, (Vec<u8>, u64)>,
    streams: BTreeMap<Vec<u8>, Vec<Vec<u8>>>,
    revision: u64,
}

impl Model {
    fn revision_of(&self, key: usize) -> Option<u64> {
        self.values
            .get(KEYS[key].as_bytes())
            .map(|(_, revision)| *revision)
    }

    /// The batch, and what it has to be answered: the revision and offsets, or the refused key.
    fn commit(&mut self, parts: &[Part], lazy: bool) -> (Batch, Result<(u64, Vec<u64>), &'static str>) {
        let mut batch = Batch::new();
        let mut refused = None;
        for part in parts {
            let (key, expect, holds) = match part {
                Part::RequireAbsent(key) => (*key, Expect::Absent, self.revision_of(*key).is_none()),
                Part::RequireRevision(key, right) => {
                    let present = self.revision_of(*key);
                    let revision = if *right {
                        present.unwrap_or(1)
                    } else {
                        self.revision + 5
                    };
                    (
                        *key,
                        Expect::Revision(Revision(revision)),
                        present == Some(revision),
                    )
                }
                _ => continue,
            };
            batch.require(KEYS[key], expect);
            if !holds && refused.is_none() {
                refused = Some(KEYS[key]);
            }
        }
        let mut appended = false;
        for part in parts {
            match part {
                Part::Put(key, size, fill) => _ = batch.put(KEYS[*key], vec![*fill; SIZES[*size]]),
                Part::Delete(key) => _ = batch.delete(KEYS[*key]),
                Part::Append(stream, fill) => {
                    batch.append(STREAMS[*stream], vec![*fill; 5000]);
                    appended = true;
                }
                Part::RequireAbsent(_) | Part::RequireRevision(..) => {}
            }
        }
        if lazy && !appended {
            batch.durability(Durability::Lazy);
        }
        if let Some(key) = refused {
            return (batch, Err(key));
        }
        self.revision += 1;
        let mut offsets = Vec::new();
        for part in parts {
            match part {
                Part::Put(key, size, fill) => {
                    let value = (vec![*fill; SIZES[*size]], self.revision);
                    self.values.insert(KEYS[*key].as_bytes().to_vec(), value);
                }
                Part::Delete(key) => _ = self.values.remove(KEYS[*key].as_bytes()),
                Part::Append(stream, fill) => {
                    let rows = self
                        .streams
                        .entry(STREAMS[*stream].as_bytes().to_vec())
                        .or_default();
                    rows.push(vec![*fill; 5000]);
                    offsets.push(rows.len() as u64);
                }
                Part::RequireAbsent(_) | Part::RequireRevision(..) => {}
            }
        }
        (batch, Ok((self.revision, offsets)))
    }

    async fn compare(&self, store: &dyn Store) {
        for (prefix, bound) in [
            ("", None),
            ("a", None),
            ("a", Some("ab")),
            ("", Some("a")),
            ("b", Some("a")),
        ] {
            let bounded = |key: &[u8], forwards: bool| match bound {
                Some(bound) if forwards => key > bound.as_bytes(),
                Some(bound) => key < bound.as_bytes(),
                None => true,
            };
            let of_model = |forwards: bool| {
                let found = self
                    .values
                    .iter()
                    .filter(move |(key, _)| key.starts_with(prefix.as_bytes()) && bounded(key, forwards));
                found
                    .map(|(key, (value, revision))| (key.clone(), value.clone(), *revision))
                    .collect::<Vec<_>>()
            };
            let (prefix, bound) = (Key::from(prefix), bound.map(Key::from));
            let forwards = store.scan(&prefix, bound.as_ref(), 100).await.unwrap();
            let mut backwards = store.scan_back(&prefix, bound.as_ref(), 100).await.unwrap();
            backwards.reverse();
            for (found, expected) in [(forwards, of_model(true)), (backwards, of_model(false))] {
                let found: Vec<_> = found
                    .into_iter()
                    .map(|(key, entry)| (key.into_bytes(), entry.value, entry.revision.0))
                    .collect();
                assert!(found == expected, "prefix {prefix}, bound {bound:?}");
            }
        }
        for key in KEYS {
            let found = store.get(&Key::from(key)).await.unwrap();
            let found = found.map(|entry| (entry.value, entry.revision.0));
            assert!(found.as_ref() == self.values.get(key.as_bytes()), "{key}");
        }
        for stream in STREAMS {
            let rows = self.streams.get(stream.as_bytes()).cloned().unwrap_or_default();
            let position = store.position(&Key::from(stream)).await.unwrap();
            assert_eq!(position.offset.0, rows.len() as u64);
            let expected: Vec<_> = (1..).map(Offset).zip(rows).collect();
            let half = expected.len() / 2;
            for skip in [0, half] {
                let found = store
                    .read_stream(&Key::from(stream), Offset(skip as u64), 100)
                    .await
                    .unwrap();
                assert!(found == expected[skip..], "{stream} after {skip}");
            }
        }
    }
}

async fn run(steps: &[Step], mut harness: Harness) {
    let mut model = Model::default();
    for step in steps {
        match step {
            Step::Commit(parts, lazy) => {
                let (batch, expected) = model.commit(parts, *lazy);
                let answered = match harness.store().commit(batch).await {
                    Ok(receipt) => Ok((
                        receipt.revision.0,
                        receipt.offsets.iter().map(|offset| offset.0).collect(),
                    )),
                    Err(Error::PreconditionFailed { key }) => Err(key),
                    Err(error) => panic!("{error}"),
                };
                assert_eq!(answered, expected.map_err(Key::from));
            }
            Step::Reopen => {
                model.compare(&*harness.store()).await;
                harness.reopen();
            }
        }
    }
    model.compare(&*harness.store()).await;
    harness.reopen();
    model.compare(&*harness.store()).await;
}

fn check(steps: &[Step], harness: Harness) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(run(steps, harness));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]
    #[test]
    fn memory_agrees_with_the_model(steps in proptest::collection::vec(step(), 1..40)) {
        check(&steps, Harness::memory());
    }
}

proptest! {
    // Each case opens databases and waits for the device.
    #![proptest_config(ProptestConfig { cases: 20, ..ProptestConfig::default() })]
    #[test]
    fn sled_agrees_with_the_model(steps in proptest::collection::vec(step(), 1..40)) {
        check(&steps, Harness::sled());
    }
}
