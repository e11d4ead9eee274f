//! What a script does to files is what the tools do.

use futures::future::join_all;
use rtc_fs::PreImageFolder;
use rtc_tool::Recovery;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::place::{content, place, write};

#[tokio::test]
async fn a_refused_path_throws_with_the_reason_and_changes_nothing() {
    let place = place(&[("shut", "kept")]);
    *place.surroundings.refused.lock().unwrap() = vec!["/shut".to_owned()];
    let code = "await rtcAgent.fs.read('/shut');\ntry { await rtcAgent.fs.write('/shut', 'gone') } catch (error) { console.log(error.code) }\n\nawait rtcAgent.fs.remove('/shut')";
    insta::assert_snapshot!(place.text(json!({"title": "t", "code": code})).await, @"
    Execution: Error: /shut needs a Yes (line 4)
    It had changed nothing.
    The console until then:
    permission_denied
    ");
    assert_eq!(content(&place.folder, "shut").unwrap(), "kept");
}

#[tokio::test]
async fn every_change_is_kept_for_an_undo() {
    let place = place(&[("a", "one"), ("d/b", "two")]);
    let code = "const { fs } = rtcAgent;
await fs.read('/a');
await fs.write('/a', 'three');
await fs.edit('/a', 'three', 'four');
await fs.write('/new', 'made', { mode: 'create-new' });
await fs.move('/d/b', '/d/c');
await fs.remove('/d', { recursive: true });";
    place.call(json!({"title": "t", "code": code})).await.unwrap();
    let kept = place.context.extensions.get::<PreImageFolder>().unwrap();
    let images = kept.list(place.context.rtc).unwrap().into_iter().map(|number| {
        let image = kept.load(place.context.rtc, number).unwrap();
        format!(
            "{} {}",
            image.path,
            if image.before.is_some() {
                "was there"
            } else {
                "is new"
            }
        )
    });
    insta::assert_snapshot!(images.collect::<Vec<_>>().join("\n"), @"
    /a was there
    /a was there
    /new is new
    /d/c is new
    /d/b was there
    /d/c was there
    /d was there
    ");
}

#[tokio::test]
async fn changes_that_are_not_awaited_are_made_in_their_order() {
    let place = place(&[]);
    let code = "for (let n = 0; n < 200; n++) rtcAgent.fs.write('/log', `${n} `, { mode: 'append' });";
    assert_eq!(place.text(json!({"title": "t", "code": code})).await, "");
    let expected: String = (0..200).map(|n| format!("{n} ")).collect();
    assert_eq!(content(&place.folder, "log").unwrap(), expected);
}

/// What recovery says of a script whose process died after these changes.
#[tokio::test]
async fn an_unknown_outcome_comes_with_its_evidence() {
    let place = place(&[("a", "one"), ("b", "two"), ("c", "three"), ("d", "four")]);
    let args = json!({"title": "t", "code": "for (const name of 'abcd') await rtcAgent.fs.read(name);
await rtcAgent.fs.write('/a', '1'); await rtcAgent.fs.write('/b', '2'); await rtcAgent.fs.remove('/c');
await rtcAgent.fs.write('/d', '4'); await rtcAgent.fs.write('/e', '5');"});
    let args = place.script.check(args).unwrap();
    let mark = place
        .script
        .prepare(&place.context, &args)
        .await
        .unwrap()
        .unwrap()
        .mark;
    let recover = || place.script.recover(&place.context, &args, &mark);
    insta::assert_debug_snapshot!(recover().await.unwrap(), @r#"
    Neither(
        "It had changed no file by then; it may have made folders. What it printed and returned is not known.",
    )
    "#);
    place.call(args.clone()).await.unwrap();
    write(&place.folder, "b", "another");
    write(&place.folder, "d", "four");
    let Recovery::Neither(evidence) = recover().await.unwrap() else {
        panic!()
    };
    insta::assert_snapshot!(evidence, @"By then it was about to change, or had changed: `/a` (as it left it), `/b` (changed again since), `/c` (removed), `/d` (not changed yet), `/e` (as it left it). What it printed and returned is not known.");
    // What it has printed is known until the next script of the session begins: its outcome may not be durable yet.
    let kept = place.context.extensions.get::<PreImageFolder>().unwrap();
    kept.print(place.context.session, "one\ntwo\n").unwrap();
    let Recovery::Neither(evidence) = recover().await.unwrap() else {
        panic!()
    };
    assert!(
        evidence
            .ends_with("`/e` (as it left it). It had printed “one ⏎ two”. What it returned is not known."),
        "{evidence}"
    );
    let unreadable = place
        .script
        .recover(&place.context, &args, &Value::Null)
        .await
        .unwrap();
    assert!(matches!(unreadable, Recovery::Neither(_)));
}

/// A save has its turn when it begins, and no script gets one before it is over.
#[tokio::test]
async fn a_save_needs_no_place_of_the_scripts_that_wait_for_their_turn() {
    let place = place(&[]);
    let others = place.surroundings.turn.clone().lock_owned().await;
    let scripts: Vec<_> = (0..4)
        .map(|number| {
            let code = format!("console.log('begun'); await rtcAgent.fs.write('/{number}', 'x'); 1");
            json!({"title": "t", "code": code, "timeout": 60_000})
        })
        .collect();
    let begun = Semaphore::new(0);
    let begin = |_: &str| begun.add_permits(1);
    let waiting = scripts.into_iter().map(|args| place.call_telling(args, begin));
    let mut waiting = Box::pin(join_all(waiting));
    tokio::select! {
        ended = &mut waiting => panic!("{ended:?}"),
        all = begun.acquire_many(4) => drop(all.unwrap()),
    }
    let save = json!({"title": "t", "action": "save", "name": "x", "code": "1"});
    tokio::select! {
        ended = &mut waiting => panic!("{ended:?}"),
        saved = place.call(save) => drop(saved.unwrap()),
    }
    for number in 0..4 {
        assert_eq!(content(&place.folder, &number.to_string()), None);
    }
    drop(others);
    for ended in waiting.await {
        ended.unwrap();
    }
    for number in 0..4 {
        assert_eq!(content(&place.folder, &number.to_string()).as_deref(), Some("x"));
    }
}
