//! The system's dialog for a folder.

use crate::desk::Desk;
use crate::program::{A_MOMENT, Program};
use crate::wait::{until, until_within};

/// Whether the page waits for a dialog.
const IS_CHOOSING: &str = "[...document.querySelectorAll('button')].some((button) => button.disabled && /^Open a folder/.test(button.textContent))";

#[test]
fn a_dialog_that_is_left_changes_nothing() {
    let desk = Desk::new("bypass");
    let program = Program::start(&desk.screen, desk.command());
    let page = program.page();
    page.see("No folder is open");
    let window = program.window();
    for _ in 0..2 {
        let dialog = until("a dialog", || {
            // A click is lost while the dialog before closes.
            if page.value(IS_CHOOSING) == false {
                page.click("Open a folder…");
            }
            until_within(A_MOMENT, || {
                let windows = program.windows();
                windows.into_iter().find(|shown| *shown != window)
            })
        });
        assert_eq!(desk.screen.title(&dialog), "Open a folder");
        desk.screen.press(&dialog, "Escape");
        assert_eq!(program.window(), window);
        page.see("No folder is open");
    }
    page.say("Are you there?");
    page.see("I heard: Are you there?");
    page.idle();
    assert_eq!(program.close().code, Some(0));
}
