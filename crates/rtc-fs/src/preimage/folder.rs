//! The folder that pre-images are kept in.

use std::collections::HashSet;
use std::fs;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};

use rtc_types::RtcId;

use super::record::Record;
use super::{PreImage, There, version1};
use crate::{Error, VPath};

/// Pre-images that one call can keep.
pub const MAX_PRE_IMAGES: u32 = 10_000;

/// How long a first line may be to be read alone, 64 KiB.
const MAX_LINE_BYTES: u64 = 64 << 10;

/// What a pre-image is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct About {
    /// See [`PreImage::path`].
    pub path: VPath,
    /// See [`PreImage::before`].
    pub before: There,
    /// See [`PreImage::after`].
    pub after: There,
}

/// Keeps pre-images in a folder of the application's data: `<rtc id>/<n>.image`, `n` from 1; those of an undo are kept
/// likewise under its id. Beside them `<session id>.printed` has what its last script has printed, behind a line that names
/// the RTC id and which start of it, and `<session id>.undos` which of its changes were undone.
#[derive(Debug, Clone)]
pub struct PreImageFolder {
    pub(super) folder: PathBuf,
}

impl PreImageFolder {
    /// Uses `folder`, which is made if it does not exist.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be made.
    pub fn open(folder: &Path) -> Result<Self, Error> {
        fs::create_dir_all(folder).map_err(|source| failed(folder, source))?;
        Ok(Self {
            folder: folder.to_owned(),
        })
    }

    /// Keeps one more pre-image of this start of the call `rtc` and says its number. It is durable when this returns.
    ///
    /// The same as the one kept last is not kept twice: it is that of a start of the same change that was cut short. It
    /// belongs to this start from now on.
    ///
    /// # Errors
    /// [`Error::NotKept`], for example without room or after [`MAX_PRE_IMAGES`].
    pub fn keep(&self, rtc: RtcId, attempt: u32, image: &PreImage) -> Result<u32, Error> {
        let not_kept = |reason: String| Error::NotKept {
            path: image.path.clone(),
            reason,
        };
        let last = self
            .numbers(rtc)
            .map_err(|error| not_kept(error.to_string()))?
            .last()
            .copied();
        if let Some(last) = last
            && let Ok(kept) = self.record(rtc, last)
            && kept.image.is_again(image)
        {
            let kept = if kept.attempt == attempt {
                sync_folder(&self.call_folder(rtc))
            } else {
                self.store(rtc, attempt, last, &kept.image)
            };
            // That start may have ended before the names were on the device.
            kept.and_then(|()| sync_folder(&self.folder))
                .map_err(|error| not_kept(error.to_string()))?;
            return Ok(last);
        }
        let number = last.map_or(1, |last| last + 1);
        if number > MAX_PRE_IMAGES {
            return Err(not_kept(format!(
                "the call has already changed files {MAX_PRE_IMAGES} times"
            )));
        }
        self.store(rtc, attempt, number, image)
            .map_err(|error| not_kept(error.to_string()))?;
        Ok(number)
    }

