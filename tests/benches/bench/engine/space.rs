//! What a store takes on the device, by what is in it.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use anyhow::Result;

use super::Effort;
use super::life::{self, Turn};
use crate::bench::Folders;
use crate::bench::figure::{Figure, Unit};

/// Calls of a session, one a reply, in turns of as many.
const CALLS: usize = 500;
const OF_TURN: usize = 50;
/// Bytes of a result.
const BYTES: usize = 1_000;

/// The store of many calls.
pub(super) fn measure(folders: &Folders, effort: Effort) -> Result<Vec<Figure>> {
    let folder = tempfile::tempdir_in(&folders.memory)?;
    let data = folder.path().join("data");
    let turn = Turn {
        replies: OF_TURN.min(effort.stored),
        calls: 1,
        bytes: BYTES,
    };
    let live = life::live(&data, async |life| {
        let turns = CALLS.min(effort.stored) / turn.replies;
        let sessions = effort.stored / (turns * turn.replies);
        life.sessions(sessions, None, turns, turn).await?;
        life.live().await
    })?;
    let (taken, live) = (taken(&data)?, live.values + live.rows);
    let megabytes = |name, what, bytes: u64| Figure::one(name, what, Unit::Megabytes, bytes as f64 / 1e6);
    Ok(vec![
        megabytes("space", "the data folder after 100,000 calls", taken),
        megabytes("space_live", "its keys, values and rows of the stream", live),
        Figure::one(
            "space_ratio",
            "the first by the second",
            Unit::Count,
            taken as f64 / live as f64,
        ),
    ])
}

/// What the files of a folder take on the device, in bytes.
fn taken(folder: &Path) -> Result<u64> {
    /// What `st_blocks` counts.
    const BLOCK: u64 = 512;
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        bytes += match entry.file_type()?.is_dir() {
            true => taken(&entry.path())?,
            false => entry.metadata()?.blocks() * BLOCK,
        };
    }
    Ok(bytes)
}
