//! The desktop shell.
fn main() {
    tauri::Builder::default().run(tauri::generate_context!()).expect("x");
}
