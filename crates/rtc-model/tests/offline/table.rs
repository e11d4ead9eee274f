//! Runs the table of phrasings, and the one of requests that are not understood.

use crate::drive::Conversation;
use crate::folder::{Folder, plain};
use crate::phrasings::{Phrasing, chinese, english};

fn check(phrasing: &Phrasing) -> Result<(), String> {
    let mut folder = Folder::of_table();
    folder.answers = phrasing
        .answers
        .iter()
        .map(|answer| Some(plain(answer)))
        .collect();
    let mut conversation = Conversation::new(folder);
    let answer = conversation.ask(&plain(phrasing.request));
    let expected_calls: Vec<String> = phrasing.calls.iter().map(|call| plain(call)).collect();
    let calls = conversation.short_calls();
    if calls != expected_calls {
        return Err(format!(
            "calls {calls:?}\n  expected {expected_calls:?}\n  answer {answer:?}"
        ));
    }
    let mut expected = Folder::of_table().files;
    expected.extend(
        phrasing
            .changes
            .iter()
            .map(|(path, text)| (plain(path), plain(text))),
    );
    if conversation.folder.files != expected {
        return Err(format!(
            "files {:#?}\n  answer {answer:?}",
            conversation.folder.files
        ));
    }
    match phrasing
        .says
        .iter()
        .map(|words| plain(words))
        .find(|words| !answer.contains(words))
    {
        Some(words) => Err(format!("{words:?} is missing in {answer:?}")),
        None => Ok(()),
    }
}

#[test]
fn every_phrasing_makes_its_calls_and_has_its_effect() {
    let failures: Vec<String> = english()
        .chain(chinese())
        .filter_map(|one| check(one).err().map(|why| format!("{}\n  {why}", one.request)))
        .collect();
    assert!(
        failures.is_empty(),
        "{} failed:\n{}",
        failures.len(),
        failures.join("\n")
    );
}

#[test]
fn what_is_not_understood_changes_nothing_and_is_answered_honestly() {
    let requests = [
        "What is the weather like tomorrow?",
        "Write a poem about spring",
        "refactor the code so that it is faster",
        "fix the bug",
        "replace the old logo by a nicer one",
        "don't replace colour by color",
        "replace colour by color everywhere, but not in the guide",
        "if colour occurs in README.md replace it by color",
        "explain src/main.rs to me",
        "delete everything",
        "delete the contents of README.md",
        "replace a by b by c",
        "write a test for src/main.rs",
        "asdf",
        "!!!",
        "",
        "今天天气怎么样",
        "写一首诗",
        "不要把 colour 替换成 color",
        "修复这个程序",
        "删除 todo.txt 的内容",
        "请不要修改任何文件",
        "如果有 colour 就改成 color",
    ];
    for request in requests {
        let mut conversation = Conversation::new(Folder::of_table());
        let answer = conversation.ask(request);
        assert_eq!(conversation.short_calls(), Vec::<String>::new(), "{request}");
        assert!(
            answer.contains("no language model") || answer.contains("不是语言模型"),
            "{request}: {answer}"
        );
        assert!(
            answer.contains("OPENAI_API_KEY") && answer.contains("ANTHROPIC_API_KEY"),
            "{request}"
        );
        assert!(
            answer.contains("RTC_MODEL") && answer.contains("--model"),
            "{request}"
        );
    }
}

#[test]
fn a_change_is_not_begun_while_a_part_of_the_request_is_unclear() {
    let mut conversation = Conversation::new(Folder::of_table());
    let answer = conversation.ask("replace colour by color everywhere, then make it prettier");
    assert!(conversation.calls.is_empty());
    assert!(
        answer.starts_with("I did not understand “make it prettier”, so I have not begun"),
        "{answer}"
    );
    // Reading does no harm: what is understood is done, and the rest is named.
    let answer = conversation.ask("read todo.txt, then make it prettier");
    assert_eq!(conversation.short_calls(), ["read /todo.txt"]);
    assert!(
        answer.ends_with("I did not understand “make it prettier”."),
        "{answer}"
    );
}

#[test]
fn every_example_of_the_help_is_understood() {
    for help in ["help", "帮助"] {
        let help = Conversation::new(Folder::of_table()).ask(help);
        let mut examples = 0;
        for line in help.lines().filter_map(|line| line.strip_prefix("- ")) {
            let line = line
                .split(" (or in ")
                .next()
                .unwrap_or(line)
                .split("（也")
                .next()
                .unwrap_or(line);
            let line = line
                .trim_start_matches("several steps: ")
                .trim_start_matches("多个步骤：");
            for example in line.split(", or: ").flat_map(|part| part.split("，或：")) {
                let mut conversation = Conversation::new(Folder::of_table());
                let answer = conversation.ask(example);
                assert!(!conversation.calls.is_empty(), "{example}: {answer}");
                examples += 1;
            }
        }
        assert!(examples >= 14, "{examples}");
    }
}

