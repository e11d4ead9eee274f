//! What the planner says in Chinese.

use super::super::history::{Failure, FailureKind};
use super::super::place::{Needle, Place};
use super::super::plan::{ALL, Language, Lines, Step, Window, Wish};
use super::super::report::Report;
use super::{MAX_REASON, excerpt, list, named, needle_words, place_words, short, total};

/// What the planner understands.
pub(super) const HELP: &str = "\
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
其他事情请配置语言模型：设置 OPENAI_API_KEY 或 ANTHROPIC_API_KEY，并用 RTC_MODEL 或 --model 选择模型\
（例如 --model openai/NAME 或 --model anthropic/NAME）。";

/// A step, worded to follow “我来”.
pub(super) fn step(step: &Step) -> String {
    let at = |place: &Place| spaced(&place_words(place, Language::Chinese));
    match step {
        Step::List(Place::Everywhere) => "列出文件".to_owned(),
        Step::List(place) => format!("列出{}中的内容", at(place)),
        Step::Read(place, window) => {
            let what = spaced(place_words(place, Language::Chinese).trim());
            match window {
                Window::Whole => format!("读取{}", what.trim_end()),
                Window::Range(1, count) => format!("读取{what}的前 {count} 行"),
                Window::Range(first, count) => format!("读取{what}的第 {first} 到 {} 行", first + count - 1),
                Window::Last(count) => format!("读取{what}的最后 {count} 行"),
            }
        }
        Step::Find {
            pattern,
            folder,
            count,
        } => {
            let verb = if *count { "统计" } else { "查找" };
            format!("{verb}{}", files(pattern, folder.as_deref()))
        }
        Step::Look(word) => format!("在文件名和内容中查找{}", named(word)),
        Step::Search {
            needle,
            place,
            files_only: true,
        } => {
            format!("在{}中查找包含{}的文件", at(place), needle_words(needle))
        }
        Step::Search {
            needle,
            place,
            files_only: false,
        } => {
            format!("在{}中搜索{}", at(place), needle_words(needle))
        }
        Step::Count(needle, place) => format!("统计{}在{}中出现的次数", needle_words(needle), at(place)),
        Step::Replace { from, to, place } if to.is_empty() => format!("从{}中删除{}", at(place), named(from)),
        Step::Replace { from, to, place } => {
            format!("把{}中的{}替换成{}", at(place), named(from), named(to))
        }
        Step::DeleteLines(Lines::Containing(text), place) => {
            format!("删除{}中包含{}的行", at(place), named(text))
        }
        Step::DeleteLines(Lines::Equal(text), place) => format!("删除{}中{}这一行", at(place), named(text)),
        Step::DeleteLines(Lines::Empty, place) => format!("删除{}中的空行", at(place)),
        Step::DeleteLines(Lines::Numbered(first, last), place) if first == last => {
            format!("删除{}的第 {first} 行", at(place))
        }
        Step::DeleteLines(Lines::Numbered(first, last), place) => {
            format!("删除{}的第 {first} 到 {last} 行", at(place))
        }
        Step::DeleteLines(Lines::Last(count), place) => format!("删除{}的最后 {count} 行", at(place)),
        Step::Write {
            name,
            overwrite: false,
            ..
        } => format!("创建 {name}"),
        Step::Write {
            name,
            overwrite: true,
            ..
        } => format!("写入 {name}"),
        Step::Append { name, line } => format!("在 {name} 末尾追加{}", named(line)),
        Step::SavedScript(name) => format!("运行已保存的脚本 {name}"),
        Step::Script(_) => "运行脚本".to_owned(),
        Step::Unable(_) => "说明没有哪些工具".to_owned(),
        Step::Help => "说明我能看懂什么".to_owned(),
    }
}

