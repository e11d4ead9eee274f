//! Copies the files of the built page to where the crate includes them from, so that the binary contains them. A checkout
//! in which the page was not built makes a binary without one.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "a build script reads files of the repository and tells cargo what it needs"
)]

use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// From the crate's folder, which is where cargo runs this.
const UI: &str = "../../ui";

fn main() -> io::Result<()> {
    let out = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("cargo runs this"))?;
    let out = PathBuf::from(out);
    let copies = out.join("page");
    if copies.exists() {
        fs::remove_dir_all(&copies)?;
    }
    let dist = Path::new(UI).join("dist");
    let mut paths = Vec::new();
    if dist.join("index.html").is_file() {
        println!("cargo:rerun-if-changed={UI}/dist");
        copy(&dist, &copies, "", &mut paths)?;
        paths.sort();
    } else {
        // Cargo would take a path that is missing for a change, in every build.
        println!("cargo:rerun-if-changed={UI}");
    }
    let files = paths.iter().map(|path| {
        let copy = format!("/page{path}");
        format!("    ({path:?}, include_bytes!(concat!(env!(\"OUT_DIR\"), {copy:?}))),\n")
    });
    let list = format!("&[\n{}]", files.collect::<String>());
    fs::write(out.join("page_files.rs"), list)
}

/// Copies a folder, and notes its files by the paths that a browser asks for.
fn copy(from: &Path, to: &Path, under: &str, paths: &mut Vec<String>) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (name, target) = (entry.file_name(), to.join(entry.file_name()));
        let path = format!("{under}/{}", name.to_string_lossy());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target, &path, paths)?;
        } else {
            fs::copy(entry.path(), target)?;
            paths.push(path);
        }
    }
    Ok(())
}
