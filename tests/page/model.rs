//! What the model says to the person before the page.

use rtc_tests::model_server::{Answer, Asked, Last};
use serde_json::json;

const FOUND: &str = r#"There are **two** places in the notes:

| file | line | what |
|:-----|-----:|------|
| `docs/visit.txt` | 2 | a warm *colour* |
| `docs/changes.txt` | 4 | any *colour* |

## What I would do

1. Correct `docs/visit.txt`, which is in a legacy encoding and stays in it.
2. Leave the code alone:

```js
const hits = await rtcAgent.fs.grep('colour');
console.log(hits.length);
```

> A picture is never fetched: ![a picture](https://picture.example/pixel.png)
"#;

/// What is said before the stream stalls, and after it; the second half is never heard.
const STORY: &str = "Once upon a time there was a **paint shop**.\n\n* It had a mixer\n* It had a sign\n\n";
const NEVER_HEARD: &str = "And nobody ever read this line.";

/// The answer to a request, by what was said last.
pub(crate) fn answer(asked: &Asked) -> Answer {
    match asked.last() {
        Last::User(said) => to_user(&said, asked),
        Last::Results(results) => {
            let (id, text) = results.last().expect("a result");
            match id.split('-').next().unwrap_or_default() {
                "look" => Answer::reply()
                    .think("Two files name it. The first one is what was meant.")
                    .say(FOUND),
                "edit" if text.contains("rejected") || text.contains("Rejected") => {
                    Answer::text("Then it stays as it is.")
                }
                "edit" => Answer::text("It is corrected."),
                "ask" => Answer::text("Good to know; I go on with that."),
                _ => unexpected(asked),
            }
        }
    }
}

fn to_user(said: &str, asked: &Asked) -> Answer {
    let number = asked.number;
    let edit = |old: &str, new: &str| {
        let arguments = json!({"path": "/docs/visit.txt", "old_string": old, "new_string": new});
        Answer::reply().call(&format!("edit-{number}"), "edit", &arguments.to_string())
    };
    match said {
        "Where do the notes say colour?" => Answer::reply()
            .say("I look for it.")
            .call(
                &format!("look-{number}-1"),
                "grep",
                &json!({"pattern": "colour", "path": "/docs", "output_mode": "content"}).to_string(),
            )
            .call(
                &format!("look-{number}-2"),
                "read",
                &json!({"path": "/docs/visit.txt"}).to_string(),
            ),
        "Correct the visit" => edit("warm colour", "warm color"),
        "Say who it was" => edit("The owner", "Madame Blanc"),
        "Forget the chalk" => edit("between brick and chalk", "like brick"),
        "Ask me" => Answer::reply().call(&format!("ask-{number}"), "askUser", &questions()),
        "Tell me a story" => {
            let heard = Answer::text(STORY)
                .body(rtc_tests::model_server::Dialect::Chat)
                .len();
            Answer::reply().say(STORY).say(NEVER_HEARD).stall_after(heard)
        }
        "Are you there?" => Answer::text("Yes, as before."),
        _ => unexpected(asked),
    }
}

fn questions() -> String {
    json!({"questions": [
        {
            "question": "Which format shall the notes have?",
            "header": "Format",
            "options": [
                {"label": "Markdown", "description": "One file, easy to read anywhere", "preview": "# Visit\n\n* The sign stays"},
                {"label": "Plain text", "description": "As it is now"},
            ],
        },
        {
            "question": "What belongs into it?",
            "header": "Content",
            "multiSelect": true,
            "options": [
                {"label": "Wishes", "description": "What they asked for"},
                {"label": "Prices", "description": "What it would cost"},
            ],
        },
    ]})
    .to_string()
}

fn unexpected(asked: &Asked) -> Answer {
    let message = format!("nobody expected {:?}", asked.last());
    Answer::status(400, &json!({"error": {"message": message}}).to_string())
}
