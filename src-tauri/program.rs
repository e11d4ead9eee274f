//! The program with windows, from its start to its end.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result};
use clap::Parser as _;
use rtc_app::{App, Options};
use tauri::{AppHandle, Builder, Manager as _, RunEvent, Runtime, WindowEvent};
use tauri_plugin_dialog::{DialogExt as _, MessageDialogKind};

use crate::arguments::{Arguments, Start};
use crate::desktop::{Desktop, Engine, WindowEvent as Told};
use crate::{commands, windows};

/// The exit code when the data folder cannot be used.
const UNUSABLE: i32 = 2;

/// What can be called from a page.
pub(crate) fn with_commands<R: Runtime>(builder: Builder<R>) -> Builder<R> {
    builder.invoke_handler(tauri::generate_handler![
        commands::sign_in,
        commands::socket_open,
        commands::socket_send,
        commands::socket_acknowledge,
        commands::socket_close,
        commands::window_watch,
        commands::choose_folder,
        commands::open_window,
        commands::open_link,
    ])
}

/// What was built in: the page, permissions, icons.
#[allow(
    clippy::disallowed_macros,
    reason = "what the macro expands to says something on stderr"
)]
pub(crate) fn context<R: Runtime>() -> tauri::Context<R> {
    tauri::generate_context!()
}

/// Shows windows until the last one is closed. Gives the exit code.
pub(crate) fn run(arguments: Arguments) -> Result<i32> {
    check_display()?;
    // Everything that waits, waits here.
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    tauri::async_runtime::set(runtime.handle().clone());

    let options = Options {
        data: arguments.data.clone(),
        config: arguments.config.clone(),
        model: arguments.model.clone(),
        ..Options::default()
    };
    // Where there is no such folder any more, only a path from the root leads anywhere.
    let first = Start {
        arguments: arguments.clone(),
        from: std::env::current_dir().unwrap_or_default(),
    };
    let desktop = App::pages_folder(&options).map(|pages| Arc::new(Desktop::new(pages)));
    let mut program = with_commands(Builder::default());
    if let Ok(desktop) = &desktop {
        program = program.manage(desktop.clone());
        if !is_alone(&arguments) {
            // The first plugin of all: a second start ends here.
            program = program.plugin(single_instance(desktop.pages_folder(), first.clone()));
        }
    }
    let program = program
        .plugin(tauri_plugin_dialog::init())
        .plugin(tauri_plugin_opener::init())
        .setup(move |program| {
            let handle = program.handle().clone();
            tauri::async_runtime::spawn(end_when_told(handle.clone()));
            let desktop = match desktop {
                Ok(desktop) => desktop,
                Err(error) => {
                    give_up(&handle, &error.to_string());
                    return Ok(());
                }
            };
            let window = windows::open(&handle, None)?;
            for again in desktop.shows() {
                started_again(&handle, &first, again);
            }
            let folder = first.folder();
            let label = window.label().to_owned();
            tauri::async_runtime::spawn(async move {
                if open_engine(&handle, &desktop, options).await
                    && let Some(folder) = folder
                {
                    desktop.open_folder(&label, &folder).await;
                }
            });
            Ok(())
        })
        .build(context())
        .context("the window cannot be shown")?;
    let code = program.run_return(|program, event| {
        let Some(desktop) = program.try_state::<Arc<Desktop>>() else {
            return;
        };
        match event {
            RunEvent::WindowEvent {
                label,
                event: WindowEvent::CloseRequested { api, .. },
                ..
            } if desktop.is_busy() && program.webview_windows().len() == 1 => {
                api.prevent_close();
                windows::ask_before_close(program, &desktop, &label);
            }
            RunEvent::WindowEvent {
                label,
                event: WindowEvent::Destroyed,
                ..
            } => desktop.closed(&label),
            RunEvent::Exit => desktop.shut_down(),
            _ => {}
        }
    });
    // A call that does not end by itself must not keep the program: what is durable is durable.
    runtime.shutdown_timeout(std::time::Duration::from_millis(200));
    Ok(code)
}

