//! Opening what a walk has found, beneath the project's handle and through no link at all.

use std::fs::File;
use std::io;

use cap_std::fs::Dir;

use crate::resolve::{Target, locate};
use crate::{Error, Project, VPath};

/// Opens the file at `path`, whose spelling a walk gave: no name of it is a link, and if one has become a link since,
/// the file is not opened. Neither is anything that is not a regular file. With it comes its size in bytes.
pub(crate) fn open_file(project: &Project, path: &VPath) -> io::Result<(File, u64)> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::OFlags;
        // Without waiting: what was a file may have become a pipe.
        if let Some(opened) = beneath(project, path, OFlags::RDONLY | OFlags::NOCTTY | OFlags::NONBLOCK) {
            let file = opened?;
            let found = file.metadata()?;
            return if found.is_file() {
                Ok((file, found.len()))
            } else {
                Err(swapped())
            };
        }
    }
    match project.open_file(path) {
        Ok(opened) if opened.path == *path => Ok((opened.file, opened.identity.size)),
        Ok(_) => Err(swapped()),
        Err(Error::Io { source, .. }) => Err(source),
        Err(_) => Err(swapped()),
    }
}

/// Opens the folder at `path`, whose spelling a walk gave, in the same way.
pub(super) fn open_folder(project: &Project, path: &VPath) -> io::Result<Dir> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::OFlags;
        if let Some(opened) = beneath(project, path, OFlags::RDONLY | OFlags::DIRECTORY) {
            return opened.map(Dir::from_std_file);
        }
    }
    match locate(project, path) {
        Ok(place) if place.folder_path == *path && matches!(place.target, Target::Folder) => Ok(place.folder),
        Ok(_) => Err(swapped()),
        Err(Error::Io { source, .. }) => Err(source),
        Err(_) => Err(swapped()),
    }
}

fn swapped() -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, "it was replaced while searching")
}

/// Whether something is at `path`, whose spelling a walk gave, and no folder on the way is a link. It may be a link
/// itself.
pub(crate) fn is_there(project: &Project, path: &VPath) -> bool {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::OFlags;
        if let Some(opened) = beneath(project, path, OFlags::PATH | OFlags::NOFOLLOW) {
            return opened.is_ok();
        }
    }
    let Some(folder) = path.parent() else { return true };
    project
        .resolve(&folder)
        .is_ok_and(|resolved| resolved.path == folder)
        && project.dir().symlink_metadata(path.native()).is_ok()
}

/// One system call instead of one for each name; `None` where the kernel does not have it or a sandbox forbids it.
#[cfg(target_os = "linux")]
fn beneath(project: &Project, path: &VPath, flags: rustix::fs::OFlags) -> Option<io::Result<File>> {
    use rustix::fs::{Mode, OFlags, ResolveFlags};
    use rustix::io::Errno;

    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match rustix::fs::openat2(
        project.dir(),
        if path.is_root() { ".".into() } else { path.native() },
        flags | OFlags::CLOEXEC,
        Mode::empty(),
        resolve,
    ) {
        Ok(file) => Some(Ok(file.into())),
        Err(Errno::NOSYS | Errno::PERM | Errno::AGAIN | Errno::INVAL) => None,
        Err(error) => Some(Err(error.into())),
    }
}
