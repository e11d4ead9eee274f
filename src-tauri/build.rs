//! Names the commands of the window, so that each has a permission of its own.

#![allow(clippy::disallowed_macros, reason = "cargo reads what is printed")]

include!("command_names.rs");

fn main() {
    println!("cargo::rerun-if-changed=src-tauri/capabilities");
    println!("cargo::rerun-if-changed=src-tauri/command_names.rs");
    let commands = tauri_build::AppManifest::new().commands(COMMANDS);
    let attributes = tauri_build::Attributes::new()
        .app_manifest(commands)
        .capabilities_path_pattern("src-tauri/capabilities/**/*");
    if let Err(error) = tauri_build::try_build(attributes) {
        panic!("{error:#}");
    }
}
