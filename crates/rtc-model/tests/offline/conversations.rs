//! Conversations that do not go straight: failures, interruptions, several messages.

use rtc_model::{AssistantBlock, Item, StopReason};

use crate::drive::{Conversation, calls};
use crate::folder::Folder;

fn conversation() -> Conversation {
    Conversation::new(Folder::of_table())
}

fn failing(tool: &'static str, path: &str, text: &str) -> Conversation {
    let mut conversation = conversation();
    conversation
        .folder
        .failing
        .push((tool, path.to_owned(), text.to_owned()));
    conversation
}

/// Puts the result of a stopped call behind each call of the last reply that has none.
fn stop(conversation: &mut Conversation) {
    let answered: Vec<String> = conversation
        .request
        .items
        .iter()
        .filter_map(|item| match item {
            Item::ToolResult { call_id, .. } => Some(call_id.clone()),
            _ => None,
        })
        .collect();
    let mut open = Vec::new();
    for item in &conversation.request.items {
        let Item::Assistant { blocks } = item else {
            continue;
        };
        for block in blocks {
            let AssistantBlock::ToolCall { id, name, .. } = block else {
                continue;
            };
            if !answered.contains(id) {
                open.push((id.clone(), name.clone()));
            }
        }
    }
    for (call_id, tool_name) in open {
        let text = format!("[Tool Rejected] {tool_name} was stopped; effect: none");
        conversation.request.items.push(Item::ToolResult {
            call_id,
            tool_name,
            text,
            is_error: true,
        });
    }
}

