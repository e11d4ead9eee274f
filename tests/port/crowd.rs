//! More guests than there is room for.

use std::io::{Read, Write};

use rtc_tests::Workplace;
use rtc_tests::serving::Serving;

use crate::client::{Client, Heard, request, socket};

/// How many sockets that have not connected there may be, and how many sockets in all.
const UNPROVEN: usize = 16;
const GUESTS: usize = 256;

#[test]
fn a_thousand_who_say_nothing_keep_nobody_out() {
    let place = Workplace::empty();
    let serving = Serving::start(&place, &[]);
    let mut kept = Client::connected(serving.port(), serving.token());
    let files = || {
        let folder = format!("/proc/{}/fd", serving.pid());
        std::fs::read_dir(folder).expect("the process is there").count()
    };
    let before = files();
    let mut silent: Vec<_> = (0..1000)
        .map(|number| {
            let mut stream = socket(serving.port());
            if number % 2 == 0 {
                stream
                    .write_all(b"GET / HTTP/1.1\r\nHost: ")
                    .expect("a part of a head is sent");
            }
            stream
        })
        .collect();
    assert_eq!(request(serving.port(), "GET /healthz", &[]).status, 200);
    Client::connected(serving.port(), serving.token());
    let after = files();
    assert!(
        after <= before + GUESTS,
        "{before} open files before, {after} with a thousand guests"
    );
    for stream in &mut silent {
        let mut rest = Vec::new();
        // Closed or reset: it is over.
        if let Err(error) = stream.read_to_end(&mut rest) {
            assert_ne!(
                error.kind(),
                std::io::ErrorKind::WouldBlock,
                "a silent socket stays open"
            );
        }
        assert!(
            rest.is_empty() || rest.starts_with(b"HTTP/1.1 408"),
            "{}",
            rtc_tests::text(&rest)
        );
    }
    let alive = kept.ask(serde_json::json!({"id": 9, "ping": {}}));
    assert_eq!(alive["id"], 9, "who has connected stays");
}

#[test]
fn few_sockets_may_be_open_without_a_valid_connect_and_not_for_long() {
    let place = Workplace::empty();
    let serving = Serving::start(&place, &[]);
    let port = serving.port();
    let _connected: Vec<Client> = (0..UNPROVEN + 4)
        .map(|_| Client::connected(port, serving.token()))
        .collect();
    let mut silent: Vec<Client> = (0..UNPROVEN).map(|_| Client::open(port)).collect();
    assert_eq!(Client::try_open(port, &[]).err(), Some(503));
    assert_eq!(request(port, "GET /healthz", &[]).status, 200);
    for client in &mut silent {
        assert_eq!(client.end(), Heard::Closed(3502, "stale".to_owned()));
    }
    // All of them have gone.
    drop(silent);
    loop {
        if let Ok(mut client) = Client::try_open(port, &[]) {
            assert!(matches!(client.connect(serving.token()), Heard::Text(_)));
            break;
        }
    }
}
