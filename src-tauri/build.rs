//! Names the commands of the window, so that each has a permission of its own.

#![allow(clippy::disallowed_macros, reason = "cargo reads what is printed")]

/// What a page may call.
const COMMANDS: &[&str] = &[
    "sign_in",
    "socket_open",
    "socket_send",
    "socket_acknowledge",
    "socket_close",
    "window_watch",
    "choose_folder",
    "open_window",
    "open_link",
];

fn main() {
    println!("cargo::rerun-if-changed=src-tauri/capabilities");
    let commands = tauri_build::AppManifest::new().commands(COMMANDS);
    let attributes = tauri_build::Attributes::new()
        .app_manifest(commands)
        .capabilities_path_pattern("src-tauri/capabilities/**/*");
    if let Err(error) = tauri_build::try_build(attributes) {
        panic!("{error:#}");
    }
}
