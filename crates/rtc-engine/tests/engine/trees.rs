//! Sessions that other sessions begin, and the calls of a project that were begun.

use rtc_engine::{Command, Done, NewSession, Parent, Send};
use rtc_types::{Mode, ProjectId, Session};
use serde_json::json;
use uuid::Uuid;

use crate::bench::*;

fn begun_by(parent: &Session, number: u128) -> Send {
    let send = message(number, &format!("c{number}"), "hello", Mode::Bypass);
    Send {
        new_session: NewSession {
            parent: Some(Parent::of(parent, None)),
            ..send.new_session.clone()
        },
        ..send
    }
}

#[tokio::test]
async fn a_session_knows_who_began_it_and_the_top_of_its_tree() {
    let bench = bench(Vec::new()).await;
    bench.send("c1", "hello").await.unwrap();
    let stored = async |number| {
        bench
            .engine
            .session(session(number))
            .await
            .unwrap()
            .unwrap()
            .entity
    };
    let root = stored(1).await;
    bench.engine.send(begun_by(&root, 2)).await.unwrap();
    let child = stored(2).await;
    bench.engine.send(begun_by(&child, 3)).await.unwrap();
    let grandchild = stored(3).await;
    assert_eq!(
        (root.parent_server_session_id, root.root_server_session_id),
        (None, None)
    );
    for (session, parent) in [(&child, &root), (&grandchild, &child)] {
        assert_eq!(session.parent_server_session_id, Some(parent.id));
        assert_eq!(session.parent_client_session_id, Some(parent.client_id.clone()));
        assert_eq!(session.root_server_session_id, Some(root.id));
        assert_eq!(session.root_client_session_id, Some(root.client_id.clone()));
    }
    for session in [root.clone(), child, grandchild] {
        assert_eq!(session.tree(), root.id);
    }
}

#[tokio::test]
async fn a_call_is_begun_from_its_mark_until_its_result_or_until_the_user_is_asked() {
    let bench = bench(vec![one_edit(), one_edit()]).await;
    for number in [1, 2] {
        let send = message(number, &format!("c{number}"), "edit x", Mode::Bypass);
        bench.engine.send(send).await.unwrap();
    }
    let begun = async |project| {
        let begun = bench.engine.begun(project).await.unwrap();
        begun
            .iter()
            .map(|call| call.entity.session_id)
            .collect::<Vec<_>>()
    };
    assert_eq!(begun(Some(project())).await, []);
    for (number, mark) in [(1, None), (2, Some((json!({}), "digest".to_owned())))] {
        let state = bench.until(number, |state| !state.calls.is_empty()).await;
        let claim = Command::Claim {
            rtc: state.calls[0].stored.entity.id,
            attempt: 1,
            mark,
        };
        let claimed = bench.engine.tell(session(number), claim).await.unwrap();
        assert_eq!(claimed, Done::Claimed);
    }
    // What only looks has no mark.
    assert_eq!(begun(Some(project())).await, [session(2)]);
    assert_eq!(begun(None).await, []);
    assert_eq!(begun(Some(ProjectId::new(Uuid::from_u128(9)))).await, []);
    let state = bench.until(2, |state| !state.calls.is_empty()).await;
    let unknown = Command::OutcomeUnknown {
        rtc: state.calls[0].stored.entity.id,
        evidence: "Nobody knows.".to_owned(),
    };
    bench.engine.tell(session(2), unknown).await.unwrap();
    assert_eq!(begun(Some(project())).await, []);
}
