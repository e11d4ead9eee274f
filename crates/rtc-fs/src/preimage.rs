//! What was there before a change, kept so that it can be undone.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use rtc_types::{RtcId, SessionId};
use serde::{Deserialize, Serialize};

use crate::{Error, Hash, VPath};

/// Pre-images that one call can keep.
pub const MAX_PRE_IMAGES: u32 = 10_000;

/// Version of the files in a [`PreImageFolder`].
const VERSION: u32 = 1;

/// What a change replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreImage {
    /// The file, without links.
    pub path: VPath,
    /// Hash of the whole content before; `None` if there was no file.
    pub before: Option<Hash>,
    /// Hash of the whole content after: an undo is possible as long as the file has it.
    pub after: Hash,
    /// What is needed to get from after to before.
    pub kept: Kept,
}

/// The part of the old content that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kept {
    /// There was no file.
    Absent,
    /// All of it.
    Whole(Vec<u8>),
    /// What an edit replaced, ascending.
    Spans(Vec<KeptSpan>),
}

/// One place that an edit replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptSpan {
    /// Where the new bytes begin in the new content.
    pub start: u64,
    /// How many new bytes there are.
    pub length: u64,
    /// The old bytes.
    pub bytes: Vec<u8>,
}

impl PreImage {
    /// The whole content before the change, from the content `after` it; `None` if there was no file.
    ///
    /// # Errors
    /// [`Error::ChangedSince`] if `after` is not what the change left, [`Error::DamagedPreImage`] if what was kept
    /// does not lead to what was there.
    pub fn before(&self, after: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        if Hash::of(after) != self.after {
            return Err(Error::ChangedSince {
                path: self.path.clone(),
            });
        }
        let before = match &self.kept {
            Kept::Absent => None,
            Kept::Whole(bytes) => Some(bytes.clone()),
            Kept::Spans(spans) => {
                Some(without_spans(after, spans).ok_or_else(|| self.damaged("its places do not fit"))?)
            }
        };
        if before.as_deref().map(Hash::of) != self.before {
            return Err(self.damaged("its content is not what was there"));
        }
        Ok(before)
    }

    fn damaged(&self, reason: &str) -> Error {
        Error::DamagedPreImage {
            name: format!("of `{}`", self.path),
            reason: reason.to_owned(),
        }
    }
}

fn without_spans(after: &[u8], spans: &[KeptSpan]) -> Option<Vec<u8>> {
    let mut before = Vec::with_capacity(after.len());
    let mut from = 0;
    for span in spans {
        let start = usize::try_from(span.start).ok()?;
        before.extend_from_slice(after.get(from..start)?);
        before.extend_from_slice(&span.bytes);
        from = start.checked_add(usize::try_from(span.length).ok()?)?;
    }
    before.extend_from_slice(after.get(from..)?);
    Some(before)
}

