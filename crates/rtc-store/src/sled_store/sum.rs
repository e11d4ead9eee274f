//! A sum over all rows, whatever their order, that each commit brings up to date in its own batch.
//!
//! sled leaves out what it cannot read within a log of several segments, and takes what is left for all there is. The
//! rows that are found then do not come to the sum that was written with the last commit.

use super::layout;
use crate::Revision;

/// How a sum is written: the revision that it is of, the number of rows, the sum of their hashes, and [`HASHES`].
const BYTES: usize = 8 + 8 + 16 + 1;

/// What is hashed of a row. Programs that hashed all of it wrote no such byte: to them, and of them here, a sum is none,
/// and the rows are counted anew.
const HASHES: u8 = 1;

/// How many rows there are, and the sum of their hashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Sum {
    rows: u64,
    hashes: u128,
}

impl Sum {
    /// Whether a row counts: not this one itself, nor what is written when the database is made.
    pub(super) fn counts(key: &[u8]) -> bool {
        key != layout::SUM_KEY && key != layout::SCHEMA_KEY
    }

    /// Counts a row.
    pub(super) fn add(&mut self, key: &[u8], row: &[u8]) {
        self.rows = self.rows.wrapping_add(1);
        self.hashes = self.hashes.wrapping_add(hash(key, row));
    }

    /// Counts a row no more.
    pub(super) fn remove(&mut self, key: &[u8], row: &[u8]) {
        self.rows = self.rows.wrapping_sub(1);
        self.hashes = self.hashes.wrapping_sub(hash(key, row));
    }

    /// As it is written with the commit of this revision.
    pub(super) fn encode(&self, revision: Revision) -> Vec<u8> {
        let (revision, rows) = (revision.0.to_be_bytes(), self.rows.to_be_bytes());
        [&revision[..], &rows, &self.hashes.to_be_bytes(), &[HASHES]].concat()
    }

    /// What a row says, if it is one of this revision.
    pub(super) fn decode(row: &[u8], revision: Revision) -> Option<Self> {
        let row: &[u8; BYTES] = row.try_into().ok()?;
        let (of, rest) = row.split_first_chunk()?;
        let (rows, rest) = rest.split_first_chunk()?;
        let (hashes, kind) = rest.split_first_chunk()?;
        let sum = Self {
            rows: u64::from_be_bytes(*rows),
            hashes: u128::from_be_bytes(*hashes),
        };
        (kind == [HASHES] && Revision(u64::from_be_bytes(*of)) == revision).then_some(sum)
    }
}

fn hash(key: &[u8], row: &[u8]) -> u128 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&(key.len() as u64).to_be_bytes());
    hasher.update(&(row.len() as u64).to_be_bytes());
    hasher.update(key).update(layout::version(key, row));
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    u128::from_be_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::super::layout::Head;
    use super::*;
    use crate::{Key, Offset};

    fn of<'a>(rows: impl IntoIterator<Item = (&'a Vec<u8>, &'a Vec<u8>)>) -> Sum {
        let mut sum = Sum::default();
        for (key, row) in rows {
            sum.add(key, row);
        }
        sum
    }

    proptest! {
        #[test]
        fn what_is_brought_up_to_date_is_the_sum_of_what_is_there(
            changes in proptest::collection::vec((0u8..6, proptest::option::of(0u8..4)), 0..40),
        ) {
            let (mut rows, mut sum) = (BTreeMap::new(), Sum::default());
            for (key, row) in changes {
                let key = vec![key; usize::from(key)];
                let before = match row {
                    Some(row) => {
                        sum.add(&key, &[row]);
                        rows.insert(key.clone(), vec![row])
                    }
                    None => rows.remove(&key),
                };
                if let Some(before) = before {
                    sum.remove(&key, &before);
                }
            }
            prop_assert_eq!(sum, of(&rows));
            let lacking = rows.iter().skip(1);
            prop_assert_eq!(sum == of(lacking), rows.is_empty());
        }
    }

    #[test]
    fn a_sum_is_read_back_for_its_own_revision_only() {
        let sum = of([(&b"a".to_vec(), &b"1".to_vec())]);
        let row = sum.encode(Revision(7));
        assert_eq!(Sum::decode(&row, Revision(7)), Some(sum));
        assert_eq!(Sum::decode(&row, Revision(8)), None);
        assert_eq!(
            Sum::decode(&row[..BYTES - 1], Revision(7)),
            None,
            "an earlier one"
        );
        // A key cannot pass for a part of its row.
        assert_ne!(
            of([(&b"ab".to_vec(), &b"1".to_vec())]),
            of([(&b"a".to_vec(), &b"b1".to_vec())])
        );
    }

    #[test]
    fn an_earlier_row_does_not_pass_for_the_one_that_took_its_place() {
        let value = |revision, content: &'static [u8]| Head::Inline(content).encode(Revision(revision));
        let (key, stream) = (Key::from("a"), Key::from("s"));
        let (old, new) = ([vec![b'x'; 4096], b"old".to_vec()].concat(), vec![b'x'; 4096 + 3]);
        for (row, before, after) in [
            (layout::value_key(&key), value(1, b"same"), value(2, b"same")),
            (
                layout::stream_key(&stream, Offset(1)),
                value(1, b""),
                value(2, b""),
            ),
            (layout::counter_key(&stream), vec![0; 8], vec![1; 8]),
            (layout::REVISION_KEY.to_vec(), vec![0; 8], vec![1; 8]),
            // It has no revision: all of it counts.
            (layout::chunk_key(&layout::value_key(&key), 1), old, new),
        ] {
            assert_ne!(
                of([(&row, &before)]),
                of([(&row, &after)]),
                "{}",
                row.escape_ascii()
            );
        }
    }
}
