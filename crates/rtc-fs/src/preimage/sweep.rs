//! How long pre-images are kept.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use rtc_types::{RtcId, Timestamp};

use super::folder::{PreImageFolder, failed};
use crate::Error;

/// How long something is kept, and how much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Nothing that was kept longer ago than this stays.
    pub age: Duration,
    /// Of more bytes than these the oldest go.
    pub bytes: u64,
}

impl Default for Retention {
    /// 30 days, and 2 GiB.
    fn default() -> Self {
        Self {
            age: Duration::from_secs(30 * 24 * 60 * 60),
            bytes: 2 << 30,
        }
    }
}

/// What calls, undos and sessions have kept.
#[derive(Debug)]
pub struct Swept {
    items: Vec<Item>,
}

#[derive(Debug)]
struct Item {
    /// Whose it is; `None`: a session's.
    rtc: Option<RtcId>,
    path: PathBuf,
    bytes: u64,
    /// When something was last kept of it, in milliseconds since 1970.
    at: i64,
}

impl Swept {
    /// The calls and undos that have kept something.
    pub fn calls(&self) -> impl Iterator<Item = RtcId> {
        self.items.iter().filter_map(|item| item.rtc)
    }
}

impl PreImageFolder {
    /// What there is to sweep. Who is to stay is asked after this: what a call begins to keep later is not swept.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn survey(&self) -> Result<Swept, Error> {
        let survey = || -> io::Result<Vec<Item>> {
            let mut items = Vec::new();
            for entry in fs::read_dir(&self.folder)? {
                let entry = entry?;
                let metadata = entry.metadata()?;
                let name = entry.file_name();
                let rtc = name.to_str().and_then(|name| name.parse().ok());
                let mut item = Item {
                    rtc,
                    path: entry.path(),
                    bytes: metadata.len(),
                    at: millis(metadata.modified()?),
                };
                if metadata.is_dir() {
                    item.bytes = 0;
                    for inner in fs::read_dir(&item.path)? {
                        let inner = inner?.metadata()?;
                        item.bytes += inner.len();
                        item.at = item.at.max(millis(inner.modified()?));
                    }
                }
                items.push(item);
            }
            Ok(items)
        };
        let mut items = survey().map_err(|source| failed(&self.folder, source))?;
        items.sort_by_key(|item| std::cmp::Reverse(item.at));
        Ok(Swept { items })
    }

    /// Removes what is too old or too much, the oldest first, but nothing of the calls that `stay`. Gives how many bytes are
    /// left.
    ///
    /// # Errors
    /// [`Error::Io`]; the rest stays then.
    pub fn sweep(
        &self,
        swept: Swept,
        stay: &HashSet<RtcId>,
        retention: Retention,
        now: Timestamp,
    ) -> Result<u64, Error> {
        let age = i64::try_from(retention.age.as_millis()).unwrap_or(i64::MAX);
        let oldest = now.as_millisecond().saturating_sub(age);
        let stays = |item: &Item| item.rtc.is_some_and(|rtc| stay.contains(&rtc));
        let (staying, others): (Vec<Item>, Vec<Item>) = swept.items.into_iter().partition(stays);
        let mut left: u64 = staying.iter().map(|item| item.bytes).sum();
        for item in others {
            if item.at >= oldest && left + item.bytes <= retention.bytes {
                left += item.bytes;
                continue;
            }
            let removed = match fs::metadata(&item.path) {
                Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(&item.path),
                _ => fs::remove_file(&item.path),
            };
            match removed {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(failed(&item.path, error));
                }
                _ => {}
            }
        }
        Ok(left)
    }
}

fn millis(time: SystemTime) -> i64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preimage::tests::{id, image};

    #[test]
    fn the_oldest_go_and_what_is_open_stays() {
        let data = tempfile::tempdir().unwrap();
        let kept = PreImageFolder::open(data.path()).unwrap();
        let day = 24 * 60 * 60 * 1000;
        let content = [b'x'; 1000];
        for number in 1..=5 {
            kept.keep(id(number), 1, &image(None, &content)).unwrap();
            let file = data.path().join(id(number).to_string()).join("1.image");
            let at = SystemTime::UNIX_EPOCH + Duration::from_millis(number as u64 * day);
            let file = fs::File::options().append(true).open(file).unwrap();
            file.set_modified(at).unwrap();
            let folder = fs::File::open(data.path().join(id(number).to_string())).unwrap();
            folder.set_modified(at).unwrap();
        }
        let one = kept.survey().unwrap().items[0].bytes;
        let left = |stay: &[u128], retention, now: u64| {
            let stay = stay.iter().copied().map(id).collect();
            let now = Timestamp::from_millisecond(now as i64 * day as i64).unwrap();
            let bytes = kept.sweep(kept.survey().unwrap(), &stay, retention, now).unwrap();
            let there: Vec<u128> = (1..=5)
                .filter(|number| kept.list(id(*number)).unwrap() == [1])
                .collect();
            assert_eq!(bytes, one * there.len() as u64);
            there
        };
        let much = Retention::default();
        assert_eq!(left(&[], much, 6), [1, 2, 3, 4, 5]);
        let days = |days| Retention {
            age: Duration::from_millis(days * day),
            ..much
        };
        assert_eq!(left(&[1], days(3), 6), [1, 3, 4, 5]);
        let few = |bytes| Retention { bytes, ..much };
        assert_eq!(left(&[1], few(3 * one), 6), [1, 4, 5]);
        assert_eq!(left(&[], few(one * 2 - 1), 6), [5]);
        // What is open stays however old and large it is.
        assert_eq!(
            left(
                &[5],
                Retention {
                    age: Duration::ZERO,
                    bytes: 0
                },
                60
            ),
            [5]
        );
        assert_eq!(left(&[], much, 60), [0; 0]);
    }
}
