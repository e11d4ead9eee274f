//! A person's way through a session.

use crate::desk::Desk;
use crate::wait::until_true;

#[test]
fn a_person_trusts_a_folder_and_allows_an_edit_in_it() {
    let desk = Desk::new("manual");
    let visit = || {
        let bytes = std::fs::read(desk.place.root().join("docs/visit.txt")).expect("the file is there");
        // It is in a legacy encoding.
        bytes.into_iter().map(char::from).collect::<String>()
    };
    let before = visit();
    let root = desk.place.root();
    let root = root.to_str().expect("a temporary path is Unicode");
    let program = desk.open();
    let page = program.page();

    page.see("Do you trust this folder?");
    page.see(root);
    assert_eq!(page.value("document.querySelector('#message').disabled"), true);
    page.click("Trust this folder");
    page.see("What shall be done?");
    assert!(desk.model.asked().is_empty());

    page.say("correct the visit");
    page.see("I look at it first.");
    page.see("They want the front in a warm color, between brick and chalk.");
    assert_eq!(visit(), before, "nothing is done before a Yes");
    page.click("Allow once");
    page.see("The visit is corrected.");
    page.idle();
    assert_eq!(visit(), before.replace("warm colour", "warm color"));
    assert_eq!(desk.model.asked().len(), 3);
    page.picture("done");
    assert_eq!(program.close().code, Some(0));

    let record = desk.record();
    assert_eq!((Desk::done(&record, "read"), Desk::done(&record, "edit")), (1, 1));
}

#[test]
fn a_person_makes_the_page_larger_and_smaller_by_keys() {
    let desk = Desk::new("bypass");
    let (program, page) = desk.work();
    let window = program.window();
    let width = || page.value("innerWidth").as_u64().expect("a number");
    let usual = width();
    desk.screen.press(&window, "ctrl+plus");
    until_true("it is larger", || width() < usual);
    desk.screen.press(&window, "ctrl+minus");
    until_true("it is as before", || width() == usual);
    assert_eq!(program.close().code, Some(0));
}
