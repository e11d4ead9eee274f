//! In a network of its own that has nothing but loopback: the test runs itself there, with its model and its browser.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::net::{TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::Command;

use rtc_tests::binary;
use rtc_tests::contacts::behind;
use rtc_tests::serving::Serving;

use crate::not_tried;
use crate::person::{self, Visit};
use crate::work::{ANSWER, REQUEST, answer, ask_of, assert_done, model, place, run, serve};

/// Where it is set, this is inside; it names `rtc-headless`.
const INSIDE: &str = "RTC_TEST_CUT_OFF";

/// What makes a network: as the one user who may, or as whoever is that one in a world of his own.
const NAMESPACES: [&str; 2] = ["-n", "-rn"];

/// Brings up what is there, and becomes the command.
const WITH_LOOPBACK: &str = "ip link set lo up && exec \"$0\" \"$@\"";

/// Runs a test where nothing but this machine can be reached; `name` is that of the test.
fn cut_off(name: &str, test: impl FnOnce(&Path)) {
    if let Some(binary) = std::env::var_os(INSIDE) {
        assert_alone();
        return test(&PathBuf::from(binary));
    }
    let words = match NAMESPACES.map(network) {
        [Ok(words), _] | [_, Ok(words)] => words,
        [Err(why), _] => return not_tried(&format!("no network can be made here: {why}")),
    };
    let mut command = Command::new(std::env::current_exe().expect("a test has a path"));
    command
        .args([&format!("cut_off::{name}"), "--exact", "--nocapture"])
        .env(INSIDE, binary());
    let output = behind(&words, &command).output().expect("it starts");
    let said = [output.stdout, output.stderr]
        .map(|bytes| rtc_tests::text(&bytes))
        .concat();
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

/// The words before a command that is to run in a network of its own, or why there is none.
fn network(unshare: &str) -> Result<Vec<&OsStr>, String> {
    let words = ["unshare", unshare, "sh", "-c", WITH_LOOPBACK]
        .map(OsStr::new)
        .to_vec();
    match behind(&words, &Command::new("true")).output() {
        Ok(tried) if tried.status.success() => Ok(words),
        Ok(tried) => Err(rtc_tests::text(&tried.stderr)),
        Err(error) => Err(error.to_string()),
    }
}

/// That there is only this machine.
fn assert_alone() {
    let routes = std::fs::read_to_string("/proc/net/route").expect("the system lists its routes");
    assert_eq!(routes.lines().count(), 1, "only a headline: {routes}");
    let elsewhere = TcpStream::connect("192.0.2.1:80").expect_err("nobody is reached");
    assert_eq!(elsewhere.kind(), ErrorKind::NetworkUnreachable);
    let socket = UdpSocket::bind("0.0.0.0:0").expect("a socket");
    let resolver = socket.connect("192.0.2.1:53").expect_err("no name is found");
    assert_eq!(resolver.kind(), ErrorKind::NetworkUnreachable);
}

#[test]
fn run_works_without_a_network() {
    cut_off("run_works_without_a_network", |binary| {
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
    cut_off("the_page_works_without_a_network", |binary| {
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
