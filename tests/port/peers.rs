//! The published client, over a real socket.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};

use rtc_tests::serving::Serving;
use rtc_tests::{Workplace, repository};

/// The script that connects with the published client and tells what happens, one event a line.
struct Peer {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Peer {
    fn start(serving: &Serving) -> Self {
        let folder = repository().join("tests/port/peers");
        let missing = "the published client is not installed: run `cargo xtask setup`";
        assert!(folder.join("node_modules/centrifuge").is_dir(), "{missing}");
        let user = serving.ready["user_id"].as_str().expect("a user");
        let mut child = Command::new("node")
            .arg("client.mjs")
            .arg(format!("ws://127.0.0.1:{}/connection/websocket", serving.port()))
            .args([serving.token(), user])
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("node is missing: run `cargo xtask setup`");
        let lines = BufReader::new(child.stdout.take().expect("stdout is a pipe"));
        Self { child, lines }
    }

    /// The next event. The script ends by itself when it waits too long.
    fn tells(&mut self, expected: &str) {
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("events are text");
        assert_eq!(line.trim_end(), expected);
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // Nothing to do where it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_published_client_connects_and_comes_back() {
    let place = Workplace::empty();
    let first = Serving::start(&place, &[]);
    let mut peer = Peer::start(&first);
    peer.tells("connected");
    peer.tells("subscribed topic");
    peer.tells("subscribed live");
    peer.tells("rpc error 500 rpc.method_not_found");
    peer.tells("refused channel 103");
    peer.tells("ping answered");
    let port = format!("127.0.0.1:{}", first.port());
    assert_eq!(first.stop().code, Some(0));
    peer.tells("reconnecting 3001 shutdown");
    let second = Serving::start(&place, &["--listen", &port]);
    peer.tells("connected");
    peer.tells("subscribed again topic");
    peer.tells("subscribed again live");
    drop(peer.child.stdin.take());
    peer.tells("disconnected 0");
    assert!(peer.child.wait().expect("it has ended").success());
    assert_eq!(second.stop().code, Some(0));
}
