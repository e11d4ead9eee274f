//! What the planner says: plain words about what it does and what came of it.

use super::place::{Needle, Place};
use super::plan::{Language, MAX_STEPS, Plan, Step};
use super::report::Report;

mod chinese;
mod english;

/// The most lines of a list or a file that an answer repeats.
const MAX_LINES: usize = 40;

/// The longest line that an answer repeats, in characters.
const MAX_WIDTH: usize = 200;

/// The longest reason of a failure that an answer repeats, in characters.
const MAX_REASON: usize = 400;

/// The most characters of a text that an answer repeats when it names it.
const MAX_NAMED: usize = 60;

/// The words of a question which of several files is meant.
pub(super) struct Question {
    pub(super) question: String,
    pub(super) header: &'static str,
    pub(super) only: &'static str,
    pub(super) all: String,
    pub(super) all_of_them: &'static str,
}

/// The question which of several files is meant.
pub(super) fn question(language: Language, name: &str, count: usize) -> Question {
    match language {
        Language::English => Question {
            question: format!("{count} files fit {}. Which one do you mean?", named(name)),
            header: "Which file",
            only: "Only this one",
            all: format!("All {count} of them"),
            all_of_them: "Each of the files that fit",
        },
        Language::Chinese => Question {
            question: format!("有 {count} 个文件符合{}，您指的是哪一个？", named(name)),
            header: "哪个文件",
            only: "只处理这一个",
            all: format!("全部 {count} 个"),
            all_of_them: "处理所有符合的文件",
        },
    }
}

/// What is said before the first calls of a request.
pub(super) fn announcement(plan: &Plan) -> String {
    let step = |step: &Step| match plan.language {
        Language::English => english::step(step),
        Language::Chinese => chinese::step(step),
    };
    match (plan.steps.as_slice(), plan.language) {
        ([one], Language::English) => format!("I will {}.", step(one)),
        ([one], Language::Chinese) => format!("我来{}。", step(one)),
        (steps, language) => {
            let steps: Vec<String> = steps
                .iter()
                .enumerate()
                .map(|(index, one)| format!("{}. {}", index + 1, step(one)))
                .collect();
            let head = match language {
                Language::English => "I will do this step by step:",
                Language::Chinese => "我将按步骤执行：",
            };
            format!("{head}\n{}", steps.join("\n"))
        }
    }
}

/// What is said at the end.
pub(super) fn summary(plan: &Plan, reports: &[Report]) -> String {
    let say = |report: &Report| match plan.language {
        Language::English => english::report(report),
        Language::Chinese => chinese::report(report),
    };
    let mut parts = match reports {
        [one] => vec![say(one)],
        several => several
            .iter()
            .enumerate()
            .map(|(index, report)| format!("{}. {}", index + 1, say(report).replace('\n', "\n   ")))
            .collect(),
    };
    match plan.language {
        Language::English => {
            if plan.beyond > 0 {
                parts.push(format!(
                    "I do at most {MAX_STEPS} steps at once; the last {} are not done.",
                    plan.beyond
                ));
            }
            if !plan.unclear.is_empty() {
                parts.push(format!("I did not understand {}.", quoted_list(&plan.unclear)));
            }
            if plan.unread {
                parts.push("Your request is longer than I can read; I read only its beginning.".to_owned());
            }
        }
        Language::Chinese => {
            if plan.beyond > 0 {
                parts.push(format!(
                    "一次最多执行 {MAX_STEPS} 步，最后 {} 步没有执行。",
                    plan.beyond
                ));
            }
            if !plan.unclear.is_empty() {
                parts.push(format!("这部分我没有看懂：{}。", quoted_list(&plan.unclear)));
            }
            if plan.unread {
                parts.push("请求太长，我只读了开头部分。".to_owned());
            }
        }
    }
    parts.join("\n")
}

