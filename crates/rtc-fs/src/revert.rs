//! Putting back what changes replaced, where it still is what they left.

use tokio_util::sync::CancellationToken;

use crate::change::{Current, Planned};
use crate::codec::{Detected, Encoding, detect};
use crate::diff::{self, Compared};
use crate::edit::Span;
use crate::preimage::{Content, PreImage, There};
use crate::project::Project;
use crate::resolve::{Target, locate};
use crate::{Error, Hash, Recovery, VPath, Witness};

/// How much of the changes of a file is put back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent<'h> {
    /// All of it.
    All,
    /// These hunks of their diff, counted from 1.
    Hunks(&'h [u32]),
}

/// What is to be done, or why it is not.
#[derive(Debug)]
pub enum RevertPlan {
    /// It can be done.
    Ready(Reverting),
    /// What is there is not what the changes left.
    Refused(Box<ThreeWay>),
}

/// One path that can be put back.
#[derive(Debug)]
pub struct Reverting {
    path: VPath,
    step: Step,
}

#[derive(Debug)]
enum Step {
    /// It is as it was before already, but for folders that were made for it.
    Nothing {
        made_folders: u32,
    },
    MakeFolder,
    Write(Box<Planned>),
    RemoveFile {
        hash: Hash,
        made_folders: u32,
        tag: String,
    },
    RemoveFolder {
        made_folders: u32,
    },
}

/// What a person needs to decide where a file has been changed since.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreeWay {
    /// The file or folder.
    pub path: VPath,
    /// What the changes did, as unified diff; `None` if that is not known, or not text.
    pub changed: Option<String>,
    /// What has been done to it since, as unified diff; `None` as above.
    pub since: Option<String>,
    /// What is there now.
    pub now: There,
    /// The hunks of `changed`, counted from 1, around which nothing has been changed since: they can be put back.
    pub free: Vec<u32>,
}

/// What changes of one path come to, from the first to the last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// What was there before the first.
    pub before: There,
    /// What the last one left.
    pub after: There,
    /// How many lines are new and how many are gone; `None` if that is not known, or not text.
    pub lines: Option<(u64, u64)>,
    /// The unified diff, as far as it is good to read; `None` as above.
    pub diff: Option<String>,
    /// How many hunks the whole diff has.
    pub hunks: u32,
}

impl Difference {
    /// Of the first and the last pre-image of the changes.
    pub fn of(first: &PreImage, last: &PreImage) -> Self {
        let mut difference = Self {
            before: first.before,
            after: last.after,
            lines: None,
            diff: None,
            hunks: 0,
        };
        let texts = first.content_before().zip(last.content_after());
        if let Some((old, new)) = texts.and_then(|(old, new)| Some((text(&old)?, text(&new)?)))
            && let Some(compared) = Compared::of_bounded(&old, &new)
        {
            difference.lines = Some(compared.counts());
            difference.hunks = u32::try_from(compared.hunks().count()).unwrap_or(u32::MAX);
            difference.diff = Some(diff::of_texts(&first.path, &old, &new));
        }
        difference
    }
}

impl ThreeWay {
    fn of(first: &PreImage, last: &PreImage, now: &Content) -> Self {
        let old = first.content_before().as_ref().and_then(text);
        let new = last.content_after().as_ref().and_then(text);
        let texts = (old.as_deref(), new.as_deref(), text(now));
        let changed = match texts {
            (Some(old), Some(new), _) => Some(diff::of_texts(&first.path, old, new)),
            _ => None,
        };
        let since = match &texts {
            (_, Some(new), Some(now)) => Some(diff::of_texts(&first.path, new, now)),
            _ => None,
        };
        let free = match &texts {
            (Some(old), Some(new), Some(now)) => Merge::of(old, new, now).map(|merge| merge.free()),
            _ => None,
        };
        Self {
            path: first.path.clone(),
            changed,
            since,
            now: now.there(),
            free: free.unwrap_or_default(),
        }
    }
}

impl Reverting {
    /// The file or folder, without links.
    pub fn path(&self) -> &VPath {
        &self.path
    }

    /// Whether there is something to do.
    pub fn is_some(&self) -> bool {
        !matches!(self.step, Step::Nothing { made_folders: 0 })
    }

