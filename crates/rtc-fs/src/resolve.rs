//! Following a path from the project's handle, name by name, so that no link can lead out of the project.
//!
//! Every folder on the way is opened relative to the one before it and without following links; links are read
//! and their targets walked by the same rule. What is opened is therefore what was looked at, whatever another
//! program swaps meanwhile.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Component, Path};
use std::rc::Rc;

use cap_fs_ext::DirExt as _;
use cap_std::fs::Dir;
use unicode_normalization::UnicodeNormalization as _;

use crate::project::{Project, was_swapped};
use crate::spelling::{named, spelled};
use crate::stat::Metadata;
use crate::{Error, Kind, VPath};

/// Links that one path may go through.
pub const MAX_LINKS: usize = 40;

/// Names of a folder that are compared when a name is not found exactly.
const MAX_COMPARED_NAMES: usize = 100_000;

/// Where a path really is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// The path without links, on which permissions are decided.
    pub path: VPath,
    /// What is there; `None` if nothing is yet.
    pub kind: Option<Kind>,
    /// What to tell whoever asked, if the name that was found is spelled differently.
    pub note: Option<String>,
}

/// A place beneath the project: an open folder and what is looked for in it.
pub(crate) struct Place {
    /// The deepest folder on the way that exists; the folder itself if the place is a folder.
    pub(crate) folder: Dir,
    /// The real path of `folder`.
    pub(crate) folder_path: VPath,
    /// What is there.
    pub(crate) target: Target,
    /// See [`Resolved::note`].
    pub(crate) note: Option<String>,
}

/// What is at a [`Place`].
pub(crate) enum Target {
    /// The folder itself.
    Folder,
    /// Something in the folder that is no folder and no link.
    Leaf { name: OsString, metadata: Metadata },
    /// Nothing: the names that would have to be made, the last being the place itself; never empty.
    Missing { names: Vec<OsString> },
}

impl Place {
    /// The real path.
    pub(crate) fn path(&self) -> VPath {
        match &self.target {
            Target::Folder => self.folder_path.clone(),
            Target::Leaf { name, .. } => self.folder_path.child(name),
            Target::Missing { names } => names
                .iter()
                .fold(self.folder_path.clone(), |path, name| path.child(name)),
        }
    }

    /// The place as callers see it.
    pub(crate) fn resolved(&self) -> Resolved {
        let kind = match &self.target {
            Target::Folder => Some(Kind::Folder),
            Target::Leaf { metadata, .. } => Some(metadata.kind),
            Target::Missing { .. } => None,
        };
        Resolved {
            path: self.path(),
            kind,
            note: self.note.clone(),
        }
    }
}

/// A link that is being followed.
struct Link {
    path: VPath,
    target: String,
}

/// A name that is still to be walked.
struct Step {
    name: OsString,
    /// The link whose target contained the name.
    link: Option<Rc<Link>>,
}

/// The state of one walk.
struct Walk<'a> {
    project: &'a Project,
    asked: &'a VPath,
    /// Open folders from below the root down to where the walk is.
    folders: Vec<(OsString, Dir)>,
    steps: VecDeque<Step>,
    links: usize,
    note: Option<String>,
}

/// Follows `asked` from the root of `project`.
pub(crate) fn locate(project: &Project, asked: &VPath) -> Result<Place, Error> {
    let steps = asked
        .segments()
        .map(|name| Step {
            name: named(name).into_owned(),
            link: None,
        })
        .collect();
    Walk {
        project,
        asked,
        folders: Vec::new(),
        steps,
        links: 0,
        note: None,
    }
    .run()
}