/// The file that describes a pre-image; its bytes are in another one beside it.
#[derive(Serialize, Deserialize)]
struct Description {
    version: u32,
    /// Which start of the call kept it.
    #[serde(default)]
    attempt: u32,
    path: VPath,
    before: Option<Hash>,
    after: Hash,
    /// Hash of the bytes beside it.
    bytes: Hash,
    kept: KeptDescription,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum KeptDescription {
    Absent,
    Whole,
    Spans(Vec<SpanDescription>),
}

#[derive(Serialize, Deserialize)]
struct SpanDescription {
    start: u64,
    length: u64,
    /// How many of the bytes belong to it.
    kept: u64,
}

/// Keeps pre-images in a folder of the application's data: `<rtc id>/<n>.json` and `<n>.bytes`, `n` from 1. Beside them
/// `<session id>.printed` has what its last script has printed, behind a line that names the RTC id and which start of it.
#[derive(Debug, Clone)]
pub struct PreImageFolder {
    folder: PathBuf,
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
            && self.load(rtc, last).is_ok_and(|kept| kept == *image)
        {
            let is_of_this = self.attempt_of(rtc, last).is_ok_and(|kept_by| kept_by == attempt);
            let kept = if is_of_this {
                sync_folder(&self.call_folder(rtc))
            } else {
                self.store(rtc, attempt, last, image)
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
        let folder = self.call_folder(rtc);
        let remove = |suffix| {
            let path = folder.join(format!("{number}.{suffix}"));
            fs::remove_file(&path).map_err(|source| failed(&path, source))
        };
        // Without the description the bytes are not a pre-image, and the other way round it would be a damaged one.
        remove("json")?;
        sync_folder(&folder).map_err(|source| failed(&folder, source))?;
        remove("bytes")
    }

    fn store(&self, rtc: RtcId, attempt: u32, number: u32, image: &PreImage) -> io::Result<()> {
        let folder = self.call_folder(rtc);
        fs::create_dir_all(&folder)?;
        let mut bytes = Vec::new();
        let kept = match &image.kept {
            Kept::Absent => KeptDescription::Absent,
            Kept::Whole(whole) => {
                bytes.extend_from_slice(whole);
                KeptDescription::Whole
            }
            Kept::Spans(spans) => KeptDescription::Spans(
                spans
                    .iter()
                    .map(|span| {
                        bytes.extend_from_slice(&span.bytes);
                        SpanDescription {
                            start: span.start,
                            length: span.length,
                            kept: span.bytes.len() as u64,
                        }
                    })
                    .collect(),
            ),
        };
        let description = Description {
            version: VERSION,
            attempt,
            path: image.path.clone(),
            before: image.before,
            after: image.after,
            bytes: Hash::of(&bytes),
            kept,
        };
        // The description comes last and by rename: without it the bytes are not a pre-image.
        let path = folder.join(format!("{number}.bytes"));
        if fs::read(&path).is_ok_and(|kept| kept == bytes) {
            // Those of another start: its description must not lose them, wherever the power is cut.
            fs::File::options().append(true).open(&path)?.sync_all()?;
        } else {
            // A description whose bytes never came to the device would be taken for that of these.
            match fs::remove_file(folder.join(format!("{number}.json"))) {
                Ok(()) => sync_folder(&folder)?,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
            write_synced(&path, &bytes)?;
        }
        let unfinished = folder.join(format!("{number}.json.new"));
        write_synced(&unfinished, &serde_json::to_vec(&description)?)?;
        fs::rename(&unfinished, folder.join(format!("{number}.json")))?;
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
            if self.attempt_of(rtc, number)? == attempt {
                numbers.push(number);
            }
        }
        Ok(numbers)
    }

    fn attempt_of(&self, rtc: RtcId, number: u32) -> Result<u32, Error> {
        self.description(rtc, number)
            .map(|description| description.attempt)
    }

    fn numbers(&self, rtc: RtcId) -> io::Result<Vec<u32>> {
        let entries = match fs::read_dir(self.call_folder(rtc)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            other => other?,
        };
        let (mut described, mut with_bytes) = (BTreeSet::new(), BTreeSet::new());
        for entry in entries {
            let name = entry?.file_name();
            let number = |suffix: &str| name.to_str()?.strip_suffix(suffix)?.parse::<u32>().ok();
            described.extend(number(".json"));
            with_bytes.extend(number(".bytes"));
        }
        // Names reach the device in any order: one without its bytes was never kept to the end.
        Ok(described.intersection(&with_bytes).copied().collect())
    }

    /// Reads a pre-image back.
    ///
    /// # Errors
    /// [`Error::DamagedPreImage`] if it is not what was kept, [`Error::Io`] if it cannot be read.
    pub fn load(&self, rtc: RtcId, number: u32) -> Result<PreImage, Error> {
        let damaged = |reason: String| damaged(rtc, number, reason);
        let description = self.description(rtc, number)?;
        let bytes = self.file_of(rtc, number, "bytes")?;
        if Hash::of(&bytes) != description.bytes {
            return Err(damaged("its bytes have changed".to_owned()));
        }
        let kept = match description.kept {
            KeptDescription::Absent => Kept::Absent,
            KeptDescription::Whole => Kept::Whole(bytes),
            KeptDescription::Spans(spans) => {
                let mut rest = bytes.as_slice();
                let mut kept = Vec::with_capacity(spans.len());
                for span in spans {
                    let count = usize::try_from(span.kept).unwrap_or(usize::MAX);
                    let (own, after) = rest
                        .split_at_checked(count)
                        .ok_or_else(|| damaged("its bytes are too few".to_owned()))?;
                    kept.push(KeptSpan {
                        start: span.start,
                        length: span.length,
                        bytes: own.to_vec(),
                    });
                    rest = after;
                }
                Kept::Spans(kept)
            }
        };
        Ok(PreImage {
            path: description.path,
            before: description.before,
            after: description.after,
            kept,
        })
    }

    fn description(&self, rtc: RtcId, number: u32) -> Result<Description, Error> {
        let description: Description = serde_json::from_slice(&self.file_of(rtc, number, "json")?)
            .map_err(|error| damaged(rtc, number, error.to_string()))?;
        if description.version != VERSION {
            let reason = format!("its version is {}, known is {VERSION}", description.version);
            return Err(damaged(rtc, number, reason));
        }
        Ok(description)
    }

    fn file_of(&self, rtc: RtcId, number: u32, suffix: &str) -> Result<Vec<u8>, Error> {
        let path = self.call_folder(rtc).join(format!("{number}.{suffix}"));
        fs::read(&path).map_err(|source| failed(&path, source))
    }

    /// Begins to keep what this start of the call `rtc` prints, and forgets what its session has printed
    /// before.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn begin_printing(&self, session: SessionId, rtc: RtcId, attempt: u32) -> Result<(), Error> {
        let path = self.printed_file(session);
        let begun = || {
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            let mut options = fs::OpenOptions::new();
            options.write(true).create_new(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            options
                .open(&path)?
                .write_all(printed_head(rtc, attempt).as_bytes())
        };
        begun().map_err(|source| failed(&path, source))
    }

    /// Adds to what the session's call has printed since [`PreImageFolder::begin_printing`]. It outlives this process,
    /// though not the system.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn print(&self, session: SessionId, text: &str) -> Result<(), Error> {
        let path = self.printed_file(session);
        fs::OpenOptions::new()
            .append(true)
            .open(&path)
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .map_err(|source| failed(&path, source))
    }