    /// Of several paths those with a smaller rank come first: folders are made before what goes into them, and what is put
    /// back is there before what was put in its place is gone. `at`: which change was made first.
    pub fn rank(&self, at: usize) -> impl Ord + use<> {
        let depth = self.path.segments().count();
        match self.step {
            Step::MakeFolder => (0, depth),
            Step::Write(_) => (1, at),
            // The folders that the first one made are removed with it.
            Step::RemoveFile { .. } | Step::Nothing { .. } => (2, usize::MAX - at),
            Step::RemoveFolder { .. } => (3, usize::MAX - depth),
        }
    }
}

impl Project {
    /// Plans to put back what was at a path before `images`: those that changes of it kept, the first one first. `tag` names
    /// the change: its temporary file is called after it.
    ///
    /// # Errors
    /// [`Error::ChangedSince`] if neither file nor folder is there, [`Error::NoHunk`], [`Error::DamagedPreImage`], those of
    /// reading. Without images [`Error::NothingToChange`].
    pub fn plan_revert(
        &self,
        images: &[PreImage],
        extent: Extent<'_>,
        tag: &str,
        cancel: &CancellationToken,
    ) -> Result<RevertPlan, Error> {
        let (Some(first), Some(last)) = (images.first(), images.last()) else {
            return Err(Error::NothingToChange { path: VPath::root() });
        };
        let path = &first.path;
        if let Extent::Hunks(hunks) = extent {
            let texts = (
                first.content_before().as_ref().and_then(text),
                last.content_after().as_ref().and_then(text),
            );
            let (Some(old), Some(new)) = texts else {
                return Ok(refused(first, last, &self.content(path, cancel)?));
            };
            let count = Compared::of_bounded(&old, &new).map_or(0, |compared| compared.hunks().count());
            let count = u32::try_from(count).unwrap_or(u32::MAX);
            if let Some(&number) = hunks.iter().find(|&&number| number == 0 || number > count) {
                return Err(Error::NoHunk {
                    path: path.clone(),
                    number,
                    count,
                });
            }
            let all = (1..=count).all(|number| hunks.contains(&number));
            // All of them are the whole, which may be that there was no file.
            if !(all && last.after.is(self.there(path, cancel)?)) {
                return self.plan_hunks((first, last), (&old, &new), hunks, tag, cancel);
            }
        }
        let content = self.content(path, cancel)?;
        let now = content.there();
        let Some(back) = Back::to_the_first(images, content)? else {
            return Ok(refused(first, last, &self.content(path, cancel)?));
        };
        let changed = || Error::ChangedSince { path: path.clone() };
        let step = match (now, back.content) {
            (There::Nothing, Content::Nothing) => Step::Nothing {
                made_folders: back.made_folders,
            },
            (now, before) if now == before.there() => Step::Nothing { made_folders: 0 },
            (There::Nothing | There::File(_), Content::File(before)) => {
                let mut planned = self.plan_bytes(path, before, tag, cancel)?;
                if now.hash() != planned.content_before() {
                    return Err(changed());
                }
                if now == There::Nothing {
                    planned.mode = back.mode;
                }
                Step::Write(Box::new(planned))
            }
            (There::Nothing, Content::Folder) => Step::MakeFolder,
            (There::File(hash), Content::Nothing) => Step::RemoveFile {
                hash,
                made_folders: back.made_folders,
                tag: tag.to_owned(),
            },
            (There::Folder, Content::Nothing) => Step::RemoveFolder {
                made_folders: back.made_folders,
            },
            _ => return Err(changed()),
        };
        Ok(RevertPlan::Ready(Reverting {
            path: path.clone(),
            step,
        }))
    }

    fn plan_hunks(
        &self,
        (first, last): (&PreImage, &PreImage),
        (old, new): (&str, &str),
        hunks: &[u32],
        tag: &str,
        cancel: &CancellationToken,
    ) -> Result<RevertPlan, Error> {
        let path = &first.path;
        let found = self.find_file(path, cancel)?;
        let now = match found.identity {
            Some(_) => Content::File(found.bytes.clone()),
            None => Content::Nothing,
        };
        let spans = match (found.identity, text_of(&found.bytes)) {
            (Some(_), Some((encoding, now))) => Merge::of(old, new, &now)
                .and_then(|merge| merge.spans(hunks))
                .map(|spans| (encoding, spans)),
            _ => None,
        };
        let Some((encoding, spans)) = spans else {
            return Ok(refused(first, last, &now));
        };
        let planned = self.plan_spans(found, encoding, spans, tag)?;
        Ok(RevertPlan::Ready(Reverting {
            path: path.clone(),
            step: Step::Write(Box::new(planned)),
        }))
    }

