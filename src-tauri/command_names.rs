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
