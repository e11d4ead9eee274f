//! What `cargo xtask demo` does: the offline model's own example on the sample project.

use std::collections::BTreeSet;

use rtc_tests::{Workplace, assert_whole};

use crate::place::{last_id, request, shown};

#[test]
fn the_demo_uses_every_kind_of_tool_and_changes_the_sample() {
    let place = Workplace::sample();
    let before = place.files();
    let ended = rtc_tests::dialogue::run(
        request(&place, rtc_model::demo_request(), &["--mode", "bypass"]),
        b"",
    );
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let session = shown(&place, &last_id(&place));
    assert_whole(&session);
    let calls = session["rtcs"].as_array().expect("calls");
    let tools: BTreeSet<&str> = calls
        .iter()
        .filter_map(|call| call["tool_name"].as_str())
        .collect();
    assert_eq!(
        tools,
        BTreeSet::from(["edit", "find", "grep", "ls", "read", "script"])
    );
    assert!(
        calls.iter().all(|call| call["status"] == "completed"),
        "{calls:?}"
    );
    let after = place.files();
    assert_eq!(before.len(), after.len());
    let changed = before
        .iter()
        .filter(|(name, content)| after.get(*name) != Some(content))
        .count();
    assert_eq!(changed, 12, "{}", ended.stdout);
}
