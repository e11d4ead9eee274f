//! The window shows its own page and nothing else.

use std::io::ErrorKind;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;

use rtc_tests::model_server::Answer;

use crate::desk::Desk;
use crate::program::Program;
use crate::wait::until;

/// What a page might try, with the address of another one.
const ATTEMPTS: &[&str] = &[
    "location.href = address",
    "location.replace(address)",
    "window.open(address)",
    "window.open(address, '_self')",
    "document.body.append(Object.assign(document.createElement('iframe'), { src: address }))",
    "document.body.append(Object.assign(document.createElement('img'), { src: address }))",
    "document.body.append(Object.assign(document.createElement('script'), { src: address }))",
    "document.head.append(Object.assign(document.createElement('link'), { rel: 'stylesheet', href: address }))",
    "document.body.append(Object.assign(document.createElement('form'), { action: address })); \
     document.forms[document.forms.length - 1].submit()",
    "fetch(address, { mode: 'no-cors' }).catch(() => {})",
    "navigator.sendBeacon(address, 'x')",
    "new WebSocket(address.replace('http', 'ws'))",
    "location.href = `data:text/html,<img src=${address}>`",
    "location.href = 'file:///etc/passwd'",
];

/// A place on this machine that nobody should ask.
struct Foreign(TcpListener);

impl Foreign {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port of loopback is free");
        listener.set_nonblocking(true).expect("it can be looked at");
        Self(listener)
    }

    fn address(&self) -> String {
        format!("http://{}/", self.0.local_addr().expect("it has an address"))
    }

    fn assert_left_alone(&self) {
        let asked = self.0.accept().map(|_| ()).map_err(|error| error.kind());
        assert_eq!(asked, Err(ErrorKind::WouldBlock));
    }
}

#[test]
fn no_other_page_is_shown_or_asked() {
    let desk = Desk::new("bypass");
    let (program, page) = desk.work();
    let foreign = Foreign::start();
    let address = foreign.address();
    for attempt in ATTEMPTS {
        // One that is refused at once throws, which is as good.
        let script = format!("const [address] = arguments; {attempt};");
        let _ = page.run(&script, vec![address.clone().into()]);
        let shown = page.value("location.href");
        let shown = shown.as_str().expect("an address");
        assert!(
            shown.starts_with("tauri://localhost"),
            "{attempt} leads to {shown}"
        );
    }
    // What had to be asked would have been asked by now.
    page.say("Are you there?");
    page.see("I heard: Are you there?");
    page.idle();
    foreign.assert_left_alone();
    assert_eq!(program.windows().len(), 1);
    assert_eq!(program.close().code, Some(0));
}

#[test]
fn a_link_leads_to_the_browser_of_the_system() {
    let foreign = Foreign::start();
    let address = foreign.address();
    let said = format!("It is told [on a page]({address}) of theirs.");
    let desk = Desk::with_model("bypass", move |_| Answer::text(&said));
    // What opens addresses on a desktop, here only to see what it is asked.
    let (programs, opened) = (desk.place.path().join("bin"), desk.place.path().join("opened"));
    std::fs::create_dir(&programs).expect("a folder is made");
    let browser = programs.join("xdg-open");
    let script = format!("#!/bin/sh\necho \"$@\" >> '{}'\n", opened.display());
    std::fs::write(&browser, script).expect("a file is written");
    std::fs::set_permissions(&browser, PermissionsExt::from_mode(0o755)).expect("it can be run");
    let path = std::env::var("PATH").expect("there is a search path");
    let mut command = desk.command();
    command
        .arg(desk.place.root())
        .env("PATH", format!("{}:{path}", programs.display()));
    let program = Program::start(&desk.screen, command);
    let page = program.page();
    page.click("Trust this folder");
    page.say("Where is it told?");
    page.see("It is told on a page of theirs.");
    page.idle();
    page.click_link("on a page");
    let asked = until("a browser", || {
        std::fs::read_to_string(&opened)
            .ok()
            .filter(|asked| asked.ends_with('\n'))
    });
    assert_eq!(asked.trim(), address);
    let shown = page.value("location.href");
    assert!(
        shown
            .as_str()
            .expect("an address")
            .starts_with("tauri://localhost")
    );
    foreign.assert_left_alone();
    assert_eq!(program.windows().len(), 1);
    assert_eq!(program.close().code, Some(0));
}