#[test]
fn it_says_what_it_understands() {
    let mut conversation = Conversation::new(Folder::default());
    insta::assert_snapshot!(conversation.ask("help"), @r#"
    I am the offline planner of RTC Desktop: a set of fixed rules, no language model. I understand plain requests such as:
    - list the files in src
    - read README.md, or: show the first 20 lines of src/main.rs
    - find all *.md files, or: where is config.json
    - search for "TODO" in *.py, or: which files contain TODO
    - count "error" in logs/, or: how many rust files are there
    - replace "old text" by "new text" in README.md (or in *.rs, in src/, everywhere)
    - create notes.txt with "first line", or: overwrite notes.txt with "new text"
    - append "one more line" to notes.txt
    - delete "some text" from notes.txt, or: delete the lines containing "debug" in app.py
    - run this script: `const files = await rtcAgent.fs.find('*.md'); files.length`
    - several steps: find colour in *.md and replace it by color, then read README.md

    Put texts with spaces in quotation marks. “continue” goes on with an unfinished request. 中文也可以。
    For everything else set up a language model: set OPENAI_API_KEY or ANTHROPIC_API_KEY, and choose the model with RTC_MODEL or --model (for example --model openai/NAME or --model anthropic/NAME).
    "#);
    insta::assert_snapshot!(conversation.ask("帮助"), @"
    我是 RTC Desktop 的离线规划器：只按固定规则工作，不是语言模型。我能看懂这样的请求：
    - 列出 src 目录下的文件
    - 读取 README.md，或：查看 src/main.rs 的前 20 行
    - 查找所有 *.md 文件，或：config.json 在哪里
    - 在 *.py 中搜索“TODO”，或：哪些文件包含 TODO
    - 统计 logs 目录里“error”出现的次数，或：有多少个 rust 文件
    - 把 README.md 中的“旧文字”替换成“新文字”（也可以是 *.rs、src 目录、所有文件）
    - 新建 notes.txt，内容为“第一行”，或：用“新内容”覆盖 notes.txt
    - 在 notes.txt 末尾追加“又一行”
    - 从 notes.txt 中删除“某段文字”，或：删除 app.py 中包含“debug”的行
    - 运行这个脚本：`const files = await rtcAgent.fs.find('*.md'); files.length`
    - 多个步骤：在 *.md 中查找 colour 并替换为 color，然后读取 README.md

    带空格的文字请加引号。说“继续”会接着做没有完成的请求。English works too.
    其他事情请配置语言模型：设置 OPENAI_API_KEY 或 ANTHROPIC_API_KEY，并用 RTC_MODEL 或 --model 选择模型（例如 --model openai/NAME 或 --model anthropic/NAME）。
    ");
}

#[test]
fn it_says_at_the_end_what_was_done() {
    let ask = |request: &str| Conversation::new(Folder::of_table()).ask(request);
    insta::assert_snapshot!(ask("replace colour by color everywhere, then read todo.txt and count color"), @"
    1. I replaced “colour” by “color” 3 times in 2 files:
       - /README.md: 1
       - /docs/guide.md: 2
    2. I read /todo.txt, 2 lines:
       ```
       first
       second
       ```
    3. “color” occurs 3 times in 2 files in the whole project.
    ");
    insta::assert_snapshot!(ask("在 *.md 中把 colour 替换成 color，然后列出 docs 目录"), @"
    1. 已在 2 个文件中把“colour”替换成“color”，共 3 处：
       - /README.md：1
       - /docs/guide.md：2
    2. /docs 有 0 个目录和 2 个文件：
       - guide.md
       - my notes.txt
    ");
    insta::assert_snapshot!(ask("search for old, then find *.rs"), @r#"
    1. “old” occurs on 4 lines of 4 files in the whole project:
       - /settings/config.json:1: { "mode": "old" }
       - /settings/config.toml:1: mode = "old"
       - /src/lib.rs:1: pub fn old_name() {}
       - /src/main.rs:2: old_name(); // TODO: a.b*c
    2. I found 2 files named *.rs:
       - /src/lib.rs
       - /src/main.rs
    "#);
    insta::assert_snapshot!(ask("create a/b.txt with 'x', then create todo.txt with 'y', then append 'z' to todo.txt"), @r#"
    1. I created /a/b.txt (1 character).
    2. /todo.txt is there already, so I changed nothing. To replace it, say: overwrite /todo.txt with "…"
    3. I could not append “z” to todo.txt: left alone, because an earlier step on it failed
    "#);
}
