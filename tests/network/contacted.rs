//! Who is contacted, call by call of the system.

use std::path::PathBuf;
use std::process::Stdio;

use rtc_tests::contacts::Trace;
use rtc_tests::serving::Serving;
use rtc_tests::{Workplace, binary};

use crate::person::{self, Visit};
use crate::work;
use crate::work::{REQUEST, answer, ask_of, assert_done, model, place, run, serve};

fn file(place: &Workplace) -> PathBuf {
    place.path().join("contacts.txt")
}

#[test]
fn a_run_contacts_its_model_and_nobody_else() {
    if !Trace::is_possible() {
        return;
    }
    let (place, model) = (place(binary()), model());
    let mut command = run(&place, REQUEST);
    ask_of(&mut command, &model);
    let (said, process) = answer(Trace::of(&command, &file(&place)));
    assert!(said.contains(work::ANSWER), "{said}");
    let trace = Trace::read(&file(&place), process);
    assert!(trace.has_started("script-worker"), "its script is not seen");
    trace.assert_only(&[model.address()]);
    assert_done(&place, &model);
}

#[test]
fn without_a_model_nobody_is_contacted() {
    if !Trace::is_possible() {
        return;
    }
    let place = place(binary());
    let mut command = run(
        &place,
        "run this script: ```\nawait rtcAgent.fs.write('/made.txt', 'x')\n```",
    );
    command.args(["--model", "offline"]);
    let (_, process) = answer(Trace::of(&command, &file(&place)));
    let trace = Trace::read(&file(&place), process);
    assert!(trace.has_started("script-worker"), "its script is not seen");
    trace.assert_only(&[]);
    assert!(place.root().join("made.txt").is_file());
    for arguments in [&["sessions", "list"][..], &["token"], &["--version"]] {
        let mut command = Trace::of(&place.command(arguments), &file(&place));
        let mut child = command.stdout(Stdio::null()).spawn().expect("it starts");
        let process = child.id();
        assert!(child.wait().expect("it ends").success());
        Trace::read(&file(&place), process).assert_only(&[]);
    }
}

#[test]
fn serve_contacts_its_model_and_nobody_else_and_its_page_only_the_port() {
    if !Trace::is_possible() || !person::is_there() {
        return;
    }
    let (place, model) = (place(binary()), model());
    let mut command = serve(&place);
    ask_of(&mut command, &model);
    let serving = Serving::of(Trace::of(&command, &file(&place)));
    let process = serving.pid();
    person::visit(
        &serving,
        Visit {
            say: REQUEST,
            approve: Some("script"),
            heard: work::ANSWER,
        },
    );
    assert_eq!(serving.stop().code, Some(0));
    let trace = Trace::read(&file(&place), process);
    assert!(trace.has_started("script-worker"), "its script is not seen");
    trace.assert_only(&[model.address()]);
    assert_done(&place, &model);
}