/// What is said when a request is not understood; nothing has been done then.
pub(super) fn not_understood(plan: &Plan) -> String {
    let nothing_done = !plan.steps.is_empty();
    let unclear = quoted_list(&plan.unclear);
    match plan.language {
        Language::English => {
            let so = if nothing_done {
                ", so I have not begun: the request would be done only in part"
            } else {
                ""
            };
            let first = match (plan.unread, plan.unclear.is_empty()) {
                (false, true) => String::new(),
                (false, false) => format!("I did not understand {unclear}{so}.\n\n"),
                (true, true) => format!("Your request is longer than I can read{so}.\n\n"),
                (true, false) => {
                    format!(
                        "I did not understand {unclear}, and your request is longer than I can read{so}.\n\n"
                    )
                }
            };
            format!("{first}{}", english::HELP)
        }
        Language::Chinese => {
            let so = if nothing_done {
                "，为避免只做一部分，所以什么都没有做"
            } else {
                ""
            };
            let first = match (plan.unread, plan.unclear.is_empty()) {
                (false, true) => String::new(),
                (false, false) => format!("我没有看懂{unclear}{so}。\n\n"),
                (true, true) => format!("请求太长，我读不完{so}。\n\n"),
                (true, false) => format!("我没有看懂{unclear}，而且请求太长，我读不完{so}。\n\n"),
            };
            format!("{first}{}", chinese::HELP)
        }
    }
}

/// What is said when there is nothing to go on with.
pub(super) fn nothing_unfinished(last: Option<(&Plan, &[Report])>) -> String {
    let Some((plan, reports)) = last else {
        return "There is no earlier request that I could go on with. / 没有可以继续的请求。".to_owned();
    };
    let head = match plan.language {
        Language::English => "Nothing is unfinished. This is how your last request ended:",
        Language::Chinese => "没有未完成的事。上一个请求的结果是：",
    };
    format!("{head}\n{}", summary(plan, reports))
}

/// A text or name in quotation marks, on one line, shortened if it is long.
fn named(text: &str) -> String {
    format!("“{}”", short(text, MAX_NAMED).replace('\n', "⏎"))
}

fn quoted_list(texts: &[String]) -> String {
    let named: Vec<String> = texts.iter().take(5).map(|text| named(text)).collect();
    named.join(", ")
}

fn short(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Lines of a list, each behind a dash; `more` words the rest.
fn list<T>(items: &[T], line: impl Fn(&T) -> String, more: impl Fn(usize) -> String) -> String {
    let mut text = String::new();
    for item in items.iter().take(MAX_LINES) {
        text.push_str("\n- ");
        text.push_str(&short(&line(item), MAX_WIDTH));
    }
    if items.len() > MAX_LINES {
        text.push_str("\n- ");
        text.push_str(&more(items.len() - MAX_LINES));
    }
    text
}

/// Lines of a file in a fenced block; `more` words the rest.
fn excerpt(lines: &[String], more: impl Fn(usize) -> String) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let shown = lines.iter().take(MAX_LINES);
    let longest = shown
        .clone()
        .map(|line| line.chars().take_while(|c| *c == '`').count())
        .max()
        .unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let shown: Vec<String> = shown.map(|line| short(line, MAX_WIDTH)).collect();
    let mut text = format!("\n{fence}\n{}\n{fence}", shown.join("\n"));
    if lines.len() > MAX_LINES {
        text.push('\n');
        text.push_str(&more(lines.len() - MAX_LINES));
    }
    text
}

/// Where a step works, as it is put in a sentence.
fn place_words(place: &Place, language: Language) -> String {
    let english = language == Language::English;
    match place {
        Place::Everywhere if english => "in the whole project".to_owned(),
        Place::Everywhere => "整个项目".to_owned(),
        Place::Folder(path) if english => format!("in {path}"),
        Place::Folder(path) => path.clone(),
        Place::Glob { glob, folder: None } if english => format!("in {glob}"),
        Place::Glob { glob, folder: None } => format!(" {glob} "),
        Place::Glob {
            glob,
            folder: Some(folder),
        } if english => format!("in {glob} below {folder}"),
        Place::Glob {
            glob,
            folder: Some(folder),
        } => format!("{folder} 下的 {glob} "),
        Place::Names(names) if english => format!("in {}", names.join(", ")),
        Place::Names(names) => format!(" {} ", names.join("、")),
        Place::Matching(needle, _) if english => format!("in the files with {}", named(&needle.text)),
        Place::Matching(needle, _) => format!("包含{}的文件", named(&needle.text)),
    }
}

fn needle_words(needle: &Needle) -> String {
    named(&needle.text)
}

fn total(changed: &[(String, u64)]) -> u64 {
    changed.iter().map(|(_, count)| count).sum()
}