    /// The last `most` bytes of what this start of the call has printed, from the beginning of a character; `None` if
    /// nothing is known, as after the next one of the session has begun to print.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn printed(
        &self,
        session: SessionId,
        rtc: RtcId,
        attempt: u32,
        most: u64,
    ) -> Result<Option<String>, Error> {
        let path = self.printed_file(session);
        let expected = printed_head(rtc, attempt);
        let read = || -> io::Result<Option<Vec<u8>>> {
            let mut file = fs::File::open(&path)?;
            let mut head = vec![0; expected.len()];
            file.read_exact(&mut head)?;
            if head != expected.as_bytes() {
                return Ok(None);
            }
            let behind = head.len() as u64;
            let from = file.metadata()?.len().saturating_sub(most).max(behind);
            file.seek(io::SeekFrom::Start(from))?;
            let mut bytes = Vec::new();
            file.take(most).read_to_end(&mut bytes)?;
            Ok(Some(bytes))
        };
        match read() {
            Ok(bytes) => Ok(bytes.map(|bytes| {
                let middle = bytes.iter().take_while(|byte| **byte & 0xC0 == 0x80).count();
                String::from_utf8_lossy(&bytes[middle..]).into_owned()
            })),
            // One without its first line was cut off when it began.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::UnexpectedEof
                ) =>
            {
                Ok(None)
            }
            Err(source) => Err(failed(&path, source)),
        }
    }

    fn printed_file(&self, session: SessionId) -> PathBuf {
        self.folder.join(format!("{session}.printed"))
    }

    fn call_folder(&self, rtc: RtcId) -> PathBuf {
        self.folder.join(rtc.to_string())
    }
}

/// The first line of what a call has printed: whose it is.
fn printed_head(rtc: RtcId, attempt: u32) -> String {
    format!("{rtc} {attempt}\n")
}

fn damaged(rtc: RtcId, number: u32, reason: String) -> Error {
    Error::DamagedPreImage {
        name: format!("{rtc}/{number}"),
        reason,
    }
}

fn failed(path: &Path, source: io::Error) -> Error {
    Error::Io {
        path: path.display().to_string(),
        source,
    }
}

