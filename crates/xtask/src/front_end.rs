//! The page in `ui/`: its own checks and tests, and the build that `rtc-headless` contains.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use anyhow::{Context, Result};

use crate::npm;

/// Where the page is made, from the top of the repository.
pub(crate) const FOLDER: &str = "ui";

/// The file that a build writes, and what no build is made from.
const BUILT: &str = "dist/index.html";
const NOT_SOURCES: &[&str] = &["dist", "node_modules", "screenshots", "tests"];

/// Checks format and types, tests, builds, and tries what was built in a browser.
pub(crate) fn run(root: &Path) -> Result<()> {
    let folder = root.join(FOLDER);
    npm::run_script(&folder, "check")?;
    npm::run_script(&folder, "test")?;
    build(root)?;
    // Elsewhere `setup` installs no browser.
    if cfg!(target_os = "linux") {
        npm::run_script(&folder, "test:browser")?;
    }
    Ok(())
}

/// Builds the page, unless the last build is newer than everything that it is made from: each build makes the binary
/// that contains it anew.
pub(crate) fn build(root: &Path) -> Result<()> {
    let folder = root.join(FOLDER);
    let built = fs::metadata(folder.join(BUILT)).and_then(|built| built.modified());
    let changed = last_change(&folder, NOT_SOURCES)?;
    if built.is_ok_and(|built| built > changed) {
        return Ok(());
    }
    npm::run_script(&folder, "build")
}

/// When something beneath a folder last changed, some names in it left out.
fn last_change(folder: &Path, except: &[&str]) -> Result<SystemTime> {
    let cannot = || format!("cannot look at {}", folder.display());
    let mut last = SystemTime::UNIX_EPOCH;
    for entry in fs::read_dir(folder).with_context(cannot)? {
        let entry = entry.with_context(cannot)?;
        if except.iter().any(|name| entry.file_name() == **name) {
            continue;
        }
        let metadata = entry.metadata().with_context(cannot)?;
        last = last.max(metadata.modified().with_context(cannot)?);
        if metadata.is_dir() {
            last = last.max(last_change(&entry.path(), &[])?);
        }
    }
    Ok(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_build_makes_is_no_source() {
        let folder = std::env::temp_dir().join(format!("rtc-desktop-front-end-{}", std::process::id()));
        for inner in ["dist", "src/view"] {
            fs::create_dir_all(folder.join(inner)).unwrap();
        }
        fs::write(folder.join("src/view/Page.svelte"), "").unwrap();
        let source = last_change(&folder, &["dist"]).unwrap();
        let later = source + std::time::Duration::from_secs(60);
        let set = |path: &str| {
            let file = fs::File::create(folder.join(path)).unwrap();
            file.set_modified(later).unwrap();
        };
        set("dist/index.html");
        assert!(last_change(&folder, &["dist"]).unwrap() < later);
        set("src/view/Page.svelte");
        assert_eq!(last_change(&folder, &["dist"]).unwrap(), later);
        fs::remove_dir_all(folder).unwrap();
    }
}
