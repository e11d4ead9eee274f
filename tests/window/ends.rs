//! Ends: asked for, told by the system, and such as a call would not survive.

use nix::sys::signal::Signal;

use crate::desk::Desk;
use crate::page::Page;
use crate::program::{A_MOMENT, Program};
use crate::wait::{until, until_within};

#[test]
fn told_to_end_it_ends_in_order_and_takes_no_library_from_a_thread_that_still_runs() {
    let desk = Desk::new("bypass");
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        let linker = desk.place.path().join("linker");
        let mut command = desk.command();
        // The dynamic linker tells what it does, each process in a file of its own.
        command.env("LD_DEBUG", "libs").env("LD_DEBUG_OUTPUT", &linker);
        let program = Program::start(&desk.screen, command);
        program.window();
        let told = linker.with_extension(program.id().to_string());
        program.signal(signal);
        assert_eq!(program.end().code, Some(0), "{signal}");
        let told = std::fs::read_to_string(told).expect("the linker has told something");
        let is_told = |what: &str| {
            told.lines()
                .any(|line| line.contains(what) && line.contains("libX11.so"))
        };
        assert!(is_told("calling init: "), "{told}");
        assert!(!is_told("calling fini: "), "{signal}");
    }
}

/// Closes the only window, and gives the question that is asked then.
fn question(desk: &Desk, program: &Program<'_>, window: &str) -> String {
    until("a question", || {
        desk.screen.press(window, "alt+F4");
        until_within(A_MOMENT, || {
            program.windows().into_iter().find(|shown| shown != window)
        })
    })
}

/// Works until a call is held.
fn held<'d>(desk: &'d Desk, name: &str) -> (Program<'d>, Page, String) {
    let (program, page) = desk.work();
    page.say(&format!("hold {name}"));
    desk.begun(name);
    let window = program.window();
    (program, page, window)
}

#[test]
fn a_window_is_not_closed_over_a_running_call_unless_the_user_says_so() {
    let desk = Desk::new("bypass");
    let (program, page, window) = held(&desk, "dora");
    for _ in 0..2 {
        let asked = question(&desk, &program, &window);
        desk.screen.press(&asked, "Escape");
        assert_eq!(program.window(), window);
    }
    desk.let_go("dora");
    page.see("dora has gone well.");
    page.idle();
    assert_eq!(desk.effects(), "dora began\ndora ended\n");
    // Nothing runs any more, so nothing is asked: there is no other window to be closed.
    assert_eq!(program.close().code, Some(0));
    assert_eq!(Desk::done(&desk.record(), "script"), 1);
}

/// The user closes the window over a call that is held, opens another one, and decides what becomes of the call. What was
/// known of it is shown.
fn decided<'d>(desk: &'d Desk, name: &str, choice: &str) -> (Program<'d>, Page) {
    let (program, page, window) = held(desk, name);
    let asked = question(desk, &program, &window);
    desk.screen.press(&asked, "Return");
    assert_eq!(program.end().code, Some(0));
    drop(page);
    assert_eq!(desk.effects(), format!("{name} began\n"));

    let program = desk.open();
    let page = program.page();
    page.click(&format!("hold {name}"));
    page.see("This call was started, and the program ended before it was known how it went.");
    let known = page.value("document.querySelector('.unknown').innerText");
    let known = known.as_str().expect("a text");
    assert!(known.contains(crate::model::EFFECTS), "{known}");
    page.click(choice);
    (program, page)
}

#[test]
fn a_call_over_which_the_user_closes_the_window_has_an_outcome_that_is_not_known() {
    let desk = Desk::new("bypass");
    let (program, page) = decided(&desk, "emil", "Let the model look");
    page.see("It was told: [Tool Error]");
    page.idle();
    assert_eq!(desk.effects(), "emil began\n");
    assert_eq!(program.close().code, Some(0));
    let record = desk.record();
    assert_eq!(
        (&record["rtcs"][0]["status"], &record["rtcs"][0]["attempt"]),
        (&"failed".into(), &1.into())
    );
}

#[test]
fn a_call_of_which_the_user_says_that_it_is_done_does_not_run_again() {
    let desk = Desk::new("bypass");
    let (program, page) = decided(&desk, "frida", "It is done");
    page.see("It was told: The user looked and says that this call is done.");
    page.idle();
    assert_eq!(desk.effects(), "frida began\n");
    assert_eq!(program.close().code, Some(0));
    let record = desk.record();
    assert_eq!(
        (&record["rtcs"][0]["status"], &record["rtcs"][0]["attempt"]),
        (&"completed".into(), &1.into())
    );
}

#[test]
fn a_call_of_which_nobody_knows_runs_once_more_if_the_user_says_so() {
    let desk = Desk::new("bypass");
    let (program, page) = decided(&desk, "gustav", "Run it again");
    until("another run", || {
        (desk.effects() == "gustav began\ngustav began\n").then_some(())
    });
    desk.let_go("gustav");
    page.see("gustav has gone well.");
    page.idle();
    assert_eq!(desk.effects(), "gustav began\ngustav began\ngustav ended\n");
    assert_eq!(program.close().code, Some(0));
    let session = desk.session();
    assert_eq!(
        (&session["rtcs"][0]["status"], &session["rtcs"][0]["attempt"]),
        (&"completed".into(), &2.into())
    );
}
