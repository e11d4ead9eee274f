//! `rtc-headless schema`: what clients and the port say to each other.

use rtc_tests::{Workplace, repository, text};
use serde_json::Value;

#[test]
fn the_schema_of_everything_on_the_wire_is_printed() {
    let place = Workplace::empty();
    let output = place.command(&["schema"]).output().expect("rtc-headless starts");
    assert_eq!((output.status.code(), &*text(&output.stderr)), (Some(0), ""));
    let printed: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    let stored =
        std::fs::read(repository().join("docs/protocol.schema.json")).expect("the document is there");
    assert_eq!(
        printed,
        serde_json::from_slice::<Value>(&stored).expect("it is JSON")
    );
    for name in ["FsWrite", "SessionFork", "RtcClaim", "TopicEvent", "LiveEvent"] {
        assert!(printed["$defs"].get(name).is_some(), "{name}");
    }
    assert!(!place.data().exists(), "nothing is opened for it");
}
