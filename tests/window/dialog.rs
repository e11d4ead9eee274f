//! The system's dialog for a folder.

use crate::desk::Desk;
use crate::program::Program;
use crate::wait::until;

#[test]
fn a_dialog_that_is_left_changes_nothing() {
    let desk = Desk::new("bypass");
    let program = Program::start(&desk.screen, desk.command());
    let page = program.page();
    page.see("No folder is open");
    let window = program.window();
    for _ in 0..2 {
        page.click("Open a folder…");
        let dialog = until("a dialog", || {
            let windows = program.windows();
            windows.into_iter().find(|shown| *shown != window)
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
