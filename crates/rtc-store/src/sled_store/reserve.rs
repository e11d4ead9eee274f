//! Room on the disk: files that are given up when it fills, so that what was begun can still be finished, and
//! the store can still be opened.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::files;
use crate::{Error, Room};

/// The size of the reserve for commits, in bytes.
const COMMITS_BYTES: u64 = 16 * 1024 * 1024;

/// The size of the reserve for opening, in bytes: sled does not open without writing where its pages are.
const OPENING_BYTES: u64 = 4 * 1024 * 1024;

/// With less free space than this, in bytes, the reserve for commits is given up.
const FLOOR_BYTES: u64 = 8 * 1024 * 1024;

/// The reserves are made again when this many bytes above the floor are free.
const REMAKE_BYTES: u64 = 32 * 1024 * 1024;

/// No commit takes the last of these bytes: sled, its space recovery included, must never meet a full disk.
const LAST_BYTES: u64 = 2 * 1024 * 1024;

/// What a commit may need for each byte it brings: the log, and pages that are rewritten on the way.
const WRITE_FACTOR: u64 = 2;

#[derive(Debug)]
pub(super) struct Reserve {
    folder: PathBuf,
    spares: Mutex<Spares>,
}

#[derive(Debug)]
struct Spares {
    commits: Spare,
    opening: Spare,
    /// Whether the disk was found nearly full, and has not been found with room again.
    low: bool,
}

/// A file that does nothing but take room.
#[derive(Debug)]
struct Spare {
    path: PathBuf,
    bytes: u64,
    present: bool,
    /// It could not be made although there was room; it is not tried again in this run.
    refused: bool,
}

impl Spare {
    /// Takes over the file of an earlier run, if it is whole.
    fn find(path: PathBuf, bytes: u64) -> Self {
        let found = fs::metadata(&path).map(|found| found.len());
        let mut spare = Spare {
            path,
            bytes,
            present: found.is_ok(),
            refused: false,
        };
        if found.is_ok_and(|len| len != bytes) {
            // The rest of an attempt that was cut short.
            spare.give_up();
        }
        spare
    }

    fn give_up(&mut self) {
        self.present = fs::remove_file(&self.path).is_err() && self.path.exists();
    }

    fn make(&mut self) {
        if self.present || self.refused {
            return;
        }
        let made =
            files::open_private(&self.path, true).and_then(|mut file| files::allocate(&mut file, self.bytes));
        match made {
            Ok(()) => self.present = true,
            Err(error) => {
                tracing::warn!(%error, "a reserve could not be made");
                // A part of it would only take room.
                self.give_up();
                self.refused = true;
            }
        }
    }
}

impl Reserve {
    /// Takes over what an earlier run left, and gives it up as far as opening the store needs it.
    pub(super) fn new(folder: &Path) -> Self {
        let spares = Spares {
            commits: Spare::find(folder.join("reserve"), COMMITS_BYTES),
            opening: Spare::find(folder.join("reserve-opening"), OPENING_BYTES),
            low: false,
        };
        let reserve = Reserve {
            folder: folder.to_owned(),
            spares: Mutex::new(spares),
        };
        if reserve.settle(0, false).is_some_and(|free| free < OPENING_BYTES) {
            reserve.spares().opening.give_up();
        }
        reserve
    }

    /// Looks at the disk and tells what room is left.
    pub(super) fn room(&self) -> Room {
        self.settle(0, true);
        if self.is_low() { Room::Low } else { Room::Ok }
    }

    /// Whether the disk was nearly full when it was last looked at.
    pub(super) fn is_low(&self) -> bool {
        self.spares().low
    }

    /// Sees that a commit of `bytes` finds room. [`Error::Full`] if it does not.
    pub(super) fn make_room_for_commit(&self, bytes: u64) -> Result<(), Error> {
        let needed = bytes.saturating_mul(WRITE_FACTOR);
        enough(self.settle(needed, true), needed.saturating_add(LAST_BYTES))
    }

    /// Sees that a blob of `bytes` finds room. It never takes the last bytes above the floor, which are for
    /// commits.
    pub(super) fn make_room_for_blob(&self, bytes: u64) -> Result<(), Error> {
        enough(self.settle(bytes, true), bytes.saturating_add(FLOOR_BYTES))
    }

    /// Sees that a new store finds room.
    pub(super) fn make_room_for_creation(&self) -> Result<(), Error> {
        enough(files::free_bytes(&self.folder), LAST_BYTES)
    }

    /// Gives up or makes the reserves, as `needed` bytes about to be written demand; tells the bytes then
    /// free.
    fn settle(&self, needed: u64, remake: bool) -> Option<u64> {
        let mut spares = self.spares();
        // Where it cannot be told, writing tells.
        let free = files::free_bytes(&self.folder)?;
        let floor = needed.saturating_add(FLOOR_BYTES);
        if free < floor {
            if spares.commits.present {
                tracing::warn!(free, "the disk is nearly full: the reserve is given up");
                spares.commits.give_up();
            }
            spares.low = true;
        } else if free >= floor.saturating_add(REMAKE_BYTES) {
            if remake {
                spares.commits.make();
                spares.opening.make();
            }
            spares.low = false;
        } else if !spares.commits.present {
            spares.low = true;
        }
        files::free_bytes(&self.folder)
    }

    fn spares(&self) -> MutexGuard<'_, Spares> {
        self.spares.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Free space that cannot be told is taken for enough.
fn enough(free: Option<u64>, wanted: u64) -> Result<(), Error> {
    if free.is_some_and(|free| free < wanted) {
        Err(Error::Full)
    } else {
        Ok(())
    }
}
