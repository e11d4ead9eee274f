//! Each call runs once, whatever happens to the page that runs it.

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use serde_json::json;

use crate::desk::Desk;
use crate::model;
use crate::program::Program;
use crate::wait::{LONGEST, until_true};

/// How long the device leaves a call to its windows, a little less because only one end of it is seen.
const PATIENCE: Duration = Duration::from_millis(900);

/// A desk whose model gives its first answer only when it is told to.
fn held_desk() -> (Desk, Sender<()>) {
    let (go, told): (_, Receiver<()>) = channel();
    let told = Mutex::new(told);
    let desk = Desk::with_model("bypass", move |asked| {
        if asked.number == 0 {
            let told = told.lock().expect("nobody else waits");
            told.recv_timeout(LONGEST).expect("it is told to go on");
        }
        model::answer(asked)
    });
    (desk, go)
}

#[test]
fn a_page_runs_the_calls_of_its_device_at_once() {
    let desk = Desk::new("bypass");
    let (program, page) = desk.work();
    page.say("count to 8");
    page.see("I have counted to 8.");
    page.idle();
    assert_eq!(desk.effects(), "1\n2\n3\n4\n5\n6\n7\n8\n");
    let fastest = desk.model.pauses().into_iter().min().expect("several requests");
    assert!(fastest < PATIENCE / 2, "no page took a call: {fastest:?}");
    assert_eq!(program.close().code, Some(0));
    assert_eq!(Desk::done(&desk.record(), "write"), 8);
}

#[test]
fn who_asks_for_a_running_call_again_joins_it() {
    let desk = Desk::new("bypass");
    let (program, page) = desk.work();
    page.say("hold ada");
    desk.begun("ada");
    let session = page.value("location.hash.replace('#session/', '')");
    page.ask("v1.rtc.list", json!({"session_id": session}));
    let calls = page.answer();
    let call = calls["result"]["items"][0]["id"].clone();
    assert!(call.is_string(), "{calls}");
    page.ask("v1.rtc.run", json!({"rtc_id": call}));
    desk.let_go("ada");
    assert_eq!(page.answer()["result"]["status"], "completed");
    page.see("ada has gone well.");
    page.idle();
    // Also when it is over.
    page.ask("v1.rtc.run", json!({"rtc_id": call}));
    assert_eq!(page.answer()["result"]["status"], "completed");
    assert_eq!(desk.effects(), "ada began\nada ended\n");
    assert_eq!(program.close().code, Some(0));
    assert_eq!(Desk::done(&desk.record(), "script"), 1);
}

#[test]
fn what_no_page_takes_the_device_runs_itself() {
    let (desk, go) = held_desk();
    let (program, page) = desk.work();
    page.say("count to 2");
    desk.model.wait_for(1);
    program.signal_page(Signal::SIGSTOP);
    go.send(()).expect("the model waits");
    desk.model.wait_for(3);
    for pause in desk.model.pauses() {
        assert!(pause > PATIENCE, "the call was not left to the page: {pause:?}");
        assert!(
            pause < 10 * PATIENCE,
            "the call was left to the page for too long: {pause:?}"
        );
    }
    program.signal_page(Signal::SIGCONT);
    page.see("I have counted to 2.");
    page.idle();
    assert_eq!(desk.effects(), "1\n2\n");
    assert_eq!(program.close().code, Some(0));
    assert_eq!(Desk::done(&desk.record(), "write"), 2);
}

#[test]
fn a_page_that_is_loaded_again_joins_what_runs() {
    let desk = Desk::new("bypass");
    let (program, page) = desk.work();
    page.say("hold ben");
    desk.begun("ben");
    for _ in 0..3 {
        page.reload();
        page.see("hold ben");
        page.see("Works on it…");
    }
    desk.let_go("ben");
    page.see("ben has gone well.");
    page.idle();
    page.say("count to 2");
    page.see("I have counted to 2.");
    page.idle();
    for said in [
        "hold ben",
        "ben has gone well.",
        "count to 2",
        "I have counted to 2.",
    ] {
        assert_eq!(page.count(said), 1, "{said}");
    }
    assert_eq!(desk.effects(), "ben began\nben ended\n1\n2\n");
    assert_eq!(program.close().code, Some(0));
    let record = desk.record();
    assert_eq!(
        (Desk::done(&record, "script"), Desk::done(&record, "write")),
        (1, 2)
    );
}

#[test]
fn a_window_comes_back_when_the_process_of_its_page_is_killed() {
    let desk = Desk::new("bypass");
    let (program, page) = desk.work();
    let window = program.window();
    page.say("hold cleo");
    desk.begun("cleo");
    page.see("Works on it…");
    let killed = program.web_processes();
    program.signal_page(Signal::SIGKILL);
    drop(page);
    until_true("another process", || {
        let now = program.web_processes();
        !now.is_empty() && now != killed
    });
    let page = program.page();
    page.see("hold cleo");
    page.see("Works on it…");
    assert_eq!(desk.effects(), "cleo began\n");
    desk.let_go("cleo");
    page.see("cleo has gone well.");
    page.idle();
    page.say("Are you there?");
    page.see("I heard: Are you there?");
    page.idle();
    for said in ["hold cleo", "cleo has gone well.", "I heard: Are you there?"] {
        assert_eq!(page.count(said), 1, "{said}");
    }
    assert_eq!(program.windows(), [window], "it is the same window");
    assert_eq!(desk.effects(), "cleo began\ncleo ended\n");
    assert_eq!(program.close().code, Some(0));
    assert_eq!(Desk::done(&desk.record(), "script"), 1);
}