impl Walk<'_> {
    fn run(mut self) -> Result<Place, Error> {
        while let Some(step) = self.steps.pop_front() {
            if step.name == ".." {
                if self.folders.pop().is_none() {
                    return Err(self.outside(&step));
                }
                continue;
            }
            let (name, metadata) = match self.look(&step.name) {
                Ok(metadata) => (step.name.clone(), metadata),
                Err(error) if error.kind() == io::ErrorKind::NotFound => match self.similar(&step.name)? {
                    Some(found) => found,
                    None => return self.missing(step),
                },
                Err(error) => return Err(Error::from_io(self.asked, error)),
            };
            match metadata.kind {
                Kind::Link => self.follow(&name)?,
                Kind::Folder if self.project.is_own_data(&metadata.identity) => {
                    return Err(Error::OwnData {
                        path: self.here().child(&name),
                    });
                }
                Kind::Folder => match self.folder().open_dir_nofollow(&name) {
                    Ok(folder) => self.folders.push((name, folder)),
                    Err(error) => self.retry(Step { name, ..step }, error)?,
                },
                Kind::File | Kind::Other if self.steps.is_empty() => {
                    return self.finish(Target::Leaf { name, metadata });
                }
                Kind::File | Kind::Other => {
                    return Err(Error::NotFolder {
                        path: self.here().child(&name),
                    });
                }
            }
        }
        self.finish(Target::Folder)
    }

    /// The folder where the walk is.
    fn folder(&self) -> &Dir {
        self.folders
            .last()
            .map_or(self.project.dir(), |(_, folder)| folder)
    }

    /// The real path of where the walk is.
    fn here(&self) -> VPath {
        self.folders
            .iter()
            .fold(VPath::root(), |path, (name, _)| path.child(name))
    }

    fn look(&self, name: &OsStr) -> io::Result<Metadata> {
        self.folder()
            .symlink_metadata(name)
            .map(|metadata| Metadata::of(&metadata))
    }

    fn finish(mut self, target: Target) -> Result<Place, Error> {
        let folder_path = self.here();
        let folder = match self.folders.pop() {
            Some((_, folder)) => folder,
            None => self
                .project
                .dir()
                .try_clone()
                .map_err(|source| Error::from_io(&folder_path, source))?,
        };
        Ok(Place {
            folder,
            folder_path,
            target,
            note: self.note,
        })
    }

    /// Something was swapped between looking and opening: look again, a bounded number of times.
    fn retry(&mut self, step: Step, error: io::Error) -> Result<(), Error> {
        let path = self.here().child(&step.name);
        if !was_swapped(&error) {
            return Err(Error::from_io(&path, error));
        }
        self.count_link(&path)?;
        self.steps.push_front(step);
        Ok(())
    }

    fn count_link(&mut self, link: &VPath) -> Result<(), Error> {
        self.links += 1;
        if self.links > MAX_LINKS {
            return Err(Error::LinkLoop {
                path: self.asked.clone(),
                link: link.clone(),
            });
        }
        Ok(())
    }

    /// Puts the target of the link `name` in front of what is still to be walked.
    fn follow(&mut self, name: &OsStr) -> Result<(), Error> {
        let path = self.here().child(name);
        self.count_link(&path)?;
        let target = self
            .folder()
            .read_link_contents(name)
            .map_err(|source| Error::from_io(&path, source))?;
        let link = Rc::new(Link {
            path,
            target: spelled(target.as_os_str()).into_owned(),
        });
        let relative = if target.is_absolute() || target.has_root() {
            // An absolute target is fine where it spells a place inside the project.
            let Some(inside) = self.project.inside(&target) else {
                return Err(Error::Outside {
                    path: self.asked.clone(),
                    link: link.path.clone(),
                });
            };
            self.folders.clear();
            inside
        } else {
            target
        };
        for name in names_of(&relative).into_iter().rev() {
            self.steps.push_front(Step {
                name,
                link: Some(link.clone()),
            });
        }
        Ok(())
    }

    /// Nothing has the name of `step`.
    fn missing(self, step: Step) -> Result<Place, Error> {
        if let Some(link) = &step.link {
            return Err(Error::DanglingLink {
                path: self.asked.clone(),
                link: link.path.clone(),
                target: link.target.clone(),
            });
        }
        // Steps of a link always come before those that were asked for, so none is left here.
        let names = std::iter::once(step.name.clone())
            .chain(self.steps.iter().map(|step| step.name.clone()))
            .collect();
        self.finish(Target::Missing { names })
    }

    fn outside(&self, step: &Step) -> Error {
        let link = step
            .link
            .as_ref()
            .map_or_else(|| self.asked.clone(), |link| link.path.clone());
        Error::Outside {
            path: self.asked.clone(),
            link,
        }
    }

    /// The one name in this folder that differs from `name` only in Unicode normalisation or in the kind of its spaces, or
    /// that is to the letter how `name` is spelled.
    fn similar(&mut self, name: &OsStr) -> Result<Option<(OsString, Metadata)>, Error> {
        let spelling = spelled(name);
        if spelling.is_ascii() && !spelling.contains([' ', '\\']) {
            return Ok(None);
        }
        let wanted = name.to_str().map(folded);
        let entries = self
            .folder()
            .entries()
            .map_err(|source| Error::from_io(self.asked, source))?;
        let looks_so = |candidate: &OsString| {
            candidate
                .to_str()
                .is_some_and(|text| text == spelling || wanted.as_ref() == Some(&folded(text)))
        };
        let mut found: Vec<OsString> = entries
            .take(MAX_COMPARED_NAMES)
            .filter_map(|entry| Some(entry.ok()?.file_name()))
            .filter(looks_so)
            .collect();
        found.sort();
        match found.as_slice() {
            [] => Ok(None),
            [only] => {
                let metadata = self
                    .look(only)
                    .map_err(|source| Error::from_io(self.asked, source))?;
                let note = format!(
                    "`{}` does not exist exactly so; `{}` was used, which looks the same",
                    told_apart(name),
                    told_apart(only)
                );
                self.note.get_or_insert(note);
                Ok(Some((only.clone(), metadata)))
            }
            several => Err(Error::SeveralNames {
                path: self.asked.clone(),
                candidates: several.iter().map(|name| told_apart(name)).collect(),
            }),
        }
    }
}

/// The names in a link's target; `..` stays.
fn names_of(target: &Path) -> Vec<OsString> {
    let names = target.components().filter_map(|component| match component {
        Component::Normal(_) | Component::ParentDir => Some(component.as_os_str().to_owned()),
        Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
    });
    names.collect()
}

/// A name as it is compared: composed, and with plain spaces.
fn folded(name: &str) -> String {
    name.nfc()
        .map(|c| if c.is_whitespace() { ' ' } else { c })
        .collect()
}

/// A name with everything escaped by which names that look the same differ.
fn told_apart(name: &OsStr) -> String {
    let mut text = String::new();
    for c in spelled(name).chars() {
        let combining = unicode_normalization::char::is_combining_mark(c);
        if combining || (c.is_whitespace() && c != ' ') {
            text.extend(c.escape_unicode());
        } else {
            text.push(c);
        }
    }
    text
}
