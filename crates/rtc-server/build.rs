//! Lists the files of the built page, so that the binary contains them. A checkout in which the page was not built
//! makes a binary without one.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "a build script reads files of the repository and tells cargo what it needs"
)]

use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// From the crate's folder.
const UI: &str = "../../ui";

/// The variable that names the crate's folder, here and where the crate is compiled.
const CRATE: &str = "CARGO_MANIFEST_DIR";

fn main() -> io::Result<()> {
    let variable = |name: &str| env::var_os(name).map(PathBuf::from);
    let (Some(here), Some(out)) = (variable(CRATE), variable("OUT_DIR")) else {
        return Err(io::Error::other("cargo runs this"));
    };
    let dist = here.join(UI).join("dist");
    let mut paths = Vec::new();
    if dist.join("index.html").is_file() {
        println!("cargo:rerun-if-changed={UI}/dist");
        collect(&dist, "", &mut paths)?;
        paths.sort();
    } else {
        // Cargo would take a path that is missing for a change, in every build.
        println!("cargo:rerun-if-changed={UI}");
    }
    let mut list = String::from("&[\n");
    for path in paths {
        let file = format!("/{UI}/dist{path}");
        list.push_str(&format!(
            "    ({path:?}, include_bytes!(concat!(env!({CRATE:?}), {file:?}))),\n"
        ));
    }
    list.push(']');
    fs::write(out.join("page_files.rs"), list)
}

/// The files beneath a folder, by their paths as a browser asks for them.
fn collect(folder: &Path, under: &str, paths: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let path = format!("{under}/{}", name.to_string_lossy());
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), &path, paths)?;
        } else {
            paths.push(path);
        }
    }
    Ok(())
}