#[test]
fn a_rejected_edit_ends_its_branch_only() {
    let mut conversation = failing(
        "edit",
        "/README.md",
        "[Tool Rejected] edit was rejected by the user: not this file",
    );
    let answer = conversation.ask("replace colour by color everywhere");
    assert_eq!(
        conversation.folder.files["/docs/guide.md"],
        "The color red.\nThe color blue.\n"
    );
    assert_eq!(
        conversation.folder.files["/README.md"],
        Folder::of_table().files["/README.md"]
    );
    insta::assert_snapshot!(answer, @"
    I replaced “colour” by “color” 2 times in 1 file:
    - /docs/guide.md: 2
    Not changed:
    - /README.md: it was not allowed (was rejected by the user: not this file)
    ");
}

#[test]
fn a_step_on_a_file_where_a_step_failed_is_left_alone() {
    let mut conversation = failing("write", "*", "[Tool Rejected] write was rejected by the user");
    let answer = conversation.ask("create new.txt with 'a', then append 'b' to new.txt, then list the files");
    assert_eq!(conversation.short_calls(), ["ls /", "write /new.txt", "ls /"]);
    insta::assert_snapshot!(answer, @"
    1. I could not create new.txt: it was not allowed (was rejected by the user)
    2. I could not append “b” to new.txt: left alone, because an earlier step on it failed
    3. / has 3 folders and 2 files:
       - README.md
       - docs/
       - settings/
       - src/
       - todo.txt
    ");
}

#[test]
fn failures_of_every_kind_are_told() {
    for (text, words) in [
        (
            "[Tool Error] grep failed: the disk is on strike",
            "the disk is on strike",
        ),
        (
            "[Tool Timeout] grep timed out after 30 s",
            "it took too long (timed out after 30 s)",
        ),
        (
            "[Tool Rejected] grep was rejected by a rule",
            "it was not allowed (was rejected by a rule)",
        ),
        ("no such tool", "no such tool"),
    ] {
        let mut conversation = failing("grep", "*", text);
        let answer = conversation.ask("replace colour by color everywhere, then read todo.txt");
        assert_eq!(conversation.short_calls(), ["grep colour", "read /todo.txt"]);
        assert!(answer.contains(words), "{answer}");
        assert!(answer.contains("I read /todo.txt"), "{answer}");
        assert_eq!(conversation.folder.files, Folder::of_table().files);
    }
}

#[test]
fn a_file_that_changed_meanwhile_is_read_again() {
    let mut conversation = conversation();
    conversation.say("replace red by green in docs/guide.md");
    for _ in 0..2 {
        let reply = conversation.reply();
        conversation.run(&reply, usize::MAX);
    }
    assert_eq!(conversation.short_calls(), ["grep red", "read /docs/guide.md"]);
    conversation
        .folder
        .files
        .insert("/docs/guide.md".to_owned(), "red, red and redder\n".to_owned());
    let answer = conversation.finish();
    assert_eq!(
        conversation.folder.files["/docs/guide.md"],
        "green, green and greender\n"
    );
    assert!(answer.contains("3 times in 1 file"), "{answer}");
}

#[test]
fn a_tool_that_is_not_offered_is_named() {
    let mut conversation = conversation().without("edit");
    let answer = conversation.ask("replace colour by color everywhere, and list the files");
    assert!(answer.contains("the tool `edit` is not available"), "{answer}");
    assert!(answer.contains("2. / has"), "{answer}");
    assert_eq!(conversation.folder.files, Folder::of_table().files);
}

#[test]
fn without_the_question_tool_the_candidates_are_named() {
    let mut conversation = conversation().without("askUser");
    let answer = conversation.ask("replace old by new in config");
    insta::assert_snapshot!(answer, @"
    Several files fit “config”, so I changed nothing. Name one of them:
    - /settings/config.json
    - /settings/config.toml
    ");
}

#[test]
fn a_dismissed_question_changes_nothing() {
    let mut conversation = conversation();
    conversation.folder.answers.push_back(None);
    let answer = conversation.ask("replace old by new in config");
    assert_eq!(conversation.short_calls(), ["find config*", "askUser"]);
    assert!(answer.contains("it was not allowed"), "{answer}");
    assert_eq!(conversation.folder.files, Folder::of_table().files);
}

#[test]
fn a_free_answer_may_name_a_candidate_and_nothing_else() {
    for (answer, changed) in [("config.toml", true), ("the other one", false), ("", false)] {
        let mut conversation = conversation();
        conversation.folder.answers.push_back(Some(answer.to_owned()));
        let said = conversation.ask("replace old by new in config");
        assert_eq!(
            conversation.folder.files["/settings/config.toml"] == "mode = \"new\"\n",
            changed,
            "{said}"
        );
        assert_eq!(
            conversation.folder.files["/settings/config.json"],
            "{ \"mode\": \"old\" }\n"
        );
    }
}

#[test]
fn several_messages_in_a_row_are_all_done_in_order() {
    let mut conversation = conversation();
    conversation.say("list the files");
    conversation.say("read todo.txt");
    let answer = conversation.ask("append \"third\" to it");
    assert_eq!(
        conversation.short_calls(),
        ["ls /", "read /todo.txt", "read /todo.txt", "edit /todo.txt"]
    );
    assert!(
        answer.contains("3. I added a line at the end of /todo.txt."),
        "{answer}"
    );
}

#[test]
fn words_such_as_it_reach_back_to_the_request_before() {
    let mut conversation = conversation();
    conversation.ask("search for colour in *.md");
    conversation.ask("now replace it by color");
    assert_eq!(
        conversation.folder.files["/docs/guide.md"],
        "The color red.\nThe color blue.\n"
    );
    let answer = conversation.ask("read them");
    assert!(
        answer.contains("I read /README.md") && answer.contains("/docs/guide.md"),
        "{answer}"
    );
}

#[test]
fn a_new_request_makes_its_calls_again() {
    let mut conversation = conversation();
    conversation.ask("read todo.txt");
    conversation
        .folder
        .files
        .insert("/todo.txt".to_owned(), "changed\n".to_owned());
    let answer = conversation.ask("read todo.txt");
    assert_eq!(conversation.short_calls(), ["read /todo.txt", "read /todo.txt"]);
    assert!(answer.contains("changed"), "{answer}");
}

#[test]
fn continue_goes_on_where_a_stopped_request_ended() {
    for word in ["continue", "go on", "继续", "Please continue."] {
        let mut conversation = conversation();
        conversation.say("replace colour by color everywhere, then append 'third' to todo.txt");
        for most in [usize::MAX, usize::MAX, 1] {
            let reply = conversation.reply();
            assert_eq!(reply.stop, StopReason::ToolUse);
            conversation.run(&reply, most);
        }
        assert_eq!(
            conversation.calls.last().map(|(tool, _)| tool.as_str()),
            Some("edit")
        );
        stop(&mut conversation);
        let before = conversation.calls.len();
        conversation.ask(word);
        let after = conversation.short_calls()[before..].to_vec();
        assert_eq!(
            after,
            ["edit /docs/guide.md", "read /todo.txt", "edit /todo.txt"],
            "{word}"
        );
        assert_eq!(
            conversation.folder.files["/docs/guide.md"],
            "The color red.\nThe color blue.\n"
        );
        assert_eq!(conversation.folder.files["/todo.txt"], "first\nsecond\nthird\n");
        let again = conversation.ask(word);
        assert!(again.starts_with("Nothing is unfinished."), "{again}");
    }
}

#[test]
fn continue_passes_over_finished_requests() {
    let mut conversation = conversation();
    conversation.say("append 'third' to todo.txt");
    let reply = conversation.reply();
    conversation.run(&reply, usize::MAX);
    conversation.ask("list the files");
    let answer = conversation.ask("continue");
    assert_eq!(
        conversation.short_calls(),
        ["read /todo.txt", "ls /", "edit /todo.txt"]
    );
    assert!(answer.contains("/todo.txt"), "{answer}");
}

#[test]
fn an_effect_that_may_have_happened_is_not_repeated() {
    let texts = [
        None,
        Some("[Tool Rejected] edit was stopped; effect: applied"),
        Some("[Tool Timeout] edit: the outcome is unknown"),
    ];
    for text in texts {
        let mut conversation = conversation();
        conversation.say("append 'third' to todo.txt");
        let reply = conversation.reply();
        conversation.run(&reply, usize::MAX);
        let reply = conversation.reply();
        let Some(AssistantBlock::ToolCall { id, .. }) = calls(&reply).next() else {
            panic!("no call")
        };
        if let Some(text) = text {
            let (call_id, tool_name) = (id.clone(), "edit".to_owned());
            conversation.request.items.push(Item::ToolResult {
                call_id,
                tool_name,
                text: text.to_owned(),
                is_error: true,
            });
        }
        let answer = conversation.ask("continue");
        assert_eq!(conversation.short_calls(), ["read /todo.txt"], "{text:?}");
        assert!(answer.contains("Nothing is unfinished"), "{answer}");
    }
}

#[test]
fn continue_without_a_request_says_so() {
    let answer = conversation().ask("continue");
    assert!(answer.contains("no earlier request"), "{answer}");
    let mut fresh = conversation();
    fresh.say("continue");
    fresh.ask("list the files");
    assert_eq!(fresh.short_calls(), ["ls /"]);
}

#[test]
fn many_files_are_changed_in_portions() {
    let files: Vec<(String, String)> = (0..450)
        .map(|index| (format!("/f{index:03}.txt"), "a pear and a pear\n".to_owned()))
        .collect();
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    let mut conversation = Conversation::new(Folder::new(&files));
    let answer = conversation.ask("replace pear by plum everywhere");
    assert!(
        conversation
            .folder
            .files
            .values()
            .all(|text| text == "a plum and a plum\n")
    );
    assert!(answer.contains("900 times in 450 files"), "{answer}");
    assert!(answer.contains("… and 410 more"), "{answer}");
    let most = conversation.request.items.iter().map(|item| match item {
        Item::Assistant { blocks } => blocks.len(),
        _ => 0,
    });
    assert_eq!(most.max(), Some(16));
}

#[test]
fn a_long_file_is_read_in_parts_before_its_lines_are_deleted() {
    let mut text: String = (0..4_500).map(|number| format!("line {number}\n")).collect();
    text.push_str("the end");
    let mut conversation = Conversation::new(Folder::new(&[("/long.txt", &text)]));
    conversation.ask("delete the lines containing \"the end\" from long.txt");
    assert_eq!(
        conversation.folder.files["/long.txt"],
        text.strip_suffix("\nthe end").expect("it ends so")
    );
    assert_eq!(
        conversation
            .short_calls()
            .iter()
            .filter(|call| *call == "read /long.txt")
            .count(),
        3
    );
}

#[test]
fn a_quoted_script_runs_as_it_was_written_and_what_was_read_before_is_read_again() {
    for request in [
        "run this script: ```js\nconst x = 1;\nx + 1\n```, then append 'x' to todo.txt",
        "运行这个脚本：“const x = 1;\nx + 1”，然后在 todo.txt 末尾追加“x”",
    ] {
        let mut conversation = conversation();
        let result = "result: 2\nduration_ms: 3".to_owned();
        conversation.folder.scripts.push_back(result);
        let answer = conversation.ask(request);
        assert_eq!(
            conversation.short_calls(),
            ["script", "read /todo.txt", "edit /todo.txt"],
            "{request}"
        );
        assert_eq!(conversation.calls[0].1["code"], "const x = 1;\nx + 1");
        assert!(
            answer.contains("result: 2") && !answer.contains("duration"),
            "{answer}"
        );
    }
    let mut saved = conversation();
    saved.ask("run the saved script tidy");
    let expected = serde_json::json!({ "title": "A saved script", "action": "run", "name": "tidy" });
    assert_eq!(saved.calls, [("script".to_owned(), expected)]);
    // Without quotation marks code cannot be told from words, and a program is no script.
    for request in [
        "run this script: then end",
        "run the script build.sh",
        "run cargo test",
    ] {
        assert!(
            conversation().ask(request).contains("no tool that runs programs"),
            "{request}"
        );
    }
    let answer = conversation().without("script").ask("run this script: `1 + 1`");
    assert!(answer.contains("the tool `script` is not available"), "{answer}");
}

#[test]
fn a_request_that_is_too_long_is_not_done_in_part() {
    let long = |request: &str| format!("{request}\n{}", "read a.txt\n".repeat(300));
    for (request, said) in [
        (
            "replace old by new in a.txt",
            "longer than I can read, so I have not begun",
        ),
        (
            "把 a.txt 中的 old 替换成 new",
            "请求太长，我读不完，为避免只做一部分",
        ),
        ("read a.txt", "longer than I can read; I read only its beginning"),
        ("读取 a.txt", "请求太长，我只读了开头部分"),
    ] {
        let mut conversation = Conversation::new(Folder::new(&[("/a.txt", "old\n")]));
        let answer = conversation.ask(&long(request));
        assert!(answer.contains(said), "{request}: {answer}");
        assert_eq!(conversation.folder.files["/a.txt"], "old\n", "{request}");
    }
}

/// What the tools leave out stands in the answer: without it the answer would be false.
#[test]
fn what_could_not_be_read_is_told() {
    const NOTE: &str = "[2 paths could not be read: /a, /b]";
    for (request, tool, result, said) in [
        (
            "search for old",
            "grep",
            "No matches found",
            "“old” does not occur in the whole project, as far as I could see.",
        ),
        (
            "which files contain old",
            "grep",
            "No files found",
            "No file in the whole project contains “old”, as far as I could see.",
        ),
        (
            "count old",
            "grep",
            "No matches found",
            "“old” does not occur in the whole project, as far as I could see.",
        ),
        (
            "replace old by new everywhere",
            "grep",
            "No files found",
            "“old” does not occur in the whole project, as far as I could see, so I changed nothing.",
        ),
        (
            "delete the lines containing old in *.md",
            "grep",
            "No files found",
            "“old” does not occur in *.md, as far as I could see, so I changed nothing.",
        ),
        (
            "delete all empty lines in *.md",
            "grep",
            "No files found",
            "There is no empty line in *.md, as far as I could see, so I changed nothing.",
        ),
        (
            "find *.md",
            "find",
            "No files found",
            "There is no file named *.md, as far as I could see.",
        ),
        (
            "read *.md",
            "find",
            "No files found",
            "There is no file named *.md, as far as I could see.",
        ),
        (
            "how many *.md files are there",
            "find",
            "/x.md",
            "There is at least 1 file named *.md.",
        ),
        (
            "read nowhere",
            "find",
            "No files found",
            "I found no file or folder named “nowhere”.",
        ),
        (
            "search for old",
            "grep",
            "/x.md:1:old",
            "“old” occurs on 1 line of 1 file in the whole project:",
        ),
        (
            "which files contain old",
            "grep",
            "Found at least 1 file\n/x.md",
            "1 file in the whole project with “old”:",
        ),
        (
            "count old",
            "grep",
            "/x.md:2\n\nFound at least 2 total occurrences across 1 file",
            "“old” occurs at least 2 times in 1 file",
        ),
        (
            "搜索 old",
            "grep",
            "No matches found",
            "整个项目中没有找到“old”。",
        ),
        (
            "哪些文件包含 old",
            "grep",
            "No files found",
            "整个项目中没有找到“old”。",
        ),
        (
            "统计 old 出现的次数",
            "grep",
            "No matches found",
            "整个项目中没有找到“old”。",
        ),
        (
            "把所有的 old 替换成 new",
            "grep",
            "No files found",
            "整个项目中没有找到“old”，没有改动。",
        ),
        ("查找所有 *.md 文件", "find", "No files found", "没有找到"),
    ] {
        let mut conversation = Conversation::new(Folder::new(&[("/x.md", "old\n")]));
        conversation
            .folder
            .fixed
            .push((tool, format!("{result}\n{NOTE}")));
        let answer = conversation.ask(request);
        assert!(answer.contains(said), "{request}: {answer}");
        assert!(answer.ends_with(NOTE), "{request}: {answer}");
    }
}

#[test]
fn what_was_left_out_of_a_change_is_told() {
    const NOTE: &str = "[1 path could not be read: /locked.md]";
    for request in [
        "replace old by new everywhere",
        "把所有的 old 替换成 new",
        "delete the lines containing old in *.md",
    ] {
        let mut conversation = Conversation::new(Folder::new(&[("/x.md", "old\nother\n")]));
        conversation
            .folder
            .fixed
            .push(("grep", format!("Found at least 1 file\n/x.md\n{NOTE}")));
        let answer = conversation.ask(request);
        assert!(answer.ends_with(NOTE), "{request}: {answer}");
        assert!(!conversation.folder.files["/x.md"].contains("old"), "{request}");
    }
}

/// No search finds a link that leads nowhere or outside; the tool itself says what it is.
#[test]
fn a_name_that_only_the_tool_knows_is_told_in_its_words() {
    let refusal = "`/out` leaves the project folder through the link `/out`; only what is inside the project can be used";
    for request in [
        "read out",
        "replace old by new in out",
        "append 'x' to out",
        "读取 out",
    ] {
        let mut conversation = Conversation::new(Folder::new(&[("/a.md", "old\n")]));
        let text = format!("[Tool Error] read failed: {refusal}");
        conversation
            .folder
            .failing
            .push(("read", "/out".to_owned(), text));
        let answer = conversation.ask(request);
        assert!(answer.contains(refusal), "{request}: {answer}");
    }
    let mut conversation = Conversation::new(Folder::new(&[("/a.md", "old\n")]));
    insta::assert_snapshot!(conversation.ask("read out"), @"I found no file or folder named “out”.");
}

#[test]
fn a_rejection_is_told_once() {
    for text in [
        "[Tool Rejected] edit was rejected: the call was refused: not now",
        "[Tool Rejected] edit was rejected: not now",
    ] {
        let mut conversation = Conversation::new(Folder::new(&[("/a.md", "old\n")]));
        conversation
            .folder
            .failing
            .push(("edit", "/a.md".to_owned(), text.to_owned()));
        let answer = conversation.ask("replace old by new in a.md");
        assert!(
            answer.ends_with("/a.md: it was not allowed (not now)"),
            "{answer}"
        );
    }
}
