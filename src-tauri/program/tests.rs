//! What pages may call, with the program's own permissions.

use serde_json::{Value, json};
use tauri::ipc::{CallbackFn, InvokeBody};
use tauri::test::{INVOKE_KEY, MockRuntime, get_ipc_response, mock_builder};
use tauri::webview::InvokeRequest;
use tauri::{WebviewUrl, WebviewWindow, WebviewWindowBuilder};

use super::*;

const OWN: &str = "tauri://localhost/index.html";

fn program() -> tauri::App<MockRuntime> {
    let desktop = Arc::new(Desktop::new(std::env::temp_dir()));
    with_commands(mock_builder())
        .manage(desktop)
        .build(context())
        .unwrap()
}

fn window(program: &tauri::App<MockRuntime>, label: &str) -> WebviewWindow<MockRuntime> {
    WebviewWindowBuilder::new(program, label, WebviewUrl::default())
        .build()
        .unwrap()
}

/// What a page at an address is answered.
fn call(
    window: &WebviewWindow<MockRuntime>,
    url: &str,
    command: &str,
    arguments: Value,
) -> Result<(), Value> {
    let request = InvokeRequest {
        cmd: command.to_owned(),
        callback: CallbackFn(0),
        error: CallbackFn(1),
        url: url.parse().unwrap(),
        body: InvokeBody::Json(arguments),
        headers: Default::default(),
        invoke_key: INVOKE_KEY.to_owned(),
    };
    get_ipc_response(window, request).map(|_| ())
}

fn is_forbidden(answer: Result<(), Value>) -> bool {
    matches!(answer, Err(Value::String(reason)) if reason.contains("not allowed"))
}

#[test]
fn only_the_own_page_in_a_window_of_the_program_is_heard() {
    let program = program();
    let (own, other) = (window(&program, "window-1"), window(&program, "other"));
    let close = json!({"socket": 7});
    assert_eq!(
        call(&own, OWN, "socket_close", close.clone()),
        Err(json!({"code": "socket.refused", "message": "the page has no such socket"}))
    );
    for url in [
        "https://example.org/",
        "http://127.0.0.1:8080/",
        "tauri://elsewhere/",
    ] {
        let answer = call(&own, url, "socket_close", close.clone());
        assert!(is_forbidden(answer.clone()), "{url}: {answer:?}");
    }
    let answer = call(&other, OWN, "socket_close", close);
    assert!(is_forbidden(answer.clone()), "{answer:?}");
}

include!("../command_names.rs");

/// What the library's own zoom keys need.
const ZOOM: &str = "core:webview:allow-set-webview-zoom";

#[test]
fn each_command_is_permitted_by_its_name_and_nothing_else_is() {
    let capability: Value = serde_json::from_str(include_str!("../capabilities/window.json")).unwrap();
    let permitted: Vec<&str> = capability["permissions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|permission| permission.as_str().unwrap())
        .collect();
    let mut expected: Vec<String> = COMMANDS
        .iter()
        .map(|command| format!("allow-{}", command.replace('_', "-")))
        .collect();
    expected.push(ZOOM.to_owned());
    assert_eq!(permitted, expected);
}

#[test]
fn what_plugins_and_the_library_offer_is_closed_to_pages() {
    let program = program();
    let own = window(&program, "window-1");
    for command in [
        "plugin:dialog|open",
        "plugin:opener|open_url",
        "plugin:window|create",
        "plugin:webview|create_webview_window",
        "plugin:event|listen",
        "plugin:path|resolve_directory",
    ] {
        let answer = call(&own, OWN, command, json!({}));
        assert!(answer.is_err(), "{command}");
        assert!(is_forbidden(answer.clone()), "{command}: {answer:?}");
    }
}

#[test]
fn a_link_leads_to_the_web_or_to_mail() {
    let program = program();
    let own = window(&program, "window-1");
    for url in [
        "file:///etc/passwd",
        "javascript:alert(1)",
        "smb://host/share",
        "/bin/sh",
        "",
    ] {
        let answer = call(&own, OWN, "open_link", json!({ "url": url }));
        let refused = json!({"code": "link.refused", "message": "only web and mail addresses are opened"});
        assert_eq!(answer, Err(refused), "{url}");
    }
}

#[test]
fn wrong_arguments_are_refused() {
    let program = program();
    let own = window(&program, "window-1");
    for (command, arguments) in [
        ("socket_send", json!({"socket": -1, "frame": "x"})),
        ("socket_send", json!({"socket": 1})),
        ("socket_acknowledge", json!({"socket": 1, "bytes": "many"})),
        ("socket_open", json!({})),
        ("open_window", json!({"session": "../../etc"})),
    ] {
        assert!(
            call(&own, OWN, command, arguments.clone()).is_err(),
            "{command} {arguments}"
        );
    }
}
