//! How many flushes to the device a turn costs. They are most of its time, and a promise.

use std::collections::BTreeSet;
use std::sync::PoisonError;

use rtc_tests::{Ended, Moment, Workplace, watch};
use serde_json::Value;

use crate::can_trace;
use crate::point::{Kind, Point};
use crate::reference::{first, further, watched, workplace};
use crate::tally::BUSY;

/// How often a turn is counted again that cost more than it should: a read that takes long is shown as running, which
/// is a commit of its own, as is the text of a reply so far each second.
const TRIES: usize = 5;

/// What one turn was and cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Cost {
    /// Flushes of the committer.
    commits: usize,
    /// Flushes of project files, their folders and what is kept of them.
    files: usize,
    replies: usize,
    texts: usize,
    reads: usize,
    writes: usize,
}

fn cost(request: &str) -> Cost {
    let place = Workplace::sample();
    let root = place.root();
    let root = root.to_str().expect("a temporary path is Unicode");
    let (mut commits, mut files) = (0, 0);
    let arguments = [
        "run", request, "--root", root, "--mode", "bypass", "--ask", "deny",
    ];
    let ended = watch(place.traceable(&arguments), |call| {
        if call.moment == Moment::After && ["fsync", "fdatasync"].contains(&call.name) {
            match Point::of(call, &place).map(|point| point.kind) {
                Some(Kind::Commit) => commits += 1,
                Some(Kind::Opening | Kind::Log) | None => {}
                Some(_) => files += 1,
            }
        }
        false
    });
    assert_eq!(ended.expect("it was tried"), Ended::Exited(0));
    let shown = place.last_session();
    let count = |matches: &dyn Fn(&Value) -> bool| {
        let messages = shown["messages"].as_array().expect("messages");
        let contents = messages
            .iter()
            .filter_map(|message| serde_json::from_str(message["content"].as_str()?).ok());
        contents.filter(|content: &Value| matches(content)).count()
    };
    let rtcs = shown["rtcs"].as_array().expect("calls");
    let writes = rtcs
        .iter()
        .filter(|rtc| ["edit", "write"].contains(&rtc["tool_name"].as_str().unwrap_or("")))
        .count();
    Cost {
        commits,
        files,
        replies: replies(&shown),
        texts: count(&|content| content["type"] == "markdown"),
        reads: rtcs.len() - writes,
        writes,
    }
}

/// The offline model's ids of calls say which reply they belong to; the last reply has none.
fn replies(shown: &Value) -> usize {
    let messages = shown["messages"].as_array().expect("messages").iter();
    let contents = messages.filter_map(|message| message["content"].as_str());
    let ids = contents.filter_map(|content| content.split("offline_").nth(1)?.split('_').next());
    ids.collect::<BTreeSet<_>>().len() + 1
}

#[test]
fn a_read_costs_two_flushes_and_a_write_three_and_those_of_its_file() {
    if !can_trace() {
        return;
    }
    let _alone = BUSY.write().unwrap_or_else(PoisonError::into_inner);
    let mut table = String::from("commits files | replies texts reads writes | request");
    for request in [
        "hello",
        "read config.json",
        "read config.json, read README.md, read web/app.js",
        "find colour in shop",
        "replace mixer by mixermixer in README.md",
        "create notes/todo.txt with \"buy chalk\"",
        "create todo.txt with \"buy chalk\"",
        crate::reference::REQUEST,
    ] {
        let expected = |cost: Cost| {
            // The project, the message, the turn's begin; each reply, and one more if it has a text; a read's result; a
            // write's mark and its result.
            3 + cost.replies + cost.texts + cost.reads + 2 * cost.writes
        };
        let cheapest = (0..TRIES)
            .map(|_| cost(request))
            .find(|cost| cost.commits <= expected(*cost));
        let cost = cheapest.unwrap_or_else(|| panic!("{request}: more than it should, {TRIES} times"));
        assert_eq!(cost.commits, expected(cost), "{request}: {cost:?}");
        let Cost {
            commits,
            files,
            replies,
            texts,
            reads,
            writes,
        } = cost;
        let request: String = request.chars().take(50).collect();
        table.push_str(&format!(
            "\n{commits:7} {files:5} | {replies:7} {texts:5} {reads:5} {writes:6} | {request}"
        ));
    }
    insta::assert_snapshot!(table, @r#"
    commits files | replies texts reads writes | request
          5     0 |       1     1     0      0 | hello
          8     0 |       2     2     1      0 | read config.json
         10     0 |       2     2     3      0 | read config.json, read README.md, read web/app.js
         10     0 |       3     2     2      0 | find colour in shop
         15     5 |       5     2     3      1 | replace mixer by mixermixer in README.md
         11     6 |       3     2     1      1 | create notes/todo.txt with "buy chalk"
         11     5 |       3     2     1      1 | create todo.txt with "buy chalk"
         45    26 |      17     2    13      5 | list the files in docs, search for price in shop,
    "#);
}

/// The process may have died between its change and the flush of it; whoever finds the change must flush it before
/// the result says that it is done.
#[test]
fn what_a_recovery_finds_is_on_the_device_before_it_is_committed() {
    if !can_trace() {
        return;
    }
    // The first change is one of a file that was there, the last makes a file in a new folder.
    for nth in [1, 5] {
        let place = workplace();
        let at = Point::after(Kind::Place);
        let (ended, _) = watched(&place, &first(&place), |point, count| point == at && count == nth);
        assert_eq!(ended, Ended::Killed);
        let mut synced = 0;
        watched(&place, &further(&place), |point, _| {
            synced += usize::from(point == Point::after(Kind::FolderSync));
            point == Point::before(Kind::Commit)
        });
        // The folder, and of a new file the ones above it too.
        assert!(synced >= if nth == 1 { 1 } else { 2 }, "folders synced: {synced}");
    }
}