#[test]
fn a_page_is_as_before_when_the_process_that_stores_for_it_is_killed() {
    let desk = Desk::new("bypass");
    let (program, page) = desk.work();
    page.say("hold fritz");
    desk.begun("fritz");
    let stores = || program.processes("WebKitNetworkPr");
    let [killed] = stores()[..] else {
        panic!("there is not just one: {:?}", stores());
    };
    page.value("window.isAsBefore = true");
    kill(killed, Signal::SIGKILL).expect("it is there");
    until_true("another process", || stores().iter().any(|&now| now != killed));
    drop(page);
    let page = program.page();
    // Not at once: a page is not loaded again while it is young.
    until_true("another page", || {
        let script = "return window.isAsBefore !== true && document.readyState === 'complete';";
        page.run(script, Vec::new())
            .is_ok_and(|is_another| is_another == true)
    });
    desk.let_go("fritz");
    page.see("fritz has gone well.");
    page.idle();
    page.say("Are you there?");
    page.see("I heard: Are you there?");
    page.idle();
    for said in ["hold fritz", "fritz has gone well.", "I heard: Are you there?"] {
        assert_eq!(page.count(said), 1, "{said}");
    }
    assert_eq!(program.close().code, Some(0));
    assert_eq!(Desk::done(&desk.record(), "script"), 1);
}

/// Puts the window away in some way once the model is asked, and brings it forward when the turn is over.
fn away(put_away: impl FnOnce(&Desk, &Program<'_>, &str), is_told: bool) {
    let (desk, go) = held_desk();
    let (program, page) = desk.work();
    let window = program.window();
    page.say("count to 4");
    desk.model.wait_for(1);
    put_away(&desk, &program, &window);
    let shown = || page.value("document.visibilityState");
    assert_eq!(shown() == "hidden", is_told);
    go.send(()).expect("the model waits");
    desk.model.wait_for(5);
    assert_eq!(desk.effects(), "1\n2\n3\n4\n");
    assert_eq!(program.windows(), [""; 0], "it stays where it was put");
    desk.screen.bring_forward(&window);
    page.see("I have counted to 4.");
    page.idle();
    assert_eq!(shown(), "visible");
    assert_eq!(program.close().code, Some(0));
    assert_eq!(Desk::done(&desk.record(), "write"), 4);
}

#[test]
fn a_turn_goes_on_while_the_window_is_put_away() {
    away(
        |desk, program, window| desk.screen.minimise(program.id(), window),
        true,
    );
}

#[test]
fn a_turn_goes_on_while_the_window_is_on_another_desktop() {
    // The page does not hear of it.
    away(
        |desk, program, window| desk.screen.send_off(program.id(), window),
        false,
    );
}

#[test]
fn two_windows_show_one_session_and_run_its_calls_once() {
    let desk = Desk::new("bypass");
    let (program, page) = desk.work();
    page.say("hold dora");
    desk.begun("dora");
    let first = page.current();
    page.click("Rename or delete hold dora");
    page.click("Open in another window");
    until_true("two windows", || page.windows().len() == 2);
    let windows = page.windows();
    let second = windows
        .iter()
        .find(|window| **window != first)
        .expect("another one");
    page.turn_to(second);
    page.see("hold dora");
    page.see("Works on it…");
    assert_eq!(desk.effects(), "dora began\n");
    desk.let_go("dora");
    for window in [second, &first] {
        page.turn_to(window);
        page.see("dora has gone well.");
        page.idle();
    }
    // What is begun in either is run by both of them.
    for (count, window) in [(3, second), (4, &first)] {
        page.turn_to(window);
        page.say(&format!("count to {count}"));
        for window in [&first, second] {
            page.turn_to(window);
            page.see(&format!("I have counted to {count}."));
            page.idle();
            assert_eq!(page.count(&format!("I have counted to {count}.")), 1);
        }
    }
    assert_eq!(desk.effects(), "dora began\ndora ended\n1\n2\n3\n1\n2\n3\n4\n");
    assert_eq!(program.windows().len(), 2);
    assert_eq!(program.close().code, Some(0));
    let record = desk.record();
    assert_eq!(
        (Desk::done(&record, "script"), Desk::done(&record, "write")),
        (1, 7)
    );
}

#[test]
fn a_call_takes_as_long_as_it_needs() {
    let desk = Desk::new("bypass");
    let (program, page) = desk.work();
    page.say("hold eve");
    desk.begun("eve");
    std::thread::sleep(Duration::from_secs(4));
    desk.let_go("eve");
    page.see("eve has gone well.");
    page.idle();
    assert_eq!(desk.effects(), "eve began\neve ended\n");
    assert_eq!(program.close().code, Some(0));
    assert_eq!(Desk::done(&desk.record(), "script"), 1);
}
