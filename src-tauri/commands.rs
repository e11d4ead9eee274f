//! What a page may call. Each command is named in `build.rs` and permitted in `capabilities/window.json`.

use std::sync::Arc;

use rtc_types::Project;
use serde::Serialize;
use tauri::ipc::Channel;
use tauri::{AppHandle, Runtime, State, Url, WebviewWindow};
use tauri_plugin_dialog::DialogExt as _;
use tauri_plugin_opener::OpenerExt as _;
use tokio::sync::oneshot;

use crate::desktop::{Desktop, SignIn, WindowEvent};
use crate::sockets::SocketEvent;
use crate::windows;

/// What may be handed to the system's programs.
const OPENED_ELSEWHERE: &[&str] = &["http", "https", "mailto"];

/// Why a command is not done.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Refused {
    code: &'static str,
    message: String,
}

impl Refused {
    fn new(code: &'static str, message: impl ToString) -> Self {
        let message = message.to_string();
        Self { code, message }
    }

    fn not_open(message: String) -> Self {
        Self::new("engine.unavailable", message)
    }
}

impl From<crate::sockets::Refusal> for Refused {
    fn from(refusal: crate::sockets::Refusal) -> Self {
        Self::new("socket.refused", refusal)
    }
}

/// Signs the page in.
#[tauri::command]
pub(crate) async fn sign_in(desktop: State<'_, Arc<Desktop>>) -> Result<SignIn, Refused> {
    let engine = desktop.engine().await.map_err(Refused::not_open)?;
    Ok(engine.sign_in())
}

/// Opens a socket; gives its id.
#[tauri::command]
pub(crate) async fn socket_open<R: Runtime>(
    window: WebviewWindow<R>,
    desktop: State<'_, Arc<Desktop>>,
    frames: Channel<SocketEvent>,
) -> Result<u32, Refused> {
    let page = desktop.sockets.page(window.label());
    let engine = desktop.engine().await.map_err(Refused::not_open)?;
    let (id, socket) = desktop.sockets.open(&page, frames)?;
    let desktop = desktop.inner().clone();
    tokio::spawn(async move {
        engine.serve(socket).await;
        desktop.sockets.forget(id);
    });
    Ok(id)
}

/// Sends a frame.
#[tauri::command]
pub(crate) async fn socket_send<R: Runtime>(
    window: WebviewWindow<R>,
    desktop: State<'_, Arc<Desktop>>,
    socket: u32,
    frame: String,
) -> Result<(), Refused> {
    Ok(desktop.sockets.send(window.label(), socket, frame).await?)
}

/// Says how much of what was sent the page has taken, in UTF-16 units.
#[tauri::command]
pub(crate) fn socket_acknowledge<R: Runtime>(
    window: WebviewWindow<R>,
    desktop: State<'_, Arc<Desktop>>,
    socket: u32,
    bytes: usize,
) -> Result<(), Refused> {
    Ok(desktop.sockets.acknowledge(window.label(), socket, bytes)?)
}

/// Closes a socket.
#[tauri::command]
pub(crate) fn socket_close<R: Runtime>(
    window: WebviewWindow<R>,
    desktop: State<'_, Arc<Desktop>>,
    socket: u32,
) -> Result<(), Refused> {
    Ok(desktop.sockets.close(window.label(), socket)?)
}

/// Tells the page from now on what its window is asked for.
#[tauri::command]
pub(crate) fn window_watch<R: Runtime>(
    window: WebviewWindow<R>,
    desktop: State<'_, Arc<Desktop>>,
    told: Channel<WindowEvent>,
) {
    desktop.listen(window.label(), told);
}

/// Lets the user choose a folder, and opens it; nothing if none was chosen.
#[tauri::command]
pub(crate) async fn choose_folder<R: Runtime>(
    window: WebviewWindow<R>,
    desktop: State<'_, Arc<Desktop>>,
) -> Result<Option<Project>, Refused> {
    let (answer, answered) = oneshot::channel();
    let dialog = window
        .dialog()
        .file()
        .set_parent(&window)
        .set_title("Open a folder");
    dialog.pick_folder(move |folder| {
        // The page may be gone by now.
        let _ = answer.send(folder);
    });
    let Ok(Some(folder)) = answered.await else {
        return Ok(None);
    };
    let unusable = |error: &dyn std::fmt::Display| Refused::new("project.unusable", error);
    let folder = folder.into_path().map_err(|error| unusable(&error))?;
    let engine = desktop.engine().await.map_err(Refused::not_open)?;
    let project = engine
        .open_project(&folder)
        .await
        .map_err(|error| unusable(&error))?;
    Ok(Some(project))
}

/// Opens a further window, on a session if one is named.
#[tauri::command]
pub(crate) async fn open_window<R: Runtime>(
    app: AppHandle<R>,
    session: Option<String>,
) -> Result<(), Refused> {
    let cannot = |error: &dyn std::fmt::Display| Refused::new("window.unavailable", error);
    let session = match session {
        Some(session) => Some(
            session
                .parse()
                .map_err(|error: rtc_types::IdError| cannot(&error))?,
        ),
        None => None,
    };
    windows::open(&app, session).map_err(|error| cannot(&error))?;
    Ok(())
}

/// Opens an address in the system's browser.
#[tauri::command]
pub(crate) async fn open_link<R: Runtime>(app: AppHandle<R>, url: String) -> Result<(), Refused> {
    let known = Url::parse(&url)
        .ok()
        .filter(|url| OPENED_ELSEWHERE.contains(&url.scheme()));
    let Some(url) = known else {
        return Err(Refused::new(
            "link.refused",
            "only web and mail addresses are opened",
        ));
    };
    let opened = app.opener().open_url(url, None::<&str>);
    opened.map_err(|error| Refused::new("link.refused", error))
}