    /// Puts one path back. Gives whether something was done: a folder that something else was put in stays.
    ///
    /// # Errors
    /// As [`Project::apply`] and [`Project::remove`]; then everything is as it was, unless the change was told as made.
    pub fn revert(
        &self,
        reverting: Reverting,
        witness: &mut dyn Witness,
        cancel: &CancellationToken,
    ) -> Result<bool, Error> {
        let path = &reverting.path;
        match reverting.step {
            Step::Nothing { made_folders } => {
                return Ok(self.remove_empty_above(path, made_folders, witness));
            }
            Step::MakeFolder => return self.make_folder(path, witness),
            Step::Write(planned) => {
                self.apply(*planned, witness, cancel)?;
            }
            Step::RemoveFile {
                hash,
                made_folders,
                tag,
            } => {
                self.remove_file(path, Some(hash), &tag, witness, cancel)?;
                self.remove_empty_above(path, made_folders, witness);
            }
            Step::RemoveFolder { made_folders } => match self.remove_folder(path, witness) {
                Err(Error::ChangedSince { .. }) => return Ok(false),
                removed => {
                    removed?;
                    self.remove_empty_above(path, made_folders, witness);
                }
            },
        }
        Ok(true)
    }

    /// What is at a path, which leads over no link.
    fn content(&self, path: &VPath, cancel: &CancellationToken) -> Result<Content, Error> {
        match self.find_file(path, cancel) {
            Ok(Current { path: real, .. }) if real != *path => {
                Err(Error::ChangedSince { path: path.clone() })
            }
            Ok(Current { identity: None, .. }) => Ok(Content::Nothing),
            Ok(found) => Ok(Content::File(found.bytes)),
            Err(Error::IsFolder { path: real }) if real == *path => Ok(Content::Folder),
            // A file is where a folder above it was.
            Err(Error::NotFolder { .. }) => Ok(Content::Nothing),
            Err(
                error @ (Error::Denied { .. } | Error::Io { .. } | Error::TooLarge { .. } | Error::Cancelled),
            ) => Err(error),
            Err(_) => Err(Error::ChangedSince { path: path.clone() }),
        }
    }

    /// What is at a path, which leads over no link, by the hash of its content.
    ///
    /// # Errors
    /// [`Error::ChangedSince`] for a link or what is neither file nor folder, and those of reading.
    pub fn there(&self, path: &VPath, cancel: &CancellationToken) -> Result<There, Error> {
        Ok(self.content(path, cancel)?.there())
    }

    /// Whether a change of an interrupted call that left no content was made: a removal, or that of a folder.
    pub(crate) fn recover_without_content(
        &self,
        image: &PreImage,
        cancel: &CancellationToken,
    ) -> Result<Recovery, Error> {
        match self.there(&image.path, cancel) {
            Ok(now) if image.after.is(now) => Ok(Recovery::Applied),
            Ok(now) if image.before.is(now) => Ok(Recovery::NotApplied),
            Ok(_) | Err(Error::ChangedSince { .. }) => Ok(Recovery::Neither),
            Err(error) => Err(error),
        }
    }

    /// Removes the folders above a path, as many of them and as far as nothing is in them. Gives whether one was there.
    fn remove_empty_above(&self, path: &VPath, count: u32, witness: &mut dyn Witness) -> bool {
        let mut above = path.clone();
        let mut removed = false;
        for _ in 0..count {
            let Some(folder) = above.parent().filter(|folder| !folder.is_root()) else {
                break;
            };
            let is_folder = locate(self, &folder)
                .is_ok_and(|place| place.path() == folder && matches!(place.target, Target::Folder));
            if !is_folder || self.remove_folder(&folder, witness).is_err() {
                break;
            }
            removed = true;
            above = folder;
        }
        removed
    }
}

fn refused(first: &PreImage, last: &PreImage, now: &Content) -> RevertPlan {
    RevertPlan::Refused(Box::new(ThreeWay::of(first, last, now)))
}

