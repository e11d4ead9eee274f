//! The system's dialog for a folder.

use crate::desk::Desk;
use crate::page::Page;
use crate::program::{A_MOMENT, Program};
use crate::wait::{until, until_true, until_within};

/// Whether the page waits for a dialog.
const IS_CHOOSING: &str = "[...document.querySelectorAll('button')].some((button) => button.disabled && /^Open a folder/.test(button.textContent))";

/// Opens the dialog, and gives its window.
fn dialog(program: &Program<'_>, page: &Page, window: &str) -> String {
    until("a dialog", || {
        // A click is lost while the dialog before closes.
        if page.value(IS_CHOOSING) == false {
            page.click("Open a folder…");
        }
        until_within(A_MOMENT, || {
            let windows = program.windows();
            windows.into_iter().find(|shown| shown != window)
        })
    })
}

#[test]
fn a_dialog_that_is_left_changes_nothing() {
    let desk = Desk::new("bypass");
    let program = Program::start(&desk.screen, desk.command());
    let page = program.page();
    page.see("No folder is open");
    let window = program.window();
    for _ in 0..2 {
        let dialog = dialog(&program, &page, &window);
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

#[test]
fn a_folder_that_is_chosen_is_opened_and_asked_about() {
    let desk = Desk::new("bypass");
    let program = Program::start(&desk.screen, desk.command());
    let page = program.page();
    page.see("No folder is open");
    let dialog = dialog(&program, &page, &program.window());
    // The folder to which this key leads is the one that is then chosen.
    desk.screen.press(&dialog, "alt+Home");
    until_true("the dialog is done", || {
        desk.screen.press(&dialog, "Return");
        until_within(A_MOMENT, || (!program.windows().contains(&dialog)).then_some(())).is_some()
    });
    page.see("Do you trust this folder?");
    page.see(desk.screen.home().to_str().expect("a temporary path is Unicode"));
    page.click("Trust this folder");
    page.say("Are you there?");
    page.see("I heard: Are you there?");
    page.idle();
    assert_eq!(program.close().code, Some(0));
}
