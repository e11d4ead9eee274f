//! A window with one line and nothing behind it: what the product's window is measured beside. It never ships.

#![allow(
    clippy::disallowed_macros,
    reason = "the window library's own macro tells what it misses"
)]

use tauri::{WebviewUrl, WebviewWindowBuilder};

/// As large as that of the product, in logical pixels.
const SIZE: (f64, f64) = (1180.0, 780.0);

fn main() -> tauri::Result<()> {
    tauri::Builder::default()
        .setup(|program| {
            WebviewWindowBuilder::new(program, "bare", WebviewUrl::App("index.html".into()))
                .title("Bare")
                .inner_size(SIZE.0, SIZE.1)
                .build()?;
            Ok(())
        })
        .run(tauri::generate_context!())
}
