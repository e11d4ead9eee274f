//! In a network of its own that has nothing but loopback: the test runs itself there, with its model and its browser.

use rtc_tests::binary;
use rtc_tests::cut_off::cut_off;
use rtc_tests::serving::Serving;

use crate::person::{self, Visit};
use crate::work::{ANSWER, REQUEST, answer, ask_of, assert_done, model, place, run, serve};

#[test]
fn run_works_without_a_network() {
    cut_off("cut_off::run_works_without_a_network", binary(), |binary| {
        let offline = place(binary);
        let mut command = run(
            &offline,
            "run this script: ```\nawait rtcAgent.fs.write('/made.txt', 'x')\n```",
        );
        command.args(["--model", "offline"]);
        let (said, _) = answer(command);
        assert!(said.contains("The script ran"), "{said}");
        assert!(offline.root().join("made.txt").is_file());

        let (place, model) = (place(binary), model());
        let mut command = run(&place, REQUEST);
        ask_of(&mut command, &model);
        let (said, _) = answer(command);
        assert!(said.contains(ANSWER), "{said}");
        assert_done(&place, &model);
    });
}

#[test]
fn the_page_works_without_a_network() {
    if !person::is_there() {
        return;
    }
    cut_off("cut_off::the_page_works_without_a_network", binary(), |binary| {
        let offline = place(binary);
        let mut command = serve(&offline);
        command.args(["--model", "offline"]);
        let serving = Serving::of(command);
        person::visit(
            &serving,
            Visit {
                say: "list the files",
                approve: None,
                heard: "0 folders and 2 files",
            },
        );
        assert_eq!(serving.stop().code, Some(0));

        let (place, model) = (place(binary), model());
        let mut command = serve(&place);
        ask_of(&mut command, &model);
        let serving = Serving::of(command);
        person::visit(
            &serving,
            Visit {
                say: REQUEST,
                approve: Some("script"),
                heard: ANSWER,
            },
        );
        assert_eq!(serving.stop().code, Some(0));
        assert_done(&place, &model);
    });
}
