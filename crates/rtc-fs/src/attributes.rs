//! What a file keeps when its content is replaced: owner, mode and extended attributes.

use std::fs;
use std::io;

/// Whether everything could be kept.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Keeping {
    /// Yes, or what could not is nothing that a user could have set.
    All,
    /// The new file would belong to someone else.
    NotOwner,
}

/// Gives `new` the owner, mode and extended attributes of `old`.
#[cfg(unix)]
pub(crate) fn keep(old: &fs::File, new: &fs::File) -> io::Result<Keeping> {
    use std::os::unix::fs::MetadataExt as _;

    let (wanted, has) = (old.metadata()?, new.metadata()?);
    if (wanted.uid(), wanted.gid()) != (has.uid(), has.gid()) {
        let (owner, group) = (
            rustix::fs::Uid::from_raw(wanted.uid()),
            rustix::fs::Gid::from_raw(wanted.gid()),
        );
        if rustix::fs::fchown(new, Some(owner), Some(group)).is_err() {
            return Ok(Keeping::NotOwner);
        }
    }
    extended(old, new);
    // After the owner, whose change takes special bits away, and after attributes, which may hold an access list.
    new.set_permissions(wanted.permissions())?;
    Ok(Keeping::All)
}

/// Elsewhere a new file takes its rights from the folder.
#[cfg(not(unix))]
pub(crate) fn keep(old: &fs::File, new: &fs::File) -> io::Result<Keeping> {
    new.set_permissions(old.metadata()?.permissions())?;
    Ok(Keeping::All)
}

/// Gives a new file the mode that it is to have, if that is known.
pub(crate) fn give_mode(new: &fs::File, mode: Option<u32>) -> io::Result<()> {
    #[cfg(unix)]
    if let Some(mode) = mode {
        use std::os::unix::fs::PermissionsExt as _;
        return new.set_permissions(fs::Permissions::from_mode(mode));
    }
    let _ = (new, mode);
    Ok(())
}

/// The mode of a file, as `chmod` has it; `None` on systems without.
pub(crate) fn mode(file: &fs::File) -> io::Result<Option<u32>> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        Ok(Some(file.metadata()?.mode() & 0o7777))
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        Ok(None)
    }
}

/// Copies extended attributes as far as this user may set them; those of the system are set by the system.
#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn extended(old: &fs::File, new: &fs::File) {
    use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fsetxattr};

    /// Longest list of names, and longest value, as Linux limits them: 64 KiB.
    const MAX_BYTES: usize = 64 << 10;

    let mut names = Vec::with_capacity(MAX_BYTES);
    if flistxattr(old, rustix::buffer::spare_capacity(&mut names)).is_err() {
        return;
    }
    for name in names.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        let mut value = Vec::with_capacity(MAX_BYTES);
        if fgetxattr(old, name, rustix::buffer::spare_capacity(&mut value)).is_ok() {
            let _ = fsetxattr(new, name, &value, XattrFlags::empty());
        }
    }
}

/// Other systems have none, or no common way to them.
#[cfg(all(
    unix,
    not(any(target_os = "linux", target_os = "android", target_vendor = "apple"))
))]
fn extended(_old: &fs::File, _new: &fs::File) {}
