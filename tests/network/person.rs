//! A person before the page, in a browser that is asked for nothing but the page's own server.

use std::process::Command;

use rtc_tests::cut_off::not_tried;
use rtc_tests::repository;
use rtc_tests::serving::Serving;

/// What a person does.
pub(crate) struct Visit {
    /// Says this.
    pub(crate) say: &'static str,
    /// Allows a call of this tool.
    pub(crate) approve: Option<&'static str>,
    /// Reads this in the end.
    pub(crate) heard: &'static str,
}

/// Whether there is a page to look at.
pub(crate) fn is_there() -> bool {
    let is_built = repository().join("ui/dist/index.html").is_file();
    if !is_built {
        not_tried("the page is not built");
    }
    is_built
}

/// Opens the page, and does it.
pub(crate) fn visit(serving: &Serving, visit: Visit) {
    let url = serving.ready["url"].as_str().expect("an address");
    let output = Command::new("node")
        .arg("../tests/network/person.mjs")
        .args([url, visit.say, visit.heard])
        .args(visit.approve)
        // What drives the browser is installed there.
        .current_dir(repository().join("ui"))
        .output()
        .expect("node is missing: run `cargo xtask setup`");
    let said = [output.stdout, output.stderr]
        .map(|bytes| rtc_tests::text(&bytes))
        .concat();
    assert!(output.status.success(), "{said}");
}
