//! The windows: what they may show, and what happens to them.

#[cfg(target_os = "linux")]
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
#[cfg(target_os = "linux")]
use std::sync::{Mutex, PoisonError};
#[cfg(target_os = "linux")]
use std::time::{Duration, Instant};

use rtc_types::SessionId;
use tauri::webview::{NewWindowResponse, PageLoadEvent};
use tauri::{AppHandle, Manager as _, Runtime, Url, WebviewUrl, WebviewWindow, WebviewWindowBuilder};

use tauri_plugin_dialog::{DialogExt as _, MessageDialogButtons, MessageDialogKind};

use crate::desktop::Desktop;

/// How the labels of windows begin; the capability names them.
const LABEL: &str = "window-";

/// How many windows there may be.
const WINDOWS: usize = 16;

/// Size of a new window in logical pixels.
const SIZE: (f64, f64) = (1180.0, 780.0);

/// The smallest size, at which there is one column.
const LEAST_SIZE: (f64, f64) = (420.0, 480.0);

/// How many times a page is loaded again after its process ended, within [`CRASH_TIME`].
#[cfg(target_os = "linux")]
const CRASHES: usize = 3;
#[cfg(target_os = "linux")]
const CRASH_TIME: Duration = Duration::from_secs(60);

static COUNT: AtomicU32 = AtomicU32::new(0);

/// Why no window is opened.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// There are as many as there may be.
    #[error("there are {WINDOWS} windows already; close one first")]
    TooMany,
    /// The system does not show one.
    #[error(transparent)]
    Window(#[from] tauri::Error),
}

/// Opens a window, on a session if one is named.
pub(crate) fn open<R: Runtime>(
    app: &AppHandle<R>,
    session: Option<SessionId>,
) -> Result<WebviewWindow<R>, Error> {
    if app.webview_windows().len() >= WINDOWS {
        return Err(Error::TooMany);
    }
    let label = format!("{LABEL}{}", COUNT.fetch_add(1, Ordering::Relaxed) + 1);
    let page = match session {
        Some(session) => format!("index.html#session/{session}"),
        None => "index.html".to_owned(),
    };
    let desktop = app.state::<Arc<Desktop>>().inner().clone();
    let loading = desktop.clone();
    let kept = desktop.pages_folder().to_owned();
    let window = WebviewWindowBuilder::new(app, label, WebviewUrl::App(page.into()))
        .title("RTC Desktop")
        // Beside the data that it is a copy of, and not where every program of this name has it.
        .data_directory(kept)
        .inner_size(SIZE.0, SIZE.1)
        .min_inner_size(LEAST_SIZE.0, LEAST_SIZE.1)
        .zoom_hotkeys_enabled(true)
        .on_navigation(is_own)
        .on_new_window(|_, _| NewWindowResponse::Deny)
        .on_document_title_changed(|window, title| {
            // A title that cannot be shown is no reason for anything.
            let _ = window.set_title(&title);
        })
        .on_page_load(move |window, load| {
            if load.event() == PageLoadEvent::Started {
                loading.leave(window.label());
            }
        })
        .build()?;
    reload_after_crash(&window, desktop)?;
    Ok(window)
}

/// Brings the window that was opened first forward, and gives its label.
pub(crate) fn bring_forward<R: Runtime>(app: &AppHandle<R>) -> Option<String> {
    let mut windows: Vec<_> = app.webview_windows().into_iter().collect();
    windows.sort_by_key(|(label, _)| number(label));
    let (label, window) = windows.into_iter().next()?;
    // Each works or does not by what the window system lets a program do.
    let _ = window.unminimize();
    let _ = window.show();
    let _ = window.set_focus();
    Some(label)
}

/// Asks whether the last window may be closed although a call runs, and closes it then.
pub(crate) fn ask_before_close<R: Runtime>(app: &AppHandle<R>, desktop: &Arc<Desktop>, label: &str) {
    let Some(window) = app.get_webview_window(label) else {
        return;
    };
    if desktop.is_asking.swap(true, Ordering::Relaxed) {
        return;
    }
    let desktop = desktop.clone();
    window
        .dialog()
        .message(
            "A call is still running. If you close the window now it is broken off, and what it did until then is not \
             known; you are asked about it at the next start.",
        )
        .title("RTC Desktop")
        .parent(&window)
        .kind(MessageDialogKind::Warning)
        .buttons(MessageDialogButtons::OkCancelCustom("Close anyway".into(), "Keep it open".into()))
        .show(move |is_agreed| {
            desktop.is_asking.store(false, Ordering::Relaxed);
            if is_agreed {
                // One that is gone is closed.
                let _ = window.destroy();
            }
        });
}

fn number(label: &str) -> u32 {
    label
        .strip_prefix(LABEL)
        .and_then(|number| number.parse().ok())
        .unwrap_or(u32::MAX)
}

/// Whether an address is one of this program's page. Nothing else is ever shown.
fn is_own(url: &Url) -> bool {
    let is_local = url
        .host_str()
        .is_some_and(|host| host == "localhost" || host == "tauri.localhost");
    match url.scheme() {
        "tauri" => is_local,
        // What the scheme is called on Windows.
        "http" | "https" => cfg!(windows) && url.host_str() == Some("tauri.localhost"),
        _ => url.as_str() == "about:blank",
    }
}

/// Loads the page again when its process is gone, unless it goes again and again. What it showed is stored.
#[cfg(target_os = "linux")]
fn reload_after_crash<R: Runtime>(window: &WebviewWindow<R>, desktop: Arc<Desktop>) -> tauri::Result<()> {
    use webkit2gtk::WebViewExt as _;

    let own = window.clone();
    let crashes = Mutex::new(VecDeque::new());
    window.with_webview(move |webview| {
        webview.inner().connect_web_process_terminated(move |view, reason| {
            tracing::warn!(window = own.label(), ?reason, "the process of the page ended");
            desktop.leave(own.label());
            let mut crashes = crashes.lock().unwrap_or_else(PoisonError::into_inner);
            crashes.push_back(Instant::now());
            if crashes.len() <= CRASHES || crashes.pop_front().is_some_and(|at| at.elapsed() > CRASH_TIME) {
                view.reload();
                return;
            }
            own.dialog()
                .message("The page of this window ended several times in a row, so it is not loaded again. Close the \
                          window, and start RTC Desktop again; what was done is kept.")
                .title("RTC Desktop")
                .kind(MessageDialogKind::Error)
                .show(|_| ());
        });
    })
}

/// Elsewhere the system does it, or says it in its own way.
#[cfg(not(target_os = "linux"))]
fn reload_after_crash<R: Runtime>(_: &WebviewWindow<R>, _: Arc<Desktop>) -> tauri::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_own_page_is_shown() {
        let table = [
            ("tauri://localhost/index.html#session/1", true),
            ("about:blank", true),
            ("tauri://elsewhere/index.html", false),
            ("http://localhost/", false),
            ("http://127.0.0.1:8080/", false),
            ("https://example.org/", false),
            ("file:///etc/passwd", false),
            ("data:text/html,x", false),
            ("javascript:alert(1)", false),
        ];
        for (url, own) in table {
            assert_eq!(is_own(&Url::parse(url).unwrap()), own, "{url}");
        }
    }
}