/// Where the changes of a path lead back to.
struct Back {
    content: Content,
    mode: Option<u32>,
    made_folders: u32,
}

impl Back {
    /// From what is there now; `None` if it is not what they left.
    fn to_the_first(images: &[PreImage], now: Content) -> Result<Option<Self>, Error> {
        let mut back = Self {
            content: now,
            mode: None,
            made_folders: 0,
        };
        for image in images.iter().rev() {
            let there = back.content.there();
            if !image.after.is(there) {
                // Someone else has put it back, or it was never made; the folders for it may have been.
                if image.before.is(there) {
                    back.made_folders = image.made_folders;
                    continue;
                }
                return Ok(None);
            }
            back.content = match (image.before, &back.content) {
                (There::Nothing | There::NothingOrEmpty, _) => Content::Nothing,
                (There::Folder, _) => Content::Folder,
                (There::File(_), Content::File(after)) => file(image.before(after)?),
                (There::File(_), Content::Nothing | Content::Folder) => file(image.before(b"")?),
            };
            back.mode = match image.before {
                There::File(_) => image.mode.or(back.mode),
                There::Nothing | There::NothingOrEmpty | There::Folder => None,
            };
            back.made_folders = image.made_folders;
        }
        Ok(Some(back))
    }
}

fn file(bytes: Option<Vec<u8>>) -> Content {
    bytes.map_or(Content::Nothing, Content::File)
}

/// A content as text; no file is an empty one.
fn text(content: &Content) -> Option<String> {
    match content {
        Content::Nothing => Some(String::new()),
        Content::File(bytes) => text_of(bytes).map(|(_, text)| text),
        Content::Folder => None,
    }
}

fn text_of(bytes: &[u8]) -> Option<(Encoding, String)> {
    match detect(bytes, true) {
        Detected::Text(encoding) => Some((encoding, encoding.decode(bytes).into_owned())),
        Detected::Binary(_) => None,
    }
}

/// What changes did to a text, and what has been done to it since.
struct Merge<'t> {
    ours: Compared<'t>,
    since: Compared<'t>,
}

/// Lines that a hunk is to put back, as numbers of lines: in the text as it is now, and in the old one.
type Places = Vec<(std::ops::Range<usize>, std::ops::Range<usize>)>;

impl<'t> Merge<'t> {
    fn of(old: &'t str, new: &'t str, now: &'t str) -> Option<Self> {
        Some(Self {
            ours: Compared::of_bounded(old, new)?,
            since: Compared::of_bounded(new, now)?,
        })
    }

    /// Where each hunk is now; `None` if something was changed in it, or right beside it.
    fn places(&self) -> impl Iterator<Item = Option<Places>> {
        self.ours.hunks().map(|hunk| {
            let (first, last) = (hunk.first()?, hunk.last()?);
            let (start, end) = (first.after.start, last.after.end);
            let mut shift = 0_i64;
            for change in &self.since.changes {
                if change.before.end < start {
                    shift += change.after.len() as i64 - change.before.len() as i64;
                } else if change.before.start <= end {
                    return None;
                }
            }
            let moved = |line: u32| usize::try_from(i64::from(line) + shift).ok();
            hunk.iter()
                .map(|change| {
                    let now = moved(change.after.start)?..moved(change.after.end)?;
                    Some((now, change.before.start as usize..change.before.end as usize))
                })
                .collect()
        })
    }

    fn free(&self) -> Vec<u32> {
        let numbered = (1..).zip(self.places());
        numbered
            .filter_map(|(number, places)| places.map(|_| number))
            .collect()
    }

    /// What to replace in the text as it is now to put these hunks back; `None` if one of them is not free.
    fn spans(&self, hunks: &[u32]) -> Option<Vec<Span>> {
        let mut starts = vec![0];
        for line in &self.since.new {
            starts.push(starts[starts.len() - 1] + line.len());
        }
        let mut spans = Vec::new();
        for (number, places) in (1..).zip(self.places()) {
            if !hunks.contains(&number) {
                continue;
            }
            for (now, old) in places? {
                spans.push(Span {
                    range: *starts.get(now.start)?..*starts.get(now.end)?,
                    with: self.ours.old.get(old)?.concat(),
                });
            }
        }
        Some(spans)
    }
}

#[cfg(test)]
mod tests;