    /// Forgets a pre-image: its change was not made. That it is forgotten need not be durable, but after a power cut it is
    /// there whole or not at all.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn forget(&self, rtc: RtcId, number: u32) -> Result<(), Error> {
        let remove = |suffix| {
            let path = self.file(rtc, number, suffix);
            fs::remove_file(&path).map_err(|source| failed(&path, source))
        };
        match remove("image") {
            // One of the first version. Without the description the bytes are not a pre-image, and the other way round it
            // would be a damaged one.
            Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                remove("json")?;
                let folder = self.call_folder(rtc);
                sync_folder(&folder).map_err(|source| failed(&folder, source))?;
                remove("bytes")
            }
            removed => removed,
        }
    }

    fn store(&self, rtc: RtcId, attempt: u32, number: u32, image: &PreImage) -> io::Result<()> {
        let folder = self.call_folder(rtc);
        fs::create_dir_all(&folder)?;
        // By its name it is a pre-image, so it gets that once all of it is on the device.
        let unfinished = self.file(rtc, number, "image.new");
        write_synced(&unfinished, &Record::encode(attempt, image)?)?;
        fs::rename(&unfinished, self.file(rtc, number, "image"))?;
        sync_folder(&folder)?;
        // With a first one the folder is new, even if it was made by a start that was cut short.
        if number == 1 {
            sync_folder(&self.folder)
        } else {
            Ok(())
        }
    }

    /// The numbers of the pre-images of a call, ascending; none if it has none.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn list(&self, rtc: RtcId) -> Result<Vec<u32>, Error> {
        self.numbers(rtc)
            .map_err(|source| failed(&self.call_folder(rtc), source))
    }

    /// The numbers of those that one start of the call has kept, ascending.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::DamagedPreImage`].
    pub fn list_of(&self, rtc: RtcId, attempt: u32) -> Result<Vec<u32>, Error> {
        let mut numbers = Vec::new();
        for number in self.list(rtc)? {
            if self.record(rtc, number)?.attempt == attempt {
                numbers.push(number);
            }
        }
        Ok(numbers)
    }

    fn numbers(&self, rtc: RtcId) -> io::Result<Vec<u32>> {
        let entries = match fs::read_dir(self.call_folder(rtc)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            other => other?,
        };
        let mut names = Vec::new();
        for entry in entries {
            names.extend(entry?.file_name().into_string());
        }
        let mut numbers = version1::numbers(names.iter().map(String::as_str));
        let number = |name: &String| name.strip_suffix(".image")?.parse::<u32>().ok();
        numbers.extend(names.iter().filter_map(number));
        Ok(numbers.into_iter().collect())
    }

    /// Reads a pre-image back.
    ///
    /// # Errors
    /// [`Error::DamagedPreImage`] if it is not what was kept, [`Error::Io`] if it cannot be read.
    pub fn load(&self, rtc: RtcId, number: u32) -> Result<PreImage, Error> {
        self.record(rtc, number).map(|record| record.image)
    }

    fn record(&self, rtc: RtcId, number: u32) -> Result<Record, Error> {
        let read = |suffix| {
            let path = self.file(rtc, number, suffix);
            fs::read(&path).map_err(|source| failed(&path, source))
        };
        let record = match read("image") {
            Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                version1::decode(&read("json")?, &read("bytes")?)
            }
            file => Record::decode(&file?),
        };
        record.map_err(|reason| damaged(rtc, number, reason))
    }

    /// What a pre-image is about, without its content.
    ///
    /// # Errors
    /// As [`PreImageFolder::load`].
    pub fn about(&self, rtc: RtcId, number: u32) -> Result<About, Error> {
        let path = self.file(rtc, number, "image");
        let mut line = Vec::new();
        let read = fs::File::open(&path)
            .and_then(|file| BufReader::new(file.take(MAX_LINE_BYTES)).read_until(b'\n', &mut line));
        match read {
            // Of the first version, or an edit in very many places.
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(&path, error)),
            Ok(_) if line.ends_with(b"\n") => {
                Record::about(&line).map_err(|reason| damaged(rtc, number, reason))
            }
            _ => self.load(rtc, number).map(|image| About {
                path: image.path,
                before: image.before,
                after: image.after,
            }),
        }
    }

    /// The calls and undos that have kept something.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn calls(&self) -> Result<HashSet<RtcId>, Error> {
        let calls = || -> io::Result<HashSet<RtcId>> {
            let mut calls = HashSet::new();
            for entry in fs::read_dir(&self.folder)? {
                let name = entry?.file_name();
                calls.extend(name.to_str().and_then(|name| name.parse::<RtcId>().ok()));
            }
            Ok(calls)
        };
        calls().map_err(|source| failed(&self.folder, source))
    }

    fn file(&self, rtc: RtcId, number: u32, suffix: &str) -> PathBuf {
        self.call_folder(rtc).join(format!("{number}.{suffix}"))
    }

    pub(super) fn call_folder(&self, rtc: RtcId) -> PathBuf {
        self.folder.join(rtc.to_string())
    }
}

fn damaged(rtc: RtcId, number: u32, reason: String) -> Error {
    Error::DamagedPreImage {
        name: format!("{rtc}/{number}"),
        reason,
    }
}

pub(super) fn failed(path: &Path, source: io::Error) -> Error {
    Error::Io {
        path: path.display().to_string(),
        source,
    }
}

pub(super) fn write_synced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = fs::File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) {
        fs::File::open(folder)?.sync_all()
    } else {
        Ok(())
    }
}