/// How a step ended.
pub(super) fn report(report: &Report) -> String {
    let at = |place: &Place| spaced(&place_words(place, Language::Chinese));
    let more = |rest: usize| format!("……还有 {rest} 个");
    match report {
        Report::Listed { path, entries, .. } if entries.is_empty() => format!("{path} 是空的。"),
        Report::Listed { path, entries, note } => {
            let folders = entries.iter().filter(|entry| entry.ends_with('/')).count();
            let lines = list(entries, String::clone, more);
            let files = entries.len() - folders;
            format!(
                "{path} 有 {folders} 个目录和 {files} 个文件：{lines}{}",
                noted(note.as_deref())
            )
        }
        Report::Text { path, lines, notes } if lines.is_empty() => {
            let notes = if notes.is_empty() {
                "文件是空的".to_owned()
            } else {
                notes.join(" ")
            };
            format!("已读取 {path}：{notes}")
        }
        Report::Text { path, lines, notes } => {
            let rest = |rest: usize| format!("……还有 {rest} 行");
            let notes: String = notes.iter().map(|note| noted(Some(note))).collect();
            format!(
                "已读取 {path}，共 {} 行：{}{notes}",
                lines.len(),
                excerpt(lines, rest)
            )
        }
        Report::OnlyRead { read, of } => format!("共 {of} 个文件，只读取了前 {read} 个。"),
        Report::Found {
            pattern,
            folder,
            paths,
            note,
        } if paths.is_empty() => {
            format!(
                "没有找到{}。{}",
                files(pattern, folder.as_deref()),
                noted(note.as_deref())
            )
        }
        Report::Found {
            pattern,
            folder,
            paths,
            note,
        } => format!(
            "找到 {} 个{}：{}{}",
            paths.len(),
            files(pattern, folder.as_deref()),
            list(paths, String::clone, more),
            noted(note.as_deref())
        ),
        Report::FoundCount {
            pattern,
            folder,
            count,
            at_least,
            note,
        } => {
            let least = if *at_least { "至少" } else { "共" };
            let note = noted(note.as_deref());
            format!(
                "{least}有 {count} 个{}。{note}",
                files(pattern, folder.as_deref())
            )
        }
        Report::Matches {
            needle,
            place,
            matches,
            note,
        } if matches.is_empty() => absent(needle, place, note.as_deref(), "。"),
        Report::Matches {
            needle,
            place,
            matches,
            note,
        } => {
            let mut paths: Vec<&str> = matches.iter().map(|one| one.path.as_str()).collect();
            paths.dedup();
            let lines = list(
                matches,
                |one| format!("{}:{}: {}", one.path, one.line, one.text.trim()),
                more,
            );
            format!(
                "{}在{}中的 {} 个文件、{} 行里出现：{lines}{}",
                needle_words(needle),
                at(place),
                paths.len(),
                matches.len(),
                noted(note.as_deref())
            )
        }
        Report::Files {
            needle,
            place,
            files,
            note: None,
        } if files.is_empty() => {
            format!(
                "{}中没有文件包含{}。",
                at(place).trim_start(),
                needle_words(needle)
            )
        }
        Report::Files {
            needle,
            place,
            files,
            note,
        } if files.is_empty() => absent(needle, place, note.as_deref(), "。"),
        Report::Files {
            needle,
            place,
            files,
            note,
        } => {
            let lines = list(files, String::clone, more);
            let place = at(place);
            format!(
                "{}中有 {} 个文件包含{}：{lines}{}",
                place.trim_start(),
                files.len(),
                needle_words(needle),
                noted(note.as_deref())
            )
        }
        Report::Ran { result } if result.is_empty() => "脚本已运行，没有结果。".to_owned(),
        Report::Ran { result } => {
            format!(
                "脚本已运行：{}",
                excerpt(result, |rest| format!("……还有 {rest} 行"))
            )
        }
        Report::Counted {
            needle,
            place,
            total: 0,
            note,
            ..
        } => absent(needle, place, note.as_deref(), "。"),
        Report::Counted {
            needle,
            place,
            total,
            files,
            at_least,
            note,
        } => {
            let least = if *at_least { "至少" } else { "共" };
            format!(
                "{}在{}的 {files} 个文件中{least}出现 {total} 次。{}",
                needle_words(needle),
                at(place),
                noted(note.as_deref())
            )
        }
        Report::Replaced {
            from,
            to,
            changed,
            failed,
            more: rest,
            note,
        } => {
            let (times, count) = (total(changed), changed.len());
            let mut text = match (changed.is_empty(), to.is_empty()) {
                (true, _) => format!("没有改动：{}保持原样。", named(from)),
                (false, true) => format!("已在 {count} 个文件中删除{}，共 {times} 处：", named(from)),
                (false, false) => {
                    format!(
                        "已在 {count} 个文件中把{}替换成{}，共 {times} 处：",
                        named(from),
                        named(to)
                    )
                }
            };
            text.push_str(&list(changed, |(path, count)| format!("{path}：{count}"), more));
            text.push_str(&failures(failed));
            if *rest {
                text.push_str("\n还有更多文件包含它，请再说一次。");
            }
            text.push_str(&noted(note.as_deref()));
            text
        }
        Report::LinesDeleted {
            changed,
            failed,
            note,
        } => {
            let text = if changed.is_empty() {
                "没有删除任何行。".to_owned()
            } else {
                let listed = list(changed, |(path, count)| format!("{path}：{count}"), more);
                format!(
                    "已在 {} 个文件中删除 {} 行：{listed}",
                    changed.len(),
                    total(changed)
                )
            };
            text + &failures(failed) + &noted(note.as_deref())
        }
        Report::Absent { needle, place, note } => absent(needle, place, note.as_deref(), "，没有改动。"),
        Report::NoEmptyLine { place, note } => {
            let note = noted(note.as_deref());
            format!("{}中没有找到空行，没有改动。{note}", at(place).trim_start())
        }
        Report::NoSuchLine { path, lines } => format!("{path} 只有 {lines} 行，没有改动。"),
        Report::Wrote {
            path,
            created,
            characters,
        } => {
            let verb = if *created { "已创建" } else { "已覆盖" };
            format!("{verb} {path}（{characters} 个字符）。")
        }
        Report::Appended { path, created: true } => format!("已创建 {path}，内容是这一行。"),
        Report::Appended { path, created: false } => format!("已在 {path} 末尾追加一行。"),
        Report::Exists { path } => {
            format!("{path} 已经存在，没有改动。要替换它，请说：用“……”覆盖 {path}")
        }
        Report::Same { text } => format!("新旧文字都是{}，不需要改动。", named(text)),
        Report::NoText => "没有要查找的文字，没有改动。".to_owned(),
        Report::Ambiguous { name, candidates } => {
            format!(
                "有多个文件符合{}，没有改动。请说明是哪一个：{}",
                named(name),
                list(candidates, String::clone, more)
            )
        }
        Report::Unanswered { name, answer } => {
            format!(
                "我问了{}指哪个文件，但从回答{}中看不出来，没有改动。",
                named(name),
                named(answer)
            )
        }
        Report::NoSuchName { name, note } => {
            format!(
                "没有找到名为{}的文件或目录。{}",
                named(name),
                noted(note.as_deref())
            )
        }
        Report::IsFolder { path } => format!("{path} 是目录，这里需要一个文件名。"),
        Report::Failed {
            step: failed,
            failure,
        } => {
            format!("没能{}：{}", step(failed), failure_words(failure))
        }
        Report::NotOffered { step: failed, tool } => {
            format!("无法{}：本会话没有工具 `{tool}`。", step(failed))
        }
        Report::Unable(Wish::FileWork) => {
            "我没有删除、移动、复制或重命名文件和目录的工具，只能修改文件里的文字。".to_owned()
        }
        Report::Unable(Wish::Run) => {
            "我没有运行程序的工具，但可以对这里的文件运行 JavaScript：运行这个脚本：`…`".to_owned()
        }
        Report::Help => HELP.to_owned(),
    }
}

