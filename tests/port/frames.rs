//! Frames that are none.

use std::io::Write;

use rtc_tests::Workplace;
use rtc_tests::serving::Serving;
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use crate::client::{Client, Heard};

/// The largest frame that is read.
const FRAME_BYTES: usize = 4 << 20;

/// The largest that is read of a client that has not connected.
const CONNECT_BYTES: usize = 64 << 10;

#[test]
fn what_is_no_frame_ends_its_client_and_nobody_else() {
    let place = Workplace::empty();
    let serving = Serving::start(&place, &[]);
    let mut kept = Client::connected(serving.port(), serving.token());
    let bad = || Heard::Closed(3501, "bad request".to_owned());
    let too_large = || Heard::Closed(1009, "message size limit exceeded".to_owned());
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let table = [
        ("no JSON", Message::text("hello"), bad()),
        ("no object", Message::text("[1]"), bad()),
        ("half an object", Message::text(r#"{"id":2,"ping":{"#), bad()),
        ("deeply nested", Message::text(deep), bad()),
        (
            "a second connect",
            Message::text(r#"{"id":2,"connect":{}}"#),
            bad(),
        ),
        ("bytes", Message::binary(vec![0xff, 0xfe, 0x00]), bad()),
        (
            "one byte too large",
            Message::text(" ".repeat(FRAME_BYTES + 1)),
            too_large(),
        ),
        (
            "much too large",
            Message::text(" ".repeat(3 * FRAME_BYTES)),
            too_large(),
        ),
    ];
    for (case, message, expected) in table {
        let mut client = Client::connected(serving.port(), serving.token());
        client.send_message(message);
        assert_eq!(client.end(), expected, "{case}");
    }
    let alive = kept.ask(json!({"id": 9, "ping": {}}));
    assert_eq!(alive["id"], 9);
}

#[test]
fn who_has_not_connected_may_say_little() {
    let place = Workplace::empty();
    let serving = Serving::start(&place, &[]);
    let mut client = Client::open(serving.port());
    let too_large = Heard::Closed(1009, "message size limit exceeded".to_owned());
    assert_eq!(client.connect(&"x".repeat(CONNECT_BYTES)), too_large);
}

#[test]
fn text_that_is_not_unicode_ends_its_client() {
    let place = Workplace::empty();
    let serving = Serving::start(&place, &[]);
    let mut client = Client::connected(serving.port(), serving.token());
    // A text message of two bytes that are no UTF-8, masked with zeros.
    let frame = [0x81, 0x82, 0, 0, 0, 0, 0xc3, 0x28];
    client.raw().write_all(&frame).expect("the frame is sent");
    assert_eq!(client.end(), Heard::Closed(3501, "bad request".to_owned()));
}

#[test]
fn the_largest_frame_is_read_in_either_kind_of_message() {
    let place = Workplace::empty();
    let serving = Serving::start(&place, &[]);
    let mut client = Client::connected(serving.port(), serving.token());
    let command = r#"{"id":2,"ping":{}}"#;
    let largest = format!("{command}{}", " ".repeat(FRAME_BYTES - command.len()));
    client.send_message(Message::text(largest.clone()));
    assert_eq!(client.hear(), Heard::Text(r#"{"id":2,"ping":{}}"#.to_owned()));
    client.send_message(Message::binary(largest.into_bytes()));
    assert_eq!(client.hear(), Heard::Text(r#"{"id":2,"ping":{}}"#.to_owned()));
}
