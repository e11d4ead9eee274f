use std::sync::Arc;

use futures::StreamExt;
use rtc_tool::{Access, CallContext, Recovery, ToolError, ToolStreamItem};
use rtc_types::{Preview, PreviewKind, Program};
use serde_json::{Value, json};

use super::place::{Place, content, place, write};

async fn preview(place: &Place, args: &Value) -> Preview {
    let preview = place.script.preview(&place.context, args).await;
    preview.unwrap().unwrap()
}

/// What is only read does not run: a save is checked before anything is durable, and before anybody is asked.
#[tokio::test]
async fn a_save_runs_nothing_of_what_it_saves() {
    let place = place(&[]);
    let code = "})(); rtcAgent.fs.write('/made.txt', 'x'); (async () => {";
    let args = json!({"title": "t", "action": "save", "name": "x", "code": code});
    let told = place.text(args).await;
    assert!(
        told.starts_with("InvalidArguments: the script was not saved: SyntaxError"),
        "{told}"
    );
    for path in ["made.txt", ".rtc/scripts/x.ts"] {
        assert_eq!(content(&place.folder, path), None, "{path}");
    }
}

#[tokio::test]
async fn a_script_is_saved_and_run_by_its_name() {
    let place = place(&[]);
    let save = |code: &str| json!({"title": "t", "action": "save", "name": "sum", "code": code});
    let run = json!({"title": "t", "action": "run", "name": "sum", "params": {"a": 1, "b": 2}});
    insta::assert_snapshot!(place.text(run.clone()).await, @"NotFound: `/.rtc/scripts/sum.ts` does not exist; the nearest folder that does is `/`");
    insta::assert_snapshot!(place.text(save("const x: number = 1\nx")).await, @"InvalidArguments: the script was not saved: SyntaxError: missing initializer for variable; scripts are JavaScript: leave out TypeScript's types (line 1)");
    assert_eq!(content(&place.folder, ".rtc/scripts/sum.ts"), None);
    insta::assert_snapshot!(place.text(save("params.a + params.b")).await, @"
    name: sum
    result: saved as /.rtc/scripts/sum.ts; run it with the action `run` and the name `sum`
    ");
    insta::assert_snapshot!(place.text(run).await, @"
    name: sum
    result: 3
    ");
    // A session that wrote it knows it, and may write it again.
    assert!(place.call(save("params.a * params.b")).await.is_ok());
}

#[tokio::test]
async fn what_the_user_approved_is_what_runs() {
    let place = place(&[(".rtc/scripts/x.ts", "1")]);
    let args = place
        .script
        .check(json!({"title": "t", "action": "run", "name": "x"}))
        .unwrap();
    let subject = place.script.subject(&args).unwrap();
    assert_eq!(
        (subject.access, &subject.paths[..]),
        (Access::Exec, &["/.rtc/scripts/x.ts".to_owned()][..])
    );
    let preview = preview(&place, &args).await;
    let evaluated = json!({"title": "t", "code": "1"});
    let expected = Preview {
        kind: PreviewKind::Code,
        text: "1".into(),
        paths: vec!["/.rtc/scripts/x.ts".into()],
        program: Some(Program {
            digest: place.script.subject(&evaluated).unwrap().digest.unwrap(),
            params: json!({}),
        }),
    };
    assert_eq!(preview, expected);
    let approved = CallContext {
        extensions: place.context.extensions.clone().with(Arc::new(preview)),
        ..place.context.clone()
    };
    write(&place.folder, ".rtc/scripts/x.ts", "2");
    assert_eq!(
        run(&place, &approved, &args).await.unwrap(),
        json!({"name": "x", "result": 1})
    );
    // What could not be shown does not run.
    let unseen = Preview {
        kind: PreviewKind::Text,
        text: String::new(),
        paths: Vec::new(),
        program: None,
    };
    let unseen = CallContext {
        extensions: place.context.extensions.clone().with(Arc::new(unseen)),
        ..place.context.clone()
    };
    insta::assert_snapshot!(run(&place, &unseen, &args).await.unwrap_err(), @"`/.rtc/scripts/x.ts` could not be read when it was called, but can be now; call it again");
}

/// Runs a call with this context; how long it took is left out.
async fn run(place: &Place, context: &CallContext, args: &Value) -> Result<Value, ToolError> {
    let prepared = place.script.prepare(context, args).await?;
    let mut stream = place.script.execute(context.clone(), args.clone(), prepared);
    loop {
        if let ToolStreamItem::Terminal(result) = stream.next().await.unwrap() {
            return result.map(|mut result| {
                result.as_object_mut().unwrap().remove("duration_ms");
                result
            });
        }
    }
}

#[tokio::test]
async fn evaluated_code_is_known_by_its_digest_and_shown_whole() {
    let place = place(&[]);
    let args = place
        .script
        .check(json!({"title": "t", "code": "1 + 1"}))
        .unwrap();
    let subject = place.script.subject(&args).unwrap();
    assert_eq!(subject.access, Access::Exec);
    assert_eq!(
        subject.digest.unwrap(),
        preview(&place, &args).await.program.unwrap().digest
    );
    let with = place
        .script
        .check(json!({"title": "t", "code": "1 + 1", "params": {"a": 1}}))
        .unwrap();
    assert_ne!(
        place.script.subject(&with).unwrap().digest,
        place.script.subject(&args).unwrap().digest,
        "a Yes is one to what the code is given as well"
    );
    assert_eq!(
        preview(&place, &with).await.program.unwrap().params,
        json!({"a": 1})
    );
    let preview = preview(&place, &args).await;
    assert_eq!(
        (preview.kind, preview.text.as_str()),
        (PreviewKind::Code, "1 + 1")
    );
}

#[tokio::test]
async fn a_save_is_recovered_like_any_write() {
    let place = place(&[]);
    let args = json!({"title": "t", "action": "save", "name": "x", "code": "1"});
    let args = place.script.check(args).unwrap();
    let mark = place
        .script
        .prepare(&place.context, &args)
        .await
        .unwrap()
        .unwrap()
        .mark;
    let recover = || place.script.recover(&place.context, &args, &mark);
    assert_eq!(recover().await.unwrap(), Recovery::NotApplied);
    let result = place.call(args.clone()).await.unwrap();
    assert_eq!(recover().await.unwrap(), Recovery::Applied(result));
}
