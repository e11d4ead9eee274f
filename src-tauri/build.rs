//! Names the commands of the window, so that each has a permission of its own.

fn main() {
    let commands = tauri_build::AppManifest::new().commands(&["sign_in"]);
    let attributes = tauri_build::Attributes::new()
        .app_manifest(commands)
        .capabilities_path_pattern("src-tauri/capabilities/**/*");
    if let Err(error) = tauri_build::try_build(attributes) {
        panic!("{error:#}");
    }
}
