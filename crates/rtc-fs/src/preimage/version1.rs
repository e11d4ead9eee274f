//! Pre-images as the first version kept them, which are only read: `<n>.json` describes one, `<n>.bytes` has its bytes.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::record::{KeptDescription, Record};
use super::{PreImage, There};
use crate::{Hash, VPath};

#[derive(Deserialize)]
struct Description {
    version: u32,
    #[serde(default)]
    attempt: u32,
    path: VPath,
    before: Option<Hash>,
    after: Hash,
    /// Hash of the bytes beside it.
    bytes: Hash,
    kept: KeptDescription,
}

/// What the two files have, or why they cannot be ones.
pub(super) fn decode(description: &[u8], bytes: &[u8]) -> Result<Record, String> {
    let description: Description = serde_json::from_slice(description).map_err(|error| error.to_string())?;
    if description.version != 1 {
        return Err(format!("its version is {}, known is 1", description.version));
    }
    if Hash::of(bytes) != description.bytes {
        return Err("its bytes have changed".to_owned());
    }
    let kept = description.kept.with(bytes)?;
    // A removed file was kept as one that had become empty.
    let after = match description.after {
        empty if empty == Hash::of(b"") => There::NothingOrEmpty,
        after => There::File(after),
    };
    Ok(Record {
        attempt: description.attempt,
        image: PreImage {
            path: description.path,
            before: description.before.map_or(There::Nothing, There::File),
            after,
            kept,
            left: None,
            made_folders: 0,
            mode: None,
        },
    })
}

/// The numbers that have both files: names reach the device in any order, and one without its bytes was never kept to the
/// end.
pub(super) fn numbers<'n>(names: impl Iterator<Item = &'n str>) -> BTreeSet<u32> {
    let (mut described, mut with_bytes) = (BTreeSet::new(), BTreeSet::new());
    for name in names {
        let number = |suffix| name.strip_suffix(suffix)?.parse::<u32>().ok();
        described.extend(number(".json"));
        with_bytes.extend(number(".bytes"));
    }
    described.intersection(&with_bytes).copied().collect()
}
