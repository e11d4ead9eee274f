//! Writes the documents that are made from the table of methods; `cargo xtask protocol` runs it.
// It is a build step: it writes into the repository.
#![allow(clippy::disallowed_methods)]

use std::path::Path;

use rtc_wire::schema::{DocumentFile, FILES};

fn main() -> std::io::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for DocumentFile { path, make } in FILES {
        let path = root.join(path);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(path, make())?;
    }
    Ok(())
}
