//! What the model says.

use rtc_tests::model_server::{Answer, Asked, Last};
use serde_json::json;

/// The file in which each run of a call leaves a line.
pub(crate) const EFFECTS: &str = "effects.txt";

/// The file that a call waits for.
pub(crate) fn gate(name: &str) -> String {
    format!("{name}.gate")
}

/// The answer to a request, by what was said last:
///
/// * `hold NAME` calls a script that leaves a line when it begins and when it ends, and in between waits for a file;
/// * `count to N` appends so many lines, a call each, and each a request of its own;
/// * `correct the visit` reads a file and then edits it;
/// * everything else is repeated.
pub(crate) fn answer(asked: &Asked) -> Answer {
    match asked.last() {
        Last::User(said) => to_user(&said, asked.number),
        Last::Results(results) => {
            let (id, text) = results.last().expect("a result");
            match id.split('-').collect::<Vec<_>>()[..] {
                _ if text.starts_with("[Tool Error]") => Answer::text(&format!("It was told: {text}")),
                ["read", _] => edit(asked.number),
                ["edit", _] => Answer::text(if text.contains("Rejected") {
                    "Then it stays as it is."
                } else {
                    "The visit is corrected."
                }),
                ["count", step, last, _] if step != last => {
                    let step: u32 = step.parse().expect("a number");
                    count(step + 1, last, asked.number)
                }
                ["count", _, last, _] => Answer::text(&format!("I have counted to {last}.")),
                ["hold", name, _] if text.contains("is over") => {
                    Answer::text(&format!("{name} has gone well."))
                }
                _ => Answer::text(&format!("It was told: {text}")),
            }
        }
    }
}

fn to_user(said: &str, number: usize) -> Answer {
    match said.split(' ').collect::<Vec<_>>()[..] {
        ["hold", name] => hold(name, number),
        ["count", "to", last] => count(1, last, number),
        ["correct", "the", "visit"] => {
            let parameters = json!({"path": "/docs/visit.txt"}).to_string();
            Answer::reply()
                .say("I look at it first.")
                .call(&format!("read-{number}"), "read", &parameters)
        }
        _ => Answer::text(&format!("I heard: {said}")),
    }
}

fn hold(name: &str, number: usize) -> Answer {
    let gate = gate(name);
    let code = format!(
        "if (JSON.stringify(await rtcAgent.fs.ls('/')).includes('{EFFECTS}')) await rtcAgent.fs.read('/{EFFECTS}');
await rtcAgent.fs.write('/{EFFECTS}', '{name} began\\n', {{ mode: 'append' }});
while ((await rtcAgent.fs.ls('/')).every((entry) => !JSON.stringify(entry).includes('{gate}'))) {{
  await rtcAgent.system.delay(50);
}}
await rtcAgent.fs.write('/{EFFECTS}', '{name} ended\\n', {{ mode: 'append' }});
return '{name} is over';"
    );
    let parameters = json!({"title": "Wait for a file", "action": "eval", "code": code, "timeout": 120_000});
    Answer::reply().call(
        &format!("hold-{name}-{number}"),
        "script",
        &parameters.to_string(),
    )
}

fn count(step: u32, last: &str, number: usize) -> Answer {
    let parameters = json!({"path": EFFECTS, "content": format!("{step}\n"), "mode": "append"});
    Answer::reply().call(
        &format!("count-{step}-{last}-{number}"),
        "write",
        &parameters.to_string(),
    )
}

fn edit(number: usize) -> Answer {
    let parameters =
        json!({"path": "/docs/visit.txt", "old_string": "warm colour", "new_string": "warm color"});
    Answer::reply().call(&format!("edit-{number}"), "edit", &parameters.to_string())
}
