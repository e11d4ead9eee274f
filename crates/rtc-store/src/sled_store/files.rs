//! File operations that only their owner can read, and that are on the device when they return.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// Creates a folder, and those above it, for their owner only. One that is there stays as it is.
pub(super) fn create_folder(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt;
        builder.mode(0o700);
    }
    builder.create(path)
}

/// Opens a file for writing, and creates it for its owner only.
pub(super) fn open_private(path: &Path, truncate: bool) -> io::Result<File> {
    create_private(path, OpenOptions::new().write(true).truncate(truncate))
}

/// Opens a file for reading and writing in place, and creates it for its owner only.
pub(super) fn open_in_place(path: &Path) -> io::Result<File> {
    create_private(path, OpenOptions::new().read(true).write(true).truncate(false))
}

fn create_private(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    options.create(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    options.open(path)
}

/// Takes from everyone but the owner what another library created; failing to is no reason to stop, the
/// folder above is closed to others already.
pub(super) fn make_private(path: &Path) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = if path.is_dir() { 0o700 } else { 0o600 };
        if let Err(error) = fs::set_permissions(path, fs::Permissions::from_mode(mode)) {
            tracing::warn!(path = %path.display(), %error, "permissions could not be narrowed");
        }
    }
    #[cfg(not(unix))]
    let _ = path;
}

/// Writes a file and waits until its bytes are on the device; its name may not be yet.
pub(super) fn write_synced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = open_private(path, true)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Replaces a file: afterwards, also after a power cut, either the old or the new content is there.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let temporary = path.with_extension("new");
    let written = write_synced(&temporary, bytes).and_then(|()| fs::rename(&temporary, path));
    if let Err(error) = written {
        // What is left of it takes room, and is replaced the next time anyhow.
        let _ = fs::remove_file(&temporary);
        return Err(error);
    }
    match path.parent() {
        Some(folder) => sync_folder(folder),
        None => Ok(()),
    }
}

/// Waits until the names in a folder are on the device.
pub(super) fn sync_folder(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    File::open(path)?.sync_all()?;
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

/// Waits until the name of a folder is on the device.
pub(super) fn sync_parent(folder: &Path) -> io::Result<()> {
    sync_folder(parent(folder))
}

/// The folder above one.
pub(super) fn parent(folder: &Path) -> &Path {
    match folder.parent() {
        // The parent of a single relative name is written as nothing.
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => folder,
    }
}

/// Whether an open file is the one at this path.
pub(super) fn is_at(file: &File, path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let found = (file.metadata(), fs::metadata(path));
        matches!(found, (Ok(file), Ok(there)) if (file.dev(), file.ino()) == (there.dev(), there.ino()))
    }
    #[cfg(not(unix))]
    {
        // What is open cannot be renamed.
        let _ = (file, path);
        true
    }
}

/// Removes a folder with all that is in it; one that is not there is no error.
pub(super) fn remove_folder(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// The bytes that may still be written to the file system of `path`; `None` where that cannot be told.
pub(super) fn free_bytes(path: &Path) -> Option<u64> {
    #[cfg(unix)]
    {
        let found = rustix::fs::statvfs(path).ok()?;
        Some(found.f_bavail.saturating_mul(found.f_frsize))
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        None
    }
}

/// Gives a file blocks of its own, not only a length.
pub(super) fn allocate(file: &mut File, bytes: u64) -> io::Result<()> {
    #[cfg(unix)]
    match rustix::fs::fallocate(&*file, rustix::fs::FallocateFlags::empty(), 0, bytes) {
        Ok(()) => return Ok(()),
        Err(error) if error == rustix::io::Errno::OPNOTSUPP || error == rustix::io::Errno::NOSYS => {}
        Err(error) => return Err(error.into()),
    }
    static ZEROS: [u8; 64 * 1024] = [0; 64 * 1024];
    let mut left = bytes;
    while left > 0 {
        let step = left.min(ZEROS.len() as u64);
        file.write_all(&ZEROS[..usize::try_from(step).unwrap_or(ZEROS.len())])?;
        left -= step;
    }
    file.sync_all()
}