/// Ends the process. What is to be kept is kept by then.
///
/// Threads of the window's libraries still run, for keys and for dialogs: an exit that takes those libraries down first
/// would pull them from under these threads, and the program would now and then end by a fault.
#[cfg(target_os = "linux")]
pub(crate) fn end(code: i32) -> ! {
    signal_hook::low_level::exit(code)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn end(code: i32) -> ! {
    std::process::exit(code)
}

/// Opens the engine while the page loads. If it cannot be opened the user is told, and the program ends.
async fn open_engine<R: Runtime>(program: &AppHandle<R>, desktop: &Desktop, options: Options) -> bool {
    let opened = Engine::open(options).await;
    let opened = opened.map(Arc::new).map_err(|error| error.to_string());
    let problem = opened.as_ref().err().cloned();
    desktop.opened(opened);
    match problem {
        Some(problem) => give_up(program, &problem),
        None => return true,
    }
    false
}

/// Tells the user why there is nothing to show, and ends.
fn give_up<R: Runtime>(program: &AppHandle<R>, problem: &str) {
    tracing::error!("{problem}");
    for window in program.webview_windows().values() {
        // Its page has nothing to show. Where it cannot be hidden, the words are before it.
        let _ = window.hide();
    }
    let ending = program.clone();
    let told = program
        .dialog()
        .message(problem)
        .title("RTC Desktop")
        .kind(MessageDialogKind::Error);
    told.show(move |_| ending.exit(UNUSABLE));
}

/// Whether this start is not to be handed over: elsewhere than on Linux others are found by the name of the program only,
/// whatever their data folder is.
fn is_alone(arguments: &Arguments) -> bool {
    !cfg!(target_os = "linux") && arguments.data.is_some()
}

/// Hands a second start on the same data folder over to the first one.
fn single_instance<R: Runtime>(pages: &Path, first: Start) -> tauri::plugin::TauriPlugin<R> {
    let name = blake3::hash(pages.as_os_str().as_encoded_bytes()).to_hex();
    tauri_plugin_single_instance::Builder::new()
        .dbus_id(format!("io.github.rtc_desktop.data_{}", &name[..16]))
        .callback(move |program, line, from| {
            if let Ok(arguments) = Arguments::try_parse_from(line) {
                let from = PathBuf::from(from);
                started_again(program, &first, Start { arguments, from });
            }
        })
        .build()
}

/// Another start of the program: its folder is opened here, and the window comes forward.
fn started_again<R: Runtime>(program: &AppHandle<R>, first: &Start, again: Start) {
    let Some(desktop) = program.try_state::<Arc<Desktop>>() else {
        return;
    };
    let Some(again) = desktop.unless_early(again) else {
        return;
    };
    let Some(label) = windows::bring_forward(program) else {
        return;
    };
    if !again.is_met_by(first) {
        let text = "RTC Desktop runs already, with the configuration and model of its first start: those of the second \
                    one are not used. Close it first to start it with others."
            .to_owned();
        desktop.tell(&label, Told::Problem { text });
    }
    if let Some(folder) = again.folder() {
        let desktop = desktop.inner().clone();
        tauri::async_runtime::spawn(async move { desktop.open_folder(&label, &folder).await });
    }
}

/// Ends the program in order when the system asks for it.
async fn end_when_told<R: Runtime>(program: AppHandle<R>) {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let (Ok(mut terminated), Ok(mut hung_up)) =
            (signal(SignalKind::terminate()), signal(SignalKind::hangup()))
        else {
            return;
        };
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = terminated.recv() => {}
            _ = hung_up.recv() => {}
        }
    }
    #[cfg(not(unix))]
    if tokio::signal::ctrl_c().await.is_err() {
        return;
    }
    program.exit(0);
}

/// Without a display the window library ends the program with words that help nobody.
#[cfg(target_os = "linux")]
fn check_display() -> Result<()> {
    gtk::init().context(
        "there is no display to show a window on; start it within a desktop session, or use `rtc-desktop --headless`, \
         which needs none",
    )
}

#[cfg(not(target_os = "linux"))]
fn check_display() -> Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests;
