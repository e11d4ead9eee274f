//! Tests in a network of their own that has nothing but loopback.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::net::{TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::contacts::behind;
use crate::text;

/// Where it is set, this is inside; it names the program under test.
const INSIDE: &str = "RTC_TEST_CUT_OFF";

/// What makes a network: as the one user who may, or as whoever is that one in a world of his own.
const NAMESPACES: [&str; 2] = ["-n", "-rn"];

/// Brings up what is there, and becomes the command.
const WITH_LOOPBACK: &str = "ip link set lo up && exec \"$0\" \"$@\"";

/// Runs a test where nothing but this machine can be reached, with all that it starts: the test binary runs only this
/// one anew, whose whole name is `name`. `test` is given the program.
///
/// # Panics
/// If the test fails, or, where everything has to be tried, if the system makes no network.
pub fn cut_off(name: &str, program: &Path, test: impl FnOnce(&Path)) {
    if let Some(program) = std::env::var_os(INSIDE) {
        assert_alone();
        return test(&PathBuf::from(program));
    }
    let words = match NAMESPACES.map(network) {
        [Ok(words), _] | [_, Ok(words)] => words,
        [Err(why), _] => return not_tried(&format!("no network can be made here: {why}")),
    };
    let mut command = Command::new(std::env::current_exe().expect("a test has a path"));
    command
        .args([name, "--exact", "--nocapture"])
        .env(INSIDE, program);
    let output = behind(&words, &command).output().expect("it starts");
    let said = [output.stdout, output.stderr].map(|bytes| text(&bytes)).concat();
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

/// Tells what could not be tried.
///
/// # Panics
/// Where everything has to be tried.
pub fn not_tried(why: &str) {
    let is_strict = std::env::var_os("CI").is_some_and(|value| value == "true");
    assert!(!is_strict, "{why}");
    eprintln!("not tried: {why}");
}

/// The words before a command that is to run in a network of its own, or why there is none.
fn network(unshare: &str) -> Result<Vec<&OsStr>, String> {
    let words = ["unshare", unshare, "sh", "-c", WITH_LOOPBACK]
        .map(OsStr::new)
        .to_vec();
    match behind(&words, &Command::new("true")).output() {
        Ok(tried) if tried.status.success() => Ok(words),
        Ok(tried) => Err(text(&tried.stderr)),
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