/// That a text does not occur; where something was left out, only that it was not found.
fn absent(needle: &Needle, place: &Place, note: Option<&str>, end: &str) -> String {
    let (needle, place) = (
        needle_words(needle),
        spaced(&place_words(place, Language::Chinese)),
    );
    let found = if note.is_some() { "没有找到" } else { "没有" };
    format!("{}中{found}{needle}{end}{}", place.trim_start(), noted(note))
}

fn failures(failed: &[(String, Failure)]) -> String {
    if failed.is_empty() {
        return String::new();
    }
    let more = |rest: usize| format!("……还有 {rest} 个");
    let lines = list(
        failed,
        |(path, failure)| format!("{path}：{}", failure_words(failure)),
        more,
    );
    format!("\n没有改动：{lines}")
}

fn failure_words(failure: &Failure) -> String {
    let reason = short(failure.reason.trim(), MAX_REASON);
    match failure.kind {
        FailureKind::Error => reason,
        FailureKind::Rejected => format!("没有得到允许（{reason}）"),
        FailureKind::Timeout => format!("超时（{reason}）"),
        FailureKind::Lost => "不知道是否已经执行，我没有重复".to_owned(),
        FailureKind::Skipped => "前面的步骤在这个文件上失败了，所以没有动它".to_owned(),
    }
}

fn files(pattern: &str, folder: Option<&str>) -> String {
    let folder = folder.map(|folder| format!(" {folder} 下的")).unwrap_or_default();
    if pattern == ALL {
        format!("{folder}文件")
    } else {
        format!("{folder} {pattern} 文件")
    }
}

/// Spaces between Latin and Chinese letters, as is usual in print.
fn spaced(words: &str) -> String {
    let words = words.trim();
    let latin = |character: Option<char>| character.is_some_and(|character| character.is_ascii());
    let before = if latin(words.chars().next()) { " " } else { "" };
    let after = if latin(words.chars().next_back()) { " " } else { "" };
    format!("{before}{words}{after}")
}

fn noted(note: Option<&str>) -> String {
    note.map(|note| format!("\n{note}")).unwrap_or_default()
}