fn write_synced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = fs::File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) {
        fs::File::open(folder)?.sync_all()
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u128) -> RtcId {
        RtcId::new(uuid::Uuid::from_u128(number))
    }

    #[test]
    fn keeps_lists_and_loads() {
        let data = tempfile::tempdir().unwrap();
        let folder = PreImageFolder::open(&data.path().join("undo")).unwrap();
        assert_eq!(folder.list(id(1)).unwrap(), Vec::<u32>::new());
        let path = VPath::parse("/a").unwrap();
        let images = [
            PreImage {
                path: path.clone(),
                before: None,
                after: Hash::of(b"new"),
                kept: Kept::Absent,
            },
            PreImage {
                path: path.clone(),
                before: Some(Hash::of(b"old\0")),
                after: Hash::of(b"new"),
                kept: Kept::Whole(b"old\0".to_vec()),
            },
            PreImage {
                path,
                before: Some(Hash::of(b"a-bb-c")),
                after: Hash::of(b"xa--cyy"),
                kept: Kept::Spans(vec![
                    KeptSpan {
                        start: 0,
                        length: 1,
                        bytes: Vec::new(),
                    },
                    KeptSpan {
                        start: 3,
                        length: 0,
                        bytes: b"bb".to_vec(),
                    },
                    KeptSpan {
                        start: 5,
                        length: 2,
                        bytes: Vec::new(),
                    },
                ]),
            },
        ];
        for (at, image) in images.iter().enumerate() {
            assert_eq!(folder.keep(id(1), 1, image).unwrap(), at as u32 + 1);
        }
        assert_eq!(
            folder.keep(id(1), 1, &images[2]).unwrap(),
            3,
            "a change that is made again"
        );
        assert_eq!(folder.keep(id(2), 1, &images[0]).unwrap(), 1);
        let folder = PreImageFolder::open(&data.path().join("undo")).unwrap();
        assert_eq!(folder.list(id(1)).unwrap(), [1, 2, 3]);
        for (at, image) in images.iter().enumerate() {
            assert_eq!(&folder.load(id(1), at as u32 + 1).unwrap(), image);
        }
        assert_eq!(images[0].before(b"new").unwrap(), None);
        assert_eq!(images[1].before(b"new").unwrap(), Some(b"old\0".to_vec()));
        assert_eq!(images[2].before(b"xa--cyy").unwrap(), Some(b"a-bb-c".to_vec()));
        assert!(matches!(
            images[2].before(b"else"),
            Err(Error::ChangedSince { .. })
        ));
    }

    #[test]
    fn a_pre_image_belongs_to_the_start_that_kept_it_last() {
        let data = tempfile::tempdir().unwrap();
        let folder = PreImageFolder::open(data.path()).unwrap();
        let image = |after: &[u8]| PreImage {
            path: VPath::parse("/a").unwrap(),
            before: None,
            after: Hash::of(after),
            kept: Kept::Absent,
        };
        assert_eq!(folder.keep(id(1), 1, &image(b"1")).unwrap(), 1);
        assert_eq!(folder.keep(id(1), 1, &image(b"2")).unwrap(), 2);
        assert_eq!(folder.list_of(id(1), 2).unwrap(), [0; 0]);
        // The same change once more: the last start did not come to it.
        assert_eq!(folder.keep(id(1), 2, &image(b"2")).unwrap(), 2);
        assert_eq!(folder.keep(id(1), 2, &image(b"3")).unwrap(), 3);
        assert_eq!(folder.list_of(id(1), 1).unwrap(), [1]);
        assert_eq!(folder.list_of(id(1), 2).unwrap(), [2, 3]);
        assert_eq!(folder.load(id(1), 2).unwrap(), image(b"2"));
        folder.forget(id(1), 3).unwrap();
        assert_eq!(folder.list(id(1)).unwrap(), [1, 2]);
        assert_eq!(folder.keep(id(1), 2, &image(b"4")).unwrap(), 3);
    }

    /// A power cut while they are written anew would take them away from under the description of the earlier start.
    #[test]
    fn what_an_earlier_start_has_kept_is_not_written_anew() {
        let data = tempfile::tempdir().unwrap();
        let folder = PreImageFolder::open(data.path()).unwrap();
        let image = PreImage {
            path: VPath::parse("/a").unwrap(),
            before: Some(Hash::of(b"old")),
            after: Hash::of(b"new"),
            kept: Kept::Whole(b"old".to_vec()),
        };
        assert_eq!(folder.keep(id(1), 1, &image).unwrap(), 1);
        let bytes = data.path().join(id(1).to_string()).join("1.bytes");
        let written = std::time::SystemTime::UNIX_EPOCH;
        let file = fs::File::options().append(true).open(&bytes).unwrap();
        file.set_modified(written).unwrap();
        assert_eq!(folder.keep(id(1), 2, &image).unwrap(), 1);
        assert_eq!(fs::metadata(&bytes).unwrap().modified().unwrap(), written);
        assert_eq!(folder.list_of(id(1), 2).unwrap(), [1]);
        // Bytes that are not those are.
        fs::write(&bytes, b"other").unwrap();
        assert_eq!(folder.keep(id(1), 3, &image).unwrap(), 2);
        assert_eq!(folder.load(id(1), 2).unwrap(), image);
    }

    #[test]
    fn a_description_without_its_bytes_was_never_kept() {
        let data = tempfile::tempdir().unwrap();
        let folder = PreImageFolder::open(data.path()).unwrap();
        let image = |old: &[u8]| PreImage {
            path: VPath::parse("/a").unwrap(),
            before: Some(Hash::of(old)),
            after: Hash::of(b"new"),
            kept: Kept::Whole(old.to_vec()),
        };
        folder.keep(id(1), 1, &image(b"one")).unwrap();
        folder.keep(id(1), 1, &image(b"two")).unwrap();
        // As after a power cut: of the names in a folder, some are on the device.
        fs::remove_file(folder.call_folder(id(1)).join("2.bytes")).unwrap();
        assert_eq!(folder.list(id(1)).unwrap(), [1]);
        assert_eq!(folder.keep(id(1), 2, &image(b"three")).unwrap(), 2);
        assert_eq!(folder.list(id(1)).unwrap(), [1, 2]);
        assert_eq!(folder.load(id(1), 2).unwrap(), image(b"three"));
    }

    #[test]
    fn damage_is_told() {
        let data = tempfile::tempdir().unwrap();
        let folder = PreImageFolder::open(data.path()).unwrap();
        let path = VPath::parse("/a").unwrap();
        let image = PreImage {
            path,
            before: Some(Hash::of(b"old")),
            after: Hash::of(b"new"),
            kept: Kept::Whole(b"old".to_vec()),
        };
        folder.keep(id(1), 1, &image).unwrap();
        let call = data.path().join(id(1).to_string());
        fs::write(call.join("1.bytes"), b"odd").unwrap();
        assert!(matches!(
            folder.load(id(1), 1),
            Err(Error::DamagedPreImage { .. })
        ));
        // Bytes without a description are what a crash leaves: not a pre-image, and their number is used again.
        fs::remove_file(call.join("1.json")).unwrap();
        assert_eq!(folder.list(id(1)).unwrap(), Vec::<u32>::new());
        assert_eq!(folder.keep(id(1), 1, &image).unwrap(), 1);
        assert_eq!(folder.load(id(1), 1).unwrap(), image);
        fs::write(call.join("1.json"), b"{}").unwrap();
        assert!(matches!(
            folder.load(id(1), 1),
            Err(Error::DamagedPreImage { .. })
        ));
    }

    #[test]
    fn what_was_printed_is_kept_until_the_next_call_of_the_session_begins() {
        let data = tempfile::tempdir().unwrap();
        let kept = PreImageFolder::open(data.path()).unwrap();
        let [session, other] = [7, 8].map(|number| SessionId::new(uuid::Uuid::from_u128(number)));
        let printed = |rtc, most| kept.printed(session, id(rtc), 1, most).unwrap();
        assert_eq!(printed(1, 100), None);
        kept.begin_printing(session, id(1), 1).unwrap();
        assert_eq!(printed(1, 100).unwrap(), "");
        kept.print(session, "eins\n").unwrap();
        kept.print(session, "zwölf\n").unwrap();
        assert_eq!(printed(1, 100).unwrap(), "eins\nzwölf\n");
        // The first byte of these is the second one of a character.
        assert_eq!(printed(1, 4).unwrap(), "lf\n");
        assert_eq!(printed(2, 100), None);
        assert_eq!(kept.printed(session, id(1), 2, 100).unwrap(), None);
        assert_eq!(kept.printed(other, id(1), 1, 100).unwrap(), None);
        assert_eq!(kept.list(id(1)).unwrap(), [0_u32; 0]);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let file = fs::metadata(data.path().join(format!("{session}.printed"))).unwrap();
            assert_eq!(file.permissions().mode() & 0o777, 0o600);
        }
        kept.begin_printing(session, id(2), 1).unwrap();
        assert_eq!((printed(1, 100), printed(2, 100).unwrap()), (None, String::new()));
    }
}
