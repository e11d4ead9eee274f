//! A throw-away folder, and an exact copy of a project in it.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, Result, bail};

use crate::shell::WrongUsage;

/// How many names are tried for the folder before giving up.
const MAX_NAMES: u32 = 1_000;

/// The number of the next name: none is used twice by one process.
static NUMBER: AtomicU32 = AtomicU32::new(0);

/// Where something is shown, as `[--root DIR]` says it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// On a copy of the sample.
    Scratch,
    /// In a folder of the user's.
    Named(PathBuf),
    /// Nowhere: how the command is used was asked for, and told.
    Help,
}

/// Reads the arguments of a command that takes a folder.
pub(crate) fn folder(arguments: &[String], usage: &str) -> Result<Place, WrongUsage> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match *words {
        [] => Ok(Place::Scratch),
        ["--help" | "-h"] => {
            println!("{usage}");
            Ok(Place::Help)
        }
        ["--root", folder] if Path::new(folder).is_dir() => Ok(Place::Named(PathBuf::from(folder))),
        ["--root", folder] => Err(WrongUsage(format!("{folder} is not a folder"))),
        _ => Err(WrongUsage(usage.to_owned())),
    }
}

/// A fresh folder of our own that is removed at the end.
pub(crate) struct Scratch {
    path: PathBuf,
    keep: bool,
}

impl Scratch {
    /// Makes it in the system's folder for temporary files, readable by this user only.
    pub(crate) fn create() -> Result<Scratch> {
        // On some systems that folder is a link, which a tool that refuses links would stumble over.
        let parent = std::env::temp_dir()
            .canonicalize()
            .context("no folder for temporary files")?;
        for _ in 0..MAX_NAMES {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let path = parent.join(format!("rtc-desktop-demo-{}-{number}", std::process::id()));
            let mut builder = fs::DirBuilder::new();
            #[cfg(unix)]
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            match builder.create(&path) {
                Ok(()) => return Ok(Scratch { path, keep: false }),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error).with_context(|| format!("cannot create {}", path.display())),
            }
        }
        bail!("no free name in {}", parent.display())
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Leaves the folder where it is at the end.
    pub(crate) fn keep(&mut self) {
        self.keep = true;
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !self.keep
            && let Err(error) = fs::remove_dir_all(&self.path)
        {
            eprintln!("cannot remove {}: {error}", self.path.display());
        }
    }
}

/// Copies a folder with its bytes and modes; links stay links. `to` must not exist.
pub(crate) fn copy_tree(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir(to).with_context(|| format!("cannot create {}", to.display()))?;
    for entry in fs::read_dir(from).with_context(|| format!("cannot list {}", from.display()))? {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type()?;
        if kind.is_dir() {
            copy_tree(&source, &target)?;
        } else if kind.is_symlink() {
            copy_link(&source, &target)
                .with_context(|| format!("cannot make the link {}", target.display()))?;
        } else {
            fs::copy(&source, &target).with_context(|| format!("cannot copy {}", source.display()))?;
        }
    }
    Ok(())
}

#[cfg(unix)]
fn copy_link(source: &Path, target: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(fs::read_link(source)?, target)
}

#[cfg(windows)]
fn copy_link(source: &Path, target: &Path) -> std::io::Result<()> {
    let aim = fs::read_link(source)?;
    match source.is_dir() {
        true => std::os::windows::fs::symlink_dir(aim, target),
        false => std::os::windows::fs::symlink_file(aim, target),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_named_or_a_copy_of_the_sample() {
        let read = |line: &str| {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            folder(&words, "USAGE").map_err(|wrong| wrong.0)
        };
        assert_eq!(read(""), Ok(Place::Scratch));
        assert_eq!(read("-h"), Ok(Place::Help));
        assert_eq!(read("--root ."), Ok(Place::Named(PathBuf::from("."))));
        assert_eq!(read("--root no/such"), Err("no/such is not a folder".to_owned()));
        assert_eq!(read("--root"), Err("USAGE".to_owned()));
        assert_eq!(read("there"), Err("USAGE".to_owned()));
    }
}
